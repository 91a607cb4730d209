/**
 * The amounts that open runs of ours have planned and the service has not yet taken. No other run plans with this money.
 * Pure.
 */
import { add, compare, isDecimal, isPositive, multiply, notNegative, quotient, subtract } from '../money.ts';
import type { RunName } from '../references.ts';
import { isFlag, isMoment, lineOf, listOf, misshapen, orNull, recordOf, type Field } from '../shape.ts';
import type { Leg } from './plan.ts';

/** What a run will still do in one currency; or the sums for several runs. */
export type Reserved = {
  readonly currency: string;
  /**
   * The amount that no other run may spend: what the run sells and pays, less what it buys for that. Never negative. When
   * the amount is not known exactly, nothing is subtracted: the balances may already contain what the run buys.
   */
  readonly takes: string;
  /** How the balance will have changed; negative when it will be lower. */
  readonly changes: string;
  /** False: the amount is not known, so no run plans with the currency. */
  readonly isTold: boolean;
  /** Since when an item of the run waits because of which it is not known, epoch milliseconds; absent: none waits. */
  readonly untoldSinceMs?: number;
  /**
   * The part of `takes` for legs that wait for money which was not there. No run plans with this part. But another run that
   * also waits for money does not wait for this part too. Absent: nothing.
   */
  readonly short?: string;
};

/** A leg that a run may still trade, as it counts against the limit of a day. */
export type OpenLeg = {
  readonly reference: string;
  /** False: the service may have traded it already. */
  readonly isTold: boolean;
  /** The most that it sells and buys. `most` null: it may be traded already, at a price that nothing bounds. */
  readonly sides: readonly { readonly currency: string; readonly most: string | null }[];
};

/** What an open run will still do. */
export type Reservation = { readonly reserved: readonly Reserved[]; readonly legs: readonly OpenLeg[] };
export const NOTHING_RESERVED: Reservation = Object.freeze({ reserved: [], legs: [] });
export type OthersReserved = Reservation & { readonly run: RunName };

const isAmount: Field = (value) => typeof value === 'string' && isDecimal(value);
const RESERVED: { readonly [Name in keyof Required<Reserved>]: Field } = {
  currency: lineOf(100),
  takes: isAmount,
  changes: isAmount,
  isTold: isFlag,
  untoldSinceMs: (value) => value === undefined || isMoment(value),
  short: (value) => value === undefined || isAmount(value),
};
const OPEN_LEG: { readonly [Name in keyof OpenLeg]: Field } = {
  reference: lineOf(300),
  isTold: isFlag,
  sides: listOf(recordOf({ currency: lineOf(100), most: orNull(isAmount) })),
};
const RESERVATION: { readonly [Name in keyof Reservation]: Field } = {
  reserved: listOf(recordOf(RESERVED)),
  legs: listOf(recordOf(OPEN_LEG)),
};

/** Another form of answer proves nothing: a run that gives it counts as one that does not answer. */
export function isReservation(value: unknown): value is Reservation {
  return misshapen(value, RESERVATION) === null;
}

/** A payment that the service has not accepted. `amount` null: it pays the proceeds of its leg. */
export type Unsent = {
  readonly currency: string;
  readonly amount: string | null;
  readonly dependsOn: string | null;
};

/** Digits after the point of amounts that are computed from a price bound. */
const BOUND_DECIMALS = 12;

type Sides = { readonly out: string; readonly in: string; readonly isTold: boolean };

/**
 * @param legs the legs that may still be traded
 * @param untold currencies of which the service may already have taken or brought an amount
 */
