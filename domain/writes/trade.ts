/**
 * The steps of one leg: ask for a quote, trade it, and deal with every reply and every crash in between (M1, M2, M4).
 * There are three entries: `requestQuoteSteps` and `executeTradeSteps`, and `tradedSteps` once there is a trade. The
 * reference stays the same for every quote of the leg. The key changes with the quote, because a quote can be traded
 * only once.
 */
import { makeProblem, type Problem } from '../problems.ts';
import type { Wait } from '../waits.ts';
import {
  backoffMs,
  classOfReply,
  followUp,
  isMalformed,
  isShownByBalances,
  waitMs,
  type ReplyClass,
} from '../service/reply-rules.ts';
import { besideGuard, keepsGuard } from '../plan/price-bounds.ts';
import { instructionsAbout, type InstructionsAbout } from '../people/instructions.ts';
import { brokenTradeLimit, type TradedBefore } from '../plan/limits.ts';
import {
  LOOK_BACK_MS,
  isTradeOf,
  isTradeOfAnotherPlan,
  lookForTrade,
  tradeDifference,
  type Look,
  type ListScan,
} from './lookups.ts';
import { add, compare, equal, isPositive, notNegative, round, subtract } from '../money.ts';
import { decimalsOf, moneyText } from '../currencies.ts';
import { plannedMoneyOf } from '../plan/amounts.ts';
import { isFromBalances, type Leg } from '../plan/plan.ts';
import { mostSold } from '../plan/reserved.ts';
import { runName } from '../references.ts';
import type { Quote, Trade } from '../service/records.ts';
import type { Reply } from '../service/reply.ts';
import {
  ADVICE,
  BUG_OF_OURS,
  SLOW_LOOKUP_MS,
  ask,
  checkClock,
  configurationWait,
  hasLeft,
  leavesInDoubt,
  problemOf,
  serviceWait,
  resourceIdOf,
  settleTimeMs,
  type Answer,
  type Context,
  type Effect,
  type Funding,
  type Steps,
} from './step.ts';
import {
  isNewStart,
  NOTHING_SENT,
  asKnownNow,
  assumeSent,
  isOthersDoubt,
  isRecent,
  settleByTime,
  triedAgain,
  unknownSend,
  type SendState,
} from './doubt.ts';
import { OPEN, forPerson, type Phase } from './phase.ts';
import {
  beforeWrite,
  conclude,
  endUnsent,
  heldElsewhere,
  lookUp,
  inDoubt,
  waitsSafely,
  isOf,
  haltedNow,
  mayStillLeave,
  waitLonger,
  waits,
  type Looked,
  type Ready,
  type Subject,
} from './protocol.ts';

/** A quote that passed the guard, as it is kept in history between the two activities. */
export type QuoteInHand = {
  readonly id: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** On our own clock, counted from just before the request left. So the service's clock does not matter. */
  readonly usableUntilMs: number;
  /** True when this quote, already dead, was sent once more before doubt ended, and the service refused it. */
  readonly probed: boolean;
};

/** What is known of a leg's writes while it is not traded. */
export type LegState = SendState & {
  /** Kept in every phase, because a trade in doubt can be found by its quote. */
  readonly quote: QuoteInHand | null;
  /** How many quotes were asked for. A quote after the leg was held is not counted. */
  readonly quotes: number;
  /** The leg was held: its next quote does not count. */
  readonly held: boolean;
  /** How much of the sold currency the last read of the balances showed; null: the balances were not read. */
  readonly available: string | null;
};

export const NEW_LEG: LegState = Object.freeze({
  ...NOTHING_SENT,
  quote: null,
  quotes: 0,
  held: false,
  available: null,
});

/** A trade as the plan needs it: with both amounts, whichever of the two was asked for. */
export type Traded = {
  readonly tradeId: string;
  readonly quoteId: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** Both amounts of its quote; null where this run does not know the quote any more. */
  readonly quoted: Pick<QuoteInHand, 'sellAmount' | 'buyAmount'> | null;
  /** The service's status when the record was read. */
  readonly status: string;
};

/** The result of one call. It tells the workflow what to do next. */
export type LegStep =
  /** A quote inside the guard: execute it. */
  | { readonly kind: 'quoted'; readonly state: LegState }
  /** The quote is dead and nothing is in doubt: ask for a new one. */
  | { readonly kind: 'requote'; readonly state: LegState }
  /**
   * The service has shown the trade, so that nothing more is sent. `worse`: the trade came out worse than planned, and
   * no person has accepted it; null when all is well. `isHeld`: payments and legs that depend on it wait until a person
   * accepts it.
   */
  | {
      readonly kind: 'traded';
      readonly traded: Traded;
      readonly worse: Problem | null;
      readonly isHeld: boolean;
    }
  /** The leg has ended, and it is proven that no trade exists under its reference. */
  | { readonly kind: 'not traded'; readonly state: LegState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: LegState; readonly wait: Wait };

/**
 * The service counts a quote's life from the moment at which it made the quote. That is later than our own count, by
 * one request at most.
 */
const QUOTE_OUTLIVES_MS = 15_000;
/** A quote that expires sooner than this is not sent. */
const MIN_QUOTE_LIFE_MS = 500;
/** How often the balances are read while a leg waits for money. */
const MONEY_POLL_MS = 15_000;
/** How often the leg is tried again when something is short that no read can show. */
const BLIND_RETRY_MS = 900_000;

