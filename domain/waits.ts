/**
 * Why an item or a run waits: every reason in one place, in one order. An item that waits tells its reason, a problem in
 * words, and when it looks again by itself (M8). Pure.
 */
import type { Ending } from './endings.ts';
import type { Problem } from './problems.ts';
import {
  isMoment,
  lineOf,
  misshapen,
  oneOf,
  orNull,
  recordOf,
  textOf,
  type Field,
  type Fields,
} from './shape.ts';

/**
 * Every reason. The one that people must know first is at the top: when a run waits for several reasons, it shows the first
 * of them. `ending` is how a command ends that leaves the run waiting. `needsSomebody`: a person should look at it.
 */
export const WAIT_REASONS = {
  /** A person has halted it. */
  halt: { ending: 'needs a human', needsSomebody: true },
  /** Nothing goes on before a person has decided. */
  person: { ending: 'needs a human', needsSomebody: true },
  /** People must sign the plan first. */
  approval: { ending: 'waiting', needsSomebody: true },
  /**
   * Keys, clocks, modes, a feature that the service has switched off, or a status that the service file does not declare.
   */
  configuration: { ending: 'configuration', needsSomebody: true },
  /** The service or a worker is away, or the service asks for a long pause. */
  outage: { ending: 'infrastructure', needsSomebody: true },
  money: { ending: 'waiting', needsSomebody: true },
  /** An earlier send may still turn up. When this takes long, a person should know it (`needsSomebody`). */
  doubt: { ending: 'waiting', needsSomebody: false },
  settlement: { ending: 'waiting', needsSomebody: false },
  /** Another run of the organisation trades now. */
  turn: { ending: 'waiting', needsSomebody: false },
  /** A purchase needs what a sale of its run brings. */
  sale: { ending: 'waiting', needsSomebody: false },
  /** The run's date has not begun. */
  opening: { ending: 'waiting', needsSomebody: false },
  /** The service takes its usual seconds, and people need not know. */
  service: { ending: 'waiting', needsSomebody: false },
} as const satisfies Readonly<Record<string, { readonly ending: Ending; readonly needsSomebody: boolean }>>;

export type WaitReason = keyof typeof WAIT_REASONS;

const FIRST_TO_LAST = Object.keys(WAIT_REASONS);

/**
 * The money that a wait is for, where a read shows it: what the item needs together with all that comes before it, and how
 * much of that is there. `there` is less than `needed`.
 */
export type Short = { readonly currency: string; readonly needed: string; readonly there: string };

/**
 * An item that cannot go on now. `safeAtMs`: the end of a *safety wait*, which only time ends, in epoch milliseconds; the
 * item may look several times before that. Absent for every other wait. `sinceMs`: when the wait began, where that is known;
 * otherwise it counts from when it was first shown.
 */
export type Wait = {
  readonly afterMs: number;
  readonly reason: WaitReason;
  readonly problem: Problem;
  readonly safeAtMs?: number;
  readonly sinceMs?: number;
  readonly short?: Short;
};

/** Why something waits, whenever it looks again. */
export type Why = Omit<Wait, 'afterMs'>;

/**
 * A wait as it is shown. `wakeAtMs`: when the item looks again by itself. `sinceMs`: since when it waits for this reason,
 * epoch milliseconds; absent when an earlier history may have waited for it too.
 */
export type Waiting = Why & { readonly wakeAtMs: number };

const isMomentIfAny: Field = (value) => value === undefined || isMoment(value);
const isText = textOf(4_000);
/** As `isDecimal` reads it. Commands that calculate nothing load this file, and not the calculator. */
const isAmount: Field = (value) => typeof value === 'string' && /^-?[0-9]{1,40}(\.[0-9]{1,40})?$/.test(value);
const isShort = recordOf({ currency: lineOf(100), needed: isAmount, there: isAmount });
const PROBLEM: Fields = { code: lineOf(100), item: orNull(lineOf(100)), message: isText, fix: isText };
const WHY: Fields = {
  reason: oneOf(...Object.keys(WAIT_REASONS)),
  problem: recordOf(PROBLEM),
  safeAtMs: isMomentIfAny,
  sinceMs: isMomentIfAny,
  short: (value) => value === undefined || isShort(value),
};

/** What Temporal has as the reason of a wait, where others may have put anything; null: it is no such reason. */
export function whyOf(value: unknown): Why | null {
  return misshapen(value, WHY) === null ? (value as Why) : null;
}