export function reservedBy(
  legs: readonly Leg[],
  payments: readonly Unsent[],
  untold: ReadonlySet<string> = new Set(),
): readonly Reserved[] {
  const sums = new Map<string, Sides>();
  const note = (currency: string, change: Partial<Sides>): void => {
    const known = sums.get(currency) ?? { out: '0', in: '0', isTold: true };
    sums.set(currency, {
      out: add(known.out, change.out ?? '0'),
      in: add(known.in, change.in ?? '0'),
      isTold: known.isTold && change.isTold !== false,
    });
  };
  for (const leg of legs) {
    if (leg.amount === null) continue;
    const [sold, bought] = [mostSold(leg), boughtBy(leg)];
    note(leg.sell, { out: sold ?? '0', isTold: sold !== null });
    const isPaidOut = payments.some(({ amount, dependsOn }) => amount === null && dependsOn === leg.id);
    // When all proceeds of a leg are paid out, it changes no balance, whatever it brings.
    note(leg.buy, isPaidOut ? {} : { in: bought ?? '0', isTold: bought !== null });
  }
  for (const { currency, amount } of payments) if (amount !== null) note(currency, { out: amount });
  for (const currency of untold) note(currency, { isTold: false });
  return [...sums].map(([currency, sides]) => ({
    currency,
    takes: notNegative(sides.isTold ? subtract(sides.out, sides.in) : sides.out),
    changes: subtract(sides.in, sides.out),
    isTold: sides.isTold,
  }));
}

/** The sums over all runs. */
export function reservedByAll(all: readonly (readonly Reserved[])[]): readonly Reserved[] {
  const sums = new Map<string, Reserved>();
  for (const one of all.flat()) {
    const known = sums.get(one.currency);
    sums.set(one.currency, {
      currency: one.currency,
      takes: add(known?.takes ?? '0', one.takes),
      changes: add(known?.changes ?? '0', one.changes),
      isTold: (known?.isTold ?? true) && one.isTold,
    });
  }
  return [...sums.values()];
}

/** The most that a leg sells; null: it has no bound. */
export function mostSold({ amount, guard }: Leg): string | null {
  if (amount === null || amount.side === 'sell') return amount?.value ?? null;
  const bound = guard?.bound ?? null;
  if (bound === null || !isPositive(bound.sellFactor)) return null;
  return quotient(multiply(amount.value, bound.buyFactor), bound.sellFactor, BOUND_DECIMALS, 'up');
}

/** The least that a leg buys; null: it has no bound. */
function boughtBy({ amount, guard }: Leg): string | null {
  if (amount === null || amount.side === 'buy') return amount?.value ?? null;
  const bound = guard?.bound ?? null;
  if (bound === null || !isPositive(bound.buyFactor)) return null;
  return quotient(multiply(amount.value, bound.sellFactor), bound.buyFactor, BOUND_DECIMALS, 'down');
}

/**
 * The leg as it counts against the limit of a day.
 * @param isTold false: it may be traded already, so that no later check of its own keeps it to what is counted here
 */
export function openLeg(leg: Leg, isTold: boolean): OpenLeg {
  const { reference, sell, buy, amount } = leg;
  const isSale = amount?.side !== 'buy';
  return {
    reference,
    isTold,
    sides: [
      { currency: sell, most: mostSold(leg) },
      { currency: buy, most: isSale && !isTold ? null : mostBought(leg) },
    ],
  };
}

/**
 * The most that a leg buys. No guard bounds what a sale brings. So it counts at a price that is as much better than the
 * reference as the guard lets it be worse; null: it has no bound.
 */
function mostBought(leg: Leg): string | null {
  const { amount, guard } = leg;
  const least = boughtBy(leg);
  const bound = guard?.bound ?? null;
  const worth = guard?.referenceRate ?? null;
  if (least === null || amount === null || amount.side === 'buy' || bound === null || worth === null)
    return least;
  const better = quotient(
    multiply(amount.value, multiply(multiply(worth.times, worth.times), bound.buyFactor)),
    multiply(multiply(worth.over, worth.over), bound.sellFactor),
    BOUND_DECIMALS,
    'up',
  );
  return compare(better, least) > 0 ? better : least;
}