/**
 * The longest time that a leg in doubt waits for its next lookup. A call that comes more than 30 s after the call
 * before may belong to a restored history, so that its doubt begins again. The rest of the 30 s leaves room for a slow
 * machine or a short outage.
 */
const DOUBT_POLL_MS = 10_000;

/** A leg during one call, together with what people have said about it. */
type Item = {
  readonly context: Context;
  readonly leg: Leg;
  readonly subject: Subject<LegState, Trade, LegStep>;
  readonly ready: Ready<LegState, Trade>;
};

/** Asks for a quote, unless the leg is done, unwanted, outside its send window, or in doubt. */
export function* requestQuoteSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const subject = subjectOf(context, leg, 'quote');
  const opened = yield* beforeWrite(subject, withQuotesOf(context, before));
  if (!isOf('ready', opened)) return opened;
  const item: Item = { context, leg, subject, ready: opened };
  const { state } = opened;
  const { phase } = state;

  if (state.doubt !== null) return yield* stayInDoubt(item, state, opened.looked);
  switch (phase.kind) {
    case 'open':
    case 'short':
      return yield* askForQuote(item, state);
    case 'refused':
      // A restored backup may have lost a send. So the leg does not end before doubt is over.
      return opened.isStale
        ? yield* stayInDoubt(item, assumeSent(context, state), opened.looked)
        : yield* end(item, state, phase.problem);
    case 'spent':
      return waitForPerson(state, phase.problem);
  }
}

function* askForQuote(item: Item, before: LegState): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  if (ready.isStale) {
    // While the leg waits for money, no quote is asked for. Before one is asked for, a restored backup may have lost a
    // send, so that the leg is in doubt first.
    const short = yield* lookForMoney(context, leg, before);
    if (short.kind === 'wait') return short;
    return yield* stayInDoubt(item, assumeSent(context, asKnownNow(context, before)), ready.looked);
  }
  if (leg.amount === null) return waitForPerson(before, forgottenAmount(leg));
  const stale = staleReference(context, leg);
  if (stale !== null) return yield* end(item, before, stale);
  if (before.quotes >= context.plan.quote.maxQuotes)
    return yield* end(item, before, tooManyQuotes(context, leg));

  // A quote lives for seconds only. While nothing may be traded, none is asked for.
  const halted = haltedNow(subject, before);
  if (halted !== null) return { ...halted, state: { ...halted.state, held: true } };
  const elsewhere = yield* heldElsewhere(subject, before);
  if ('wait' in elsewhere) return elsewhere.wait;
  if ('problem' in elsewhere) return yield* end(item, before, elsewhere.problem);
  const { state } = elsewhere;

  let isAsPlanned = true;
  if (isFromBalances(leg)) {
    const turn = yield* itsTurn(item, state, leg.amount.value);
    if (turn.kind === 'stop') return turn.step;
    isAsPlanned = turn.isAsPlanned;
  }

  // The money was there when the plan was made, and nobody has spent it since.
  const isThere = isAsPlanned && context.funding?.wasThere === true && state.phase.kind !== 'short';
  const short = isThere
    ? ({ kind: 'go on', available: null } as const)
    : yield* lookForMoney(context, leg, state);
  switch (short.kind) {
    case 'wait':
      return short;
    case 'end':
      return yield* end(item, state, short.problem);
    case 'go on':
      break;
  }

  const sentAtMs = context.nowMs();
  const reply = yield* ask<'send quote'>({
    kind: 'send quote',
    request: {
      sell: leg.sell,
      buy: leg.buy,
      amount: leg.amount,
      validForSeconds: context.plan.quote.validForSeconds,
      settlement: context.plan.quote.settlement,
    },
  });
  if (reply.kind !== 'DONE') return yield* refusedQuote(item, state, reply);
  const { available } = short;
  const after: LegState = { ...state, available, quotes: state.held ? state.quotes : state.quotes + 1 };

  const odd = oddQuote(context, leg, reply.value, reply.facts.replayed);
  if (odd !== null) return yield* end(item, after, odd);
  const quote = inHand(context, reply.value, sentAtMs);
  const bad = outsideBounds(context, leg, quote);
  if (bad !== null) return yield* end(item, after, bad);
  return { kind: 'quoted', state: { ...after, quote, tries: 0, held: false, phase: OPEN } };
}

/** Trades the quote in hand, unless the leg is done, unwanted, outside its send window, or the quote is dead. */
export function* executeTradeSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const subject = subjectOf(context, leg, 'trade');
  const opened = yield* beforeWrite(subject, withoutForgottenQuote(context, before));
  if (!isOf('ready', opened)) return opened;
  const item: Item = { context, leg, subject, ready: opened };
  const { state } = opened;
  const { quote } = state;

  const isDead = quote === null || context.nowMs() + MIN_QUOTE_LIFE_MS > quote.usableUntilMs;
  // The service may keep idempotency keys per API key. Under another API key, sending the same quote again proves
  // nothing.
  const isOthers = opened.otherKeys && isOthersDoubt(context, state);
  if (quote === null || isDead || !maySend(state) || isOthers)
    return yield* deadQuote(item, state, opened.looked);
  const stopped = yield* mayStillLeave(subject, opened, state);
  // The quote expires while the leg waits, so that it does not count.
  if (stopped !== null) return { ...stopped, state: { ...stopped.state, held: true } };

  const reply = yield* ask<'send trade'>(tradeOf(leg, quote));
  return yield* afterTrade(item, state, quote, reply);
}

