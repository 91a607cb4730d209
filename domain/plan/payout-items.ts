/**
 * The legs that fund a batch. For each currency, one leg buys what is missing against the projected balance. It is split
 * only where the service takes no trade as large. This is a rebalancing: each currency goes up to the amount that the batch
 * pays in it. With `shortfall: hold` all of that is planned, and its legs wait for the money (`domain/writes/trade.ts`).
 */
import type { Money, PayoutFund, RebalancePolicy } from '../policy.ts';
import type { CompileInput } from './compile-input.ts';
import { legsOfRebalance, type RebalanceItems } from './rebalance-items.ts';

export function legsOfPayout(input: CompileInput, fund: PayoutFund, found: boolean): RebalanceItems {
  const paid = input.batch?.payable ?? [];
  switch (fund.kind) {
    case 'none':
      return { legs: [], positions: [] };
    case 'net': {
      return legsOfRebalance(input, fundingOf(fund.from, paid), {
        found,
        waitsForBase: input.policy.rules.shortfall === 'hold',
      });
    }
  }
}

/** The rebalancing that brings each currency up to what a batch pays in it. */
export function fundingOf(from: string, paid: readonly Money[]): RebalancePolicy['rebalance'] {
  const own = paid.find(({ currency }) => currency === from);
  return {
    // The batch's payments in the funding currency itself need no purchase.
    base: { currency: from, min: own?.value ?? null },
    targets: paid
      .filter(({ currency }) => currency !== from)
      .map(({ currency, value }) => ({ currency, goal: { kind: 'range', min: value, max: null } })),
    neverSell: [],
    minTrade: null,
    maxTrades: null,
  };
}