/**
 * A wait as it is shown from now on. @param before the wait that was shown until now; with the same code, it is the same
 * wait
 */
export function waitingOf(
  { afterMs, reason, problem, safeAtMs, sinceMs, short }: Wait,
  nowMs: number,
  before: Waiting | null,
): Waiting {
  const wakeAtMs = nowMs + afterMs;
  const began = sinceMs ?? (before?.problem.code === problem.code ? before.sinceMs : nowMs);
  return {
    reason,
    problem,
    ...(safeAtMs !== undefined && { safeAtMs }),
    wakeAtMs,
    ...(began !== undefined && { sinceMs: began }),
    ...(short !== undefined && { short }),
  };
}

/**
 * The one sentence for a safety wait, the same wherever it is shown: `safety wait until 20:37:37 UTC, to be sure that nothing
 * was sent before; nothing for you to do`.
 */
export function safetyWaitText(safeAtMs: number, nowMs: number): string {
  const [date, time] = momentOf(Math.ceil(safeAtMs / 1_000) * 1_000);
  const [today] = momentOf(nowMs);
  return `safety wait until ${date === today ? '' : `${date} `}${time} UTC, to be sure that nothing was sent before; nothing for you to do`;
}

/**
 * Stands at the end of the fix of a payment in doubt, when a person can also mend another fault that keeps it from being
 * sent.
 */
export const SENT_SOONER = 'To have it sent sooner, mend the cause and reset the run.';

/**
 * The sentence for a safety wait, with what may shorten it. @param left the rest of the wait, as it is shown after its end
 */
export function safetyWaitSentence(
  { fix }: Pick<Problem, 'fix'>,
  safeAtMs: number,
  nowMs: number,
  left = '',
): string {
  const sooner = fix.includes(SENT_SOONER) ? ` ${SENT_SOONER}` : '';
  return `${safetyWaitText(safeAtMs, nowMs)}${left}.${sooner}`;
}

/** `2026-11-21 15:31 UTC`. */
export function minuteText(atMs: number): string {
  const [date, time] = momentOf(atMs);
  return `${date} ${time.slice(0, 5)} UTC`;
}

function momentOf(atMs: number): readonly [date: string, time: string] {
  const text = new Date(atMs).toISOString();
  return [text.slice(0, 10), text.slice(11, 19)];
}

/** False for a wait that people need not know: the service just takes its time. */
export function isShown(waiting: Waiting | null): waiting is Waiting {
  return waiting !== null && waiting.reason !== 'service';
}

/** True for a wait that holds its run: one that people should know, but no settlement in good time. */
export function isHolding(waiting: Waiting | null): waiting is Waiting {
  if (!isShown(waiting)) return false;
  return waiting.reason !== 'settlement' || LATE.includes(waiting.problem.code);
}

/** The waits that people should know, the most important first. */
export function shownFirst(waits: readonly (Waiting | null)[]): readonly Waiting[] {
  return waits
    .filter(isShown)
    .toSorted((a, b) => FIRST_TO_LAST.indexOf(a.reason) - FIRST_TO_LAST.indexOf(b.reason));
}

/** Codes of waits that have taken longer than usual. They end by themselves, but a person should know of them. */
const LATE: readonly string[] = ['SETTLEMENT_LATE', 'WITHDRAWAL_LATE'];

export function isLate(code: string): boolean {
  return LATE.includes(code);
}

/** True for a wait that a person should look at. */
export function needsSomebody(waiting: Waiting, nowMs: number): boolean {
  const { reason, problem } = waiting;
  if (reason === 'doubt') return !isShortDoubt(waiting, nowMs);
  return WAIT_REASONS[reason].needsSomebody || isLate(problem.code);
}

/** A wait that only time ends needs no person for this long. */
const PATIENT_MS = 600_000;

/** True for a safety wait that ends soon. */
export function isShortSafetyWait({ safeAtMs }: Pick<Waiting, 'safeAtMs'>, nowMs: number): boolean {
  return safeAtMs !== undefined && safeAtMs - nowMs < PATIENT_MS;
}

/** True for a safety wait that ends soon or has just ended, and for a doubt without a known end that has just begun. */
function isShortDoubt({ safeAtMs, sinceMs }: Waiting, nowMs: number): boolean {
  if (safeAtMs !== undefined) return Math.abs(safeAtMs - nowMs) < PATIENT_MS;
  return sinceMs !== undefined && nowMs - sinceMs < PATIENT_MS;
}
