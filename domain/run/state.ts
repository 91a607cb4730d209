/**
 * The one state of a run, as its workflow keeps it: what is known of the run and of each leg and payment. Whatever a run
 * shows, hands on or asks for is made from it. Pure.
 */
import { fixedAmountOf } from '../plan/amounts.ts';
import type { Leg, Payment, Plan } from '../plan/plan.ts';
import type { RunName } from '../references.ts';
import type { Waiting } from '../waits.ts';
import type { Problem } from '../problems.ts';
import { NEW_LEG, type LegState, type Traded } from '../writes/trade.ts';
import { NEW_PAYMENT, type Accepted, type PaymentState } from '../writes/withdrawal.ts';

/** One wire call or look, for a person who wants to know how an outcome came about. Never anything secret. */
export type Evidence = {
  readonly at: string;
  readonly item: string;
  readonly call: string;
  readonly result: string;
  readonly traceId: string | null;
  readonly replayed: boolean | null;
};

export type LegOutcome = 'TRADED' | 'NOT_TRADED' | 'NEEDS_HUMAN' | 'PENDING';
export type PaymentOutcome = 'PAID' | 'NOT_PAID' | 'NEEDS_HUMAN' | 'PENDING';

/** A leg, and what is known of it. */
export type LegRecord = {
  readonly leg: Leg;
  state: LegState;
  outcome: LegOutcome;
  traded: Traded | null;
  /** Null where the policy does not ask, or it is not known yet. */
  settled: boolean | null;
  /** It came out worse than planned, and waits for a person who accepts that. */
  isUnaccepted: boolean;
  problem: Problem | null;
  waiting: Waiting | null;
  /** Temporal run whose call ended it as not traded; null: none has. Another one takes it up once more. */
  endedIn: string | null;
};

/** A payment that need not wait for its leg any more; `unwanted` says why it is not sent all the same, null: it is. */
export type Release = { readonly unwanted: Problem | null };

/** A payment, and what is known of it. */
export type PaymentRecord = {
  readonly payment: Payment;
  /** Null until the proceeds are known. */
  amount: string | null;
  /** Null: its leg is not decided yet. */
  release: Release | null;
  state: PaymentState;
  outcome: PaymentOutcome;
  accepted: Pick<Accepted, 'withdrawalId' | 'reference'> | null;
  /** When it was taken for accepted, epoch milliseconds; null before. */
  acceptedAtMs: number | null;
  /** The service's status of the withdrawal. */
  status: string | null;
  problem: Problem | null;
  waiting: Waiting | null;
  /** Temporal run whose call ended it as not paid; null: none has. Another one takes it up once more. */
  endedIn: string | null;
};

/** Everything that the run's workflow knows. */
export type RunState = {
  readonly run: RunName;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  /** Who started the run; null while nobody has told. */
  startedBy: string | null;
  plan: Plan | null;
  legs: LegRecord[];
  payments: PaymentRecord[];
  /** What the run as a whole waits for (the plan, say); items have their own. */
  waiting: Waiting | null;
  /** Why there is no plan to carry out; empty otherwise. */
  refusals: readonly Problem[];
  cancelled: boolean;
  ended: boolean;
  evidence: Evidence[];
};

/** Evidence is a help, not a record: the newest calls of a long run, as many as fit a payload. */
const MAX_EVIDENCE = 200;

export function newRunState(run: RunName, workflowId: string, policy: RunState['policy']): RunState {
  return {
    run,
    workflowId,
    policy,
    startedBy: null,
    plan: null,
    legs: [],
    payments: [],
    waiting: null,
    refusals: [],
    cancelled: false,
    ended: false,
    evidence: [],
  };
}

/** Takes the plan into the state: every planned item begins as `PENDING`. */
export function adoptPlan(state: RunState, plan: Plan): void {
  state.plan = plan;
  state.legs = plan.legs.map(newLeg);
  state.payments = plan.payments.map(newPayment);
}

export function newLeg(leg: Leg): LegRecord {
  return {
    leg,
    state: NEW_LEG,
    outcome: 'PENDING',
    traded: null,
    settled: null,
    isUnaccepted: false,
    problem: null,
    waiting: null,
    endedIn: null,
  };
}

export function newPayment(payment: Payment): PaymentRecord {
  return {
    payment,
    amount: fixedAmountOf(payment),
    release: null,
    state: NEW_PAYMENT,
    outcome: 'PENDING',
    accepted: null,
    acceptedAtMs: null,
    status: null,
    problem: null,
    waiting: null,
    endedIn: null,
  };
}

