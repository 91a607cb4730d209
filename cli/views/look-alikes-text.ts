/** Withdrawals that look like payments of a run, as lines for people. Pure. */
import {
  beforeHead,
  beforeLine,
  type LookAlike,
  type SeenLookAlikes,
  type SeenMadeBefore,
} from '../../operations/batches/look-alikes.ts';
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
  const { id, createdAt, status, currency, withdrawalAmount, withdrawalAccountId } = record;
  const account = withdrawalAccountId ?? 'an account that is not shown';
  const more = others > 0 ? ` and ${others} more` : '';
  return `${id} of ${createdAt.slice(0, 10)}, ${status}: ${money(withdrawalAmount, currency)} to ${account}, like ${item}${more}`;
}

/** The lines about payments that other runs of ours have made under other names. */
export function beforeText(seen: SeenMadeBefore): readonly string[] {
  const more = seen.payments - seen.first.length;
  return [
    beforeHead(seen),
    ...seen.first.map((one) => `  ${beforeLine(one)}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}
