// Lists with cursors: newest first by `createdAt`, both directions, every edge that "Pagination behavior" states.
// A cursor is a position, not a record, so it stays good when the record it was cut at is not to be seen.

import type { QueryPair } from './canonical.ts';
import type { BookId, Listed } from './records.ts';
import type { Issue } from './refusal.ts';
import { refuseIssues } from './refusal.ts';
import type { SandboxSettings } from './settings.ts';

interface Position {
  readonly createdAt: number;
  /** Whole for a record; half a step aside for the gap next to one. */
  readonly seq: number;
}

interface Place extends Position {
  readonly id: string;
}

export interface PageRequest {
  readonly limit: number;
  readonly startingAfter: Position | null;
  readonly endingBefore: Position | null;
  /** Query parameters other than the three of pagination. */
  readonly filters: Readonly<Record<string, string>>;
}

export interface Pagination {
  readonly limit: number;
  readonly hasNext: boolean;
  readonly nextCursor: string | null;
  readonly hasPrev: boolean;
  readonly prevCursor: string | null;
}

/** The order of one kind of record, per book; oldest first inside. */
export class ListIndex {
  readonly name: string;
  readonly #places = new Map<BookId, Place[]>();

  constructor(name: string) {
    this.name = name;
  }

  add({ book, id, createdAt, seq }: Listed): void {
    const places = this.#places.get(book) ?? [];
    this.#places.set(book, places);
    places.splice(firstAbove(places, { createdAt, seq }), 0, { id, createdAt, seq });
  }

  /** All ids of a book, newest first. */
  ids(book: BookId): string[] {
    return (this.#places.get(book) ?? []).map((place) => place.id).toReversed();
  }

  page(
    book: BookId,
    request: PageRequest,
    settings: SandboxSettings,
    shows: (id: string) => boolean,
  ): { readonly ids: readonly string[]; readonly pagination: Pagination } {
    const places = this.#places.get(book) ?? [];
    const size = Math.min(request.limit, settings.maxRowsPerPage ?? request.limit);
    const chosen = choose(places, request, settings, size, (place) => shows(place.id));
    const [first, last] = edgesOf(chosen, request);
    const hasPrev = first !== null && places.slice(firstAbove(places, first)).some(({ id }) => shows(id));
    const hasNext = last !== null && places.slice(0, firstNotBelow(places, last)).some(({ id }) => shows(id));
    const cursor = (position: Position): string => cursorOf(this.name, position, settings.cursorStyle);
    return {
      ids: chosen.map((place) => place.id),
      pagination: {
        limit: request.limit,
        hasNext,
        nextCursor: hasNext ? cursor(last) : null,
        hasPrev,
        prevCursor: hasPrev ? cursor(first) : null,
      },
    };
  }
}

/** The rows of the page, newest first. */
function choose(
  places: readonly Place[],
  request: PageRequest,
  settings: SandboxSettings,
  size: number,
  shows: (place: Place) => boolean,
): Place[] {
  const chosen: Place[] = [];
  if (request.endingBefore !== null && settings.endingBeforePage === 'nearest') {
    for (
      let at = firstAbove(places, request.endingBefore);
      at < places.length && chosen.length < size;
      at += 1
    ) {
      const place = places[at];
      if (place !== undefined && shows(place)) chosen.unshift(place);
    }
    return chosen;
  }
  const from = request.startingAfter === null ? places.length : firstNotBelow(places, request.startingAfter);
  const to = request.endingBefore === null ? 0 : firstAbove(places, request.endingBefore);
  for (let at = from - 1; at >= to && chosen.length < size; at -= 1) {
    const place = places[at];
    if (place !== undefined && shows(place)) chosen.push(place);
  }
  return chosen;
}

/** Newest and oldest position of the page. An empty page lies in the gap next to its cursor. */
function edgesOf(chosen: readonly Place[], request: PageRequest): [Position | null, Position | null] {
  const first = chosen[0];
  const last = chosen.at(-1);
  if (first !== undefined && last !== undefined) return [first, last];
  if (request.startingAfter !== null) {
    const gap = aside(request.startingAfter, -0.5);
    return [gap, null];
  }
  if (request.endingBefore !== null) {
    const gap = aside(request.endingBefore, 0.5);
    return [null, gap];
  }
  return [null, null];
}

/** A cursor that already lies in a gap stays where it is. */
function aside(position: Position, step: number): Position {
  return Number.isInteger(position.seq) ? { ...position, seq: position.seq + step } : position;
}

function compare(a: Position, b: Position): number {
  return a.createdAt - b.createdAt || a.seq - b.seq;
}

function firstAbove(places: readonly Place[], position: Position): number {
  return firstWhere(places, (place) => compare(place, position) > 0);
}

function firstNotBelow(places: readonly Place[], position: Position): number {
  return firstWhere(places, (place) => compare(place, position) >= 0);
}

function firstWhere(places: readonly Place[], holds: (place: Place) => boolean): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const place = places[middle];
    if (place !== undefined && holds(place)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reads `limit`, `startingAfter`, `endingBefore` and the filters this list knows; all issues at once. */
export function readPageRequest(
  query: readonly QueryPair[],
  listName: string,
  knownFilters: readonly string[],
): PageRequest {
  const issues: Issue[] = [];
  const seen = new Map<string, string>();
  for (const [name, value] of query) {
    if (seen.has(name)) issues.push({ path: name, message: 'given more than once' });
    else if (!['limit', 'startingAfter', 'endingBefore', ...knownFilters].includes(name)) {
      issues.push({ path: name, message: 'unknown parameter' });
    }
    seen.set(name, value);
  }
  const limitText = seen.get('limit') ?? '25';
  const limit = /^[0-9]{1,3}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > 100)
    issues.push({ path: 'limit', message: 'must be a whole number from 1 to 100' });
  if (seen.has('startingAfter') && seen.has('endingBefore')) {
    issues.push({ path: 'endingBefore', message: 'cannot be combined with startingAfter' });
  }
  const position = (name: string): Position | null => {
    const cursor = seen.get(name);
    if (cursor === undefined) return null;
    const found = positionOf(listName, cursor);
    if (found === null) issues.push({ path: name, message: 'not a cursor of this list' });
    return found;
  };
  const startingAfter = position('startingAfter');
  const endingBefore = position('endingBefore');
  if (issues.length > 0) refuseIssues('VALIDATION_QUERY_FAILED', issues);
  const filters = Object.fromEntries([...seen].filter(([name]) => knownFilters.includes(name)));
  return { limit, startingAfter, endingBefore, filters };
}

const awkwardPrefix = 'c+/=&%2B ?#';

function cursorOf(listName: string, position: Position, style: SandboxSettings['cursorStyle']): string {
  const plain = Buffer.from(JSON.stringify([listName, position.createdAt, position.seq])).toString(
    'base64url',
  );
  return style === 'plain' ? plain : `${awkwardPrefix}${plain}==`;
}

function positionOf(listName: string, cursor: string): Position | null {
  const plain = cursor.startsWith(awkwardPrefix) ? cursor.slice(awkwardPrefix.length, -2) : cursor;
  try {
    const parts: unknown = JSON.parse(Buffer.from(plain, 'base64url').toString('utf8'));
    if (!Array.isArray(parts) || parts.length !== 3) return null;
    const [name, createdAt, seq] = parts as unknown[];
    if (name !== listName || typeof createdAt !== 'number' || typeof seq !== 'number') return null;
    return { createdAt, seq };
  } catch {
    return null;
  }
}
