/**
 * The steps of one leg: ask for a quote, trade it, and handle every reply and every crash in between (M1, M2, M4). There are
 * three entries: `requestQuoteSteps` and `executeTradeSteps`, and `tradedSteps` once there is a trade. The reference stays
 * the same for every quote of the leg. The key changes with the quote, because a quote can be traded only once.
 */
import type { Problem } from '../problems.ts';
import type { Wait } from '../waits.ts';
import {
  backoffMs,
  classOfReply,
  followUp,
  isMalformed,
  isShownByBalances,
  type ReplyClass,
} from '../service/reply-rules.ts';
import { instructionsAbout, type InstructionsAbout } from '../people/instructions.ts';
import {
  LOOK_BACK_MS,
  isTradeOf,
  isTradeOfAnotherPlan,
  lookForTrade,
  tradeDifference,
  type Look,
  type ListScan,
} from './lookups.ts';
import { compare } from '../money.ts';
import { isFromBalances, type Leg } from '../plan/plan.ts';
import { SeenRuns } from './lost-runs.ts';
import type { Money } from '../policy.ts';
import type { Quote, Trade } from '../service/records.ts';
import type { Reply } from '../service/reply.ts';
import {
  adviceFor,
  BUG_OF_OURS,
  SLOW_LOOKUP_MS,
  ask,
  checkClock,
  configurationWait,
  hasLeft,
  leavesInDoubt,
  problemOf,
  notAllowed,
  waitToSendAgain,
  resourceIdOf,
  settleTimeMs,
  type Context,
  type Effect,
  type Steps,
} from './step.ts';
import {
  isNewStart,
  asKnownNow,
  assumeSent,
  isOthersDoubt,
  isRecent,
  quietUntil,
  settleByTime,
  triedAgain,
  unknownSend,
  whyHidden,
  isYoung,
} from './doubt.ts';
import {
  shortOf,
  tradedOf,
  type LegState,
  type LegStep,
  type QuoteInHand,
  type Traded,
} from './leg-state.ts';
import { OPEN, forPerson } from './phase.ts';
import {
  asNoOthers,
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
import {
  BLIND_RETRY_MS,
  MONEY_POLL_MS,
  SETTLES_POLL_MS,
  lookForMoney,
  neededOf,
  notOurTurn,
} from './trade-money.ts';
import {
  executedWorse,
  inHand,
  isQuotedAmount,
  oddQuote,
  outsideBounds,
  staleReference,
} from './trade-price.ts';
import {
  afterSale,
  balancesChanged,
  beforeProceeds,
  forgottenAmount,
  tooManyQuotes,
  windowPassed,
} from './trade-texts.ts';

/**
 * The service counts a quote's life from the moment at which it made the quote. That is later than the beginning of our own
 * count, by one request at most.
 */
const QUOTE_OUTLIVES_MS = 15_000;
/** A quote that expires sooner than this is not sent. */
const MIN_QUOTE_LIFE_MS = 500;

/**
 * The longest time that a leg in doubt waits for its next lookup. When a call comes more than 30 s after the call before,
 * its history may be a restored one, so that doubt begins again. The rest of the 30 s leaves room for a slow machine or a
 * short outage.
 */
const DOUBT_POLL_MS = 10_000;

/** A leg during one call, with what people have said about it. */
type Item = {
  readonly context: Context;
  readonly leg: Leg;
  readonly subject: Subject<LegState, Trade, LegStep>;
  readonly ready: Ready<LegState, Trade>;
  /** The runs of the policy of which a lookup of this call has shown trades. */
  readonly seen: SeenRuns;
};

/** Asks for a quote, unless the leg is done, unwanted, outside its send window, or in doubt. */
export function* requestQuoteSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const seen = new SeenRuns(context.plan.run);
  const subject = subjectOf(context, leg, before, { call: 'quote', seen });
  const opened = yield* beforeWrite(subject, withoutVainQuotes(context, before));
  if (!isOf('ready', opened)) return opened;
  const item: Item = { context, leg, subject, ready: opened, seen };
  const { state } = opened;
  const { phase } = state;

  if (state.doubt !== null) return yield* stayInDoubt(item, state, opened.looked);
  switch (phase.kind) {
    case 'open':
    case 'short':
      return yield* askForQuote(item, state);
    case 'refused':
      // A restored backup may have lost a send, so the leg does not end before doubt is over.
      return opened.isStale
        ? yield* stayInDoubt(
            item,
            assumeSent(context, state, whyHidden(context, state, 'stale')),
            opened.looked,
          )
        : yield* end(item, state, phase.problem);
    case 'spent':
      return waitForPerson(state, phase.problem);
  }
}

