/**
 * The steps of one leg: ask for a quote, trade it, and whatever a reply or a crash makes of that (M1, M2, M4). Two
 * entries, one per activity: `requestQuoteSteps` and `executeTradeSteps`. The reference stays the same across quotes;
 * the key changes with the quote, which is single-use.
 */
import { backoffMs, classOfReply, followUp, waitMs, type ReplyClass } from './decisions.ts';
import { keepsGuard } from './guard.ts';
import { brokenTradeLimit } from './limits.ts';
import { LOOK_BACK_MS, isTradeOf, lookForTrade, tradeDifference, type Look, type Sweep } from './looks.ts';
import { compare, equal } from './money.ts';
import type { Leg } from './plan.ts';
import type { Quote, Trade } from './records.ts';
import type { Reply } from './reply.ts';
import {
  ADVICE,
  BUG_OF_OURS,
  NOTHING_SENT,
  SLOW_LOOK_MS,
  ask,
  checkClock,
  configurationWait,
  executedNothing,
  foreignCredentials,
  isOlderThanDoubt,
  isOtherKey,
  leftUnder,
  problemOf,
  readInstructionsAbout,
  recall,
  serviceWait,
  resourceIdOf,
  settleByTime,
  settleTimeMs,
  triedAgain,
  unknownSend,
  unreadable,
  withoutDoubt,
  type Context,
  type Hold,
  type Problem,
  type SendState,
  type Steps,
  type Wait,
} from './stepper.ts';
import type { Decision } from './instructions.ts';

/** A quote that passed the guard, as it is kept in history between the two activities. */
export type QuoteInHand = {
  readonly id: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** Counted on our clock from just before the request left, so that the service's clock does not matter. */
  readonly usableUntilMs: number;
};

/** What is known of a leg's writes. */
export type LegState = SendState & {
  readonly quote: QuoteInHand | null;
  /** Quotes asked for, those after a hold not counted. */
  readonly quotes: number;
  /** The leg was held: its next quote does not count. */
  readonly held: boolean;
  /** The dead quote has been sent once more at the end of doubt, and that settled nothing against it. */
  readonly probed: boolean;
};

export const NEW_LEG: LegState = Object.freeze({
  ...NOTHING_SENT,
  quote: null,
  quotes: 0,
  held: false,
  probed: false,
});

/** A trade as the plan needs it: both sides filled in, whichever was asked for. */
export type Traded = {
  readonly tradeId: string;
  readonly quoteId: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** The service's word when the record was read. */
  readonly status: string;
};

/** What one call came to, and so what the workflow does next. */
export type LegStep =
  /** A quote inside the guard: execute it. */
  | { readonly kind: 'quoted'; readonly state: LegState }
  /** The quote is dead and nothing is in doubt: ask for a new one. */
  | { readonly kind: 'requote'; readonly state: LegState }
  | { readonly kind: 'traded'; readonly state: LegState; readonly traded: Traded }
  /** An end, with the proof: no trade exists under this reference. */
  | { readonly kind: 'not traded'; readonly state: LegState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: LegState; readonly wait: Wait };

/** The service counts a quote's life from when it made it: later than we do by no more than a request takes. */
const QUOTE_OUTLIVES_MS = 15_000;
/** A quote with less life than this is not worth sending. */
const MIN_QUOTE_LIFE_MS = 500;
/** How often money is looked for while a leg waits for it. */
const MONEY_POLL_MS = 15_000;
/** How often a shortage that no read can show is tried again. */
const BLIND_RETRY_MS = 900_000;

