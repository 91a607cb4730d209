/** Whether Temporal has a workflow, and how it stands. All of our code asks about one workflow through this file. */
import type { Client, WorkflowExecutionDescription, WorkflowExecutionStatusName } from '@temporalio/client';
import { isGone, msOf } from './history.ts';
import { isOfMissingKey, readingOn } from './reading-on.ts';

type Shown = { readonly status: { readonly name: WorkflowExecutionStatusName } };

/**
 * Null: Temporal has no such workflow, or has it no longer. A memo whose key is missing is left unread.
 * @param runId absent: the newest Temporal run of the id
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
    if (isOfMissingKey(error)) return describe(readingOn(client), workflowId, runId);
    throw error;
  }
}

/**
 * True when the workflow has not ended. A workflow that a person has paused (newer servers can do that) goes
 * on when a person unpauses it.
 */
export function isOpen({ status }: Shown): boolean {
  return status.name === 'RUNNING' || status.name === 'PAUSED';
}

/** True when a worker may answer questions about it. Temporal refuses them for a paused workflow. */
export function canBeAsked(shown: Shown): boolean {
  return shown.status.name !== 'PAUSED';
}

/** Who has paused a workflow in Temporal, why, and since when (epoch milliseconds). Null: Temporal does not say. */
export type Paused = {
  readonly by: string | null;
  readonly why: string | null;
  readonly sinceMs: number | null;
};

/** Null: no person has paused it. */
export function pausedOf(shown: Shown & Pick<WorkflowExecutionDescription, 'raw'>): Paused | null {
  if (canBeAsked(shown)) return null;
  const info = shown.raw.workflowExtendedInfo?.pauseInfo;
  const time = info?.pausedTime;
  return {
    by: info?.identity || null,
    why: info?.reason || null,
    sinceMs: time ? msOf(time) : null,
  };
}

/** True when its own code has ended the workflow: no person terminated it, and it did not time out. */
export function hasEndedByItself({ status }: Shown): boolean {
  return status.name === 'COMPLETED' || status.name === 'FAILED' || status.name === 'CANCELLED';
}
