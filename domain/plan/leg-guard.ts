/** The price guard of each leg (M4), and what stands against the rates that it needs. */
import type { Guard, Policy } from '../policy.ts';
import type { Problem } from '../problems.ts';
import type { CompileInput } from './compile-input.ts';
import type { PlanGuard } from './plan.ts';
import { boundFromCost, boundFromRate, type Pair } from './price-bounds.ts';

/** How much later than the worker's clock the rates may have been fixed. */
const RATES_AHEAD_MS = 60_000;

/** The guard of a leg between two currencies; null: any price is taken. */
export function guardOf(input: CompileInput, pair: Pair): PlanGuard | null {
  const { guard } = input.policy;
  if (guard === null) return null;
  switch (guard.kind) {
    case 'worst-rate': {
      const text = `not worse than ${guard.rate.value} ${guard.rate.currency} per ${guard.rate.per}`;
      return { bound: boundFromRate(guard.rate, pair), text, staleAtMs: null };
    }
    case 'reference':
      return referenceGuard(input, guard, pair);
  }
}

function referenceGuard(
  input: CompileInput,
  guard: Extract<Guard, { kind: 'reference' }>,
  pair: Pair,
): PlanGuard {
  const { referenceRates } = input;
  const bound = referenceRates && boundFromCost(referenceRates.rates, guard.worstCostBps, pair);
  if (referenceRates === null || bound === null)
    return { bound: null, text: `against ${guard.file}, which gives no such rate`, staleAtMs: 0 };
  if (isFromTheFuture(input))
    return { bound: null, text: `against ${guard.file}, which is of a time to come`, staleAtMs: 0 };
  const text = `at most ${guard.worstCostBps} bps worse than ${guard.file} of ${referenceRates.asOf}`;
  return { bound, text, staleAtMs: Date.parse(referenceRates.asOf) + guard.maxAgeMs };
}

/** Rates of a time to come are a mistake, and would count as fresh for too long. */
function isFromTheFuture({ referenceRates, observation }: CompileInput): boolean {
  return (
    referenceRates !== null && Date.parse(referenceRates.asOf) > observation.observedAtMs + RATES_AHEAD_MS
  );
}

/** No quote can be held against rates that are missing, too old or from the future. */
export function guardProblems(input: CompileInput): Problem[] {
  const { guard } = input.policy;
  if (guard?.kind !== 'reference') return [];
  const guards = pairsOf(input.policy).map((pair) => ({ pair, guard: guardOf(input, pair) }));
  const asOf = input.referenceRates?.asOf ?? '';
  if (isFromTheFuture(input)) {
    return [
      {
        code: 'PLAN_REFERENCE_FROM_THE_FUTURE',
        item: null,
        message: `Reference file "${guard.file}" is of ${asOf}, a time to come.`,
        fix: 'Correct `as_of` to the moment at which the rates were fixed, then run again.',
      },
    ];
  }
  const missing = guards.filter((one) => one.guard?.bound === null);
  if (missing.length > 0)
    return missing.map(({ pair: { sell, buy } }) => ({
      code: 'PLAN_REFERENCE_MISSING',
      item: null,
      message: `Reference file "${guard.file}" gives no rate between ${sell} and ${buy}.`,
      fix: `Add a line such as "1.0832 ${buy} per ${sell}" to it.`,
    }));
  const isStale = guards.some((one) => (one.guard?.staleAtMs ?? Infinity) < input.observation.observedAtMs);
  if (!isStale) return [];
  return [
    {
      code: 'PLAN_REFERENCE_TOO_OLD',
      item: null,
      message: `Reference file "${guard.file}" is of ${asOf}: older than max_age allows.`,
      fix: 'Bring the file up to date, then run again.',
    },
  ];
}

/** The pairs that a policy may trade, one for each currency of a rebalancing. */
function pairsOf(policy: Policy): readonly Pair[] {
  switch (policy.kind) {
    case 'convert':
      return [policy.convert];
    case 'rebalance': {
      const { base, targets } = policy.rebalance;
      return targets.map(({ currency }) => ({ sell: currency, buy: base.currency }));
    }
  }
}
