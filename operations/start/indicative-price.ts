/**
 * What the legs of a plan would cost now: asks for a quote of 3 s for each leg, which is never traded. When the key may not
 * ask for quotes, or the service gives none, the reason is shown.
 */
import { randomUUID } from 'node:crypto';
import type { Sides } from '../../domain/plan/cost.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import type { Leg, Plan } from '../../domain/plan/plan.ts';
import { explainWithCode } from '../../domain/writes/step.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Settings } from '../../config/config.ts';
import { atService } from '../preflight.ts';

export type IndicativePrice = { readonly leg: string } & (
  { readonly kind: 'quoted'; readonly sides: Sides } | { readonly kind: 'not quoted'; readonly why: string }
);

/** One price for each leg. */
export async function indicativePrices(
  settings: Settings,
  plan: Plan,
  observation: Observation,
): Promise<readonly IndicativePrice[]> {
  if (observation.trades.length > 0)
    return plan.legs.map((leg) => notQuoted(leg, 'The run has traded already, and asks for no more quotes.'));
  return atService(settings, (service) => Promise.all(plan.legs.map((leg) => priceOf(service, plan, leg))));
}

async function priceOf(
  service: Pick<ServiceClient, 'createQuote'>,
  plan: Plan,
  leg: Leg,
): Promise<IndicativePrice> {
  const { sell, buy, amount } = leg;
  if (amount === null) return notQuoted(leg, 'Its amount is not known.');
  const reply = await service.createQuote({
    sellCurrency: sell,
    buyCurrency: buy,
    amount: { side: amount.side, value: amount.value },
    validForSeconds: 3,
    settlement: plan.rules.quote.settlement,
    idempotencyKey: randomUUID(),
  });
  if (reply.kind !== 'DONE') return notQuoted(leg, explainWithCode(reply));
  const { quoteAmount } = reply.value;
  const sides =
    amount.side === 'sell'
      ? { sellAmount: amount.value, buyAmount: quoteAmount }
      : { sellAmount: quoteAmount, buyAmount: amount.value };
  return { leg: leg.id, kind: 'quoted', sides };
}

function notQuoted({ id }: Leg, why: string): IndicativePrice {
  return { leg: id, kind: 'not quoted', why };
}
