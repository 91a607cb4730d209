/**
 * The price guard (M4): one exact inequality, without a division, so that "equal passes" means equal.
 * A conversion passes when `bought × buyFactor ≥ sold × sellFactor`.
 */
import { compare, isPositive, divide, multiply, subtract } from '../money.ts';
import type { Rate } from '../policy.ts';

export type PriceBound = { readonly buyFactor: string; readonly sellFactor: string };

/** The two currencies of a conversion. */
export type Pair = { readonly sell: string; readonly buy: string };

/** The bound by a literal worst rate, in whichever direction it was written. */
export function boundFromRate(rate: Rate, pair: Pair): PriceBound {
  return rate.currency === pair.buy && rate.per === pair.sell
    ? { buyFactor: '1', sellFactor: rate.value }
    : { buyFactor: rate.value, sellFactor: '1' };
}

/**
 * The bound that is at most `worstCostBps` worse than the reference rates: by a rate between the two currencies, or through
 * one third currency. Null when the rates do not connect them.
 */
export function boundFromCost(rates: readonly Rate[], worstCostBps: string, pair: Pair): PriceBound | null {
  const worth = worthOf(rates, pair.buy, pair.sell);
  if (worth === null) return null;
  const least = subtract('1', multiply(worstCostBps, '0.0001'));
  return { buyFactor: worth.times, sellFactor: multiply(worth.over, least) };
}

/** The stricter bound; when they are equal, the first. */
export function stricter(one: PriceBound, other: PriceBound): PriceBound {
  const least = multiply(one.sellFactor, other.buyFactor);
  return compare(least, multiply(other.sellFactor, one.buyFactor)) >= 0 ? one : other;
}

/** The exact worth of one unit of a currency in another one: `times ÷ over`. */
export type Worth = { readonly times: string; readonly over: string };

/** The worth by a rate between the two, or through one third currency; null when the rates do not connect them. */
export function worthOf(rates: readonly Rate[], currency: string, unit: string): Worth | null {
  if (currency === unit) return { times: '1', over: '1' };
  const direct = valueIn(rates, currency, unit);
  if (direct !== null) return direct;
  for (const middle of new Set(rates.flatMap((rate) => [rate.currency, rate.per]))) {
    const first = valueIn(rates, currency, middle);
    const second = valueIn(rates, unit, middle);
    if (first !== null && second !== null)
      return {
        times: multiply(first.times, second.over),
        over: multiply(first.over, second.times),
      };
  }
  return null;
}

/** True when the price keeps the guard. A price equal to the bound keeps it. */
export function keepsGuard(bound: PriceBound, sold: string, bought: string): boolean {
  return compare(multiply(bought, bound.buyFactor), multiply(sold, bound.sellFactor)) >= 0;
}

/**
 * How far a guard lies below a price that keeps it. `far`: more than a fifth. `unusual`: ten times and more, so that it
 * guards nothing. `upside down`: so far, and near the price once its rate is turned round.
 */
export type Distance = 'near' | 'far' | 'unusual' | 'upside down';

export function distanceOf({ buyFactor, sellFactor }: PriceBound, sold: string, bought: string): Distance {
  const [got, least] = [multiply(bought, buyFactor), multiply(sold, sellFactor)];
  if (compare(multiply(got, FIFTH_LESS), least) <= 0) return 'near';
  if (compare(got, multiply(least, TEN)) < 0) return 'far';
  const [turned, price] = [multiply(sold, buyFactor), multiply(bought, sellFactor)];
  const isNear =
    compare(multiply(turned, FIFTH_LESS), price) <= 0 && compare(multiply(price, FIFTH_LESS), turned) <= 0;
  return isNear ? 'upside down' : 'unusual';
}

const FIFTH_LESS = '0.8';
const TEN = '10';

/**
 * The price of a conversion beside the worst price that its guard takes, both in one direction, with 8 digits. For messages.
 */
export function besideGuard(bound: PriceBound, sold: string, bought: string, pair: Pair): string {
  const unit = `${pair.buy} per ${pair.sell}`;
  const least = divide(bound.sellFactor, bound.buyFactor, 8);
  return `${isPositive(sold) ? divide(bought, sold, 8) : '-'} ${unit}, allowed are ${least} or more`;
}

/** `rate` of the report: bought ÷ sold, with 12 significant digits; null when nothing was sold. */
export function rateOf(sold: string, bought: string): string | null {
  return isPositive(sold) ? divide(bought, sold, 12) : null;
}

/** The worth of one `currency` in `unit` as a fraction `times ÷ over`; null when no line gives it. */
function valueIn(rates: readonly Rate[], currency: string, unit: string): Worth | null {
  for (const rate of rates) {
    if (rate.currency === unit && rate.per === currency) return { times: rate.value, over: '1' };
    if (rate.currency === currency && rate.per === unit) return { times: '1', over: rate.value };
  }
  return null;
}
