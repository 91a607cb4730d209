/**
 * What trades bring and what they cost against the reference rates, for people. Costs have a sign, since a gain is less than
 * zero.
 */
import { amountText } from '../../domain/currencies.ts';
import type { Cost, Expected, Sides } from '../../domain/plan/cost.ts';
import { isPositive, sum } from '../../domain/money.ts';
import type { Leg } from '../../domain/plan/plan.ts';
import type { ReportLeg } from '../../domain/run/report.ts';
import { table } from '../terminal/text.ts';
import { cellMoney, money, rateText } from './amount-text.ts';

const BPS_DECIMALS = 2;

/** `+12.50 USD (2.31 bps)`. */
export function costText(cost: Cost): string {
  return `${costMoney(cost)} (${bpsText(cost)} bps)`;
}

/** `+` is a cost, `-` a gain. */
function costMoney({ amount, currency }: Pick<Cost, 'amount' | 'currency'>): string {
  return `${isPositive(amount) ? '+' : ''}${money(amount, currency)}`;
}

function bpsText({ bps }: Cost): string {
  return `${isPositive(bps) ? '+' : ''}${amountText(bps, BPS_DECIMALS)}`;
}

/** The planned amounts, what they should bring, and what that costs, with the sum when there are several. */
export function expectedTable(
  rows: readonly { readonly leg: Leg; readonly expected: Expected | null }[],
  width: number,
): string {
  const costs = rows.map(({ expected }) => expected?.cost ?? null);
  const total = totalCost(costs);
  return table(
    [
      { title: 'LEG' },
      { title: 'TRADE', right: true },
      { title: 'EXPECTED', right: true },
      { title: 'RATE', right: true },
      { title: 'COST', right: true },
      { title: 'BPS', right: true },
    ],
    [
      ...rows.map(({ leg, expected }) => {
        const { id, sell, buy, amount } = leg;
        const isSale = amount?.side !== 'buy';
        return [
          id,
          amount === null ? '-' : `${amount.side} ${money(amount.value, isSale ? sell : buy)}`,
          expected === null
            ? '-'
            : cellMoney(isSale ? expected.buyAmount : expected.sellAmount, isSale ? buy : sell),
          expected === null ? '-' : rateText(expected.rate),
          expected?.cost ? costMoney(expected.cost) : '-',
          expected?.cost ? bpsText(expected.cost) : '-',
        ];
      }),
      ...(total === null ? [] : [['total', '', '', '', costMoney(total), '']]),
    ],
    width,
  );
}

/**
 * What was planned, what the traded quote promised, and what the trade cost, with the sum when there are several. `traded`
 * is null where it is not known any more, for example after a reset.
 */
export function costsTable(
  rows: readonly { readonly leg: ReportLeg; readonly traded: Sides | null }[],
  width: number,
): string {
  const total = totalCost(rows.map(({ leg }) => leg.cost));
  return table(
    [
      { title: 'LEG' },
      { title: 'PLANNED', right: true },
      { title: 'QUOTED', right: true },
      { title: 'COST', right: true },
      { title: 'BPS', right: true },
    ],
    [
      ...rows.map(({ leg, traded }) => {
        const { id, sell, buy, planned, cost } = leg;
        const isSale = planned?.side !== 'buy';
        return [
          id,
          planned === null ? '-' : `${planned.side} ${money(planned.value, isSale ? sell : buy)}`,
          traded === null
            ? '-'
            : cellMoney(isSale ? traded.buyAmount : traded.sellAmount, isSale ? buy : sell),
          cost === null ? '-' : costMoney(cost),
          cost === null ? '-' : bpsText(cost),
        ];
      }),
      ...(total === null ? [] : [['total', '', '', costMoney(total), '']]),
    ],
    width,
  );
}

/** The sum of the costs. Null where there are fewer than two, or they are in several currencies. */
function totalCost(costs: readonly (Cost | null)[]): Pick<Cost, 'amount' | 'currency'> | null {
  const known = costs.flatMap((cost) => cost ?? []);
  const [first] = known;
  if (first === undefined || known.length < 2) return null;
  if (known.some(({ currency }) => currency !== first.currency)) return null;
  return { amount: sum(known.map(({ amount }) => amount)), currency: first.currency };
}
