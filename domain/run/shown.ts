/**
 * Compares a record that a poll has shown with the item whose record it is said to be (design: "What a worker believes"). A
 * person who sees a pending activity can answer in its place, and can name the record of another item or of another run. Pure.
 */
import { compare } from '../money.ts';
import { isTradeAsPlanned, isWithdrawalAsPlanned, sidesOf } from '../writes/lookups.ts';
import type { ShownTrade, ShownWithdrawal } from './calls.ts';
import { acceptedOf, type LegRecord, type PaymentRecord, type TradedLeg } from './items.ts';

/** The amounts of the record must be the ones of which the payments are computed. */
export function isTradeAsTold(
  { leg }: Pick<LegRecord, 'leg'>,
  { traded }: Pick<TradedLeg, 'traded'>,
  record: ShownTrade,
): boolean {
  const sides = sidesOf(record);
  return (
    isTradeAsPlanned(leg, record) &&
    compare(sides.sellAmount, traded.sellAmount) === 0 &&
    compare(sides.buyAmount, traded.buyAmount) === 0
  );
}

/** A record without a tag may be the payment's. */
export function isWithdrawalAsTold(
  { payment, amount }: Pick<PaymentRecord, 'payment' | 'amount'>,
  record: ShownWithdrawal,
): boolean {
  return isWithdrawalAsPlanned({ ...payment, amount }, record);
}

/** The payments that count a record as their own, by its id. One record pays one payment. */
export function ownersOf(payments: readonly PaymentRecord[]): ReadonlyMap<string, readonly PaymentRecord[]> {
  const owners = new Map<string, PaymentRecord[]>();
  for (const record of payments) {
    const id = acceptedOf(record)?.withdrawalId;
    if (id !== undefined) owners.set(id, [...(owners.get(id) ?? []), record]);
  }
  return owners;
}
