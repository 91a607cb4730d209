/**
 * What the deciding steps ask of the world, and what all of them share. The steps are pure generators: each `yield` asks the
 * driver for one thing (an *effect*) and gets the answer. Activities drive the steps with the client, tests drive them with
 * a model. The six steps before every write are in `writes/protocol.ts`. The steps use no clock but the one that they are
 * given, no randomness, and no I/O.
 */
import { PROBLEMS, isRunCode, serviceCode, type Problem, type ProblemCode } from '../problems.ts';
import { amountText, decimalsOf } from '../currencies.ts';
import { minuteText, type Wait } from '../waits.ts';
import {
  backoffMs,
  classOf,
  classOfReply,
  isLimitUsedUp,
  waitMs,
  wordsOf,
  type ReplyClass,
} from '../service/reply-rules.ts';
import type { Fact, Kept } from '../people/instructions.ts';
import type { KeptRefusals } from './kept-refusals.ts';
import type { SeenRuns } from './lost-runs.ts';
import type { Closed } from '../halt.ts';
import type { ListScan } from './lookups.ts';
import type { Leg, LegAmount, Plan, PlanHead } from '../plan/plan.ts';
import type { Money, PolicyRules } from '../policy.ts';
import type { RunName } from '../references.ts';
import type { Balances, Quote, SettlementWindow, Trade, Withdrawal } from '../service/records.ts';
import type { Reply, ServiceError } from '../service/reply.ts';
import type { ServiceFacts } from '../service/facts.ts';
import type { TurnAnswer } from '../turn.ts';

/** One thing that the steps ask the driver to do. Only the last three are sent to the service as writes. */
export type Effect =
  | { readonly kind: 'read instructions' }
  /** Records facts durably. Nothing may depend on a fact before that. */
  | { readonly kind: 'note facts'; readonly facts: readonly Fact[] }
  | { readonly kind: 'read balances' }
  /** Asks which of these records without a tag belong to another run of ours. */
  | { readonly kind: 'read claims'; readonly records: readonly Unnamed[] }
  /** Asks whether people have named this record for another item, of this run or another one. */
  | {
      readonly kind: 'read words';
      readonly item: string;
      readonly record: Unnamed;
    }
  /** Asks whether another run of the policy has done, or may still do, the item of this name on the same date. */
  | { readonly kind: 'read rival'; readonly item: string }
  /** Waits a little for the turn of the run. No other run may spend the balances that the run reads in its turn. */
  | { readonly kind: 'take turn' }
  /** Asks how much of the leg the policy still asks for by the balances of now, in the turn of the run. */
  | { readonly kind: 'read demand'; readonly leg: Leg; readonly ownTrades: readonly OwnTrade[] }
  /** Asks in the turn of the run what the date of the policy has come to, for its limit of a day. */
  | { readonly kind: 'read day'; readonly limit: Money }
  /** Asks whether a person must look first, because Temporal has lost runs of the policy of which a lookup has shown trades. */
  | { readonly kind: 'read lost runs'; readonly seen: SeenRuns }
  /** Asks how much of these currencies the run may spend in its turn: withdrawable, and not reserved by another run. */
  | { readonly kind: 'read free money'; readonly currencies: readonly string[] }
  | { readonly kind: 'fetch trade'; readonly id: string }
  | { readonly kind: 'fetch withdrawal'; readonly id: string }
  /** Scans the list, newest first, back to `sinceMs`, and keeps the records that are `wanted`. */
  | { readonly kind: 'scan trades'; readonly sinceMs: number; readonly wanted: (trade: Trade) => boolean }
  | {
      readonly kind: 'scan withdrawals';
      readonly sinceMs: number;
      readonly wanted: (record: Withdrawal) => boolean;
      /** Only records with this reference, in any generation, or without a reference can be wanted; absent: any record. */
      readonly reference?: string;
      /** Only statuses read at this moment or later count, epoch milliseconds; absent: another step asks for them. */
      readonly readAfterMs?: number;
    }
  | { readonly kind: 'send quote'; readonly request: QuoteRequest }
  | {
      readonly kind: 'send trade';
      readonly quote: TradedQuote;
      readonly reference: string;
      /** Both currencies of the leg. They are not sent: the service knows them from the quote. */
      readonly sell: string;
      readonly buy: string;
    }
  | { readonly kind: 'send withdrawal'; readonly request: WithdrawalRequest };

/** A record without a name of ours. */
type Unnamed = Pick<Trade | Withdrawal, 'id' | 'createdAt'>;

