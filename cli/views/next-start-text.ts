/**
 * What `--go-on` tries again in a batch, as a person sees it before the start: the sums, the first payments, and why they
 * were not paid before.
 */
import type { ReportPayment } from '../../domain/run/report.ts';
import { sumsOf } from '../../domain/plan/amounts.ts';
import type { Money } from '../../domain/policy.ts';
import { isTriedAgain, type Next, type NextOfItem } from '../../domain/run/next-start.ts';
import { count } from '../terminal/text.ts';
import { money } from './amount-text.ts';
import { toBring, toBringLines } from './to-bring-text.ts';

/** At most this many are shown. */
const SHOWN = 50;

export function triedAgainLines(next: readonly NextOfItem[]): readonly string[] {
  const { tried, onlyPaidAgain, waitForPerson } = paymentsOf(next);
  const more = tried.length - SHOWN;
  return [
    tried.length === 0
      ? 'No payment is tried again.'
      : `Tries again, each under its own key first: ${count(tried.length, 'payment')}, ${sums(tried)
          .map(({ value, currency }) => money(value, currency))
          .join(', ')}.`,
    ...toBringLines(next),
    ...tried.slice(0, SHOWN).map((payment) => `  ${lineOf(payment)}`),
    ...(more > 0 ? [`  and ${more} more; --json has them all`] : []),
    ...(onlyPaidAgain === 0
      ? []
      : [
          `Only --pay-again pays these again, since they failed later, their send window is over, or a person has said that they were not sent: ${count(onlyPaidAgain, 'payment')}.`,
        ]),
    ...(waitForPerson === 0 ? [] : [`For these a person must decide: ${count(waitForPerson, 'payment')}.`]),
  ];
}

/** The same for `--json`, as one line on stderr. */
export function triedAgainDocument(next: readonly NextOfItem[]) {
  const { tried, onlyPaidAgain, waitForPerson } = paymentsOf(next);
  const payments = tried.map(({ id, account, currency, amount, outcome, reason }) => {
    return { id, account, currency, amount, outcome, reason };
  });
  return {
    triesAgain: { totals: sums(tried), toBring: toBring(next), payments, onlyPaidAgain, waitForPerson },
  };
}

/** The payments, by what the start does with them. */
function paymentsOf(next: readonly NextOfItem[]) {
  const payments = next.flatMap((one) => (one.kind === 'payment' ? [one] : []));
  const countOf = (what: Next): number => payments.filter((one) => one.next === what).length;
  return {
    tried: payments.filter(isTriedAgain).map(({ item }) => item),
    onlyPaidAgain: countOf('left to --pay-again'),
    waitForPerson: countOf('left to a person'),
  };
}

function sums(tried: readonly ReportPayment[]): readonly Money[] {
  return sumsOf(
    tried.flatMap(({ currency, amount }) => (amount === null ? [] : [{ currency, value: amount }])),
  ).toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
}

function lineOf({ id, account, currency, amount, reason }: ReportPayment): string {
  const what = amount === null ? currency : money(amount, currency);
  return `${id}: ${what} to ${account}. ${reason ?? 'It was not sent yet.'}`;
}
