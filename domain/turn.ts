/**
 * One spender at a time: which run of an organisation has the turn (design: "One spender at a time"). The run that came
 * first gets it first. A turn that is not used lapses, so that a crashed run does not block the others for ever. Pure; the
 * workflow `turn` keeps the state.
 */

import { makeProblem } from './problems.ts';
import type { Wait } from './waits.ts';

/** Runs have names such as `daily-treasury.2026-11-21`; moments are epoch milliseconds. */
export type TurnState = {
  holder: { readonly run: string; readonly sinceMs: number; readonly untilMs: number } | null;
  /** The runs that wait, in the order in which they came. */
  line: readonly { readonly run: string; readonly sinceMs: number; readonly askedMs: number }[];
  /** Runs that have had a turn and may still take money. `hasLapsed`: since it planned, its turn has lapsed, or may have. */
  open: readonly OpenRun[];
  /**
   * The last runs that may have traded, each with the moment. For some time the service's lists may not show their trades.
   */
  traded: readonly Traded[];
  /**
   * Since when, by Temporal's clock, a workflow that has begun anew does not know which runs may take money: somebody has ended or deleted
   * the one before it. Null: it knows.
   */
  anewSinceMs: number | null;
};
/** `gone`: since when a worker knows that this Temporal run of it is gone (`domain/writes/gone-runs.ts`). Absent: it is not gone. */
export type OpenRun = {
  readonly run: string;
  readonly hasLapsed: boolean;
  readonly gone?: { readonly runId: string | null; readonly sinceMs: number };
};
/** `atMs`: by Temporal's clock. `toldAtMs`: by the clock of the worker that told so; null: no worker has. */
type Traded = { readonly run: string; readonly atMs: number; readonly toldAtMs: number | null };

/** A run that a worker has found gone, by its clock, and which Temporal run of it that was; null: Temporal showed none. */
export type GoneNoted = { readonly run: string; readonly runId: string | null; readonly sinceMs: number };

/** The answer to a run that asks for its turn. */
export type TurnAnswer =
  /**
   * `others`: runs that may still take money. `gone`: those of them that are noted as gone. `tradedAgoMs`: how long ago one of them last traded, by Temporal's clock, and
   * `tradedAtMs` when, by a worker's (`Traded`); null: long ago. `isAnew`: it does not know the others, and must be told of them before
   * this turn counts.
   */
  | {
      readonly turn: 'ours';
      readonly hasLapsed: boolean;
      readonly others: readonly string[];
      readonly gone: readonly GoneNoted[];
      readonly tradedAgoMs: number | null;
      readonly tradedAtMs: number | null;
      readonly isAnew?: true;
    }
  /** Another run has the turn, or comes first. */
  | { readonly turn: 'others'; readonly run: string; readonly before: number };

/** The answer that the run has its turn. */
export type OwnTurn = Extract<TurnAnswer, { turn: 'ours' }>;

/** An unused turn lapses after this time. Every quote that the run asks for during the turn starts the time again. */
export const TURN_MS = 120_000;
/** A run that waits asks again before this time is over. A run that does not ask is passed over, and keeps its place. */
export const PRESENT_MS = 15_000;
/** At most this many runs wait with an open question. Runs behind them get an answer at once, and ask again. */
const MOST_PATIENT = 5;
/** A place is kept for this long, since a run that was cancelled or has ended never asks again. */
const PLACE_KEPT_MS = 3_600_000;
/**
 * A run that waits for lists asks again within this time, so that its turn does not lapse. There is another reason: when a
 * leg was not asked about for 30 s, its history may be a restored one, and a doubt begins. Two runs could then wait for each
 * other's doubts for ever.
 */
const LISTS_POLL_MS = 10_000;
/** There are never more open runs than this. The oldest ones are forgotten, as if their turns had lapsed. */
const MOST_OPEN = 1_000;

/** @param anewSinceMs the moment at which a workflow begins with it; null: nobody has had a turn before */
export function newTurnState(anewSinceMs: number | null = null): TurnState {
  return { holder: null, line: [], open: [], traded: [], anewSinceMs };
}

/**
 * The workflow has begun anew. These runs have a plan: they may still take money, and may have traded just before it began.
 */
export function takeOverRuns(state: TurnState, runs: readonly string[]): void {
  const { anewSinceMs } = state;
  if (anewSinceMs === null) return;
  const unknown = runs.filter((run) => !state.open.some((one) => one.run === run));
  const [first] = unknown;
  if (first !== undefined)
    state.traded = [{ run: first, atMs: anewSinceMs, toldAtMs: null }, ...state.traded].slice(-MOST_TRADED);
  state.open = [...unknown.map((run) => ({ run, hasLapsed: true })), ...state.open].slice(-MOST_OPEN);
  state.anewSinceMs = null;
}

/**
 * `run` asks for the turn. Returns true when it has the turn now. A plan that is made during the turn is not older than the
 * turn.
 */
