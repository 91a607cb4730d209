/**
 * The amounts that a conversion should bring before it is traded, and what a trade costs against the reference rates.
 * Amounts are exact until they are shown, and then rounded half to even. Pure.
 */
import { add, isPositive, multiply, quotient, subtract } from '../money.ts';
import type { Leg, LegAmount, PlanGuard, Position, ReferenceRate } from './plan.ts';
import { rateOf, type Pair, type Worth } from './price-bounds.ts';

/** Both sides of a conversion. */
export type Sides = { readonly sellAmount: string; readonly buyAmount: string };

/** Above zero, the price is worse than the reference rate; below zero, it is better. */
export type Cost = {
  /** In `currency`, rounded to its decimals. */
  readonly amount: string;
  readonly currency: string;
  /** The cost in basis points of the sold amount, to two decimals. `worst_cost` bounds it. */
  readonly bps: string;
};

const BPS_DECIMALS = 2;

/** What it costs to sell and buy these amounts; null: nothing is sold. */
export function costOf(reference: ReferenceRate, pair: Pair, { sellAmount, buyAmount }: Sides): Cost | null {
  if (!isPositive(sellAmount)) return null;
  const { times, over, currency, decimals } = reference;
  // Both amounts are in the bought currency, times `over`.
  const worth = multiply(sellAmount, times);
  const lost = subtract(worth, multiply(buyAmount, over));
  return {
    amount: quotient(lost, currency === pair.buy ? over : times, decimals, 'half-even'),
    currency,
    bps: quotient(multiply(lost, '10000'), worth, BPS_DECIMALS, 'half-even'),
  };
}

/**
 * What a leg should bring, and the price by which this is counted: a quote of now, the reference rates, or the worst price
 * that the guard takes.
 */
export type Expected = Sides & {
  readonly by: 'quote' | 'reference rate' | 'worst rate';
  /** Bought ÷ sold, with 12 significant digits. */
  readonly rate: string;
  /** The cost of a quote against the reference rates; null: there is no quote, or there are no such rates. */
  readonly cost: Cost | null;
};

/** `quote` is a quote of now; null: there is none. Returns null where nothing tells a price, or no amount is known. */
export function expectedOf(
  leg: Leg,
  quote: Sides | null,
  decimalsOf: (currency: string) => number,
): Expected | null {
  if (quote !== null) {
    const reference = leg.guard?.referenceRate ?? null;
    return toldOf('quote', quote, reference && costOf(reference, leg, quote));
  }
  const { amount, guard, sell, buy } = leg;
  const price = priceOf(guard);
  if (amount === null || price === null) return null;
  const decimals = { sell: decimalsOf(sell), buy: decimalsOf(buy) };
  return toldOf(price.by, sidesAt(price, amount, decimals), null);
}

function toldOf(by: Expected['by'], sides: Sides, cost: Cost | null): Expected | null {
  const rate = rateOf(sides.sellAmount, sides.buyAmount);
  return rate === null ? null : { by, ...sides, rate, cost };
}

/** What one unit of the sold currency brings. */
type Price = Worth & { readonly by: Expected['by'] };

function priceOf(guard: PlanGuard | null): Price | null {
  if (guard === null) return null;
  const { bound, referenceRate } = guard;
  if (referenceRate !== null)
    return { by: 'reference rate', times: referenceRate.times, over: referenceRate.over };
  return bound && { by: 'worst rate', times: bound.sellFactor, over: bound.buyFactor };
}

function sidesAt(
  { times, over }: Worth,
  { side, value }: LegAmount,
  decimals: { readonly sell: number; readonly buy: number },
): Sides {
  return side === 'sell'
    ? {
        sellAmount: value,
        buyAmount: quotient(multiply(value, times), over, decimals.buy, 'half-even'),
      }
    : {
        sellAmount: quotient(multiply(value, over), times, decimals.sell, 'half-even'),
        buyAmount: value,
      };
}

/** What is left of a currency once the sold amounts have gone and the bought amounts have settled. */
export type Left = Pick<Position, 'withdrawable' | 'projected'>;

export function leftOf(
  { currency, withdrawable, projected }: Position,
  trades: readonly (Pair & Sides)[],
): Left {
  let left: Left = { withdrawable, projected };
  for (const { sell, buy, sellAmount, buyAmount } of trades) {
    if (sell === currency)
      left = {
        withdrawable: subtract(left.withdrawable, sellAmount),
        projected: left.projected === null ? null : subtract(left.projected, sellAmount),
      };
    if (buy === currency && left.projected !== null)
      left = { ...left, projected: add(left.projected, buyAmount) };
  }
  return left;
}
