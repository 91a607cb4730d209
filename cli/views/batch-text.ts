/** The sums of a batch, and how it stands, as tables with one line for each currency; and the corrections of its file. */
import { amountText, decimalsOf } from '../../domain/currencies.ts';
import type { BatchStanding } from '../../domain/run/progress.ts';
import type { Correction } from '../../language/batch/corrections.ts';
import type { CurrencyTotal } from '../../language/batch/totals.ts';
import { quoted } from '../../language/text/printable.ts';
import { table } from '../terminal/text.ts';

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

/** More corrections than a person reads. */
const MOST_CORRECTIONS = 1_000;

/** Each correction of a batch file, with its row in a spreadsheet and its payment. */
export function correctionsTable(corrections: readonly Correction[], width: number): string {
  const shown = corrections.slice(0, MOST_CORRECTIONS);
  const listed = table(
    [
      { title: 'ROW', right: true },
      { title: 'PAYMENT' },
      { title: 'COLUMN' },
      { title: 'WAS' },
      { title: 'NOW' },
    ],
    shown.map(({ row, payment, column, was, now }) => [
      `${row}`,
      payment ?? '',
      column ?? 'row',
      quoted(was),
      quoted(now),
    ]),
    width,
  );
  const more = corrections.length - shown.length;
  return more === 0 ? listed : `${listed}\n… and ${more} more; --json lists them.`;
}

/**
 * How many payments, and how much of each currency, are in each state. While payments are still to be looked up, it has
 * their number too: the others say less than what is done.
 */
export function standingTable({ counts, totals, unseen }: BatchStanding, width: number): string {
  const { planned, accepted, paid, notPaid, needsHuman } = counts;
  const isLooking = unseen > 0;
  return table(
    [
      { title: '' },
      { title: 'PLANNED', right: true },
      { title: 'ACCEPTED', right: true },
      { title: 'PAID', right: true },
      { title: 'NOT PAID', right: true },
      { title: 'NEEDS A PERSON', right: true },
      ...(isLooking ? [{ title: 'LOOKING', right: true }] : []),
    ],
    [
      [
        'payments',
        ...[planned, accepted, paid, notPaid, needsHuman, ...(isLooking ? [unseen] : [])].map(String),
      ],
      ...totals.map((total) => {
        const digits = decimalsOf(total.currency, {});
        const sums = [total.planned, total.accepted, total.paid, total.notPaid, total.needsHuman];
        return [total.currency, ...sums.map((sum) => amountText(sum, digits)), ...(isLooking ? [''] : [])];
      }),
    ],
    width,
  );
}
