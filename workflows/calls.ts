/**
 * What the workflows ask of the activities: one step each, safe to repeat. Only types here; how long each may take is
 * in `activities.ts`, the activities themselves are in `activities/`.
 */
import type { Leg, Observation, Payment, Plan, Fences } from '../domain/plan.ts';
import type { Policy, ReferenceRates } from '../domain/policy.ts';
import type { Mode } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Evidence } from '../domain/report.ts';
import type { ServiceFacts } from '../domain/service-facts.ts';
import type { Problem, Wait } from '../domain/stepper.ts';
import type { LegState, LegStep } from '../domain/trade-steps.ts';
import type { Instruction, Kept, Recorded } from '../domain/instructions.ts';
import type { PaymentState, PaymentStep, Wanted } from '../domain/withdrawal-steps.ts';
import type { InstructionsInput, ObserveInput, PlanInput, PlanState } from './names.ts';

/** The plan without its items, as every call needs it. */
export type PlanHead = Omit<Plan, 'legs' | 'payments' | 'policy'>;

export function headOf(plan: Plan): PlanHead {
  const { legs: _legs, payments: _payments, policy: _policy, ...head } = plan;
  return head;
}

/** What every call that may write says about the run: tells a reset or a repeat, identifies no money. */
export type Call = {
  readonly plan: PlanHead;
  readonly originalRunId: string;
};

export type LegCall = Call & {
  readonly leg: Leg;
  readonly state: LegState;
  readonly othersAccepted: boolean;
};
/** `runId`: the Temporal run in which the call was carried out; another one than before tells of a reset. */
export type LegAnswer = {
  readonly step: LegStep;
  readonly evidence: readonly Evidence[];
  readonly runId: string;
};

export type PaymentsCall = Call & {
  readonly items: readonly {
    readonly payment: Payment;
    readonly wanted: Wanted;
    readonly state: PaymentState;
  }[];
  /** Ids that the service gave us for the run's other payments. */
  readonly acceptedIds: readonly string[];
};
export type PaymentsAnswer = {
  readonly items: readonly { readonly id: string; readonly step: PaymentStep }[];
  readonly evidence: readonly Evidence[];
  readonly runId: string;
};

/** What the service must show before payments go out. */
export type SettlementCall = {
  readonly plan: PlanHead;
  readonly leg: string;
  readonly tradeId: string;
  readonly until: 'funds' | 'status';
  readonly currency: string;
  /** A status in no list that people are told of already; null while there is none. */
  readonly unknownStatus: string | null;
  /** What this run still has to pay in `currency`, as far as it knows. */
  readonly unpaid: readonly {
    readonly reference: string;
    readonly account: string;
    readonly amount: string;
  }[];
};
export type Settlement =
  | { readonly kind: 'settled'; readonly status: string }
  /** The status says that it will never settle. */
  | { readonly kind: 'failed'; readonly status: string }
  /** Not yet, by a status that is in no list and news, or no longer is: people are told, and it is asked for again. */
  | { readonly kind: 'news'; readonly status: string; readonly isUnknown: boolean }
  /** Not yet, and the run was cancelled by a word that its history may know nothing of: nothing needs the money. */
  | { readonly kind: 'cancelled' }
  /** The service cannot be asked: people should know why. */
  | { readonly kind: 'wait'; readonly wait: Wait };

export type WithdrawalsCall = {
  readonly plan: PlanHead;
  /** `paid`, `status` and `isUnknown`: what is known of it; a paid one may still be returned. */
  readonly items: readonly {
    readonly id: string;
    readonly withdrawalId: string;
    readonly paid: boolean;
    readonly status: string | null;
    readonly isUnknown: boolean;
  }[];
  /** Temporal runs in which payments ended unpaid: another one answers at once, since it takes them up once more. */
  readonly undoneIn: readonly string[];
};
/** The payments of the call of which the status is news; those without a terminal one are asked for again. */
export type WithdrawalsAnswer = {
  /** The service cannot be asked: people should know why. Null when it could. */
  readonly wait: Wait | null;
  /** `paid` is null for a status that is not terminal; `isUnknown` when it is in no list. */
  readonly ended: readonly {
    readonly id: string;
    readonly status: string;
    readonly paid: boolean | null;
    readonly isUnknown: boolean;
  }[];
  readonly runId: string;
};

