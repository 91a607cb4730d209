/**
 * Business dates, send windows and durations (design: "Identity", "Before every write"). A date is counted in the policy's
 * zone. The moments that bound its writes are epoch milliseconds, so that a workflow can use them.
 */
import { DateTime, IANAZone } from 'luxon';

/** The moments between which a run of one date may write, all in epoch milliseconds. */
export type SendWindows = {
  /** No write is sent before this moment, at which the date begins in the zone. */
  readonly opensAtMs: number;
  /** No trade is sent from this moment on, 2 h after the date has ended in the zone. */
  readonly tradesUntilMs: number;
  /**
   * No withdrawal is sent from this moment on: 00:00 UTC of the date plus 5 days 12 h. The service keeps its key for 7 days.
   */
  readonly withdrawalsUntilMs: number;
};

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** No zone is further than this from UTC (Pacific/Kiritimati has 14 h). */
const WIDEST_OFFSET_MS = 15 * HOUR_MS;

/** The calendar date in `zone` (IANA) at `nowMs`, as `2026-11-21`. */
export function todayIn(zone: string, nowMs: number): string {
  const moment = DateTime.fromMillis(nowMs, { zone });
  if (!moment.isValid) throw new RangeError(`no date for zone "${zone}" at ${nowMs}`);
  return moment.toFormat('yyyy-MM-dd');
}

/** A moment in `zone` (IANA), to the second, as spreadsheets read it: `2026-11-21 09:30:05`. */
export function momentIn(zone: string, atMs: number): string {
  return DateTime.fromMillis(atMs, { zone }).toFormat('yyyy-MM-dd HH:mm:ss');
}

/**
 * The send windows of a run of `date` (`2026-11-21`) in `zone`. They are exact on days on which clocks change, also where
 * the clocks skip midnight.
 */
export function sendWindowsOf(date: string, zone: string): SendWindows {
  if (!isCalendarDate(date)) throw new RangeError(`"${date}" is not a calendar date`);
  const utcMs = utcStartMs(date);
  return {
    opensAtMs: startMs(date, zone),
    tradesUntilMs: startMs(todayIn('UTC', utcMs + DAY_MS), zone) + 2 * HOUR_MS,
    withdrawalsUntilMs: utcMs + 5 * DAY_MS + 12 * HOUR_MS,
  };
}

const SETTLEMENT_DAYS = { IMMEDIATE: 0, T0: 0, T1: 1, T2: 2 } as const;

/**
 * The last moment (UTC) of the day by which a trade of `date` settles. Monday to Friday count as business days; holidays are
 * not known here.
 */
export function settlesBeforeMs(date: string, window: keyof typeof SETTLEMENT_DAYS): number {
  return endOfBusinessDayMs(date, SETTLEMENT_DAYS[window]);
}

/** The day by which a trade of `date` settles, with Monday to Friday as business days. */
export function settlementDate(date: string, window: keyof typeof SETTLEMENT_DAYS): string {
  return todayIn('UTC', settlesBeforeMs(date, window) - DAY_MS);
}

/** The end (UTC) of the business day that comes this many business days after `date`. */
function endOfBusinessDayMs(date: string, businessDays: number): number {
  let day = DateTime.fromISO(date, { zone: 'utc' });
  for (let left = businessDays; left > 0;) {
    day = day.plus({ days: 1 });
    if (day.weekday <= 5) left -= 1;
  }
  return day.toMillis() + DAY_MS;
}

/**
 * A purchase counts as arrived this many business days after its settlement window, whatever status the service gives it.
 */
const DAYS_OF_GRACE = 2;

/**
 * The moment from which a trade counts as settled even if no status says so: the end of its settlement window (the longest
 * when the service names none) and two business days.
 */
export function settledAtTheLatestMs(trade: {
  readonly createdAt: string;
  readonly settlementWindow: keyof typeof SETTLEMENT_DAYS | null;
}): number {
  const date = todayIn('UTC', Date.parse(trade.createdAt));
  return endOfBusinessDayMs(date, SETTLEMENT_DAYS[trade.settlementWindow ?? 'T2'] + DAYS_OF_GRACE);
}

/**
 * The business date with which a run id begins (`2026-11-21`, `2026-11-21-weekly`); null when the text begins with no date,
 * or is no id of a run.
 */
export function dateOfRunId(id: string): string | null {
  const match = /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:-[a-z0-9_-]{1,53})?$/.exec(id);
  const date = match?.[1];
  return date !== undefined && isCalendarDate(date) ? date : null;
}

/** True for a zone of the IANA database, by its exact name. */
export function isZone(zone: string): boolean {
  if (knownZones.has(zone)) return true;
  if (zoneName(zone) !== zone) return false;
  knownZones.add(zone);
  return true;
}

/** Known answers are kept, since the engine takes longer to answer for a zone than we take to read the rest of a policy. */
const knownZones = new Set<string>();

/** The exact name of a zone that was written in other capitals; null when there is no such zone. */
export function zoneName(zone: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/.test(zone) || !IANAZone.isValidZone(zone))
    return null;
  const resolved = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  return resolved.toLowerCase() === zone.toLowerCase() ? resolved : zone;
}

/** True for a moment that exists, written with its offset: `2026-11-20T16:00:00+01:00`. */
export function isInstant(text: string): boolean {
  return DateTime.fromISO(text, { setZone: true }).isValid;
}

/** Milliseconds of `45s`, `30m`, `6h`, `2d`; null when the text is no duration between 1 s and 366 days. */
export function parseDuration(text: string): number | null {
  const match = /^([1-9][0-9]{0,7})([smhd])$/.exec(text);
  const unit = UNITS.find(({ letter }) => letter === match?.[2]);
  if (match === null || unit === undefined) return null;
  const durationMs = Number(match[1]) * unit.ms;
  return durationMs <= 366 * DAY_MS ? durationMs : null;
}

/**
 * The shortest exact text of a duration: `6h`, `90m`; `1500ms` below whole seconds. `parseDuration` reads whole seconds
 * back.
 */
export function formatDuration(durationMs: number): string {
  const unit = UNITS.find(({ ms }) => durationMs >= ms && durationMs % ms === 0);
  return unit === undefined ? `${durationMs}ms` : `${durationMs / unit.ms}${unit.letter}`;
}

const UNITS: readonly { readonly letter: string; readonly ms: number }[] = [
  { letter: 'd', ms: DAY_MS },
  { letter: 'h', ms: HOUR_MS },
  { letter: 'm', ms: 60_000 },
  { letter: 's', ms: 1_000 },
];

/** True for a date that exists, as `2026-11-21`. */
export function isCalendarDate(date: string): boolean {
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(date) && DateTime.fromISO(date, { zone: 'utc' }).isValid;
}

function utcStartMs(date: string): number {
  return DateTime.fromISO(date, { zone: 'utc' }).toMillis();
}

/**
 * The first millisecond whose date in `zone` is `date`, found by halving. Asking for the local midnight would be wrong
 * where clocks skip it (the day begins at 01:00) and ambiguous where they pass it twice.
 */
function startMs(date: string, zone: string): number {
  let before = utcStartMs(date) - WIDEST_OFFSET_MS;
  let reached = utcStartMs(date) + WIDEST_OFFSET_MS;
  while (reached - before > 1) {
    const middle = Math.floor((before + reached) / 2);
    if (todayIn(zone, middle) >= date) reached = middle;
    else before = middle;
  }
  return reached;
}
