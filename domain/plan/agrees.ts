/** Compares a plan with the policy from which it should have been made. Pure. */
import { canonicalJson } from '../canonical-json.ts';
import { moneyText } from '../currencies.ts';
import { worthOf } from './price-bounds.ts';
import { compare, decimalPlaces, equal, round, subtract, sum } from '../money.ts';
import type { ConvertPolicy, PayoutPolicy, Policy, RebalancePolicy, WithdrawSpec } from '../policy.ts';
import { reference } from '../references.ts';
import { legIdOf, totalsOf } from './amounts.ts';
import type { CompileInput } from './compile-input.ts';
import { guardOf } from './leg-guard.ts';
import { fundingOf } from './payout-items.ts';
import { ratesOf } from './rebalance-items.ts';
import { planRebalancing } from './rebalance.ts';
import { type Leg, type Payment, type PaymentAmount, type Plan } from './plan.ts';

/**
 * What a plan is made from besides its policy and the service: the reference rates with which its run was started, and what
 * the worker itself knows.
 */
export type MadeFrom = Pick<CompileInput, 'referenceRates' | 'date' | 'sendWindows' | 'decimalsOf'>;

/**
 * How the plan differs from its policy, in one sentence; null when they agree in everything that policy and reference rates
 * fix, and no amount is more than the balances that the plan shows ask for. A plan is data that another program may have
 * changed in Temporal, so no account, currency, amount, price or moment of the plan counts against the policy.
 */
export function planContradicts(plan: Plan, policy: Policy, made: MadeFrom): string | null {
  if (plan.policy.name !== policy.name || plan.run.policy !== policy.name)
    return `The plan is of policy "${plan.policy.name}", not of "${policy.name}".`;
  if (plan.zone !== policy.zone)
    return `The plan counts dates in ${plan.zone}, the policy in ${policy.zone}.`;
  if (plan.date !== made.date || canonicalJson(plan.sendWindows) !== canonicalJson(made.sendWindows))
    return 'The send window of the plan is not that of its date.';
  const difference = itemsContradict(plan, policy, made);
  if (difference !== null) return difference;
  const rule = otherRule(plan.rules, policy.rules);
  if (rule !== null) return `The plan and the policy differ in \`${rule}\`.`;
  if (plan.legs.some((leg) => guardContradicts(leg, plan, { ...made, policy })))
    return 'The plan has another price guard than the policy.';
  return canonicalJson(plan.totals) === canonicalJson(totalsOf(plan))
    ? null
    : 'The totals of the plan are not those of its legs and payments.';
}

function itemsContradict(plan: Plan, policy: Policy, made: MadeFrom): string | null {
  if ((plan.batch === null) !== (policy.kind !== 'payout'))
    return 'A batch belongs to a payout, and to nothing else.';
  switch (policy.kind) {
    case 'convert':
      return convertContradicts(plan, policy);
    case 'rebalance':
      return rebalanceContradicts(plan, policy, made);
    case 'payout':
      return payoutContradicts(plan, policy, made);
  }
}

/** How the one conversion of a plan, and its payments, differ from the policy; null: they do not. */
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
function rebalanceContradicts(plan: Plan, policy: RebalancePolicy, made: MadeFrom): string | null {
  const { rebalance } = policy;
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
  return namesContradict(plan) ?? balancesContradict(plan, rebalance, { ...made, policy });
}

/**
 * The bought amounts come from balances: the policy fixes only the currency that pays for them. The payments are checked by
 * their hashes.
 */
function payoutContradicts(plan: Plan, policy: PayoutPolicy, made: MadeFrom): string | null {
  const { payout } = policy;
  const { fund } = payout;
  if (plan.payments.length > 0) return 'The plan has payments besides its batch.';
  const rule = otherRule(plan.batch?.rules ?? {}, payout.rules);
  if (rule !== null) return `The plan and the policy differ in how the batch is paid (${rule}).`;
  const { payable = [], totals = [] } = plan.batch ?? {};
  const isMore = payable.some(({ currency, value }) => {
    const total = totals.find((one) => one.currency === currency);
    return total === undefined || compare(value, total.value) > 0;
  });
  if (isMore) return 'The plan pays more than its batch has.';
  const paid = new Set(payable.map(({ currency }) => currency));
  for (const leg of plan.legs) {
    const { id, sell, buy, amount } = leg;
    if (fund.kind === 'none')
      return 'The plan trades, but by the policy the balances pay, and nothing is traded.';
    if (sell !== fund.from || !paid.has(buy))
      return `Leg "${id}" of the plan sells ${sell} for ${buy}, which the policy does not trade.`;
    if (amount?.fixed === true) return `The plan fixes the amount of leg "${id}", the policy does not.`;
  }
  const names = namesContradict(plan);
  if (names !== null || fund.kind === 'none') return names;
  return balancesContradict(plan, fundingOf(fund.from, payable), { ...made, policy });
}

