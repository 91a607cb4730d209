/** A schedule and its coming days, as text for a person and as data. Pure. */
import { DateTime, Info } from 'luxon';
import type { ComingDay } from '../../calendar/schedule.ts';
import type { Schedule } from '../../domain/policy.ts';
import { plain } from '../terminal/safe.ts';
import { table, wrap } from '../terminal/text.ts';

/** The coming days of one policy. */
export type Coming = {
  readonly file: string;
  readonly name: string;
  readonly zone: string;
  /** Null: the policy runs only when a person starts it. */
  readonly schedule: Schedule | null;
  readonly days: readonly ComingDay[];
};

/** A sentence, then one row for each run and for each day that is left out. */
export function comingText(coming: Coming, width: number): string {
  const { name, zone, schedule, days } = plain(coming);
  if (schedule === null) return wrap(`${name} has no schedule: it runs when it is started.`, width);
  const rows = days.map(({ date, day, atMs }) => {
    const there = DateTime.fromMillis(atMs, { zone });
    const utc = there.toUTC();
    const times = [
      there.toFormat('HH:mm ZZ'),
      utc.toFormat(utc.toISODate() === date ? 'HH:mm' : 'MM-dd HH:mm'),
    ];
    return [date, there.toFormat('ccc'), ...(day.kind === 'run' ? times : ['', '']), whatOf(day)];
  });
  const titles = ['DATE', 'DAY', 'TIME', 'UTC', ''].map((title) => ({ title }));
  const head = wrap(`${name} ${scheduleText(schedule, zone)}.`, width);
  if (rows.length > 0) return `${head}\n\n${table(titles, rows, width)}`;
  return `${head}\n\n${wrap('No run is coming any more.', width)}`;
}

/** `runs at 09:30 Europe/Paris on weekdays, not on holidays of FR, from 2026-12-01`. */
function scheduleText({ at, weekdays, holidays, start, end }: Schedule, zone: string): string {
  const time = [at.hour, at.minute].map((part) => String(part).padStart(2, '0')).join(':');
  return [
    `runs at ${time} ${zone} ${weekdaysText(weekdays)}`,
    holidays.kind === 'calendar' ? `not on holidays of ${holidays.name}` : [],
    start === null ? [] : `from ${start}`,
    end === null ? [] : `until ${end}`,
  ]
    .flat()
    .join(', ');
}

/** `every day`, `on weekdays`, `on Mon, Wed`. */
export function weekdaysText(weekdays: readonly number[]): string {
  if (weekdays.length === 7) return 'every day';
  if (weekdays.join('') === '12345') return 'on weekdays';
  return `on ${weekdays.map((weekday) => Info.weekdays('short')[weekday - 1]).join(', ')}`;
}

function whatOf(day: ComingDay['day']): string {
  switch (day.kind) {
    case 'run':
      return 'run';
    case 'holiday':
      return `no run: ${day.name ?? 'a holiday of the policy'}`;
    case 'skip':
      return 'no run: skipped by the policy';
  }
}

/** The same for a program. `at` is in the zone's local time, with the offset from UTC. */
export function comingDocument({ file, name, zone, schedule, days }: Coming): unknown {
  return {
    file,
    policy: name,
    zone,
    schedule,
    days: days.map(({ date, day, atMs }) => ({
      date,
      runs: day.kind === 'run',
      at: DateTime.fromMillis(atMs, { zone }).toISO({ suppressMilliseconds: true }),
      reason: day.kind === 'run' ? null : day.kind,
      holiday: day.kind === 'holiday' ? day.name : null,
    })),
  };
}
