/**
 * Keeps instructions, and facts, in the workflow `instructions` of a run (design: "Instructions"). Keeping
 * needs a worker; telling that workflow that the run ends needs none.
 */
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import {
  PERSON_WAITS_MS,
  type Fact,
  type Instruction,
  type Recorded,
} from '../../domain/people/instructions.ts';
import type { RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import {
  INSTRUCTIONS_TYPE,
  instructionsIdOf,
  noteFactsUpdate,
  recordInstructionUpdate,
  runEndedSignal,
  type InstructionsInput,
} from '../../workflows/names.ts';
import { newestRunOf, type InstructionsOf } from './read.ts';

/**
 * Keeps an instruction. Returns when Temporal has it durably. Needs a running worker.
 * @param seen the number of the newest entry of people that the person had seen; without one for what is never refused for
 * what was said since
 * @throws WorkflowUpdateFailedError when a person has said something since, or this one waits no longer
 */
export async function recordInstruction(
  of: InstructionsOf,
  instruction: Instruction,
  seen = 0,
): Promise<Recorded> {
  return of.client.workflow.executeUpdateWithStart(recordInstructionUpdate, {
    args: [instruction, { seen, untilMs: Date.now() + PERSON_WAITS_MS }],
    // An instruction that is sent twice is kept once.
    updateId: instruction.id,
    startWorkflowOperation: await opening(of),
  });
}

/** Keeps facts. Returns when Temporal has them durably. Needs a running worker. */
export async function noteFacts(of: InstructionsOf, facts: readonly Fact[]): Promise<void> {
  await of.client.workflow.executeUpdateWithStart(noteFactsUpdate, {
    args: [facts],
    startWorkflowOperation: await opening(of),
  });
}

/**
 * Tells the workflow that keeps the instructions of a run that the run ends. If that workflow is gone, there
 * is nothing to tell.
 */
export async function endInstructions(
  client: Client,
  mode: Mode,
  run: RunName,
  chunk?: number,
): Promise<void> {
  try {
    await client.workflow.getHandle(instructionsIdOf(mode, run, chunk)).signal(runEndedSignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/**
 * Opens the workflow that keeps the instructions of a run, where it is not open.
 * @param onlyIfKnown if Temporal knows no such workflow, none is opened: the instructions are missing, and a
 * person must be told
 */
export async function openInstructions(of: InstructionsOf, onlyIfKnown: boolean): Promise<void> {
  const { client, taskQueue, mode, run } = of;
  const known = await newestRunOf(client, instructionsIdOf(mode, run));
  if (known?.isOpen === true || (known === null && onlyIfKnown)) return;
  await client.workflow.start(INSTRUCTIONS_TYPE, {
    ...startOptions(of),
    taskQueue,
    args: [inputOf(of, known?.runId ?? null)],
  });
}

async function opening(of: InstructionsOf) {
  const known = await newestRunOf(of.client, instructionsIdOf(of.mode, of.run, of.chunk));
  return new WithStartWorkflowOperation(INSTRUCTIONS_TYPE, {
    ...startOptions(of),
    args: [inputOf(of, known?.runId ?? null)],
  });
}

function inputOf({ mode, run, chunk }: InstructionsOf, previousRunId: string | null): InstructionsInput {
  return { mode, run, ...(chunk !== undefined && { chunk }), previousRunId };
}

function startOptions({ taskQueue, mode, run, chunk }: InstructionsOf) {
  return {
    workflowId: instructionsIdOf(mode, run, chunk),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `${chunk === undefined ? 'What people said about' : `Which payments are paid again, of chunk ${chunk} of`} ${run.policy}.${run.id}`,
  } as const;
}
