/**
 * What is known of the writes of one item, and *doubt*: an earlier send may already have made a record, or may still make
 * one (design: "In doubt, absent, generations"). Every time is from the clock of a worker that agrees with the service's
 * clock, never from Temporal or a terminal. Pure.
 */
import { OPEN, triedAnew, type Phase } from './phase.ts';
import { CLOCK_TOLERANCE_MS, TOKEN_LIFE_MS, type Context } from './step.ts';

/**
 * `lastSendMs` is the last moment at which a send in doubt could have been accepted; `absentAtMs` is the first lookup
 * after half of `settle_doubt` that found nothing.
 */
export type Doubt = {
  readonly lastSendMs: number;
  readonly absentAtMs: number | null;
  /** The name of the API key under which all sends in doubt left; null: not known, or there were several keys. */
  readonly under: string | null;
  readonly why: string;
};

/** What is known of one item's writes. The history keeps it as argument and result of the activities. */
export type SendState = {
  /** The Temporal run that learned all of this; null when nothing is known. */
  readonly knownIn: string | null;
  /** When this was last confirmed, epoch milliseconds. */
  readonly knownAtMs: number;
  /** True when some write of this item has left, or may have left. */
  readonly sent: boolean;
  readonly doubt: Doubt | null;
  /** A person's "not executed" that this Temporal run knows of, and since when it knows it; null: it knows of none. */
  readonly heard: { readonly id: string; readonly sinceMs: number } | null;
  /** The Temporal run that has asked whether another run of the policy has done the item; null: none has asked. */
  readonly askedIn: string | null;
  /** Nothing new is sent before this moment (`quietWhile`), epoch milliseconds. Absent: nothing forbids it. */
  readonly quietUntilMs?: number;
  /** How many sends in a row ended in a wait. The length of the next wait depends on it. */
  readonly tries: number;
  readonly phase: Phase;
};

export const NOTHING_SENT = Object.freeze({
  knownIn: null,
  knownAtMs: 0,
  sent: false,
  doubt: null,
  heard: null,
  askedIn: null,
  tries: 0,
  phase: OPEN,
}) satisfies SendState;

/** True when this history has neither sent the item nor looked it up. */
export function isUnseen({ knownIn, sent }: Pick<SendState, 'knownIn' | 'sent'>): boolean {
  return knownIn === null && !sent;
}

/** A send can be accepted until its token has expired on the service's clock. */
export const SEND_OUTLIVES_MS = TOKEN_LIFE_MS + CLOCK_TOLERANCE_MS;
/**
 * No operator restores a backup faster than this. The time includes the twenty seconds by which a clock that agrees may be
 * set in the meantime. After more time, an operator may have restored a backup without our notice.
 */
const FRESH_MS = 30_000;

/**
 * True when another Temporal run may have gone further than this one: the plan was made for another one, or records were
 * already there when it was made. A reset, and a start after an end, begin another Temporal run.
 */
export function isNewStart({ attempt, plan }: Pick<Context, 'attempt' | 'plan'>): boolean {
  return plan.madeFor !== attempt.runId || plan.foundRecords;
}

/** How long from now the service may still accept a send of an older attempt, which was sent already or is sent now. */
export function othersSendMs({
  attempt,
}: {
  readonly attempt: Pick<Context['attempt'], 'sendWithinMs'>;
}): number {
  return attempt.sendWithinMs + SEND_OUTLIVES_MS;
}

/**
 * Tells what this call may have forgotten (step 4 of the six). `fresh`: nothing. This run itself made the plan and found no
 * record, it has not sent the item, this is the first attempt, and for a trade the plan is young. `known`: this history
 * shows everything about the item. `stale`: it does, unless an operator has restored a backup since. `forgotten`: a
 * worker may have sent the item, and this history does not show it.
 */
