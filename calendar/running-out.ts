/** What a schedule soon has no more of, or has no more of already: dates, or days off that its policy lists. Pure. */
import type { Schedule } from '../domain/policy.ts';

export type RunningOut =
  /** Its last date is near, or over. */
  | { readonly kind: 'ends'; readonly on: string; readonly isPast: boolean }
  /** The policy lists days off, but none in `year` or later, and that year has begun or is near. */
  | { readonly kind: 'no days off'; readonly year: string; readonly last: string };

/** In this time a person can look up the holidays of the next year. */
const SOON_MS = 30 * 86_400_000;

/** @param today `2026-11-23`, in the zone of the policy */
export function runningOutOf(
  { holidays, end }: Pick<Schedule, 'holidays' | 'end'>,
  today: string,
): readonly RunningOut[] {
  const soon = new Date(Date.parse(today) + SOON_MS).toISOString().slice(0, 10);
  const ends: readonly RunningOut[] =
    end !== null && end < soon ? [{ kind: 'ends', on: end, isPast: end < today }] : [];
  const year = soon.slice(0, 4);
  const last = holidays.kind === 'dates' ? (holidays.dates.toSorted().at(-1) ?? null) : null;
  const isOver = end !== null && end.slice(0, 4) < year;
  // A calendar has the holidays of every year, and a policy without listed days off needs no new ones.
  if (last === null || last.slice(0, 4) >= year || isOver) return ends;
  return [...ends, { kind: 'no days off', year, last }];
}