function* askForQuote(item: Item, before: LegState): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  if (ready.isStale) {
    // While the leg waits for money, it asks for no quote. When the money is there, the leg is in doubt first, since a
    // restored backup may have lost a send.
    const short = yield* lookForMoney(context, leg, before);
    if (short.kind === 'wait') return short;
    return yield* stayInDoubt(
      item,
      assumeSent(context, asKnownNow(context, before), whyHidden(context, before, 'stale')),
      ready.looked,
    );
  }
  // Whose trade was found when the plan was made is never traded anew: that amount came from balances of long ago.
  if (leg.amount === null || leg.why.kind === 'found') return waitForPerson(before, forgottenAmount(leg));
  const stale = staleReference(context, leg);
  if (stale !== null) return yield* end(item, before, stale);
  if (before.quotes >= context.plan.rules.quote.maxQuotes)
    return yield* end(item, before, tooManyQuotes(context, leg));

  // A quote lives only for seconds, so none is asked for while nothing may be traded.
  const halted = haltedNow(subject, before);
  if (halted !== null) return { ...halted, state: { ...halted.state, held: true } };
  const elsewhere = yield* heldElsewhere(subject, before);
  if ('wait' in elsewhere) return elsewhere.wait;
  if ('problem' in elsewhere) return yield* end(item, before, elsewhere.problem);
  const { state } = elsewhere;
  const lost = yield* besideLostRuns(item, state);
  if (lost !== null) return lost;

  let inTurn: InTurn = { isAsPlanned: true, onDate: null };
  if (isFromBalances(leg)) {
    const turn = yield* itsTurn(item, state, leg.amount.value);
    if (turn.kind === 'stop') return turn.step;
    inTurn = turn;
  }

  // The money was there when the plan was made, and no other run has spent it since.
  const isThere = inTurn.isAsPlanned && context.funding?.wasThere === true && state.phase.kind !== 'short';
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
  const quietUntilMs = quietUntil(state, context.nowMs());
  if (quietUntilMs !== null)
    return waitsSafely(subject, state, {
      afterMs: quietUntilMs - context.nowMs(),
      safeAtMs: quietUntilMs,
      problem: inDoubt(subject, state, null),
    });

  const sentAtMs = context.nowMs();
  const reply = yield* ask<'send quote'>({
    kind: 'send quote',
    request: {
      reference: leg.reference,
      sell: leg.sell,
      buy: leg.buy,
      amount: leg.amount,
      validForSeconds: context.plan.rules.quote.validForSeconds,
      settlement: context.plan.rules.quote.settlement,
    },
  });
  if (reply.kind !== 'DONE') return yield* refusedQuote(item, state, reply);
  const { available } = short;
  const after: LegState = { ...state, available, quotes: state.held ? state.quotes : state.quotes + 1 };

  const odd = oddQuote(context, leg, reply.value, reply.facts.replayed);
  if (odd !== null) return yield* end(item, after, odd);
  const quote = inHand(context, reply.value, { sentAtMs, onDate: inTurn.onDate });
  const bad = outsideBounds(context, leg, quote);
  if (bad !== null) return yield* end(item, after, bad);
  return { kind: 'quoted', state: { ...after, quote, tries: 0, held: false, phase: OPEN } };
}

/** Trades the quote in hand, unless the leg is done, unwanted, outside its send window, or the quote is dead. */
export function* executeTradeSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const seen = new SeenRuns(context.plan.run);
  const subject = subjectOf(context, leg, before, { call: 'trade', seen });
  const counted = withoutVainQuotes(context, before);
  const opened = yield* beforeWrite(subject, withoutForgottenQuote(context, counted));
  if (!isOf('ready', opened)) return opened;
  const item: Item = { context, leg, subject, ready: opened, seen };
  const { state } = opened;
  const { quote } = state;

  const isDead = quote === null || context.nowMs() + MIN_QUOTE_LIFE_MS > quote.usableUntilMs;
  // The service may keep idempotency keys per API key. Then sending the same quote under another API key proves nothing.
  const isOthers = opened.otherKeys && isOthersDoubt(context, state);
  if (quote === null || isDead || !maySend(state) || isOthers)
    return yield* deadQuote(item, state, opened.looked);
  const stopped = yield* mayStillLeave(subject, opened, state);
  // The quote expires while the leg waits, so it does not count.
  if (stopped !== null) return { ...stopped, state: { ...stopped.state, held: true } };

  const reply = yield* ask<'send trade'>(tradeOf(leg, quote));
  return yield* afterTrade(item, state, quote, reply);
}

