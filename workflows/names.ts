/**
 * Names that clients and workflows share: ids, the task queue, queries, signals, updates, search attributes, and the
 * inputs. Nothing here runs.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import type { Mode } from '../domain/service/records.ts';
import { workflowIdOf, type RunName } from '../domain/references.ts';
import type { Go, PlanInput } from '../domain/run/calls.ts';
import type { ChunkState } from '../domain/run/chunk-state.ts';
import type { Holds } from '../domain/run/claims.ts';
import type { ProgressPage, RunPage } from '../domain/run/progress.ts';
import type { Reservation } from '../domain/plan/reserved.ts';
import type { GoneNoted, TurnAnswer, TurnState } from '../domain/turn.ts';
import type { Halt, HaltSaid, ResumeSaid, ResumeSigned } from '../domain/halt.ts';
import type { AboutDate } from '../domain/known-dates.ts';
import type { Fact, Instruction, Recorded, Saying } from '../domain/people/instructions.ts';

/** Workflow types as the Temporal UI shows them. */
export const RUN_TYPE = 'run';
export const PLAN_TYPE = 'plan';
export const CHUNK_TYPE = 'chunk';
export const INSTRUCTIONS_TYPE = 'instructions';
export const TURN_TYPE = 'turn';
export const SCHEDULED_TYPE = 'scheduled';
export const TRIAL_TYPE = 'trial';
/**
 * The type of the workflow that records what is halted (`durable/halts/read.ts`). No code stands behind it:
 * its history is the record, and no worker serves its task queue.
 */
export const HALT_TYPE = 'halt';
/** The type of the workflow that keeps what is known of a schedule's dates (`operations/schedules/known-dates.ts`), in the same way. */
export const STARTS_TYPE = 'starts';
export const UNSERVED_QUEUE = 'cambist-served-by-nobody';

/** Id of the small workflow that makes the plan of a run. */
export function planIdOf(mode: Mode, run: RunName): string {
  return `${workflowIdOf(mode, run)}/plan`;
}

/**
 * Id of the workflow that keeps what people said about a run, outside the run's own history. With `chunk`,
 * from 1, the one that keeps what is about the payments of this chunk, so that none of them grows with the
 * batch: `<run>/instructions-0001`.
 */
export function instructionsIdOf(mode: Mode, run: RunName, chunk?: number): string {
  const id = `${workflowIdOf(mode, run)}/instructions`;
  return chunk === undefined ? id : `${id}-${String(chunk).padStart(4, '0')}`;
}

/** Id of one chunk of a batch, from 1: `<run>/chunk-0001`. */
export function chunkIdOf(mode: Mode, run: RunName, number: number): string {
  return `${workflowIdOf(mode, run)}/chunk-${String(number).padStart(4, '0')}`;
}

