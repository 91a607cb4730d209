/** Where each currency of a rebalancing stands, and what decided its trades: a table, and a sentence for what is held back. */
import { decimalsOf } from '../../domain/currencies.ts';
import type { Position, Restraint } from '../../domain/plan/plan.ts';
import { isPositive } from '../../domain/money.ts';
import { table } from '../terminal/text.ts';
import { amountText } from './amount-text.ts';

const HEADS = [
  { title: 'CURRENCY' },
  { title: 'BALANCE', right: true },
  { title: 'PROJECTED', right: true },
  { title: 'FROM', right: true },
  { title: 'TO', right: true },
  { title: 'TRADE', right: true },
];

/** One row for each currency, the base first. */
export function positionsTable(positions: readonly Position[], width: number): string {
  return table(
    HEADS,
    positions.map((position) => {
      const { currency, withdrawable, projected, low, high } = position;
      const decimals = decimalsOf(currency, {});
      const bound = (amount: string | null): string => (amount === null ? '-' : amountText(amount, decimals));
      return [
        currency,
        amountText(withdrawable, decimals),
        projected === null ? '?' : amountText(projected, decimals),
        bound(low),
        bound(high),
        tradeText(position, decimals),
      ];
    }),
    width,
  );
}

function tradeText({ wanted, traded }: Position, decimals: number): string {
  return wanted === null || !isPositive(traded) ? '-' : `${wanted.side} ${amountText(traded, decimals)}`;
}

/** Why less is traded than the target asks for, one sentence for each such currency. */
export function restraintLines(positions: readonly Position[]): readonly string[] {
  return positions.flatMap(({ currency, restraint, wanted }) => {
    if (restraint === null) return [];
    const asked =
      wanted === null
        ? ''
        : ` (wanted: ${wanted.side} ${amountText(wanted.value, decimalsOf(currency, {}))})`;
    return [`${currency}: ${REASONS[restraint]}${asked}.`];
  });
}

const REASONS: Readonly<Record<Restraint, string>> = {
  withdrawable: 'more is there, or on its way, than can be sold now; the rest waits for another day',
  base: 'the base keeps its minimum, so that not all of it can be bought',
  per_trade: 'the limit per_trade cuts it; the rest waits for another day',
  per_run: 'the limit per_run cuts it; the rest waits for another day',
  per_day:
    'the limit per_day cuts it, with what other runs of the policy traded on this date; the rest waits for another day',
  min_trade: 'the difference is worth less than min_trade, and stays',
  max_trades: 'larger trades leave it none, or too few, of max_trades; the rest waits for another day',
  never_sell: 'it is in never_sell, so that what is too much stays',
  'pair minimum': 'the service takes no trade as small as this, and the difference stays',
  'pair maximum':
    'the service takes only small trades in it, and one run sends 50 at most; the rest waits for another day',
  'pair not offered': 'the service offers no trade between it and the base',
  'not settled':
    'an earlier trade has a status that is in no list of the service file: until it is known what is on its way, nothing is traded',
  'no rate': 'the reference rates do not value it, so that no price can be held against them',
  'no worst rate': 'no worst_rate of the policy bounds the price of this trade',
};
