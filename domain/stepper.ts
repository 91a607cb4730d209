/**
 * The core that decides (look, sign, send, what next), as pure generators: each `yield` asks the driver for one thing
 * of the world (an *effect*) and gets its answer. Activities drive it with the client, tests with a model. The six
 * steps before every write (design: "Before every write") are here and in the two files that go on from it:
 * `trade-steps.ts` and `withdrawal-steps.ts`. No clock but the one given, no randomness, no I/O.
 */
import { backoffMs, type ReplyClass } from './decisions.ts';
import type { Sweep } from './looks.ts';
import type { LegAmount, Plan } from './plan.ts';
import type { Balances, Quote, SettlementWindow, Trade, Withdrawal } from './records.ts';
import type { Reply } from './reply.ts';
import type { ServiceFacts } from './service-facts.ts';
import {
  instructionsAbout,
  type Fact,
  type InstructionsAbout,
  type Kept,
  type Recorded,
} from './instructions.ts';

/** One thing that the stepper asks the driver to do. Only the last three are sent to the service as writes. */
export type Effect =
  | { readonly kind: 'read instructions' }
  /** Keeps facts durably, before what follows from them. */
  | { readonly kind: 'note facts'; readonly facts: readonly Fact[] }
  | { readonly kind: 'read balances' }
  | { readonly kind: 'fetch trade'; readonly id: string }
  | { readonly kind: 'fetch withdrawal'; readonly id: string }
  /** Sweep the list, newest first, back to `sinceMs`; keep what is `wanted`. */
  | { readonly kind: 'sweep trades'; readonly sinceMs: number; readonly wanted: (trade: Trade) => boolean }
  | {
      readonly kind: 'sweep withdrawals';
      readonly sinceMs: number;
      readonly wanted: (record: Withdrawal) => boolean;
    }
  | { readonly kind: 'send quote'; readonly request: QuoteRequest }
  | { readonly kind: 'send trade'; readonly quoteId: string; readonly reference: string }
  | { readonly kind: 'send withdrawal'; readonly request: WithdrawalRequest };

export type QuoteRequest = {
  readonly sell: string;
  readonly buy: string;
  readonly amount: LegAmount;
  readonly validForSeconds: number;
  readonly settlement: SettlementWindow;
};

export type WithdrawalRequest = {
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
  /** Reference with its generation: tag and key material. */
  readonly reference: string;
};

/** What the driver answers to each effect. */
type Answers = {
  'read instructions': Kept;
  /** True when they are kept; else what follows from them must wait. */
  'note facts': boolean;
  'read balances': Reply<Balances>;
  'fetch trade': Reply<Trade>;
  'fetch withdrawal': Reply<Withdrawal>;
  'sweep trades': Sweep<Trade>;
  'sweep withdrawals': Sweep<Withdrawal>;
  'send quote': Reply<Quote>;
  'send trade': Reply<Trade>;
  'send withdrawal': Reply<Withdrawal>;
};

/** The answer to any effect. */
export type Answer = Answers[Effect['kind']];

/** A computation that asks for effects and ends with `Result`. */
export type Steps<Result> = Generator<Effect, Result, Answer>;

/** Asks for one effect. The driver's answer is of the effect's kind; this is the one place that says so. */
export function* ask<Kind extends Effect['kind']>(
  effect: Extract<Effect, { kind: Kind }>,
): Steps<Answers[Kind]> {
  return (yield effect) as Answers[Kind];
}

/** Runs the steps with `perform`, which may be asynchronous. */
export async function drive<Result>(
  steps: Steps<Result>,
  perform: (effect: Effect) => Promise<Answer>,
): Promise<Result> {
  let next = steps.next();
  while (next.done !== true) next = steps.next(await perform(next.value));
  return next.value;
}

/**
 * One call of an activity, as far as it tells what this call may have forgotten. Run ids serve only to tell a reset or
 * a repeat; they are part of nothing that identifies money.
 */
export type Attempt = {
  /** Temporal run in which the activity runs. */
  readonly runId: string;
  readonly number: number;
  readonly startedAtMs: number;
  /** Start of the Temporal run; of no use after a reset, which keeps the old one. */
  readonly runStartedAtMs: number;
  /** No write leaves later than this after `startedAtMs` (start-to-close less the HTTP limit). */
  readonly sendWithinMs: number;
};

