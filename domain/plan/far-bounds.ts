/**
 * What a person should know of the worst rates of a policy: one that lies more than a fifth away from the reference rates is
 * most likely mistyped. It may be meant, so this stops nothing. A policy that says why its guard is unusual has answered. Pure.
 */
import { divide } from '../money.ts';
import { boundFromRate, distanceOf, worthOf, type Worth } from './price-bounds.ts';
import type { Policy, ReferenceRates, WorstRate } from '../policy.ts';

/** One line for each worst rate that is far away. Where no reference rates value its two currencies, nothing is compared. */
export function farBounds(
  { guard, rules }: Pick<Policy, 'guard' | 'rules'>,
  reference: ReferenceRates | null,
): readonly string[] {
  if (guard === null || reference === null || rules.unusualGuard !== null) return [];
  return guard.worstRates.flatMap((worst) => {
    const worth = worthOf(reference.rates, worst.sell, worst.buy);
    const verdict = worth === null ? null : verdictOf(worst, worth);
    if (worth === null || verdict === null) return [];
    const { value, currency, per } = worst.rate;
    const { times, over } = worth;
    const rate = per === worst.sell ? divide(times, over, 6) : divide(over, times, 6);
    return [
      `The worst rate of the guard is ${value} ${currency} per ${per}. By the reference rates it is ${rate} ${currency} per ${per}, so ${verdict}: see that you mean it.`,
    ];
  });
}

/** @param worth of one unit of what is sold. Null: the worst rate is near it */
function verdictOf(worst: WorstRate, { times, over }: Worth): string | null {
  const bound = boundFromRate(worst.rate, worst);
  // How far the worst rate lies below the reference rates, and how far above.
  const below = distanceOf(bound, over, times);
  const above = distanceOf({ buyFactor: bound.sellFactor, sellFactor: bound.buyFactor }, times, over);
  if (below === 'upside down' || above === 'upside down') return 'it is most likely inverted';
  if (below === 'far') return 'it would allow a price that is more than a fifth worse';
  if (below === 'unusual') return 'it would allow a price that is ten times worse';
  return above === 'near' ? null : 'no price near the reference rates would keep it';
}
