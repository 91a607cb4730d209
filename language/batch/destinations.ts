/** Whether a payment of a batch goes to one of the destinations of its policy. */
import type { Destinations } from '../load-destinations.ts';
import { quoted } from '../text/printable.ts';
import type { Complaint } from '../text/yaml-source.ts';

/** What is wrong, and in which cell of the payment. */
export type DestinationComplaint = {
  readonly cell: 'account' | 'currency';
  readonly complaint: () => Complaint;
};

/**
 * Null: the account is a destination and takes the currency, or any account may be paid.
 *
 * @param destinations null: any account may be paid
 * @param payment its currency is null where that could not be read
 */
export function destinationComplaint(
  destinations: Destinations | null,
  { account, currency }: { readonly account: string; readonly currency: string | null },
): DestinationComplaint | null {
  if (destinations === null) return null;
  const destination = destinations.get(account);
  if (destination === undefined)
    return {
      cell: 'account',
      complaint: () => ({
        mistake: 'DESTINATION_UNKNOWN',
        message: `${quoted(account)} is not among the destinations of the policy`,
        fix: 'correct the account, or have it added to the file of destinations',
      }),
    };
  if (currency === null || currency === destination.currency) return null;
  return {
    cell: 'currency',
    complaint: () => ({
      mistake: 'DESTINATION_CURRENCY',
      message: `${quoted(account)} (${quoted(destination.label)}) takes ${destination.currency}, not ${currency}`,
      fix: `pay it in ${destination.currency}, or correct the account`,
    }),
  };
}