/** Whom a key belongs to, and for which environment. */
export type Owner = Pick<Plan['credentials'], 'mode' | 'organisation'>;

/** What the steps may know besides the item. */
export type Context = {
  readonly plan: Omit<Plan, 'legs' | 'payments' | 'policy'>;
  /** `originalExecutionRunId` of the workflow: equal to the attempt's run id unless the run was reset. */
  readonly originalRunId: string;
  readonly attempt: Attempt;
  readonly facts: ServiceFacts;
  /** Organisation, mode and key with which the worker that runs this call writes. */
  readonly credentials: Plan['credentials'];
  /** Those with which it looks. */
  readonly reader: Owner;
  /** Whether another item of this run was accepted: tells a wrong item from a bug of ours. */
  readonly othersAccepted: boolean;
  /** Ids of withdrawals that the service gave us for the other payments of this run. */
  readonly otherWithdrawalIds: readonly string[];
  readonly nowMs: () => number;
  /** Service clock less ours by the last reply that told, milliseconds; null when none did yet. */
  readonly skewMs: () => number | null;
};

/** A problem in words: what, where, and what to do. */
export type Problem = {
  readonly code: string;
  readonly item: string | null;
  readonly message: string;
  readonly fix: string;
};

/**
 * What an item waits for. `service` is the service's own pace, seconds; `outage` is the service away or asking for
 * longer; `person` alone needs somebody.
 */
export type Hold =
  'service' | 'outage' | 'money' | 'doubt' | 'configuration' | 'opening' | 'settlement' | 'person';

/** An item that cannot go on now. */
export type Wait = { readonly afterMs: number; readonly hold: Hold; readonly problem: Problem };

/**
 * Doubt: an earlier send may still be, or become, a record. `lastSendMs` is the last moment at which such a send could
 * have been accepted; `absentAtMs` is the first look after half of `settle_doubt` that found nothing.
 */
export type Doubt = {
  readonly lastSendMs: number;
  readonly absentAtMs: number | null;
  /** When the latest send that this history knows of left; absent: it knows of none. */
  readonly sentAtMs?: number;
  readonly why: string;
};

/** What is known of one item's writes; lives in history as argument and result of the activities. */
export type SendState = {
  /** Temporal run in which all of this was learned; null when nothing was. */
  readonly knownIn: string | null;
  /** When this was last confirmed, and first in that Temporal run; epoch milliseconds. */
  readonly knownAtMs: number;
  readonly knownSinceMs: number;
  /** Some write of this item has left, or may have. */
  readonly sent: boolean;
  /** Names of the API keys under which sends left, or may have, whose fate is not settled. */
  readonly sentUnder: readonly string[];
  readonly doubt: Doubt | null;
  /** Sends in a row that ended in a wait: drives the backoff. */
  readonly tries: number;
  /** The refusal for lack of money that is being waited out; null when none is. */
  readonly shortOf: Problem | null;
  /** A reply after which this item is never sent again by itself (mismatch, duplicate, stored failure). */
  readonly spent: Problem | null;
  /** A definitive refusal that ends the item as soon as no earlier send is in doubt. */
  readonly verdict: Problem | null;
};

export const NOTHING_SENT: SendState = Object.freeze({
  knownIn: null,
  knownAtMs: 0,
  knownSinceMs: 0,
  sent: false,
  sentUnder: [],
  doubt: null,
  tries: 0,
  shortOf: null,
  spent: null,
  verdict: null,
});

/** A send can be accepted until its token has expired; the client's tokens live this long (heading "JWT"). */
export const TOKEN_LIFE_MS = 45_000;
/** No backup is restored faster than this; what is older may have been, behind our back. */
const FRESH_MS = 30_000;
/** Clocks further apart than this make every life and fence unreliable. */
const MAX_SKEW_MS = 10_000;
/** A wait for the service that is longer than this is shown as an outage. */
const OUTAGE_MS = 15_000;
/** How often a held item looks again when nothing but a look or a person can help. */
export const SLOW_LOOK_MS = 600_000;

/**
 * Steps 2 and 4 of the six: may this item have been sent by someone whom this history does not show? Fresh means no:
 * this very run made the pin and found nothing then, has not sent the item, this is the first attempt, and for a trade the pin is young.
 * Otherwise, unless this run's own history is complete as to the item, a forgotten send is assumed (doubt).
 */
