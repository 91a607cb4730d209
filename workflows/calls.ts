/**
 * What the workflows ask of the activities: one step each, safe to repeat. This file has only types. How long
 * each may take is in `activities.ts`, and the activities themselves are in `activities/`. What a run and its
 * chunks pass to them is in `domain/run/`.
 */
import type { SeenBatch } from '../domain/batch.ts';
import type { Observation } from '../domain/plan/observation.ts';
import type { KeptPlan, SendWindows } from '../domain/plan/plan.ts';
import type { Money, Policy, ReferenceRates } from '../domain/policy.ts';
import type { Ports } from '../domain/run/ports.ts';
import type {
  GoAnswer,
  GoCall,
  Settlement,
  SettlementCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
} from '../domain/run/calls.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Problem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import type { Accepted, Instruction, KeptPage } from '../domain/people/instructions.ts';
import type { InstructionsInput, ObserveInput, ScheduledInput } from './names.ts';

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

/** A start by a schedule: the nominal time, and when Temporal started it; epoch milliseconds. */
export type ScheduledCall = {
  readonly input: ScheduledInput;
  readonly nominalMs: number;
  readonly startedAtMs: number;
};

/** What came of a start by a schedule; `line` says it to a person. */
export type ScheduledResult = {
  /** `open` and `ended`: the run was there already, and nothing was started. `day off`: there is no run on this date. */
  readonly kind: 'started' | 'open' | 'ended' | 'day off';
  readonly date: string;
  readonly line: string;
};

export type ScheduledAnswer =
  | ScheduledResult
  /** Nothing was started, and nothing will be. */
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** Nothing was started now, because of a fault that may pass: the activity tries again until it is too late. */
export type NotNow = { readonly kind: 'not now'; readonly problems: readonly Problem[] };

/** The calls of a run are its ports; the other calls are for `plan` and `instructions`. */
export type Activities = Pick<
  Ports,
  | 'readPlan'
  | 'requestQuote'
  | 'executeTrade'
  | 'createWithdrawals'
  | 'confirmOutcomes'
  | 'readChunks'
  | 'recordInstruction'
  | 'tellRun'
> & {
  /** For `payments`: whether its payments may leave. */
  readGo(call: GoCall): Promise<GoAnswer>;
  awaitSettlement(call: SettlementCall): Promise<Settlement>;
  awaitWithdrawals(call: WithdrawalsCall): Promise<WithdrawalsAnswer>;
  /** For `plan`: reads policy and service. */
  observe(input: ObserveInput): Promise<Observed>;
  /**
   * For `instructions`: what all earlier Temporal runs of its id hold, and the id of the Temporal run that
   * asked. `offset`: where, among all instructions and facts, this part begins.
   */
  takeOverInstructions(
    call: InstructionsInput & { readonly offset: number },
  ): Promise<KeptPage & { readonly runId: string }>;
  /** For `instructions`: adds the moment and the date, by a clock that agrees with the service's. */
  acceptInstruction(call: { readonly instruction: Instruction }): Promise<Accepted>;
  /** For `scheduled`: starts the run of the date, or finds it there. */
  startScheduled(call: ScheduledCall): Promise<ScheduledAnswer>;
};
