/**
 * Payments that a person wants to pay again, as the person sees them before saying yes: how many, their sums, and the first
 * ones.
 */
import { add } from '../../domain/money.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import { money } from './amount-text.ts';

/** At most this many are shown. */
const SHOWN = 50;

type PaidAgain = {
  readonly payment: Pick<ReportPayment, 'account' | 'currency' | 'amount'>;
  /** The payment's reference in the new generation. */
  readonly reference: string;
};

/** The number and the sums, and below them the payments; when there is one payment, only that one. */
export function payAgainLines(list: readonly PaidAgain[]): readonly [string, ...string[]] {
  const [first] = list;
  if (first !== undefined && list.length === 1) return [lineOf(first)];
  const sums = new Map<string, string>();
  for (const { payment } of list)
    sums.set(payment.currency, add(sums.get(payment.currency) ?? '0', payment.amount ?? '0'));
  const totals = [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const shown = list.slice(0, SHOWN).map((one) => `  ${lineOf(one)}`);
  const more = list.length - SHOWN;
  return [
    `${list.length} payments, ${totals.map(([currency, value]) => money(value, currency)).join(', ')}`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function lineOf({ payment: { amount, currency, account }, reference }: PaidAgain): string {
  return `${money(amount, currency)} to ${account}, as ${reference}`;
}
