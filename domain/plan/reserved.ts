/** What open runs of ours have planned and the service has not yet taken. No other run plans with this money. Pure. */
import { add, isPositive, multiply, notNegative, quotient, subtract } from '../money.ts';
import type { RunName } from '../references.ts';
import type { Leg } from './plan.ts';

/** Of one currency, what a run will still do. Of several runs, their sums. */
export type Reserved = {
  readonly currency: string;
  /**
   * What no other run may spend: what is sold and paid, less what the run itself buys for it. Never negative. Of a currency that
   * cannot be told nothing is subtracted: what the run buys may be among the balances already.
   */
  readonly takes: string;
  /** By how much the balance will have changed; negative when it will be lower. */
  readonly changes: string;
  /** What its legs sell and buy together: what counts against a limit. */
  readonly gross: string;
  /** False: nobody can tell how much it is, so nobody plans with the currency. */
  readonly isTold: boolean;
  /**
   * So much of `takes` is for legs that wait for money which was not there. Nobody plans with it; but another run that waits
   * for money too does not wait for this part as well. Absent: nothing.
   */
  readonly short?: string;
};

/** What one other open run will still do. */
export type OthersReserved = { readonly run: RunName; readonly reserved: readonly Reserved[] };

/** A payment that the service has not accepted; null: it pays out what its leg brings. */
export type Unsent = {
  readonly currency: string;
  readonly amount: string | null;
  readonly dependsOn: string | null;
};

/** Digits behind the point of amounts that only a price bound tells. */
const BOUND_DECIMALS = 12;

type Sides = { readonly out: string; readonly in: string; readonly gross: string; readonly isTold: boolean };

/**
 * @param legs those that may still be traded
 * @param untold currencies of which the service may have taken or brought something already
 */
export function reservedBy(
  legs: readonly Leg[],
  payments: readonly Unsent[],
  untold: ReadonlySet<string> = new Set(),
): readonly Reserved[] {
  const sums = new Map<string, Sides>();
  const note = (currency: string, change: Partial<Sides>): void => {
    const known = sums.get(currency) ?? { out: '0', in: '0', gross: '0', isTold: true };
    sums.set(currency, {
      out: add(known.out, change.out ?? '0'),
      in: add(known.in, change.in ?? '0'),
      gross: add(known.gross, change.gross ?? '0'),
      isTold: known.isTold && change.isTold !== false,
    });
  };
  for (const leg of legs) {
    if (leg.amount === null) continue;
    const [sold, bought] = [mostSold(leg), boughtBy(leg)];
    note(leg.sell, { out: sold ?? '0', gross: sold ?? '0', isTold: sold !== null });
    const isPaidOut = payments.some(({ amount, dependsOn }) => amount === null && dependsOn === leg.id);
    // A leg whose proceeds are all paid out changes no balance, however much it is.
    if (isPaidOut) note(leg.buy, { gross: bought ?? '0' });
    else note(leg.buy, { in: bought ?? '0', gross: bought ?? '0', isTold: bought !== null });
  }
  for (const { currency, amount } of payments) if (amount !== null) note(currency, { out: amount });
  for (const currency of untold) note(currency, { isTold: false });
  return [...sums].map(([currency, sides]) => ({
    currency,
    takes: notNegative(sides.isTold ? subtract(sides.out, sides.in) : sides.out),
    changes: subtract(sides.in, sides.out),
    gross: sides.gross,
    isTold: sides.isTold,
  }));
}

/** Sums over runs. */
export function reservedByAll(all: readonly (readonly Reserved[])[]): readonly Reserved[] {
  const sums = new Map<string, Reserved>();
  for (const one of all.flat()) {
    const known = sums.get(one.currency);
    sums.set(one.currency, {
      currency: one.currency,
      takes: add(known?.takes ?? '0', one.takes),
      changes: add(known?.changes ?? '0', one.changes),
      gross: add(known?.gross ?? '0', one.gross),
      isTold: (known?.isTold ?? true) && one.isTold,
    });
  }
  return [...sums.values()];
}

/** The most that a leg sells; null: nothing bounds it. */
export function mostSold({ amount, guard }: Leg): string | null {
  if (amount === null || amount.side === 'sell') return amount?.value ?? null;
  const bound = guard?.bound ?? null;
  if (bound === null || !isPositive(bound.sellFactor)) return null;
  return quotient(multiply(amount.value, bound.buyFactor), bound.sellFactor, BOUND_DECIMALS, 'up');
}

/** The least that a leg buys; null: nothing bounds it. */
function boughtBy({ amount, guard }: Leg): string | null {
  if (amount === null || amount.side === 'buy') return amount?.value ?? null;
  const bound = guard?.bound ?? null;
  if (bound === null || !isPositive(bound.buyFactor)) return null;
  return quotient(multiply(amount.value, bound.sellFactor), bound.buyFactor, BOUND_DECIMALS, 'down');
}
