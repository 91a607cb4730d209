/**
 * Times of day that do not come exactly once on every day. Where clocks are changed (daylight saving), a time is skipped on
 * one day and comes twice on another. A schedule at such a time would start no run, or two.
 */
import { IANAZone } from 'luxon';
import type { TimeOfDay } from '../domain/policy.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Two years: clock changes are looked for this far ahead. */
const LOOK_AHEAD_MS = 731 * DAY_MS;

export type UnsafeTime = {
  /** The days of the next two years on which the time is skipped or comes twice, in order. */
  readonly days: readonly { readonly date: string; readonly what: 'skipped' | 'twice' }[];
  /** The nearest time of day that comes exactly once on each of these days. */
  readonly nearest: TimeOfDay;
};

/** The problem of a time of day in a zone in the two years after `nowMs`; null: every day has this time exactly once. */
export function unsafeTime(at: TimeOfDay, zone: string, nowMs: number): UnsafeTime | null {
  const changes = changesOf(zone, nowMs);
  const minute = at.hour * 60 + at.minute;
  const days = changes.flatMap((change) => {
    const date = dateWithin(change, minute);
    return date === null ? [] : [{ date, what: change.what }];
  });
  if (days.length === 0) return null;
  const near = [...Array(24 * 60).keys()]
    .filter((other) => changes.every((change) => dateWithin(change, other) === null))
    .toSorted((left, right) => Math.abs(left - minute) - Math.abs(right - minute) || right - left)[0];
  if (near === undefined) throw new RangeError(`"${zone}" has no time of day that each of its days has once`);
  return { days, nearest: { hour: Math.floor(near / 60), minute: near % 60 } };
}

/**
 * The local times that are skipped, or that come twice: from `fromMs` until before `beforeMs`. They are milliseconds as if
 * the zone were UTC.
 */
type Change = { readonly what: 'skipped' | 'twice'; readonly fromMs: number; readonly beforeMs: number };

/** The date on which this minute of the day is inside the change; null: it is not. */
function dateWithin({ fromMs, beforeMs }: Change, minute: number): string | null {
  for (const ms of [fromMs, beforeMs - 1]) {
    const timeMs = Math.floor(ms / DAY_MS) * DAY_MS + minute * MINUTE_MS;
    if (timeMs >= fromMs && timeMs < beforeMs) return new Date(timeMs).toISOString().slice(0, 10);
  }
  return null;
}

/** Every change of the zone's clocks after `nowMs`. There is one between two days with different offsets from UTC. */
function changesOf(zone: string, nowMs: number): readonly Change[] {
  const rules = IANAZone.create(zone);
  const offsetMs = (ms: number): number => rules.offset(ms) * MINUTE_MS;
  const changes: Change[] = [];
  let before = offsetMs(nowMs);
  for (let dayMs = nowMs; dayMs < nowMs + LOOK_AHEAD_MS; dayMs += DAY_MS) {
    const after = offsetMs(dayMs + DAY_MS);
    if (before === after) continue;
    let [beforeMs, afterMs] = [dayMs, dayMs + DAY_MS];
    while (afterMs - beforeMs > 1) {
      const middleMs = Math.floor((beforeMs + afterMs) / 2);
      if (offsetMs(middleMs) === before) beforeMs = middleMs;
      else afterMs = middleMs;
    }
    changes.push({
      what: after > before ? 'skipped' : 'twice',
      fromMs: afterMs + Math.min(before, after),
      beforeMs: afterMs + Math.max(before, after),
    });
    before = after;
  }
  return changes;
}
