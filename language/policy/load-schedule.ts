/**
 * The schedule of a policy: the rules that join several fields, and the record. Rules that depend on the day on which a
 * file is read are in `schedule-problems.ts`, because a worker must read a policy tomorrow as it reads it today.
 */
import type * as z from 'zod';
import type { Schedule } from '../../domain/policy.ts';
import { DAYS_OF_WEEK, readTimeOfDay } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import type { Path, YamlSource } from '../text/yaml-source.ts';
import type { ScheduleSchema } from './policy-schema.ts';

const SCHEDULE: Path = ['schedule'];

/** The rules of a schedule, for every kind of policy that has one. */
export function checkSchedule(source: YamlSource): void {
  if (!source.has(SCHEDULE)) return;
  if (!source.has(['zone'])) {
    source.report(source.keyPlaceAt(SCHEDULE), {
      mistake: 'MISSING_FIELD',
      message: 'a schedule needs `zone`: its time is by the clocks of that zone',
      fix: 'add for example `zone: Europe/Paris`',
    });
  }
  const at: Path = [...SCHEDULE, 'at'];
  const time = source.clean(at);
  if (time !== null && source.written(at)?.quoted === false) {
    source.report(source.placeAt(at), {
      mistake: 'TIME',
      message: `${quoted(time)} is not in quotes: some programs take it for a number`,
      fix: `write "${time}", with the quotes`,
    });
  }
  for (const list of ['days', 'holidays', 'skip']) checkOnce(source, [...SCHEDULE, list]);
  const start = source.clean([...SCHEDULE, 'start']);
  const end = source.clean([...SCHEDULE, 'end']);
  if (start === null || end === null || start <= end) return;
  source.report(source.placeAt([...SCHEDULE, 'end']), {
    mistake: 'CONTRADICTION',
    message: `the last date, ${end}, is before the first, ${start}`,
    fix: 'write a later `end`, or an earlier `start`',
  });
}

function checkOnce(source: YamlSource, list: Path): void {
  const seen = new Set<string>();
  for (let index = 0; index < source.lengthAt(list); index += 1) {
    const entry: Path = [...list, index];
    const text = source.clean(entry);
    if (text !== null && seen.has(text)) {
      source.report(source.placeAt(entry), {
        mistake: 'LISTED_TWICE',
        message: `${quoted(text)} is in the list already`,
        fix: 'delete it',
      });
    }
    if (text !== null) seen.add(text);
  }
}

/** The record of a schedule in which every check has passed. */
export function toSchedule(parsed: z.output<typeof ScheduleSchema>): Schedule {
  const { at, days, holidays, skip, start, end } = parsed;
  return {
    at: readTimeOfDay(at),
    weekdays: toWeekdays(days),
    holidays:
      typeof holidays === 'string'
        ? { kind: 'calendar', name: holidays }
        : { kind: 'dates', dates: (holidays ?? []).toSorted() },
    skip: (skip ?? []).toSorted(),
    start: start ?? null,
    end: end ?? null,
  };
}

function toWeekdays(days: z.output<typeof ScheduleSchema>['days']): readonly number[] {
  switch (days) {
    case 'weekdays':
      return [1, 2, 3, 4, 5];
    case 'daily':
      return [1, 2, 3, 4, 5, 6, 7];
    default:
      return days.map((day) => DAYS_OF_WEEK.indexOf(day) + 1).toSorted((left, right) => left - right);
  }
}
