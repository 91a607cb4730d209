/**
 * `explain-reset`: what a reset of a run to an event would do, and to which events a reset is possible. Reads the history
 * and the report, and changes nothing. What it says about money is true for every event (M1). The event decides only which
 * steps are done again.
 */
import { successorIn } from '../../domain/people/instructions.ts';
import type { NextOfItem } from '../../domain/run/next-start.ts';
import type { Report } from '../../domain/run/report.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { DEFAULT_SERVICE_FACTS, type ServiceFacts } from '../../domain/service/facts.ts';
import { isRecord } from '../../domain/shape.ts';
import { othersSendMs } from '../../domain/writes/doubt.ts';
import { WRITE_LIMITS } from '../../workflows/limits.ts';
import { requireBuild } from '../watch/builds.ts';
import { readEvents, valuesOf, type HistoryEvents } from '../../durable/history.ts';
import { INSTRUCTION_CALL } from '../follow/instruction-evidence.ts';
import { nextOf } from '../decide/next-start.ts';
import type { Place } from '../place.ts';
import { planOf } from '../decide/plan-made.ts';
import { goOnCommand, isCancelledEnd, neverTaken, noSuchEvent, recommendedFor } from './verdict.ts';
import { resetPointsOf, type ResetPoint } from './points.ts';
import { readRun } from '../follow/read-run.ts';
import { requireRun, type RunFacts } from '../follow/runs.ts';

/** What happens to an item after a reset. */
export type Fate =
  /** Done, as the history before the event says. The service is not asked. */
  | 'stays as the history says'
  /** Done, but the run learned this after the event. The run looks it up at the service and adopts it. */
  | 'is found at the service and adopted'
  /** The payments of a batch are known to its chunks, which are not reset. */
  | 'stays as its chunk says, and is looked at once more'
  /** The service has accepted it, and the run follows it to its end. */
  | 'is followed'
  | 'is tried again'
  /** Its amount was computed from balances. */
  | 'is tried again while the balances still ask for it'
  /** Its record has failed, or its key is never sent again. Only a person can open another generation. */
  | 'stays unpaid until --pay-again'
  /** A person has opened generations of it, and the service has no record of them yet. */
  | 'is paid again, as a person has said'
  | 'waits for a person'
  /** Only --go-on takes a cancel back. */
  | 'stays undone: the run is cancelled'
  | 'stays undone: another run has taken its place';

export type ExplainedItem = {
  readonly item: string;
  readonly kind: 'leg' | 'payment';
  readonly outcome: string;
  readonly amount: string | null;
  readonly currency: string;
  readonly fate: Fate;
};

/** How long a trade waits after a reset, and why. */
export type SafetyWait = {
  /** The legs that wait; empty where there is no plan yet. */
  readonly items: readonly string[];
  readonly lastsMs: number;
  /**
   * Whose times count here: those of this terminal's service file, or the defaults. The worker itself waits as its own
   * service file says.
   */
  readonly by: 'service file' | 'defaults';
  readonly why: string;
};

export type ResetExplained = {
  readonly run: string;
  readonly status: string;
  /** The event that is explained. */
  readonly point: ResetPoint;
  readonly recommended: ResetPoint;
  /**
   * The command to type in place of `replay`. `replay` refuses a run that was cancelled and has ended, and a run whose place
   * another one has taken. Null: `replay` takes this run.
   */
  readonly insteadOfReplay: string | null;
  readonly points: readonly ResetPoint[];
  readonly items: readonly ExplainedItem[];
  /** The run has no plan: all of it is planned anew, unless the service shows something of it. */
  readonly isUnplanned: boolean;
  /** The wait of the legs that are tried again, or of the legs of a plan that is still to be made; null: no leg waits. */
  readonly safetyWait: SafetyWait | null;
  /** Signals after the event, by name. Temporal sends them to the run again. */
  readonly signals: readonly { readonly name: string; readonly count: number }[];
  /** What people said about the run. All of it still counts after a reset. */
  readonly said: Report['evidence'];
};

/**
 * @param event the id that a person names; null: the recommended one
 * @throws CommandFailure for an event to which Temporal cannot reset, and where the run’s work goes to a build that is gone
 */
export async function explainReset(
  place: Place,
  run: RunName,
  {
    event,
    nowMs,
    serviceFile,
  }: {
    readonly event: number | null;
    readonly nowMs: number;
    /** The service file of this terminal; null: it has none. */
    readonly serviceFile: Pick<ServiceFacts, 'settleDoubtMs'> | null;
  },
): Promise<ResetExplained> {
  const facts = await requireRun(place, run);
  await requireBuild(place, facts, nowMs);
  const view = await readRun(place, facts);
  const { report } = view;
  const events = (await readEvents(place.client, facts.workflowId, facts.temporalRunId)) ?? [];
  const values = (payloads: Payloads): Promise<readonly unknown[]> => valuesOf(place.client, payloads);
  const points = await resetPointsOf(events, async (payload) => textOf(await values([payload])));
  const recommended = recommendedFor(facts, report, points);
  const point = event === null ? recommended : (points.find(({ eventId }) => eventId === event) ?? null);
  if (recommended === null) throw neverTaken(run);
  if (point === null) throw noSuchEvent(run, event ?? 0);
  const isBatch = ((await planOf(place, run))?.batch ?? null) !== null;
  const known = await knownBefore(events, point.eventId, values);
  const next = nextOf(view, { takesCancelBack: false });
  const items = next.map((one) => explained(one, { known, isBatch }));
  return {
    run: runName(run),
    status: facts.isOpen ? report.status : facts.state,
    point,
    recommended,
    insteadOfReplay: commandInstead(facts, report, successorIn(view.said ?? [])),
    points,
    items,
    isUnplanned: items.length === 0,
    safetyWait: safetyWaitOf(items, serviceFile),
    signals: signalsAfter(events, point.eventId),
    said: report.evidence.filter(({ call }) => call === INSTRUCTION_CALL),
  };
}

