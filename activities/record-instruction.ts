/**
 * `recordInstruction`: keeps what came by way of Temporal (its Cancel button) as if a person had typed it. What a person
 * has said already (`cancel` presses the button too) is not said again.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { isCancelled } from '../domain/people/instructions.ts';
import type { Activities } from '../workflows/calls.ts';
import { InstructionsMissing, type Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

export const recordInstruction =
  ({ instructions }: Deps): Activities['recordInstruction'] =>
  ({ mode, run, instruction }) =>
    beating(async () => {
      const { runId } = ActivityContext.current().info.workflowExecution ?? { runId: 'unknown' };
      const id = `${instruction.kind}-${runId}`;
      const said = await instructions.read(mode, run).then((kept) => kept.instructions, nothingSaid);
      if (!isCancelled(said)) await instructions.record(mode, run, { ...instruction, id });
    });

/** Where nothing is kept yet, recording opens what keeps it. */
function nothingSaid(error: unknown): readonly [] {
  if (error instanceof InstructionsMissing) return [];
  throw error;
}
