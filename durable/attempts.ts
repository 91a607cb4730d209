/** Asks Temporal whether an attempt of an activity still counts. */
import type { Client } from '@temporalio/client';
import { describe, isOpen } from './described.ts';

/** What identifies an attempt; the ids are Temporal's. */
export type AttemptOfActivity = {
  readonly workflowExecution?: { readonly workflowId: string; readonly runId: string };
  readonly activityId: string;
  readonly attempt: number;
};

/** False once it has timed out, its run has ended, or a reset has taken the run over. */
export async function isCurrentAttempt(client: Client, attempt: AttemptOfActivity): Promise<boolean> {
  const { workflowExecution } = attempt;
  if (workflowExecution === undefined) return false;
  const shown = await describe(client, workflowExecution.workflowId, workflowExecution.runId);
  if (shown === null || !isOpen(shown)) return false;
  const pending = shown.raw.pendingActivities?.find(({ activityId }) => activityId === attempt.activityId);
  return pending?.attempt === attempt.attempt;
}
