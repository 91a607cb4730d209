/**
 * Walks a cursor list page by page (interface heading "Pagination behavior (all cursor lists)"). It must never end in silence:
 * the last reply that it yields is either the page that says there is no more, or the reason why the list was not read whole.
 */
import type { Page } from '../domain/service/records.ts';
import type { Reply, ReplyFacts } from '../domain/service/reply.ts';

/** Which page of a list: at most one of the two cursors. Without any: the newest page. */
export type PageRequest = {
  /** 1 to 100; the service's default is 25. */
  readonly limit?: number;
  /** Records older than this cursor. */
  readonly startingAfter?: string;
  /** Records newer than this cursor. */
  readonly endingBefore?: string;
};

/** Bounds at which a walk through a list ends that would not end by itself. What it has read by then proves nothing. */
export type Bounds = {
  /** Pages asked for, repeated ones included. A list of 100,000 records has 1,000. */
  readonly maxPages: number;
  /** No page is asked for later than this after the first, milliseconds; an activity's attempt has two minutes. */
  readonly withinMs: number;
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number;
};

export const READ_BOUNDS: Bounds = { maxPages: 2_000, withinMs: 60_000, nowMs: () => performance.now() };

/**
 * Yields one reply per page, from the newest page or the cursor `from`, until the service says that there is none in that
 * direction. The number of records says nothing; an empty page may have a next one. A page that is too large or takes too long
 * is asked for again with half the records, and so are all after it. A reply that is not `DONE` is the last one, and means that
 * the list was not read whole; so does the `UNKNOWN` that follows a cursor seen before, a bound, or a `signal` to stop.
 *
 * `newer` needs `from`, and proves no absence: whether the service begins with the nearest or the newest page is not shown.
 * @param limit records per page, 1 to 100
 */
export async function* pages<T>(
  list: (page: PageRequest) => Promise<Reply<Page<T>>>,
  options: {
    readonly direction: 'older' | 'newer';
    readonly from?: string;
    readonly limit?: number;
    readonly signal?: AbortSignal;
    readonly bounds?: Bounds;
  },
): AsyncGenerator<Reply<Page<T>>, void, void> {
  const { direction, signal, bounds = READ_BOUNDS } = options;
  const { maxPages, withinMs, nowMs } = bounds;
  const untilMs = nowMs() + withinMs;
  const seen = new Set<string>();
  let limit = options.limit ?? 100;
  let cursor = options.from ?? null;
  let facts: ReplyFacts = NOTHING_READ;
  for (let asked = 0; ; asked += 1) {
    const stop = stopOf({ signal, tooMany: asked >= maxPages, tooLate: nowMs() >= untilMs });
    if (stop !== null) {
      yield unread(stop, facts);
      return;
    }
    const reply: Reply<Page<T>> = await list({
      limit,
      ...(cursor === null
        ? {}
        : direction === 'older'
          ? { startingAfter: cursor }
          : { endingBefore: cursor }),
    });
    if (reply.kind === 'UNKNOWN' && reply.isTooMuch === true && limit > 1) {
      ({ facts } = reply);
      limit = Math.floor(limit / 2);
      continue;
    }
    yield reply;
    if (reply.kind !== 'DONE') return;
    ({ facts } = reply);
    if (cursor !== null) seen.add(cursor);
    cursor = direction === 'older' ? reply.value.nextCursor : reply.value.prevCursor;
    if (cursor === null) return;
    if (seen.has(cursor)) {
      yield unread('the list repeats a cursor: it cannot be read to its end', facts);
      return;
    }
  }
}

const NOTHING_READ: ReplyFacts = {
  status: null,
  traceId: null,
  replayed: null,
  retryAfterMs: null,
  serviceTimeMs: null,
};

function stopOf(at: {
  readonly signal: AbortSignal | undefined;
  readonly tooMany: boolean;
  readonly tooLate: boolean;
}): string | null {
  if (at.signal?.aborted === true) return 'the list was not read to its end: the call was given up';
  if (at.tooMany) return 'the list has more pages than are read at a time';
  return at.tooLate ? 'the list could not be read to its end in time' : null;
}

/** A list that was not read whole, and why; with the facts of its last reply. */
export function unread(reason: string, facts: ReplyFacts = NOTHING_READ): Reply<never> {
  return { kind: 'UNKNOWN', reason, error: null, facts };
}
