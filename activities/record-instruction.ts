/** `recordInstruction`: keeps what came by way of Temporal (its Cancel button) as if a person had typed it. */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

export const recordInstruction =
  (deps: Deps): Activities['recordInstruction'] =>
  ({ mode, run, instruction }) =>
    beating(() => {
      const { runId } = ActivityContext.current().info.workflowExecution ?? { runId: 'unknown' };
      const id = `${instruction.kind}-${runId}`;
      return deps.instructions.record(mode, run, { ...instruction, id });
    });