function tradeOf({ reference, sell, buy }: Leg, quote: QuoteInHand): Extract<Effect, { kind: 'send trade' }> {
  return { kind: 'send trade', quote, reference, sell, buy };
}

/** A traded leg asks the service nothing more. It only checks whether people have accepted a trade that came out worse. */
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

/**
 * The state without the quotes that another Temporal run asked for in vain: these do not count in this run. The first call of a
 * run may be for a quote or for a trade.
 */
function withoutVainQuotes({ attempt }: Context, state: LegState): LegState {
  return state.knownIn === attempt.runId ? state : { ...state, quotes: 0 };
}

/** What the steps before every write need to know of a leg. */
function subjectOf(
  context: Context,
  leg: Leg,
  { knownAtMs }: LegState,
  { call, seen }: { readonly call: 'quote' | 'trade'; readonly seen: SeenRuns },
): Subject<LegState, Trade, LegStep> {
  const isLate = !isYoung(Math.max(knownAtMs, context.plan.madeAtMs), context.nowMs());
  return {
    context,
    call,
    item: leg.id,
    currencies: [leg.sell, leg.buy],
    name: `leg "${leg.id}"`,
    unwanted: context.unwanted,
    isNeverSent: false,
    windowUntilMs: () => context.plan.sendWindows.tradesUntilMs,
    windowPassed: () => windowPassed(context, leg),
    looksAlways: true,
    lookUp: (said, state) => lookForLeg({ context, leg, seen }, said, state),
    adopt: (said, { quote }, record) => ({
      ...traded(context, leg, said, { quote, record }),
      ...(isLate && { isFoundLate: true }),
    }),
    end: (_said, state, problem) => ({ kind: 'not traded', state, problem }),
    readNamed: (_said, id) => readNamed(context, leg, id),
    settleDoubtMs: context.facts.settleDoubtMs.trade,
    doubtPollMs: DOUBT_POLL_MS,
  };
}

/**
 * Treats a quote as expired when another Temporal run received it, or when it was confirmed long ago, even when it could
 * still live. A later quote may have been traded before the reset or the restore.
 */
function withoutForgottenQuote(context: Context, state: LegState): LegState {
  if (state.quote === null) return state;
  const { settleDoubtMs } = context.facts;
  if (state.knownIn === context.attempt.runId && isRecent(context, state, settleDoubtMs.trade)) return state;
  return { ...state, quote: { ...state.quote, usableUntilMs: 0 } };
}

/**
 * The trade with this id, if it agrees with the plan. It is read by its id, or from the list when that answer is not whole. One
 * without a reference must be that of no other leg.
 */
function* readNamed(
  context: Context,
  leg: Leg,
  id: string,
): Steps<Trade | 'another’s' | 'unreadable' | null> {
  const { records, complete } = yield* tradeNamed(context, id);
  const [record] = records;
  if (record === undefined) return complete ? null : 'unreadable';
  if (!isOwnEcho(leg, record) || tradeDifference(leg, record) !== null) return null;
  return record.clientReferenceId === null ? yield* asNoOthers(leg.id, record, true) : record;
}

function* tradeNamed(context: Context, id: string): Steps<ListScan<Trade>> {
  const fetched = yield* ask<'fetch trade'>({ kind: 'fetch trade', id });
  if (fetched.kind === 'DONE') return { records: [fetched.value], complete: true, reason: null };
  const sinceMs = context.plan.sendWindows.opensAtMs - LOOK_BACK_MS;
  return yield* ask<'scan trades'>({ kind: 'scan trades', sinceMs, wanted: (trade) => trade.id === id });
}

/** Does what the table of replies says about the reply to a trade. */
function* afterTrade(item: Item, state: LegState, quote: QuoteInHand, reply: Reply<Trade>): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, adviceFor(reply, context.plan.rules));
  // This holds for every class: a reply that was not understood, or that proves nothing, leaves the send in doubt.
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
      // A quote that dies while a person allows the trade does not count.
      return wait(
        { ...sent, held: sent.held || notAllowed(reply) !== null },
        waitToSendAgain(reply, problem, state.tries),
      );
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
      if (context.plan.rules.shortfall === 'skip') return yield* endRefused(item, dead, problem);
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

