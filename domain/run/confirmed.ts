/**
 * An earlier history hands on, for each item, the id of its record at the service. This file says which of these records
 * count for their items now. Pure.
 */
import { generationOf, reference } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';
import type { Trade, Withdrawal } from '../service/records.ts';
import { tradedOf } from '../writes/leg-state.ts';
import { isTradeAsPlanned, isWithdrawalAsPlanned } from '../writes/lookups.ts';
import { acceptedAs } from '../writes/withdrawal.ts';
import type { ConfirmCall, Confirmed } from './calls.ts';

/**
 * A record counts only if it is as planned for its item: under its name or none, of its currencies, account and amount. All
 * else about it is what the service says; only where a record shows no tag, its generation is the one that was handed on.
 * @param records what the service shows, by the ids of the records
 */
export function confirmedBy(
  { plan, legs, payments }: ConfirmCall,
  records: {
    readonly trades: ReadonlyMap<string, Trade>;
    readonly withdrawals: ReadonlyMap<string, Withdrawal>;
  },
  statuses: ServiceFacts['withdrawalStatuses'],
): Confirmed {
  return {
    kind: 'shown',
    trades: legs.flatMap(({ leg, tradeId }) => {
      const trade = records.trades.get(tradeId);
      return trade !== undefined && isTradeAsPlanned(leg, trade) ? [tradedOf(trade, null)] : [];
    }),
    withdrawals: payments.flatMap(({ withdrawalId, reference: handedOn = '', ...payment }) => {
      const record = records.withdrawals.get(withdrawalId);
      const name = reference(plan.run, payment.id);
      const isIts = record !== undefined && isWithdrawalAsPlanned({ ...payment, reference: name }, record);
      if (!isIts) return [];
      const accepted = acceptedAs(record, generationOf(name, handedOn) === null ? name : handedOn);
      return [
        {
          ...accepted,
          reference: accepted.reference === name ? null : accepted.reference,
          isPaid: statuses.paid.includes(record.status),
          ...(statuses.failed.includes(record.status) && { hasFailed: true }),
        },
      ];
    }),
  };
}