/** The number in the id of a chunk; null for other workflow ids. */
export function chunkNumberOf(workflowId: string): number | null {
  const digits = /\/chunk-(\d{4,})$/.exec(workflowId)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** What a worker logs when a workflow has shown how it stands. */
export const SHOWN = 'shows how it stands';

/** Id of the workflow in which the runs of an organisation take turns. */
export function turnIdOf(mode: Mode, organisation: string): string {
  return `${mode.toLowerCase()}/${organisation}/turn`;
}

/** Id of the workflow that keeps what is halted in a mode. No run has it, because a run's id has a dot. */
export function haltIdOf(mode: Mode): string {
  return `${mode.toLowerCase()}/halt`;
}

/** Id of the workflow to which workers say that a drill of the kill switch has stopped them. */
export function haltDrillIdOf(mode: Mode, drill: string): string {
  return `${haltIdOf(mode)}-drill/${drill}`;
}

/** Id of the Temporal schedule of a policy. What it starts has this id too, with the nominal time behind it. */
export function scheduleIdOf(mode: Mode, policy: string): string {
  return `${mode.toLowerCase()}/schedule/${policy}`;
}

/** Id under which Temporal starts `scheduled` for a nominal time (epoch milliseconds, whole seconds). */
export function scheduledIdOf(mode: Mode, policy: string, nominalMs: number): string {
  return `${scheduleIdOf(mode, policy)}-${new Date(nominalMs).toISOString().replace('.000Z', 'Z')}`;
}

/** Id of the workflow that keeps what is known of the dates of a policy's schedule. No policy has it: it has a slash. */
export function startsIdOf(mode: Mode, policy: string): string {
  return `${scheduleIdOf(mode, policy)}/starts`;
}

/** What a Temporal schedule gives to `scheduled`: the policy as it was when the schedule was applied. */
export type ScheduledInput = {
  readonly mode: Mode;
  readonly policy: string;
  readonly policyText: string;
  /** The name by which messages call the policy. */
  readonly policyFile: string;
};

/** What `schedule apply` gives to `trial`. `token`: an id of the question's own. */
export type TrialInput = ScheduledInput & { readonly token: string };

/** Id of the workflow that asks a worker whether it could start a policy by its schedule. */
export function trialIdOf({ mode, policy, token }: TrialInput): string {
  return `${mode.toLowerCase()}/trial/${policy}-${token}`;
}

/**
 * Temporal sets this on every workflow that a schedule starts: the nominal time, which for a trigger is the
 * moment of the trigger.
 */
export const nominalTimeAttribute = defineSearchAttributeKey(
  'TemporalScheduledStartTime',
  SearchAttributeType.DATETIME,
);

export const policyAttribute = defineSearchAttributeKey('CambistPolicy', SearchAttributeType.KEYWORD);
export const modeAttribute = defineSearchAttributeKey('CambistMode', SearchAttributeType.KEYWORD);
/** The report's status: `RUNNING`, `HELD`, or how the run ended. */
export const stateAttribute = defineSearchAttributeKey('CambistState', SearchAttributeType.KEYWORD);
/** The date of a run, `2026-11-21`. */
export const dateAttribute = defineSearchAttributeKey('CambistDate', SearchAttributeType.KEYWORD);
/** The attributes that must be registered in the namespace before a run starts. */
export const SEARCH_ATTRIBUTES = ['CambistPolicy', 'CambistDate', 'CambistMode', 'CambistState'] as const;

/**
 * The input of `observe`: the input of the workflow `plan`, and its own `originalExecutionRunId`, by which
 * the first result is found after a reset. `safeAtMs`: when this run takes the place of another one, the
 * moment from which on nothing of that run can arrive, as an earlier call has said, epoch milliseconds; null:
 * no call has said it.
 */
export type ObserveInput = PlanInput & {
  readonly originalPlanRunId: string;
  readonly safeAtMs: number | null;
};

/**
 * The input of `instructions`. `previousRunId`: the Temporal run of its id before it, if there is one.
 * `chunk`: it is about the payments of this chunk; absent: it is about the run.
 */
export type InstructionsInput = {
  readonly mode: Mode;
  readonly run: RunName;
  readonly chunk?: number;
  readonly previousRunId: string | null;
};

/** What the run of a batch says to the chunk of this number, and how a chunk stands. */
export const goQuery = defineQuery<Go, [number: number]>('go');
export const chunkQuery = defineQuery<ChunkState>('chunk');
/**
 * What a run or a chunk holds of these items, by their ids in small letters; of null: every item of which the service has
 * shown a record. Other runs ask it.
 */
export const holdsQuery = defineQuery<Holds, [names: readonly string[] | null]>('holds');
/**
 * There is news: of this chunk for its run, or of the run for its chunk. The signal carries nothing else and decides
 * nothing: the receiver reads what is new.
 */
export const newsSignal = defineSignal<[number: number]>('news');

/** Both answers begin at this payment. `readReport` and `readProgress` put the parts together. */
export const reportQuery = defineQuery<RunPage, [offset?: number]>('report');
export const progressQuery = defineQuery<ProgressPage, [offset?: number]>('progress');
/** Wakes a run that waits, so that it looks at once. The signal carries nothing and decides nothing. */
export const wakeSignal = defineSignal('wake');

/**
 * The part of the memo of `plan` in which it says why it waits. A program that describes the workflow gets it with the
 * answer: no worker is asked, and no other workflow stands in the way. Only a query tells the current details. Each change of
 * the memo costs one event.
 */
export const WAITS_MEMO = 'waits';
/** The part of the memo of `plan` that names the organisation whose money it plans with. */
export const ORGANISATION_MEMO = 'organisation';

/** Answers with the instruction as it is kept, so that the history contains it. */
export const recordInstructionUpdate = defineUpdate<Recorded, [Instruction, Saying]>('record');
/** Answers with the facts that are kept. */
export const noteFactsUpdate = defineUpdate<readonly Fact[], [readonly Fact[]]>('note');
/** The run has ended, so that nothing more need be kept for now. */
export const runEndedSignal = defineSignal('runEnded');

/** The input of `turn`. */
export type TurnInput = { readonly mode: Mode; readonly organisation: string };
/** `run`: the run's name. `isPlanning`: the run is about to read the balances that it plans with. */
export type TurnAsk = { readonly run: string; readonly isPlanning: boolean };
/** Waits for the turn, a few seconds at most. */
export const takeTurnUpdate = defineUpdate<TurnAnswer, [TurnAsk]>('take');
/** `tradedAtMs` is the clock of the worker once the run may have traded; null: the run has only planned. */
export const giveTurnBackSignal = defineSignal<[run: string, tradedAtMs: number | null]>('giveBack');
/** These runs have ended, so that what they had reserved is free. */
export const forgetRunsSignal = defineSignal<[runs: readonly string[]]>('forget');
/** A worker has found that a run is gone, while it may have sent a trade. `sinceMs`: the worker's clock then. */
export const noteGoneSignal = defineSignal<[GoneNoted]>('gone');
/** These runs have a plan, which a workflow `turn` that has begun anew does not know. */
export const takeOverRunsSignal = defineSignal<[runs: readonly string[]]>('takeOver');
/** A run that goes on after a reset may take money again. */
export const reopenRunSignal = defineSignal<[run: string]>('reopen');
/** People stop every write, or those of a scope, and let them go on. */
export const haltSignal = defineSignal<[HaltSaid]>('halt');
export const resumeSignal = defineSignal<[ResumeSaid]>('resume');
/** A person has signed that a halt may end. */
export const approveSignal = defineSignal<[ResumeSigned]>('approve');
/** Something is known of a date of a schedule. */
export const aboutDateSignal = defineSignal<[AboutDate]>('aboutDate');
/** A worker puts back a halt that it has seen and the record has lost. */
export const standsSignal = defineSignal<[Halt]>('stands');
/** A worker, named by its identity, says to a drill that it sends nothing any more of what is halted. */
export const stoppedSignal = defineSignal<[worker: string]>('stopped');
/** Which run has the turn, which runs wait for it, and which may still take money. */
export const turnQuery = defineQuery<TurnState>('turn');
/** What a run will still take; null while it has no plan. */
export const reservationQuery = defineQuery<Reservation | null>('reserved');
/**
 * Header of a query to a workflow that has ended. No further workflow task follows, so that the answer cannot
 * be ahead of one.
 */
export const HAS_ENDED = 'cambist-has-ended';
/** Mark in the metadata of a value that a worker with keys has opened (`sealed-failures.ts`). */
export const SEALED = 'cambist-sealed';
/** What a workflow answers to a query that came while it was about to go on (`never-ahead.ts`). */
export const ASK_AGAIN = 'The workflow is about to go on: ask again.';
