/**
 * `tellRun`: tells which Temporal run asks. By this, a run that is about to end with something undone learns
 * that it was reset.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Activities } from '../workflows/calls.ts';

export const tellRun: Activities['tellRun'] = async () => ({ runId: ownRunId() });

/** The Temporal run in which the activity runs. */
export function ownRunId(): string {
  return ActivityContext.current().info.workflowExecution?.runId ?? '';
}
