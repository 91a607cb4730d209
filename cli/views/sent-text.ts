/** What a run has sent, as lines for people. Pure. */
import type { Report } from '../../domain/run/report.ts';
import { money } from './amount-text.ts';

/** The movements that were sent by now, in words. */
export function sentLines(report: Report): readonly string[] {
  const legs = report.legs.flatMap((leg) =>
    leg.tradeId === null
      ? []
      : [`trade ${leg.tradeId}: ${money(leg.sellAmount, leg.sell)} for ${money(leg.buyAmount, leg.buy)}`],
  );
  const payments = report.payments.flatMap((payment) =>
    payment.withdrawalId === null
      ? []
      : [
          `withdrawal ${payment.withdrawalId}: ${money(payment.amount, payment.currency)} to ${payment.account}`,
        ],
  );
  return [...legs, ...payments];
}
