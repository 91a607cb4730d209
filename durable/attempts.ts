/** Asks Temporal whether an attempt of an activity still counts, and who has completed the others. */
import type { Client } from '@temporalio/client';
import { describe, isOpen } from './described.ts';
import { timeOf, type HistoryEvent } from './history.ts';

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

/** Of these a worker may be in the middle when a person completes them. */
const WRITING: readonly string[] = ['executeTrade', 'createWithdrawals'];
/** The workflow task that asks waits no longer. */
const READ_WITHIN_MS = 2_000;
const EVENTS_OF_A_PAGE = 200;

/**
 * The newest event behind which a worker may still be at a call that writes; null: there is none in the last `withinMs` of the history. By
 * such an event somebody else has completed the call than the worker that was given it: Temporal notes beside each event who has asked
 * for it. Or it is the first event of a history that goes on from another one, which a stranger's worker may have ended.
 */
export async function completedBeside(
  client: Client,
  execution: { readonly workflowId: string; readonly runId: string },
  withinMs: number,
): Promise<number | null> {
  const events = new Map<number, HistoryEvent>();
  const untilMs = Date.now() + READ_WITHIN_MS;
  for (let nextPageToken: Uint8Array | undefined, newestMs = 0; Date.now() < untilMs;) {
    // One page after the other, the newest first.
    const page = await client.withDeadline(untilMs, () =>
      client.workflowService.getWorkflowExecutionHistoryReverse({
        namespace: client.options.namespace,
        execution,
        maximumPageSize: EVENTS_OF_A_PAGE,
        ...(nextPageToken !== undefined && { nextPageToken }),
      }),
    );
    const read = page.history?.events ?? [];
    for (const event of read) {
      events.set(Number(event.eventId), event);
      newestMs ||= timeOf(event);
    }
    const isRecent = (event: HistoryEvent): boolean => newestMs - timeOf(event) <= withinMs;
    for (const [eventId, event] of events)
      if (isRecent(event) && (isCompletedBeside(events, event) || isContinuation(event))) return eventId;
    const last = read.at(-1);
    nextPageToken = page.nextPageToken ?? undefined;
    // A call may have begun long before it was completed.
    const isOver = last === undefined || newestMs - timeOf(last) > 2 * withinMs;
    if (isOver || !nextPageToken?.length) return null;
  }
  return null;
}

function isCompletedBeside(
  events: ReadonlyMap<number, HistoryEvent>,
  { activityTaskCompletedEventAttributes: completed }: HistoryEvent,
): boolean {
  if (!completed) return false;
  const begun = events.get(Number(completed.startedEventId))?.activityTaskStartedEventAttributes;
  const asked = events.get(Number(completed.scheduledEventId))?.activityTaskScheduledEventAttributes;
  if (!begun || !asked) return false;
  return begun.identity !== completed.identity && WRITING.includes(asked.activityType?.name ?? '');
}

function isContinuation({ workflowExecutionStartedEventAttributes: started }: HistoryEvent): boolean {
  return Boolean(started?.continuedExecutionRunId);
}
