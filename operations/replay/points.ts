/**
 * The events to which Temporal can reset, first to last, each with the step at which the run was. The ids are those of the
 * reset dialog in Temporal's UI, which names no step. Reads a history; changes nothing.
 */
import { END_STEP, Steps, activityStep, signalStep, timerStep } from '../../workflows/steps.ts';
import { timeOf, type HistoryEvent, type HistoryEvents } from '../../durable/history.ts';

type Payload = NonNullable<NonNullable<HistoryEvent['userMetadata']>['summary']>;

/** As the server numbers events: 64 bits. */
export type EventId = NonNullable<HistoryEvent['eventId']>;

export type ResetPoint = {
  readonly eventId: number;
  readonly id: EventId;
  /** As the dialog names it. */
  readonly kind: 'WorkflowTaskCompleted' | 'WorkflowTaskFailed' | 'WorkflowTaskTimedOut';
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** What the run did next. A reset to this event does it again. */
  readonly step: string;
  /** A person has ended a call that the run made in this step, beside the call's worker. What came of it is not known. */
  readonly isEndedBeside: boolean;
};

/** The text of a payload of a workflow, or of one of its activities. */
type TextOf = (payload: Payload, kind: 'workflow' | 'activity') => Promise<string>;

export async function resetPointsOf(events: HistoryEvents, textOf: TextOf): Promise<readonly ResetPoint[]> {
  const points: ResetPoint[] = [];
  const steps = await stepsByTask(events, textOf);
  const endedBeside = endedBesideIn(events);
  // Temporal tries a task again that failed or timed out, so its step is that of the next task that completed.
  let next = NO_STEP;
  for (const event of events.toReversed()) {
    const kind = kindOf(event);
    const { eventId: id } = event;
    if (kind === null || !id) continue;
    const eventId = Number(id);
    if (kind === 'WorkflowTaskCompleted') next = steps.of(eventId) ?? GOES_ON;
    points.push({
      eventId,
      id,
      kind,
      atMs: timeOf(event),
      step: next,
      isEndedBeside: endedBeside.has(eventId),
    });
  }
  return points.toReversed();
}

/**
 * The best event for a reset: everything that is not done is tried again, and the least is repeated. This is the last one,
 * but where a person has ended a call beside its worker, the one of that call, which is made again. A run that is completed,
 * or has ended without a plan, does nothing more at its end, so for such a run it is the first one.
 */
export function recommendedPoint(
  points: readonly ResetPoint[],
  { fromTheStart }: { readonly fromTheStart: boolean },
): ResetPoint | null {
  const endedBeside = points.find((point) => isCompleted(point) && point.isEndedBeside);
  if (endedBeside !== undefined) return endedBeside;
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

/** What each completed task of the workflow started, in words. */
async function stepsByTask(events: HistoryEvents, textOf: TextOf): Promise<Steps> {
  const steps = new Steps();
  for (const event of events) {
    const { activityTaskScheduledEventAttributes: activity, timerStartedEventAttributes: timer } = event;
    const summary = event.userMetadata?.summary ?? null;
    const said = summary === null ? '' : await textOf(summary, activity ? 'activity' : 'workflow');
    if (activity) steps.add(taskOf(activity), activityStep(activity.activityType?.name ?? '', said));
    if (timer) steps.add(taskOf(timer), timerStep(said), true);
    const told = event.signalExternalWorkflowExecutionInitiatedEventAttributes;
    if (told) steps.add(taskOf(told), signalStep(told.signalName ?? ''));
    const ended =
      event.workflowExecutionCompletedEventAttributes ??
      event.workflowExecutionFailedEventAttributes ??
      event.workflowExecutionCanceledEventAttributes ??
      event.workflowExecutionContinuedAsNewEventAttributes;
    if (ended) steps.add(taskOf(ended), END_STEP);
  }
  return steps;
}

/** No call of ours has such a limit: a person has shortened its time. */
const SCHEDULE_TO_CLOSE = 3;

/**
 * The tasks that made a call which a person has ended beside its worker: under another identity than the worker's that had
 * taken it, or by a shorter time.
 */
function endedBesideIn(events: HistoryEvents): ReadonlySet<number> {
  const tasks = new Map<string, number>();
  const workers = new Map<string, string>();
  const endedBeside = new Set<number>();
  for (const event of events) {
    const { activityTaskScheduledEventAttributes: made, activityTaskStartedEventAttributes: taken } = event;
    if (made) tasks.set(String(event.eventId), taskOf(made));
    if (taken) workers.set(String(taken.scheduledEventId), taken.identity ?? '');
    const ended = event.activityTaskCompletedEventAttributes ?? event.activityTaskFailedEventAttributes;
    const timedOut = event.activityTaskTimedOutEventAttributes;
    const call = String((ended ?? timedOut)?.scheduledEventId);
    const isBeside = ended
      ? ended.identity !== workers.get(call)
      : Number(timedOut?.failure?.timeoutFailureInfo?.timeoutType) === SCHEDULE_TO_CLOSE;
    const task = tasks.get(call);
    if (isBeside && task !== undefined) endedBeside.add(task);
  }
  return endedBeside;
}

function taskOf({ workflowTaskCompletedEventId: id }: { readonly workflowTaskCompletedEventId?: unknown }) {
  return Number(id);
}