export function addEvidence(state: Pick<RunState, 'evidence'>, evidence: readonly Evidence[]): void {
  state.evidence = [...state.evidence, ...evidence].slice(-MAX_EVIDENCE);
}

/** A leg that was traded worse than planned is open until a person has accepted that. */
export function isOpenLeg({ outcome, isUnaccepted }: LegRecord): boolean {
  return outcome === 'PENDING' || outcome === 'NEEDS_HUMAN' || isUnaccepted;
}

export function isOpenPayment({ outcome }: PaymentRecord): boolean {
  return outcome === 'PENDING' || outcome === 'NEEDS_HUMAN';
}

/** Its leg is decided, and it is neither accepted nor ended. */
export function isUnsent(record: PaymentRecord): boolean {
  return isOpenPayment(record) && record.accepted === null && record.release !== null;
}

// A reset means: try again what is not done.

/** What a Temporal run other than the one that ended it would take up once more. */
type Undone = { readonly legs: readonly LegRecord[]; readonly payments: readonly PaymentRecord[] };

/** A payment waits for its undone leg, and a leg is tried again only while an unpaid payment of the plan needs it. */
function undoneOf({ legs, payments }: RunState): Undone {
  const undoneLegs = legs.filter(({ outcome }) => outcome === 'NOT_TRADED');
  const unpaid = payments.filter(({ outcome }) => outcome === 'NOT_PAID');
  const isOf =
    ({ leg }: LegRecord) =>
    ({ payment }: PaymentRecord): boolean =>
      payment.dependsOn === leg.id;
  return {
    legs: undoneLegs.filter((record) => {
      const dependants = payments.filter(isOf(record));
      return dependants.length === 0 || dependants.some(({ outcome }) => outcome !== 'PAID');
    }),
    payments: unpaid.filter(
      ({ payment }) => !legs.some(({ leg, outcome }) => leg.id === payment.dependsOn && outcome !== 'TRADED'),
    ),
  };
}

/** Whether anything has ended that a reset would try again. */
export function isUndone(state: RunState): boolean {
  return (
    state.legs.some(({ outcome }) => outcome === 'NOT_TRADED') ||
    state.payments.some(({ outcome }) => outcome === 'NOT_PAID')
  );
}

/** Temporal runs in which something has ended that another one takes up at once. */
export function undoneIn(state: RunState): readonly string[] {
  const { legs, payments } = undoneOf(state);
  return [...new Set([...legs, ...payments].flatMap(({ endedIn }) => endedIn ?? []))];
}

/**
 * Takes up once more what a Temporal run other than `runId` has ended: a leg with every payment that was not paid because
 * of it. What that run knew is looked up anew. True when there was something.
 */
export function takeUp(state: RunState, runId: string): boolean {
  const undone = undoneOf(state);
  const legs = undone.legs.filter(({ endedIn }) => endedIn !== runId);
  const ids = new Set(legs.map(({ leg }) => leg.id));
  const payments = [
    ...undone.payments.filter(({ endedIn }) => endedIn !== runId),
    ...state.payments.filter(
      ({ payment, outcome }) => outcome === 'NOT_PAID' && ids.has(payment.dependsOn ?? ''),
    ),
  ];
  for (const record of legs) Object.assign(record, AGAIN, { state: NEW_LEG } satisfies Partial<LegRecord>);
  for (const record of payments) Object.assign(record, AGAIN, UNSENT);
  return legs.length + payments.length > 0;
}

const AGAIN = { endedIn: null, problem: null, outcome: 'PENDING', waiting: null } as const;
/** A payment of which nothing is known. */
const UNSENT = {
  state: NEW_PAYMENT,
  accepted: null,
  acceptedAtMs: null,
  status: null,
} as const satisfies Partial<PaymentRecord>;

/** Items whose records the service does not show begin anew: they are looked up before anything is sent. */
export function forgetAllBut(
  state: RunState,
  shown: { readonly tradeIds: readonly string[]; readonly withdrawalIds: readonly string[] },
): void {
  const trades = new Set(shown.tradeIds);
  for (const record of state.legs) {
    if (record.traded === null || trades.has(record.traded.tradeId)) continue;
    const anew: Partial<LegRecord> = { state: NEW_LEG, traded: null, settled: null };
    Object.assign(record, anew, { outcome: 'PENDING', problem: null });
  }
  const withdrawals = new Set(shown.withdrawalIds);
  for (const record of state.payments) {
    if (record.accepted === null || withdrawals.has(record.accepted.withdrawalId)) continue;
    Object.assign(record, UNSENT, { outcome: 'PENDING', problem: null });
  }
}
