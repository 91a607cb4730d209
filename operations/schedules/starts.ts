/**
 * What the starts of a schedule led to, which starts Temporal did not make, and the starts that a person asks for.
 * Everything is read from Temporal; a worker carries a start out (`start/by-schedule.ts`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import type { Schedule } from '../../domain/policy.ts';
import type { Problem } from '../../domain/problems.ts';
import type { RunName } from '../../domain/references.ts';
import { isCalendarDate, sendWindowsOf, todayIn } from '../../calendar/business-date.ts';
import { daysOffOf, type DaysOff } from '../../calendar/holidays.ts';
import { comingDays, type ComingDay } from '../../calendar/schedule.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { ScheduledResult } from '../../workflows/calls.ts';
import { scheduledIdOf } from '../../workflows/names.ts';
import { describe, isOpen } from '../../durable/described.ts';
import { CommandFailure } from '../failure.ts';
import { UNTAKEN_MS } from '../follow/until-it-ends.ts';
import type { Place } from '../place.ts';
import { problemsOfFailure } from '../follow/ended-report.ts';
import { describeRun } from '../follow/runs.ts';
import { listSchedules, requireSchedule, type Action, type KeptSchedule } from './kept.ts';

/** What one start led to. */
export type Came =
  | { readonly kind: 'done'; readonly result: ScheduledResult }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  /** A worker is starting the run, or tries again. `why`: what stopped the last attempt. */
  | { readonly kind: 'under way'; readonly isTaken: boolean; readonly why: string | null }
  /** No worker took the start in time, or a person ended it. */
  | { readonly kind: 'not started' }
  /** Temporal has forgotten the start. */
  | { readonly kind: 'forgotten' };

export type Start = Action & {
  readonly run: RunName;
  readonly came: Came;
  /** The run's state now; null when there is no run. */
  readonly runState: string | null;
};

/** A run that should be there and is not. */
export type Missed = {
  readonly run: RunName;
  readonly nominalMs: number;
  readonly why: Pick<Problem, 'code' | 'message'>;
};

/** A schedule with what its newest starts led to, newest first, and the runs that are missing. */
export type ScheduleView = {
  readonly kept: KeptSchedule;
  readonly starts: readonly Start[];
  readonly missed: readonly Missed[];
};

/** Temporal remembers ten starts. This many of them are looked up. */
const STARTS_SHOWN = 5;

/** Every schedule of ours, by name. */
export async function viewSchedules(place: Place, nowMs: number): Promise<readonly ScheduleView[]> {
  const views: ScheduleView[] = [];
  for (const kept of await listSchedules(place)) views.push(await viewSchedule(place, kept, nowMs));
  return views;
}

/** Runs of schedules that are not there, though they should be. */
export async function listMissed(place: Place, nowMs: number): Promise<readonly Missed[]> {
  return (await viewSchedules(place, nowMs)).flatMap(({ missed }) => missed);
}

async function viewSchedule(place: Place, kept: KeptSchedule, nowMs: number): Promise<ScheduleView> {
  const newest = kept.actions.toReversed().slice(0, STARTS_SHOWN);
  const starts = await Promise.all(newest.map((action) => readStart(place, kept, action)));
  return { kept, starts, missed: await missedOf(place, { kept, starts }, nowMs) };
}

async function readStart(place: Place, kept: KeptSchedule, action: Action): Promise<Start> {
  const came = await cameOf(place.client, action);
  const run = runAt(kept, action.nominalMs);
  const facts = await describeRun(place.client, place.mode, run);
  return { ...action, run, came, runState: facts?.state ?? null };
}

function runAt({ name, facts }: KeptSchedule, nominalMs: number): RunName {
  return { policy: name, id: todayIn(facts.zone ?? 'UTC', nominalMs) };
}

async function cameOf(client: Client, { workflowId, temporalRunId }: Action): Promise<Came> {
  const handle = client.workflow.getHandle(workflowId, temporalRunId, { followRuns: false });
  try {
    const shown = await describe(client, workflowId, temporalRunId);
    if (shown === null) return { kind: 'forgotten' };
    if (isOpen(shown)) return underWay(shown);
    return { kind: 'done', result: (await handle.result()) as ScheduledResult };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { kind: 'forgotten' };
    if (!(error instanceof WorkflowFailedError)) throw error;
    const problems = problemsOfFailure(error.cause);
    return problems.length === 0 ? { kind: 'not started' } : { kind: 'refused', problems };
  }
}

function underWay({ raw, historyLength }: WorkflowExecutionDescription): Came {
  const isTaken = historyLength > 2 || (raw.pendingWorkflowTask?.startedTime ?? null) !== null;
  const [call] = raw.pendingActivities ?? [];
  return { kind: 'under way', isTaken, why: call?.lastFailure?.message ?? null };
}

