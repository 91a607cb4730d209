/**
 * The state of a run as its workflow keeps it, and the report made from it (design: "Commands").
 * Pure: the same state gives the same bytes, `evidence` aside. Upholds M3: paid, not paid and undecided add up to the plan.
 */
import { rateOf } from './guard.ts';
import { sum } from './money.ts';
import type { Leg, Payment, Plan } from './plan.ts';
import { runName, type RunName } from './references.ts';
import type { Hold, Problem } from './stepper.ts';
import { NEW_LEG, type LegState, type Traded } from './trade-steps.ts';
import { NEW_PAYMENT, type Accepted, type PaymentState } from './withdrawal-steps.ts';
import type { SendState } from './writes/doubt.ts';

/** What an item or the run waits for, and when it wakes by itself. */
export type Waiting = { readonly hold: Hold; readonly problem: Problem; readonly wakeAtMs: number };

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

/** A leg in the course of a run. */
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

/** A payment in the course of a run. */
export type PaymentRecord = {
  readonly payment: Payment;
  /** Null until the proceeds are known. */
  amount: string | null;
  state: PaymentState;
  outcome: PaymentOutcome;
  accepted: Accepted | null;
  /** When it was taken for accepted, epoch milliseconds; null before. */
  acceptedAtMs: number | null;
  /** The service's word for the withdrawal. */
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
/** A failure carries this many problems; the report carries them all. */
export const MAX_PROBLEMS_IN_FAILURE = 50;

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
  state.legs = plan.legs.map((leg) => ({
    leg,
    state: NEW_LEG,
    outcome: 'PENDING',
    traded: null,
    settled: null,
    isUnaccepted: false,
    problem: null,
    waiting: null,
    endedIn: null,
  }));
  state.payments = plan.payments.map((payment) => ({
    payment,
    amount: payment.amount.kind === 'fixed' ? payment.amount.value : null,
    state: NEW_PAYMENT,
    outcome: 'PENDING',
    accepted: null,
    acceptedAtMs: null,
    status: null,
    problem: null,
    waiting: null,
    endedIn: null,
  }));
}

/** What one history of a run hands on to the next: what is known of its items, by their ids. */
export type Carried = {
  /** Null while there is none. */
  readonly plan: Plan | null;
  /** The Temporal run that hands on: its own id, not the one that a reset keeps. */
  readonly runId: string;
  readonly legs: readonly (Omit<LegRecord, 'leg'> & { readonly id: string })[];
  readonly payments: readonly (Omit<PaymentRecord, 'payment'> & { readonly id: string })[];
  readonly cancelled: boolean;
  readonly evidence: readonly Evidence[];
};

export function carry(state: RunState, runId: string): Carried {
  return {
    plan: state.plan,
    runId,
    legs: state.legs.map(({ leg, ...record }) => ({ ...record, id: leg.id })),
    payments: state.payments.map(({ payment, ...record }) => ({ ...record, id: payment.id })),
    cancelled: state.cancelled,
    evidence: state.evidence,
  };
}

/**
 * Takes over what an earlier history knew of the items of the same plan. It was handed on between two writes, so that
 * what it knew as its own is whole: the Temporal run that goes on, `runId`, knows it as its own. A reset of it does not.
 */
export function takeOver(state: RunState, carried: Carried, runId: string): void {
  const { plan } = state;
  // Whoever made the plan over an empty service knows of every item, also of those that it never asked about.
  const madePin = plan !== null && plan.pinnedFor === carried.runId && !plan.foundRecords;
  const taken = <Known extends SendState>(known: Known): Known => {
    if (known.knownIn === carried.runId) return { ...known, knownIn: runId };
    if (known.knownIn !== null || !madePin) return known;
    return { ...known, knownIn: runId, knownAtMs: plan.pinnedAtMs };
  };
  const mapped = (of: string | null): string | null => (of === carried.runId ? runId : of);
  for (const record of state.legs) {
    const { id: _, ...known } = carried.legs.find(({ id }) => id === record.leg.id) ?? { id: null };
    Object.assign(record, known, { waiting: null });
    record.state = taken(record.state);
    record.endedIn = mapped(record.endedIn);
  }
  for (const record of state.payments) {
    const { id: _, ...known } = carried.payments.find(({ id }) => id === record.payment.id) ?? { id: null };
    Object.assign(record, known, { waiting: null });
    const walkedIn = mapped(record.state.walkedIn);
    record.state = { ...taken(record.state), walkedIn };
    record.endedIn = mapped(record.endedIn);
  }
  state.cancelled = carried.cancelled;
  state.evidence = [...carried.evidence];
}

/** Items whose records the service does not show begin anew: they are looked up before anything is sent. */
export function forgetAllBut(
  state: RunState,
  shown: { readonly tradeIds: readonly string[]; readonly withdrawalIds: readonly string[] },
): void {
  for (const record of state.legs) {
    if (record.traded === null || shown.tradeIds.includes(record.traded.tradeId)) continue;
    Object.assign(record, {
      state: NEW_LEG,
      outcome: 'PENDING',
      traded: null,
      settled: null,
      problem: null,
    } satisfies Partial<LegRecord>);
  }
  for (const record of state.payments) {
    if (record.accepted === null || shown.withdrawalIds.includes(record.accepted.withdrawalId)) continue;
    Object.assign(record, {
      state: NEW_PAYMENT,
      outcome: 'PENDING',
      accepted: null,
      status: null,
      problem: null,
    } satisfies Partial<PaymentRecord>);
  }
}