/** Asks for a quote, unless the leg is done, unwanted, outside its fence, or in doubt. */
export function* requestQuoteSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const opened = yield* open(context, leg, before, 'quote');
  if ('step' in opened) return opened.step;
  const { state } = opened;

  if (state.doubt !== null) return yield* stayInDoubt(context, leg, state);
  if (state.spent !== null) return waitForPerson(state, state.spent);
  if (state.verdict !== null) return yield* endAfterLook(context, leg, state, state.verdict);
  if (leg.amount === null) return waitForPerson(state, forgottenAmount(leg));
  const stale = staleReference(context, leg);
  if (stale !== null) return yield* endAfterLook(context, leg, state, stale);
  if (state.quotes >= context.plan.quote.maxQuotes)
    return yield* endAfterLook(context, leg, state, tooManyQuotes(context, leg));

  const short = yield* lookForMoney(context, leg, state);
  if (short !== null)
    return short.kind === 'wait' ? short : yield* endAfterLook(context, leg, state, short.problem);

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
  if (reply.kind !== 'DONE') return yield* refusedQuote(context, leg, state, reply);
  const after: LegState = { ...state, quotes: state.held ? state.quotes : state.quotes + 1 };

  const odd = oddQuote(context, leg, reply.value, reply.facts.replayed);
  if (odd !== null) return yield* endAfterLook(context, leg, after, odd);
  const quote = inHand(context, reply.value, sentAtMs);
  const bad = outsideBounds(context, leg, quote);
  if (bad !== null) return yield* endAfterLook(context, leg, after, bad);
  return { kind: 'quoted', state: { ...after, quote, tries: 0, held: false, shortOf: null, probed: false } };
}

/** Trades the quote in hand, unless the leg is done, unwanted, outside its fence, or the quote is dead. */
export function* executeTradeSteps(context: Context, leg: Leg, before: LegState): Steps<LegStep> {
  const opened = yield* open(context, leg, withoutForgottenQuote(context, before), 'trade');
  if ('step' in opened) return opened.step;
  const { state } = opened;
  const { quote } = state;

  const isDead = quote === null || context.nowMs() + MIN_QUOTE_LIFE_MS > quote.usableUntilMs;
  if (quote === null || isDead || state.spent !== null || isOtherKey(context, state))
    return yield* deadQuote(context, leg, state);
  const skewed = yield* checkClock(context);
  if (skewed !== null) return wait(triedAgain(state), configurationWait(skewed, state.tries));

  const reply = yield* ask<'send trade'>({ kind: 'send trade', quoteId: quote.id, reference: leg.reference });
  return yield* afterTrade(context, leg, state, quote, reply);
}

/**
 * A quote of which another Temporal run was told is dead, whatever its life: before the reset that run may have traded a
 * later one.
 */
function withoutForgottenQuote({ attempt }: Context, state: LegState): LegState {
  if (state.quote === null || state.knownIn === attempt.runId) return state;
  return { ...state, quote: { ...state.quote, usableUntilMs: 0 } };
}

/** Steps 1 to 4 of the six: ours, looked for unless fresh, still wanted, inside the fence. */
function* open(
  context: Context,
  leg: Leg,
  before: LegState,
  call: 'quote' | 'trade',
): Steps<{ readonly state: LegState } | { readonly step: LegStep }> {
  const foreign = foreignCredentials(context);
  if (foreign !== null)
    return { step: wait(triedAgain(before), configurationWait({ ...foreign, item: leg.id }, before.tries)) };

  const { fresh, state } = recall(context, before, call);
  const look: Look<Trade> = fresh ? { kind: 'absent' } : yield* lookForLeg(context, leg, state);
  const seen = conclude(leg, state, look);
  if (seen !== null && look.kind !== 'differs') return { step: seen };
  const { cancelled, decision } = yield* readInstructionsAbout(leg.id);
  // A record that contradicts the plan stops the leg, until a person has decided over it.
  if (seen !== null && decision?.kind === 'not executed')
    return { step: { kind: 'not traded', state, problem: decidedAgainst(leg, decision) } };
  if (seen !== null) return { step: seen };
  if (decision !== null) return { step: yield* carryOutDecision(context, leg, state, decision) };
  if (cancelled) return { step: yield* endUnsent(context, leg, state, cancelledLeg(leg)) };

  const { fences, zone, date } = context.plan;
  const now = context.nowMs();
  if (now < fences.opensAtMs) {
    const problem = {
      code: 'NOT_YET_OPEN',
      item: leg.id,
      message: `${date} has not begun in ${zone}.`,
      fix: 'Nothing to do: it goes on then.',
    };
    return { step: wait(state, { afterMs: fences.opensAtMs - now, hold: 'opening', problem }) };
  }
  if (now > fences.tradesUntilMs)
    return { step: yield* endUnsent(context, leg, state, fencePassed(context, leg)) };
  return { state };
}

