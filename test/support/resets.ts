/** Temporal's own reset, as the UI's button calls it. */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { Temporal } from '../../config/temporal.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
/** As the server numbers events: 64 bits. */
export type EventId = NonNullable<NonNullable<History['events']>[number]['eventId']>;

/** `WORKFLOW_TASK_COMPLETED` of the server's enumeration of events. */
const WORKFLOW_TASK_COMPLETED = 7;
/** SIGNAL and UPDATE of its enumeration of what a reset may leave out. */
const SIGNALS_AND_UPDATES = [1, 2];

/** The events of one Temporal run to which the UI offers a reset, first to last. */
export async function resetPoints(handle: WorkflowHandle): Promise<readonly EventId[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? [])
    .filter(({ eventType }) => Number(eventType) === WORKFLOW_TASK_COMPLETED)
    .flatMap(({ eventId }) => eventId ?? []);
}

/** Resets one Temporal run to an event; what people signalled since comes again unless it is left out. Returns the new run. */
export async function resetTo(
  temporal: Pick<Temporal, 'client' | 'namespace'>,
  base: { readonly workflowId: string; readonly runId: string },
  eventId: EventId,
  options: { readonly signals: boolean } = { signals: true },
): Promise<string> {
  const { runId } = await temporal.client.workflowService.resetWorkflowExecution({
    namespace: temporal.namespace,
    workflowExecution: base,
    workflowTaskFinishEventId: eventId,
    requestId: randomUUID(),
    reason: 'test',
    resetReapplyExcludeTypes: options.signals ? [] : SIGNALS_AND_UPDATES,
  });
  return runId;
}
