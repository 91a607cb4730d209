/**
 * What the workflows ask of the activities: one step each, safe to repeat. This file has only types. How long
 * each may take is in `activities.ts`, and the activities themselves are in `activities/`. What a run and its
 * chunks pass to them is in `domain/run/`.
 */
import type { Ports } from '../domain/run/ports.ts';
import type {
  GoAnswer,
  GoCall,
  Observed,
  Settlement,
  SettlementCall,
  WithdrawalsAnswer,
  WithdrawalsCall,
} from '../domain/run/calls.ts';
import type { Problem } from '../domain/problems.ts';
import type { Accepted, Instruction, KeptPage } from '../domain/people/instructions.ts';
import type { InstructionsInput, ObserveInput, ScheduledInput, TrialInput } from './names.ts';

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

/** Whether a worker could start a policy by its schedule now. */
export type TrialAnswer =
  | { readonly kind: 'able' }
  /** Not with the file that it has, or lacks, in its folder now; another one may come before the start. */
  | { readonly kind: 'not yet'; readonly problems: readonly Problem[] }
  /** It never could, as it is set up. */
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

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
  /** For `chunk`: whether its payments may leave. */
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
  /** For `trial`: whether this worker could start the policy by a schedule. Starts nothing. */
  tryScheduled(input: TrialInput): Promise<TrialAnswer>;
};
