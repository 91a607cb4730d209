/**
 * What a run is started with, and what it asks of the world: the calls of its activities and their answers. Only data;
 * `workflows/calls.ts` names the activities, `activities/` carries them out.
 */
import type { BatchPayment, Manifest, SeenBatch } from '../batch.ts';
import type { InPlace } from '../replacement.ts';
import type { PayoutRules } from '../policy.ts';
import type { Observation } from '../plan/observation.ts';
import type { KeptPlan, Leg, Payment, Plan, PlanHead, SendWindows } from '../plan/plan.ts';
import type { Money, Policy, ReferenceRates, SettleSettings } from '../policy.ts';
import type { ServiceFacts } from '../service/facts.ts';
import type { Mode, Trade, Withdrawal } from '../service/records.ts';
import type { RunName } from '../references.ts';
import type { Problem } from '../problems.ts';
import type { Wait, Why } from '../waits.ts';
import type { Funding, OwnTrade } from '../writes/step.ts';
import type { LegState, LegStep, Traded } from '../writes/leg-state.ts';
import type { Accepted, PaymentState, PaymentStep, Wanted } from '../writes/withdrawal.ts';
import type { ChunkState } from './chunk-state.ts';
import type { Evidence } from './state.ts';

/** What a run is started with. It has the text of the policy, because the worker reads and checks that text itself. */
export type RunInput = InPlace & {
  readonly run: RunName;
  readonly mode: Mode;
  readonly policyText: string;
  /** SHA-256 of what the text says, hex; every worker computes it again and compares. */
  readonly policyHash: string;
  /** The name of the policy's file, for messages. */
  readonly policyFile: string;
  /** Texts of the files that the policy names (reference rates), by the name in the policy. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * For a payout whose policy names destinations: the accounts that may be paid (`domain/destinations.ts`). They are a part of
   * `policyHash`.
   */
  readonly destinations?: string;
  /**
   * What a person has said yes to (`movesOf`). A plan that moves anything else is not carried out. Absent: no person was
   * asked.
   */
  readonly shown?: readonly string[];
  /** Who started the run. */
  readonly startedBy: string;
  /** For a payout: its batch, which was submitted chunk by chunk before. */
  readonly batch?: Manifest;
};

/** What `chunk`, the workflow of one chunk of a batch, is started with, before the run is. */
export type ChunkInput = {
  readonly run: RunName;
  readonly mode: Mode;
  /** From 1. */
  readonly number: number;
  readonly payments: readonly BatchPayment[];
  /** A submission started it under an id that Temporal had never seen; false: it was started once more. */
  readonly isFirst: boolean;
};

/**
 * What `plan` is started with. `forRun` is the `originalExecutionRunId` of the run that asks, `askedBy` its Temporal run:
 * a refusal counts for that one alone. Neither identifies money.
 */
export type PlanInput = RunInput & {
  readonly forRun: string;
  readonly askedBy: string;
};

/**
 * The same after a plan that was refused. Without a plan nothing of the run can have been sent, so the new plan is made for the
 * Temporal run that asks, even where that is one of a reset: nothing of it needs a safety wait.
 */
export function afterRefusal(input: PlanInput): PlanInput {
  return { ...input, forRun: input.askedBy };
}

/** What the service and the policy say before there is a plan. `compilePlan` makes the plan from it. */
export type Observed =
  | {
      readonly kind: 'observed';
      readonly policy: Policy;
      /** The hash of what the policy says, as the worker has read it. */
      readonly policyHash: string;
      readonly date: string;
      readonly sendWindows: SendWindows;
      /** True when this was read in the turn of the run, which lasts until the run's last trade. */
      readonly hasTurn: boolean;
      readonly referenceRates: ReferenceRates | null;
      readonly decimals: Readonly<Record<string, number>>;
      readonly lateAfterMs: ServiceFacts['lateAfterMs'];
      readonly observation: Observation;
      readonly batch: SeenBatch | null;
      /** The sums of the payments that the service already shows under the run's name. */
      readonly paid: readonly Money[];
    }
  /** An earlier completed `plan` of the same id: its plan counts for ever. */
  | { readonly kind: 'made'; readonly plan: KeptPlan }
  | { readonly kind: 'wait'; readonly wait: Wait }
  /** No plan is made, nothing is sent: policy or files cannot be read, or the run may have no plan. */
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** Why no plan is made now. */
export type NotObserved = Extract<Observed, { kind: 'refused' | 'wait' }>;

