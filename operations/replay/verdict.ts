/**
 * `replay`: the reset that tries again what a run has not done. This file decides what there is to do, does it, and compares
 * the outcomes before and after. The command shows this, and asks a person where that is needed. Money is safe whatever is
 * reset (M1).
 */
import type { Ending } from '../../domain/endings.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { goOnCommand } from '../../domain/replacement.ts';
import type { NextOfItem } from '../../domain/run/next-start.ts';
import type { Report, ReportStatus } from '../../domain/run/report.ts';
import type { WaitReason } from '../../domain/waits.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { requireBuild } from '../watch/builds.ts';
import { endingOf } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { failureOf } from '../failure-of.ts';
import { followRun } from '../follow/until-it-ends.ts';
import { isFinished, nextAsRead } from '../decide/next-start.ts';
import { requireNotReplaced } from '../decide/replaced.ts';
import { readEvents, valuesOf } from '../../durable/history.ts';
import type { Place } from '../place.ts';
import { recommendedPoint, resetPointsOf, type ResetPoint } from './points.ts';
import { resetRun, type ResetMade } from './reset.ts';
import { readRun, reasonsOf, type RunView, type WholeRunView } from '../follow/read-run.ts';
import { describeRun, requireRun, type RunFacts } from '../follow/runs.ts';

export type ReplayVerdict =
  /** Everything in the run is done. */
  | { readonly kind: 'nothing'; readonly view: RunView }
  /** The run goes on by itself. It is reset only where a person names an event. A run that is held is woken. */
  | { readonly kind: 'open'; readonly view: RunView; readonly isHeld: boolean }
  /** `before`: how the run stands now; null: no worker can tell. */
  | {
      readonly kind: 'reset';
      readonly facts: RunFacts;
      readonly before: Report | null;
      /** What the run then does with its items; empty where it has no plan, or no worker can tell. */
      readonly next: readonly NextOfItem[];
      readonly point: ResetPoint;
    };

/**
 * What a replay of the run would do.
 * @param event the id that a person names; null: the recommended one
 * @throws CommandFailure for a run that is cancelled, for one whose place another run has taken, for one whose work goes to
 * a build without workers, and for an event to which Temporal cannot reset
 */
export async function judgeReplay(
  place: Place,
  run: RunName,
  { event, nowMs }: { readonly event: number | null; readonly nowMs: number },
): Promise<ReplayVerdict> {
  const facts = await requireRun(place, run);
  if (!facts.isOpen) await requireNotReplaced(place, run);
  await requireBuild(place, facts, nowMs);
  if (facts.isOpen && event === null) {
    const view = await readRun(place, facts);
    return { kind: 'open', view, isHeld: view.report.status === 'HELD' };
  }
  // A person who names an event may reset the run though no worker can go on with it or tell how it stands.
  const view = await (event === null ? readRun(place, facts) : readRunOrNull(place, facts));
  if (view !== null && isCancelledEnd(facts, view.report)) throw isCancelled(run);
  const points = await readResetPoints(place, facts);
  // Where a person has ended an activity beside its worker, the report may say more than is true.
  const isCertain = !points.some(({ isEndedBeside }) => isEndedBeside);
  if (event === null && view !== null && isFinished(view, nowMs) && isCertain)
    return { kind: 'nothing', view };
  const before = view?.report ?? null;
  const point =
    event === null
      ? recommendedFor(facts, before, points)
      : (points.find(({ eventId }) => eventId === event) ?? null);
  if (point === null) throw event === null ? neverTaken(run) : noSuchEvent(run, event);
  const next = view === null ? [] : nextAsRead(view, { takesCancelBack: false, nowMs });
  return { kind: 'reset', facts, before, next, point };
}

/** True for a run that has ended cancelled: no reset takes the cancel back. */
export function isCancelledEnd({ isOpen }: RunFacts, { status }: Pick<Report, 'status'>): boolean {
  return !isOpen && status === 'CANCELLED';
}

