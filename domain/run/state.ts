/**
 * The one state of a run, as its workflow keeps it: what is known of the run, and of each leg and payment.
 * Everything that a run shows, hands on or asks for is made from it. Pure.
 */
import { bringerOf, fixedAmountOf } from '../plan/amounts.ts';
import type { Sides } from '../plan/cost.ts';
import { headOf, type Payment, type Plan, type PlanHead } from '../plan/plan.ts';
import type { RunName } from '../references.ts';
import type { Waiting } from '../waits.ts';
import type { Problem } from '../problems.ts';
import { asForgotten } from '../writes/doubt.ts';
import { NEW_LEG } from '../writes/leg-state.ts';
import { OPEN, type Phase } from '../writes/phase.ts';
import { NEW_PAYMENT } from '../writes/withdrawal.ts';
import { newChunks, type ChunkRecord } from './chunk-state.ts';
import {
  acceptedOf,
  moveTo,
  newLeg,
  newPayment,
  tradeOf,
  type LegRecord,
  type PaymentRecord,
} from './items.ts';

/** One request to the service, for people who ask how an outcome came about. Never anything secret. */
export type Evidence = {
  readonly at: string;
  readonly item: string;
  readonly call: string;
  readonly result: string;
  readonly traceId: string | null;
  readonly replayed: boolean | null;
  /** The quote, whether it was traded or not; null: it was another request. */
  readonly quote: (Sides & { readonly id: string }) | null;
};

/** Everything that the run's workflow knows. */
export type RunState = {
  readonly run: RunName;
  readonly workflowId: string;
  /** The policy with which the run was started, and later the plan's. */
  policy: { readonly name: string; readonly hash: string };
  /** Who started the run; null while that is not known. */
  startedBy: string | null;
  plan: Plan | null;
  legs: LegRecord[];
  payments: PaymentRecord[];
  /** The chunks of a batch, which hold its payments; empty for other kinds. */
  chunks: ChunkRecord[];
  /** The name by which the chunks knew the run when they were read last; null: they were not read yet. */
  knownAs: string | null;
  /** Why nothing more of the batch is sent; null: nothing has stopped it. */
  stopped: Problem | null;
  /** True when the batch's first payments were accepted, so that the others may leave. */
  isTested: boolean;
  /** What the run as a whole waits for (the plan, say); items have their own. */
  waiting: Waiting | null;
  /** Why there is no plan to carry out; empty otherwise. */
  refusals: readonly Problem[];
  cancelled: boolean;
  ended: boolean;
  evidence: Evidence[];
};

/**
 * Evidence is a help, not a record. A long run keeps the first requests and the newest ones, as many as fit a
 * payload.
 */
const MAX_EVIDENCE = 100;

export function newRunState(run: RunName, workflowId: string, policy: RunState['policy']): RunState {
  return {
    run,
    workflowId,
    policy,
    startedBy: null,
    plan: null,
    legs: [],
    payments: [],
    chunks: [],
    knownAs: null,
    stopped: null,
    isTested: false,
    waiting: null,
    refusals: [],
    cancelled: false,
    ended: false,
    evidence: [],
  };
}

/** Takes the plan into the state. Nothing is known yet of its items. */
export function adoptPlan(state: RunState, plan: Plan): void {
  state.plan = plan;
  state.policy = plan.policy;
  state.legs = plan.legs.map((leg) => ({ leg, stage: newLeg(), waiting: null, isAtWork: false }));
  state.chunks = newChunks(plan.batch);
  state.payments = plan.payments.map(newRecord);
}

/** A payment of which nothing is known. */
export function newRecord(payment: Payment): PaymentRecord {
  return {
    payment,
    amount: fixedAmountOf(payment),
    stage: newPayment(),
    waiting: null,
    isAtWork: false,
    traceId: null,
  };
}

