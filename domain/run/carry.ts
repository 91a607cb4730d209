/**
 * What one history of a run hands on to the next (continue-as-new). It is kept small: of an item of which
 * nothing is known, nothing is handed on; of any other item, only how it differs from such a one; and nothing
 * that the plan says. A person who may write to Temporal can hand on anything. So no amount, price or
 * generation is taken from it: the next history takes amounts from the plan and the service's records, and
 * begins with the first generation. Pure.
 */
import { jsonBytes } from '../json-bytes.ts';
import type { Payment, Plan, PlanHead } from '../plan/plan.ts';
import { asForgotten, type SendState } from '../writes/doubt.ts';
import { OPEN, type PaymentPhase } from '../writes/phase.ts';
import { moneyAdvice, saidBy } from '../writes/step.ts';
import type { Problem } from '../problems.ts';
import { isPayerOfChunk } from './payer.ts';
import type { Ports } from './ports.ts';
import { NEW_LEG, type LegState, type Traded } from '../writes/leg-state.ts';
import { NEW_PAYMENT, type PaymentState } from '../writes/withdrawal.ts';
import {
  newLeg,
  newPayment,
  type Accepted,
  type ConvertingLeg,
  type FailedPayment,
  type LegRecord,
  type LegStage,
  type PaymentRecord,
  type PaymentStage,
  type SentPayment,
  type TradedLeg,
  type UnpaidPayment,
  type UntradedLeg,
} from './items.ts';
import type { Evidence, RunState } from './state.ts';

export type Carried = {
  /** The plan to which all this belongs; null while there is none. */
  readonly plan: string | null;
  /** The head of a chunk's plan; absent before its first go, and for a run, which reads its plan. */
  readonly head?: PlanHead;
  /** For a chunk, the Temporal run of the batch's run that gave it its last go; absent before its first go, and for a run. */
  readonly coordinator?: string;
  /**
   * For a chunk that was reset and has asked nothing since: the `originalExecutionRunId` that showed the
   * reset. Else absent.
   */
  readonly resetOf?: string;
  /** For a chunk that was reset, in this history or an earlier one. Else absent. */
  readonly wasReset?: true;
  /** The Temporal run that hands on, by its own id, not the id that a reset keeps. */
  readonly runId: string;
  /** The id by which the chunks of the run's batch know it; its `runId` where there are no chunks. */
  readonly knownAs: string;
  /** Items of which nothing is known are left out. */
  readonly legs: readonly CarriedLeg[];
  readonly payments: readonly CarriedPayment[];
  readonly cancelled: boolean;
  readonly evidence: readonly Evidence[];
  /** Trace ids of the payments in the order of the plan, as many as fit; absent: there is none. */
  readonly traceIds?: TraceIds;
};

type TraceIds = readonly (string | null)[];

/**
 * Trace ids may fill what is handed on up to this size. With what is put around it, it stays below the 128
 * KiB that Temporal likes to carry.
 */
const MOST_BYTES = 120_000;

/** A leg at its stage. A leg that is still to be converted has only what is known; what a trade brought, the service says. */
type CarriedLeg = { readonly id: string } & (
  | (Pick<TradedLeg, 'kind' | 'atMs' | 'worse' | 'settledAtMs'> & Pick<Traded, 'tradeId' | 'quoted'>)
  | UntradedLeg
  | (Omit<ConvertingLeg, 'state'> & { readonly state: Partial<LegState> })
);

/** A payment at its stage. */
type CarriedPayment = ItemOf<CarriedUnsent | CarriedSent | UnpaidPayment>;
type ItemOf<Stage> = { readonly id: string } & Stage;

/** Only what differs from `asKnownIn`. Without `phase`, nothing keeps the payment from being sent. */
type CarriedUnsent = {
  readonly kind: 'unsent';
  readonly state: Partial<KnownSends>;
  readonly phase?: CarriedPhase;
  readonly needsHuman?: true;
};

/** What a history may tell the next one of the sends of a payment. None of it says what is sent. */
type KnownSends = Pick<
  PaymentState,
  'knownIn' | 'knownAtMs' | 'sent' | 'doubt' | 'tries' | 'walkedIn' | 'hasOpenedEarly'
>;

/** A lack of money is handed on by its code alone: many payments may wait for the same money. */
type CarriedPhase =
  | Extract<PaymentPhase, { kind: 'spent' }>
  | (Omit<Extract<PaymentPhase, { kind: 'short' }>, 'problem'> & { readonly code: Problem['code'] });

/** `reference`: only if it is of a later generation than the plan's. */
type CarriedSent = Omit<Accepted, 'reference' | 'createdAtMs'> & { readonly reference?: string } & (
    Omit<SentPayment, 'accepted'> | Omit<FailedPayment, 'accepted'>
  );

/** Identifies a plan among the plans of a run. */
function nameOf(plan: Plan): string {
  return [plan.policy.hash, plan.madeFor, plan.madeAtMs, plan.legs.length, plan.payments.length].join();
}