/** A person's decision about a leg of which no record was found: checked against the service, then carried out. */
function* carryOutDecision(context: Context, leg: Leg, state: LegState, decision: Decision): Steps<LegStep> {
  if (decision.kind === 'not executed') {
    const problem = decidedAgainst(leg, decision);
    return isOlderThanDoubt(decision, state)
      ? yield* endUnsent(context, leg, state, problem)
      : yield* endAfterLook(context, leg, state, problem);
  }
  const { records, complete, reason } = yield* tradeNamed(context, decision.recordId);
  const [record] = records;
  if (record !== undefined && isOwnEcho(leg, record) && tradeDifference(leg, record) === null)
    return traded(state, record);
  if (record === undefined && !complete)
    return wait(
      triedAgain(state),
      serviceWait(unreadable(leg.id, reason ?? 'no answer'), backoffMs(state.tries)),
    );
  return waitForPerson(state, {
    code: 'DECISION_UNPROVEN',
    item: leg.id,
    message: `A person named trade ${decision.recordId} for leg "${leg.id}", but the service shows no such trade that agrees with the plan.`,
    fix: 'Name the right record, or decide again.',
  });
}

/** The trade with this id: read by it, or found in the list where that answer is not whole. */
function* tradeNamed(context: Context, id: string): Steps<Sweep<Trade>> {
  const fetched = yield* ask<'fetch trade'>({ kind: 'fetch trade', id });
  if (fetched.kind === 'DONE') return { records: [fetched.value], complete: true, reason: null };
  const sinceMs = context.plan.fences.opensAtMs - LOOK_BACK_MS;
  return yield* ask<'sweep trades'>({ kind: 'sweep trades', sinceMs, wanted: (trade) => trade.id === id });
}

/** What follows from the reply to a trade: the table's word, carried out. */
function* afterTrade(
  context: Context,
  leg: Leg,
  state: LegState,
  quote: QuoteInHand,
  reply: Reply<Trade>,
): Steps<LegStep> {
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, ADVICE[follow.class]);
  // Whatever its class: a reply that was not understood, or proves nothing, leaves the send in doubt.
  const sent: LegState =
    reply.kind === 'UNKNOWN' && !executedNothing(reply)
      ? unknownTrade(context, state, quote, `the answer was ${problem.code}`)
      : { ...(reply.kind === 'NOT_SENT' ? state : leftUnder(context, state)), tries: state.tries + 1 };
  switch (follow.trade) {
    case 'adopt': {
      if (reply.kind !== 'DONE') break;
      if (
        reply.value.quoteId === quote.id &&
        isOwnEcho(leg, reply.value) &&
        tradeDifference(leg, reply.value) === null &&
        isQuotedAmount(leg, quote, reply.value)
      ) {
        return traded(sent, reply.value);
      }
      // A success that is not our trade proves nothing: look, and until then it is in doubt.
      return yield* lookThen(
        context,
        leg,
        unknownTrade(context, state, quote, 'the answer was not about our trade'),
        problem,
        10_000,
      );
    }
    case 'same key again':
      return wait(sent, serviceWait(problem, waitMs(reply, state.tries)));
    case 'look, then same key again':
    case 'look, then doubt, then new quote': {
      const id = resourceIdOf(reply);
      if (id !== null) {
        const fetched = yield* ask<'fetch trade'>({ kind: 'fetch trade', id });
        if (fetched.kind === 'DONE' && fetched.value.quoteId === quote.id) {
          const seen = conclude(leg, sent, judge(leg, fetched.value));
          if (seen !== null) return seen;
        }
      }
      const after: LegState = follow.trade === 'look, then same key again' ? sent : { ...sent, quote: null };
      const afterMs = Math.max(settleTimeMs(reply), backoffMs(state.tries));
      return yield* lookThen(context, leg, after, problem, afterMs);
    }
    case 'look, then new quote':
      return yield* deadQuote(context, leg, sent);
    case 'look, then doubt':
      return yield* lookThen(context, leg, { ...sent, spent: problem }, problem, 1_000);
    case 'shortfall rule': {
      const dead: LegState = { ...sent, quote: null };
      if (context.plan.shortfall === 'skip') return yield* endUnsent(context, leg, dead, problem);
      // What a leg needs is known before its quote only when the sold side is planned.
      const isShown = problem.code === 'TRADE_INSUFFICIENT_BALANCE' && leg.amount?.side === 'sell';
      const afterMs = isShown ? MONEY_POLL_MS : BLIND_RETRY_MS;
      return wait({ ...dead, shortOf: problem, held: true }, { afterMs, hold: 'money', problem });
    }
    case 'look, then end': {
      const dead: LegState = { ...sent, quote: null };
      if (problem.code.startsWith('VALIDATION_') && !context.othersAccepted)
        return wait({ ...dead, held: true }, bugOfOurs(problem, state.tries));
      return yield* endUnsent(context, leg, dead, problem);
    }
    case 'hold':
      return wait({ ...sent, held: true }, configurationWait(problem, state.tries));
  }
  throw new RangeError(`A ${reply.kind} reply cannot be followed by "${follow.trade}".`);
}

