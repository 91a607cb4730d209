/**
 * How old the reference rates of a schedule's runs will be. Rates are fixed at one time of day, on no weekend and no day off, so
 * the first run after one has older rates than the others. Pure.
 */
import { DateTime } from 'luxon';
import type { Schedule } from '../domain/policy.ts';
import type { DaysOff } from './holidays.ts';
import { comingDays, momentOn } from './schedule.ts';

/** A run whose rates are too old. */
export type StaleRun = {
  readonly date: string;
  /** The newest rates that there can be when it starts. Epoch milliseconds. */
  readonly fixedAtMs: number;
  readonly ageMs: number;
};

const DAY_MS = 86_400_000;
/** A year has every holiday. */
const LOOK_AHEAD_MS = 366 * DAY_MS;
/** No schedule has as many days off in a row. */
const MOST_DAYS_BACK = 30;

/**
 * The first run of the next year that has no rates as young as `maxAgeMs`, and the oldest rates of any run; null: every run can
 * have rates that are young enough. Later rates are taken to be fixed at the time of day of `asOfMs`, and on weekends only if
 * these are of a weekend.
 */
export function staleRuns(
  policy: { readonly schedule: Schedule; readonly zone: string; readonly daysOff: DaysOff },
  times: { readonly asOfMs: number; readonly maxAgeMs: number; readonly nowMs: number },
): { readonly first: StaleRun; readonly oldestMs: number } | null {
  const { nowMs, maxAgeMs } = times;
  const stale = comingDays(policy, { fromMs: nowMs, runs: LOOK_AHEAD_MS / DAY_MS })
    .filter(({ day, atMs }) => day.kind === 'run' && atMs < nowMs + LOOK_AHEAD_MS)
    .map(({ date, atMs }): StaleRun => {
      const fixedAtMs = newestRates(policy, times.asOfMs, { date, atMs });
      return { date, fixedAtMs, ageMs: atMs - fixedAtMs };
    })
    .filter(({ ageMs }) => ageMs > maxAgeMs);
  const [first] = stale;
  return first === undefined ? null : { first, oldestMs: Math.max(...stale.map(({ ageMs }) => ageMs)) };
}

/** The moment of the newest rates that a run of `date` at `atMs` can have. */
function newestRates(
  { zone, daysOff }: { readonly zone: string; readonly daysOff: DaysOff },
  asOfMs: number,
  { date, atMs }: { readonly date: string; readonly atMs: number },
): number {
  const { hour, minute, weekday } = DateTime.fromMillis(asOfMs, { zone });
  for (let back = 0; back < MOST_DAYS_BACK; back += 1) {
    const day = DateTime.fromISO(date, { zone: 'utc' }).minus({ days: back });
    const fixedOn = day.toFormat('yyyy-MM-dd');
    const fixedAtMs = momentOn(fixedOn, { hour, minute }, zone);
    if (fixedAtMs > atMs || (day.weekday > 5 && weekday <= 5) || daysOff(fixedOn) !== null) continue;
    return Math.max(fixedAtMs, asOfMs <= atMs ? asOfMs : 0);
  }
  return asOfMs;
}
