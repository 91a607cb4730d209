/** Compares a plan with the policy from which it should have been made. Pure. */
import { stricter } from './price-bounds.ts';
import { equal } from '../money.ts';
import type { ConvertPolicy, PayoutPolicy, Policy, RebalancePolicy, WithdrawSpec } from '../policy.ts';
import { reference } from '../references.ts';
import { legIdOf, totalsOf } from './amounts.ts';
import { literalBound } from './leg-guard.ts';
import { type Leg, type Payment, type PaymentAmount, type Plan } from './plan.ts';

/**
 * How the plan differs from its policy, in one sentence; null when they agree in everything that the policy fixes literally.
 * A plan is data that another program may have changed in Temporal, so no account, currency or amount of the plan counts
 * against the policy.
 */
export function planContradicts(plan: Plan, policy: Policy): string | null {
  if (plan.policy.name !== policy.name || plan.run.policy !== policy.name)
    return `The plan is of policy "${plan.policy.name}", not of "${policy.name}".`;
  if (plan.zone !== policy.zone)
    return `The plan counts dates in ${plan.zone}, the policy in ${policy.zone}.`;
  const difference = itemsContradict(plan, policy);
  if (difference !== null) return difference;
  const rule = otherRule(plan.rules, policy.rules);
  if (rule !== null) return `The plan says otherwise than the policy about \`${rule}\`.`;
  if (plan.legs.some((leg) => guardContradicts(leg, policy)))
    return 'The plan has another price guard than the policy.';
  return canonical(plan.totals) === canonical(totalsOf(plan))
    ? null
    : 'The totals of the plan are not those of its legs and payments.';
}

function itemsContradict(plan: Plan, policy: Policy): string | null {
  if ((plan.batch === null) !== (policy.kind !== 'payout'))
    return 'A batch belongs to a payout, and to nothing else.';
  switch (policy.kind) {
    case 'convert':
      return convertContradicts(plan, policy);
    case 'rebalance':
      return rebalanceContradicts(plan, policy);
    case 'payout':
      return payoutContradicts(plan, policy);
  }
}

function convertContradicts(plan: Plan, policy: ConvertPolicy): string | null {
  const [leg, ...moreLegs] = plan.legs;
  if (moreLegs.length > 0) return `The plan has ${plan.legs.length} legs, the policy one conversion.`;
  if (leg === undefined && policy.convert.amount.kind !== 'sell-all')
    return 'The plan has no leg, the policy converts a fixed amount.';
  if (leg !== undefined) {
    const difference = legContradicts(leg, plan, policy);
    if (difference !== null) return difference;
  }
  const specs = policy.withdraw.filter((spec) => leg !== undefined || needsNoLeg(spec));
  if (plan.payments.length !== specs.length)
    return `The plan has ${plan.payments.length} payments, the policy ${specs.length}.`;
  for (const [index, spec] of specs.entries()) {
    const payment = plan.payments[index];
    const difference = payment === undefined ? null : paymentContradicts(payment, spec, plan, policy);
    if (difference !== null) return difference;
  }
  return null;
}

/** The amounts come from balances, so the policy fixes only the currencies, the direction and the number of trades. */
function rebalanceContradicts(plan: Plan, { rebalance }: RebalancePolicy): string | null {
  const { base, targets, neverSell, maxTrades } = rebalance;
  if (plan.payments.length > 0) return 'The plan pays, the policy only trades.';
  const planned = plan.legs.filter(({ why }) => why.kind !== 'found');
  if (maxTrades !== null && planned.length > maxTrades)
    return `The plan has ${planned.length} legs, the policy takes ${maxTrades} trades at most.`;
  for (const leg of plan.legs) {
    const { id, sell, buy, amount } = leg;
    const other = sell === base.currency ? buy : sell;
    const isBetween = [sell, buy].includes(base.currency) && targets.some((one) => one.currency === other);
    if (!isBetween)
      return `Leg "${id}" of the plan sells ${sell} for ${buy}, which the policy does not trade.`;
    if (neverSell.includes(sell))
      return `Leg "${id}" of the plan sells ${sell}, which the policy never sells.`;
    if (amount?.fixed === true) return `The plan fixes the amount of leg "${id}", the policy does not.`;
  }
  return namesContradict(plan);
}

/**
 * The bought amounts come from balances: the policy fixes only the currency that pays for them. The payments are checked by
 * their hashes.
 */
