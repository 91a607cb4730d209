/** Reads the history of one Temporal run, and the values of its payloads. The caller checks these values. */
import { ServiceError, WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client';
import { isRecord } from '../domain/shape.ts';
import { SEAL_KEY_MISSING, missingKeyIn } from '../domain/unreadable.ts';

export type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;
export type HistoryEvent = HistoryEvents[number];
type Payloads = Parameters<Client['options']['loadedDataConverter']['payloadCodecs'][number]['decode']>[0];

/** The code of gRPC for a request that makes no sense to the server. */
const INVALID_ARGUMENT = 3;
/** The code of gRPC for "there is no such thing". */
const NOT_FOUND = 5;

/**
 * Every event, oldest first; null when Temporal no longer has that run.
 * @param runId absent: the newest Temporal run of the id
 */
export async function readEvents(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<HistoryEvents | null> {
  try {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    return events ?? [];
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/**
 * The type of the failure of the last workflow task; null: it has not failed, or another one has followed. Reads a few events.
 * @param runId absent: the newest Temporal run of the id
 */
export async function lastTaskFailure(
  client: Client,
  workflowId: string,
  runId = '',
): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: LAST_EVENTS,
  });
  // Behind it there may be what came meanwhile, as a signal.
  const ends = (history?.events ?? []).flatMap(
    ({ workflowTaskFailedEventAttributes: failed, workflowTaskCompletedEventAttributes: completed }) =>
      failed || completed ? [failed?.failure ?? null] : [],
  );
  const [failure = null] = ends;
  // Of what the code of a workflow throws, Temporal keeps only the text.
  if (missingKeyIn(failure?.message ?? '') !== null) return SEAL_KEY_MISSING;
  return failure?.applicationFailureInfo?.type ?? null;
}

const LAST_EVENTS = 20;

/**
 * The type and the input with which the newest Temporal run of an id was started; null when Temporal has
 * none. Reads one event. `firstRunId`: the Temporal run with which its histories began, resets included. `continuedFrom`: the
 * Temporal run that has gone on in this one; null: none.
 * @param runId absent: the newest Temporal run of the id
 */
export async function readStart(client: Client, workflowId: string, runId?: string): Promise<Start | null> {
  try {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId: runId ?? '' },
      maximumPageSize: 1,
    });
    const started = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
    const [input] = await valuesOf({ client, workflowId }, started?.input?.payloads);
    const { workflowType, firstExecutionRunId, continuedExecutionRunId } = started ?? {};
    return {
      type: workflowType?.name ?? '',
      input,
      firstRunId: firstExecutionRunId ?? '',
      continuedFrom: continuedExecutionRunId || null,
    };
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

type Start = {
  readonly type: string;
  readonly input: unknown;
  readonly firstRunId: string;
  readonly continuedFrom: string | null;
};

/** When the server wrote the event, epoch milliseconds. */
export function timeOf({ eventTime }: HistoryEvent): number {
  return msOf(eventTime);
}

/** A moment of the server in epoch milliseconds; 0: it names none. */
export function msOf(time: HistoryEvent['eventTime']): number {
  return Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1_000_000);
}

/**
 * True when the error says that Temporal has no such workflow, or has it no longer. When a history is read,
 * only the code of the call says this.
 */
export function isGone(error: unknown): boolean {
  const isNotFound = error instanceof Error && 'code' in error && error.code === NOT_FOUND;
  return isNotFound || error instanceof WorkflowNotFoundError;
}

/** True when the error says that the server does not take such a request. */
export function isRefused(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === INVALID_ARGUMENT;
}

/** Whose payloads are read: those of a workflow, or of one of its activities. */
type OwnerOfPayloads = {
  readonly client: Client;
  readonly workflowId: string;
  readonly kind?: 'workflow' | 'activity';
};

/** The values of some payloads; `undefined` for a value that cannot be read. */
export async function valuesOf(
  { client, workflowId, kind = 'workflow' }: OwnerOfPayloads,
  payloads: Payloads | null | undefined,
): Promise<readonly unknown[]> {
  const { namespace, loadedDataConverter } = client.options;
  const { payloadCodecs, payloadConverter } = loadedDataConverter;
  const context =
    kind === 'workflow'
      ? { type: kind, namespace, workflowId }
      : { type: kind, namespace, workflowId, isLocal: false };
  let decoded = payloads ?? [];
  // The codecs are undone one after the other, in the reverse of their order.
  for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded, context);
  return decoded.map((payload) => {
    try {
      return payloadConverter.fromPayload<unknown>(payload);
    } catch {
      return undefined;
    }
  });
}

type Failure = NonNullable<NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure']>;

/** What a failure says. Where it is sealed, its own message only says that. */
export async function messageOf(
  of: OwnerOfPayloads,
  { message, encodedAttributes }: Failure,
): Promise<string | null> {
  const [sealed] = await valuesOf(of, encodedAttributes ? [encodedAttributes] : []);
  const said = isRecord(sealed) ? sealed['message'] : message;
  return typeof said === 'string' ? said : null;
}