export function addEvidence(state: Pick<RunState, 'evidence'>, evidence: readonly Evidence[]): void {
  const all = [...state.evidence, ...evidence];
  const half = MAX_EVIDENCE / 2;
  // Requests that are made again and again stand in the middle, and are left out.
  state.evidence = all.length <= MAX_EVIDENCE ? all : [...all.slice(0, half), ...all.slice(-half)];
}

// A reset means: try again what is not done.

/** What another Temporal run than the one that ended it would take up again. */
type Undone = { readonly legs: readonly LegRecord[]; readonly payments: readonly PaymentRecord[] };

/**
 * A payment waits for its undone leg. A leg is tried again only if no payment of the plan depends on it, or
 * one does that is not paid.
 */
function undoneOf({ legs, payments }: Pick<RunState, 'legs' | 'payments'>): Undone {
  return {
    legs: legs.filter((record) => {
      const dependants = payments.filter(({ payment }) => payment.dependsOn === record.leg.id);
      const isNeeded = dependants.length === 0 || dependants.some(({ stage }) => stage.kind !== 'paid');
      return endedIn(record) !== null && isNeeded;
    }),
    payments: payments.filter((record) => {
      const { dependsOn } = record.payment;
      const isLegDone = !legs.some(({ leg, stage }) => leg.id === dependsOn && stage.kind !== 'traded');
      return endedIn(record) !== null && isLegDone;
    }),
  };
}

/** Whether anything has ended that a reset would try again. */
export function isUndone({ legs, payments }: RunState): boolean {
  return [...legs, ...payments].some((record) => endedIn(record) !== null);
}

/** The Temporal runs that have ended something which another Temporal run takes up at once. */
export function undoneIn(state: Pick<RunState, 'legs' | 'payments'>): readonly string[] {
  const { legs, payments } = undoneOf(state);
  return [...new Set([...legs, ...payments].flatMap((record) => endedIn(record) ?? []))];
}

/**
 * Takes up again what another Temporal run than `runId` has ended, and with a leg every payment that was not
 * paid because of it. What the other run knew of these is forgotten and looked up anew. True when there was
 * something.
 */
export function takeUp(state: RunState, runId: string): boolean {
  const undone = undoneOf(state);
  const legs = undone.legs.filter((record) => endedIn(record) !== runId);
  const ids = new Set(legs.map(({ leg }) => leg.id));
  const payments = [
    ...undone.payments.filter((record) => endedIn(record) !== runId),
    ...state.payments.filter((record) => endedIn(record) !== null && ids.has(record.payment.dependsOn ?? '')),
  ];
  for (const record of legs) Object.assign(record, { stage: newLeg(), waiting: null });
  for (const record of payments) Object.assign(record, { stage: newPayment(), waiting: null });
  return legs.length + payments.length > 0;
}

/**
 * Items that have ended undone, as the calls have said. A person who sees a pending call can answer in its place, so the service is
 * asked once more before the run ends by it.
 */
export type UndoneItems = {
  readonly plan: PlanHead;
  /** References of legs that were not traded. */
  readonly legs: readonly string[];
  /** References of payments that were not paid. `withdrawalId`: of a record that has failed; null: there is none. */
  readonly payments: readonly { readonly reference: string; readonly withdrawalId: string | null }[];
};
/** What has ended undone, for a last question to the service; null: nothing has. */
export function undoneItems({ plan, legs, payments }: RunState): UndoneItems | null {
  if (plan === null) return null;
  const untraded = legs.flatMap(({ leg, stage }) => (stage.kind === 'not traded' ? [leg.reference] : []));
  const unpaid = payments.flatMap((record): UndoneItems['payments'] => {
    if (endedIn(record) === null) return [];
    const { reference } = record.payment;
    return [{ reference, withdrawalId: acceptedOf(record)?.withdrawalId ?? null }];
  });
  return untraded.length + unpaid.length === 0
    ? null
    : { plan: headOf(plan), legs: untraded, payments: unpaid };
}

