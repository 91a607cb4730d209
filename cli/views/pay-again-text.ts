/** Payments that are to be paid again, as a person sees them before saying yes: how many, what they come to, and the first. */
import { add } from '../../domain/money.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import { money } from './amount-text.ts';

/** So many are shown. */
const SHOWN = 50;

type PaidAgain = {
  readonly payment: Pick<ReportPayment, 'account' | 'currency' | 'amount'>;
  /** Its name in the new generation. */
  readonly reference: string;
};

/** Lines: what it comes to, and below it the payments; of one alone just that one. */
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
