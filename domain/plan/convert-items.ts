/** The leg and the payments of a convert policy. */
import { isPositive, round, subtract } from '../money.ts';
import type { ConvertPolicy } from '../policy.ts';
import type { Trade } from '../service/records.ts';
import { generationOf, reference } from '../references.ts';
import { legIdOf } from './amounts.ts';
import type { CompileInput } from './compile-input.ts';
import { holdingOf } from './holding.ts';
import { guardOf } from './leg-guard.ts';
import type { Leg, LegAmount, LegNotNeeded, LegReason, Payment } from './plan.ts';

/** The leg of a convert policy; none when there is nothing to sell. */
export function legsOfConvert(
  input: CompileInput<ConvertPolicy>,
  found: boolean,
): { readonly legs: readonly Leg[]; readonly notNeeded: readonly LegNotNeeded[] } {
  const { sell, buy, amount } = input.policy.convert;
  const id = legIdOf(input.policy.convert);
  const leg = {
    id,
    reference: reference(input.run, id),
    sell,
    buy,
    guard: guardOf(input, { sell, buy }),
    needsFromSales: '0',
  };
  const one = (planned: LegAmount | null, why: LegReason) => ({
    legs: [{ ...leg, amount: planned, why }],
    notNeeded: [],
  });
  switch (amount.kind) {
    case 'sell':
    case 'buy':
      return one({ side: amount.kind, value: amount.value, fixed: true }, { kind: 'fixed' });
    case 'sell-all': {
      // An amount from live balances is never computed twice: when a record is found, the record's amount counts.
      const record = input.observation.trades.find(
        (trade) => generationOf(leg.reference, trade.clientReferenceId ?? '') === 1,
      );
      if (record !== undefined) return one(amountOfTrade(record), { kind: 'found' });
      if (found) return one(null, { kind: 'forgotten' });
      const { withdrawable: available } = holdingOf(input.observation, sell);
      const { keep } = amount;
      const value = round(subtract(available, keep), input.decimalsOf(sell), 'down');
      if (!isPositive(value)) return { legs: [], notNeeded: [{ id, sell, buy, available, keep }] };
      return one({ side: 'sell', value, fixed: false }, { kind: 'all above', available, keep });
    }
  }
}

export function amountOfTrade(trade: Trade): LegAmount | null {
  if (trade.sellAmount !== null) return { side: 'sell', value: trade.sellAmount, fixed: false };
  if (trade.buyAmount !== null) return { side: 'buy', value: trade.buyAmount, fixed: false };
  return null;
}

/**
 * Every payment of the policy is in the plan, also when there is no leg (M3). Then only payments that pay the proceeds, or a
 * part of them, are left out.
 */
export function paymentsOfConvert(
  input: Pick<CompileInput<ConvertPolicy>, 'policy' | 'run' | 'decimalsOf'>,
  hasLeg: boolean,
): Payment[] {
  const leg = legIdOf(input.policy.convert);
  const currency = input.policy.convert.buy;
  return input.policy.withdraw.flatMap((spec): Payment[] => {
    const payment = {
      id: spec.id,
      reference: reference(input.run, spec.id),
      account: spec.account,
      currency,
      dependsOn: leg,
    };
    switch (spec.amount.kind) {
      case 'fixed':
        return [{ ...payment, amount: spec.amount }];
      case 'proceeds':
      case 'rest':
        if (!hasLeg) return [];
        return [{ ...payment, amount: { ...spec.amount, leg, decimals: input.decimalsOf(currency) } }];
    }
  });
}