function tradeOf({ reference, sell, buy }: Leg, quote: QuoteInHand): Extract<Effect, { kind: 'send trade' }> {
  return { kind: 'send trade', quoteId: quote.id, reference, sell, buy };
}

/**
 * A traded leg asks the service nothing more. It asks only whether people have accepted a trade that came out worse.
 */
export function* tradedSteps(context: Context, leg: Leg, record: Traded): Steps<LegStep> {
  const kept = yield* ask<'read instructions'>({ kind: 'read instructions' });
  return asTraded(context, leg, instructionsAbout(kept, leg.id), record);
}

/** True when the phase of the leg allows it to trade a quote. */
function maySend({ phase }: LegState): boolean {
  switch (phase.kind) {
    case 'open':
    case 'short':
      return true;
    case 'refused':
    case 'spent':
      return false;
  }
}

/** Quotes that another Temporal run asked for in vain do not count in this run. */
function withQuotesOf({ attempt }: Context, state: LegState): LegState {
  return state.knownIn === attempt.runId ? state : { ...state, quotes: 0 };
}

/** What the steps before every write need to know of a leg. */
function subjectOf(context: Context, leg: Leg, call: 'quote' | 'trade'): Subject<LegState, Trade, LegStep> {
  return {
    context,
    call,
    item: leg.id,
    currencies: [leg.sell, leg.buy],
    name: `leg "${leg.id}"`,
    unwanted: context.unwanted,
    windowUntilMs: () => context.plan.sendWindows.tradesUntilMs,
    windowPassed: () => windowPassed(context, leg),
    looksAlways: true,
    lookUp: (said, state) => lookForLeg({ context, leg }, said, state),
    adopt: (said, { quote }, record) => traded(context, leg, said, { quote, record }),
    end: (state, problem) => ({ kind: 'not traded', state, problem }),
    readNamed: (_said, id) => readNamed(context, leg, id),
    settleDoubtMs: context.facts.settleDoubtMs.trade,
    doubtPollMs: DOUBT_POLL_MS,
  };
}

/**
 * Treats a quote as dead if another Temporal run received it, or if it was confirmed long ago, even when it could still
 * live. A later quote may have been traded before the reset or the restore.
 */
function withoutForgottenQuote(context: Context, state: LegState): LegState {
  if (state.quote === null) return state;
  const { settleDoubtMs } = context.facts;
  if (state.knownIn === context.attempt.runId && isRecent(context, state, settleDoubtMs.trade)) return state;
  return { ...state, quote: { ...state.quote, usableUntilMs: 0 } };
}

/**
 * The trade with this id, if it agrees with the plan. It is read by its id, or found in the list where that answer is
 * not whole.
 */
function* readNamed(context: Context, leg: Leg, id: string): Steps<Trade | 'unreadable' | null> {
  const { records, complete } = yield* tradeNamed(context, id);
  const [record] = records;
  if (record === undefined) return complete ? null : 'unreadable';
  return isOwnEcho(leg, record) && tradeDifference(leg, record) === null ? record : null;
}

function* tradeNamed(context: Context, id: string): Steps<ListScan<Trade>> {
  const fetched = yield* ask<'fetch trade'>({ kind: 'fetch trade', id });
  if (fetched.kind === 'DONE') return { records: [fetched.value], complete: true, reason: null };
  const sinceMs = context.plan.sendWindows.opensAtMs - LOOK_BACK_MS;
  return yield* ask<'scan trades'>({ kind: 'scan trades', sinceMs, wanted: (trade) => trade.id === id });
}

/** Carries out what the table of replies says about the reply to a trade. */
function* afterTrade(item: Item, state: LegState, quote: QuoteInHand, reply: Reply<Trade>): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, ADVICE[follow.class]);
  // Whatever its class: a reply that was not understood, or proves nothing, leaves the send in doubt.
  const sent: LegState = leavesInDoubt(reply)
    ? unknownTrade(context, state, quote, `the answer was ${problem.code}`)
    : { ...state, sent: state.sent || hasLeft(reply), tries: state.tries + 1 };
  switch (follow.trade) {
    case 'adopt': {
      if (reply.kind !== 'DONE') break;
      if (
        reply.value.quoteId === quote.id &&
        isOwnEcho(leg, reply.value) &&
        tradeDifference(leg, reply.value) === null &&
        isQuotedAmount(leg, quote, reply.value)
      ) {
        return traded(context, leg, ready.said, { quote, record: reply.value });
      }
      // A success for another trade than ours proves nothing. The leg is in doubt, and is looked up.
      const unknown = unknownTrade(context, state, quote, 'the answer was not about our trade');
      return yield* lookThen(item, unknown, problem, 10_000);
    }
    case 'same key again':
      return wait(sent, serviceWait(problem, waitMs(reply, state.tries)));
    case 'look up, then same key again':
    case 'look up, then doubt, then new quote': {
      const id = resourceIdOf(reply);
      if (id !== null) {
        const fetched = yield* ask<'fetch trade'>({ kind: 'fetch trade', id });
        if (fetched.kind === 'DONE' && fetched.value.quoteId === quote.id) {
          const seen = conclude(subject, ready.said, sent, judge(leg, fetched.value));
          if (seen !== null) return seen;
        }
      }
      const after: LegState =
        follow.trade === 'look up, then same key again' ? sent : { ...sent, quote: null };
      const afterMs = Math.max(settleTimeMs(reply), backoffMs(state.tries));
      return yield* lookThen(item, after, problem, afterMs);
    }
    case 'look up, then new quote':
      return yield* deadQuote(item, sent, null);
    case 'look up, then doubt':
      return yield* lookThen(item, { ...sent, phase: { kind: 'spent', problem } }, problem, 1_000);
    case 'shortfall rule': {
      const dead: LegState = { ...sent, quote: null };
      if (context.plan.shortfall === 'skip') return yield* endRefused(item, dead, problem);
      const isShown = isShownByBalances(problem.code) && neededOf(context, leg) !== null;
      const afterMs = isShown ? MONEY_POLL_MS : BLIND_RETRY_MS;
      const { available } = state;
      const despite = available === null ? null : { available, atMs: context.nowMs() };
      const phase = { kind: 'short', problem, despite } as const;
      return wait({ ...dead, phase, held: true }, { afterMs, reason: 'money', problem });
    }
    case 'look up, then end': {
      const dead: LegState = { ...sent, quote: null };
      if (isMalformed(problem.code) && !context.othersAccepted)
        return wait({ ...dead, held: true }, bugOfOurs(problem, state.tries));
      return yield* endRefused(item, dead, problem);
    }
    case 'hold':
      return wait({ ...sent, held: true }, configurationWait(problem, state.tries));
  }
  throw new RangeError(`A ${reply.kind} reply cannot be followed by "${follow.trade}".`);
}

