/**
 * What is known of one item's writes, and *doubt*: an earlier send may still be, or become, a record (design: "In doubt,
 * absent, generations"). Every time is of a worker's clock that agrees with the service's; none is Temporal's or a
 * terminal's. Pure.
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
  /** Name of the one API key under which all sends in doubt left; null: that is not known, or they are several. */
  readonly under: string | null;
  readonly why: string;
};

/** What is known of one item's writes; lives in history as argument and result of the activities. */
export type SendState = {
  /** Temporal run in which all of this was learned; null when nothing was. */
  readonly knownIn: string | null;
  /** When this was last confirmed, epoch milliseconds. */
  readonly knownAtMs: number;
  /** Some write of this item has left, or may have. */
  readonly sent: boolean;
  readonly doubt: Doubt | null;
  /** The person's "not executed" that this Temporal run knows of, and since when; null: it knows of none. */
  readonly heard: { readonly id: string; readonly sinceMs: number } | null;
  /** Temporal run that has asked whether another run of the policy has done the item; null: none has. */
  readonly askedIn: string | null;
  /** Sends in a row that ended in a wait: drives the backoff. */
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

/** A send can be accepted until its token has expired on the service's clock. */
const SEND_OUTLIVES_MS = TOKEN_LIFE_MS + CLOCK_TOLERANCE_MS;
/**
 * No backup is restored faster than this, and the twenty seconds by which an agreeing clock may be set meanwhile; what
 * is older may have been, behind our back.
 */
const FRESH_MS = 30_000;

/**
 * True in a run that another one came before: it was reset, or the plan was made for another one, or over records that
 * were there already.
 */
export function isNewStart({
  attempt,
  originalRunId,
  plan,
}: Pick<Context, 'attempt' | 'originalRunId' | 'plan'>): boolean {
  return attempt.runId !== originalRunId || plan.madeFor !== attempt.runId || plan.foundRecords;
}

/** From now on, how long a send may still be accepted that somebody else has made, or makes now, in an older attempt. */
export function othersSendMs({
  attempt,
}: {
  readonly attempt: Pick<Context['attempt'], 'sendWithinMs'>;
}): number {
  return attempt.sendWithinMs + SEND_OUTLIVES_MS;
}

/**
 * What this call may have forgotten (step 4 of the six).
 * `fresh`: nothing; this very run made the plan and found nothing then, has not sent the item, this is the first
 * attempt, and for a trade the plan is young. `known`: this history is whole as to the item. `stale`: it is, unless it
 * was restored meanwhile. `forgotten`: somebody may have sent the item whom this history does not show.
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
  const wasReset = attempt.runId !== context.originalRunId;
  const madePlan = plan.madeFor === attempt.runId && !plan.foundRecords;
  // A quote moves no money: a repeated attempt of asking for one has sent nothing.
  const firstAttempt = attempt.number === 1 || call === 'quote';
  const young = call === 'withdrawal' || isYoung(plan.madeAtMs, now);
  if (madePlan && !wasReset && firstAttempt && !state.sent && young) return 'fresh';
  // A restored history has the same run id. A payment's key tells what it forgot; a quote that it shows may long be dead.
  if (state.knownIn !== attempt.runId || !firstAttempt) return 'forgotten';
  return call === 'withdrawal' || isRecent(context, state, settleDoubtMs) ? 'known' : 'stale';
}

/**
 * True when no backup can have been restored since this was confirmed, or since doubt could have ended at the earliest:
 * before that nobody has sent anything new, whatever was restored.
 */
export function isRecent(
  context: Pick<Context, 'nowMs'>,
  { knownAtMs, doubt }: SendState,
  settleDoubtMs: number,
): boolean {
  const now = context.nowMs();
  if (isYoung(knownAtMs, now)) return true;
  return doubt !== null && now - (doubt.lastSendMs + settleDoubtMs) < FRESH_MS;
}

/** True when no backup can have been restored since. What is dated in the future was dated by a clock that has been set since. */
function isYoung(atMs: number, now: number): boolean {
  return atMs <= now + CLOCK_TOLERANCE_MS && now - atMs < FRESH_MS;
}

/**
 * The state as this call begins with it. What another Temporal run has heard of people, and refusals that it was given,
 * count no more: a reset tries again. Its doubt stays.
 */
export function asKnownNow<State extends SendState>(context: Context, state: State): State {
  const { runId } = context.attempt;
  const anew = state.knownIn === runId ? {} : { heard: null, phase: triedAnew(state.phase) };
  return { ...state, ...anew, knownIn: runId, knownAtMs: context.nowMs() };
}

/** State in which a forgotten send is assumed: whoever made it had begun before now. */
export function assumeSent<State extends SendState>(context: Context, state: State): State {
  const lastSendMs = context.nowMs() + othersSendMs(context);
  const added = { lastSendMs, absentAtMs: null, under: null, why: 'an earlier attempt may have sent it' };
  return { ...state, sent: true, doubt: deepen(state.doubt, added) };
}

/**
 * The state after a call that cannot tell what it, or an earlier attempt of it, has sent: whoever goes on takes nothing of
 * it for known.
 */
export function asForgotten<State extends SendState>(state: State): State {
  return { ...state, knownIn: null, sent: true };
}

/** Doubt that lasts as long as both. Lookups made before a later send prove nothing about it. */
function deepen(doubt: Doubt | null, added: Doubt): Doubt {
  if (doubt === null) return added;
  const under = doubt.under === added.under ? doubt.under : null;
  if (doubt.lastSendMs >= added.lastSendMs) return { ...doubt, under };
  return { ...added, under, why: doubt.why };
}

/**
 * State after a send whose fate is unknown: it can be accepted until its token has expired, and carried out as long as
 * what it uses lives (epoch milliseconds).
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

/** State in which no earlier send is in doubt any more. */
export function withoutDoubt<State extends SendState>(state: State): State {
  return { ...state, doubt: null };
}

/** One wait more in a row: the next one is longer. */
export function triedAgain<State extends SendState>(state: State): State {
  return { ...state, tries: state.tries + 1 };
}

/**
 * Doubt ended by time: a lookup after half of `settleDoubtMs` and one at its end, both absent. The lookup that began at
 * `now` was. Returns the state with the doubt moved on, over, or the moment of the next lookup; and when it ends.
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
  // A lookup in the future was dated by a clock that has been set since.
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

/** True when a send in doubt left, or may have, under another API key than this worker's: the same key again is no lookup. */
export function isOthersDoubt({ credentials }: Pick<Context, 'credentials'>, { doubt }: SendState): boolean {
  return doubt !== null && doubt.under !== credentials.keyName;
}
