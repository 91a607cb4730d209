/** Cut-offs: the time of day until when money in a currency moves on the same day. Pure. */
import { DateTime } from 'luxon';
import type { Cutoff } from '../domain/policy.ts';
import { todayIn } from './business-date.ts';
import { firstOpenDay, systemOf, whyClosed } from './payment-systems.ts';
import { momentOn } from './schedule.ts';

/** The next day on which the currency moves, where its cut-off of today is over; null: it is not, or nothing moves today anyway. */
export function dayAfterCutoff({ currency, at, zone }: Cutoff, nowMs: number): string | null {
  const today = todayIn(zone, nowMs);
  const system = systemOf(currency);
  const systems = system === null ? [] : [system];
  if (nowMs < momentOn(today, at, zone) || systems.some((one) => whyClosed(one, today) !== null)) return null;
  const tomorrow = DateTime.fromISO(today, { zone: 'utc' }).plus({ days: 1 });
  return firstOpenDay(systems, tomorrow.toFormat('yyyy-MM-dd'));
}