/**
 * The state after a trade whose fate is unknown. The service may still carry it out while its token or its quote lives.
 */
function unknownTrade(context: Context, state: LegState, quote: QuoteInHand, why: string): LegState {
  return unknownSend(context, state, why, quote.usableUntilMs + QUOTE_OUTLIVES_MS);
}

/** Deals with a quote that cannot be traded: first one lookup, then an open doubt, then a person or a new quote. */
function* deadQuote(item: Item, state: LegState, looked: Looked<Trade> | null): Steps<LegStep> {
  const { subject, ready } = item;
  const { look, atMs } = looked ?? (yield* lookUp(subject, ready.said, state));
  const seen = conclude(subject, ready.said, state, look);
  if (seen !== null) return seen;
  if (state.doubt !== null) return yield* stayInDoubt(item, state, { look, atMs });
  const dead: LegState = { ...state, quote: null };
  const decides = forPerson(dead.phase);
  return decides === null ? { kind: 'requote', state: dead } : waitForPerson(dead, decides);
}

/**
 * Deals with a leg in doubt: after a lookup that finds nothing, doubt is over by time, or the leg waits for the next
 * lookup.
 */
function* stayInDoubt(item: Item, state: LegState, looked: Looked<Trade> | null): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  const { look, atMs } = looked ?? (yield* lookUp(subject, ready.said, state));
  const seen = conclude(subject, ready.said, state, look);
  if (seen !== null) return seen;
  // By a wrong clock no time has passed.
  const skewed = yield* checkClock(context);
  if (skewed !== null) return waitLonger(state, configurationWait({ ...skewed, item: leg.id }, state.tries));
  const settled = settleByTime(state, atMs, subject.settleDoubtMs);
  if (!settled.over)
    return waitsSafely(subject, settled.state, {
      afterMs: Math.min(settled.nextLookupMs, DOUBT_POLL_MS),
      safeAtMs: settled.safeAtMs,
      problem: inDoubt(subject, state, null),
    });
  const over: LegState = { ...settled.state, quote: null };
  const { phase, quote } = state;
  switch (phase.kind) {
    case 'open':
    case 'short': {
      const mayProbe = quote?.probed === false && !(ready.otherKeys && isOthersDoubt(context, state));
      return mayProbe ? yield* probe(item, state, quote) : { kind: 'requote', state: over };
    }
    case 'refused':
      return yield* end(item, over, phase.problem);
    case 'spent':
      return waitForPerson(over, phase.problem);
  }
}

/**
 * Sends the same key, quote and bytes once more before doubt ends by time. A dead quote cannot be traded again. But the
 * service says so if the first send is still in work, and answers with its success if the first send came through.
 */
function* probe(item: Item, state: LegState, quote: QuoteInHand): Steps<LegStep> {
  const { leg, subject, ready } = item;
  const stopped = yield* mayStillLeave(subject, ready, state);
  if (stopped !== null) return stopped;
  const reply = yield* ask<'send trade'>(tradeOf(leg, quote));
  const refused = reply.kind === 'REFUSED' && !PAUSES.includes(classOfReply(reply));
  return yield* afterTrade(item, { ...state, quote: { ...quote, probed: refused } }, quote, reply);
}

/** Refusals that the service may have given before it considered the trade at all. */
const PAUSES: readonly ReplyClass[] = ['pause the policy', 'pause everything'];

/** Ends the leg after a refusal. If the leg is in doubt, it waits for the end of the doubt first. */
function* endRefused(item: Item, state: LegState, problem: Problem): Steps<LegStep> {
  return state.doubt === null
    ? yield* end(item, state, problem)
    : yield* stayInDoubt(item, withRefusal(state, problem), null);
}

/** An end needs one lookup more (step 6). */
function end({ subject, ready }: Item, state: LegState, problem: Problem): Steps<LegStep> {
  return endUnsent(subject, ready.said, withRefusal(state, problem), problem);
}

/** A question that a person must decide stays with the person, whatever the service refuses later. */
function withRefusal(state: LegState, problem: Problem): LegState {
  switch (state.phase.kind) {
    case 'open':
    case 'short':
    case 'refused':
      return { ...state, phase: { kind: 'refused', problem } };
    case 'spent':
      return state;
  }
}