export function addEvidence(state: RunState, evidence: readonly Evidence[]): void {
  state.evidence = [...state.evidence, ...evidence].slice(-MAX_EVIDENCE);
}

export type ReportStatus = 'COMPLETED' | 'PARTIAL' | 'FAILED' | 'CANCELLED' | 'HELD' | 'RUNNING';

/** The documented shape of `run --json` and `report --json`. Amounts are decimal strings; null: not known. */
export type Report = {
  readonly run: string;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  /** Who started the run; null: nobody has told. */
  readonly startedBy: string | null;
  readonly status: ReportStatus;
  readonly legs: readonly ReportLeg[];
  readonly payments: readonly ReportPayment[];
  readonly totals: readonly ReportTotal[];
  readonly problems: readonly Problem[];
  readonly evidence: readonly Evidence[];
};

export type ReportLeg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  readonly sellAmount: string | null;
  readonly buyAmount: string | null;
  /** Bought ÷ sold, 12 significant digits. */
  readonly rate: string | null;
  readonly quoteId: string | null;
  readonly tradeId: string | null;
  readonly outcome: LegOutcome;
  readonly settled: boolean | null;
};

export type ReportPayment = {
  readonly id: string;
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string | null;
  readonly withdrawalId: string | null;
  /** The service's word. */
  readonly status: string | null;
  readonly outcome: PaymentOutcome;
  readonly reason: string | null;
};

export type ReportTotal = {
  readonly currency: string;
  readonly planned: string;
  readonly paid: string;
  readonly notPaid: string;
  readonly needsHuman: string;
};

/** The report of a run as it stands. */
export function makeReport(state: RunState): Report {
  return {
    run: runName(state.run),
    workflowId: state.workflowId,
    policy: state.policy,
    startedBy: state.startedBy,
    status: statusOf(state),
    legs: state.legs.map(reportLeg),
    payments: state.payments.map(reportPayment),
    totals: totalsOf(state.payments),
    problems: problemsOf(state),
    evidence: state.evidence,
  };
}

/** `HELD` while anything waits for longer than the service's own pace; the end states once no item is open. */
export function statusOf(state: RunState): ReportStatus {
  if (!state.ended) return holdsOf(state).length > 0 ? 'HELD' : 'RUNNING';
  // By what it did to the items: after a reset the cancel is known by the words alone.
  if (problemsOf(state).some((problem) => problem.code === 'CANCELLED')) return 'CANCELLED';
  const items = [...state.legs, ...state.payments];
  const done = items.filter(isDone);
  if (done.length === items.length && state.refusals.length === 0) return 'COMPLETED';
  return done.length === 0 ? 'FAILED' : 'PARTIAL';
}

/** A trade that will never settle has brought nothing. */
function isDone(item: LegRecord | PaymentRecord): boolean {
  return (
    item.outcome === 'PAID' ||
    // What came out worse than planned, and was accepted by nobody, is never green.
    (item.outcome === 'TRADED' && 'settled' in item && item.settled !== false && item.problem === null)
  );
}

/** Everything that the run waits for now, items first to last; short waits of the service's own pace are none. */
export function holdsOf(state: RunState): readonly Waiting[] {
  const all = [state.waiting, ...[...state.legs, ...state.payments].map((item) => item.waiting)];
  return all.filter((waiting): waiting is Waiting => waiting !== null && waiting.hold !== 'service');
}

function problemsOf(state: RunState): readonly Problem[] {
  const ended = [...state.legs, ...state.payments].flatMap((item) =>
    item.problem === null ? [] : [item.problem],
  );
  return [...state.refusals, ...ended, ...holdsOf(state).map((waiting) => waiting.problem)];
}

function reportLeg(record: LegRecord): ReportLeg {
  const { leg, traded, state } = record;
  const planned = leg.amount;
  return {
    id: leg.id,
    reference: leg.reference,
    sell: leg.sell,
    buy: leg.buy,
    sellAmount: traded?.sellAmount ?? (planned?.side === 'sell' ? planned.value : null),
    buyAmount: traded?.buyAmount ?? (planned?.side === 'buy' ? planned.value : null),
    rate: traded === null ? null : rateOf(traded.sellAmount, traded.buyAmount),
    quoteId: traded?.quoteId ?? state.quote?.id ?? null,
    tradeId: traded?.tradeId ?? null,
    outcome: record.outcome,
    settled: record.settled,
  };
}

function reportPayment(record: PaymentRecord): ReportPayment {
  const { payment } = record;
  return {
    id: payment.id,
    reference: record.accepted?.reference ?? payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount: record.amount,
    withdrawalId: record.accepted?.withdrawalId ?? null,
    status: record.status,
    outcome: record.outcome,
    reason: record.problem?.message ?? record.waiting?.problem.message ?? null,
  };
}

function totalsOf(payments: readonly PaymentRecord[]): readonly ReportTotal[] {
  const currencies = [...new Set(payments.map((record) => record.payment.currency))].toSorted();
  return currencies.map((currency) => {
    const inCurrency = payments.filter((record) => record.payment.currency === currency);
    const of = (outcome: PaymentOutcome | null): string =>
      sum(
        inCurrency.flatMap((record) =>
          (outcome === null || record.outcome === outcome) && record.amount !== null ? [record.amount] : [],
        ),
      );
    return {
      currency,
      planned: of(null),
      paid: of('PAID'),
      notPaid: of('NOT_PAID'),
      needsHuman: of('NEEDS_HUMAN'),
    };
  });
}
