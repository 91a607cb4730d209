/** Names, totals and amounts of a plan's items, also the amounts that are known only after the trade. Pure. */
import { keepsGuard, type Pair } from './price-bounds.ts';
import { moneyText } from '../currencies.ts';
import { compare, equal, multiply, notNegative, round, subtract, sum } from '../money.ts';
import type { Money } from '../policy.ts';
import type { Leg, Payment, Plan, PlanTotal } from './plan.ts';

/** Legs are always numbered, those of one pair from 1. */
export function legIdOf({ sell, buy }: Pair, number = 1): string {
  return `${sell}-${buy}-${number}`.toLowerCase();
}

/** Sums for each currency. */
export function sumsOf(all: readonly Money[]): readonly Money[] {
  const sums = new Map<string, string>();
  for (const { currency, value } of all) sums.set(currency, sum([sums.get(currency) ?? '0', value]));
  return [...sums].map(([currency, value]) => ({ currency, value }));
}

/** The amount that a leg sells or buys, on the side that its plan fixes; null: no amount is known. */
export function plannedMoneyOf({ sell, buy, amount }: Leg): Money | null {
  return amount === null ? null : { value: amount.value, currency: amount.side === 'sell' ? sell : buy };
}

/** The amount that the plan fixes; null: it is known only after the trade of its leg. */
export function fixedAmountOf({ amount }: Pick<Payment, 'amount'>): string | null {
  switch (amount.kind) {
    case 'fixed':
      return amount.value;
    case 'proceeds':
    case 'rest':
      return null;
  }
}

/**
 * The amount of a payment once its leg has bought `bought`. A rest is counted from the plan alone: it is what the planned
 * amounts of the leg's other payments leave, whether or not these are paid. When they are more than was bought, the rest is
 * 0.
 */
export function amountOf(
  payment: Pick<Payment, 'amount' | 'dependsOn'>,
  payments: readonly Pick<Payment, 'amount' | 'dependsOn'>[],
  bought: string,
): string {
  const { amount } = payment;
  switch (amount.kind) {
    case 'fixed':
      return amount.value;
    case 'proceeds':
      return round(bought, amount.decimals, amount.rounding);
    case 'rest': {
      const others = payments.filter(({ dependsOn }) => dependsOn === amount.leg);
      const planned = sum(others.flatMap((other) => fixedAmountOf(other) ?? []));
      const rest = round(subtract(bought, planned), amount.decimals, amount.rounding);
      return notNegative(rest);
    }
  }
}

/** The leg whose proceeds the payment depends on; null: its amount is fixed. */
export function bringerOf({ amount }: Payment): string | null {
  switch (amount.kind) {
    case 'fixed':
      return null;
    case 'proceeds':
    case 'rest':
      return amount.leg;
  }
}

/** The sums that are sold, bought and paid in each currency, as far as they are known before the trade. */
export function totalsOf({
  legs,
  payments,
  batch,
}: Pick<Plan, 'legs' | 'payments' | 'batch'>): readonly PlanTotal[] {
  const all: PlanTotal[] = [
    ...legs.flatMap((leg): PlanTotal[] => {
      const planned = plannedMoneyOf(leg);
      return leg.amount === null || planned === null ? [] : [{ what: leg.amount.side, ...planned }];
    }),
    ...payments.flatMap((payment): PlanTotal[] => {
      const value = fixedAmountOf(payment);
      return value === null ? [] : [{ what: 'pay', currency: payment.currency, value }];
    }),
    ...(batch?.payable ?? []).map((money): PlanTotal => ({ what: 'pay', ...money })),
  ];
  const sums = new Map<string, PlanTotal>();
  for (const one of all) {
    const key = `${one.what} ${one.currency}`;
    sums.set(key, { ...one, value: sum([sums.get(key)?.value ?? '0', one.value]) });
  }
  return [...sums.values()];
}

/**
 * Why the conversion may bring less than the fixed payments need, in one sentence; null when the leg is sure to bring it.
 * This is no reason against a plan: the balance may cover the rest, or the price may be better than the worst that the guard
 * takes.
 */
export function notCovered({ legs, payments }: Pick<Plan, 'legs' | 'payments'>): string | null {
  const [leg] = legs;
  const fixed = payments.flatMap((payment) => fixedAmountOf(payment) ?? []);
  if (leg === undefined || leg.amount === null || fixed.length === 0) return null;
  const total = sum(fixed);
  const { side, value } = leg.amount;
  const what = `The payments add up to ${moneyText(total, leg.buy)}`;
  if (side === 'buy')
    return compare(total, value) > 0 ? `${what}; the leg buys only ${moneyText(value, leg.buy)}.` : null;
  const bound = leg.guard?.bound ?? null;
  if (bound === null)
    return `${what}; no guard says how much the sale of ${moneyText(value, leg.sell)} brings at least.`;
  return keepsGuard(bound, value, total) &&
    !equal(multiply(total, bound.buyFactor), multiply(value, bound.sellFactor))
    ? `${what}; at the worst price that the guard allows, the sale of ${moneyText(value, leg.sell)} brings less.`
    : null;
}
