/**
 * `recordInstruction`: keeps what came by way of Temporal (its Cancel button) as if a person had typed it. What a person
 * has said already (`cancel` presses the button too) is not said again.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Activities } from '../workflows/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

export const recordInstruction =
  (deps: Deps): Activities['recordInstruction'] =>
  ({ mode, run, instruction }) =>
    beating(async () => {
      const { runId } = ActivityContext.current().info.workflowExecution ?? { runId: 'unknown' };
      const id = `${instruction.kind}-${runId}`;
      // Where nothing is kept yet, recording opens what keeps it.
      if (!(await isRunCancelled(deps, mode, run)))
        await deps.instructions.record(mode, run, { ...instruction, id });
    });