const DAY_MS = 86_400_000;
/** Starts that Temporal did not make are looked for back to this long ago. */
const LOOK_BACK_MS = 7 * DAY_MS;
/** A start takes a moment, so it does not count as late before this. */
const SLACK_MS = 120_000;

/**
 * The runs since the last good start that are missing: refused, not taken, late, or never started. A schedule that is paused
 * misses no run.
 */
async function missedOf(
  place: Place,
  { kept, starts }: Omit<ScheduleView, 'missed'>,
  nowMs: number,
): Promise<readonly Missed[]> {
  if (kept.isPaused) return [];
  const isWell = ({ came }: Start): boolean => came.kind === 'done' || came.kind === 'forgotten';
  const lastWellMs = Math.max(0, ...starts.filter(isWell).map(({ nominalMs }) => nominalMs));
  const known = starts
    .filter(({ nominalMs, runState }) => nominalMs > lastWellMs && runState === null)
    .flatMap((start): readonly Missed[] => {
      const why = whyMissed(start, nowMs);
      return why === null ? [] : [{ run: start.run, nominalMs: start.nominalMs, why }];
    });
  const fromMs = Math.max(kept.changedAtMs, nowMs - LOOK_BACK_MS, lastWellMs);
  const due = await daysBetween(kept, fromMs, nowMs - SLACK_MS);
  const unknown = due.filter(({ atMs }) => !kept.actions.some(({ nominalMs }) => nominalMs === atMs));
  const never = await Promise.all(
    unknown.map(async ({ date, atMs }): Promise<readonly Missed[]> => {
      const run = { policy: kept.name, id: date };
      if ((await describeRun(place.client, place.mode, run)) !== null) return [];
      const message = 'Temporal did not start it: it was away at that time, or the schedule was paused.';
      return [{ run, nominalMs: atMs, why: { code: 'SCHEDULE_MISSED', message } }];
    }),
  );
  return [...known, ...never.flat()].toSorted((a, b) => b.nominalMs - a.nominalMs);
}

function whyMissed({ came, nominalMs }: Start, nowMs: number): Missed['why'] | null {
  switch (came.kind) {
    case 'done':
    case 'forgotten':
      return null;
    case 'refused':
      return came.problems[0] ?? null;
    case 'not started':
      return {
        code: 'SCHEDULE_MISSED',
        message: 'No worker took the start in time, or a person ended it in Temporal.',
      };
    case 'under way':
      if (nowMs - nominalMs < SLACK_MS) return null;
      return {
        code: 'SCHEDULE_LATE',
        message: came.isTaken
          ? `It could not be started yet, and is tried again. ${came.why ?? ''}`.trimEnd()
          : 'No worker has taken the start. Start one with `npx cambist worker`.',
      };
  }
}

/** The times between two moments at which the schedule should start a run. */
async function daysBetween(
  kept: KeptSchedule,
  fromMs: number,
  untilMs: number,
): Promise<readonly ComingDay[]> {
  const own = await scheduleIn(kept);
  if (own === null || untilMs <= fromMs) return [];
  const runs = Math.ceil((untilMs - fromMs) / DAY_MS) + 1;
  return comingDays(own, { fromMs, runs }).filter(({ day, atMs }) => day.kind === 'run' && atMs <= untilMs);
}

/** The schedule as its policy says; null when the policy or its calendar cannot be read. */
async function scheduleIn({ facts }: KeptSchedule): Promise<{
  readonly schedule: Schedule;
  readonly zone: string;
  readonly daysOff: DaysOff;
} | null> {
  const loaded = loadPolicy(facts.policyText ?? '', facts.policyFile ?? '');
  if (!loaded.ok || loaded.policy.schedule === null) return null;
  const { schedule, zone } = loaded.policy;
  const daysOff = await daysOffOf(schedule.holidays).catch(() => null);
  return daysOff === null ? null : { schedule, zone, daysOff };
}

/** Called with the reason why a start that is under way has not succeeded yet. */
export type Tell = (why: string) => void;

const LOOK_EVERY_MS = 250;
/** Temporal may take this long to start what a person asks for. */
const STARTED_WITHIN_MS = 10_000;

/** Starts the run of today's date by the schedule, and waits until the start is done or refused. */
export async function triggerSchedule(place: Place, name: string, tell: Tell): Promise<Start> {
  const kept = await requireSchedule(place, name);
  const known = new Set(kept.actions.map(({ temporalRunId }) => temporalRunId));
  await place.client.schedule.getHandle(kept.scheduleId).trigger('SKIP');
  const action = await untilThere(name, async () => {
    const { actions } = await requireSchedule(place, name);
    return actions.findLast(({ temporalRunId }) => !known.has(temporalRunId)) ?? null;
  });
  return untilItCame(place, kept, action, tell);
}

/** The result of a backfill: the starts, oldest first, and the schedule's days that have no run. */
export type Backfilled = { readonly starts: readonly Start[]; readonly without: readonly ComingDay[] };

/** The most days of a backfill: a person who mistypes a year would otherwise ask for hundreds. */
const MOST_DAYS = 31;

