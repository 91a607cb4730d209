/**
 * The size limits of a policy (M4). They bind single amounts, and sums over the run or the business date, of trades and of
 * payments. An amount equal to a limit passes. The plan checks the known amounts. `domain/run/release.ts` checks each
 * payment once its amount is known, just before the steps get it. The steps of a leg check each quote. Pure.
 */
import { moneyText } from '../currencies.ts';
import { compare, sum } from '../money.ts';
import type { Limits, Money } from '../policy.ts';

/** The amounts that legs sell and buy, as far as they are known: one side from the plan, both from a quote or a trade. */
export type Gross = readonly Money[];

/** The amounts that count against the limits besides this trade. */
export type TradedBefore = {
  /** The other legs of the run. */
  readonly inRun: Gross;
  /** Other runs of the policy on the same business date. */
  readonly onDate: Gross;
};

/**
 * The sentence that names a limit which a trade exceeds, alone or with the other legs of its run; null: it keeps all limits.
 */
export function brokenTradeLimit(
  limits: Limits | null,
  trade: Gross,
  { inRun, onDate }: TradedBefore,
): string | null {
  if (limits === null) return null;
  const { perTrade, perRun, perDay } = limits;
  for (const money of trade) {
    if (perTrade?.currency === money.currency && compare(money.value, perTrade.value) > 0)
      return sentence(money, 'per_trade', perTrade);
  }
  return (
    brokenSum(perRun, 'per_run', trade, inRun) ?? brokenSum(perDay, 'per_day', trade, [...inRun, ...onDate])
  );
}

function brokenSum(limit: Money | null, name: string, trade: Gross, others: Gross): string | null {
  if (limit === null || !trade.some(({ currency }) => currency === limit.currency)) return null;
  const total = totalIn(limit.currency, [...others, ...trade]);
  return compare(total.value, limit.value) > 0 ? sentence(total, name, limit) : null;
}

/**
 * The sentence that names a limit which a payment exceeds; null: it keeps all limits.
 * @param before the payments before it in the plan whose amounts are known; with this payment they are the sum of the run
 */
export function brokenPaymentLimit(
  limits: Limits | null,
  payment: Money,
  before: readonly Money[],
): string | null {
  if (limits === null) return null;
  const single = limits.perPayment.find(({ currency }) => currency === payment.currency);
  if (single !== undefined && compare(payment.value, single.value) > 0)
    return sentence(payment, 'per_payment', single);
  const paid = limits.paidPerRun.find(({ currency }) => currency === payment.currency);
  if (paid === undefined) return null;
  const total = totalIn(payment.currency, [...before, payment]);
  return compare(total.value, paid.value) > 0 ? sentence(total, 'paid_per_run', paid) : null;
}

function totalIn(currency: string, all: readonly Money[]): Money {
  const values = all.filter((money) => money.currency === currency).map(({ value }) => value);
  return { value: sum(values), currency };
}

/** For each limit on a sum, the words that say over what it is summed. */
const OVER: Readonly<Record<string, string>> = {
  per_run: ' in one run',
  paid_per_run: ' in one run',
  per_day: ' on one business date',
};

function sentence(money: Money, name: string, limit: Money): string {
  const what = `${moneyText(money.value, money.currency)}${OVER[name] ?? ''}`;
  return `${what} is above the limit ${name} of ${moneyText(limit.value, limit.currency)}.`;
}
