/**
 * The days of a schedule (design: "Schedules"): on which dates it starts a policy, and why not on the others. The caller
 * gives the days off (`holidays.ts`) and, where it counts, the moment from which to look.
 */
import { DateTime } from 'luxon';
import type { Schedule, TimeOfDay } from '../domain/policy.ts';
import { todayIn } from './business-date.ts';
import type { DaysOff } from './holidays.ts';

/** What a schedule says of one date. */
export type ScheduledDay =
  /** The schedule starts the policy. */
  | { readonly kind: 'run' }
  /** A day off; null: a date that the policy lists, which has no name. */
  | { readonly kind: 'holiday'; readonly name: string | null }
  /** The policy leaves this date out. */
  | { readonly kind: 'skip' }
  /** The date is not one of the schedule's days of the week. */
  | { readonly kind: 'other day' }
  /** The date is before the schedule's first date or after its last one. */
  | { readonly kind: 'before start' }
  | { readonly kind: 'after end' };

/** What the schedule says of `date` (`2026-11-23`). */
export function scheduledDay(schedule: Schedule, daysOff: DaysOff, date: string): ScheduledDay {
  if (schedule.start !== null && date < schedule.start) return { kind: 'before start' };
  if (schedule.end !== null && date > schedule.end) return { kind: 'after end' };
  if (!schedule.weekdays.includes(dayOf(date).weekday)) return { kind: 'other day' };
  if (schedule.skip.includes(date)) return { kind: 'skip' };
  const off = daysOff(date);
  return off === null ? { kind: 'run' } : { kind: 'holiday', name: off.name };
}

/** Far enough for a hundred weekly runs. A schedule that has no run in this time counts as a schedule without runs. */
const MOST_DAYS = 3 * 366;

/** A date on one of the schedule's days of the week, between its first and last date. */
type DatedDay = {
  readonly date: string;
  readonly day: Extract<ScheduledDay, { readonly kind: 'run' | 'holiday' | 'skip' }>;
};

/** The dates of the schedule's days of the week from `from` on, between its first and last date, for about three years. */
export function* scheduledDays(schedule: Schedule, daysOff: DaysOff, from: string): Generator<DatedDay> {
  const first = dayOf(schedule.start !== null && schedule.start > from ? schedule.start : from);
  for (let days = 0; days < MOST_DAYS; days += 1) {
    const date = first.plus({ days }).toFormat('yyyy-MM-dd');
    const day = scheduledDay(schedule, daysOff, date);
    switch (day.kind) {
      case 'run':
      case 'holiday':
      case 'skip':
        yield { date, day };
        break;
      case 'other day':
      case 'before start':
        break;
      case 'after end':
        return;
    }
  }
}

/** A day to come, with the moment at which its run starts or would start. */
export type ComingDay = DatedDay & { readonly atMs: number };

/** The days after `fromMs`, up to the day of the last of `runs` runs; fewer when the schedule has no more. */
export function comingDays(
  {
    schedule,
    zone,
    daysOff,
  }: { readonly schedule: Schedule; readonly zone: string; readonly daysOff: DaysOff },
  { fromMs, runs }: { readonly fromMs: number; readonly runs: number },
): readonly ComingDay[] {
  const coming: ComingDay[] = [];
  let left = runs;
  for (const dated of scheduledDays(schedule, daysOff, todayIn(zone, fromMs))) {
    const atMs = momentOn(dated.date, schedule.at, zone);
    if (atMs <= fromMs) continue;
    coming.push({ ...dated, atMs });
    if (dated.day.kind === 'run') left -= 1;
    if (left === 0) break;
  }
  return coming;
}

/** The moment of a time of day on `date` in `zone`. */
export function momentOn(date: string, { hour, minute }: TimeOfDay, zone: string): number {
  return DateTime.fromISO(date, { zone }).set({ hour, minute }).toMillis();
}

function dayOf(date: string): DateTime {
  return DateTime.fromISO(date, { zone: 'utc' });
}