/** Where the making of a plan stands: the plan, a refusal, or what it waits for (null: it is at work). */
export type PlanState =
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  | { readonly kind: 'waiting'; readonly waiting: Why | null };

/**
 * `cancelled`: the run was cancelled while there was no plan, by an instruction that no reset loses. The history of the
 * run may not know of it.
 */
export type PlanAnswer =
  | { readonly kind: 'plan'; readonly plan: KeptPlan }
  | Exclude<PlanState, { kind: 'plan' }>
  | { readonly kind: 'cancelled' }
  /** The plan was made from a policy that says something else; the hashes of both, computed by the worker. */
  | { readonly kind: 'other policy'; readonly planned: string; readonly given: string };

/**
 * What every call that may write says about the run. It shows a reset or a repeat, and is part of no key and no
 * reference.
 */
export type Call = {
  readonly plan: PlanHead;
  /** Number of the chunk whose payments it is about: nothing leaves without its coordinator's go. Absent: of no chunk. */
  readonly chunk?: number;
};

export type LegCall = Call & {
  readonly leg: Leg;
  readonly state: LegState;
  readonly othersAccepted: boolean;
  /** What the other legs of the run have sold and bought, because the limits of a run bind all of it. */
  readonly tradedSoFar: readonly Money[];
  /** Why the run does not want it any more; null: it does. */
  readonly unwanted: Problem | null;
  /** Whether another leg goes on at once. Then the run keeps its turn for it. */
  readonly follows: Follows;
  /** References of all legs of the plan, which tell a trade of another one. */
  readonly legs?: readonly string[];
  /** For a leg that funds a batch and waits for money; absent for all others. */
  readonly funding?: Funding;
  /** The leg of the run that still brings what this one sells, or may; absent: there is none. */
  readonly sale?: string;
  /** The trades of the other legs, which the lists may not show yet; absent: there is none. */
  readonly ownTrades?: readonly OwnTrade[];
};
/** `when done`: the other leg needs what this one brings, and goes on once this one has ended. */
export type Follows = 'at once' | 'when done' | 'none';
/** A leg whose trade came out worse than planned: whether people have accepted that. */
export type TradedCall = Call & Pick<LegCall, 'leg' | 'tradedSoFar'> & { readonly traded: Traded };
/**
 * Nothing may be asked or sent. The state of the item stays as it was, unless an earlier attempt of the call may have
 * sent something.
 */
export type Stopped = { readonly kind: 'stopped'; readonly wait: Wait; readonly mayHaveSent: boolean };
/** `runId`: the Temporal run in which the call was carried out; another one than before tells of a reset. */
export type LegAnswer = {
  readonly step: LegStep | Stopped;
  readonly evidence: readonly Evidence[];
  readonly runId: string;
};

export type PaymentsCall = Call & {
  readonly items: readonly {
    readonly payment: Payment;
    readonly wanted: Wanted;
    readonly state: PaymentState;
  }[];
  readonly othersAccepted: boolean;
  /** Ids that the service gave us for other payments of the run that one of these could be taken for. */
  readonly twinIds: readonly string[];
  /** So many are sent side by side at most; absent: all of them. */
  readonly sideBySide?: number;
  /** Absent: some of them were in a call before, and have waited since. */
  readonly isFirstTry?: true;
};
export type PaymentsAnswer = {
  readonly items: readonly {
    readonly id: string;
    readonly step: PaymentStep;
    /** The trace id of the reply to its last send, for the service's support; absent: nothing was sent, or no reply came. */
    readonly traceId?: string;
  }[];
  readonly evidence: readonly Evidence[];
  /**
   * The Temporal run that has paid, or the payer that a chunk is (`payerOf`). Null: a chunk that has no go, so that nothing
   * was sent, and no Temporal run takes up what has ended.
   */
  readonly runId: string | null;
};

