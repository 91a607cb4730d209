/** `takeOverInstructions`: reads from histories what all earlier runs of a workflow `instructions` hold. */
import { Context as ActivityContext } from '@temporalio/activity';
import { keptPage } from '../domain/people/instructions.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';

export const takeOverInstructions =
  (deps: Deps): Activities['takeOverInstructions'] =>
  ({ mode, run, chunk, offset }) =>
    beating(async () => {
      const runId = ActivityContext.current().info.workflowExecution?.runId ?? '';
      const earlier = await deps.instructions.readEarlier(mode, run, runId, chunk);
      return { runId, ...keptPage(earlier, offset) };
    });