/**
 * Looks the trade up after an unknown send. If nothing is found, the leg waits, and the next call sends the same again
 * while the quote lives.
 */
function* lookThen(
  { subject, ready }: Item,
  state: LegState,
  problem: Problem,
  afterMs: number,
): Steps<LegStep> {
  const { look } = yield* lookUp(subject, ready.said, state);
  return conclude(subject, ready.said, state, look) ?? wait(state, { afterMs, reason: 'doubt', problem });
}

function* lookForLeg(
  { context, leg }: { readonly context: Context; readonly leg: Leg },
  said: InstructionsAbout,
  state: LegState,
): Steps<Look<Trade>> {
  const quoteId = state.quote?.id ?? null;
  const { plan, legs } = context;
  const isStray = (trade: Trade): boolean =>
    legs !== undefined && isTradeOfAnotherPlan(plan.run, legs, trade);
  const scan = yield* ask<'scan trades'>({
    kind: 'scan trades',
    sinceMs: plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => isTradeOf(leg, quoteId, trade) || isStray(trade),
  });
  const namedId = said.decision?.kind === 'executed' ? said.decision.recordId : null;
  return lookForTrade(leg, { quoteId, namedId, isStray }, scan);
}

function judge(leg: Leg, trade: Trade): Look<Trade> {
  const difference = tradeDifference(leg, trade);
  return difference === null
    ? { kind: 'found', record: trade }
    : { kind: 'differs', record: trade, difference };
}

/** True when the amount that was asked for is that of the quote, also where the plan took it from live balances. */
function isQuotedAmount(leg: Leg, quote: QuoteInHand, trade: Trade): boolean {
  const [asked, recorded] =
    leg.amount?.side === 'buy' ? [quote.buyAmount, trade.buyAmount] : [quote.sellAmount, trade.sellAmount];
  return recorded !== null && equal(recorded, asked);
}

/** A record may leave the reference out. A record with another reference is not ours. */
function isOwnEcho(leg: Leg, trade: Trade): boolean {
  return trade.clientReferenceId === null || trade.clientReferenceId === leg.reference;
}

/** @param of the record and the quote in hand. The amounts of an earlier quote are not known any more */
function traded(
  context: Context,
  leg: Leg,
  said: InstructionsAbout,
  { quote, record }: { readonly quote: QuoteInHand | null; readonly record: Trade },
): LegStep {
  const bySell = record.sellAmount !== null;
  return asTraded(context, leg, said, {
    tradeId: record.id,
    quoteId: record.quoteId,
    sellAmount: record.sellAmount ?? record.executedAmount,
    buyAmount: bySell ? record.executedAmount : (record.buyAmount ?? record.executedAmount),
    quoted:
      quote?.id === record.quoteId ? { sellAmount: quote.sellAmount, buyAmount: quote.buyAmount } : null,
    status: record.status,
  });
}

/**
 * If a trade came out worse than planned, everything that depends on it waits until a person accepts the trade by its
 * id (M4).
 */
function asTraded(context: Context, leg: Leg, said: InstructionsAbout, record: Traded): LegStep {
  const worse = said.acceptedIds.includes(record.tradeId) ? null : executedWorse(context, leg, record);
  return { kind: 'traded', traded: record, worse, isHeld: worse !== null && !said.cancelled };
}

/**
 * Says when a trade came out worse than its quote, the guard or a limit. Nobody can undo the trade, but somebody must
 * know.
 */
function executedWorse(context: Context, leg: Leg, trade: Traded): Problem | null {
  const { limits } = context.plan;
  const { guard } = leg;
  const { tradeId, sellAmount, buyAmount } = trade;
  const fix =
    'Ask the operator of the service why it differs from its quote; a person may accept it by its id.';
  const gave = `Trade ${tradeId} gave ${buyAmount} ${leg.buy} for ${sellAmount} ${leg.sell}`;
  const bound = guard?.bound ?? null;
  if (guard !== null && bound !== null && !keepsGuard(bound, sellAmount, buyAmount)) {
    const message = `${gave}: ${besideGuard(bound, sellAmount, buyAmount, leg)} (a price ${guard.text}).`;
    return { code: 'EXECUTED_OUTSIDE_GUARD', item: leg.id, message, fix };
  }
  const sold = { value: sellAmount, currency: leg.sell };
  const bought = { value: buyAmount, currency: leg.buy };
  const broken = brokenTradeLimit(limits, [sold, bought], tradedBefore(context));
  if (broken !== null)
    return { code: 'EXECUTED_OVER_LIMIT', item: leg.id, message: `${gave}: ${broken}`, fix };
  const { quoted } = trade;
  if (quoted === null) return null;
  // A quote may have more decimals than its currency. A booked amount has not.
  const decimals = (currency: string): number => decimalsOf(currency, context.facts.decimals);
  const isAsQuoted =
    compare(buyAmount, round(quoted.buyAmount, decimals(leg.buy), 'down')) >= 0 &&
    compare(sellAmount, round(quoted.sellAmount, decimals(leg.sell), 'up')) <= 0;
  if (isAsQuoted) return null;
  const message = `${gave}; its quote said ${quoted.buyAmount} ${leg.buy} for ${quoted.sellAmount} ${leg.sell}.`;
  return { code: 'EXECUTED_BELOW_QUOTE', item: leg.id, message, fix };
}

