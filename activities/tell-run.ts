/** `tellRun`: which Temporal run asks. A run that is about to end with something undone learns so that it was reset. */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Activities } from '../workflows/calls.ts';

export const tellRun: Activities['tellRun'] = async () => ({ runId: ownRunId() });

/** Temporal run in which the activity runs. */
export function ownRunId(): string {
  return ActivityContext.current().info.workflowExecution?.runId ?? '';
}
