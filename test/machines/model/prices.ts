/** What the model's service takes for what: the price of a schedule for pesos, and everything else in step with it. */
import type { Pair } from '../../../domain/service/records.ts';
import { units } from './units.ts';

/** US dollars for one, as a fraction; for pesos as in the reference rates of a rebalancing. */
const WORTH: Readonly<Record<string, readonly [over: bigint, under: bigint]>> = {
  USD: [1n, 1n],
  EUR: [108n, 100n],
  GBP: [127n, 100n],
  MXN: [100n, 1_725n],
};
const ONE = units('1');

/** In the order of the reference rates of a rebalancing. */
export const RATES: readonly string[] = ['1.08 USD per EUR', '1.27 USD per GBP', '17.25 MXN per USD'];

export const PAIRS: readonly Pair[] = Object.keys(WORTH).flatMap((sellCurrency) =>
  Object.keys(WORTH).flatMap((buyCurrency) =>
    sellCurrency === buyCurrency
      ? []
      : [{ sellCurrency, buyCurrency, minTradeAmount: '0.01', maxTradeAmount: '1000000000' }],
  ),
);

/**
 * What is bought for what is sold, or sold for what is bought. A price of 17.25 is the reference; one that is so much lower is
 * worse by so much for whoever trades, whatever the pair.
 */
export function otherSide(
  { sell, buy }: { readonly sell: string; readonly buy: string },
  side: 'buy' | 'sell',
  value: bigint,
  price: bigint,
): bigint {
  const [boughtFor, sold] = factors(sell, buy, price);
  return side === 'sell' ? (value * boughtFor) / sold : (value * sold) / boughtFor;
}

function factors(sell: string, buy: string, price: bigint): readonly [bought: bigint, sold: bigint] {
  const [sellOver, sellUnder] = worthOf(sell);
  const [buyOver, buyUnder] = worthOf(buy);
  const [reference] = worthOf('MXN');
  return [price * sellOver * buyUnder * reference, sellUnder * buyOver * 1_725n * ONE];
}

/** @throws for a currency that the model does not know */
function worthOf(currency: string): readonly [over: bigint, under: bigint] {
  const worth = WORTH[currency];
  if (worth === undefined) throw new RangeError(`${currency} has no price here.`);
  return worth;
}