/**
 * The service shows records of items that calls have told as undone: nothing that those calls said counts. These items are
 * looked up anew, and so is every payment that was not paid because of such a leg (M3). Each is taken up so only once.
 * @param seen references of items that were taken up so before
 */
export function takeUpDone(state: RunState, done: readonly string[], seen: Set<string>): boolean {
  const isNews = (record: LegRecord | PaymentRecord, reference: string): boolean =>
    endedIn(record) !== null && done.includes(reference) && !seen.has(reference);
  const legs = state.legs.filter((record) => isNews(record, record.leg.reference));
  const ids = new Set(legs.map(({ leg }) => leg.id));
  const payments = state.payments.filter(
    (record) =>
      isNews(record, record.payment.reference) ||
      (endedIn(record) !== null && ids.has(record.payment.dependsOn ?? '')),
  );
  for (const record of legs) doubtTrade(state, record);
  for (const record of payments) {
    doubtWithdrawal(record);
    // Its record is its own, and is followed at once.
    record.contradicted = null;
  }
  for (const reference of done) seen.add(reference);
  return legs.length + payments.length > 0;
}

/** Follows every paid payment once more to its terminal status, by the record that is known. */
export function followAnew({ payments }: RunState, nowMs: number): void {
  for (const record of payments) {
    const { stage } = record;
    if (stage.kind !== 'paid') continue;
    // Whether it is late counts from now on.
    moveTo(record, { kind: 'accepted', accepted: { ...stage.accepted, atMs: nowMs, isAnew: true } });
  }
}

/**
 * The service shows that the trade which a call has named is not the leg's. Nothing that the call said of the leg counts: a
 * worker may have traded it. So the leg is in doubt, and is looked up by its own reference before anything is sent (M1).
 */
export function doubtTrade(state: Pick<RunState, 'payments'>, record: LegRecord): void {
  record.contradicted = tradeOf(record)?.tradeId ?? null;
  forgetTrade(state, record, OPEN);
}

/**
 * The service does not show the trade that a call, or an earlier history, has named. It may have been made all the same. So
 * the leg is looked up by its own reference, and where no lookup finds its trade a person decides: it is never traded again by
 * itself (M1).
 */
export function missTrade(state: Pick<RunState, 'payments'>, record: LegRecord, problem: Problem): void {
  forgetTrade(state, record, { kind: 'spent', problem });
}

function forgetTrade({ payments }: Pick<RunState, 'payments'>, record: LegRecord, phase: Phase): void {
  const stage = { ...newLeg(), state: { ...asForgotten(NEW_LEG), phase } };
  Object.assign(record, { stage, waiting: null });
  for (const each of payments)
    if (each.stage.kind === 'unsent' && bringerOf(each.payment) === record.leg.id)
      each.amount = fixedAmountOf(each.payment);
}

/**
 * The service shows that the withdrawal which a call has named is not the payment's, or it is named for another payment
 * too. As with a leg, nothing that the call said counts, its amount neither: the caller takes that from the leg again. The
 * payment is looked up by its own reference, and can only be sent
 * under its own key, which the service pays once (M1).
 */
export function doubtWithdrawal(record: PaymentRecord): void {
  record.contradicted = acceptedOf(record)?.withdrawalId ?? null;
  record.amount = fixedAmountOf(record.payment);
  Object.assign(record, { stage: { ...newPayment(), state: asForgotten(NEW_PAYMENT) }, waiting: null });
}

/** The Temporal run whose call ended the item undone; null: the item has not ended so. */
function endedIn({ stage }: LegRecord | PaymentRecord): string | null {
  switch (stage.kind) {
    case 'converting':
    case 'handed on':
    case 'traded':
    case 'unsent':
    case 'accepted':
    case 'paid':
      return null;
    case 'not traded':
    case 'failed':
    case 'not paid':
      return stage.endedIn;
  }
}