/** A quote as a trade takes it: what it sells and buys. */
export type TradedQuote = {
  readonly id: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** As `Quote` has it; absent: its worker has no folder of policies. */
  readonly seal?: string;
};

export type QuoteRequest = {
  /** The reference of the leg. It is not sent: a quote has none. */
  readonly reference: string;
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
  /** The reference with its generation, which becomes the tag and a part of the key. */
  readonly reference: string;
};

/** The driver's answer to each effect. */
type Answers = {
  'read instructions': Kept;
  /** True when the facts are recorded. Otherwise everything that depends on them must wait. */
  'note facts': boolean;
  'read balances': Reply<Balances>;
  'read claims': { readonly claimed: readonly string[] };
  /** Null: not all that people have said could be read. */
  'read words': { readonly named: boolean | null };
  'read rival': Rival;
  'take turn': TurnAnswer | { readonly turn: 'silent' };
  'read demand': Demand;
  'read day': Day;
  'read lost runs': { readonly lostRuns: Wait | null };
  'read free money': FreeMoney;
  'fetch trade': Reply<Trade>;
  'fetch withdrawal': Reply<Withdrawal>;
  'scan trades': ListScan<Trade>;
  'scan withdrawals': ListScan<Withdrawal>;
  'send quote': Reply<Quote>;
  'send trade': Reply<Trade>;
  'send withdrawal': Reply<Withdrawal>;
};

/** A trade of the run, and when the service made it, epoch milliseconds by its own clock. */
export type OwnTrade = { readonly tradeId: string; readonly createdAtMs: number };

/** The amount that is still asked for, on the side that the leg fixes; or why it is not known now. */
export type Demand =
  | {
      readonly demand: string;
      /** The runs because of whose trades, planned or not settled yet, the policy asks for less; mostly none. */
      readonly takenBy: readonly RunName[];
      /**
       * What the policy asks for more with: the money of sales that are not made yet, or what the run's own sales will bring once they
       * have settled. Null: nothing would make it ask for more.
       */
      readonly lacks: 'sales' | 'proceeds' | null;
    }
  | { readonly wait: Wait };

/**
 * What the other runs of the policy have traded on its date, and the most that they may still trade; or why it is not known
 * now.
 */
export type Day = { readonly onDate: readonly Money[] } | { readonly wait: Wait };

/** The free money by currency; or why it is not known now. */
export type FreeMoney = { readonly free: Readonly<Record<string, string>> } | { readonly wait: Wait };

/**
 * For a leg that funds a batch and waits for money: how much it must leave for other items, and when it is not needed any
 * more.
 */
export type Funding = {
  /**
   * In the currency that the leg sells: the amount that the batch itself still pays, and the amount that the legs before it
   * may still sell.
   */
  readonly ahead: string;
  /** In the currency that the leg buys: the amount that the batch still pays. */
  readonly owed: string;
  /** True when the money was there when the plan was made. */
  readonly wasThere: boolean;
};

/** Names of runs; null: there is no such run. */
export type Rival = {
  /** The run that has done the item, or may still do it. */
  readonly rival: string | null;
  /** A run that may have done the item, and that does not answer. */
  readonly silent: string | null;
};

/** The answer to any effect. */
export type Answer = Answers[Effect['kind']];

/** A computation that asks for effects and ends with a `Result`. */
export type Steps<Result> = Generator<Effect, Result, Answer>;

/** Asks for one effect. The driver answers each effect with an answer of its kind; only this function relies on that. */
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
 * One call of an activity, with the facts that show what the call may have forgotten. Run ids only show a reset or a repeat.
 * No key and no reference contains one.
 */
export type Attempt = {
  /** The Temporal run in which the activity runs. */
  readonly runId: string;
  readonly number: number;
  readonly startedAtMs: number;
  /** No write is sent later than this after `startedAtMs` (start-to-close less the HTTP limit). */
  readonly sendWithinMs: number;
};

/** The organisation to which a key belongs, and its mode. */
export type Owner = Pick<Plan['credentials'], 'mode' | 'organisation'>;