export function recall(
  context: Context,
  state: SendState,
  {
    call,
    settleDoubtMs,
  }: { readonly call: 'quote' | 'trade' | 'withdrawal'; readonly settleDoubtMs: number },
): 'fresh' | 'known' | 'stale' | 'forgotten' {
  const { attempt, plan } = context;
  const now = context.nowMs();
  // A quote moves no money, so a repeated attempt to ask for one has sent nothing.
  const firstAttempt = attempt.number === 1 || call === 'quote';
  const young = call === 'withdrawal' || isYoung(plan.madeAtMs, now);
  if (!isNewStart(context) && firstAttempt && !state.sent && young) return 'fresh';
  // A restored history has the same run id. The key of a payment tells what the history forgot. But a quote in the history
  // may have expired long ago.
  if (state.knownIn !== attempt.runId || !firstAttempt) return 'forgotten';
  return call === 'withdrawal' || isRecent(context, state, settleDoubtMs) ? 'known' : 'stale';
}

/**
 * What may hide a send that a history does not show. Without one of these reasons, nothing is assumed to have been sent. The
 * table of the design ("In doubt, absent, generations") says for each what proves sooner that a withdrawal was not made.
 */
export const HIDDEN_BY = {
  attempt: 'an earlier attempt of a worker may have sent it',
  run: 'the run was reset or started again, and may have sent it before',
  answer: 'a worker that may have sent it has ended without an answer',
  restore:
    'Temporal may have been restored from a backup since the run last looked, which would hide what was sent since',
} as const;

/** Why a send may be hidden from a call that recalls the item as `forgotten` or `stale`, in words. */
export function whyHidden(
  context: Context,
  { knownIn, sent }: SendState,
  recalled: 'stale' | 'forgotten',
): string {
  const { attempt } = context;
  if (recalled === 'stale') return HIDDEN_BY.restore;
  if (knownIn === attempt.runId) return HIDDEN_BY.attempt;
  if (isNewStart(context)) return HIDDEN_BY.run;
  if (attempt.number > 1) return HIDDEN_BY.attempt;
  return sent ? HIDDEN_BY.answer : HIDDEN_BY.restore;
}

/** Nothing keeps itself quiet for longer than this. */
export const LONGEST_QUIET_MS = 180_000;

/**
 * Until when nothing new is sent, epoch milliseconds; null: it may be sent now. A moment that is too far ahead is from a clock
 * that was wrong, and forbids nothing.
 */
export function quietUntil({ quietUntilMs = 0 }: SendState, now: number): number | null {
  const isAhead = now < quietUntilMs && quietUntilMs <= now + LONGEST_QUIET_MS + CLOCK_TOLERANCE_MS;
  return isAhead ? quietUntilMs : null;
}

/**
 * True when no operator can have restored a backup since this was confirmed, since the item was to keep quiet, or since the
 * earliest end of the doubt. Before the last two no worker sent anything new, so that a restore before them does not matter.
 */
export function isRecent(context: Pick<Context, 'nowMs'>, state: SendState, settleDoubtMs: number): boolean {
  const now = context.nowMs();
  const { knownAtMs, quietUntilMs = 0, doubt } = state;
  if (isYoung(knownAtMs, now) || isYoung(quietUntilMs, now) || quietUntil(state, now) !== null) return true;
  return doubt !== null && now - (doubt.lastSendMs + settleDoubtMs) < FRESH_MS;
}

/**
 * True when no operator can have restored a backup since then. A time in the future is from a clock that was wrong and has
 * been set since.
 */
export function isYoung(atMs: number, now: number): boolean {
  return atMs <= now + CLOCK_TOLERANCE_MS && now - atMs < FRESH_MS;
}

/**
 * The state with which this call begins. Decisions of people and refusals that only another Temporal run knows of do not
 * count any more, because a reset tries again. Doubt stays.
 */
export function asKnownNow<State extends SendState>(context: Context, state: State): State {
  const { runId } = context.attempt;
  const anew = state.knownIn === runId ? {} : { heard: null, phase: triedAnew(state.phase) };
  return { ...state, ...anew, knownIn: runId, knownAtMs: context.nowMs() };
}