/** Records that an earlier history of the run handed on, by the ids that the service gave them. */
export type ConfirmCall = {
  readonly plan: PlanHead;
  readonly tradeIds: readonly string[];
  readonly withdrawalIds: readonly string[];
};
export type Confirmed =
  /** Those of them that the service shows, and shows as this run's. */
  | {
      readonly kind: 'shown';
      readonly tradeIds: readonly string[];
      readonly withdrawalIds: readonly string[];
    }
  | { readonly kind: 'wait'; readonly wait: Wait };

/** What the service and the policy say before there is a plan; `compilePlan` makes the plan from it. */
export type Observed =
  | {
      readonly kind: 'observed';
      readonly policy: Policy;
      /** Of what the policy says, as the worker has read it. */
      readonly policyHash: string;
      readonly date: string;
      readonly fences: Fences;
      readonly referenceRates: ReferenceRates | null;
      readonly decimals: Readonly<Record<string, number>>;
      readonly lateAfterMs: ServiceFacts['lateAfterMs'];
      readonly observation: Observation;
    }
  /** An earlier completed `plan` of the same id: its plan counts for ever. */
  | { readonly kind: 'pinned'; readonly plan: Plan }
  | { readonly kind: 'wait'; readonly wait: Wait }
  /** The policy or its files cannot be read: no plan, nothing sent. */
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** `cancelled`: while there was no plan, by an instruction that no reset loses, though the history may know nothing of it. */
export type PlanAnswer =
  | PlanState
  | { readonly kind: 'cancelled' }
  /** The plan was made from a policy that says something else; the hashes of both, computed by the worker. */
  | { readonly kind: 'other policy'; readonly planned: string; readonly given: string };

export interface Activities {
  /** For `run`: starts or finds the run's plan and reads it. */
  readPlan(input: Omit<PlanInput, 'askedBy'>): Promise<PlanAnswer>;
  /** For `plan`: reads policy and service. */
  observe(input: ObserveInput): Promise<Observed>;
  requestQuote(call: LegCall): Promise<LegAnswer>;
  executeTrade(call: LegCall): Promise<LegAnswer>;
  awaitSettlement(call: SettlementCall): Promise<Settlement>;
  createWithdrawals(call: PaymentsCall): Promise<PaymentsAnswer>;
  awaitWithdrawals(call: WithdrawalsCall): Promise<WithdrawalsAnswer>;
  /** Which Temporal run this is. Workflow code that branched on it would break replay; what an activity told is history. */
  tellRun(): Promise<{ readonly runId: string }>;
  /** Reads again what was handed on, before anything depends on it. */
  confirmOutcomes(call: ConfirmCall): Promise<Confirmed>;
  /** Keeps an instruction outside the run's history, as the command line does. */
  recordInstruction(call: {
    readonly mode: Mode;
    readonly run: RunName;
    /** Its id is the Temporal run's: pressed again in another one, it is said again. */
    readonly instruction: Omit<Extract<Instruction, { kind: 'cancel' }>, 'id'>;
  }): Promise<void>;
  /** For `instructions`: what every earlier Temporal run of its id holds, and the Temporal run that asked. */
  takeOverInstructions(input: InstructionsInput): Promise<{ readonly runId: string; readonly kept: Kept }>;
  /** For `instructions`: adds the moment and the date, by a clock that agrees with the service's. */
  acceptInstruction(call: { readonly instruction: Instruction }): Promise<Recorded>;
}
