/** Why a schedule made a start. Temporal does not tell this, so it is found by the times of the start. Pure. */
import { DateTime } from 'luxon';
import type { TimeOfDay } from '../domain/policy.ts';
import { todayIn } from './business-date.ts';

/**
 * `clock`: Temporal started it at the schedule's time, or soon after. `person`: Temporal started it at another time, so a
 * person triggered it. `backfill`: its time is so long ago that Temporal itself would have dropped it, so a person asked for
 * that date.
 */
export type Occasion = 'clock' | 'person' | 'backfill';

/** Temporal needs a moment to start what is due. */
const SLACK_MS = 60_000;

/** The business date of a start for `nominalMs`, and its occasion. All times in epoch milliseconds. */
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