function commandInstead(facts: RunFacts, report: Report, successor: string | null): string | null {
  const { run } = facts;
  if (successor !== null && !facts.isOpen)
    return `npx cambist status ${runName({ policy: run.policy, id: successor })}`;
  return isCancelledEnd(facts, report) ? goOnCommand(run) : null;
}

type Payloads = Parameters<typeof valuesOf>[1];

function textOf([value]: readonly unknown[]): string {
  return typeof value === 'string' ? value : '';
}

type Known = {
  /** Items that are done, as the history before the event says. */
  readonly known: ReadonlySet<string>;
  readonly isBatch: boolean;
};

function explained(one: NextOfItem, of: Known): ExplainedItem {
  const fate = fateOf(one, of);
  if (one.kind === 'leg') {
    const { id: item, outcome, buy: currency, buyAmount: amount } = one.item;
    return { item, kind: 'leg', outcome, amount, currency, fate };
  }
  const { id: item, outcome, currency, amount } = one.item;
  return { item, kind: 'payment', outcome, amount, currency, fate };
}

function fateOf({ next, kind, item }: NextOfItem, { known, isBatch }: Known): Fate {
  switch (next) {
    case 'done':
      if (isBatch && kind === 'payment') return 'stays as its chunk says, and is looked at once more';
      return known.has(item.id) ? 'stays as the history says' : 'is found at the service and adopted';
    case 'followed':
      return 'is followed';
    case 'tried again':
      return 'is tried again';
    case 'tried again while the balances ask for it':
      return 'is tried again while the balances still ask for it';
    case 'paid again':
      return 'is paid again, as a person has said';
    case 'left to --pay-again':
      return 'stays unpaid until --pay-again';
    case 'left to a person':
      return 'waits for a person';
    case 'cancelled':
      return 'stays undone: the run is cancelled';
    case 'superseded':
      return 'stays undone: another run has taken its place';
  }
}

/** Items that are traded or accepted, as the history before an event says. */
async function knownBefore(
  events: HistoryEvents,
  eventId: number,
  values: (payloads: Payloads) => Promise<readonly unknown[]>,
): Promise<ReadonlySet<string>> {
  const legs = new Map<number, string>();
  const known = new Set<string>();
  for (const event of events) {
    if (Number(event.eventId) >= eventId) break;
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const [call] = await values(scheduled.input?.payloads);
      if (isRecord(call) && isRecord(call['leg'])) legs.set(Number(event.eventId), String(call['leg']['id']));
    }
    const completed = event.activityTaskCompletedEventAttributes;
    if (!completed) continue;
    const [answer] = await values(completed.result?.payloads);
    if (!isRecord(answer)) continue;
    const leg = legs.get(Number(completed.scheduledEventId));
    if (leg !== undefined && kindOf(answer['step']) === 'traded') known.add(leg);
    for (const item of Array.isArray(answer['items']) ? answer['items'] : [])
      if (isRecord(item) && kindOf(item['step']) === 'accepted') known.add(String(item['id']));
  }
  return known;
}

function kindOf(step: unknown): unknown {
  return isRecord(step) ? step['kind'] : null;
}

/**
 * The history before the event does not show what was sent after it. An earlier quote may be traded at the moment when the
 * run asks for a new one, so each such leg waits as if its trade had been sent. A payment need not wait: its key shows
 * whether it was sent.
 */
function safetyWaitOf(
  items: readonly ExplainedItem[],
  serviceFile: Pick<ServiceFacts, 'settleDoubtMs'> | null,
): SafetyWait | null {
  const legs = items.filter(({ kind, fate }) => kind === 'leg' && fate.startsWith('is tried again'));
  if (legs.length === 0 && items.length > 0) return null;
  const { settleDoubtMs } = serviceFile ?? DEFAULT_SERVICE_FACTS;
  return {
    items: legs.map(({ item }) => item),
    lastsMs: othersSendMs({ attempt: WRITE_LIMITS }) + settleDoubtMs.trade,
    by: serviceFile === null ? 'defaults' : 'service file',
    why: 'What an earlier run sent in its last moments cannot be known, so it goes on looking before it asks for a new quote.',
  };
}

function signalsAfter(events: HistoryEvents, eventId: number): ResetExplained['signals'] {
  const counts = new Map<string, number>();
  for (const event of events) {
    const name = event.workflowExecutionSignaledEventAttributes?.signalName;
    if (name && Number(event.eventId) > eventId) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => ({ name, count }));
}
