/**
 * `explain-reset`: what a reset of a run would try again, and to which events a reset is possible. Reads the history and the
 * report, and changes nothing. What it says of money is true for every event (M1).
 */
import type { Recorded } from '../../domain/people/instructions.ts';
import { findPlan } from '../../durable/plans.ts';
import { replacedBy } from '../../domain/replacement.ts';
import type { Next, NextOfItem } from '../../domain/run/next-start.ts';
import type { Report } from '../../domain/run/report.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { goOnCommand } from '../../domain/replacement.ts';
import { DEFAULT_SERVICE_FACTS, type ServiceFacts } from '../../domain/service/facts.ts';
import { othersSendMs } from '../../domain/writes/doubt.ts';
import { WRITE_LIMITS } from '../../workflows/limits.ts';
import { requireBuild } from '../watch/builds.ts';
import { INSTRUCTION_CALL } from '../follow/instruction-evidence.ts';
import { nextOf } from '../decide/next-start.ts';
import type { Place } from '../place.ts';
import { isCancelledEnd, neverTaken, noSuchEvent, readResetPoints, recommendedFor } from './verdict.ts';
import type { ResetPoint } from './points.ts';
import { readRun } from '../follow/read-run.ts';
import { requireRun, type RunFacts } from '../follow/runs.ts';

/** What happens to an item after a reset, whatever the event. */
const FATES = {
  done: 'stays done',
  followed: 'is followed',
  'tried again': 'is tried again',
  'tried again while the balances ask for it': 'is tried again while the balances still ask for it',
  'paid again': 'is paid again, as a person has said',
  'left to --pay-again': 'stays unpaid until --pay-again',
  'left to a person': 'waits for a person',
  cancelled: 'stays undone: the run is cancelled',
  'left to another run': 'stays undone: another run has taken its place',
} as const satisfies Readonly<Record<Next, string>>;

export type ExplainedItem = {
  readonly item: string;
  readonly kind: 'leg' | 'payment';
  readonly outcome: string;
  readonly amount: string | null;
  readonly currency: string;
  readonly fate: (typeof FATES)[Next];
};

export type ResetExplained = {
  readonly run: string;
  readonly status: string;
  /** The zone of the policy; null: there is no plan. */
  readonly zone: string | null;
  /** The event that is explained. */
  readonly point: ResetPoint;
  readonly recommended: ResetPoint;
  /**
   * The command to type in place of `replay`. `replay` refuses a run that was cancelled and has ended, and a run whose place
   * another one has taken. Null: `replay` takes this run.
   */
  readonly otherCommand: string | null;
  readonly points: readonly ResetPoint[];
  readonly items: readonly ExplainedItem[];
  /** What happens to each item, from which the texts say what money to bring. */
  readonly next: readonly NextOfItem[];
  /** The run has no plan: all of it is planned anew, unless the service shows something of it. */
  readonly isUnplanned: boolean;
  /**
   * How long the legs that are tried again wait first, by the service file of this terminal; the worker goes by its own.
   * No leg is named where there is no plan yet. Null: no leg waits, as after a plan that was refused.
   */
  readonly safetyWait: { readonly items: readonly string[]; readonly lastsMs: number } | null;
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
  const points = await readResetPoints(place, facts);
  const recommended = recommendedFor(facts, report, points);
  if (recommended === null) throw neverTaken(run);
  const point = event === null ? recommended : points.find(({ eventId }) => eventId === event);
  if (point === undefined) throw noSuchEvent(run, event ?? 0);
  const next = nextOf(view, { takesCancelBack: false, nowMs });
  const items = next.map(explained);
  return {
    run: runName(run),
    status: facts.isOpen ? report.status : facts.state,
    zone: report.zone,
    point,
    recommended,
    otherCommand: commandToType(facts, report, view.said ?? []),
    points,
    items,
    next,
    isUnplanned: items.length === 0,
    safetyWait: (await isPlanRefused(place, run))
      ? null
      : safetyWaitOf(items, serviceFile ?? DEFAULT_SERVICE_FACTS),
    said: report.evidence.filter(({ call }) => call === INSTRUCTION_CALL),
  };
}

/** Nothing of a run whose plan was refused can have been sent. */
async function isPlanRefused({ client, mode }: Place, run: RunName): Promise<boolean> {
  const found = await findPlan(client, mode, run);
  return found !== null && found.hasFailed && !found.isMade;
}

function commandToType(facts: RunFacts, report: Report, said: readonly Recorded[]): string | null {
  const { run, isOpen } = facts;
  return (isOpen ? null : replacedBy(run, said)) ?? (isCancelledEnd(facts, report) ? goOnCommand(run) : null);
}

function explained({ next, kind, item: { id: item, outcome, ...more } }: NextOfItem): ExplainedItem {
  const brought = 'buy' in more ? { amount: more.buyAmount, currency: more.buy } : more;
  const { amount, currency } = brought;
  return { item, kind, outcome, amount, currency, fate: FATES[next] };
}

/**
 * An earlier quote may be traded at the moment when the run asks for a new one, so each such leg waits as if its trade had
 * been sent. A payment need not wait: its key shows whether it was sent.
 */
function safetyWaitOf(
  items: readonly ExplainedItem[],
  { settleDoubtMs }: Pick<ServiceFacts, 'settleDoubtMs'>,
): ResetExplained['safetyWait'] {
  const legs = items.filter(({ kind, fate }) => kind === 'leg' && fate.startsWith('is tried again'));
  if (legs.length === 0 && items.length > 0) return null;
  return {
    items: legs.map(({ item }) => item),
    lastsMs: othersSendMs({ attempt: WRITE_LIMITS }) + settleDoubtMs.trade,
  };
}