/** State after a trade whose fate is unknown: it can be carried out as long as its token or its quote lives. */
function unknownTrade(context: Context, state: LegState, quote: QuoteInHand, why: string): LegState {
  return unknownSend(context, state, why, quote.usableUntilMs + QUOTE_OUTLIVES_MS);
}

/** A quote that cannot be traded: one look, then what is in doubt, then a person or a new quote. */
function* deadQuote(context: Context, leg: Leg, state: LegState): Steps<LegStep> {
  const seen = conclude(leg, state, yield* lookForLeg(context, leg, state));
  if (seen !== null) return seen;
  if (state.doubt !== null) return yield* stayInDoubt(context, leg, state);
  const dead: LegState = { ...state, quote: null };
  return dead.spent === null ? { kind: 'requote', state: dead } : waitForPerson(dead, dead.spent);
}

/** A look that has just found nothing, in doubt: over by time, or wait for the next look. */
function* stayInDoubt(context: Context, leg: Leg, state: LegState): Steps<LegStep> {
  // By a wrong clock no time has passed.
  const skewed = yield* checkClock(context);
  if (skewed !== null) return wait(triedAgain(state), configurationWait(skewed, state.tries));
  const settled = settleByTime(context, state, context.facts.settleDoubtMs.trade);
  if (!settled.over)
    return wait(settled.state, { afterMs: settled.nextLookMs, hold: 'doubt', problem: inDoubt(leg, state) });
  const { quote, probed, spent, verdict } = state;
  if (quote !== null && !probed && spent === null && verdict === null)
    return yield* probe(context, leg, state, quote);
  const over: LegState = { ...settled.state, quote: null };
  if (over.spent !== null) return waitForPerson(over, over.spent);
  if (over.verdict !== null) return yield* endAfterLook(context, leg, over, over.verdict);
  return { kind: 'requote', state: over };
}

/**
 * The last question before doubt ends by time: the same key, quote and bytes once more. A dead, single-use quote cannot
 * trade anew; but a first send that is still in work says so, and one that came through answers with its success.
 */
function* probe(context: Context, leg: Leg, state: LegState, quote: QuoteInHand): Steps<LegStep> {
  const reply = yield* ask<'send trade'>({ kind: 'send trade', quoteId: quote.id, reference: leg.reference });
  const refused = reply.kind === 'REFUSED' && !PAUSES.includes(classOfReply(reply));
  return yield* afterTrade(context, leg, { ...state, probed: refused }, quote, reply);
}

/** Refusals that may have been given before the service looked at the trade at all. */
const PAUSES: readonly ReplyClass[] = ['pause the policy', 'pause everything'];

/** An end that nothing sent may stand against: in doubt it waits as a verdict, else one look more. */
function* endUnsent(context: Context, leg: Leg, state: LegState, problem: Problem): Steps<LegStep> {
  // What the service called ours is for a person to decide, also when nobody wants it any more.
  if (state.doubt === null)
    return state.spent === null
      ? yield* endAfterLook(context, leg, state, problem)
      : waitForPerson(state, state.spent);
  return yield* stayInDoubt(context, leg, { ...state, verdict: problem });
}

/** An end needs one look more (step 6). */
function* endAfterLook(context: Context, leg: Leg, state: LegState, problem: Problem): Steps<LegStep> {
  const look = yield* lookForLeg(context, leg, state);
  return conclude(leg, { ...state, verdict: problem }, look) ?? { kind: 'not traded', state, problem };
}

/** Looks after an unknown send; nothing found: wait, and the next call sends the same again while the quote lives. */
function* lookThen(
  context: Context,
  leg: Leg,
  state: LegState,
  problem: Problem,
  afterMs: number,
): Steps<LegStep> {
  const look = yield* lookForLeg(context, leg, state);
  return conclude(leg, state, look) ?? wait(state, { afterMs, hold: 'doubt', problem });
}

