/**
 * A policy's schedule in Temporal's form: what is written there, and what is read back and compared. A calendar of holidays
 * has no end, so Temporal gets the dates until the end of the next year. `schedule apply` brings them up to date.
 */
import type { ScheduleDescription, ScheduleOptions, ScheduleUpdateOptions } from '@temporalio/client';
import type { Policy, Schedule } from '../../domain/policy.ts';
import type { Mode } from '../../domain/service/records.ts';
import { isRecord } from '../../domain/shape.ts';
import { sendWindowsOf, todayIn, zoneName } from '../../calendar/business-date.ts';
import type { DaysOff } from '../../calendar/holidays.ts';
import { scheduledDays } from '../../calendar/schedule.ts';
import { SCHEDULED_START } from '../../workflows/limits.ts';
import {
  SCHEDULED_TYPE,
  modeAttribute,
  policyAttribute,
  scheduleIdOf,
  type ScheduledInput,
} from '../../workflows/names.ts';

/**
 * What a schedule says, in words and plain values that can be compared. Null: the schedule in Temporal is not one that
 * Cambist writes.
 */
export type ScheduleFacts = {
  /** `09:30` */
  readonly at: string | null;
  readonly zone: string | null;
  /** Days of the week, 1 is Monday. */
  readonly weekdays: readonly number[] | null;
  /** Dates on which the schedule starts nothing though their day of the week is named. They end with the next year. */
  readonly leftOut: readonly string[];
  /** The first and the last date. */
  readonly start: string | null;
  readonly end: string | null;
  readonly policyText: string | null;
  readonly policyFile: string | null;
  readonly taskQueue: string;
  /** The settings that Cambist gives to every schedule: overlap, how late a start may be, and the limit of time. */
  readonly rules: string;
};

/** A schedule as Temporal has it; times in epoch milliseconds. */
export type KeptSchedule = {
  /** The policy's name. */
  readonly name: string;
  readonly scheduleId: string;
  readonly facts: ScheduleFacts;
  /** The key that has sealed what it starts with, and that this command does not have; null: nothing is missing. */
  readonly missingKey: string | null;
  readonly isPaused: boolean;
  readonly note: string | null;
  /** When it was made, changed or resumed last. What happened before is not known. */
  readonly changedAtMs: number;
  readonly nextMs: readonly number[];
  /** What it has started, oldest first. Temporal remembers ten starts. */
  readonly actions: readonly Action[];
};

/** One start. */
export type Action = {
  readonly nominalMs: number;
  readonly workflowId: string;
  readonly temporalRunId: string;
};

/** A policy with a schedule, and where in Temporal the schedule belongs. */
export type Wanted = {
  readonly mode: Mode;
  readonly taskQueue: string;
  readonly policy: Policy;
  readonly schedule: Schedule;
  readonly daysOff: DaysOff;
  readonly policyText: string;
  readonly policyFile: string;
  readonly nowMs: number;
};

/**
 * Temporal ends a start that no worker has taken within this time, so that it does not keep the next day's from starting.
 */
const TAKEN_WITHIN_MS = SCHEDULED_START.startWithinMs + 300_000;

const RULES = { overlap: 'SKIP', catchupWindow: SCHEDULED_START.catchUpMs, pauseOnFailure: false } as const;

/** The schedule that `schedule apply` writes to Temporal. */
export function factsOf(wanted: Wanted): ScheduleFacts {
  const { schedule, policy, policyText, policyFile, taskQueue } = wanted;
  return {
    at: timeText(schedule.at),
    zone: policy.zone,
    weekdays: schedule.weekdays,
    leftOut: leftOutOf(wanted),
    start: schedule.start,
    end: schedule.end,
    policyText,
    policyFile,
    taskQueue,
    rules: rulesText(RULES.overlap, RULES.catchupWindow, RULES.pauseOnFailure, TAKEN_WITHIN_MS),
  };
}

type StartAction = { readonly type: 'startWorkflow' } & ScheduleOptions['action'];
type Definition = Pick<
  ScheduleUpdateOptions<StartAction>,
  'spec' | 'policies' | 'action' | 'typedSearchAttributes'
>;

/** What the schedule gives to the workflow that it starts. */
export function inputOf({ mode, policy, policyText, policyFile }: Wanted): ScheduledInput {
  return { mode, policy: policy.name, policyText, policyFile };
}

/** The same in Temporal's form. It does not say whether the schedule is paused, since people decide that. */
export function definitionOf(wanted: Wanted): Definition {
  const { mode, policy, schedule } = wanted;
  const input = inputOf(wanted);
  const attributes = [
    { key: policyAttribute, value: policy.name },
    { key: modeAttribute, value: mode },
  ];
  return {
    spec: {
      // These are plain numbers, since the client changes a range without an end.
      calendars: [
        {
          second: 0,
          minute: schedule.at.minute,
          hour: schedule.at.hour,
          dayOfWeek: schedule.weekdays.map(dayName),
        },
      ],
      // The three stars leave out the whole day; without them only midnight would be left out.
      skip: leftOutOf(wanted).map((date) => ({
        year: Number(date.slice(0, 4)),
        month: monthName(Number(date.slice(5, 7))),
        dayOfMonth: Number(date.slice(8, 10)),
        hour: '*',
        minute: '*',
        second: '*',
      })),
      timezone: policy.zone,
      ...(schedule.start !== null && {
        startAt: new Date(sendWindowsOf(schedule.start, policy.zone).opensAtMs),
      }),
      ...(schedule.end !== null && { endAt: new Date(endOfDateMs(schedule.end, policy.zone)) }),
    },
    policies: RULES,
    action: {
      type: 'startWorkflow',
      workflowType: SCHEDULED_TYPE,
      // Temporal adds the nominal time to this id.
      workflowId: scheduleIdOf(mode, policy.name),
      taskQueue: wanted.taskQueue,
      args: [input],
      workflowRunTimeout: TAKEN_WITHIN_MS,
      staticSummary: `Starts the run of ${policy.name} for its date`,
      typedSearchAttributes: attributes,
    },
    typedSearchAttributes: attributes,
  };
}

