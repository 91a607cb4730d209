/** Compares a quote and a trade with what was asked for, with the guard, the limits and the quote itself (M4). */
import { minuteText } from '../waits.ts';
import { compare, equal, round } from '../money.ts';
import { decimalsOf, moneyText } from '../currencies.ts';
import { PROBLEMS, makeProblem, type Problem } from '../problems.ts';
import { brokenTradeLimit, type TradedBefore } from '../plan/limits.ts';
import type { Leg } from '../plan/plan.ts';
import type { Money } from '../policy.ts';
import { besideGuard, distanceOf, keepsGuard, type PriceBound } from '../plan/price-bounds.ts';
import type { Quote, Trade } from '../service/records.ts';
import type { QuoteInHand, Traded } from './leg-state.ts';
import type { Context } from './step.ts';
import { guardAdvice, withoutTrade } from './trade-texts.ts';

/** The problem with a quote as an answer to our request; null when there is none. */
export function oddQuote(context: Context, leg: Leg, quote: Quote, replayed: boolean | null): Problem | null {
  const { amount } = leg;
  const echoed = amount?.side === 'sell' ? quote.sellAmount : quote.buyAmount;
  const difference =
    replayed === true
      ? 'the service gave an old answer again, though the request was new'
      : quote.sellCurrency !== leg.sell || quote.buyCurrency !== leg.buy
        ? `it is for ${quote.sellCurrency} to ${quote.buyCurrency}`
        : amount === null || echoed === null || !equal(echoed, amount.value)
          ? `its ${amount?.side ?? ''} amount is ${echoed ?? 'not given'}`
          : quote.settlementWindow !== null && quote.settlementWindow !== context.plan.rules.quote.settlement
            ? `it settles ${quote.settlementWindow}, and the run had asked for ${context.plan.rules.quote.settlement}`
            : null;
  if (difference === null) return null;
  return {
    code: 'QUOTE_DIFFERS',
    item: leg.id,
    message: `Quote ${quote.id} is not what the run had asked for: ${difference}. Nothing was traded.`,
    fix: 'Ask the operator of the service.',
  };
}

/** The amounts that count against the limits besides this trade: the other legs of the run, and the other runs of the day. */
function tradedBefore({ tradedSoFar }: Context, quote: Pick<QuoteInHand, 'onDate'> | null): TradedBefore {
  return { inRun: tradedSoFar, onDate: quote?.onDate ?? [] };
}

/** The problem when the quote breaks the price guard or a limit (M4); null when it keeps all of them. */
export function outsideBounds(context: Context, leg: Leg, quote: QuoteInHand): Problem | null {
  const { limits } = context.plan.rules;
  const { guard } = leg;
  const sold = { value: quote.sellAmount, currency: leg.sell };
  const bought = { value: quote.buyAmount, currency: leg.buy };
  const broken = brokenTradeLimit(limits, [sold, bought], tradedBefore(context, quote));
  if (broken !== null) {
    return {
      code: 'OVER_LIMIT',
      item: leg.id,
      message: broken,
      fix: PROBLEMS.OVER_LIMIT.advice,
    };
  }
  if (guard === null) return null;
  const { bound } = guard;
  if (bound !== null && keepsGuard(bound, quote.sellAmount, quote.buyAmount))
    return context.plan.rules.unusualGuard === null ? unusualGuard(leg, bound, quote) : null;
  const figures = bound === null ? '' : `: ${besideGuard(bound, quote.sellAmount, quote.buyAmount, leg)}`;
  return {
    code: 'OUTSIDE_GUARD',
    item: leg.id,
    message: `The quote gives ${moneyText(quote.buyAmount, leg.buy)} for ${moneyText(quote.sellAmount, leg.sell)}${figures} (a price ${guard.text}).`,
    fix: guardAdvice(context, leg),
  };
}

/** A guard so far below the price lets every price pass. Most likely its rate is a mistake. */
function unusualGuard(leg: Leg, bound: PriceBound, { sellAmount, buyAmount }: QuoteInHand): Problem | null {
  const distance = distanceOf(bound, sellAmount, buyAmount);
  if (distance === 'near' || distance === 'far') return null;
  const why =
    distance === 'upside down' ? 'its rate is inverted' : 'it allows a price ten times worse than this one';
  return makeProblem('GUARD_UNUSUAL', leg.id, {
    message: `The guard would allow any price: ${why}. Nothing was traded. The quote gives ${besideGuard(bound, sellAmount, buyAmount, leg)}.`,
  });
}

