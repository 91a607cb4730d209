/**
 * What one history of a run hands on to the next (continue-as-new), as little as will do: of each item only what differs
 * from one of which nothing is known, and nothing that the plan says. Pure.
 */
import type { Plan } from '../plan/plan.ts';
import type { SendState } from '../writes/doubt.ts';
import { OPEN, type PaymentPhase } from '../writes/phase.ts';
import { ADVICE } from '../writes/step.ts';
import type { Problem } from '../problems.ts';
import type { LegState } from '../writes/trade.ts';
import type { PaymentState } from '../writes/withdrawal.ts';
import {
  newLeg,
  newPayment,
  type Evidence,
  type LegRecord,
  type PaymentRecord,
  type RunState,
} from './state.ts';

export type Carried = {
  /** Which plan it is about; null while there is none. */
  readonly plan: string | null;
  /** The Temporal run that hands on: its own id, not the one that a reset keeps. */
  readonly runId: string;
  /** Items of which nothing is known are left out. */
  readonly legs: readonly CarriedLeg[];
  readonly payments: readonly CarriedPayment[];
  readonly cancelled: boolean;
  readonly evidence: readonly Evidence[];
};

type CarriedLeg = Partial<Omit<LegRecord, 'leg' | 'waiting' | 'state'>> & {
  readonly id: string;
  readonly state?: Partial<LegState>;
};

type CarriedPayment = Partial<
  Omit<PaymentRecord, 'payment' | 'waiting' | 'release' | 'accepted' | 'state'>
> & {
  readonly id: string;
  readonly withdrawalId?: string;
  /** Only where it is not the plan's: of a later generation. */
  readonly reference?: string;
  /** Absent of one that is accepted: nothing more is sent. */
  readonly state?: Partial<Omit<PaymentState, 'phase'>>;
  /** Absent while nothing stands against sending it. */
  readonly phase?: CarriedPhase;
};

/** A refusal for lack of money by its code alone: many payments may wait for the same money. */
type CarriedPhase =
  | Extract<PaymentPhase, { kind: 'spent' }>
  | (Omit<Extract<PaymentPhase, { kind: 'short' }>, 'problem'> & { readonly code: Problem['code'] });

/** Tells one plan from another of the same run. */
function nameOf(plan: Plan): string {
  return [plan.policy.hash, plan.pinnedFor, plan.pinnedAtMs, plan.legs.length, plan.payments.length].join();
}

export function carry(state: RunState, runId: string): Carried {
  return {
    plan: state.plan === null ? null : nameOf(state.plan),
    runId,
    legs: state.legs.map(carryLeg).filter(isKnown),
    payments: state.payments.map(carryPayment).filter(isKnown),
    cancelled: state.cancelled,
    evidence: state.evidence,
  };
}

/** More than its id. */
function isKnown(item: object): boolean {
  return Object.keys(item).length > 1;
}

function carryLeg(of: LegRecord): CarriedLeg {
  const { leg, state, waiting: _waiting, ...record } = of;
  const fresh = newLeg(leg);
  const known = differences(state, fresh.state);
  return { id: leg.id, ...differences(record, fresh), ...(known !== null && { state: known }) };
}

function carryPayment(of: PaymentRecord): CarriedPayment {
  const { payment, state, accepted, waiting: _waiting, release: _release, ...record } = of;
  const fresh = newPayment(payment);
  const known = { id: payment.id, ...differences(record, fresh) };
  if (accepted !== null) {
    const { withdrawalId, reference } = accepted;
    return { ...known, withdrawalId, ...(reference !== payment.reference && { reference }) };
  }
  const { phase, ...rest } = state;
  const ofState = differences(rest, fresh.state);
  const ofPhase = carryPhase(phase);
  return {
    ...known,
    ...(ofState !== null && { state: ofState }),
    ...(ofPhase !== null && { phase: ofPhase }),
  };
}

function carryPhase(phase: PaymentPhase): CarriedPhase | null {
  switch (phase.kind) {
    case 'open':
      return null;
    case 'short': {
      const { problem, ...rest } = phase;
      return { ...rest, code: problem.code };
    }
    case 'spent':
      return phase;
  }
}

/** The fields of `one` that are not as in `other`; null where there are none. */
function differences<T extends object>(one: T, other: T): Partial<T> | null {
  const differing = Object.entries(one).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name as keyof T]),
  );
  return differing.length === 0 ? null : (Object.fromEntries(differing) as Partial<T>);
}

/**
 * Takes over what an earlier history knew of the items of the same plan; of another plan nothing. It was handed on
 * between two writes, so that what it knew as its own is whole: the Temporal run that goes on, `runId`, knows it as its
 * own. A reset of it does not. True when it was about this plan.
 */
export function takeOver(state: RunState, carried: Carried, runId: string): boolean {
  const { plan } = state;
  if (plan === null || carried.plan !== nameOf(plan)) return false;
  // Whoever made the plan over an empty service knows of every item, also of those that it never asked about.
  const madePlan = plan.pinnedFor === carried.runId && !plan.foundRecords;
  const taken = <Known extends SendState>(known: Known): Known => {
    if (known.knownIn === carried.runId) return { ...known, knownIn: runId };
    if (known.knownIn !== null || !madePlan) return known;
    return { ...known, knownIn: runId, knownAtMs: plan.pinnedAtMs };
  };
  const mapped = (of: string | null): string | null => (of === carried.runId ? runId : of);
  const legs = new Map(carried.legs.map((item) => [item.id, item]));
  for (const record of state.legs) {
    const { id: _, state: known, ...rest } = legs.get(record.leg.id) ?? { id: '' };
    Object.assign(record, rest);
    record.state = taken({ ...record.state, ...known });
    record.endedIn = mapped(record.endedIn);
  }
  const payments = new Map(carried.payments.map((item) => [item.id, item]));
  for (const record of state.payments) {
    const { payment } = record;
    const {
      id: _,
      state: known,
      phase,
      withdrawalId,
      reference = payment.reference,
      ...rest
    } = payments.get(payment.id) ?? { id: '' };
    Object.assign(record, rest);
    if (withdrawalId !== undefined) record.accepted = { withdrawalId, reference };
    const whole = taken({ ...record.state, ...known, phase: phaseOf(phase, payment.id) });
    record.state = { ...whole, walkedIn: mapped(whole.walkedIn) };
    record.endedIn = mapped(record.endedIn);
  }
  state.cancelled = carried.cancelled;
  state.evidence = [...carried.evidence];
  return true;
}

function phaseOf(carried: CarriedPhase | undefined, item: string): PaymentPhase {
  switch (carried?.kind) {
    case undefined:
      return OPEN;
    case 'short': {
      const { code, ...rest } = carried;
      const message = `The service answered ${code}.`;
      return { ...rest, problem: { code, item, message, fix: ADVICE['wait for money'] } };
    }
    case 'spent':
      return carried;
  }
}
