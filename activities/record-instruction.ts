/**
 * `recordInstruction`: records an instruction that came by way of Temporal (its Cancel button), as if a
 * person had typed it. A run that is cancelled already (the command `cancel` also presses the button) is not
 * cancelled again.
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
      // If no instructions are kept yet, recording one opens the workflow that keeps them.
      if (!(await isRunCancelled(deps, mode, run)))
        await deps.instructions.record(mode, run, { ...instruction, id });
    });
