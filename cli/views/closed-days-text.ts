/** What a plan meets of closed days: the payments and trades whose payment system is closed on their day. Pure. */
import { settlementDate } from '../../calendar/business-date.ts';
import { firstOpenDay, systemOf, whyClosed, type PaymentSystem } from '../../calendar/payment-systems.ts';
import { fixedAmountOf } from '../../domain/plan/amounts.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { money } from './amount-text.ts';

/** One sentence for each currency whose payments, or trades, meet a closed day. */
export function closedDayLines(plan: Plan): readonly string[] {
  return [...paymentLines(plan), ...legLines(plan)];
}

function paymentLines({ date, payments, batch }: Plan): readonly string[] {
  const inBatch = (batch?.payable ?? []).map(({ currency, value }) => ({
    currency,
    what: `the payments in ${currency}, ${money(value, currency)},`,
  }));
  const single = payments.map((payment) => {
    const amount = fixedAmountOf(payment);
    const { id, currency } = payment;
    return { currency, what: amount === null ? id : `${id}, ${money(amount, currency)},` };
  });
  return [...inBatch, ...single].flatMap(({ currency, what }) => {
    const system = systemOf(currency);
    return system === null ? [] : lineOf([system], date, `${what} will arrive`);
  });
}

function legLines({ date, legs, rules }: Plan): readonly string[] {
  const settles = settlementDate(date, rules.quote.settlement);
  return legs.flatMap(({ id, sell, buy }) => {
    const systems = [sell, buy].flatMap((currency) => systemOf(currency) ?? []);
    return lineOf(systems, settles, `${id}, ${sell} for ${buy}, will settle`);
  });
}

function lineOf(systems: readonly PaymentSystem[], date: string, what: string): readonly string[] {
  const closed = systems.flatMap((system) => {
    const why = whyClosed(system, date);
    return why === null ? [] : [`${system.name} (${why})`];
  });
  if (closed.length === 0) return [];
  return [
    `On ${date} payments cannot pass ${closed.join(' and ')}: ${what} on ${firstOpenDay(systems, date)} at the earliest.`,
  ];
}
