/**
 * The plan of a run: what will be sent, fixed once (design: "The plan is made once"). Frozen plain data. `compile.ts` makes
 * it, `plan-shape.ts` reads it back, `agrees.ts` compares it with the policy.
 */
import type { PlanBatch } from '../batch.ts';
import type { PriceBound, Worth } from './price-bounds.ts';
import type { Limits, Money, QuoteSettings, SettleSettings } from '../policy.ts';
import type { Mode } from '../service/records.ts';
import { reference, type RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';

/** Moments between which writes may be sent, epoch milliseconds (design: "Before every write"). */
export type SendWindows = {
  readonly opensAtMs: number;
  readonly tradesUntilMs: number;
  readonly withdrawalsUntilMs: number;
};

/** Which credentials the plan was made with: items leave under no other organisation, mode or (unproven) key. */
export type Credentials = { readonly mode: Mode; readonly organisation: string; readonly keyName: string };

/** Amount of a leg: the side that is asked for. `fixed` is false for an amount computed from live balances. */
export type LegAmount = { readonly side: 'buy' | 'sell'; readonly value: string; readonly fixed: boolean };

/** One conversion. */
export type Leg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  /** Null: it was computed from balances and forgotten since, and it is not computed again. A person decides. */
  readonly amount: LegAmount | null;
  /** Why it is that amount. */
  readonly why: LegReason;
  /** Its own price bound; null: any price is taken. */
  readonly guard: PlanGuard | null;
  /** Sales of the plan must have brought so much of what it sells before; `0`: there is enough without them. */
  readonly needsFromSales: string;
};

/** Where the amount of a leg comes from. */
export type LegReason =
  /** The policy names it. */
  | { readonly kind: 'fixed' }
  /** Everything withdrawable above what is kept. */
  | { readonly kind: 'all above'; readonly available: string; readonly keep: string }
  /** Brings a currency back to its target; its entry in `positions` gives the reason. */
  | { readonly kind: 'target'; readonly currency: string }
  /** The trade that is already at the service. */
  | { readonly kind: 'found' }
  /** It was computed from balances that have changed since. */
  | { readonly kind: 'forgotten' };

/**
 * The amount was computed from balances: it is quoted only during the turn of its run, and while the balances still ask for
 * it.
 */
export function isFromBalances({ why }: Leg): boolean {
  switch (why.kind) {
    case 'all above':
    case 'target':
      return true;
    case 'fixed':
    case 'found':
    case 'forgotten':
      return false;
  }
}

/** A conversion that the policy asks for and that needs no leg: there is nothing to sell. */
export type LegNotNeeded = {
  readonly id: string;
  readonly sell: string;
  readonly buy: string;
  readonly available: string;
  readonly keep: string;
};

/** Why less is traded than the target asks for, or nothing. */
export const RESTRAINTS = [
  // More is there than can be sold now.
  'withdrawable',
  // The base currency keeps its minimum.
  'base',
  'per_trade',
  'per_run',
  'per_day',
  'min_trade',
  'max_trades',
  'never_sell',
  // The service takes no trade as small as this.
  'pair minimum',
  // More trades of the size that the service takes than one run sends.
  'pair maximum',
  'pair not offered',
  // Nobody can tell what is on its way, so the currency is left alone.
  'not settled',
  // The reference rates do not value it.
  'no rate',
  // The guard has only worst rates, and none for this direction of the pair.
  'no worst rate',
] as const;
export type Restraint = (typeof RESTRAINTS)[number];

/** Where one currency stands. */
export type Position = {
  readonly currency: string;
  /** What can be sold now, less what other open runs have reserved. */
  readonly withdrawable: string;
  readonly projected: string | null;
  /** What is kept of it; null: the policy only names a minimum or a maximum, or it cannot be told. */
  readonly target: string | null;
  /** From `low` to `high`, both included, nothing is traded; null: no bound on that side. */
  readonly low: string | null;
  readonly high: string | null;
  /** What would bring it back to its target; null: nothing. */
  readonly wanted: { readonly side: 'buy' | 'sell'; readonly value: string } | null;
  /** How much of it is traded, all its trades together. */
  readonly traded: string;
  readonly restraint: Restraint | null;
};

/** What the plan moves in one currency, as far as it is known. */
export type PlanTotal = {
  readonly what: 'sell' | 'buy' | 'pay';
  readonly currency: string;
  readonly value: string;
};

