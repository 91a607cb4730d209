/**
 * Amounts that earlier trades have not yet brought or taken. So a currency that was bought yesterday and settles tomorrow is
 * not bought again. Pure.
 */
import { add } from '../money.ts';
import type { ServiceFacts } from '../service/facts.ts';
import { isKnown } from '../service/facts.ts';
import type { Trade } from '../service/records.ts';

/** What unsettled trades will bring and take in one currency. */
export type OnTheWay = {
  readonly currency: string;
  readonly comes: string;
  readonly goes: string;
  /** False: not known, since a trade has a status that is in no list of the service file. */
  readonly isTold: boolean;
};

/**
 * Sums over the trades that have not settled. A trade that gets no settled status counts until `settledBy` (epoch
 * milliseconds), the end of its settlement window and two business days.
 */
export function onTheWay(
  trades: readonly Trade[],
  facts: Pick<ServiceFacts, 'tradeStatuses' | 'saleLeavesWithdrawable'>,
  nowMs: number,
  settledBy: (trade: Trade) => number,
): readonly OnTheWay[] {
  const sums = new Map<string, OnTheWay>();
  const note = (currency: string, change: Partial<OnTheWay>): void => {
    const known = sums.get(currency) ?? { currency, comes: '0', goes: '0', isTold: true };
    sums.set(currency, {
      currency,
      comes: add(known.comes, change.comes ?? '0'),
      goes: add(known.goes, change.goes ?? '0'),
      isTold: known.isTold && change.isTold !== false,
    });
  };
  for (const trade of trades) {
    const { status, sellAmount, buyAmount, executedAmount } = trade;
    const { settled, failed } = facts.tradeStatuses;
    if (settled.includes(status) || failed.includes(status) || nowMs > settledBy(trade)) continue;
    const isTold = isKnown(facts.tradeStatuses, status);
    note(trade.buyCurrency, { comes: buyAmount ?? executedAmount, isTold });
    if (facts.saleLeavesWithdrawable === 'at_settlement')
      note(trade.sellCurrency, { goes: sellAmount ?? executedAmount, isTold });
  }
  return [...sums.values()];
}