function* refusedQuote(item: Item, state: LegState, reply: Reply<Quote>): Steps<LegStep> {
  const { context, leg } = item;
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, ADVICE[follow.class]);
  const tried = triedAgain(state);
  switch (follow.quote) {
    case 'use it':
    case 'ask again':
      return wait(tried, serviceWait(problem, waitMs(reply, state.tries)));
    case 'shortfall rule': {
      if (context.plan.shortfall === 'skip') return yield* end(item, tried, problem);
      return wait(
        { ...shortOf(tried, problem), held: true },
        { afterMs: BLIND_RETRY_MS, reason: 'money', problem },
      );
    }
    case 'end the leg':
      if (isMalformed(problem.code) && !context.othersAccepted)
        return wait({ ...tried, held: true }, bugOfOurs(problem, state.tries));
      return yield* end(item, tried, problem);
    case 'hold':
      return wait({ ...tried, held: true }, configurationWait(problem, state.tries));
  }
}

/** Money is missing by a read of the balances, or for a quote. What the last refused trade showed is still true. */
function shortOf(state: LegState, problem: Problem): LegState {
  const despite = state.phase.kind === 'short' ? state.phase.despite : null;
  return { ...state, phase: { kind: 'short', problem, despite } };
}

/** What a read of the money that a leg sells has shown. */
type Money =
  | { readonly kind: 'wait'; readonly state: LegState; readonly wait: Wait }
  | { readonly kind: 'end'; readonly problem: Problem }
  | { readonly kind: 'go on'; readonly available: string | null };

/**
 * How much a leg sells, as far as that is known before its quote. It is the sold amount of the plan, or, for a leg that
 * funds a batch and waits for money, the most that the guard lets it cost. Null: only a quote can tell.
 */
function neededOf({ funding, facts }: Context, leg: Leg): string | null {
  if (leg.amount?.side === 'sell') return leg.amount.value;
  const most = funding === undefined ? null : mostSold(leg);
  return most === null ? null : round(most, decimalsOf(leg.sell, facts.decimals), 'up');
}

/** Before a quote: is the money there that the leg sells? */
function* lookForMoney(context: Context, leg: Leg, state: LegState): Steps<Money> {
  const needed = neededOf(context, leg);
  if (needed === null) return { kind: 'go on', available: null };
  const reply = yield* ask<'read balances'>({ kind: 'read balances' });
  if (reply.kind !== 'DONE') {
    const follow = followUp(reply);
    const problem = problemOf(reply, leg.id, ADVICE[follow.class]);
    const slow = follow.read === 'ask again slowly' || follow.read === 'give up';
    const pause: Wait = slow
      ? configurationWait(problem, state.tries)
      : serviceWait(problem, waitMs(reply, state.tries));
    return { kind: 'wait', state: triedAgain(state), wait: pause };
  }
  const there = (currency: string): string =>
    reply.value.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
  const { funding } = context;
  if (funding !== undefined) return yield* lookForFunds(context, leg, { state, needed, funding, there });
  const available = there(leg.sell);
  if (compare(available, needed) >= 0) return asThere(context, state, available);
  const problem: Problem = {
    code: 'SHORTFALL',
    item: leg.id,
    message: `The leg sells ${moneyText(needed, leg.sell)}, but ${moneyText(available, leg.sell)} are there.`,
    fix: `Bring ${leg.sell} in; with \`shortfall: hold\` the run goes on by itself, else type \`npx cambist replay ${runName(context.plan.run)}\`.`,
  };
  return context.plan.shortfall === 'skip' ? { kind: 'end', problem } : asShort(state, problem);
}

function asThere({ nowMs }: Context, state: LegState, available: string): Money {
  if (!isUnseen(state.phase, available, nowMs())) return { kind: 'go on', available };
  const { problem } = state.phase;
  return { kind: 'wait', state, wait: { afterMs: MONEY_POLL_MS, reason: 'money', problem } };
}

function asShort(state: LegState, problem: Problem): Money {
  const pause: Wait = { afterMs: MONEY_POLL_MS, reason: 'money', problem };
  return { kind: 'wait', state: shortOf(state, problem), wait: pause };
}

/**
 * The same for a leg that funds a batch. It may not spend what the items before it in the plan need, nor what other
 * runs have reserved. If the money that it buys has come in another way meanwhile, nobody needs the leg any more. Other
 * runs are asked only when the balances alone say that the leg can go on or end.
 */
function* lookForFunds(
  context: Context,
  leg: Leg,
  of: {
    readonly state: LegState;
    readonly needed: string;
    readonly funding: Funding;
    readonly there: (currency: string) => string;
  },
): Steps<Money> {
  const { state, needed, funding, there } = of;
  const { sell, buy } = leg;
  const isNeedless = (bought: string): boolean => compare(bought, funding.owed) >= 0;
  const suffices = (sold: string): boolean => compare(sold, add(needed, funding.ahead)) >= 0;
  if (!isNeedless(there(buy)) && !suffices(there(sell)))
    return asShort(state, notFunded(context, leg, { needed, funding, free: there(sell), reserved: '0' }));
  const turn = notOurTurn(leg, yield* ask<'take turn'>({ kind: 'take turn' }));
  if (turn !== null) return { kind: 'wait', state, wait: turn };
  const told = yield* ask<'read free money'>({ kind: 'read free money', currencies: [sell, buy] });
  if ('wait' in told) {
    const { problem } = told.wait;
    return { kind: 'wait', state, wait: { ...told.wait, problem: { ...problem, item: leg.id } } };
  }
  const free = told.free[sell] ?? '0';
  if (isNeedless(told.free[buy] ?? '0')) return { kind: 'end', problem: balancesChanged(leg, '0') };
  const reserved = notNegative(subtract(there(sell), free));
  if (!suffices(free)) return asShort(state, notFunded(context, leg, { needed, funding, free, reserved }));
  return asThere(context, state, free);
}