function* lookForLeg(context: Context, leg: Leg, state: LegState): Steps<Look<Trade>> {
  const quoteId = state.quote?.id ?? null;
  const sweep = yield* ask<'sweep trades'>({
    kind: 'sweep trades',
    sinceMs: context.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => isTradeOf(leg, quoteId, trade),
  });
  return lookForTrade(leg, quoteId, sweep);
}

/** What a look settles; null when it found the leg absent. */
function conclude(leg: Leg, state: LegState, look: Look<Trade>): LegStep | null {
  switch (look.kind) {
    case 'found':
      return traded(state, look.record);
    case 'differs':
      return waitForPerson(state, {
        code: 'RECORD_DIFFERS',
        item: leg.id,
        message: `Trade ${look.record.id} carries ${leg.reference}, but ${look.difference}.`,
        fix: 'A person compares the record with the plan; nothing is sent for this leg.',
      });
    case 'unproven': {
      const problem = unreadable(leg.id, look.reason);
      const pause = serviceWait(problem, backoffMs(state.tries));
      return wait(triedAgain(state), state.doubt === null ? pause : { ...pause, hold: 'doubt' });
    }
    case 'absent':
      return null;
  }
}

function judge(leg: Leg, trade: Trade): Look<Trade> {
  const difference = tradeDifference(leg, trade);
  return difference === null
    ? { kind: 'found', record: trade }
    : { kind: 'differs', record: trade, difference };
}

/** The side that was asked for is what the quote said, also where the plan took it from live balances. */
function isQuotedAmount(leg: Leg, quote: QuoteInHand, trade: Trade): boolean {
  const [asked, recorded] =
    leg.amount?.side === 'buy' ? [quote.buyAmount, trade.buyAmount] : [quote.sellAmount, trade.sellAmount];
  return recorded !== null && equal(recorded, asked);
}

/** A missing echo of the reference is no difference; another one is. */
function isOwnEcho(leg: Leg, trade: Trade): boolean {
  return trade.clientReferenceId === null || trade.clientReferenceId === leg.reference;
}

function traded(state: LegState, trade: Trade): LegStep {
  const bySell = trade.sellAmount !== null;
  const sellAmount = bySell ? trade.sellAmount : trade.executedAmount;
  const buyAmount = bySell ? trade.executedAmount : (trade.buyAmount ?? trade.executedAmount);
  return {
    kind: 'traded',
    state: { ...withoutDoubt(state), quote: null, shortOf: null, verdict: null },
    traded: { tradeId: trade.id, quoteId: trade.quoteId, sellAmount, buyAmount, status: trade.status },
  };
}

function* refusedQuote(context: Context, leg: Leg, state: LegState, reply: Reply<Quote>): Steps<LegStep> {
  const follow = followUp(reply);
  const problem = problemOf(reply, leg.id, ADVICE[follow.class]);
  const tried = triedAgain(state);
  switch (follow.quote) {
    case 'use it':
    case 'ask again':
      return wait(tried, serviceWait(problem, waitMs(reply, state.tries)));
    case 'shortfall rule': {
      if (context.plan.shortfall === 'skip') return yield* endAfterLook(context, leg, tried, problem);
      return wait(
        { ...tried, shortOf: problem, held: true },
        { afterMs: BLIND_RETRY_MS, hold: 'money', problem },
      );
    }
    case 'end the leg':
      if (problem.code.startsWith('VALIDATION_') && !context.othersAccepted)
        return wait({ ...tried, held: true }, bugOfOurs(problem, state.tries));
      return yield* endAfterLook(context, leg, tried, problem);
    case 'hold':
      return wait({ ...tried, held: true }, configurationWait(problem, state.tries));
  }
}

