/** The sums of a batch in each currency, and the control totals that they should equal. Exact decimals (M5). */
import { moneyText, type Decimals } from '../../domain/currencies.ts';
import { add, compare, equal } from '../../domain/money.ts';
import type { Money } from '../../domain/policy.ts';
import type { Complaint } from '../text/yaml-source.ts';

/** What is paid in one currency. */
export type CurrencyTotal = {
  readonly currency: string;
  readonly payments: number;
  readonly sum: string;
  /** The largest single amount. */
  readonly largest: string;
};

/** Control totals; null where no number is given. Each currency at most once. */
export type ControlTotals = { readonly count: number | null; readonly sums: readonly Money[] };

export class Totals {
  /** Rows of the file, those with mistakes included. */
  rows = 0;
  /** False once a row could not be counted: it had no amount or currency, or was not read at all. */
  isWhole = true;
  readonly #byCurrency = new Map<string, CurrencyTotal>();

  /** Counts one payment. Returns the total of its currency, with this payment. */
  count({ currency, value }: Money): CurrencyTotal {
    const before = this.#byCurrency.get(currency);
    const total = {
      currency,
      payments: (before?.payments ?? 0) + 1,
      sum: add(before?.sum ?? '0', value),
      largest: before !== undefined && compare(before.largest, value) >= 0 ? before.largest : value,
    };
    this.#byCurrency.set(currency, total);
    return total;
  }

  /** By currency, in alphabetical order. */
  get currencies(): readonly CurrencyTotal[] {
    return [...this.#byCurrency.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
  }
}

/**
 * Every difference between the batch and its control totals. Sums are compared only if every row could be counted. Then the
 * control totals must have every currency of the batch.
 */
export function againstExpected(
  totals: Totals,
  { count, sums }: ControlTotals,
  decimals: Decimals,
): readonly Complaint[] {
  const complaints: Complaint[] = [];
  if (count !== null && count !== totals.rows) {
    complaints.push({
      mistake: 'CONTROL_COUNT',
      message: `${count} payments are expected, the file has ${totals.rows}`,
      fix: 'find out which rows are missing or too many, or correct the expected count',
    });
  }
  if (sums.length === 0 || !totals.isWhole) return complaints;
  const found = new Map(totals.currencies.map(({ currency, sum }) => [currency, sum]));
  for (const { currency, value } of sums) {
    const sum = found.get(currency) ?? '0';
    found.delete(currency);
    if (equal(sum, value)) continue;
    const told = (amount: string): string => moneyText(amount, currency, decimals);
    complaints.push({
      mistake: 'CONTROL_TOTAL',
      message: `${told(value)} are expected, the file pays ${told(sum)}`,
      fix: 'find out which amounts differ, or correct the expected total',
    });
  }
  for (const [currency, sum] of found)
    complaints.push({
      mistake: 'CONTROL_TOTAL',
      message: `the file also pays ${moneyText(sum, currency, decimals)}, for which no total is expected`,
      fix: 'find out whose payments these are, or state their total too',
    });
  return complaints;
}