/** What the steps know besides the item. */
export type Context = {
  readonly plan: PlanHead;
  readonly attempt: Attempt;
  readonly facts: ServiceFacts;
  /** Organisation, mode and API key with which this worker writes. */
  readonly credentials: Plan['credentials'];
  /** Organisation and mode of the key with which this worker reads. */
  readonly reader: Owner;
  /**
   * True when the service has accepted another item of this run. Then a malformed request is a fault of the item, and not a
   * bug of ours.
   */
  readonly othersAccepted: boolean;
  /** What the other legs of this run have sold and bought. */
  readonly tradedSoFar: readonly Money[];
  /** Why the run does not want its leg any more; null: it wants it. Each payment has a reason of its own. */
  readonly unwanted: Problem | null;
  /** References of all legs of the plan; absent: not known, or not needed. */
  readonly legs?: readonly string[];
  /** Absent: the leg funds no batch, or does not wait for money. */
  readonly funding?: Funding;
  /** The leg of the run that still brings what this one sells, or may; absent: there is none. */
  readonly sale?: string;
  /** The trades of the other legs, which the lists may not show yet; absent: there is none, or nobody asks. */
  readonly ownTrades?: readonly OwnTrade[];
  /** Ids of withdrawals that the service gave us for the other payments of this run. */
  readonly otherWithdrawalIds: readonly string[];
  /** What this worker itself knows of refused generations. */
  readonly keptRefusals: KeptRefusals;
  /** Takes a record for this item. False when another item of the same call has taken the record already. */
  readonly take: (recordId: string) => boolean;
  readonly nowMs: () => number;
  /** Why no write in these currencies may be sent now; null: it may. It only reads memory. */
  readonly whyHalted: (currencies: readonly string[]) => Closed | null;
  /**
   * The service's clock minus ours, in milliseconds, by the last reply that showed it; null when none has shown it yet.
   */
  readonly skewMs: () => number | null;
};

/** A send can be accepted until its token has expired; the client's tokens live this long (heading "JWT"). */
export const TOKEN_LIFE_MS = 45_000;
/**
 * Two clocks agree when they are no further apart than this. Otherwise no expiry and no send window could be trusted.
 */
export const CLOCK_TOLERANCE_MS = 10_000;
/** A wait for the service that is longer than this is shown as an outage. */
const OUTAGE_MS = 15_000;
/** A held item is looked up this often when only a lookup or a person can help. */
export const SLOW_LOOKUP_MS = 600_000;

/**
 * Step 2: the worker's keys, for writing and for reading, must be of the organisation and mode of the plan. Otherwise the
 * worker sends nothing for the plan, and its reads prove nothing. Null when they are.
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
    message: `The worker works for ${foreign.organisation} in ${foreign.mode}, but the plan was made for ${plan.credentials.organisation} in ${plan.credentials.mode}. Nothing is sent.`,
    fix: 'Start a worker with the key files and mode of the plan; the run then goes on by itself.',
  };
}

/**
 * The problem when the clocks are too far apart. Then no expiry and no send window can be trusted, and nothing is written.
 * When the difference is not known or too large, one read measures it again.
 */
export function* checkClock(context: Context): Steps<Problem | null> {
  if (context.skewMs() !== null && skewOf(context.skewMs()) === null) return null;
  yield* ask<'read balances'>({ kind: 'read balances' });
  return skewOf(context.skewMs());
}

/** The problem with this difference of the clocks; null: none, or it has not been measured yet. */
export function skewOf(skewMs: number | null): Problem | null {
  if (skewMs === null || Math.abs(skewMs) <= CLOCK_TOLERANCE_MS) return null;
  return {
    code: 'CLOCK_SKEW',
    item: null,
    message: `The clock of this machine is ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} the clock of the service.`,
    fix: 'Set the clock (NTP); the run goes on by itself.',
  };
}

/** The name of a reply in the evidence: its code, or what was wrong with it. */
export function nameOf(reply: Reply<unknown>): string {
  return reply.kind === 'DONE' ? 'success' : codeOf(reply);
}

/** The code of a reply as a problem. */
export function codeOf(reply: Reply<unknown>): ProblemCode {
  switch (reply.kind) {
    // A success is a problem only when it is about another item than the one that was sent.
    case 'DONE':
      return 'NO_ANSWER';
    case 'REFUSED':
      return serviceCode(reply.error.code);
    case 'NOT_SENT':
      return reply.notAllowed ?? 'NOT_SENT';
    case 'UNKNOWN':
      return reply.error === null ? 'NO_ANSWER' : serviceCode(reply.error.code);
  }
}

/**
 * The content of a reply, for a person. The service's free text is left out: it may name a beneficiary (M6). Of its details
 * only the values that the interface lists are shown, as single words.
 */
export function explain(reply: Reply<unknown>): string {
  switch (reply.kind) {
    case 'DONE':
      return 'The service accepted something else than was sent.';
    case 'REFUSED':
      return saying(reply.error);
    case 'NOT_SENT':
      return `Nothing was sent to the service: ${reply.reason}.`;
    case 'UNKNOWN':
      return reply.error === null ? noAnswer(reply.facts.status, reply.reason) : saying(reply.error);
  }
}

