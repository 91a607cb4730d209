/**
 * Why an item or a run waits: every reason in one place, in one order. What waits says its reason, a problem in words,
 * and when it looks again by itself (M8). Pure.
 */
import type { Ending } from './endings.ts';
import type { Problem } from './problems.ts';

/**
 * Every reason, the one that people must know of first at the top: where a run waits for several things, it shows that
 * one. `ending` says how a command ends that leaves the run waiting, `needsSomebody` whether somebody should look.
 */
export const WAIT_REASONS = {
  /** Somebody has halted it. */
  halt: { ending: 'needs a human', needsSomebody: true },
  /** Nothing goes on before somebody has decided. */
  person: { ending: 'needs a human', needsSomebody: true },
  /** Keys, clocks, modes, what the service has switched off, or a status that nobody has declared. */
  configuration: { ending: 'configuration', needsSomebody: true },
  /** The service or a worker is away, or the service asks for a long pause. */
  outage: { ending: 'infrastructure', needsSomebody: true },
  money: { ending: 'waiting', needsSomebody: true },
  /** An earlier send may still turn up. Somebody should know of it once it takes long (`needsSomebody`). */
  doubt: { ending: 'waiting', needsSomebody: false },
  settlement: { ending: 'waiting', needsSomebody: false },
  /** Another run of the organisation trades now. */
  turn: { ending: 'waiting', needsSomebody: false },
  /** The run's date has not begun. */
  opening: { ending: 'waiting', needsSomebody: false },
  /** The service's own pace, seconds: nobody need know. */
  service: { ending: 'waiting', needsSomebody: false },
} as const satisfies Readonly<Record<string, { readonly ending: Ending; readonly needsSomebody: boolean }>>;

export type WaitReason = keyof typeof WAIT_REASONS;

const FIRST_TO_LAST = Object.keys(WAIT_REASONS);

/**
 * An item that cannot go on now. `safeAtMs`: of a *safety wait*, which only time ends, its end in epoch milliseconds; it may
 * look several times before. Absent of every other wait. `sinceMs`: when it began, where that is known, and not by when it was
 * first shown.
 */
export type Wait = {
  readonly afterMs: number;
  readonly reason: WaitReason;
  readonly problem: Problem;
  readonly safeAtMs?: number;
  readonly sinceMs?: number;
};

/**
 * The same as it is shown: with the moment at which it looks again by itself, and the one since when it waits for this,
 * epoch milliseconds; absent where an earlier history may have waited for it too.
 */
export type Waiting = Omit<Wait, 'afterMs'> & { readonly wakeAtMs: number };

/** A wait as it is shown from now on. @param before what was shown until now: the same wait goes on */
export function waitingOf(
  { afterMs, reason, problem, safeAtMs, sinceMs }: Wait,
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
  };
}

/** The one sentence for it, the same wherever it is shown: `safety wait until 20:37:37 UTC; nothing for you to do`. */
export function safetyWaitText(safeAtMs: number, nowMs: number): string {
  const [date, time] = momentOf(Math.ceil(safeAtMs / 1_000) * 1_000);
  const [today] = momentOf(nowMs);
  return `safety wait until ${date === today ? '' : `${date} `}${time} UTC; nothing for you to do`;
}

/** What stands besides against a payment in doubt, and may be mended: the fix of its problem says so at its end. */
export const SENT_SOONER = 'To have it sent sooner, mend what stands in the way and reset the run.';

/** The sentence for a safety wait, and what may shorten it. @param left of it, as it is shown behind its end */
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

/** What people should know of: everything but the service's own pace. */
export function isShown(waiting: Waiting | null): waiting is Waiting {
  return waiting !== null && waiting.reason !== 'service';
}

/** Those that people should know of, the most important first. */
export function shownFirst(waits: readonly (Waiting | null)[]): readonly Waiting[] {
  return waits
    .filter(isShown)
    .toSorted((a, b) => FIRST_TO_LAST.indexOf(a.reason) - FIRST_TO_LAST.indexOf(b.reason));
}

/** What takes longer than its time goes on by itself, and yet somebody should know of it. */
const LATE: readonly string[] = ['SETTLEMENT_LATE', 'WITHDRAWAL_LATE'];

/** True for a wait that somebody should look at: nobody else would find what it waits for. */
export function needsSomebody(waiting: Waiting, nowMs: number): boolean {
  const { reason, problem } = waiting;
  if (reason === 'doubt') return !isShortDoubt(waiting, nowMs);
  return WAIT_REASONS[reason].needsSomebody || LATE.includes(problem.code);
}

/** So long is nobody troubled by what only time ends. */
const PATIENT_MS = 600_000;

/** True for a safety wait whose end is near. */
export function isShortSafetyWait({ safeAtMs }: Pick<Waiting, 'safeAtMs'>, nowMs: number): boolean {
  return safeAtMs !== undefined && safeAtMs - nowMs < PATIENT_MS;
}

/** A safety wait that ends soon, or whose end is just over; a doubt of which nobody knows the end and that has just begun. */
function isShortDoubt({ safeAtMs, sinceMs }: Waiting, nowMs: number): boolean {
  if (safeAtMs !== undefined) return Math.abs(safeAtMs - nowMs) < PATIENT_MS;
  return sinceMs !== undefined && nowMs - sinceMs < PATIENT_MS;
}