/** What a payment comes to; of what its leg brought only once that is known. */
export type PaymentAmount =
  | { readonly kind: 'fixed'; readonly value: string }
  /** All that the leg brought. */
  | ({ readonly kind: 'proceeds' } & OfLeg)
  /** What the fixed payments of the leg leave of what it brought. */
  | ({ readonly kind: 'rest' } & OfLeg);

/** Cut to the currency's decimals by the rounding that the policy names. */
type OfLeg = {
  readonly leg: string;
  readonly rounding: 'down' | 'half-even';
  readonly decimals: number;
};

/** One planned withdrawal. */
export type Payment = {
  readonly id: string;
  /** Reference of the first generation. */
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: PaymentAmount;
  /**
   * The leg that must be traded before; null when the payment stands alone. One that is not in the plan brings nothing
   * (nothing was there to sell), so that the payment is not paid.
   */
  readonly dependsOn: string | null;
};

export type Plan = {
  readonly version: 1;
  /** Id of the run whose place its run takes. Nothing of that one was found. Absent: it takes no place. */
  readonly insteadOf?: string;
  /** Layout of the bodies' bytes; another layout would be another key's bytes. */
  readonly bodyLayout: 1;
  readonly run: RunName;
  readonly credentials: Credentials;
  /** The text stays in the input of the workflow that made the plan. */
  readonly policy: { readonly name: string; readonly hash: string };
  readonly zone: string;
  readonly date: string;
  readonly sendWindows: SendWindows;
  readonly quote: QuoteSettings;
  readonly settle: SettleSettings;
  /** When it is said that settlement of a leg, or an accepted payment, is late. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  readonly shortfall: 'skip' | 'hold';
  readonly limits: Limits | null;
  /** What other runs of the policy had traded on its date: it counts against the limit of a day. Empty without one. */
  readonly tradedOnDate: readonly Money[];
  readonly legs: readonly Leg[];
  readonly notNeeded: readonly LegNotNeeded[];
  /** Where each currency of a rebalancing stood, and what decided its trades; empty for other kinds. */
  readonly positions: readonly Position[];
  readonly payments: readonly Payment[];
  /** Of a payout: its payments are in its chunks. Null for other kinds. */
  readonly batch: PlanBatch | null;
  readonly totals: readonly PlanTotal[];
  /** Epoch milliseconds at which the service was observed. */
  readonly madeAtMs: number;
  /**
   * The service already had records under this run's name: somebody has sent for it, though Temporal has forgotten the run.
   */
  readonly foundRecords: boolean;
  /** `originalExecutionRunId` of the run that made the plan: tells "freshly made by me" from all else, identifies no money. */
  readonly madeFor: string;
};

/**
 * A plan as Temporal carries it: a payment's reference, which the names of run and payment make, is not repeated for each
 * of hundreds.
 */
export type KeptPlan = Omit<Plan, 'payments'> & { readonly payments: readonly KeptPayment[] };
export type KeptPayment = Omit<Payment, 'reference'>;

export function keptPlan(plan: Plan): KeptPlan {
  return { ...plan, payments: plan.payments.map(({ reference: _reference, ...payment }) => payment) };
}

export function wholePlan({ run, payments, ...rest }: KeptPlan): Plan {
  const whole = payments.map((payment) => ({ ...payment, reference: reference(run, payment.id) }));
  return { ...rest, run, payments: whole };
}

/**
 * What the reference rates say one unit sold is worth in the bought currency, exactly. What a trade costs against it is
 * told in `currency`, to its `decimals`.
 */
export type ReferenceRate = Worth & { readonly currency: string; readonly decimals: number };

/** The price guard in words and as a bound; `staleAtMs` is when its reference rates are too old, null without any. */
export type PlanGuard = {
  /** Null: there is no rate to hold a price against, so that nothing new is traded. */
  readonly bound: PriceBound | null;
  readonly text: string;
  readonly staleAtMs: number | null;
  /** Null: the guard has no reference rates, or they do not tell. */
  readonly referenceRate: ReferenceRate | null;
};

/** The plan without its items, as every call and step needs it. */
export type PlanHead = Omit<Plan, 'legs' | 'payments' | 'batch' | 'policy' | 'positions'>;

export function headOf(plan: Plan): PlanHead {
  const { legs: _l, payments: _p, batch: _b, policy: _n, positions: _s, ...head } = plan;
  return head;
}
