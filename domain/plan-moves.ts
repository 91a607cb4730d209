/**
 * What a plan moves, line by line: what a person says yes to before live money moves, and what the run holds its own plan
 * against. Two plans with the same lines move the same. Pure.
 */
import { sum } from './money.ts';
import type { Plan } from './plan.ts';

type Moves = Pick<Plan, 'guard' | 'legs' | 'payments'>;

/** One line for each leg and payment, and one for the totals. */
export function movesOf(plan: Moves): readonly string[] {
  const guard = plan.guard === null ? 'at any price' : plan.guard.text;
  const legs = plan.legs.map(({ id, sell, buy, amount }) => {
    const what =
      amount === null
        ? `sell ${sell} for ${buy}, of an amount that is not known any more`
        : amount.side === 'sell'
          ? `sell ${amount.value} ${sell} for ${buy}`
          : `buy ${amount.value} ${buy} for ${sell}`;
    return `${id}: ${what}, ${guard}`;
  });
  const payments = plan.payments.map(({ id, account, currency, amount }) => {
    const what =
      amount.kind === 'fixed' ? `${amount.value} ${currency}` : `what ${amount.leg} brings, in ${currency},`;
    return `${id}: pay ${what} to ${account}`;
  });
  if (legs.length + payments.length === 0) return ['There is nothing to do.'];
  return [...legs, ...payments, `In total: ${totals(plan).join('; ')}.`];
}

function totals(plan: Moves): readonly string[] {
  const sold = plan.legs.flatMap(({ sell, buy, amount }) =>
    amount === null
      ? []
      : [{ what: amount.side, currency: amount.side === 'sell' ? sell : buy, value: amount.value }],
  );
  const paid = plan.payments.flatMap(({ currency, amount }) =>
    amount.kind === 'fixed' ? [{ what: 'pay', currency, value: amount.value }] : [],
  );
  const all = [...sold, ...paid];
  const keys = new Set(all.map(({ what, currency }) => `${what} ${currency}`));
  const sums = [...keys].map((key) => {
    const of = all.filter(({ what, currency }) => `${what} ${currency}` === key);
    const [first] = of;
    return `${first?.what ?? ''} ${sum(of.map(({ value }) => value))} ${first?.currency ?? ''}`;
  });
  const unknown = plan.payments.length - paid.length;
  return [...sums, ...(unknown === 0 ? [] : [`${unknown} of proceeds`])];
}
