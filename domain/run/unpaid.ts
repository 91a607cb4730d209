/** Which payments a run still has to make, by the records of the list. Pure. */
import { equal } from '../money.ts';
import { generationOf, reference, type RunName } from '../references.ts';
import type { Withdrawal } from '../service/records.ts';
import type { SettlementCall } from './calls.ts';

type Unpaid = SettlementCall['unpaid'];

/**
 * The payments for which no record is found. Each record counts for one payment, so that of two equal
 * payments one record pays only one.
 */
export function notPaidBy(records: readonly Withdrawal[], { plan, unpaid }: SettlementCall): Unpaid {
  const left = [...records];
  return unpaid.filter((payment) => {
    const index = left.findIndex((record) => mayBe(plan.run, payment, record));
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

/** Whether a record may be of this payment: by its tag or, without one, by account and amount. */
function mayBe(run: RunName, payment: Unpaid[number], record: Withdrawal): boolean {
  if (record.tag !== null) return generationOf(reference(run, payment.id), record.tag) !== null;
  const sameAccount = record.withdrawalAccountId === null || record.withdrawalAccountId === payment.account;
  return sameAccount && equal(record.withdrawalAmount, payment.amount);
}