/** Reads what Temporal has. */
export function factsIn({ spec, action, policies }: ScheduleDescription): ScheduleFacts {
  const [calendar, ...others] = spec.calendars ?? [];
  const isOurs = others.length === 0 && (spec.intervals ?? []).length === 0;
  const hour = only(calendar?.hour);
  const minute = only(calendar?.minute);
  // Other programs may have written a zone here that does not exist, or that only the server knows.
  const zone = zoneName(spec.timezone ?? '');
  const [input] = (action.args ?? []) as readonly unknown[];
  const text = (name: keyof ScheduledInput): string | null => {
    const value = isRecord(input) ? input[name] : null;
    return typeof value === 'string' ? value : null;
  };
  const { overlap, catchupWindow, pauseOnFailure } = policies;
  return {
    at: isOurs && hour !== null && minute !== null ? timeText({ hour, minute }) : null,
    zone,
    weekdays:
      isOurs && calendar !== undefined ? calendar.dayOfWeek.flatMap(daysIn).toSorted((a, b) => a - b) : null,
    leftOut: (spec.skip ?? []).map(dateOf).toSorted(),
    start: spec.startAt === undefined || zone === null ? null : todayIn(zone, spec.startAt.getTime()),
    end: spec.endAt === undefined || zone === null ? null : todayIn(zone, spec.endAt.getTime()),
    policyText: text('policyText'),
    policyFile: text('policyFile'),
    taskQueue: action.taskQueue ?? '',
    rules: rulesText(
      overlap ?? 'of the server',
      catchupWindow,
      pauseOnFailure,
      Number(action.workflowRunTimeout ?? 0),
    ),
  };
}

/** The dates of this year and the next on which the schedule starts nothing though their day of the week is named. */
function leftOutOf({ policy, schedule, daysOff, nowMs }: Wanted): readonly string[] {
  const today = todayIn(policy.zone, nowMs);
  const last = `${Number(today.slice(0, 4)) + 1}-12-31`;
  const dates: string[] = [];
  for (const { date, day } of scheduledDays(schedule, daysOff, `${today.slice(0, 4)}-01-01`)) {
    if (date > last) break;
    if (day.kind === 'holiday' || day.kind === 'skip') dates.push(date);
  }
  return dates;
}

/** The last second of a date: for Temporal the end itself still belongs to the schedule. */
function endOfDateMs(date: string, zone: string): number {
  const next = todayIn('UTC', Date.parse(`${date}T00:00:00Z`) + 86_400_000);
  return sendWindowsOf(next, zone).opensAtMs - 1_000;
}

function timeText({ hour, minute }: { readonly hour: number; readonly minute: number }): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}

function rulesText(overlap: string, catchUpMs: number, pauses: boolean, limitMs: number): string {
  return `overlap ${overlap}, started at most ${catchUpMs / 60_000} min late, ended after ${limitMs / 60_000} min${pauses ? ', paused by a failure' : ''}`;
}

type Range<Unit> = { readonly start: Unit; readonly end: Unit; readonly step: number };

/** The one value of a field; null where it has several. */
function only(ranges: readonly Range<number>[] | undefined): number | null {
  const [range, ...others] = ranges ?? [];
  return range === undefined || others.length > 0 || range.end > range.start ? null : range.start;
}

const DAYS = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;
type Day = (typeof DAYS)[number];

const MONTHS = [
  'JANUARY',
  'FEBRUARY',
  'MARCH',
  'APRIL',
  'MAY',
  'JUNE',
  'JULY',
  'AUGUST',
  'SEPTEMBER',
  'OCTOBER',
  'NOVEMBER',
  'DECEMBER',
] as const;
type Month = (typeof MONTHS)[number];

function dayName(weekday: number): Day {
  return DAYS[weekday - 1] ?? 'MONDAY';
}

function monthName(month: number): Month {
  return MONTHS[month - 1] ?? 'JANUARY';
}

/**
 * Days by the numbers of ISO 8601. Temporal's week begins with Sunday, so a range over the whole week ends with Saturday.
 */
function daysIn({ start, end, step }: Range<Day>): readonly number[] {
  const toTemporal = (day: Day): number => (DAYS.indexOf(day) + 1) % 7;
  const days: number[] = [];
  for (let day = toTemporal(start); day <= toTemporal(end); day += Math.max(1, step))
    days.push(day === 0 ? 7 : day);
  return days;
}

function dateOf(skip: {
  readonly year: readonly Range<number>[];
  readonly month: readonly Range<Month>[];
  readonly dayOfMonth: readonly Range<number>[];
}): string {
  const year = only(skip.year);
  const day = only(skip.dayOfMonth);
  const [month] = skip.month;
  const two = (value: number): string => String(value).padStart(2, '0');
  if (year === null || day === null || month === undefined || skip.month.length > 1) return 'other dates';
  return `${year}-${two(MONTHS.indexOf(month.start) + 1)}-${two(day)}`;
}
