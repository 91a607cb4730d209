/**
 * What `cambist watch` tells: what `list --attention` has new, and what it does not show any more. Each piece of news has an id
 * before it is told for the first time, and is kept until its receiver has taken it. So nothing is lost, and a receiver that is told
 * something twice knows it by the id. Pure.
 */
import { scopeText } from '../../domain/halt.ts';
import { runName } from '../../domain/references.ts';
import { isRecord } from '../../domain/shape.ts';
import type { AttentionNow } from './attention-now.ts';

/** One thing that a person should look at. */
type Standing = {
  readonly kind: 'run' | 'missed' | 'unfinished' | 'paused' | 'halt';
  /** The run, the workflow, or what is halted. */
  readonly name: string;
  readonly code: string;
  /** As `list --attention` says it. */
  readonly message: string;
  /** How many items of the run need a person with this code. */
  readonly items: number;
};

/** What a receiver gets. */
export type News = Omit<Standing, 'items'> & {
  readonly id: string;
  /** RFC 3339, UTC: when it was noticed. */
  readonly at: string;
  readonly mode: string;
  /** `solved`: not shown any more, since it is solved or a person has acknowledged it. */
  readonly change: 'new' | 'solved';
};

/** What is kept in the file between two looks. */
export type WatchState = {
  readonly version: 1;
  readonly mode: string;
  /** What stood at the last look. */
  readonly standing: readonly Standing[];
  /** What is not delivered yet, oldest first. */
  readonly outbox: readonly News[];
};

export function newState(mode: string): WatchState {
  return { version: 1, mode, standing: [], outbox: [] };
}

/** The code of money that came back, which is known only where the service was asked. */
const CAME_BACK = 'WITHDRAWAL_FAILED';

/**
 * The state after a look.
 * @param isServiceRead false: whether money came back is not known, and what stood of it stands
 */
export function afterLook(
  before: WatchState,
  now: AttentionNow,
  {
    nowMs,
    isServiceRead,
    newId,
  }: { readonly nowMs: number; readonly isServiceRead: boolean; readonly newId: () => string },
): WatchState {
  const shown = standingIn(now);
  const known = new Map(before.standing.map((one) => [nameOf(one), one]));
  const unknown = isServiceRead
    ? []
    : before.standing.filter(
        (one) => one.code === CAME_BACK && !shown.some((each) => nameOf(each) === nameOf(one)),
      );
  const standing = [...shown, ...unknown];
  const names = new Set(standing.map(nameOf));
  const told = (change: News['change'], { items: _items, ...one }: Standing): News => ({
    id: newId(),
    at: new Date(nowMs).toISOString(),
    mode: before.mode,
    change,
    ...one,
  });
  return {
    ...before,
    standing,
    outbox: [
      ...before.outbox,
      ...standing
        .filter((one) => one.items > (known.get(nameOf(one))?.items ?? 0))
        .map((one) => told('new', one)),
      ...before.standing.filter((one) => !names.has(nameOf(one))).map((one) => told('solved', one)),
    ],
  };
}

/** The state once the receiver has taken this piece of news. */
export function afterDelivery(state: WatchState, { id }: News): WatchState {
  return { ...state, outbox: state.outbox.filter((news) => news.id !== id) };
}

function nameOf({ kind, name, code }: Standing): string {
  return JSON.stringify([kind, name, code]);
}

function standingIn({ runs, missed, unfinished, halts, paused }: AttentionNow): readonly Standing[] {
  const found: readonly Standing[] = [
    ...runs.flatMap(({ facts, why, needs }) => {
      const name = runName(facts.run);
      const items = new Map<string, number>();
      for (const [code, , count] of needs) items.set(code, (items.get(code) ?? 0) + count);
      if (!facts.isOpen) items.set(facts.state, 1);
      else if (items.size === 0 && why !== null) items.set(why.code, 1);
      return [...items].map(([code, count]): Standing => ({
        kind: 'run',
        name,
        code,
        message: why !== null && why.code === code ? why.message : `See \`npx cambist status ${name}\`.`,
        items: count,
      }));
    }),
    ...missed.map(({ run, why }): Standing => ({
      kind: 'missed',
      name: runName(run),
      ...pick(why),
      items: 1,
    })),
    ...unfinished.map(({ run, chunks }): Standing => ({
      kind: 'unfinished',
      name: runName(run),
      code: 'BATCH_UNFINISHED',
      message: `Only a part of its batch was submitted (${chunks} in Temporal, and no run). Nothing of it was sent.`,
      items: 1,
    })),
    ...halts.map(({ scope, by, why }): Standing => ({
      kind: 'halt',
      name: scopeText(scope),
      code: 'HALTED',
      message: `${by} has halted ${scopeText(scope)}: ${why}`,
      items: 1,
    })),
    // A paused run says so itself.
    ...paused.map((one): Standing => ({
      kind: 'paused',
      name: one.place ?? '',
      ...pick(one),
      items: 1,
    })),
  ];
  return [...new Map(found.map((one) => [nameOf(one), one])).values()];
}

function pick({ code, message }: { readonly code: string; readonly message: string }) {
  return { code, message };
}

/** The state as it stands in a file; null: the file is none of ours. */
export function readState(text: string, mode: string): WatchState | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(parsed) || parsed['version'] !== 1 || parsed['mode'] !== mode) return null;
  const { standing, outbox } = parsed;
  const isList = (value: unknown, names: readonly string[]): boolean =>
    Array.isArray(value) &&
    value.every((one) => isRecord(one) && names.every((name) => typeof one[name] === 'string'));
  const isOurs =
    isList(standing, ['kind', 'name', 'code', 'message']) &&
    isList(outbox, ['id', 'at', 'change', 'kind', 'name', 'code']);
  return isOurs ? (parsed as WatchState) : null;
}
