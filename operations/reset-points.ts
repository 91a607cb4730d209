/**
 * The events to which Temporal takes a reset back, first to last, each with the step that the run was at. The ids are
 * those that the reset dialog of Temporal's UI lists, which names no step. Reads a history; changes nothing.
 */
import type { Activities } from '../workflows/calls.ts';
import type { HistoryEvents } from './history.ts';

type HistoryEvent = HistoryEvents[number];
type Payload = NonNullable<NonNullable<HistoryEvent['userMetadata']>['summary']>;

/** As the server numbers events: 64 bits. */
export type EventId = NonNullable<HistoryEvent['eventId']>;

export type ResetPoint = {
  readonly eventId: number;
  readonly id: EventId;
  /** As the dialog calls it. */
  readonly kind: 'WorkflowTaskCompleted' | 'WorkflowTaskFailed' | 'WorkflowTaskTimedOut';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** What the run did next, which a reset to it does again. */
  readonly step: string;
};

/** What an activity is for, where nothing stands beside it in the history. */
const STEPS: Readonly<Record<keyof Activities, string>> = {
  readPlan: 'Read the plan',
  readChunks: 'Read how the chunks of the batch stand',
  readGo: 'Ask the run for the go',
  confirmOutcomes: 'See that the service shows what was done',
  recordInstruction: 'Keep what people said',
  requestQuote: 'Price',
  executeTrade: 'Trade',
  createWithdrawals: 'Pay',
  awaitSettlement: 'Wait for the settlement',
  awaitWithdrawals: 'Wait until payments are paid',
  tellRun: 'Ask which run it is',
  observe: 'Look at the service',
  takeOverInstructions: 'Take over what people said',
  acceptInstruction: 'Accept what a person says',
  startScheduled: 'Start the run of the schedule',
};

/** @param textOf the text of a payload */
export async function resetPointsOf(
  events: HistoryEvents,
  textOf: (payload: Payload) => Promise<string>,
): Promise<readonly ResetPoint[]> {
  const points: ResetPoint[] = [];
  const steps = await stepsByTask(events, textOf);
  // What failed, or timed out, was tried again: its step is that of the next one that was completed.
  let next = NO_STEP;
  for (const event of events.toReversed()) {
    const kind = kindOf(event);
    const { eventId: id } = event;
    if (kind === null || !id) continue;
    const eventId = Number(id);
    if (kind === 'WorkflowTaskCompleted') next = steps.get(eventId) ?? GOES_ON;
    points.push({ eventId, id, kind, atMs: timeOf(event), step: next });
  }
  return points.toReversed();
}

/**
 * The event to which a reset of the run tries everything again that is not done, at the least cost: the last one. A run that
 * has ended without a plan, or is completed, asks for nothing more at its end: the first one.
 */
export function recommendedPoint(
  points: readonly ResetPoint[],
  { fromTheStart }: { readonly fromTheStart: boolean },
): ResetPoint | null {
  return (fromTheStart ? points.find(isCompleted) : points.findLast(isCompleted)) ?? null;
}

function isCompleted({ kind }: ResetPoint): boolean {
  return kind === 'WorkflowTaskCompleted';
}

const GOES_ON = 'Goes on waiting';
const NO_STEP = 'Its first step';

function kindOf(event: HistoryEvent): ResetPoint['kind'] | null {
  if (event.workflowTaskCompletedEventAttributes) return 'WorkflowTaskCompleted';
  if (event.workflowTaskFailedEventAttributes) return 'WorkflowTaskFailed';
  return event.workflowTaskTimedOutEventAttributes ? 'WorkflowTaskTimedOut' : null;
}

/** What each completed task of the workflow brought about, in words. */
async function stepsByTask(
  events: HistoryEvents,
  textOf: (payload: Payload) => Promise<string>,
): Promise<ReadonlyMap<number, string>> {
  const steps = new Map<number, string>();
  for (const event of events) {
    const caused = await stepOf(event, textOf);
    if (caused === null) continue;
    const before = steps.get(caused.task);
    // Beside a call, a timer only says until when it is patient.
    if (before === undefined) steps.set(caused.task, caused.step);
    else if (!caused.isTimer) steps.set(caused.task, `${before}; ${caused.step}`);
  }
  return steps;
}

type Caused = { readonly task: number; readonly step: string; readonly isTimer: boolean };

async function stepOf(
  event: HistoryEvent,
  textOf: (payload: Payload) => Promise<string>,
): Promise<Caused | null> {
  const summary = event.userMetadata?.summary ?? null;
  const said = summary === null ? '' : await textOf(summary);
  const caused = (
    { workflowTaskCompletedEventId: task }: { readonly workflowTaskCompletedEventId?: unknown },
    step: string,
    isTimer = false,
  ): Caused => ({ task: Number(task), step, isTimer });
  const { activityTaskScheduledEventAttributes: activity, timerStartedEventAttributes: timer } = event;
  if (activity) {
    const type = activity.activityType?.name ?? '';
    const step = (STEPS as Readonly<Record<string, string>>)[type] ?? type;
    // Earlier versions of this program named the item only.
    return caused(activity, /\s/.test(said) ? said : said === '' ? step : `${step}: ${said}`);
  }
  if (timer) return caused(timer, said === '' ? 'Waits' : said, true);
  const ended =
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionCanceledEventAttributes ??
    event.workflowExecutionContinuedAsNewEventAttributes;
  if (ended) return caused(ended, 'Its end');
  const told = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
  return told ? caused(told, 'Says that it is about to end') : null;
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}
