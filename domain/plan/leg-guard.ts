/** The price guard of each leg (M4), and the problems of the rates that it needs. */
import type { Guard, Policy, ReferenceGuard } from '../policy.ts';
import type { Problem } from '../problems.ts';
import type { CompileInput } from './compile-input.ts';
import type { Observation } from './observation.ts';
import type { PlanGuard } from './plan.ts';
import {
  boundFromCost,
  boundFromRate,
  stricter,
  worthOf,
  type Pair,
  type PriceBound,
} from './price-bounds.ts';

/** The rates may have been fixed this much later than the worker's clock says. */
const RATES_AHEAD_MS = 60_000;

/** What the guard of a leg is made from. */
export type GuardInput = Pick<CompileInput, 'policy' | 'referenceRates' | 'decimalsOf'> & {
  readonly observation: Pick<Observation, 'observedAtMs'>;
};

/** The guard of a leg between two currencies; null: any price is taken. */
export function guardOf(input: GuardInput, pair: Pair): PlanGuard | null {
  const { guard } = input.policy;
  if (guard === null) return null;
  const literal = literalGuard(guard, pair);
  if (guard.reference === null)
    return literal ?? unbounded('by a worst rate, which the policy does not give');
  const byReference = referenceGuard(input, guard.reference, pair);
  if (literal === null || byReference.bound === null) return byReference;
  return {
    ...byReference,
    bound: stricter(literal.bound, byReference.bound),
    text: `${literal.text}, and ${byReference.text}`,
  };
}

function literalGuard(
  { worstRates }: Guard,
  pair: Pair,
): (PlanGuard & { readonly bound: PriceBound }) | null {
  const found = worstRates.find(({ sell, buy }) => sell === pair.sell && buy === pair.buy);
  if (found === undefined) return null;
  const { value, currency, per } = found.rate;
  const text = `not worse than ${value} ${currency} per ${per}`;
  return { bound: boundFromRate(found.rate, pair), text, staleAtMs: null, referenceRate: null };
}

function referenceGuard(input: GuardInput, guard: ReferenceGuard, pair: Pair): PlanGuard {
  const { referenceRates, decimalsOf } = input;
  const rates = referenceRates?.rates ?? [];
  const bound = boundFromCost(rates, guard.worstCostBps, pair);
  const worth = worthOf(rates, pair.sell, pair.buy);
  if (referenceRates === null || bound === null || worth === null)
    return unbounded(`against ${guard.file}, which gives no such rate`);
  if (isFromTheFuture(input)) return unbounded(`against ${guard.file}, of which the time is in the future`);
  const currency = costCurrency(input.policy, pair);
  return {
    bound,
    text: `at most ${guard.worstCostBps} bps worse than ${guard.file} of ${referenceRates.asOf}`,
    staleAtMs: Date.parse(referenceRates.asOf) + guard.maxAgeMs,
    referenceRate: { ...worth, currency, decimals: decimalsOf(currency) },
  };
}

/** With this guard, nothing new is traded. */
function unbounded(text: string): PlanGuard {
  return { bound: null, text, staleAtMs: 0, referenceRate: null };
}

/** The currency of the costs. It is the same for all legs, so that costs add up. */
function costCurrency(policy: Policy, { buy }: Pair): string {
  switch (policy.kind) {
    case 'convert':
      return buy;
    case 'rebalance':
      return policy.rebalance.base.currency;
    case 'payout':
      return policy.payout.fund.kind === 'net' ? policy.payout.fund.from : buy;
  }
}

/** Rates from the future are a mistake, and would count as fresh for too long. */
function isFromTheFuture({ referenceRates, observation }: GuardInput): boolean {
  return (
    referenceRates !== null && Date.parse(referenceRates.asOf) > observation.observedAtMs + RATES_AHEAD_MS
  );
}

/**
 * No quote can be compared with rates that are missing, too old or from the future. A rebalancing only leaves out a currency
 * without a rate, as long as another currency has one.
 */
export function guardProblems(input: CompileInput): Problem[] {
  const reference = input.policy.guard?.reference ?? null;
  if (reference === null) return [];
  const { file, maxAgeMs } = reference;
  const asOf = input.referenceRates?.asOf ?? '';
  if (isFromTheFuture(input)) {
    return [
      {
        code: 'PLAN_REFERENCE_FROM_THE_FUTURE',
        item: null,
        message: `The time of reference file "${file}", ${asOf}, is in the future.`,
        fix: 'Correct `as_of` to the moment at which the rates were fixed.',
      },
    ];
  }
  const pairs = pairsOf(input);
  if (pairs.length > 0 && pairs.every((pair) => referenceGuard(input, reference, pair).bound === null))
    return pairs.map(({ sell, buy }) => ({
      code: 'PLAN_REFERENCE_MISSING',
      item: null,
      message: `Reference file "${file}" has no rate between ${sell} and ${buy}.`,
      fix: `Add a line such as "1.0832 ${buy} per ${sell}" to it.`,
    }));
  if (Date.parse(asOf) + maxAgeMs >= input.observation.observedAtMs) return [];
  return [
    {
      code: 'PLAN_REFERENCE_TOO_OLD',
      item: null,
      message: `Reference file "${file}" is of ${asOf}, which is older than \`max_age\` allows.`,
      fix: 'Bring the file up to date.',
    },
  ];
}

/** The pairs that a policy may trade, one for each currency of a rebalancing. */
function pairsOf({ policy, batch }: CompileInput): readonly Pair[] {
  switch (policy.kind) {
    case 'convert':
      return [policy.convert];
    case 'rebalance': {
      const { base, targets } = policy.rebalance;
      return targets.map(({ currency }) => ({ sell: currency, buy: base.currency }));
    }
    case 'payout': {
      const { fund } = policy.payout;
      if (fund.kind === 'none') return [];
      const others = (batch?.payable ?? []).filter(({ currency }) => currency !== fund.from);
      return others.map(({ currency }) => ({ sell: fund.from, buy: currency }));
    }
  }
}
