/**
 * The only accounts that a payout may pay, each with the one currency that is paid to it: as a text that belongs to what a
 * run is started with, and as a worker reads it. Names of people stay in the operator's file (M6). Pure.
 */
import type { BatchPayment } from './batch.ts';

/** Currencies by account. */
export type Destinations = ReadonlyMap<string, string>;

/** The file has at most this many bytes, with its labels and comments. It is also the most of any text file that we read. */
export const DESTINATIONS_FILE_BYTES = 1024 * 1024;

/** The text of a run's input has at most this many bytes, so that no payload is too large: about 3,000 accounts. */
export const DESTINATION_BYTES = 98_304;

/** The same without the labels. */
export function accountsOf(
  labelled: Iterable<readonly [string, { readonly currency: string }]>,
): Destinations {
  return new Map([...labelled].map(([account, destination]) => [account, destination.currency]));
}

/** One line for each account, in one order, so that the same destinations are always the same text. */
export function destinationsText(destinations: Destinations): string {
  const lines = [...destinations].map(([account, currency]) => `${account}: ${currency}\n`);
  return lines.toSorted((one, other) => (one < other ? -1 : 1)).join('');
}

/** The destinations of such a text; null: it is not one. */
export function readDestinations(text: string): Destinations | null {
  const read = new Map<string, string>();
  for (const line of text.split('\n').slice(0, -1)) {
    const [, account, currency] = /^(\S{1,100}): ([A-Z0-9]{2,12})$/.exec(line) ?? [];
    if (account === undefined || currency === undefined) return null;
    read.set(account, currency);
  }
  return read.size > 0 && destinationsText(read) === text ? read : null;
}

/** Those that are in both with the same currency. @param other null: it forbids nothing */
export function inBoth(destinations: Destinations, other: Destinations | null): Destinations {
  if (other === null) return destinations;
  return new Map([...destinations].filter(([account, currency]) => other.get(account) === currency));
}

/** Why this payment may not be made; null: it may. @param destinations null: any account may be paid */
export function whyNoDestination(
  destinations: Destinations | null,
  [, account, currency]: BatchPayment,
): string | null {
  const taken = destinations === null ? currency : destinations.get(account);
  if (taken === currency) return null;
  return taken === undefined
    ? `Account "${account}" is not among the destinations of the policy.`
    : `Account "${account}" takes ${taken} by the destinations of the policy, not ${currency}.`;
}
