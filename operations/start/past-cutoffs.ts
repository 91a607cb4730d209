/**
 * What a person should know of the cut-offs of a policy: after one, what is sent in its currency has the value of the next day. This
 * stops nothing.
 */
import { DateTime } from 'luxon';
import { todayIn } from '../../calendar/business-date.ts';
import { firstOpenDay, systemOf, whyClosed } from '../../calendar/payment-systems.ts';
import { momentOn } from '../../calendar/schedule.ts';
import { currenciesOf, type Cutoff, type Policy } from '../../domain/policy.ts';

/**
 * One line for each cut-off that is over today.
 * @param batch the currencies of the file of a payout
 */
export function pastCutoffs(policy: Policy, batch: readonly string[], nowMs: number): readonly string[] {
  const moved = movedBy(policy, batch);
  return policy.cutoffs
    .filter(({ currency }) => moved.includes(currency))
    .flatMap((cutoff) => {
      const day = dayAfter(cutoff, nowMs);
      if (day === null) return [];
      const { currency, zone } = cutoff;
      const [what, arrives] = policy.kind === 'rebalance' ? ['traded', 'settle'] : ['paid', 'arrive'];
      return [
        `It is past ${timeOf(cutoff)} ${zone}, the cut-off of ${currency}: what is ${what} in it will ${arrives} on ${day} at the earliest.`,
      ];
    });
}

/** The currencies in which the policy pays, or trades where it pays nothing. */
function movedBy(policy: Policy, batch: readonly string[]): readonly string[] {
  switch (policy.kind) {
    case 'convert':
      return policy.withdraw.length > 0 ? [policy.convert.buy] : [];
    case 'rebalance':
      return currenciesOf(policy.rebalance);
    case 'payout':
      return batch;
  }
}

/** The next day on which the currency moves, where its cut-off of today is over; null: it is not, or nothing moves today anyway. */
function dayAfter({ currency, at, zone }: Cutoff, nowMs: number): string | null {
  const today = todayIn(zone, nowMs);
  const system = systemOf(currency);
  const systems = system === null ? [] : [system];
  if (nowMs < momentOn(today, at, zone) || systems.some((one) => whyClosed(one, today) !== null)) return null;
  const tomorrow = DateTime.fromISO(today, { zone: 'utc' }).plus({ days: 1 });
  return firstOpenDay(systems, tomorrow.toFormat('yyyy-MM-dd'));
}

function timeOf({ at: { hour, minute } }: Cutoff): string {
  return [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
}
