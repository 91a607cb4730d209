/** When the second plan of a run may send (design: "A second plan"). */
import type { Plan } from '../domain/plan/plan.ts';
import type { ConvertPolicy } from '../domain/policy.ts';
import { settlesBeforeMs, sendWindowsOf, todayIn, type SendWindows } from './business-date.ts';

const DAY_MS = 86_400_000;

/**
 * It trades on the date on which it was asked for; its payments keep their keys, and so their window.
 * @param askedAtMs epoch milliseconds
 * @returns also `why` nothing new may be planned in that window, in one sentence; null: it may
 */
export function secondPlanWindows(
  { date, sendWindows }: Pick<Plan, 'date' | 'sendWindows'>,
  { zone, limits, quote, withdraw }: ConvertPolicy,
  askedAtMs: number,
): { readonly sendWindows: SendWindows; readonly why: string | null } {
  const { opensAtMs, withdrawalsUntilMs } = sendWindows;
  const askedOn = todayIn(zone, askedAtMs);
  const { tradesUntilMs } = sendWindowsOf(askedOn, zone);
  const isOtherDay = askedOn !== date && (limits?.perDay ?? null) !== null;
  const isTooLate =
    withdraw.length > 0 && settlesBeforeMs(askedOn, quote.settlement) + DAY_MS > withdrawalsUntilMs;
  const why = isOtherDay
    ? `It would trade on ${askedOn}, and the limit of a day counts what was traded on ${date}.`
    : isTooLate
      ? `What it trades on ${askedOn} may settle too late: its payments may be sent until ${new Date(withdrawalsUntilMs).toISOString()}.`
      : null;
  return { sendWindows: { opensAtMs, tradesUntilMs, withdrawalsUntilMs }, why };
}
