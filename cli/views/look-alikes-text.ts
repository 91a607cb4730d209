/** Withdrawals that look like payments of a run, as lines for people. Pure. */
import type { MadeBefore } from '../../domain/run/made-before.ts';
import type { LookAlike, SeenLookAlikes, SeenMadeBefore } from '../../operations/batches/look-alikes.ts';
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

export function beforeHead({ payments, sums, near }: SeenMadeBefore): string {
  const total = sums.map(({ currency, value }) => money(value, currency)).join(', ');
  const are = payments === 1 ? 'payment of this run was' : 'payments of this run were';
  const named = near === 0 ? '' : ` ${near} of them under almost the same name.`;
  return `${payments} ${are} made before by other runs, under other names: ${total}.${named}`;
}

export function beforeLine({ payment, made, others }: MadeBefore): string {
  const [id, account, currency, amount] = payment;
  const { record, run, item } = made;
  const more = others > 0 ? `, and ${others} more` : '';
  return `${id}: ${money(amount, currency)} to ${account}; ${item} of ${run} on ${record.createdAt.slice(0, 10)} (${record.id})${more}`;
}