export function takeTurn(state: TurnState, run: string, isPlanning: boolean, nowMs: number): boolean {
  lapse(state, nowMs);
  if (state.holder?.run !== run) {
    const sinceMs = state.line.find((one) => one.run === run)?.sinceMs ?? nowMs;
    const asks = { run, sinceMs, askedMs: nowMs };
    const line = state.line.filter(({ askedMs }) => nowMs - askedMs <= PLACE_KEPT_MS);
    const isInLine = line.some((one) => one.run === run);
    state.line = isInLine ? line.map((one) => (one.run === run ? asks : one)) : [...line, asks];
    if (!isNext(state, run, nowMs)) return false;
    state.line = state.line.filter((one) => one.run !== run);
  }
  const sinceMs = state.holder?.sinceMs ?? nowMs;
  state.holder = { run, sinceMs, untilMs: nowMs + TURN_MS };
  const known = state.open.find((one) => one.run === run);
  // The turn of a run that is not known may have lapsed too.
  const hasLapsed = !isPlanning && (known?.hasLapsed ?? true);
  state.open = [...state.open.filter((one) => one.run !== run), { run, hasLapsed }].slice(-MOST_OPEN);
  return true;
}

/** Whether this run gets the turn when it is free. Runs in front of it that do not ask are passed over. */
export function isNext(state: TurnState, run: string, nowMs: number): boolean {
  if (state.holder !== null && state.holder.untilMs > nowMs) return false;
  return state.line.find(({ askedMs }) => nowMs - askedMs <= PRESENT_MS)?.run === run;
}

/** Whether a question of this run should stay open, since its turn may come soon. */
export function isNear(state: TurnState, run: string): boolean {
  return state.line.findIndex((one) => one.run === run) < MOST_PATIENT;
}

/**
 * Ends the turn of a run. Runs that trade without a turn call this too.
 * @param tradedAtMs the worker's clock once the run may have traded; null: the run has only planned
 */
export function giveTurnBack(state: TurnState, run: string, tradedAtMs: number | null, nowMs: number): void {
  if (state.holder?.run === run) state.holder = null;
  if (tradedAtMs !== null) noteTrade(state, { run, atMs: nowMs, toldAtMs: tradedAtMs });
  state.line = state.line.filter((one) => one.run !== run);
}

/** True when no run that has had a turn may still take money, so that the state can be forgotten. */
export function isUnused({ open }: TurnState): boolean {
  return open.length === 0;
}

/** Forgets runs that take no money any more. */
export function forgetRuns(state: TurnState, runs: readonly string[]): void {
  state.open = state.open.filter(({ run }) => !runs.includes(run));
}

/** A run that was reset may take money again. Its plan is older than any turn that it has now. */
export function reopenRun(state: TurnState, run: string): void {
  const known = state.open.find((one) => one.run === run);
  if (known !== undefined && known.gone === undefined) return;
  const others = state.open.filter((one) => one !== known);
  state.open = [...others, { run, hasLapsed: true }].slice(-MOST_OPEN);
}

/** Notes that a run is gone, unless that is noted already: what counts is when the first worker saw it. */
export function noteGone(state: TurnState, { run, runId, sinceMs }: GoneNoted): void {
  state.open = state.open.map((one) => {
    if (one.run !== run) return one;
    const notedMs = one.gone?.runId === runId ? one.gone.sinceMs : Infinity;
    return { ...one, gone: { runId, sinceMs: Math.min(notedMs, sinceMs) } };
  });
}

export function answerTo(state: TurnState, run: string, nowMs: number): TurnAnswer {
  if (state.holder?.run === run) {
    const known = state.open.find((one) => one.run === run);
    const beside = state.open.filter((one) => one.run !== run);
    const others = beside.map((one) => one.run);
    const gone = beside.flatMap((one) => (one.gone === undefined ? [] : { run: one.run, ...one.gone }));
    const last = state.traded.findLast((one) => one.run !== run);
    const tradedAgoMs = last === undefined ? null : nowMs - last.atMs;
    const tradedAtMs = last?.toldAtMs ?? null;
    const hasLapsed = known?.hasLapsed ?? true;
    const isAnew = state.anewSinceMs !== null && ({ isAnew: true } as const);
    return { turn: 'ours', hasLapsed, others, gone, tradedAgoMs, tradedAtMs, ...isAnew };
  }
  const place = state.line.findIndex((one) => one.run === run);
  const before = place < 0 ? state.line.length : place;
  return { turn: 'others', run: state.holder?.run ?? state.line[0]?.run ?? run, before };
}

function lapse(state: TurnState, nowMs: number): void {
  const { holder } = state;
  if (holder === null || holder.untilMs > nowMs) return;
  state.holder = null;
  state.open = state.open.map((one) => (one.run === holder.run ? { ...one, hasLapsed: true } : one));
  noteTrade(state, { run: holder.run, atMs: nowMs, toldAtMs: null });
}

/** Two runs are enough: a run that asks needs the last trade of another run. */
const MOST_TRADED = 2;

function noteTrade(state: TurnState, traded: Traded): void {
  state.traded = [...state.traded.filter(({ run }) => run !== traded.run), traded].slice(-MOST_TRADED);
}

/**
 * The wait while the lists may not yet show what was just traded. Otherwise this run would trade the same once more, or count the same
 * money twice. So it keeps the turn.
 */
export function listsLag(
  leftMs: number,
  item: string | null,
  who: 'Another run' | 'This run' = 'Another run',
): Wait {
  const seconds = Math.ceil(leftMs / 1000);
  const message = `${who} has just traded, and the lists of the service may not show that for ${seconds} s more (\`list_lag\` of the service file).`;
  return {
    afterMs: Math.min(leftMs, LISTS_POLL_MS),
    reason: 'turn',
    problem: makeProblem('LISTS_MAY_LAG', item, { message }),
  };
}
