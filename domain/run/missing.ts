/** How much money a run waits for, in each currency, as its waits tell it: what a person must bring. Pure. */
import { moneyText } from '../currencies.ts';
import { add, compare, subtract } from '../money.ts';
import { shownFirst, type Waiting } from '../waits.ts';
import type { Held } from './chunk-state.ts';

/** `payments`: how many payments of a batch wait for it; 0: only other items do. `there`: null where no read shows it. */
export type Missing = {
  readonly currency: string;
  readonly needed: string;
  readonly there: string | null;
  readonly payments: number;
};

/**
 * What is missing for these waits. An item of a plan tells what it needs together with all that comes before it, so that the
 * most counts. For a leg that funds a batch, this has what the batch pays in the currency that the leg sells.
 * @param held what payments of a batch wait for
 */
export function missingIn(waits: readonly (Waiting | null)[], held: readonly Held[]): readonly Missing[] {
  const all = new Map<string, Missing>();
  for (const { currency, reason, payments, value, there } of held) {
    if (reason !== 'money') continue;
    const { needed = '0', ...before } = all.get(currency) ?? { there: null, payments: 0 };
    all.set(currency, {
      currency,
      needed: add(needed, value),
      there: before.there ?? there,
      payments: before.payments + payments,
    });
  }
  for (const waiting of waits) {
    if (waiting?.short === undefined) continue;
    const { currency, needed, there } = waiting.short;
    const before = all.get(currency);
    if (before === undefined || compare(needed, before.needed) > 0)
      all.set(currency, { currency, needed, there, payments: before?.payments ?? 0 });
  }
  return [...all.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

/**
 * How much of it is missing; null where that is not known: no read shows how much is there, or as much was there when an item
 * looked last.
 */
export function lackOf({ needed, there }: Pick<Missing, 'needed' | 'there'>): string | null {
  return there === null || compare(there, needed) >= 0 ? null : subtract(needed, there);
}

/** `Short of 69,322.71 GBP (54 payments wait; 69,334.71 GBP are needed, 12.00 GBP are there).` */
function missingText(missing: readonly Missing[]): string {
  const known: string[] = [];
  const unknown: string[] = [];
  for (const one of missing) {
    const { currency, needed, there, payments } = one;
    const waiting = payments === 1 ? '1 payment waits' : `${payments} payments wait`;
    const lack = lackOf(one);
    if (lack === null || there === null) {
      unknown.push(`${waiting} for ${moneyText(needed, currency)}.`);
      continue;
    }
    const who = payments === 0 ? '' : `${waiting}; `;
    known.push(
      `${moneyText(lack, currency)} (${who}${moneyText(needed, currency)} are needed, ${moneyText(there, currency)} are there)`,
    );
  }
  return [...(known.length === 0 ? [] : [`Short of ${known.join(', and of ')}.`]), ...unknown].join(' ');
}

/**
 * The wait of a run or batch, as people should read it first. Where it waits for money, it tells the sums that are missing,
 * not what one item lacks. Null: nothing waits for anything that people should know of.
 */
export function leadingWait(waits: readonly (Waiting | null)[], held: readonly Held[]): Waiting | null {
  const [first] = shownFirst(waits);
  if (first?.reason !== 'money') return first ?? null;
  const missing = missingIn(waits, held);
  if (missing.length === 0) return first;
  const { short: _short, ...wait } = first;
  const currencies = missing.map(({ currency }) => currency).join(' and ');
  const isSeen = missing.some((one) => lackOf(one) !== null);
  return {
    ...wait,
    problem: {
      code: first.problem.code,
      item: null,
      message: missingText(missing),
      fix: isSeen ? `Bring ${currencies} in; the run then goes on by itself.` : first.problem.fix,
    },
  };
}