/**
 * The state, with the assumption that an attempt has sent the item and that this was forgotten. That attempt began before
 * now.
 * @param why as `whyHidden` says it
 */
export function assumeSent<State extends SendState>(context: Context, state: State, why: string): State {
  const lastSendMs = context.nowMs() + othersSendMs(context);
  const added = { lastSendMs, absentAtMs: null, under: null, why };
  return { ...state, sent: true, doubt: deepen(state.doubt, added) };
}

/**
 * The state after a call that does not know what it or an earlier attempt has sent. The next call must not rely on anything
 * in it.
 */
export function asForgotten<State extends SendState>(state: State): State {
  return { ...state, knownIn: null, sent: true };
}

/**
 * Joins two doubts. The result lasts as long as the longer one. A lookup before a later send proves nothing about that send.
 */
function deepen(doubt: Doubt | null, added: Doubt): Doubt {
  if (doubt === null) return added;
  const under = doubt.under === added.under ? doubt.under : null;
  if (doubt.lastSendMs >= added.lastSendMs) return { ...doubt, under };
  return { ...added, under, why: doubt.why };
}

/**
 * The state after a send with an unknown result. The service can accept the send until its token has expired, and can carry
 * it out while the quote that it uses lives (epoch milliseconds).
 */
export function unknownSend<State extends SendState>(
  context: Context,
  state: State,
  why: string,
  livesUntilMs = 0,
): State {
  const lastSendMs = Math.max(context.nowMs() + SEND_OUTLIVES_MS, livesUntilMs);
  const added = { lastSendMs, absentAtMs: null, under: context.credentials.keyName, why };
  return { ...state, sent: true, tries: state.tries + 1, doubt: deepen(state.doubt, added) };
}

/** The state when no earlier send is in doubt any more. */
export function withoutDoubt<State extends SendState>(state: State): State {
  return { ...state, doubt: null };
}

/** Counts one more wait in a row, so that the next one is longer. */
export function triedAgain<State extends SendState>(state: State): State {
  return { ...state, tries: state.tries + 1 };
}

/**
 * Ends doubt by time. This takes one lookup after half of `settleDoubtMs` and one at its end, and both must find the item
 * absent. The lookup that began at `now` did. Returns whether doubt is over, the new state, the time until the next lookup,
 * and when doubt can end.
 */
export function settleByTime<State extends SendState>(
  state: State,
  now: number,
  settleDoubtMs: number,
): {
  readonly over: boolean;
  readonly state: State;
  readonly nextLookupMs: number;
  readonly safeAtMs: number;
} {
  const { doubt } = state;
  if (doubt === null) return { over: true, state, nextLookupMs: 0, safeAtMs: now };
  const halfMs = doubt.lastSendMs + settleDoubtMs / 2;
  const endMs = doubt.lastSendMs + settleDoubtMs;
  // A lookup with a time in the future was dated by a wrong clock, which has been set since.
  const earlierMs = doubt.absentAtMs !== null && doubt.absentAtMs <= now ? doubt.absentAtMs : null;
  if (now >= endMs && earlierMs !== null && earlierMs < now) {
    return { over: true, state: withoutDoubt(state), nextLookupMs: 0, safeAtMs: endMs };
  }
  if (now < halfMs) return { over: false, state, nextLookupMs: halfMs - now, safeAtMs: endMs };
  const absentAtMs = earlierMs ?? now;
  return {
    over: false,
    state: { ...state, doubt: { ...doubt, absentAtMs } },
    nextLookupMs: Math.max(endMs - now, 1_000),
    safeAtMs: Math.max(endMs, now + 1_000),
  };
}

/**
 * True when a send in doubt may have left under another API key than this worker's. Then the same key again does not
 * count as a lookup.
 */
export function isOthersDoubt({ credentials }: Pick<Context, 'credentials'>, { doubt }: SendState): boolean {
  return doubt !== null && doubt.under !== credentials.keyName;
}
