/**
 * What a person should know of the cut-offs of a policy: after one, what is sent in its currency has the value of the next day. This
 * stops nothing.
 */
import { dayAfterCutoff } from '../../calendar/cutoffs.ts';
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
      const day = dayAfterCutoff(cutoff, nowMs);
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

function timeOf({ at: { hour, minute } }: Cutoff): string {
  return [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
}