/** @param by the Temporal run that hands on */
export function carry(state: RunState, by: Pick<Carried, 'runId' | 'knownAs'>): Carried {
  const { runId, knownAs } = by;
  const carried: Carried = {
    plan: state.plan === null ? null : nameOf(state.plan),
    runId,
    knownAs,
    legs: state.legs.flatMap((record) => carryLeg(record) ?? []),
    payments: state.payments.flatMap((record) => carryPayment(record, runId) ?? []),
    cancelled: state.cancelled,
    evidence: state.evidence,
  };
  const traceIds = traceIdsOf(state, MOST_BYTES - jsonBytes(carried));
  return traceIds.some((traceId) => traceId !== null) ? { ...carried, traceIds } : carried;
}

/** Trace ids only help people, so those of the first payments are kept, as far as there is room. */
function traceIdsOf({ payments }: RunState, roomBytes: number): TraceIds {
  const traceIds: (string | null)[] = [];
  let bytes = 0;
  for (const { traceId } of payments) {
    bytes += jsonBytes(traceId) + 1;
    if (bytes > roomBytes) break;
    traceIds.push(traceId);
  }
  return traceIds;
}

/** Null: nothing is known of the leg. */
function carryLeg({ leg, stage }: LegRecord): CarriedLeg | null {
  const { id } = leg;
  switch (stage.kind) {
    case 'converting': {
      const isNew = isAsNew(stage.state, NEW_LEG) && !stage.needsHuman;
      return isNew ? null : { id, ...stage, state: differences(stage.state, NEW_LEG) };
    }
    case 'handed on': {
      const { atMs, trade, worse, settledAtMs } = stage;
      return { id, kind: 'traded', atMs, worse, ...ifSettled(settledAtMs), ...trade };
    }
    case 'traded': {
      const { kind, atMs, traded, worse, settledAtMs } = stage;
      const { tradeId, quoted } = traded;
      return { id, kind, atMs, worse, ...ifSettled(settledAtMs), tradeId, quoted };
    }
    case 'not traded':
      return { id, ...stage };
  }
}

/** The poll of the next history says whether the trade is settled; this one has seen when. */
function ifSettled(settledAtMs: number | undefined): Pick<TradedLeg, 'settledAtMs'> {
  return settledAtMs === undefined ? {} : { settledAtMs };
}

/** Null: nothing is known of the payment. */
function carryPayment({ payment, stage }: PaymentRecord, runId: string): CarriedPayment | null {
  const item = { id: payment.id };
  switch (stage.kind) {
    case 'unsent': {
      const { phase } = stage.state;
      if (isAsNew(stage.state, NEW_PAYMENT) && !stage.needsHuman) return null;
      return {
        ...item,
        kind: 'unsent',
        state: differences(sendsOf(stage.state), asKnownIn(runId)),
        ...(phase.kind !== 'open' && { phase: carryPhase(phase) }),
        ...(stage.needsHuman && { needsHuman: true }),
      };
    }
    case 'accepted':
    case 'paid':
    case 'failed': {
      const { accepted, ...rest } = stage;
      const { reference, createdAtMs: _createdAtMs, ...record } = accepted;
      return { ...item, ...rest, ...record, ...(reference !== payment.reference && { reference }) };
    }
    case 'not paid':
      return { ...item, ...stage };
  }
}

function carryPhase(phase: Exclude<PaymentPhase, { kind: 'open' }>): CarriedPhase {
  switch (phase.kind) {
    case 'short': {
      const { problem, ...rest } = phase;
      return { ...rest, code: problem.code };
    }
    case 'spent':
      return phase;
  }
}

function sendsOf(state: PaymentState): KnownSends {
  const { knownIn, knownAtMs, sent, doubt, tries, walkedIn, hasOpenedEarly } = state;
  return { knownIn, knownAtMs, sent, doubt, tries, walkedIn, hasOpenedEarly };
}

/** A payment's state when the Temporal run that hands on knows it as its own, and nothing more is known. */
function asKnownIn(runId: string): PaymentState {
  return { ...NEW_PAYMENT, knownIn: runId, walkedIn: runId };
}

function isAsNew<State extends SendState>(state: State, fresh: State): boolean {
  return Object.keys(differences(state, fresh)).length === 0;
}

/** The fields of `one` that differ from `other`. */
function differences<T extends object>(one: T, other: T): Partial<T> {
  const differing = Object.entries(one).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name as keyof T]),
  );
  return Object.fromEntries(differing) as Partial<T>;
}

/**
 * Takes over what an earlier history knew of the items of the same plan, and nothing of another plan. The
 * earlier history handed it on between two writes, so that what it knew as its own is complete. The Temporal
 * run that goes on then knows this as its own too; a reset of that run does not. A second trade of a leg would
 * have another key, so that the service would not refuse it. So what is known of legs is believed only of
 * histories that began with the run for which the plan was made. Else a leg is looked up as after a reset, and
 * a trade is judged anew. A trade, and what it brought, is only taken over by its id (`takeOverShown`). True
 * when it was about this plan.
 */
