/**
 * The legs that fund a batch: what is missing of each currency against projected balances is bought with one of them, split
 * only where the service takes no trade as large. It is a rebalancing: each currency up to what the batch pays in it. With
 * `shortfall: hold` all of that is planned, and its legs wait for the money (`domain/writes/trade.ts`).
 */
import type { PayoutFund, RebalancePolicy } from '../policy.ts';
import type { CompileInput } from './compile-input.ts';
import { legsOfRebalance, type RebalanceItems } from './rebalance-items.ts';

export function legsOfPayout(input: CompileInput, fund: PayoutFund, found: boolean): RebalanceItems {
  const paid = input.batch?.payable ?? [];
  switch (fund.kind) {
    case 'none':
      return { legs: [], positions: [] };
    case 'net': {
      const own = paid.find(({ currency }) => currency === fund.from);
      const rebalance: RebalancePolicy['rebalance'] = {
        // What the batch pays in the funding currency itself needs no purchase.
        base: { currency: fund.from, min: own?.value ?? null },
        targets: paid
          .filter(({ currency }) => currency !== fund.from)
          .map(({ currency, value }) => ({ currency, goal: { kind: 'range', min: value, max: null } })),
        neverSell: [],
        minTrade: null,
        maxTrades: null,
      };
      return legsOfRebalance(input, rebalance, { found, waitsForBase: input.policy.shortfall === 'hold' });
    }
  }
}
