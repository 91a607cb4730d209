/** Why a schedule made a start, by the times of the start alone: Temporal says no more. Pure. */
import { DateTime } from 'luxon';
import type { TimeOfDay } from '../domain/policy.ts';
import { todayIn } from './business-date.ts';

/**
 * `clock`: Temporal started it at the schedule's time, or soon after. `person`: it started at another time, so somebody
 * triggered it. `backfill`: its time is so long ago that Temporal itself would have dropped it, so somebody asked for that
 * date.
 */
export type Occasion = 'clock' | 'person' | 'backfill';

/** Temporal needs a moment to start what is due. */
const SLACK_MS = 60_000;

/** The business date of a start for `nominalMs`, and what brought it about. All times in epoch milliseconds. */
export function occasionOf(
  { at, zone }: { readonly at: TimeOfDay; readonly zone: string },
  times: { readonly nominalMs: number; readonly startedAtMs: number; readonly catchUpMs: number },
): { readonly date: string; readonly occasion: Occasion } {
  const { nominalMs, startedAtMs, catchUpMs } = times;
  const there = DateTime.fromMillis(nominalMs, { zone });
  const isAtItsTime = there.hour === at.hour && there.minute === at.minute && nominalMs % 60_000 === 0;
  const isLate = startedAtMs - nominalMs > catchUpMs + SLACK_MS;
  const occasion = isAtItsTime ? (isLate ? 'backfill' : 'clock') : 'person';
  return { date: todayIn(zone, nominalMs), occasion };
}