/** @param report how the run stands; null: no worker can tell */
export function recommendedFor(
  { temporalStatus }: RunFacts,
  report: Report | null,
  points: readonly ResetPoint[],
): ResetPoint | null {
  const fromTheStart = temporalStatus === 'COMPLETED' || (report !== null && !hasPlan(report));
  return recommendedPoint(points, { fromTheStart });
}

/** The events to which the newest Temporal run of a run can be reset. */
export async function readResetPoints(place: Place, facts: RunFacts): Promise<readonly ResetPoint[]> {
  const { client } = place;
  const { workflowId } = facts;
  const events = (await readEvents(client, workflowId, facts.temporalRunId)) ?? [];
  return resetPointsOf(events, async (payload, kind) => {
    const [text] = await valuesOf({ client, workflowId, kind }, [payload]);
    return typeof text === 'string' ? text : '';
  });
}

async function readRunOrNull(place: Place, facts: RunFacts): Promise<WholeRunView | null> {
  try {
    return await readRun(place, facts);
  } catch (error) {
    if (error instanceof CommandFailure) return null;
    throw error;
  }
}

/** A batch's payments are not listed in this report, but its sums are. A rebalancing may have planned no trade. */
function hasPlan({ legs, payments, totals, positions }: Report): boolean {
  return legs.length + payments.length + totals.length + positions.length > 0;
}

/** @param reason who asks for it, and why, as Temporal keeps it */
export function replay(
  place: Place,
  { facts, point }: Extract<ReplayVerdict, { kind: 'reset' }>,
  reason: string,
): Promise<ResetMade> {
  return resetRun(place, facts, { eventId: point.id, reason });
}

/** One item whose outcome has changed. */
export type Change = {
  readonly item: string;
  readonly kind: 'leg' | 'payment';
  readonly before: string;
  readonly after: string;
  /** For a leg, what was bought; null: not known. */
  readonly amount: string | null;
  readonly currency: string;
};

/** The items whose outcome has changed, in the order of the plan. For a run that had no plan, all of them. */
export function changesOf(before: Report | null, after: Report): readonly Change[] {
  const known = new Map(before === null ? [] : itemsOf(before).map((item) => [item.item, item.outcome]));
  return itemsOf(after).flatMap(({ outcome, ...item }) => {
    const was = known.get(item.item) ?? 'not planned';
    return was === outcome ? [] : [{ ...item, before: was, after: outcome }];
  });
}

function itemsOf({ legs, payments }: Report) {
  return [
    ...legs.map(({ id, outcome, buy, buyAmount }) => ({
      item: id,
      kind: 'leg' as const,
      outcome: outcome as string,
      amount: buyAmount,
      currency: buy,
    })),
    ...payments.map(({ id, outcome, amount, currency }) => ({
      item: id,
      kind: 'payment' as const,
      outcome: outcome as string,
      amount,
      currency,
    })),
  ];
}

// Replaying many runs at once.

/** The result for one of many runs. */
export type Replayed = {
  readonly run: RunName;
  readonly before: string;
  /** Null: the run was not replayed, or its state is not known. */
  readonly after: ReportStatus | null;
  readonly changes: readonly Change[];
  readonly problem: Trouble | null;
  readonly ending: Ending;
};

/** A reset helps runs in these states. A held run goes on by itself; a cancelled one stays cancelled. */
const REPLAYED: readonly string[] = ['FAILED', 'PARTIAL', 'TERMINATED', 'TIMED_OUT'];
/** This many runs are replayed side by side: when a person mends one cause, all of them go on at once. */
const AT_ONCE = 3;

/** True for a run that `replay --attention` resets. */
export function isToReplay({ isOpen, state }: RunFacts): boolean {
  return !isOpen && REPLAYED.includes(state);
}