function notFunded(
  { facts }: Context,
  { id, sell, buy, amount }: Leg,
  {
    needed,
    funding: { ahead },
    free,
    reserved,
  }: {
    readonly needed: string;
    readonly funding: Funding;
    readonly free: string;
    readonly reserved: string;
  },
): Problem {
  const others = isPositive(reserved) ? ` (other runs have reserved ${moneyText(reserved, sell)} more)` : '';
  const before = round(ahead, decimalsOf(sell, facts.decimals), 'up');
  const first = isPositive(before)
    ? `, and what comes before it in the plan takes ${moneyText(before, sell)} of that`
    : '';
  return {
    code: 'SHORTFALL',
    item: id,
    message: `The leg buys ${moneyText(amount?.value ?? '', buy)} for ${moneyText(needed, sell)} at most, but ${moneyText(free, sell)} are there for it${others}${first}.`,
    fix: `Bring ${sell} in; the run goes on by itself.`,
  };
}

/**
 * True when the service refused the leg not long ago although as much money was there. Then something else is short,
 * which no read can show.
 */
function isUnseen(
  phase: Phase,
  available: string,
  nowMs: number,
): phase is Extract<Phase, { kind: 'short' }> {
  if (phase.kind !== 'short' || phase.despite === null) return false;
  const { despite } = phase;
  return compare(available, despite.available) <= 0 && nowMs - despite.atMs < BLIND_RETRY_MS;
}

/** What is wrong with a quote as an answer to ours; null when nothing is. */
function oddQuote(context: Context, leg: Leg, quote: Quote, replayed: boolean | null): Problem | null {
  const { amount } = leg;
  const echoed = amount?.side === 'sell' ? quote.sellAmount : quote.buyAmount;
  const difference =
    replayed === true
      ? 'it was replayed, though its key was never used before'
      : quote.sellCurrency !== leg.sell || quote.buyCurrency !== leg.buy
        ? `it is for ${quote.sellCurrency} to ${quote.buyCurrency}`
        : amount === null || echoed === null || !equal(echoed, amount.value)
          ? `its ${amount?.side ?? ''} amount is ${echoed ?? 'not given'}`
          : quote.settlementWindow !== null && quote.settlementWindow !== context.plan.quote.settlement
            ? `it settles ${quote.settlementWindow}, asked was ${context.plan.quote.settlement}`
            : null;
  if (difference === null) return null;
  return {
    code: 'QUOTE_DIFFERS',
    item: leg.id,
    message: `Quote ${quote.id} is not what was asked for: ${difference}.`,
    fix: 'Ask the operator of the service; nothing was traded.',
  };
}

/**
 * What counts against the limits besides this trade: the other legs of the run, and the trades of the day that the plan
 * has found.
 */
function tradedBefore({ tradedSoFar, plan }: Context): TradedBefore {
  return { inRun: tradedSoFar, onDate: plan.tradedOnDate };
}

/** Price guard and limits against the quote (M4); null when it keeps all of them. */
function outsideBounds(context: Context, leg: Leg, quote: QuoteInHand): Problem | null {
  const { limits } = context.plan;
  const { guard } = leg;
  const sold = { value: quote.sellAmount, currency: leg.sell };
  const bought = { value: quote.buyAmount, currency: leg.buy };
  const broken = brokenTradeLimit(limits, [sold, bought], tradedBefore(context));
  if (broken !== null) {
    return {
      code: 'OVER_LIMIT',
      item: leg.id,
      message: broken,
      fix: 'Lower the amount, or raise the limit on purpose.',
    };
  }
  if (guard === null) return null;
  const { bound } = guard;
  if (bound !== null && keepsGuard(bound, quote.sellAmount, quote.buyAmount)) return null;
  const figures = bound === null ? '' : `: ${besideGuard(bound, quote.sellAmount, quote.buyAmount, leg)}`;
  return {
    code: 'OUTSIDE_GUARD',
    item: leg.id,
    message: `The quote gives ${quote.buyAmount} ${leg.buy} for ${quote.sellAmount} ${leg.sell}${figures} (a price ${guard.text}).`,
    fix: guardAdvice(context, leg),
  };
}

/** A leg that was computed from balances is computed anew in a new run, whatever becomes of this one. */
function guardAdvice({ plan: { run } }: Context, { why }: Leg): string {
  const widened =
    why.kind === 'fixed'
      ? `while nothing of the run is done, \`npx cambist run POLICY --id NEW --instead-of ${run.id}\``
      : 'in a new run';
  return `Wait for a better price, then type \`npx cambist replay ${runName(run)}\`. Or widen the guard on purpose: ${widened}.`;
}

/**
 * Takes a quote in hand. Its life is what the service grants, counted on our clock from just before the request left.
 */
function inHand(context: Context, quote: Quote, sentAtMs: number): QuoteInHand {
  const asked = context.plan.quote.validForSeconds * 1000;
  const granted =
    quote.expiresAt === null ? asked : Date.parse(quote.expiresAt) - Date.parse(quote.createdAt);
  const lifeMs = Number.isFinite(granted) ? Math.min(granted, asked) : asked;
  return {
    id: quote.id,
    sellAmount: quote.sellAmount ?? quote.quoteAmount,
    buyAmount: quote.buyAmount ?? quote.quoteAmount,
    usableUntilMs: sentAtMs + lifeMs,
    probed: false,
  };
}