export function recall<State extends SendState>(
  context: Context,
  state: State,
  call: 'quote' | 'trade' | 'withdrawal',
): { readonly fresh: boolean; readonly state: State } {
  const { attempt, plan } = context;
  const now = context.nowMs();
  const wasReset = attempt.runId !== context.originalRunId;
  const madePin = plan.pinnedFor === attempt.runId && !plan.foundRecords;
  // A quote moves no money: a repeated attempt of asking for one has sent nothing.
  const firstAttempt = attempt.number === 1 || call === 'quote';
  const young = call === 'withdrawal' || now - plan.pinnedAtMs < FRESH_MS;
  const knownHere = state.knownIn === attempt.runId;
  const known: State = {
    ...state,
    knownIn: attempt.runId,
    knownAtMs: now,
    knownSinceMs: knownHere ? state.knownSinceMs : now,
  };
  if (madePin && !wasReset && firstAttempt && !state.sent && young) return { fresh: true, state: known };
  // A restored history has the same run id: without a quote in hand, only what was learned just now is whole.
  const whole = knownHere && firstAttempt && (call !== 'quote' || now - state.knownAtMs < FRESH_MS);
  if (whole) return { fresh: false, state: known };
  // Whoever sent it, in the run before a reset or in the attempt before this one, started before this moment.
  const resetBefore = wasReset ? known.knownSinceMs : attempt.runStartedAtMs;
  const from = firstAttempt ? resetBefore : attempt.startedAtMs;
  const lastSendMs = from + attempt.sendWithinMs + TOKEN_LIFE_MS;
  return {
    fresh: false,
    state: {
      ...known,
      sent: true,
      sentUnder: withName(state.sentUnder, plan.credentials.keyName),
      doubt: deepen(state.doubt, lastSendMs, 'an earlier attempt may have sent it'),
    },
  };
}

function withName(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names : [...names, name];
}

/** Doubt that lasts at least until `lastSendMs`. Looks made before that prove nothing about the later send. */
function deepen(doubt: Doubt | null, lastSendMs: number, why: string): Doubt {
  if (doubt !== null && doubt.lastSendMs >= lastSendMs) return doubt;
  return { ...doubt, lastSendMs, absentAtMs: null, why: doubt?.why ?? why };
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
  const sentAtMs = context.nowMs();
  const lastSendMs = Math.max(sentAtMs + TOKEN_LIFE_MS, livesUntilMs);
  return {
    ...leftUnder(context, state),
    tries: state.tries + 1,
    doubt: { ...deepen(state.doubt, lastSendMs, why), sentAtMs },
  };
}

/** State after a send that left, whatever became of it. */
export function leftUnder<State extends SendState>(context: Context, state: State): State {
  return { ...withOwnKey(context, state), sent: true };
}

/** True for a person's decision that is older than a send in doubt: whoever said it could not have looked for that one. */
export function isOlderThanDoubt({ atMs }: Pick<Recorded, 'atMs'>, { doubt }: SendState): boolean {
  return doubt?.sentAtMs !== undefined && atMs < doubt.sentAtMs;
}

/** State in which no earlier send is in doubt any more. */
export function withoutDoubt<State extends SendState>(state: State): State {
  return { ...state, doubt: null, sentUnder: [] };
}

/**
 * Doubt ended by time: a look after half of `settleDoubtMs` and one at its end, both absent. `absent` is what the look
 * that was just made said. Returns the state with the doubt moved on, over, or the moment of the next look.
 */
export function settleByTime<State extends SendState>(
  context: Context,
  state: State,
  settleDoubtMs: number,
): { readonly over: boolean; readonly state: State; readonly nextLookMs: number } {
  const { doubt } = state;
  if (doubt === null) return { over: true, state, nextLookMs: 0 };
  const now = context.nowMs();
  const halfMs = doubt.lastSendMs + settleDoubtMs / 2;
  const endMs = doubt.lastSendMs + settleDoubtMs;
  // A look in the future was dated by a clock that has been set since.
  const earlierMs = doubt.absentAtMs !== null && doubt.absentAtMs <= now ? doubt.absentAtMs : null;
  if (now >= endMs && earlierMs !== null && earlierMs < now) {
    return { over: true, state: withoutDoubt(state), nextLookMs: 0 };
  }
  if (now < halfMs) return { over: false, state, nextLookMs: halfMs - now };
  const absentAtMs = earlierMs ?? now;
  return {
    over: false,
    state: { ...state, doubt: { ...doubt, absentAtMs } },
    nextLookMs: Math.max(endMs - now, 1_000),
  };
}