/** Starts the runs of past dates by the schedule, one after the other, and waits for each one. */
export async function backfillSchedule(
  place: Place,
  name: string,
  range: { readonly from: string; readonly to: string; readonly nowMs: number },
  tell: Tell,
): Promise<Backfilled> {
  const kept = await requireSchedule(place, name);
  const days = await daysOfRange(kept, range);
  const due = days.filter(({ day }) => day.kind === 'run');
  if (due.length === 0)
    throw wrongDates('--from', 'the schedule has no run on these dates, or its time has not come yet');
  const wanted = await Promise.all(
    due.map(async ({ atMs }) => {
      const workflowId = scheduledIdOf(place.mode, name, atMs);
      return { atMs, workflowId, before: await runIdOf(place.client, workflowId) };
    }),
  );
  await place.client.schedule.getHandle(kept.scheduleId).backfill(
    wanted.map(({ atMs }) => ({
      start: new Date(atMs - 1_000),
      end: new Date(atMs + 1_000),
      overlap: 'BUFFER_ALL',
    })),
  );
  const starts: Start[] = [];
  for (const { atMs, workflowId, before } of wanted) {
    const action = await untilThere(name, async () => {
      const temporalRunId = await runIdOf(place.client, workflowId);
      if (temporalRunId === null || temporalRunId === before) return null;
      return { nominalMs: atMs, workflowId, temporalRunId };
    });
    starts.push(await untilItCame(place, kept, action, tell));
  }
  return { starts, without: days.filter(({ day }) => day.kind !== 'run') };
}

async function daysOfRange(
  kept: KeptSchedule,
  { from, to, nowMs }: { readonly from: string; readonly to: string; readonly nowMs: number },
): Promise<readonly ComingDay[]> {
  const own = await scheduleIn(kept);
  if (own === null) throw wrongDates('NAME', 'Temporal’s copy of the policy cannot be read: apply it again');
  for (const [place, date] of [['--from', from] as const, ['--to', to] as const])
    if (!isCalendarDate(date)) throw wrongDates(place, 'it is no date like 2026-11-23');
  if (from > to) throw wrongDates('--to', 'it is before --from');
  if (to > todayIn(own.zone, nowMs)) throw wrongDates('--to', 'it is a date to come');
  if (Date.parse(to) - Date.parse(from) >= MOST_DAYS * DAY_MS)
    throw wrongDates('--from', `at most ${MOST_DAYS} days are backfilled at once`);
  const fromMs = sendWindowsOf(from, own.zone).opensAtMs - 1;
  return comingDays(own, { fromMs, runs: MOST_DAYS + 1 }).filter(
    ({ date, atMs }) => date <= to && atMs <= nowMs,
  );
}

function wrongDates(place: string, message: string): CommandFailure {
  return new CommandFailure('bad input', [
    {
      code: 'SCHEDULE_DATES',
      place,
      message,
      fix: 'Write dates like --from 2026-11-23 --to 2026-11-24; `npx cambist schedule next` shows the days of a policy.',
    },
  ]);
}

async function runIdOf(client: Client, workflowId: string): Promise<string | null> {
  return (await describe(client, workflowId))?.runId ?? null;
}

/** @throws CommandFailure when Temporal starts nothing */
async function untilThere(name: string, look: () => Promise<Action | null>): Promise<Action> {
  const endsAtMs = performance.now() + STARTED_WITHIN_MS;
  while (performance.now() < endsAtMs) {
    const action = await look();
    if (action !== null) return action;
    await sleep(LOOK_EVERY_MS);
  }
  throw new CommandFailure('infrastructure', [
    {
      code: 'SCHEDULE_SILENT',
      place: name,
      message: `Temporal took the order, and started nothing within ${STARTED_WITHIN_MS / 1_000} s`,
      fix: 'An earlier start may still be under way: see `npx cambist schedule list`, then try again.',
    },
  ]);
}

/** Waits until a start is done or refused. @throws CommandFailure when no worker takes it */
async function untilItCame(place: Place, kept: KeptSchedule, action: Action, tell: Tell): Promise<Start> {
  const sinceMs = performance.now();
  let told: string | null = null;
  for (;;) {
    const start = await readStart(place, kept, action);
    const { came } = start;
    if (came.kind !== 'under way') return start;
    if (!came.isTaken && performance.now() - sinceMs > UNTAKEN_MS)
      throw new CommandFailure('infrastructure', [untaken(kept.name)]);
    if (came.why !== null && came.why !== told) tell(came.why);
    told = came.why;
    await sleep(LOOK_EVERY_MS);
  }
}

function untaken(name: string): Trouble {
  return {
    code: 'NO_WORKER',
    place: name,
    message: `the schedule’s start is there, but no worker took it within ${UNTAKEN_MS / 1_000} s`,
    fix: 'Start one with `npx cambist worker` within ten minutes, or trigger the schedule again then.',
  };
}
