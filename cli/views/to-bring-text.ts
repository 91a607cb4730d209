/**
 * The money that a person must bring before a start or a reset tries payments again: no trade of the plan brings it, since a
 * plan is made once. Pure.
 */
import { sumsOf } from '../../domain/plan/amounts.ts';
import type { Money } from '../../domain/policy.ts';
import { isTriedAgain, type NextOfItem } from '../../domain/run/next-start.ts';
import { count } from '../terminal/text.ts';
import { money } from './amount-text.ts';

type Unfunded = { readonly payments: number; readonly sums: readonly Money[] };

/** Nothing where no payment that is tried again lacks money. */
export function toBringLines(next: readonly NextOfItem[]): readonly string[] {
  const { leftOut, missing } = toBring(next);
  return [
    ...(leftOut.payments === 0
      ? []
      : [
          `First bring in up to ${sumsText(leftOut)}, as far as it is missing: the plan left out ${count(leftOut.payments, 'payment')}, and its trades buy no money for those that you have mended since.`,
        ]),
    ...(missing.payments === 0
      ? []
      : [
          `First bring in what is missing of ${sumsText(missing)}: money was missing for ${count(missing.payments, 'payment')}, and no trade of the plan buys more.`,
        ]),
  ];
}

/** The same for `--json`. */
export function toBring(next: readonly NextOfItem[]): {
  readonly leftOut: Unfunded;
  readonly missing: Unfunded;
} {
  return { leftOut: sumUp(next, 'left out'), missing: sumUp(next, 'money missing') };
}

function sumUp(next: readonly NextOfItem[], why: 'left out' | 'money missing'): Unfunded {
  const payments = next
    .filter(isTriedAgain)
    .flatMap((one) => (one.kind === 'payment' && one.unfunded === why ? [one.item] : []));
  const sums = sumsOf(
    payments.flatMap(({ currency, amount }) => (amount === null ? [] : [{ currency, value: amount }])),
  ).toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
  return { payments: payments.length, sums };
}

function sumsText({ sums }: Unfunded): string {
  return sums.map(({ value, currency }) => money(value, currency)).join(', ');
}
