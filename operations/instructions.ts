/**
 * What people said about a run, and facts that no reset may lose: recorded and read in Temporal, outside the run's own
 * history (see `workflows/instructions.ts`).
 */
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { NOTHING_KEPT, type Fact, type Instruction, type Kept } from '../domain/instructions.ts';
import type { Mode } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import {
  INSTRUCTIONS_TYPE,
  instructionsIdOf,
  instructionsQuery,
  noteFactsUpdate,
  recordInstructionUpdate,
} from '../workflows/names.ts';

export type InstructionsOf = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
};

/** Keeps an instruction. Returns when Temporal has it durably. Needs a running worker. */
export async function recordInstruction(of: InstructionsOf, instruction: Instruction): Promise<void> {
  const nowMs = Date.now();
  const date = new Date(nowMs).toISOString().slice(0, 10);
  await of.client.workflow.executeUpdateWithStart(recordInstructionUpdate, {
    args: [{ ...instruction, atMs: nowMs, date }],
    startWorkflowOperation: opening(of),
  });
}

/** Keeps facts. Returns when Temporal has them durably. Needs a running worker. */
export async function noteFacts(of: InstructionsOf, facts: readonly Fact[]): Promise<void> {
  await of.client.workflow.executeUpdateWithStart(noteFactsUpdate, {
    args: [facts],
    startWorkflowOperation: opening(of),
  });
}

/** Everything that is kept about a run; nothing when nobody said or noted anything. */
export async function readInstructions(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept> {
  try {
    return await of.client.workflow.getHandle(instructionsIdOf(of.mode, of.run)).query(instructionsQuery);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return NOTHING_KEPT;
    throw error;
  }
}

function opening(of: InstructionsOf): WithStartWorkflowOperation<() => Promise<Kept>> {
  return new WithStartWorkflowOperation(INSTRUCTIONS_TYPE, {
    workflowId: instructionsIdOf(of.mode, of.run),
    taskQueue: of.taskQueue,
    args: [],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}
