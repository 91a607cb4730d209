/** Temporal's own *Reset*, as the UI and the command line send it: every event that it takes, and one call. */
import { isGrpcServiceError, type Client } from '@temporalio/client';
import { resetTo, type EventId } from '../../support/resets.ts';

/** A place in a history to which a run can be reset. */
export type Place = {
  readonly eventId: EventId;
  /** A signal came after it: to apply it again or not makes a difference. */
  readonly beforeSignal: boolean;
};

/** Events that the server takes as the end of a workflow task: started, completed, timed out, failed. */
const LEGAL_TYPES = [6, 7, 8, 9];
/** `WORKFLOW_EXECUTION_SIGNALED` in the server's enumeration. */
const SIGNALED = 26;

/** The places of a run, oldest first. */
export async function legalPlaces(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<readonly Place[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const all = events ?? [];
  const lastSignal = all.findLastIndex(({ eventType }) => Number(eventType) === SIGNALED);
  return all.flatMap(({ eventId, eventType }, index) =>
    eventId && LEGAL_TYPES.includes(Number(eventType)) ? [{ eventId, beforeSignal: index < lastSignal }] : [],
  );
}

/** Ids of the events of a run to which it can be reset, oldest first. */
export async function legalEvents(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<readonly EventId[]> {
  return (await legalPlaces(client, workflowId, runId)).map(({ eventId }) => eventId);
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
    const { namespace } = client.options;
    return await resetTo({ client, namespace }, base, eventId, { signals: options.withSignals });
  } catch (error) {
    if (isGrpcServiceError(error) && error.details.includes('must be at the boundary')) return null;
    throw error;
  }
}