/** What the service must show before payments go out. */
export type SettlementCall = {
  readonly plan: PlanHead;
  readonly leg: string;
  readonly tradeId: string;
  readonly until: SettleSettings['until'];
  readonly currency: string;
  /** A status in no list that people have been told of; null while there is none. */
  readonly unknownStatus: string | null;
  /**
   * A purchase, or a run that is cancelled, waits only until the trade is read, so what it says is news, whatever its status.
   * Absent: neither does.
   */
  readonly isAwaited?: true;
  /** What this run still has to pay in `currency`, as far as it knows. */
  readonly unpaid: readonly {
    readonly id: string;
    readonly account: string;
    readonly amount: string;
  }[];
  /** What its batch still has to pay in it besides, all chunks together. */
  readonly owedByBatch: string;
  /**
   * The Temporal runs in which items ended undone. Another Temporal run answers at once, because it takes them up
   * again.
   */
  readonly undoneIn: readonly string[];
};
/** A record of the service as a poll has read it. The workflow holds it against its own item before it believes the poll. */
export type ShownTrade = Omit<Trade, 'createdAt' | 'settlementWindow'>;
export type ShownWithdrawal = Omit<Withdrawal, 'createdAt'>;
export type Settlement =
  | { readonly kind: 'settled'; readonly record: ShownTrade }
  /** The status says that it will never settle. */
  | { readonly kind: 'failed'; readonly record: ShownTrade }
  /**
   * Not settled yet. The status has changed to one that is in no list, or from one, so that people are told; or the trade
   * is awaited. The status is asked for again.
   */
  | { readonly kind: 'news'; readonly record: ShownTrade; readonly isUnknown: boolean }
  /** The service has no trade with this id. */
  | { readonly kind: 'missing' }
  /** Nothing was asked, because this is another Temporal run than those in which items ended undone. */
  | { readonly kind: 'other run'; readonly runId: string }
  /**
   * Not settled yet. But the run was cancelled by an instruction that its history may not know, so that nothing needs
   * the money.
   */
  | { readonly kind: 'cancelled' }
  /** The service cannot be asked: people should know why. */
  | { readonly kind: 'wait'; readonly wait: Wait };

export type WithdrawalsCall = {
  readonly plan: PlanHead;
  /** As of every call. */
  readonly chunk?: number;
  /** `paid`, `status` and `isUnknown`: what is known of it; a paid one may still be returned. */
  readonly items: readonly {
    readonly id: string;
    readonly withdrawalId: string;
    readonly paid: boolean;
    readonly status: string | null;
    readonly isUnknown: boolean;
    /** It was paid, and is followed again, because it may have come back before this call. */
    readonly isAnew?: true;
  }[];
  /** As for settlement. */
  readonly undoneIn: readonly string[];
  /** Nothing else of the run is open: once all of these have ended, so has the run. */
  readonly isLast: boolean;
};
/**
 * The payments of the call of which the status is news, as many as fit an answer; the others, and those without a terminal
 * status, are asked for again.
 */
export type WithdrawalsAnswer = {
  /** The service cannot be asked: people should know why. Null when it could. */
  readonly wait: Wait | null;
  /** `paid` is null for a status that is not terminal; `isUnknown` when it is in no list. */
  readonly ended: readonly {
    readonly id: string;
    /** Null: the service has no withdrawal with this id. */
    readonly record: ShownWithdrawal | null;
    readonly paid: boolean | null;
    readonly isUnknown: boolean;
  }[];
  /** Who has looked, as in `PaymentsAnswer`. */
  readonly runId: string | null;
  /** The workflow `instructions` has been told that the run ends. A signal from the run itself would cost history. */
  readonly hasToldEnd: boolean;
};

