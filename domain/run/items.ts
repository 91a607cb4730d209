/**
 * The items of a run: its legs and payments. Each is at one stage, with just what is known there. For each
 * stage, one exhaustive function says the outcome, one the problem, and one the service's record. Pure.
 */
import type { Leg, Payment } from '../plan/plan.ts';
import type { Problem } from '../problems.ts';
import type { Waiting } from '../waits.ts';
import { NEW_LEG, type LegState, type Traded } from '../writes/leg-state.ts';
import type { LookAlike } from '../writes/look-alikes.ts';
import { NEW_PAYMENT, type Accepted as Shown, type PaymentState } from '../writes/withdrawal.ts';

/** A leg that is being quoted and traded. `needsHuman`: its last call has left it to a person. */
export type ConvertingLeg = { readonly kind: 'converting'; state: LegState; needsHuman: boolean };
export type TradedLeg = {
  readonly kind: 'traded';
  /** When this run learned of it, epoch milliseconds. */
  readonly atMs: number;
  traded: Traded;
  /**
   * The trade came out worse than planned, and no person has accepted that. `isHeld`: the leg waits for a
   * person who does.
   */
  readonly worse: { readonly problem: Problem; readonly isHeld: boolean } | null;
  /** A poll has read the trade at the service. Absent: only a call has said that it is traded. */
  isShown?: true;
  /** False: the trade will never settle. Null: not known yet. */
  settled: boolean | null;
  /** When this run saw that it is settled, epoch milliseconds: the service tells no such time. Absent: it has not. */
  settledAtMs?: number;
  /** As in `LegStep`. */
  readonly isFoundLate?: true;
  /**
   * An earlier history has handed it on that did not begin with the run for which the plan was made. So whether it came out
   * worse than planned is asked once more.
   */
  readonly isAnew?: true;
};
/**
 * An earlier history has handed on the id of its trade, and the service has not shown that trade to this history yet. So what
 * it has brought is not known.
 */
export type HandedOnLeg = Pick<TradedLeg, 'atMs' | 'worse' | 'isAnew' | 'settledAtMs'> & {
  readonly kind: 'handed on';
  readonly trade: Pick<Traded, 'tradeId' | 'quoted'>;
};
/** `quoteId`: the leg's last quote, which was not traded. */
export type UntradedLeg = Ended & {
  readonly kind: 'not traded';
  readonly quoteId: string | null;
  readonly problem: Problem;
};
export type LegStage = ConvertingLeg | HandedOnLeg | TradedLeg | UntradedLeg;

/** A payment to be sent once its leg is decided: until then `release` is null. `needsHuman`: as for a leg. */
export type UnsentPayment = {
  readonly kind: 'unsent';
  state: PaymentState;
  release: Release | null;
  needsHuman: boolean;
};
/** The service has a record of it. An open run follows it even once it is paid: it may come back. */
export type SentPayment = { readonly kind: 'accepted' | 'paid'; readonly accepted: Accepted };
/** The service has a record of it, which says that it never will be paid. */
export type FailedPayment = Ended & { readonly kind: 'failed'; readonly accepted: Accepted };
/** The service has no record of it. */
export type UnpaidPayment = Ended & { readonly kind: 'not paid'; readonly problem: Problem };
export type PaymentStage = UnsentPayment | SentPayment | FailedPayment | UnpaidPayment;

/**
 * `endedIn`: the Temporal run whose call ended the item undone, or, of a chunk, the payer (`payer.ts`). Another one takes the
 * item up again; after `NO_RUN`, every one does.
 */
type Ended = { readonly endedIn: string };
export const NO_RUN = '';

/**
 * A payment that need not wait for its leg any more. `unwanted`: why it is not sent all the same; null: it is sent.
 * `isNeverSent` and `alike`: as in `Wanted`.
 */
export type Release = {
  readonly unwanted: Problem | null;
  readonly isNeverSent?: true;
  readonly alike?: LookAlike;
};

/**
 * The service's record of a payment: when it was taken for accepted, epoch milliseconds, and its last known status.
 * `createdAtMs`: null where an earlier history has handed it on, and the service has not shown it to this one yet.
 */
export type Accepted = Omit<Shown, 'amount' | 'status' | 'createdAtMs'> & {
  readonly createdAtMs: number | null;
  readonly atMs: number;
  status: string;
  /** When this run saw it paid, epoch milliseconds: the service tells no such time. Absent: that is not known. */
  paidAtMs?: number;
  /**
   * An earlier Temporal run knew the payment as paid. If it has come back, this run checks whether a person
   * wants it paid again.
   */
  readonly isAnew?: true;
};

/** A leg, and what the run knows of it. */
export type LegRecord = {
  readonly leg: Leg;
  stage: LegStage;
  waiting: Waiting | null;
  /** Calls about this leg are under way, and about no other leg. What it waited for may still be shown. */
  isAtWork: boolean;
  contradicted?: Contradicted;
};

/**
 * The id of a record that a call has named for the item, and that the service then did not show as planned. Where the item
 * gets the same record again, a person is told before it is followed once more.
 */
type Contradicted = string | null;

/** A payment, and what the run knows of it. */
export type PaymentRecord = {
  readonly payment: Payment;
  /** Null until it is known how much the leg has brought. */
  amount: string | null;
  stage: PaymentStage;
  waiting: Waiting | null;
  /** A call that may send it is under way. */
  isAtWork: boolean;
  /** The trace id of the service's last reply to a send; null also where a reset lost that reply. */
  traceId: string | null;
  contradicted?: Contradicted;
};