/** Replays the runs, a few at a time, and follows each until it ends or waits for something. */
export async function replayAll(
  place: Place,
  runs: readonly RunFacts[],
  how: {
    readonly reason: string;
    readonly left: AbortSignal;
    readonly now: () => number;
    readonly onDone: (replayed: Replayed) => void;
  },
): Promise<readonly Replayed[]> {
  const all = new Map<number, Replayed>();
  const rest = runs.entries();
  const lane = async (): Promise<void> => {
    for (const [index, facts] of rest) {
      if (how.left.aborted) return;
      const replayed = await replayOne(place, facts, how);
      all.set(index, replayed);
      how.onDone(replayed);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return [...all].toSorted(([a], [b]) => a - b).map(([, replayed]) => replayed);
}

async function replayOne(
  place: Place,
  { run, state }: RunFacts,
  { reason, left, now }: { readonly reason: string; readonly left: AbortSignal; readonly now: () => number },
): Promise<Replayed> {
  try {
    const verdict = await judgeReplay(place, run, { event: null, nowMs: now() });
    if (verdict.kind !== 'reset')
      // Another person or command has made the run go on in the meantime.
      return { ...asItIs(verdict.view), run, before: state, changes: [] };
    const { before } = verdict;
    if (before !== null && isPaidElsewhere(before))
      return { ...replayedAs(before, []), run, before: state, changes: [] };
    await replay(place, verdict, reason);
    await followRun({
      client: place.client,
      mode: place.mode,
      run,
      stay: false,
      left,
      isUntaken: async () => (await describeRun(place.client, place.mode, run))?.isUntaken === true,
      onProgress: () => {},
      onSilence: () => {},
    });
    const view = await readRun(place, await requireRun(place, run));
    return { ...asItIs(view), run, before: state, changes: changesOf(before, view.report) };
  } catch (error) {
    const { ending, problems } = failureOf(error);
    return { run, before: state, after: null, changes: [], problem: problems[0] ?? null, ending };
  }
}

/**
 * True when another batch has paid, or may still pay, everything that is not paid. There is nothing to mend: after a reset
 * the run would only wait.
 */
export function isPaidElsewhere({ problems }: Report): boolean {
  return problems.length > 0 && problems.every(({ code }) => code === 'PAID_BY_ANOTHER_BATCH');
}

type StateAfter = Pick<Replayed, 'after' | 'problem' | 'ending'>;

function asItIs({ facts, report, progress }: RunView): StateAfter {
  return replayedAs(report, facts.isOpen ? reasonsOf(progress) : []);
}

/** @param waits the reasons why the run waits */
function replayedAs(report: Report, waits: readonly WaitReason[]): StateAfter {
  const ending = endingOf(report, waits);
  const [problem] = report.problems;
  if (problem === undefined) return { after: report.status, problem: null, ending };
  const { item: of, ...told } = problem;
  return { after: report.status, problem: { ...told, place: of }, ending };
}

function isCancelled(run: RunName): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'RUN_CANCELLED',
      place: runName(run),
      message: 'the run is cancelled, and no reset takes that back; nothing was reset',
      fix: `To go on after all: \`${goOnCommand(run)}\`.`,
    },
  ]);
}

export function neverTaken(run: RunName): CommandFailure {
  return new CommandFailure('bad input', [
    {
      code: 'NO_SUCH_EVENT',
      place: runName(run),
      message: 'no worker has ever taken the run, so there is no event to which it could be reset',
      fix: `Start it again: \`npx cambist run POLICY --id ${run.id}\`.`,
    },
  ]);
}

export function noSuchEvent(run: RunName, event: number): CommandFailure {
  return new CommandFailure('bad input', [
    {
      code: 'NO_SUCH_EVENT',
      place: '--event',
      message: `Temporal cannot reset ${runName(run)} to event ${event}`,
      fix: `\`npx cambist explain-reset ${runName(run)}\` lists the events that it takes, each with its step; without --event the right one is chosen.`,
    },
  ]);
}