/** The same, with the code of the service, for where no code stands beside it. */
export function explainWithCode(reply: Reply<unknown>): string {
  const words = explain(reply);
  const code = codeOf(reply);
  return isRunCode(code) || words.includes(code) ? words : words.replace(/\.$/, ` (${code}).`);
}

function noAnswer(status: number | null, reason: string): string {
  return status !== null && status >= 500
    ? `The service is down or behind a broken gateway (${status}).`
    : `The service gave no answer that can be used: ${reason}.`;
}

/**
 * What the service says by a code, as a sentence: `The service says: the account is not verified.` Where it speaks of itself:
 * `The service does not know the account.`
 */
export function saidBy(code: string): string {
  return saying({ code, details: {} });
}

function saying({ code, details }: Pick<ServiceError, 'code' | 'details'>): string {
  const words = wordsOf(code);
  const figures = figuresOf(details);
  const more = figures.length === 0 ? '' : ` (${figures.join(', ')})`;
  if (words === null) return `The service answered ${code}${more}.`;
  const [, ofItself] = /^it (.*)$/.exec(words) ?? [];
  return ofItself === undefined ? `The service says: ${words}${more}.` : `The service ${ofItself}${more}.`;
}

/** The values of an error that people are told, each with its words. */
const FIGURES = {
  requiredAmount: 'needed',
  availableAmount: 'there',
  outstandingAmount: 'still to come',
  requestedAmount: 'asked for',
  limitAmount: 'limit',
  minimumAmount: 'least',
  usedAmount: 'used',
  maxDecimals: 'decimals at most',
  currency: 'currency',
  pair: 'pair',
  expiredAt: 'expired at',
  consumedAt: 'traded at',
  status: 'status',
  reason: 'reason',
};

function figuresOf(details: Readonly<Record<string, unknown>>): readonly string[] {
  const { currency } = details;
  const decimals = typeof currency === 'string' ? decimalsOf(currency, {}) : 0;
  return Object.entries(FIGURES).flatMap(([name, words]) => {
    const value = details[name];
    if (typeof value === 'number') return [`${words} ${value}`];
    if (typeof value !== 'string' || !/^[A-Za-z0-9.:_/+-]+$/.test(value)) return [];
    const isMoment = name.endsWith('At') && !Number.isNaN(Date.parse(value));
    const told = name.endsWith('Amount')
      ? amountText(value, decimals)
      : isMoment
        ? minuteText(Date.parse(value))
        : value;
    return told.length <= LONGEST_FIGURE ? [`${words} ${told}`] : [];
  });
}

/** Answers with many payments must fit a payload. */
const LONGEST_FIGURE = 40;

/** A reply as a problem of an item. */
export function problemOf(reply: Reply<unknown>, item: string, fix: string): Problem {
  const own = notAllowed(reply);
  const advice = own === null ? fix : PROBLEMS[own].advice;
  return { code: codeOf(reply), item, message: explain(reply), fix: advice };
}

type NotSent = Extract<Reply<never>, { readonly kind: 'NOT_SENT' }>;

/** The code with which the worker itself did not allow the write, or cannot tell yet; null: it allowed it. */
export function notAllowed(reply: Reply<unknown>): NonNullable<NotSent['notAllowed']> | null {
  return reply.kind === 'NOT_SENT' ? (reply.notAllowed ?? null) : null;
}

/**
 * The wait before the same is sent again. Where the worker itself does not allow it, people must approve it, or mend the
 * configuration.
 */
export function waitToSendAgain(reply: Reply<unknown>, problem: Problem, tries: number): Wait {
  const wait = serviceWait(problem, waitMs(reply, tries));
  const own = notAllowed(reply);
  if (own === 'AWAITING_APPROVAL') return { ...wait, reason: 'approval' };
  const isOurs = own !== null && PROBLEMS[own].ending === 'configuration';
  return isOurs ? { ...wait, reason: 'configuration' } : wait;
}

/** A wait until the service answers. When it takes long, people are told of an outage. */
export function serviceWait(problem: Problem, afterMs: number): Wait {
  return { afterMs, reason: afterMs < OUTAGE_MS ? 'service' : 'outage', problem };
}

/** A wait until a person has mended the configuration: slow retries, with the cause in plain words. */
export function configurationWait(problem: Problem, tries: number): Wait {
  return { afterMs: Math.max(5_000, backoffMs(tries + 2)), reason: 'configuration', problem };
}

