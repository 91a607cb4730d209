/**
 * Whether a trade of a rebalancing carries its currency past its target by more than the band, as balances stand now. The write
 * gate asks this of each quote and trade (M4). Pure.
 */
import { moneyText } from '../currencies.ts';
import { compare, round, subtract } from '../money.ts';
import type { Target } from '../policy.ts';
import { boundsOf, totalOf, type TargetInput } from './rebalance.ts';

/** A trade between the base and another currency. `amount` is in the other currency. */
export type OfTarget = { readonly sell: string; readonly buy: string; readonly amount: string };

/** Why the trade is too much, as a part of a sentence that begins with the policy; null: it keeps to the target. */
export function whyPastTarget(input: TargetInput, { sell, buy, amount }: OfTarget): string | null {
  const isSale = buy === input.rebalance.base.currency;
  const currency = isSale ? sell : buy;
  const target = input.rebalance.targets.find((one) => one.currency === currency);
  if (target === undefined) return `has no target for ${currency}`;
  const { projected } = input.holdingOf(currency);
  const known = endOf(target, isSale, input);
  if (projected === null || known === null)
    return `cannot say how much ${currency} its targets ask for: balances, trades under way or rates do not tell it`;
  const { end } = known;
  if (end === null) return `has no target to which ${currency} is ${isSale ? 'sold' : 'bought'}`;
  // A plan rounds what it buys up to a minimum.
  const room = round(
    isSale ? subtract(projected, end) : subtract(end, projected),
    input.decimalsOf(currency),
    'up',
  );
  if (compare(amount, room) <= 0) return null;
  const money = (value: string): string => moneyText(value, currency);
  const what = isSale ? `sells ${currency} down to ${money(end)}` : `buys ${currency} up to ${money(end)}`;
  return `${what} at most, and ${money(projected)} is there or on its way: ${money(amount)} is too much`;
}

/**
 * The farthest balance to which a trade may lead; null: it is not known.
 * @returns `end` null: the target asks for no such trade
 */
function endOf(target: Target, isSale: boolean, input: TargetInput): { readonly end: string | null } | null {
  const { goal } = target;
  switch (goal.kind) {
    case 'keep':
    case 'share': {
      const bounds = boundsOf(target, input, goal.kind === 'share' ? totalOf(input) : null);
      return bounds === null ? null : { end: isSale ? bounds.low : bounds.high };
    }
    case 'range': {
      const { min, max } = goal;
      const [own, other] = isSale ? [max, min] : [min, max];
      // Between the two nothing is traded, so that a trade may end there.
      return { end: own === null ? null : (other ?? own) };
    }
  }
}