/**
 * Step 2: a worker whose keys, to write or to read, are of another organisation or mode than the plan's sends nothing
 * for it and proves nothing by its looks; null when all is well.
 */
export function foreignCredentials(
  context: { readonly credentials: Owner; readonly reader: Owner } & Pick<Context, 'plan'>,
): Problem | null {
  const { plan } = context;
  const foreign = [context.credentials, context.reader].find(
    ({ mode, organisation }) =>
      mode !== plan.credentials.mode || organisation !== plan.credentials.organisation,
  );
  if (foreign === undefined) return null;
  return {
    code: 'CREDENTIALS_DIFFER',
    item: null,
    message: `The worker runs for ${foreign.organisation} in ${foreign.mode}, the plan was made for ${plan.credentials.organisation} in ${plan.credentials.mode}.`,
    fix: 'Start a worker with the key files and mode of the plan; the run then goes on by itself.',
  };
}

/**
 * True when a send in doubt left under another API key than the worker's: keys may belong to the API key, so that the
 * same key again would be no look.
 */
export function isOtherKey(context: Context, state: SendState): boolean {
  return state.doubt !== null && state.sentUnder.some((name) => name !== context.credentials.keyName);
}

/**
 * True when nothing may leave under this worker's API key yet: it is not the plan's, and the run's history does not name
 * it. A worker with the plan's key that goes on after a crash would take a send under it for one of its own.
 */
export function isUnknownKey(context: Context, state: SendState): boolean {
  const { keyName } = context.credentials;
  return keyName !== context.plan.credentials.keyName && !state.sentUnder.includes(keyName);
}

/** State in which this worker's API key is named. */
export function withOwnKey<State extends SendState>(context: Context, state: State): State {
  return { ...state, sentUnder: withName(state.sentUnder, context.credentials.keyName) };
}

/** Clocks too far apart: lives and fences cannot be trusted, so nothing is written. One read tells anew when in doubt. */
export function* checkClock(context: Context): Steps<Problem | null> {
  if (context.skewMs() !== null && skewOf(context.skewMs()) === null) return null;
  yield* ask<'read balances'>({ kind: 'read balances' });
  return skewOf(context.skewMs());
}

/** What is wrong with a skew in milliseconds; null is no problem: nothing told yet. */
export function skewOf(skewMs: number | null): Problem | null {
  if (skewMs === null || Math.abs(skewMs) <= MAX_SKEW_MS) return null;
  return {
    code: 'CLOCK_SKEW',
    item: null,
    message: `This machine's clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service's.`,
    fix: 'Set the clock (NTP); the run goes on by itself.',
  };
}

/** Step 1: what people have said about an item. */
export function* readInstructionsAbout(item: string): Steps<InstructionsAbout> {
  return instructionsAbout(yield* ask<'read instructions'>({ kind: 'read instructions' }), item);
}

/** What a reply is called in messages: its code, or what was odd about it. */
export function nameOf(reply: Reply<unknown>): string {
  switch (reply.kind) {
    case 'DONE':
      return 'success';
    case 'REFUSED':
      return reply.error.code;
    case 'NOT_SENT':
      return 'NOT_SENT';
    case 'UNKNOWN':
      return reply.error?.code ?? 'NO_ANSWER';
  }
}

/**
 * What a reply said, for a person. The service's free text is left out: it may name a beneficiary (M6). Of its details
 * only the figures that the interface lists are shown, as single words.
 */
export function explain(reply: Reply<unknown>): string {
  switch (reply.kind) {
    case 'DONE':
      return 'The service accepted it.';
    case 'REFUSED':
      return `The service answered ${reply.error.code}${figures(reply.error.details)}.`;
    case 'NOT_SENT':
      return `The service was not reached: ${reply.reason}`;
    case 'UNKNOWN':
      return reply.error === null
        ? `No usable answer: ${reply.reason}`
        : `The service answered ${reply.error.code}${figures(reply.error.details)}.`;
  }
}