/** What a chunk asks with. The worker reads the payments of the chunk from Temporal itself. */
export type GoCall = {
  readonly mode: Mode;
  readonly run: RunName;
  readonly number: number;
  readonly originalRunId: string;
  /** A history that handed on to this one was reset. Absent: none was. */
  readonly wasReset?: true;
  /** This history goes on from an earlier one of the chunk. */
  readonly isContinued: boolean;
  /** The `runId` of the last answer to the chunk that told of its run; null: no answer has told of it. */
  readonly heard: string | null;
  /** Payments are open, and the run has given its go, or this history goes on from one to which it may have. */
  readonly isOpen: boolean;
};
export type GoAnswer =
  | {
      readonly kind: 'go';
      readonly plan: PlanHead;
      /** The payments are this Temporal run's alone: no worker has sent any of them before. */
      readonly isFresh: boolean;
      /** One letter for each payment, as in the plan or, in a run that did not make the plan, as the service says now. */
      readonly unpayable: string | null;
      /** Payments that are unpayable and that no Temporal run has ever let go, by their places; absent: none is known. */
      readonly neverSent?: readonly number[];
      /** Runs that have paid, or hold, the payments that are unpayable because another batch has them. */
      readonly heldBy: readonly string[];
      /** One letter of `LOOK_ALIKE` for each payment; absent: nothing looks like any of them. */
      readonly alike?: string;
      /** A look-alike of the first payments that are held for one, by their place in the chunk. */
      readonly alikeIds?: Readonly<Record<number, string>>;
      /** Currencies that are paid now. */
      readonly released: readonly string[];
      /** So many of its payments at most; null: all of them. */
      readonly most: number | null;
      /** Why nothing more is sent; null: it is. */
      readonly stopped: Problem | null;
      /** How often people have asked to check everything. */
      readonly wakes: number;
      readonly rules: PayoutRules;
      /** So many of its payments leave side by side. */
      readonly sideBySide: number;
      /** So many of its payments are one call. */
      readonly callSize: number;
      /** The payer that the chunk is by this go (`payerOf`). */
      readonly runId: string;
    }
  /** The run has ended. `runId`: the payer without a coordinator. */
  | { readonly kind: 'over'; readonly runId: string }
  /** The run had ended before this chunk was reset, and was started again. `runId`: as above. */
  | { readonly kind: 'reopened'; readonly runId: string }
  /** The coordinator has not given it yet, or does not answer. */
  | { readonly kind: 'wait'; readonly wait: Wait }
  | { readonly kind: 'refused'; readonly problem: Problem };

export type GoOf = Extract<GoAnswer, { readonly kind: 'go' }>;

/** What a coordinator says to a chunk of its batch, whenever it is asked. */
export type Go = {
  /** Temporal run of the coordinator; of one that goes on in a new history, the one with which it began. */
  readonly runId: string;
  /** It is the run that made the plan, over a service that had no record of it, in whichever of its histories. */
  readonly isFresh: boolean;
  readonly isOver: boolean;
  readonly mayGo: boolean;
  readonly released: readonly string[];
  readonly most: number | null;
  readonly stopped: Problem | null;
  readonly wakes: number;
};

/** The coordinator reads these chunks, and tells these to ask for their go; one that has ended undone is started again. */
export type ChunksCall = {
  readonly mode: Mode;
  readonly run: RunName;
  readonly read: readonly number[];
  readonly tell: readonly number[];
  /** The run ends: nothing is started again. */
  readonly isEnding: boolean;
};
export type ChunksAnswer = {
  readonly chunks: readonly {
    readonly number: number;
    /** Null: Temporal has no such chunk. */
    readonly state: ChunkState | null;
    readonly isClosed: boolean;
  }[];
  readonly runId: string;
};

/**
 * `runId`: the Temporal run that asks. `done`: references of the items of which the service shows a record that has not
 * failed; absent: the call was about none. `beside`: absent where nobody has completed a call in its place.
 */
export type RunTold = {
  readonly runId: string;
  readonly done?: readonly string[];
  readonly beside?: Beside;
};

/**
 * Somebody has completed a call that may write in the place of its worker, or a history has ended that may have been at one, a moment ago;
 * the event of this number tells it. `againAfterMs`: after so long the lists show whatever that worker may still have sent.
 */
export type Beside = { readonly eventId: number; readonly againAfterMs: number };

/** Items of which an earlier history of the run has handed on the record, by the id that the service gave it. */
export type ConfirmCall = {
  readonly plan: PlanHead;
  readonly legs: readonly { readonly leg: Leg; readonly tradeId: string }[];
  /**
   * `amount`: null while it is not known how much the leg has brought. `reference`: of a later generation, as it was handed
   * on; absent: the payment's own.
   */
  readonly payments: readonly (Pick<Payment, 'id' | 'account' | 'currency'> & {
    readonly amount: string | null;
    readonly withdrawalId: string;
    readonly reference?: string;
  })[];
};
/**
 * `reference`: null where it is the payment's own, so that names do not count twice. `isPaid`: its status is a paid one;
 * `hasFailed`: a failed one.
 */
export type ConfirmedWithdrawal = Omit<Accepted, 'reference'> & {
  readonly reference: string | null;
  readonly isPaid: boolean;
  readonly hasFailed?: true;
};
export type Confirmed =
  /** The records that the service shows, and that are as planned for the item. */
  | {
      readonly kind: 'shown';
      readonly trades: readonly Traded[];
      readonly withdrawals: readonly ConfirmedWithdrawal[];
    }
  | { readonly kind: 'wait'; readonly wait: Wait };
