/** Whether Temporal has a workflow, and how it stands: everything of ours asks about one of them in this way. */
import type { Client, WorkflowExecutionDescription, WorkflowExecutionStatusName } from '@temporalio/client';
import { isGone } from './history.ts';

type Shown = { readonly status: { readonly name: WorkflowExecutionStatusName } };

/**
 * Null: Temporal has none, or not any more.
 * @param runId of another Temporal run than the newest one of the id
 */
export async function describe(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.workflow.getHandle(workflowId, runId).describe();
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** It has not ended. One that somebody has paused, which newer servers can, goes on as soon as somebody lets it. */
export function isOpen({ status }: Shown): boolean {
  return status.name === 'RUNNING' || status.name === 'PAUSED';
}

/** A worker may answer a question about it. Temporal refuses each one about a workflow that somebody has paused. */
export function canBeAsked(shown: Shown): boolean {
  return shown.status.name !== 'PAUSED';
}

/** Its own code has ended it: nobody has terminated it, and it has not timed out. */
export function hasEndedByItself({ status }: Shown): boolean {
  return status.name === 'COMPLETED' || status.name === 'FAILED' || status.name === 'CANCELLED';
}
