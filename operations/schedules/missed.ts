/**
 * The runs of a schedule that are missing: refused, not taken, late, or never started. A date stays missed until it has a run,
 * or a person acknowledges it, or it is too old.
 */
import type { Schedule } from '../../domain/policy.ts';
import type { Problem } from '../../domain/problems.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { daysOffOf, type DaysOff } from '../../calendar/holidays.ts';
import { comingDays, type ComingDay } from '../../calendar/schedule.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { CommandFailure } from '../failure.ts';
import { describeRun } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { readStart, type Came, type Start } from './came.ts';
import { noteDate, readKnownDates } from './known-dates.ts';
import type { KeptSchedule } from './spec.ts';

/** A run that should be there and is not. */
export type Missed = {
  readonly run: RunName;
  readonly nominalMs: number;
  readonly why: Pick<Problem, 'code' | 'message'>;
};

export const DAY_MS = 86_400_000;
/** A date is told as missed for this long. */
const TOLD_FOR_MS = 60 * DAY_MS;
/** A start takes a moment, so it does not count as late before this. */
const SLACK_MS = 120_000;
/** Temporal is asked about this many dates side by side. */
const ASKED_AT_ONCE = 10;

/** A moment at which a run was to start. `isDue`: by the schedule itself. Otherwise a person triggered it. */
type Moment = { readonly id: string; readonly atMs: number; readonly isDue: boolean };

/**
 * The runs that are missing, newest first. While a schedule is paused, it misses no run; what it missed before stays missed.
 * @param starts what is known already of its newest starts
 */
export async function missedOf(
  place: Place,
  { kept, starts }: { readonly kept: KeptSchedule; readonly starts: readonly Start[] },
  nowMs: number,
): Promise<readonly Missed[]> {
  const sinceMs = nowMs - TOLD_FOR_MS;
  const known = await readKnownDates({ ...place, policy: kept.name });
  const missed = new Map<string, Missed>();
  for (const { id, atMs, code, message } of known.missed)
    missed.set(id, { run: { policy: kept.name, id }, nominalMs: atMs, why: { code, message } });
  const moments = kept.isPaused ? [] : await momentsOf({ kept, starts }, sinceMs, nowMs);
  const ids = new Set([...missed.keys(), ...moments.map(({ id }) => id)]);
  const open = [...ids].filter((id) => !known.closed.has(id));
  const found = await fewAtOnce(open, ASKED_AT_ONCE, async (id): Promise<readonly Missed[]> => {
    const run = { policy: kept.name, id };
    if ((await describeRun(place.client, place.mode, run)) !== null) return [];
    const before = missed.get(id);
    let why = before?.why ?? null;
    let nominalMs = before?.nominalMs ?? 0;
    for (const moment of moments.filter((one) => one.id === id)) {
      why = await whyMissedAt(place, { kept, starts }, moment, nowMs);
      nominalMs = moment.atMs;
    }
    return why === null || nominalMs < sinceMs ? [] : [{ run, nominalMs, why }];
  });
  return found.flat().toSorted((a, b) => b.nominalMs - a.nominalMs);
}

type Read = { readonly kept: KeptSchedule; readonly starts: readonly Start[] };

/** When runs were to start, oldest first: the times of the schedule since it was changed last, and what people triggered. */
async function momentsOf({ kept, starts }: Read, sinceMs: number, nowMs: number): Promise<readonly Moment[]> {
  const days = await daysBetween(kept, Math.max(kept.changedAtMs, sinceMs), nowMs - SLACK_MS);
  const due = days.map(({ date, atMs }): Moment => ({ id: date, atMs, isDue: true }));
  const others = starts
    .filter(({ nominalMs }) => !due.some(({ atMs }) => atMs === nominalMs))
    .map(({ run, nominalMs }): Moment => ({ id: run.id, atMs: nominalMs, isDue: false }));
  return [...due, ...others].toSorted((a, b) => a.atMs - b.atMs);
}

/** Why there is no run, as far as the start of this moment tells; null: it went well, or has just begun. */
async function whyMissedAt(
  place: Place,
  { kept, starts }: Read,
  { atMs, isDue }: Moment,
  nowMs: number,
): Promise<Missed['why'] | null> {
  const action = kept.actions.find(({ nominalMs }) => nominalMs === atMs);
  if (action === undefined)
    return missedBecause('Temporal did not start it: it was away at that time, or the schedule was paused.');
  const start = starts.find(({ nominalMs }) => nominalMs === atMs) ?? (await readStart(place, kept, action));
  return whyMissed(start.came, { atMs, isDue }, nowMs);
}

function whyMissed(
  came: Came,
  { atMs, isDue }: Pick<Moment, 'atMs' | 'isDue'>,
  nowMs: number,
): Missed['why'] | null {
  switch (came.kind) {
    case 'done':
      return null;
    case 'forgotten':
      return isDue
        ? missedBecause('Temporal has forgotten the start, and nothing shows that it started a run.')
        : null;
    case 'refused':
      return came.problems[0] ?? null;
    case 'not started':
      return missedBecause('No worker took the start in time, or a person ended it in Temporal.');
    case 'under way':
      if (nowMs - atMs < SLACK_MS) return null;
      return {
        code: LATE,
        message: came.isTaken
          ? `It could not be started yet, and is tried again. ${came.why ?? ''}`.trimEnd()
          : 'No worker has taken the start. Start one with `npx cambist worker`.',
      };
  }
}

/** The start of the run is still under way. */
const LATE = 'SCHEDULE_LATE';

function missedBecause(message: string): Missed['why'] {
  return { code: 'SCHEDULE_MISSED', message };
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
export async function scheduleIn({ facts }: KeptSchedule): Promise<{
  readonly schedule: Schedule;
  readonly zone: string;
  readonly daysOff: DaysOff;
} | null> {
  // The parser is loaded only now, since most commands that name a schedule read no policy.
  const { loadPolicy } = await import('../../language/policy/load-policy.ts');
  const loaded = loadPolicy(facts.policyText ?? '', facts.policyFile ?? '');
  if (!loaded.ok || loaded.policy.schedule === null) return null;
  const { schedule, zone } = loaded.policy;
  const daysOff = await daysOffOf(schedule.holidays).catch(() => null);
  return daysOff === null ? null : { schedule, zone, daysOff };
}

/**
 * Notes what is missed, before the schedule is changed or paused: afterwards the schedule no longer tells what it had. A start
 * that is still under way may yet go well, and is not noted.
 */
export async function keepMissed(place: Place, kept: KeptSchedule, nowMs: number): Promise<void> {
  for (const { run, nominalMs, why } of await missedOf(place, { kept, starts: [] }, nowMs))
    if (why.code !== LATE)
      await noteDate(
        { ...place, policy: kept.name },
        { kind: 'missed', id: run.id, atMs: nominalMs, ...why },
      );
}

/**
 * Records that a person knows of a missed run, which is then told no more.
 * @throws CommandFailure when its start is still under way
 */
export async function acknowledgeMissed(
  place: Place,
  { run, why: { code } }: Missed,
  said: { readonly by: string; readonly why: string },
): Promise<void> {
  if (code === LATE)
    throw new CommandFailure('bad input', [
      {
        code: 'NOTHING_TO_ACKNOWLEDGE',
        place: runName(run),
        message: 'its start is still under way, and may still go well',
        fix: 'See `npx cambist schedule list`, and acknowledge it once it is missed.',
      },
    ]);
  await noteDate({ ...place, policy: run.policy }, { kind: 'acknowledged', id: run.id, ...said });
}