/**
 * Amounts that come from balances: a leg sells or buys no more of a currency than the balances in the plan's own table ask
 * for. Legs of trades that were found are no wish of the policy. They are never traded anew.
 */
function balancesContradict(
  plan: Plan,
  rebalance: RebalancePolicy['rebalance'],
  made: MadeFrom & { readonly policy: Policy },
): string | null {
  const rates = ratesOf(made);
  const { positions } = planRebalancing({
    rebalance,
    // So that nothing is rounded.
    decimalsOf: () => EXACT_DECIMALS,
    holdingOf: (currency) => {
      const { withdrawable = '0', projected = null } =
        plan.positions.find((position) => position.currency === currency) ?? {};
      return projected === null
        ? { withdrawable, projected, unknown: 'status unknown' }
        : { withdrawable, projected };
    },
    worthOf: (currency) => worthOf(rates, currency, rebalance.base.currency),
    boundOf: () => null,
    missingRate: 'no rate',
    pairs: null,
    most: { trade: null, run: null, day: null },
    waitsForBase: true,
  });
  for (const { id, sell, amount, why } of plan.legs) {
    if (why.kind === 'found' || why.kind === 'forgotten') {
      if (!plan.foundRecords)
        return `Leg "${id}" of the plan says that its trade was found at the service, but no trade was found.`;
      continue;
    }
    const other = `Leg "${id}" of the plan has another amount than its balances ask for.`;
    if (why.kind !== 'target' || amount === null) return other;
    const { currency } = why;
    const ofCurrency = plan.legs.filter((leg) => leg.why.kind === 'target' && leg.why.currency === currency);
    const value = sum(ofCurrency.flatMap((leg) => leg.amount?.value ?? []));
    const wanted = positions.find((position) => position.currency === currency)?.wanted ?? null;
    const isWanted =
      wanted !== null &&
      ofCurrency.every((leg) => leg.amount?.side === wanted.side) &&
      (wanted.side === 'sell') === (sell === currency) &&
      compare(value, round(wanted.value, decimalPlaces(value), 'up')) <= 0;
    if (!isWanted) return other;
  }
  return null;
}

/** More than any currency or balance has. */
const EXACT_DECIMALS = 30;

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
  if (amount.kind === 'sell-all') {
    if (leg.amount?.fixed === true) return `The plan fixes the amount of leg "${id}", the policy does not.`;
    return isAllAbove(leg, plan, amount.keep)
      ? null
      : `Leg "${id}" of the plan has another amount than everything above ${moneyText(amount.keep, sell)}.`;
  }
  const isSame =
    leg.amount?.fixed === true && leg.amount.side === amount.kind && equal(leg.amount.value, amount.value);
  if (isSame) return null;
  const planned = leg.amount === null ? 'nothing known' : `${leg.amount.side} ${leg.amount.value}`;
  return `Leg "${id}" of the plan has the amount "${planned}", the policy "${amount.kind} ${amount.value}".`;
}

/** True also for the amount of a trade that was found, or one that was lost: such a leg is never traded anew. */
function isAllAbove({ amount, why }: Leg, { foundRecords }: Plan, keep: string): boolean {
  switch (why.kind) {
    case 'all above':
      return (
        amount?.side === 'sell' &&
        equal(why.keep, keep) &&
        compare(amount.value, subtract(why.available, keep)) <= 0
      );
    case 'found':
    case 'forgotten':
      return foundRecords;
    case 'fixed':
    case 'target':
      return false;
  }
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

/** The bound is computed anew. When it ends to count depends on the reference rates as well. */
function guardContradicts(
  { guard, ...pair }: Leg,
  { madeAtMs }: Plan,
  made: MadeFrom & { readonly policy: Policy },
): boolean {
  const own = guardOf({ ...made, observation: { observedAtMs: madeAtMs } }, pair);
  const boundOf = (one: Leg['guard']) => one && { bound: one.bound, staleAtMs: one.staleAtMs };
  return canonicalJson(boundOf(guard)) !== canonicalJson(boundOf(own));
}

/** The first rule of the policy about which the plan says otherwise; null: there is none. */
function otherRule(planned: object, stated: object): string | null {
  const ofPlan = new Map(Object.entries(planned));
  const other = Object.entries(stated).find(
    ([name, value]) => canonicalJson(ofPlan.get(name)) !== canonicalJson(value),
  );
  return other?.[0] ?? null;
}
