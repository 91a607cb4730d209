/** Temporal's own *Reset*, as the UI and the command line send it: every event that it takes, and one call. */
import { randomUUID } from 'node:crypto';
import { isGrpcServiceError, type Client, type WorkflowHandle } from '@temporalio/client';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
/** As the server numbers events: 64 bits. */
export type EventId = NonNullable<NonNullable<History['events']>[number]['eventId']>;

/** Events that the server takes as the end of a workflow task: started, completed, timed out, failed. */
const LEGAL_TYPES = [6, 7, 8, 9];
/** Signals and updates, in the server's enumeration of what a reset may leave out. */
const SIGNALS_AND_UPDATES = [1, 2];

/** Ids of the events of a run to which it can be reset, oldest first. */
export async function legalEvents(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<readonly EventId[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return (events ?? [])
    .filter(({ eventType }) => LEGAL_TYPES.includes(Number(eventType)))
    .flatMap(({ eventId }) => eventId ?? []);
}

/**
 * Resets one run. The newest run of the id, if it is open, is terminated by the server. Returns the new run, or null when
 * the server does not take the event: a task that was started in the same stroke in which it was scheduled.
 */
export async function rewind(
  client: Client,
  base: { readonly workflowId: string; readonly runId: string },
  eventId: EventId,
  options: { readonly withSignals: boolean },
): Promise<string | null> {
  try {
    const { runId } = await client.workflowService.resetWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: base,
      workflowTaskFinishEventId: eventId,
      requestId: randomUUID(),
      reason: 'sweep',
      resetReapplyExcludeTypes: options.withSignals ? [] : SIGNALS_AND_UPDATES,
    });
    return runId;
  } catch (error) {
    if (isGrpcServiceError(error) && error.details.includes('must be at the boundary')) return null;
    throw error;
  }
}