/** The state after a trade with an unknown result. The service may still carry it out while its token or its quote lives. */
function unknownTrade(context: Context, state: LegState, quote: QuoteInHand, why: string): LegState {
  return unknownSend(context, state, why, quote.usableUntilMs + QUOTE_OUTLIVES_MS);
}

/** Handles a quote that cannot be traded: first one lookup, then an open doubt, then a person or a new quote. */
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
 * Handles a leg in doubt after a lookup that found nothing: time has ended the doubt, or the leg waits for the next lookup.
 */
function* stayInDoubt(item: Item, state: LegState, looked: Looked<Trade> | null): Steps<LegStep> {
  const { context, leg, subject, ready } = item;
  const { look, atMs } = looked ?? (yield* lookUp(subject, ready.said, state));
  const seen = conclude(subject, ready.said, state, look);
  if (seen !== null) return seen;
  // A wrong clock does not prove that time has passed.
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
      return mayProbe ? yield* probe(item, state, { quote, over }) : { kind: 'requote', state: over };
    }
    case 'refused':
      return yield* end(item, over, phase.problem);
    case 'spent':
      return waitForPerson(over, phase.problem);
  }
}

/**
 * Sends the same key, quote and bytes once more before doubt ends by time. An expired quote cannot be traded again. But the
 * service says so when it still works on the first send, and answers with its success when the first send was executed.
 */
function* probe(
  item: Item,
  state: LegState,
  { quote, over }: { readonly quote: QuoteInHand; readonly over: LegState },
): Steps<LegStep> {
  const { leg, subject, ready } = item;
  const stopped = yield* mayStillLeave(subject, ready, state);
  if (stopped !== null) return stopped;
  const reply = yield* ask<'send trade'>(tradeOf(leg, quote));
  // Time has ended the doubt, and the folder of policies may never allow this quote, whose price stays as it is. The next one
  // does not count.
  if (notAllowed(reply) === 'NOT_ALLOWED') return { kind: 'requote', state: { ...over, held: true } };
  const refused = reply.kind === 'REFUSED' && !PAUSES.includes(classOfReply(reply));
  return yield* afterTrade(item, { ...state, quote: { ...quote, probed: refused } }, quote, reply);
}

/** The service may have refused with these before it considered the trade at all. */
const PAUSES: readonly ReplyClass[] = ['pause the policy', 'pause everything'];

/** Ends the leg after a refusal. A leg in doubt waits for the end of the doubt first. */
function* endRefused(item: Item, state: LegState, problem: Problem): Steps<LegStep> {
  return state.doubt === null
    ? yield* end(item, state, problem)
    : yield* stayInDoubt(item, withRefusal(state, problem), null);
}

/** Ends the leg, after one more lookup (step 6). */
function end({ subject, ready }: Item, state: LegState, problem: Problem): Steps<LegStep> {
  return endUnsent(subject, ready.said, withRefusal(state, problem), problem);
}

/** Notes a refusal. But a question that a person must decide stays with the person, whatever the service refuses later. */
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
 * Looks the trade up after an unknown send. When nothing is found, the leg waits, and the next call sends the same again
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
  { context, leg, seen }: Pick<Item, 'context' | 'leg' | 'seen'>,
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
    wanted: (trade) =>
      seen.note(trade.clientReferenceId, trade.createdAt) || isTradeOf(leg, quoteId, trade) || isStray(trade),
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

/** True for a record with the leg's reference, or without a reference. A record with another reference is not ours. */
function isOwnEcho(leg: Leg, trade: Trade): boolean {
  return trade.clientReferenceId === null || trade.clientReferenceId === leg.reference;
}

/** @param of the record, and the quote in hand; the amounts of an earlier quote are not known any more */
function traded(
  context: Context,
  leg: Leg,
  said: InstructionsAbout,
  { quote, record }: { readonly quote: QuoteInHand | null; readonly record: Trade },
): LegStep {
  if (quote?.id !== record.quoteId) return asTraded(context, leg, said, tradedOf(record, null));
  const { sellAmount, buyAmount, onDate } = quote;
  const quoted = { sellAmount, buyAmount, ...(onDate !== undefined && { onDate }) };
  return asTraded(context, leg, said, tradedOf(record, quoted));
}

/**
 * When a trade came out worse than planned, everything that depends on it waits until a person accepts the trade by its id
 * (M4).
 */
