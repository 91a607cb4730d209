/** Asks Temporal whether an attempt of an activity still counts. */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';

/** What tells an attempt; the ids are Temporal's. */
export type AttemptOfActivity = {
  readonly workflowExecution?: { readonly workflowId: string; readonly runId: string };
  readonly activityId: string;
  readonly attempt: number;
};

/** False once it has timed out, its run has ended, or a reset has taken the run over. */
export async function isCurrentAttempt(client: Client, attempt: AttemptOfActivity): Promise<boolean> {
  const { workflowExecution } = attempt;
  if (workflowExecution === undefined) return false;
  try {
    const handle = client.workflow.getHandle(workflowExecution.workflowId, workflowExecution.runId);
    const { raw, status } = await handle.describe();
    const pending = raw.pendingActivities?.find(({ activityId }) => activityId === attempt.activityId);
    return status.name === 'RUNNING' && pending?.attempt === attempt.attempt;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