/** What a quote sells and buys. */
export function quotedSides({
  sellAmount,
  buyAmount,
  quoteAmount,
}: Quote): Pick<QuoteInHand, 'sellAmount' | 'buyAmount'> {
  return { sellAmount: sellAmount ?? quoteAmount, buyAmount: buyAmount ?? quoteAmount };
}

/**
 * Takes a quote in hand. It lives as long as the service grants, counted by our clock from just before the request left.
 * @param onDate null: the policy has no limit of a day
 */
export function inHand(
  context: Context,
  quote: Quote,
  { sentAtMs, onDate }: { readonly sentAtMs: number; readonly onDate: readonly Money[] | null },
): QuoteInHand {
  const asked = context.plan.rules.quote.validForSeconds * 1000;
  const granted =
    quote.expiresAt === null ? asked : Date.parse(quote.expiresAt) - Date.parse(quote.createdAt);
  const lifeMs = Number.isFinite(granted) ? Math.min(granted, asked) : asked;
  return {
    id: quote.id,
    ...quotedSides(quote),
    usableUntilMs: sentAtMs + lifeMs,
    probed: false,
    ...(onDate !== null && { onDate }),
    ...(quote.seal !== undefined && { seal: quote.seal }),
  };
}

/**
 * True when the trade has the amount of the quote on the side that was asked for, even when the plan computed it from live
 * balances.
 */
export function isQuotedAmount(leg: Leg, quote: QuoteInHand, trade: Trade): boolean {
  const [asked, recorded] =
    leg.amount?.side === 'buy' ? [quote.buyAmount, trade.buyAmount] : [quote.sellAmount, trade.sellAmount];
  return recorded !== null && equal(recorded, asked);
}

/**
 * The problem when a trade came out worse than its quote, the guard or a limit. A trade cannot be undone, but a person must
 * know.
 */
export function executedWorse(context: Context, leg: Leg, trade: Traded): Problem | null {
  const { limits } = context.plan.rules;
  const { guard } = leg;
  const { tradeId, sellAmount, buyAmount, quoted } = trade;
  const fix =
    'Ask the operator of the service why the trade differs from its quote. A person may accept the trade by its id.';
  const gave = `Trade ${tradeId} gave ${moneyText(buyAmount, leg.buy)} for ${moneyText(sellAmount, leg.sell)}`;
  const bound = guard?.bound ?? null;
  if (guard !== null && bound !== null && !keepsGuard(bound, sellAmount, buyAmount)) {
    const message = `${gave}: ${besideGuard(bound, sellAmount, buyAmount, leg)} (a price ${guard.text}).`;
    return { code: 'EXECUTED_OUTSIDE_GUARD', item: leg.id, message, fix };
  }
  const sold = { value: sellAmount, currency: leg.sell };
  const bought = { value: buyAmount, currency: leg.buy };
  const broken = brokenTradeLimit(limits, [sold, bought], tradedBefore(context, quoted));
  if (broken !== null)
    return { code: 'EXECUTED_OVER_LIMIT', item: leg.id, message: `${gave}: ${broken}`, fix };
  if (quoted === null) return null;
  // A quote may have more decimals than its currency. A booked amount has not.
  const decimals = (currency: string): number => decimalsOf(currency, context.facts.decimals);
  const isAsQuoted =
    compare(buyAmount, round(quoted.buyAmount, decimals(leg.buy), 'down')) >= 0 &&
    compare(sellAmount, round(quoted.sellAmount, decimals(leg.sell), 'up')) <= 0;
  if (isAsQuoted) return null;
  const message = `${gave}; its quote said ${moneyText(quoted.buyAmount, leg.buy)} for ${moneyText(quoted.sellAmount, leg.sell)}.`;
  return { code: 'EXECUTED_BELOW_QUOTE', item: leg.id, message, fix };
}

export function staleReference(context: Context, leg: Leg): Problem | null {
  const staleAtMs = leg.guard?.staleAtMs ?? null;
  if (staleAtMs === null || context.nowMs() <= staleAtMs) return null;
  return {
    code: 'REFERENCE_TOO_OLD',
    item: leg.id,
    message:
      staleAtMs === 0
        ? 'There is no reference rate with which a price could be compared.'
        : `The reference rates of the plan are too old since ${minuteText(staleAtMs)}.`,
    fix: withoutTrade(context, leg) ?? 'Bring the reference file up to date and start a new run.',
  };
}
