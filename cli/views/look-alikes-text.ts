/** Withdrawals that look like payments of a batch, as lines for people. Pure. */
import type { LookAlike, SeenLookAlikes } from '../../operations/batches/look-alikes.ts';
import { count } from '../terminal/text.ts';
import { money } from './amount-text.ts';

/** The lines that a person sees. */
export function textOf(seen: SeenLookAlikes): readonly string[] {
  const more = seen.records - seen.first.length;
  return [
    headOf(seen),
    ...seen.first.map((one) => `  ${lineOf(one)}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}

export function headOf({ records, payments, sums }: SeenLookAlikes): string {
  const total = sums.map(({ currency, value }) => money(value, currency)).join(', ');
  const are = records === 1 ? 'withdrawal looks' : 'withdrawals look';
  return `${records} ${are} like ${count(payments, 'payment')} of this batch, and no run of Cambist has made ${records === 1 ? 'it' : 'them'}: ${total}.`;
}

export function lineOf({ record, item, others }: LookAlike): string {
  const { id, createdAt, currency, withdrawalAmount, withdrawalAccountId } = record;
  const account = withdrawalAccountId ?? 'an account that is not shown';
  const more = others > 0 ? ` and ${others} more` : '';
  return `${id} of ${createdAt.slice(0, 10)}: ${money(withdrawalAmount, currency)} to ${account}, like ${item}${more}`;
}
