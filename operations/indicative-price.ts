/**
 * What the legs of a plan would cost now: a quote of 3 s for each, which is never traded. Where the key may ask for no
 * quotes, or the service gives none, there is no price.
 */
import { randomUUID } from 'node:crypto';
import { rateOf } from '../domain/plan/price-bounds.ts';
import type { Observation } from '../domain/plan/observation.ts';
import type { Leg, Plan } from '../domain/plan/plan.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Settings } from '../config/config.ts';
import { atService } from './preflight.ts';

export type IndicativePrice = {
  readonly leg: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** Bought ÷ sold. */
  readonly rate: string;
};

/** One price for each leg that is not traded yet, as far as the service gives one. */
export async function indicativePrices(
  settings: Settings,
  plan: Plan,
  observation: Observation,
): Promise<readonly IndicativePrice[]> {
  if (observation.trades.length > 0) return [];
  return atService(settings, async (service) => {
    const prices = await Promise.all(plan.legs.map((leg) => priceOf(service, plan, leg)));
    return prices.flatMap((price) => price ?? []);
  });
}

async function priceOf(
  service: Pick<ServiceClient, 'createQuote'>,
  plan: Plan,
  { id, sell, buy, amount }: Leg,
): Promise<IndicativePrice | null> {
  if (amount === null) return null;
  const reply = await service.createQuote({
    sellCurrency: sell,
    buyCurrency: buy,
    amount: { side: amount.side, value: amount.value },
    validForSeconds: 3,
    settlement: plan.quote.settlement,
    idempotencyKey: randomUUID(),
  });
  if (reply.kind !== 'DONE') return null;
  const { quoteAmount } = reply.value;
  const sellAmount = amount.side === 'sell' ? amount.value : quoteAmount;
  const buyAmount = amount.side === 'buy' ? amount.value : quoteAmount;
  const rate = rateOf(sellAmount, buyAmount);
  return rate === null ? null : { leg: id, sellAmount, buyAmount, rate };
}