/** True for replies after which it is not known whether this send was executed. A rate limit proves that it was not. */
export function leavesInDoubt(reply: Reply<unknown>): boolean {
  switch (reply.kind) {
    case 'UNKNOWN':
      return reply.error?.code !== 'RATE_LIMIT_EXCEEDED';
    case 'NOT_SENT':
    case 'REFUSED':
    case 'DONE':
      return false;
  }
}

/** True when the request, or a part of it, has left this machine. */
export function hasLeft(reply: Reply<unknown>): boolean {
  switch (reply.kind) {
    case 'NOT_SENT':
      return false;
    case 'UNKNOWN':
    case 'REFUSED':
    case 'DONE':
      return true;
  }
}

/** `timeoutMs` of a failed write: the write is not sent again before this time. 10 s when the service does not give it. */
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

/** The problem of a read that did not give the whole list or record. */
export function unreadable(item: string, reason: string): Problem {
  return {
    code: 'LOOKUP_INCOMPLETE',
    item,
    message: `The lists of the service could not be read to their end: ${reason}.`,
    fix: 'Nothing to do: the run looks again by itself, and sends nothing before it has seen everything.',
  };
}

/** The fix sentence of each class, for problems that end or hold an item. */
export const ADVICE: Readonly<Record<ReplyClass, string>> = {
  done: 'Nothing to do.',
  'wait, same key': 'Nothing to do: the run sends the same again by itself, under the same key.',
  'check state, then retry':
    'Nothing to do: the run looks at the service. What it does not find, it sends again by itself under the same key, which pays nothing twice.',
  'look up, then a new quote': 'Nothing to do: the run asks for a new quote by itself.',
  'ours, probably':
    'Find the record at the service, then decide with `npx cambist resolve`. Nothing is sent again before that.',
  'wait for money':
    'Bring the money in. With `shortfall: hold` the run then goes on by itself; else type `npx cambist replay RUN`.',
  'the item is wrong':
    'Mend the cause at the service (the account, the pair or its limits), then type `npx cambist replay RUN`, or reset the run. If a payment is then refused as before: `npx cambist run POLICY --go-on ITEM`.',
  'pause the policy': 'Have it switched on at the service; the run goes on by itself.',
  'pause everything':
    'Mend the configuration (key, CAMBIST_APP_MODE, CAMBIST_BASE_URL, CAMBIST_ISSUER, clock); the run goes on by itself.',
  unknown:
    'Nothing to do: the run looks at the service. What it does not find, it sends again by itself under the same key, which pays nothing twice.',
};

/** Money does not help against a limit of the service. */
const HIGHER_LIMIT = 'Wait until the service allows more, or ask its operator for a higher limit';

/** The same for an item of a run by these rules. What the rule of the policy does by itself is not explained to it. */
export function adviceFor(reply: Reply<unknown>, rules: Pick<PolicyRules, 'shortfall'>): string {
  const replyClass = classOfReply(reply);
  if (replyClass !== 'wait for money') return ADVICE[replyClass];
  return isLimitUsedUp(codeOf(reply)) ? shortfallAdvice(rules, HIGHER_LIMIT) : moneyAdvice(rules, 'money');
}

/** @param what what is lacking: a currency, or `money` */
export function moneyAdvice(rules: Pick<PolicyRules, 'shortfall'>, what: string): string {
  return shortfallAdvice(rules, `Bring ${what} in`);
}

function shortfallAdvice({ shortfall }: Pick<PolicyRules, 'shortfall'>, help: string): string {
  return shortfall === 'hold'
    ? `${help}; the run then goes on by itself.`
    : `${help}, then type \`npx cambist replay RUN\`. With \`shortfall: hold\` a run waits for it.`;
}

/** The meaning of this code, when nothing else is known. */
export function meaningOf(code: string): string {
  return isRunCode(code) ? PROBLEMS[code].sentence : saidBy(code);
}

/** The advice for this code, when nothing else is known. */
export function adviceOf(code: string): string {
  if (isRunCode(code)) return PROBLEMS[code].advice;
  return isLimitUsedUp(code)
    ? `${HIGHER_LIMIT}. With \`shortfall: hold\` the run then goes on by itself; else type \`npx cambist replay RUN\`.`
    : ADVICE[classOf({ code, details: {} })];
}

/** The fix sentence for a request that the service calls malformed, when it has accepted no other item of the run. */
export const BUG_OF_OURS = 'This is most likely a fault of this program: report it. Nothing was executed.';
