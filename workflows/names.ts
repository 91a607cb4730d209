/**
 * Names that clients and workflows share: ids, the task queue, queries, signals, updates, search attributes, and the
 * inputs. Nothing here runs.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import type { Mode } from '../domain/records.ts';
import { workflowIdOf, type RunName } from '../domain/references.ts';
import type { Plan } from '../domain/plan.ts';
import type { Report, Waiting } from '../domain/report.ts';
import type { Problem } from '../domain/stepper.ts';
import type { Fact, Instruction, Recorded } from '../domain/instructions.ts';

/** The task queue where none is named. One for each mode: a worker serves one mode only. */
export function defaultTaskQueue(mode: Mode): string {
  return mode === 'LIVE' ? 'cambist-live' : 'cambist-sandbox';
}

/** Workflow types as they stand in the Temporal UI. */
export const RUN_TYPE = 'run';
export const PLAN_TYPE = 'plan';
export const INSTRUCTIONS_TYPE = 'instructions';

/** Id of the small workflow that makes the plan of a run. */
export function planIdOf(mode: Mode, run: RunName): string {
  return `${workflowIdOf(mode, run)}/plan`;
}

/** Id of the workflow that keeps what people said about a run, outside the run's own history. */
export function instructionsIdOf(mode: Mode, run: RunName): string {
  return `${workflowIdOf(mode, run)}/instructions`;
}

export const policyAttribute = defineSearchAttributeKey('CambistPolicy', SearchAttributeType.KEYWORD);
export const modeAttribute = defineSearchAttributeKey('CambistMode', SearchAttributeType.KEYWORD);
/** `RUNNING`, `SETTLING` (waits for settlement in good time), `HELD`, or how the run ended. */
export const stateAttribute = defineSearchAttributeKey('CambistState', SearchAttributeType.KEYWORD);
/** What must be registered in the namespace before a run starts. */
export const SEARCH_ATTRIBUTES = ['CambistPolicy', 'CambistMode', 'CambistState'] as const;

/** What a run is started with. The policy's text, not its reading: the worker reads it again with its own eyes. */
export type RunInput = {
  readonly run: RunName;
  readonly mode: Mode;
  readonly policyText: string;
  /** SHA-256 of what the text says, hex; every worker computes it again and compares. */
  readonly policyHash: string;
  /** Name that messages call the policy by. */
  readonly policyFile: string;
  /** Texts of the files that the policy names (reference rates), by the name in the policy. */
  readonly files: Readonly<Record<string, string>>;
  /** What a person has said yes to (`movesOf`): a plan that moves anything else is not carried out. Absent: nobody was asked. */
  readonly shown?: readonly string[];
  /** Who started the run. */
  readonly startedBy: string;
};

/**
 * What `plan` is started with. `forRun` is the `originalExecutionRunId` of the run that asks, `askedBy` its Temporal run:
 * a refusal counts for that one alone. Neither identifies money.
 */
export type PlanInput = RunInput & { readonly forRun: string; readonly askedBy: string };

/** What `observe` is called with: the plan workflow's input and its own `originalExecutionRunId`, which finds the first result after a reset. */
export type ObserveInput = PlanInput & { readonly originalPlanRunId: string };

/** What `instructions` is started with. `previousRunId`: the Temporal run of its id before it, if there is one. */
export type InstructionsInput = {
  readonly mode: Mode;
  readonly run: RunName;
  readonly previousRunId: string | null;
};

/** Where the making of a plan stands: the plan, a refusal, or what it waits for (null: it is at work). */
export type PlanState =
  | { readonly kind: 'plan'; readonly plan: Plan }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  | { readonly kind: 'waiting'; readonly waiting: Waiting | null };

/** Where a run stands, for a terminal: one line per step. */
export type Progress = {
  readonly status: Report['status'];
  /** What happens now, or was last done, item by item, in plan order. */
  readonly items: readonly {
    readonly id: string;
    readonly kind: 'plan' | 'leg' | 'payment';
    readonly step: string;
    readonly waiting: Waiting | null;
  }[];
};

export const reportQuery = defineQuery<Report>('report');
export const progressQuery = defineQuery<Progress>('progress');
/** Wakes a run that waits: it looks at once. Carries nothing, decides nothing. */
export const wakeSignal = defineSignal('wake');

export const waitingQuery = defineQuery<Waiting | null>('waiting');

/** Answers the instruction as it was accepted, which is how a history tells of it. */
export const recordInstructionUpdate = defineUpdate<Recorded, [Instruction]>('record');
/** Answers the facts that are kept. */
export const noteFactsUpdate = defineUpdate<readonly Fact[], [readonly Fact[]]>('note');
/** The run has ended: nothing more is to be kept for now. */
export const runEndedSignal = defineSignal('runEnded');
