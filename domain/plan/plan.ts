/**
 * The plan of a run: everything that will be sent, fixed once (design: "The plan is made once"). Frozen plain data.
 * `compile.ts` makes it, `plan-shape.ts` reads it back, `agrees.ts` compares it with the policy.
 */
import type { PlanBatch } from '../batch.ts';
import type { InPlace } from '../replacement.ts';
import type { PriceBound, Worth } from './price-bounds.ts';
import type { Restraint } from './restraints.ts';
import type { PolicyRules } from '../policy.ts';
import type { Mode } from '../service/records.ts';
import { reference, type RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';

/** The moments between which writes may be sent, epoch milliseconds (design: "Before every write"). */
export type SendWindows = {
  readonly opensAtMs: number;
  readonly tradesUntilMs: number;
  readonly withdrawalsUntilMs: number;
};

/**
 * The credentials with which the plan was made. Items are sent under no other organisation or mode, and under another key
 * only after a proof.
 */
export type Credentials = { readonly mode: Mode; readonly organisation: string; readonly keyName: string };

/** The amount of a leg, on the side that is asked for. `fixed` is false for an amount computed from live balances. */
export type LegAmount = { readonly side: 'buy' | 'sell'; readonly value: string; readonly fixed: boolean };

/** One conversion. */
export type Leg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  /** Null: the amount was computed from balances and has been lost since. It is not computed again; a person decides. */
  readonly amount: LegAmount | null;
  /** Why the leg has this amount. */
  readonly why: LegReason;
  /** The price guard of this leg; null: any price is taken. */
  readonly guard: PlanGuard | null;
  /**
   * The sales of the plan must first bring this much of the currency that the leg sells; `0`: there is enough without them.
   */
  readonly needsFromSales: string;
};

/** Where the amount of a leg comes from. */
export type LegReason =
  /** The policy states it. */
  | { readonly kind: 'fixed' }
  /** Everything withdrawable above the amount that the policy keeps. */
  | { readonly kind: 'all above'; readonly available: string; readonly keep: string }
  /** The amount that brings a currency back to its target. The currency's entry in `positions` gives the reason. */
  | { readonly kind: 'target'; readonly currency: string }
  /** The amount of the trade that is already at the service. */
  | { readonly kind: 'found' }
  /** The amount was computed from balances that have changed since. */
  | { readonly kind: 'forgotten' };

/**
 * True when the amount was computed from balances. Then a quote is asked for only during the turn of the run, and while the
 * balances still ask for the leg.
 */
export function isFromBalances({ why }: { readonly why: Pick<LegReason, 'kind'> }): boolean {
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

/** A conversion that the policy asks for and that needs no leg, since there is nothing to sell. */
export type LegNotNeeded = {
  readonly id: string;
  readonly sell: string;
  readonly buy: string;
  readonly available: string;
  readonly keep: string;
};

/** Where one currency stands in the plan. */
export type Position = {
  readonly currency: string;
  /** The amount that can be sold now, without the amounts that other open runs have reserved. */
  readonly withdrawable: string;
  readonly projected: string | null;
  /** The amount that is kept; null: the policy only states a minimum or a maximum, or the amount cannot be computed. */
  readonly target: string | null;
  /** Between `low` and `high`, both included, nothing is traded; null: no bound on that side. */
  readonly low: string | null;
  readonly high: string | null;
  /** The trade that would bring it back to its target; null: it needs none. */
  readonly wanted: { readonly side: 'buy' | 'sell'; readonly value: string } | null;
  /** The amount that is traded, the sum of all its trades. */
  readonly traded: string;
  /** Why less is traded than the target asks for, or nothing; null: nothing holds the trade back. */
  readonly restraint: Restraint | null;
};

/** The movements of the plan in one currency, as far as they are known. */
export type PlanTotal = {
  readonly what: 'sell' | 'buy' | 'pay';
  readonly currency: string;
  readonly value: string;
};

/** The amount of a payment. When the payment depends on a leg, the amount is known after the trade. */
export type PaymentAmount =
  | { readonly kind: 'fixed'; readonly value: string }
  /** Everything that the leg brings. */
  | ({ readonly kind: 'proceeds' } & OfLeg)
  /** The part that the leg's fixed payments leave of what it brings. */
  | ({ readonly kind: 'rest' } & OfLeg);

/** The amount is cut to the currency's decimals by the rounding that the policy names. */
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
   * The leg that must be traded first; null when the payment depends on none. When that leg is not in the plan, there was
   * nothing to sell: it brings nothing, and the payment is not paid.
   */
  readonly dependsOn: string | null;
};

export type Plan = InPlace & {
  readonly version: 1;
  /** The layout of the bodies' bytes. With another layout, the same key would carry other bytes. */
  readonly bodyLayout: 1;
  readonly run: RunName;
  readonly credentials: Credentials;
  /** The hash of the policy. Its text stays in the input of the workflow that made the plan. */
  readonly policy: { readonly name: string; readonly hash: string };
  readonly zone: string;
  readonly date: string;
  readonly sendWindows: SendWindows;
  readonly rules: PolicyRules;
  /** From when on the run says that settlement of a leg, or payment of an accepted withdrawal, is late. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  readonly legs: readonly Leg[];
  readonly notNeeded: readonly LegNotNeeded[];
  /** Where each currency of a rebalancing stood, and what decided its trades; empty for other kinds. */
  readonly positions: readonly Position[];
  readonly payments: readonly Payment[];
  /** The batch of a payout, whose payments are in its chunks. Null for other kinds. */
  readonly batch: PlanBatch | null;
  readonly totals: readonly PlanTotal[];
  /** Epoch milliseconds at which the service was observed. */
  readonly madeAtMs: number;
  /**
   * The service already had records under this run's name: a run of this name has sent something, though Temporal has
   * forgotten that run.
   */
  readonly foundRecords: boolean;
  /**
   * `originalExecutionRunId` of the run for which the plan was made. It tells a plan that this run has just made from every
   * other plan, and identifies no money.
   */
  readonly madeFor: string;
};

/**
 * A plan as Temporal carries it. The reference of a payment is made from the names of run and payment, so it is not repeated
 * for each of hundreds.
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
 * The exact worth of one sold unit in the bought currency, by the reference rates. The cost of a trade against it is told in
 * `currency`, with its `decimals`.
 */
export type ReferenceRate = Worth & { readonly currency: string; readonly decimals: number };

/** The price guard in words and as a bound. `staleAtMs`: from when on its reference rates are too old; null: it has none. */
export type PlanGuard = {
  /** Null: there is no rate to compare a price with, so nothing new is traded. */
  readonly bound: PriceBound | null;
  readonly text: string;
  readonly staleAtMs: number | null;
  /** Null: the guard has no reference rates, or they have no rate for the pair. */
  readonly referenceRate: ReferenceRate | null;
};

/** The plan without its items, which every call and step needs. */
export type PlanHead = Omit<Plan, 'legs' | 'payments' | 'batch' | 'policy' | 'positions'>;

export function headOf(plan: Plan): PlanHead {
  const { legs: _l, payments: _p, batch: _b, policy: _n, positions: _s, ...head } = plan;
  return head;
}
