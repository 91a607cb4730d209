/**
 * The movements of a plan, one line each. A person says yes to these lines before live money moves, and the run compares its
 * own plan with them. Two plans with the same lines move the same money. Amounts use only the built-in table of decimals, so
 * that two workers with different service files write the same line. Pure.
 */
import { unpayableOf, type PlanBatch } from '../batch.ts';
import { moneyText } from '../currencies.ts';
import { fixedAmountOf } from './amounts.ts';
import type { Payment, Plan } from './plan.ts';

type Moves = Pick<Plan, 'legs' | 'payments' | 'batch' | 'totals'>;

/** One line for each leg and payment, one for a batch, and one for the totals. */
export function movesOf(plan: Moves): readonly string[] {
  const legs = plan.legs.map(({ id, sell, buy, amount, guard }) => {
    const what =
      amount === null
        ? `sell ${sell} for ${buy}, of an amount that is not known any more`
        : amount.side === 'sell'
          ? `sell ${moneyText(amount.value, sell)} for ${buy}`
          : `buy ${moneyText(amount.value, buy)} for ${sell}`;
    return `${id}: ${what}, ${guard === null ? 'at any price' : guard.text}`;
  });
  const payments = plan.payments.map(
    (payment) => `${payment.id}: pay ${whatIsPaid(payment)} to ${payment.account}`,
  );
  const batch = plan.batch === null ? [] : [whatOfBatch(plan.batch)];
  if (legs.length + payments.length + batch.length === 0) return ['There is nothing to do.'];
  return [...legs, ...payments, ...batch, `In total: ${totals(plan).join('; ')}.`];
}

/** @param shown the lines to which a person said yes; undefined when no person was asked */
export function isAsShown(plan: Moves, shown: readonly string[] | undefined): boolean {
  return shown === undefined || shown.join('\n') === movesOf(plan).join('\n');
}

function whatOfBatch(batch: PlanBatch): string {
  const { payments } = batch;
  const unpayable = unpayableOf(batch).length;
  const all = `the batch: pay ${payments - unpayable} of ${payments} payments`;
  return unpayable === 0 ? all : `${all}; the service already says that ${unpayable} cannot be paid`;
}

function whatIsPaid({ amount, currency }: Payment): string {
  switch (amount.kind) {
    case 'fixed':
      return moneyText(amount.value, currency);
    case 'proceeds':
      return `what ${amount.leg} brings, in ${currency},`;
    case 'rest':
      return `what the fixed payments leave of what ${amount.leg} brings, in ${currency},`;
  }
}

function totals(plan: Moves): readonly string[] {
  const unknown = plan.payments.filter((payment) => fixedAmountOf(payment) === null).length;
  return [
    ...plan.totals.map(({ what, value, currency }) => `${what} ${moneyText(value, currency)}`),
    ...(unknown === 0 ? [] : [`${unknown} of proceeds`]),
  ];
}