export function takeOver(
  state: RunState,
  carried: Carried,
  { originalRunId, firstRunId }: Pick<Ports, 'originalRunId' | 'firstRunId'>,
): boolean {
  const { plan } = state;
  if (plan === null || carried.plan !== nameOf(plan)) return false;
  // The run that made the plan when the service was empty knows every item, also items that it never asked about.
  const madePlan = plan.madeFor === carried.runId && !plan.foundRecords;
  const heir: Heir = {
    from: carried.runId,
    to: originalRunId,
    sinceMs: madePlan ? plan.madeAtMs : null,
    knowsLegs: plan.madeFor === firstRunId,
  };
  const legs = new Map(carried.legs.map((item) => [item.id, item]));
  for (const record of state.legs) record.stage = legFrom(legs.get(record.leg.id), heir);
  const payments = new Map(carried.payments.map((item) => [item.id, item]));
  for (const [index, record] of state.payments.entries()) {
    const item = payments.get(record.payment.id);
    record.traceId = carried.traceIds?.[index] ?? null;
    record.stage = paymentFrom(item, record.payment, heir);
  }
  state.cancelled = carried.cancelled;
  state.evidence = [...carried.evidence];
  return true;
}

/**
 * `from`: the Temporal run that hands on. `to`: the one that goes on. `sinceMs`: since when `from` knew all
 * items as its own; null: it did not know all. `knowsLegs`: what it knew of legs counts.
 */
type Heir = {
  readonly from: string;
  readonly to: string;
  readonly sinceMs: number | null;
  readonly knowsLegs: boolean;
};

/** The name of a Temporal run, or of the payer that a chunk is, with `to` in the place of `from`. */
function ofHeir<Id extends string | null>(of: Id, { from, to }: Heir): Id | string {
  if (of === from) return to;
  return of !== null && isPayerOfChunk(of, from) ? `${of.slice(0, -from.length)}${to}` : of;
}

function known<State extends SendState>(state: State, heir: Heir): State {
  if (state.knownIn !== null) return { ...state, knownIn: ofHeir(state.knownIn, heir) };
  // A failed call may have sent something that is not known.
  if (heir.sinceMs === null || state.sent) return state;
  return { ...state, knownIn: heir.to, knownAtMs: heir.sinceMs };
}

function legFrom(item: CarriedLeg | undefined, heir: Heir): LegStage {
  switch (item?.kind) {
    case undefined:
      return { ...newLeg(), state: knownLeg(NEW_LEG, heir) };
    case 'converting': {
      const { kind, state, needsHuman } = item;
      // The quote only helps to find its trade. It is not traded any more.
      const quote = state.quote ? { ...state.quote, usableUntilMs: 0 } : null;
      return {
        kind,
        state: knownLeg({ ...NEW_LEG, ...state, quote, heard: null, askedIn: null }, heir),
        needsHuman,
      };
    }
    case 'traded': {
      const { atMs, worse, tradeId, quoted, settledAtMs } = item;
      const trade = { tradeId, quoted };
      const stage = { kind: 'handed on', atMs, ...ifSettled(settledAtMs), trade } as const;
      return heir.knowsLegs ? { ...stage, worse } : { ...stage, worse: null, isAnew: true };
    }
    case 'not traded': {
      const { id: _, ...stage } = item;
      return { ...stage, endedIn: ofHeir(stage.endedIn, heir) };
    }
  }
}

function knownLeg(state: LegState, heir: Heir): LegState {
  return heir.knowsLegs ? known(state, heir) : asForgotten(state);
}

function paymentFrom(item: CarriedPayment | undefined, payment: Payment, heir: Heir): PaymentStage {
  switch (item?.kind) {
    case undefined:
      return { ...newPayment(), state: known(NEW_PAYMENT, heir) };
    case 'unsent': {
      const phase = phaseFrom(item.phase, item.id);
      const sends = sendsOf({ ...asKnownIn(heir.from), ...item.state });
      const state = known({ ...NEW_PAYMENT, ...sends, phase }, heir);
      const needsHuman = item.needsHuman === true;
      return { ...newPayment(), state: { ...state, walkedIn: ofHeir(state.walkedIn, heir) }, needsHuman };
    }
    case 'accepted':
    case 'paid':
      return { kind: item.kind, accepted: acceptedFrom(item, payment) };
    case 'failed': {
      const { endedIn, ...sent } = item;
      return { kind: 'failed', accepted: acceptedFrom(sent, payment), endedIn: ofHeir(endedIn, heir) };
    }
    case 'not paid':
      return { kind: 'not paid', problem: item.problem, endedIn: ofHeir(item.endedIn, heir) };
  }
}

function phaseFrom(carried: CarriedPhase | undefined, item: string): PaymentPhase {
  switch (carried?.kind) {
    case undefined:
      return OPEN;
    case 'short': {
      const { code, ...rest } = carried;
      const fix = moneyAdvice({ shortfall: 'hold' }, 'money');
      return { ...rest, problem: { code, item, message: saidBy(code), fix } };
    }
    case 'spent':
      return carried;
  }
}

function acceptedFrom(
  { id: _id, kind: _kind, ...record }: ItemOf<Omit<CarriedSent, 'endedIn'>>,
  payment: Payment,
): Accepted {
  return { reference: payment.reference, createdAtMs: null, ...record };
}