/** Before a quote: is the money there that the leg sells? Null when it is, or when only the quote can tell. */
function* lookForMoney(
  context: Context,
  leg: Leg,
  state: LegState,
): Steps<{ kind: 'wait'; state: LegState; wait: Wait } | { kind: 'end'; problem: Problem } | null> {
  const needed = leg.amount?.side === 'sell' ? leg.amount.value : null;
  if (needed === null) return null;
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
  const available = reply.value.balances.find((row) => row.currency === leg.sell)?.withdrawable ?? '0';
  if (compare(available, needed) >= 0) return null;
  const problem: Problem = {
    code: 'SHORTFALL',
    item: leg.id,
    message: `The leg sells ${needed} ${leg.sell}, but ${available} ${leg.sell} are there.`,
    fix: `Bring ${leg.sell} in; with \`shortfall: hold\` the run goes on by itself, else start it with --go-on.`,
  };
  if (context.plan.shortfall === 'skip') return { kind: 'end', problem };
  return {
    kind: 'wait',
    state: { ...state, shortOf: problem },
    wait: { afterMs: MONEY_POLL_MS, hold: 'money', problem },
  };
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

/** Price guard and limits against the quote (M4); null when it keeps all of them. */
function outsideBounds(context: Context, leg: Leg, quote: QuoteInHand): Problem | null {
  const { guard, limits } = context.plan;
  const sold = { value: quote.sellAmount, currency: leg.sell };
  const bought = { value: quote.buyAmount, currency: leg.buy };
  const broken = brokenTradeLimit(limits, [sold, bought], []);
  if (broken !== null) {
    return {
      code: 'OVER_LIMIT',
      item: leg.id,
      message: broken,
      fix: 'Lower the amount, or raise the limit on purpose.',
    };
  }
  if (guard === null) return null;
  if (guard.bound !== null && keepsGuard(guard.bound, quote.sellAmount, quote.buyAmount)) return null;
  return {
    code: 'OUTSIDE_GUARD',
    item: leg.id,
    message: `The quote gives ${quote.buyAmount} ${leg.buy} for ${quote.sellAmount} ${leg.sell}; the guard asks for a price ${guard.text}.`,
    fix: 'Wait for a better price, or widen the guard on purpose and start a new run.',
  };
}

/** The life of a quote on our clock: what the service grants, counted from just before the request left. */
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
  };
}

function staleReference(context: Context, leg: Leg): Problem | null {
  const staleAtMs = context.plan.guard?.staleAtMs ?? null;
  if (staleAtMs === null || context.nowMs() <= staleAtMs) return null;
  return {
    code: 'REFERENCE_TOO_OLD',
    item: leg.id,
    message:
      staleAtMs === 0
        ? 'There is no reference rate to hold a price against.'
        : `The reference rates of the plan are too old since ${new Date(staleAtMs).toISOString()}.`,
    fix: 'Bring the reference file up to date and start a new run.',
  };
}

function tooManyQuotes(context: Context, leg: Leg): Problem {
  return {
    code: 'QUOTES_USED_UP',
    item: leg.id,
    message: `${context.plan.quote.maxQuotes} quotes came and none could be traded.`,
    fix: 'See the evidence of the report; start the run with --go-on, or raise `quote.max_quotes`.',
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

function cancelledLeg(leg: Leg): Problem {
  return {
    code: 'CANCELLED',
    item: leg.id,
    message: 'The run was cancelled before this leg was traded.',
    fix: 'Start the run with --go-on to trade it after all.',
  };
}

function decidedAgainst(leg: Leg, decision: Extract<Decision, { kind: 'not executed' }>): Problem {
  return {
    code: 'DECIDED_NOT_EXECUTED',
    item: leg.id,
    message: `${decision.by} decided that leg "${leg.id}" was not traded: ${decision.why}`,
    fix: 'Trade it in a new run, if it is still wanted.',
  };
}

function fencePassed(context: Context, leg: Leg): Problem {
  return {
    code: 'FENCE_PASSED',
    item: leg.id,
    message: `The business date ${context.plan.date} is over in ${context.plan.zone}: yesterday's reasons do not trade today.`,
    fix: 'Start a new run with today’s date.',
  };
}

function inDoubt(leg: Leg, state: LegState): Problem {
  return {
    code: 'IN_DOUBT',
    item: leg.id,
    message: `Whether leg "${leg.id}" was traded is not known yet (${state.doubt?.why ?? 'unknown'}); no new quote before that.`,
    fix: 'Nothing to do: it looks again by itself and goes on when the service’s records have settled it.',
  };
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
  return wait(state, { afterMs: SLOW_LOOK_MS, hold: 'person' satisfies Hold, problem });
}

function wait(state: LegState, pause: Wait): LegStep {
  return { kind: 'wait', state, wait: pause };
}
