/**
 * Legs that fund a batch: what such a leg must leave of the money that it sells while it waits for money
 * (`shortfall: hold`), when its batch does not want it any more, and what its settlement must bring. Pure.
 */
import { compare, notNegative, subtract, sum } from '../money.ts';
import { isFromBalances, type Leg, type Plan } from '../plan/plan.ts';
import { mostSold } from '../plan/reserved.ts';
import type { Problem } from '../problems.ts';
import type { Funding } from '../writes/step.ts';
import { owedIn } from './chunk-state.ts';
import { tradeOf, type LegRecord } from './items.ts';
import type { RunState } from './state.ts';

/** What a leg must leave and bring; null: the leg funds no batch, or does not wait for money. */
export function fundingOf(
  state: Pick<RunState, 'plan' | 'legs' | 'chunks'>,
  record: LegRecord,
): Funding | null {
  const { plan, legs } = state;
  const { leg } = record;
  if (plan === null || plan.batch === null || plan.rules.shortfall !== 'hold' || !isFromBalances(leg))
    return null;
  const before = legs
    .slice(0, legs.indexOf(record))
    // A leg that waits for a person takes no money from the legs behind it.
    .filter((other) => other.stage.kind === 'converting' && !other.stage.needsHuman)
    .map((other) => other.leg);
  return {
    ahead: sum([owedIn(state, leg.sell), ...before.flatMap((other) => mostSold(other) ?? [])]),
    owed: owedIn(state, leg.buy),
    wasThere: wasThere(plan, leg),
  };
}

/**
 * How much the batch can still pay in a currency with what was there or on its way when it was planned, and
 * with what its trades have bought. The wait for the settlement of these trades goes by this, so that it does
 * not wait for money that nothing brings.
 */
export function fundedIn(state: Pick<RunState, 'plan' | 'legs' | 'chunks'>, currency: string): string {
  const { plan, legs } = state;
  const owed = owedIn(state, currency);
  const payable = plan?.batch?.payable.find((one) => one.currency === currency)?.value ?? '0';
  const projected = plan?.positions.find((one) => one.currency === currency)?.projected ?? null;
  if (projected === null) return owed;
  const bought = legs.flatMap((record) => {
    const isBuying =
      record.leg.buy === currency && record.stage.kind === 'traded' && record.stage.settled !== false;
    return isBuying ? (tradeOf(record)?.buyAmount ?? []) : [];
  });
  const lacking = notNegative(subtract(payable, sum([projected, ...bought])));
  return notNegative(subtract(owed, lacking));
}

/** Whether the base currency had enough for the leg, and for all legs before it, when the plan was made. */
function wasThere({ positions, legs }: Plan, leg: Leg): boolean {
  const base = positions.find(({ currency }) => currency === leg.sell);
  if (base === undefined) return false;
  const upToIt = legs.slice(0, legs.findIndex(({ id }) => id === leg.id) + 1);
  const cost = sum(upToIt.flatMap((one) => mostSold(one) ?? []));
  return compare(cost, subtract(base.withdrawable, base.low ?? '0')) <= 0;
}

/** Why a batch that was stopped buys nothing more: what it would buy is not paid. Null: the batch goes on. */
export function withoutItsBatch({ stopped }: Pick<RunState, 'stopped'>, { leg }: LegRecord): Problem | null {
  return stopped === null ? null : { ...stopped, item: leg.id };
}