function asTraded(context: Context, leg: Leg, said: InstructionsAbout, record: Traded): LegStep {
  const untold = said.acceptedIds.includes(record.tradeId) ? null : executedWorse(context, leg, record);
  const { unsignedAcceptance } = said;
  const worse =
    untold === null || unsignedAcceptance === null
      ? untold
      : { ...untold, message: `${untold.message} ${unsignedAcceptance}` };
  return { kind: 'traded', traded: record, worse, isHeld: worse !== null && !said.cancelled };
}

function* refusedQuote(item: Item, state: LegState, reply: Reply<Quote>): Steps<LegStep> {
  const { context, leg } = item;
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, adviceFor(reply, context.plan.rules));
  const tried = triedAgain(state);
  switch (follow.quote) {
    case 'use it':
    case 'ask again':
      return wait(tried, waitToSendAgain(reply, problem, state.tries));
    case 'shortfall rule': {
      if (context.plan.rules.shortfall === 'skip') return yield* end(item, tried, problem);
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

/**
 * What the turn of the run has shown. `isAsPlanned`: no other run has had the turn since the plan was made, so that the plan is
 * still right. `onDate`: what the other runs of the day come to; null: the policy has no limit of a day.
 */
type InTurn = { readonly isAsPlanned: boolean; readonly onDate: readonly Money[] | null };
type Turned = { readonly kind: 'stop'; readonly step: LegStep } | ({ readonly kind: 'go on' } & InTurn);

/**
 * A leg that was computed from balances may ask for a quote only in the turn of its run. Since its plan was made, other runs
 * may have traded or spent what it asks for.
 */
function* itsTurn(item: Item, state: LegState, amount: string): Steps<Turned> {
  const { context, leg } = item;
  const stop = (step: LegStep) => ({ kind: 'stop', step }) as const;
  const turn = yield* ask<'take turn'>({ kind: 'take turn' });
  const notNow = notOurTurn(leg, turn);
  if (notNow !== null) return stop(wait(state, notNow));
  const hasLapsed = turn.turn === 'ours' && turn.hasLapsed;
  if (!hasLapsed && !isNewStart(context)) return yield* readDay(item, state, true);
  const { ownTrades = [] } = context;
  const told = yield* ask<'read demand'>({ kind: 'read demand', leg, ownTrades });
  if ('wait' in told)
    return stop(wait(state, { ...told.wait, problem: { ...told.wait.problem, item: leg.id } }));
  const { demand, lacks } = told;
  if (compare(demand, amount) >= 0) return yield* readDay(item, state, false);
  const { sale } = context;
  if (lacks === 'sales' && sale !== undefined)
    return stop(wait(state, { afterMs: 10_000, reason: 'sale', problem: afterSale(leg, sale) }));
  if (lacks === 'proceeds')
    return stop(wait(state, { afterMs: SETTLES_POLL_MS, reason: 'sale', problem: beforeProceeds(leg) }));
  return stop(yield* end(item, state, balancesChanged(context, leg, told)));
}

/**
 * Reads what the day has come to, in the turn. No other run trades before this one gives the turn back, so that no two runs
 * pass the limit of the day together (M4).
 */
function* readDay({ context, leg }: Item, state: LegState, isAsPlanned: boolean): Steps<Turned> {
  const limit = context.plan.rules.limits?.perDay ?? null;
  if (limit === null) return { kind: 'go on', isAsPlanned, onDate: null };
  const told = yield* ask<'read day'>({ kind: 'read day', limit });
  if ('onDate' in told) return { kind: 'go on', isAsPlanned, onDate: told.onDate };
  const problem = { ...told.wait.problem, item: leg.id };
  return { kind: 'stop', step: wait(state, { ...told.wait, problem }) };
}

/**
 * Temporal may have been restored from a backup since the plan was made, and may have forgotten a run that has traded
 * meanwhile, even one that took the place of this run. So before a leg that is not fresh asks for a quote, trades of runs that
 * Temporal does not know stop it, until a person has looked. Null: nothing stops it.
 */
function* besideLostRuns({ context, leg, ready, seen }: Item, state: LegState): Steps<LegStep | null> {
  if (ready.looked === null || context.plan.foundRecords || !seen.hasOthers) return null;
  const { lostRuns } = yield* ask<'read lost runs'>({ kind: 'read lost runs', seen });
  if (lostRuns === null) return null;
  return wait({ ...state, held: true }, { ...lostRuns, problem: { ...lostRuns.problem, item: leg.id } });
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