function payoutContradicts(plan: Plan, { payout }: PayoutPolicy): string | null {
  const { fund } = payout;
  if (plan.payments.length > 0) return 'The plan has payments besides its batch.';
  const rule = otherRule(plan.batch?.rules ?? {}, payout.rules);
  if (rule !== null) return `The plan says otherwise than the policy about how a batch is paid (${rule}).`;
  const paid = new Set((plan.batch?.payable ?? []).map(({ currency }) => currency));
  for (const leg of plan.legs) {
    const { id, sell, buy, amount } = leg;
    if (fund.kind === 'none') return 'The plan trades, the policy pays from what is there.';
    if (sell !== fund.from || !paid.has(buy))
      return `Leg "${id}" of the plan sells ${sell} for ${buy}, which the policy does not trade.`;
    if (amount?.fixed === true) return `The plan fixes the amount of leg "${id}", the policy does not.`;
  }
  return namesContradict(plan);
}

/** Each leg is named after the currencies that it trades, and no name appears twice. */
function namesContradict(plan: Plan): string | null {
  for (const leg of plan.legs) {
    const { id, sell, buy } = leg;
    const number = Number(/-(\d{1,3})$/.exec(id)?.[1] ?? 0);
    if (id !== legIdOf(leg, number) || leg.reference !== reference(plan.run, id))
      return `The plan calls a leg "${leg.reference}", which is no name of a leg from ${sell} to ${buy}.`;
  }
  const ids = plan.legs.map(({ id }) => id);
  return new Set(ids).size === ids.length ? null : 'The plan has two legs of one name.';
}

function legContradicts(leg: Leg, plan: Plan, policy: ConvertPolicy): string | null {
  const { sell, buy, amount } = policy.convert;
  const id = legIdOf(policy.convert);
  if (leg.id !== id || leg.reference !== reference(plan.run, id))
    return `The plan calls its leg "${leg.reference}", the policy makes it "${reference(plan.run, id)}".`;
  if (leg.sell !== sell || leg.buy !== buy)
    return `Leg "${id}" of the plan sells ${leg.sell} for ${leg.buy}, the policy ${sell} for ${buy}.`;
  if (amount.kind === 'sell-all')
    return leg.amount?.fixed === true
      ? `The plan fixes the amount of leg "${id}", the policy does not.`
      : null;
  const isSame =
    leg.amount?.fixed === true && leg.amount.side === amount.kind && equal(leg.amount.value, amount.value);
  if (isSame) return null;
  const planned = leg.amount === null ? 'nothing known' : `${leg.amount.side} ${leg.amount.value}`;
  return `Leg "${id}" of the plan has the amount "${planned}", the policy "${amount.kind} ${amount.value}".`;
}

function paymentContradicts(
  payment: Payment,
  spec: WithdrawSpec,
  plan: Plan,
  policy: ConvertPolicy,
): string | null {
  const { id, account, amount } = spec;
  const leg = legIdOf(policy.convert);
  if (payment.id !== id || payment.reference !== reference(plan.run, id))
    return `The plan has payment "${payment.reference}" where the policy has "${reference(plan.run, id)}".`;
  if (payment.account !== account)
    return `Payment "${id}" of the plan goes to ${payment.account}, the policy pays ${account}.`;
  if (payment.currency !== policy.convert.buy)
    return `Payment "${id}" of the plan is in ${payment.currency}, the policy pays ${policy.convert.buy}.`;
  if (payment.dependsOn !== leg) return `Payment "${id}" of the plan does not depend on leg "${leg}".`;
  const isSame = isSameAmount(payment.amount, amount, leg);
  return isSame ? null : `Payment "${id}" of the plan has another amount than the policy.`;
}

/** A payment may be missing from the plan only when no leg brings its money. */
function needsNoLeg({ amount }: WithdrawSpec): boolean {
  switch (amount.kind) {
    case 'fixed':
      return true;
    case 'proceeds':
    case 'rest':
      return false;
  }
}

function isSameAmount(planned: PaymentAmount, asked: WithdrawSpec['amount'], leg: string): boolean {
  switch (asked.kind) {
    case 'fixed':
      return planned.kind === 'fixed' && equal(planned.value, asked.value);
    case 'proceeds':
    case 'rest':
      return planned.kind === asked.kind && planned.leg === leg && planned.rounding === asked.rounding;
  }
}

function guardContradicts({ guard, ...pair }: Leg, policy: Policy): boolean {
  if (policy.guard === null || guard === null) return policy.guard !== guard;
  const literal = literalBound(policy.guard, pair);
  if (policy.guard.reference === null) return canonical(guard.bound) !== canonical(literal);
  // The bound by reference rates depends on their file, which the policy only names. It is never looser than the literal
  // bound.
  return literal !== null && guard.bound !== null && stricter(guard.bound, literal) !== guard.bound;
}

/** The first rule of the policy about which the plan says otherwise; null: there is none. */
function otherRule(planned: object, stated: object): string | null {
  const ofPlan = new Map(Object.entries(planned));
  const other = Object.entries(stated).find(
    ([name, value]) => canonical(ofPlan.get(name)) !== canonical(value),
  );
  return other?.[0] ?? null;
}

/** The same text for the same data, whatever the order of its fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