const FIGURES = [
  'requiredAmount',
  'availableAmount',
  'outstandingAmount',
  'requestedAmount',
  'limitAmount',
  'minimumAmount',
  'usedAmount',
  'maxDecimals',
  'currency',
  'pair',
  'expiredAt',
  'consumedAt',
  'status',
  'reason',
];

function figures(details: Readonly<Record<string, unknown>>): string {
  const shown = FIGURES.flatMap((name) => {
    const value = details[name];
    const plain =
      typeof value === 'number' || (typeof value === 'string' && /^[A-Za-z0-9.:_/+-]{1,40}$/.test(value));
    return plain ? [`${name} ${value}`] : [];
  });
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}

/** A reply as a problem of an item. */
export function problemOf(reply: Reply<unknown>, item: string, fix: string): Problem {
  return { code: nameOf(reply), item, message: explain(reply), fix };
}

/** The service's own pace, until it asks for so long that people should know. */
export function serviceWait(problem: Problem, afterMs: number): Wait {
  return { afterMs, hold: afterMs < OUTAGE_MS ? 'service' : 'outage', problem };
}

/** One wait more in a row: the next one is longer. */
export function triedAgain<State extends SendState>(state: State): State {
  return { ...state, tries: state.tries + 1 };
}

/** A wait on configuration: slow retries with the cause in plain words. */
export function configurationWait(problem: Problem, tries: number): Wait {
  return { afterMs: Math.max(5_000, backoffMs(tries + 2)), hold: 'configuration', problem };
}

/** True for replies that prove that this send executed nothing although its class waits: rate limits, never left. */
export function executedNothing(reply: Reply<unknown>): boolean {
  if (reply.kind === 'NOT_SENT' || reply.kind === 'REFUSED') return true;
  return reply.kind === 'UNKNOWN' && reply.error?.code === 'RATE_LIMIT_EXCEEDED';
}

/** `timeoutMs` of a failed write: not before this is it sent again; 10 s where the service does not say. */
export function settleTimeMs(reply: Reply<unknown>): number {
  const asked = reply.kind === 'UNKNOWN' ? reply.error?.details['timeoutMs'] : undefined;
  return typeof asked === 'number' && Number.isFinite(asked)
    ? Math.min(Math.max(asked, 1_000), 600_000)
    : 10_000;
}

/** `resourceId` of a failed write; null when it names none. */
export function resourceIdOf(reply: Reply<unknown>): string | null {
  const id = reply.kind === 'UNKNOWN' ? reply.error?.details['resourceId'] : undefined;
  return typeof id === 'string' && id !== '' ? id : null;
}

/** What to do about a read that did not come back, in words. */
export function unreadable(item: string, reason: string): Problem {
  return {
    code: 'LOOK_INCOMPLETE',
    item,
    message: `The service's records could not be read whole: ${reason}.`,
    fix: 'Nothing to do: it looks again by itself, and sends nothing before it has seen everything.',
  };
}

/** The fix sentence of each class, for problems that end or hold an item. */
export const ADVICE: Readonly<Record<ReplyClass, string>> = {
  done: 'Nothing to do.',
  'wait, same key': 'Nothing to do: it is sent again by itself under the same key.',
  'check state, then retry': 'Nothing to do: it looks, and sends again by itself under the same key.',
  'look, then a new quote': 'Nothing to do: it asks for a new quote by itself.',
  'ours, probably': 'Find the record at the service; nothing is sent again before a person has decided.',
  'wait for money':
    'Bring money into the currency; with `shortfall: hold` the run goes on by itself, else start it with --go-on.',
  'the item is wrong':
    'Correct the account, amount or pair at the service, then reset the run or start it with --go-on.',
  'pause the policy': 'Have it switched on for the account at the service; the run goes on by itself.',
  'pause everything': 'Mend the configuration (key, mode, address, clock); the run goes on by itself.',
  unknown: 'Nothing to do: it looks, and sends again by itself under the same key.',
};

/** The fix sentence for a request that the service calls malformed while it has accepted nothing else. */
export const BUG_OF_OURS =
  'The request was malformed: most likely a fault of this program. Report it; nothing was executed.';
