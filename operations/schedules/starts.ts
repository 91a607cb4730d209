/**
 * What the starts of a schedule led to, which starts Temporal did not make, and the starts that a person asks for.
 * Everything is read from Temporal; a worker carries a start out (`start/by-schedule.ts`).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isCalendarDate, sendWindowsOf, todayIn } from '../../calendar/business-date.ts';
import { comingDays, type ComingDay } from '../../calendar/schedule.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { scheduledIdOf } from '../../workflows/names.ts';
import { describe } from '../../durable/described.ts';
import { CommandFailure } from '../failure.ts';
import { UNTAKEN_MS } from '../follow/until-it-ends.ts';
import type { Place } from '../place.ts';
import { readStart, type Start } from './came.ts';
import { listSchedules, requireSchedule } from './kept.ts';
import { DAY_MS, missedOf, scheduleIn, type Missed } from './missed.ts';
import type { Action, KeptSchedule } from './spec.ts';

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
  // What its starts came to is sealed as well, and its dates stand in its policy.
  if (kept.missingKey !== null) return { kept, starts: [], missed: [] };
  const newest = kept.actions.toReversed().slice(0, STARTS_SHOWN);
  const starts = await Promise.all(newest.map((action) => readStart(place, kept, action)));
  return { kept, starts, missed: await missedOf(place, { kept, starts }, nowMs) };
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
  if (to > todayIn(own.zone, nowMs)) throw wrongDates('--to', 'it is in the future');
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
      message: `Temporal accepted the request, but started nothing within ${STARTED_WITHIN_MS / 1_000} s`,
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
    message: `Temporal has begun the start, but no worker took it within ${UNTAKEN_MS / 1_000} s`,
    fix: 'Start one with `npx cambist worker` within ten minutes, or trigger the schedule again then.',
  };
}