/**
 * A leg that was computed from balances may ask for a quote only in the turn of its run. Since its plan was made,
 * others may have traded or spent what it asks for. `isAsPlanned`: nobody else has had the turn since, so that the plan
 * is still right.
 */
function* itsTurn(
  item: Item,
  state: LegState,
  amount: string,
): Steps<
  | { readonly kind: 'stop'; readonly step: LegStep }
  | { readonly kind: 'go on'; readonly isAsPlanned: boolean }
> {
  const { context, leg } = item;
  const stop = (step: LegStep) => ({ kind: 'stop', step }) as const;
  const turn = yield* ask<'take turn'>({ kind: 'take turn' });
  const notNow = notOurTurn(leg, turn);
  if (notNow !== null) return stop(wait(state, notNow));
  const hasLapsed = turn.turn === 'ours' && turn.hasLapsed;
  if (!hasLapsed && !isNewStart(context)) return { kind: 'go on', isAsPlanned: true };
  const told = yield* ask<'read demand'>({ kind: 'read demand', leg });
  if ('wait' in told)
    return stop(wait(state, { ...told.wait, problem: { ...told.wait.problem, item: leg.id } }));
  if ('problem' in told) return stop(yield* end(item, state, told.problem));
  const { demand } = told;
  if (compare(demand, amount) < 0) return stop(yield* end(item, state, balancesChanged(leg, demand)));
  return { kind: 'go on', isAsPlanned: false };
}

type Turn = Extract<Answer, { readonly turn: unknown }>;

/**
 * The wait while another run of ours has the turn, or while nobody can tell whose turn it is. Meanwhile this run must
 * not spend what the balances show.
 */
function notOurTurn({ id }: Leg, turn: Turn): Wait | null {
  switch (turn.turn) {
    case 'ours':
      return null;
    case 'others': {
      const { run, before } = turn;
      const line = before === 0 ? '' : `, and ${before} more wait before this one`;
      const message = `Run ${run} trades now${line}: runs of one organisation take turns.`;
      // A run far back in the line asks seldom, but often enough to keep its place.
      const afterMs = Math.min(1_000 + before * 100, 10_000);
      return { afterMs, reason: 'turn', problem: makeProblem('TURN_OF_ANOTHER', id, { message }) };
    }
    case 'silent':
      return { afterMs: 5_000, reason: 'outage', problem: makeProblem('TURN_SILENT', id) };
  }
}

function balancesChanged(leg: Leg, demand: string): Problem {
  const { id, amount } = leg;
  const currency = plannedMoneyOf(leg)?.currency ?? '';
  return makeProblem('BALANCES_CHANGED', id, {
    message: `Leg "${id}" was to ${amount?.side ?? 'trade'} ${amount?.value ?? ''} ${currency} by balances of before; by those of now the policy asks for ${isPositive(demand) ? `only ${demand}` : 'nothing of it'}.`,
  });
}

function staleReference(context: Context, leg: Leg): Problem | null {
  const staleAtMs = leg.guard?.staleAtMs ?? null;
  if (staleAtMs === null || context.nowMs() <= staleAtMs) return null;
  return {
    code: 'REFERENCE_TOO_OLD',
    item: leg.id,
    message:
      staleAtMs === 0
        ? 'There is no reference rate to hold a price against.'
        : `The reference rates of the plan are too old since ${new Date(staleAtMs).toISOString()}.`,
    fix: withoutTrade(context, leg) ?? 'Bring the reference file up to date and start a new run.',
  };
}

function tooManyQuotes(context: Context, leg: Leg): Problem {
  return {
    code: 'QUOTES_USED_UP',
    item: leg.id,
    message: `${context.plan.quote.maxQuotes} quotes came and none could be traded.`,
    fix: `See the evidence of the report; type \`npx cambist replay ${runName(context.plan.run)}\`, or raise \`quote.max_quotes\`.`,
  };
}

function forgottenAmount(leg: Leg): Problem {
  return {
    code: 'AMOUNT_FORGOTTEN',
    item: leg.id,
    message: `The amount of leg "${leg.id}" came from balances that have changed since, and its trade is not among the records found.`,
    fix: 'A person decides: the amount is not computed a second time.',
  };
}

function windowPassed(context: Context, leg: Leg): Problem {
  return {
    code: 'WINDOW_PASSED',
    item: leg.id,
    message: `The business date ${context.plan.date} is over in ${context.plan.zone}: yesterday's reasons do not trade today.`,
    fix: withoutTrade(context, leg) ?? 'Start a new run with today’s date.',
  };
}

/**
 * What to do when a batch waits for the money that the leg was to buy: no other run pays it meanwhile. Null: no batch
 * waits for this leg.
 */
function withoutTrade({ funding }: Context, { buy }: Leg): string | null {
  return funding === undefined
    ? null
    : `Bring ${buy} in, and the payments of this run go out while their window is open; or cancel it, and pay them by a new run.`;
}

function bugOfOurs(problem: Problem, tries: number): Wait {
  return configurationWait(
    {
      ...problem,
      fix: BUG_OF_OURS,
    },
    tries,
  );
}

function waitForPerson(state: LegState, problem: Problem): LegStep {
  return waits(state, 'person', SLOW_LOOKUP_MS, problem);
}

function wait(state: LegState, pause: Wait): LegStep {
  return { kind: 'wait', state, wait: pause };
}
