/** What a batch comes to, as a table: one line for each currency. */
import { decimalsOf } from '../../domain/currencies.ts';
import type { CurrencyTotal } from '../../language/batch/totals.ts';
import { table } from '../terminal/text.ts';
import { amountText } from './amount-text.ts';

/** @param decimals those of the service file */
export function batchTable(
  currencies: readonly CurrencyTotal[],
  decimals: Readonly<Record<string, number>>,
  width: number,
): string {
  return table(
    [
      { title: 'CURRENCY' },
      { title: 'PAYMENTS', right: true },
      { title: 'SUM', right: true },
      { title: 'LARGEST', right: true },
    ],
    currencies.map(({ currency, payments, sum, largest }) => {
      const digits = decimalsOf(currency, decimals);
      return [currency, `${payments}`, amountText(sum, digits), amountText(largest, digits)];
    }),
    width,
  );
}