/** A record that a run took up no later than this after the service made it is one that it has followed from the beginning. */
const FROM_THE_BEGINNING_MS = 60_000;

/**
 * True when the run has followed a record from the beginning, so that it saw when its status changed. A lookup may find a
 * record that is long paid: then nobody has seen when.
 */
export function isFollowedFromTheBeginning(record: {
  readonly createdAtMs: number | null;
  readonly atMs: number;
}): boolean {
  const { createdAtMs, atMs } = record;
  return createdAtMs !== null && atMs - createdAtMs <= FROM_THE_BEGINNING_MS;
}

/** A payment that waits for no leg any more, and is to be sent. */
export type UnsentRecord = PaymentRecord & {
  stage: UnsentPayment & { release: Release };
};

export function newLeg(): ConvertingLeg {
  return { kind: 'converting', state: NEW_LEG, needsHuman: false };
}

export function newPayment(): UnsentPayment {
  return { kind: 'unsent', state: NEW_PAYMENT, release: null, needsHuman: false };
}

/** Moves the payment to another stage. What is known of the old stage is dropped. */
export function moveTo(record: PaymentRecord, stage: PaymentStage): void {
  record.stage = stage;
}

export type LegOutcome = 'TRADED' | 'NOT_TRADED' | 'NEEDS_HUMAN' | 'PENDING';
export type PaymentOutcome = 'PAID' | 'NOT_PAID' | 'NEEDS_HUMAN' | 'PENDING';

export function legOutcome({ stage }: LegRecord): LegOutcome {
  switch (stage.kind) {
    case 'converting':
      return stage.needsHuman ? 'NEEDS_HUMAN' : 'PENDING';
    case 'handed on':
      return 'PENDING';
    case 'traded':
      return 'TRADED';
    case 'not traded':
      return 'NOT_TRADED';
  }
}

export function paymentOutcome({ stage }: PaymentRecord): PaymentOutcome {
  switch (stage.kind) {
    case 'unsent':
      return stage.needsHuman ? 'NEEDS_HUMAN' : 'PENDING';
    case 'accepted':
      return 'PENDING';
    case 'paid':
      return 'PAID';
    case 'failed':
    case 'not paid':
      return 'NOT_PAID';
  }
}

/** What is wrong with a leg for good; null: nothing. */
export function legProblem({ leg, stage }: LegRecord): Problem | null {
  switch (stage.kind) {
    case 'converting':
      return null;
    case 'handed on':
      return stage.worse?.problem ?? null;
    case 'traded':
      return stage.settled === false
        ? settlementFailed(leg.id, stage.traded)
        : (stage.worse?.problem ?? null);
    case 'not traded':
      return stage.problem;
  }
}

/** What is wrong with a payment for good; null: nothing. */
export function paymentProblem({ payment, stage }: PaymentRecord): Problem | null {
  switch (stage.kind) {
    case 'unsent':
    case 'accepted':
    case 'paid':
      return null;
    case 'failed':
      return paymentFailed(payment.id, stage.accepted);
    case 'not paid':
      return stage.problem;
  }
}

/**
 * The stage of a leg if the leg is open; null: it is not. A leg with a trade that came out worse than planned is open
 * until a person accepts, and so is one of which that is not known.
 */
export function openLeg({ stage }: LegRecord): ConvertingLeg | TradedLeg | null {
  switch (stage.kind) {
    case 'converting':
      return stage;
    case 'traded':
      return stage.worse?.isHeld === true || stage.isAnew === true ? stage : null;
    case 'handed on':
    case 'not traded':
      return null;
  }
}

export function isOpenPayment({ stage }: PaymentRecord): boolean {
  switch (stage.kind) {
    case 'unsent':
    case 'accepted':
      return true;
    case 'paid':
    case 'failed':
    case 'not paid':
      return false;
  }
}

/** True when the leg of the payment is decided, and the payment is neither accepted nor ended. */
export function isUnsent(record: PaymentRecord): record is UnsentRecord {
  return record.stage.kind === 'unsent' && record.stage.release !== null;
}

/** The trade of a leg; null while the service has shown none to this history. */
export function tradeOf({ stage }: LegRecord): Traded | null {
  switch (stage.kind) {
    case 'traded':
      return stage.traded;
    case 'converting':
    case 'handed on':
    case 'not traded':
      return null;
  }
}

/** The id of the trade of a leg, also of one that was handed on and is not shown yet; null: there is none. */
export function tradeIdOf(record: LegRecord): string | null {
  const { stage } = record;
  return stage.kind === 'handed on' ? stage.trade.tradeId : (tradeOf(record)?.tradeId ?? null);
}

/** The service's record of a payment, even of one that has failed; null: the service has shown none. */
export function acceptedOf({ stage }: PaymentRecord): Accepted | null {
  switch (stage.kind) {
    case 'accepted':
    case 'paid':
    case 'failed':
      return stage.accepted;
    case 'unsent':
    case 'not paid':
      return null;
  }
}

function settlementFailed(item: string, { tradeId, status }: Traded): Problem {
  return {
    code: 'SETTLEMENT_FAILED',
    item,
    message: `The service says "${status}" of trade ${tradeId}: it will not settle.`,
    fix: 'Ask the operator of the service. No payment of its money was sent.',
  };
}

function paymentFailed(item: string, { withdrawalId, status }: Accepted): Problem {
  return {
    code: 'WITHDRAWAL_FAILED',
    item,
    message: `The service accepted withdrawal ${withdrawalId}, and later said "${status}".`,
    fix: 'Find out why at the service. Cambist never pays it again by itself. If it is still owed, type the same `run` with --pay-again.',
  };
}
