/**
 * The problems of a schedule on the day on which a person reads or applies it: a time of day that the clocks skip or pass
 * twice within two years, a calendar that is not known, no day left. Commands check this; a worker does not, so that no run
 * stops only because time has passed.
 */
import { isZone, momentIn, todayIn } from '../../calendar/business-date.ts';
import { unsafeTime, type UnsafeTime } from '../../calendar/clock-changes.ts';
import { calendarNames, daysOffOf } from '../../calendar/holidays.ts';
import { staleRuns } from '../../calendar/rates-age.ts';
import { scheduledDays } from '../../calendar/schedule.ts';
import type { Policy, Schedule } from '../../domain/policy.ts';
import { nearest } from '../text/nearest.ts';
import { quoted } from '../text/printable.ts';
import type { PolicyProblem } from '../text/problem.ts';
import { readYaml, type Complaint, type Path, type YamlSource } from '../text/yaml-source.ts';
import { toSchedule } from './load-schedule.ts';
import { ScheduleSchema } from './policy-schema.ts';

/**
 * The problems at `nowMs`. When `loadPolicy` refuses the schedule or the zone of the text, there are none here, because
 * `loadPolicy` has reported them.
 */
export async function scheduleProblems(input: {
  readonly text: string;
  readonly file: string;
  readonly nowMs: number;
}): Promise<readonly PolicyProblem[]> {
  const source = readYaml({ ...input, subject: 'POLICY' });
  if (source.problems().length > 0 || !source.has(SCHEDULE)) return [];
  const zone = source.clean(['zone']);
  const parsed = ScheduleSchema.safeParse((source.value as { readonly schedule: unknown }).schedule);
  if (!parsed.success || zone === null || !isZone(zone)) return [];
  const schedule = toSchedule(parsed.data);
  checkTime(source, schedule, { zone, nowMs: input.nowMs });
  await checkDays(source, schedule, todayIn(zone, input.nowMs));
  return source.problems();
}

/**
 * The warning that a run of the schedule will find only reference rates older than `max_age`, such as the first run after a
 * weekend; none where every run of the next year can have younger ones. `asOf` is the moment of the rates that are there now.
 */
export async function ratesAgeWarnings(input: {
  readonly text: string;
  readonly file: string;
  readonly policy: Policy;
  readonly asOf: string;
  readonly nowMs: number;
}): Promise<readonly PolicyProblem[]> {
  const { text, file, policy, asOf, nowMs } = input;
  const { schedule, zone, guard } = policy;
  const reference = guard?.reference ?? null;
  if (schedule === null || reference === null) return [];
  const stale = staleRuns(
    { schedule, zone, daysOff: await daysOffOf(schedule.holidays) },
    { asOfMs: Date.parse(asOf), maxAgeMs: reference.maxAgeMs, nowMs },
  );
  if (stale === null) return [];
  const { date, fixedAtMs, ageMs } = stale.first;
  const source = readYaml({ text, file, subject: 'POLICY' });
  source.warn(source.placeAt(['guard', 'reference', 'max_age']), {
    mistake: 'MAX_AGE',
    message: `the run of ${date} would trade nothing: its newest rates would be of ${momentIn(zone, fixedAtMs).slice(0, -3)}, ${hoursOf(ageMs)} old, if they are fixed at the same time of day as those of the file`,
    fix: `write \`max_age: ${hoursOf(stale.oldestMs)}\` or more, which is long enough for every run of the next year; or have rates fixed on the day of the run, before it starts`,
  });
  return source.warnings();
}

/** A duration in whole hours, not shorter. */
function hoursOf(durationMs: number): string {
  return `${Math.ceil(durationMs / 3_600_000)}h`;
}

const SCHEDULE: Path = ['schedule'];
const AT: Path = ['schedule', 'at'];

function checkTime(
  source: YamlSource,
  { at }: Schedule,
  { zone, nowMs }: { readonly zone: string; readonly nowMs: number },
): void {
  const unsafe = unsafeTime(at, zone, nowMs);
  if (unsafe === null) return;
  const hours = String(unsafe.nearest.hour).padStart(2, '0');
  source.report(source.placeAt(AT), {
    mistake: 'CLOCK_CHANGE',
    message: `in ${zone} ${source.clean(AT) ?? ''} ${whenUnsafe(unsafe)}: clocks are changed there`,
    fix: `write "${hours}:${String(unsafe.nearest.minute).padStart(2, '0')}", the nearest time that comes once on every day of the next two years`,
  });
}

function whenUnsafe({ days }: UnsafeTime): string {
  const dates = (what: 'skipped' | 'twice'): string =>
    days.flatMap((day) => (day.what === what ? day.date : [])).join(', ');
  const [skipped, twice] = [dates('skipped'), dates('twice')];
  return [skipped === '' ? [] : `does not come on ${skipped}`, twice === '' ? [] : `comes twice on ${twice}`]
    .flat()
    .join(', and ');
}

async function checkDays(source: YamlSource, schedule: Schedule, today: string): Promise<void> {
  const { holidays, start, end } = schedule;
  if (holidays.kind === 'calendar') {
    const names = await calendarNames();
    if (!names.has(holidays.name)) {
      source.report(source.placeAt([...SCHEDULE, 'holidays']), unknownCalendar(holidays.name, names));
      return;
    }
  }
  const daysOff = await daysOffOf(holidays);
  for (const { day } of scheduledDays(schedule, daysOff, today)) if (day.kind === 'run') return;
  // `loadPolicy` has reported dates in the wrong order already.
  if (start !== null && end !== null && start > end) return;
  const isOver = end !== null && end < today;
  source.report(end === null ? source.keyPlaceAt(SCHEDULE) : source.placeAt([...SCHEDULE, 'end']), {
    mistake: 'NO_DAY_LEFT',
    message: isOver
      ? `the schedule is over: its last date was ${end}`
      : 'the schedule has no day on which the policy would be started',
    fix: 'write a later `end`, or other days; or delete `schedule`; the runs of the policy stay the same',
  });
}

/** Suggests a code, since many people would write the name of a country, and people rarely know the codes. */
function unknownCalendar(found: string, names: ReadonlyMap<string, string>): Complaint {
  const near = nearest(found, [...names.keys()]) ?? nearest(found, [...names.values()]);
  const code = [...names].find(([key, place]) => key === near || place === near)?.[0];
  return {
    mistake: 'CALENDAR',
    message: `${quoted(found)} is not a calendar of days off that Cambist knows`,
    fix:
      code === undefined
        ? 'write a country by its ISO code, with a part of it where it has holidays of its own: FR, US-NY; a payment system: T2, fedwire, chaps, sic; or list the dates'
        : `did you mean \`${code}\` (${names.get(code) ?? ''})?`,
  };
}
