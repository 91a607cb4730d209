/**
 * Where each currency of a rebalancing stands, what decided its trade, and what is left afterwards: tables, and a sentence
 * for each currency that is traded or held back. The plan and the report use them.
 */
import { amountText, decimalsOf } from '../../domain/currencies.ts';
import type { Left } from '../../domain/plan/cost.ts';
import type { Position } from '../../domain/plan/plan.ts';
import { restraintText } from '../../domain/plan/restraints.ts';
import { add, compare, equal, isPositive, subtract } from '../../domain/money.ts';
import { table } from '../terminal/text.ts';
import { cellText } from './amount-text.ts';

type PositionAndAfter = Position & { readonly after: Left };
/**
 * `paid`: what a batch pays in the currency; `left`: the balance after that, once all trades have settled; null: not known.
 */
export type PositionAndPaid = Position & {
  readonly after: Left & { readonly paid: string; readonly left: string | null };
};

type Column<P> = readonly [title: string, cell: (position: P) => string];

const CURRENCY: Column<Position> = ['CURRENCY', ({ currency }) => currency];
const TARGET: Column<Position> = ['TARGET', targetText];
const BAND: Column<Position> = ['BAND', bandText];
const INSIDE: Column<PositionAndAfter> = ['INSIDE', insideText];
/** Only amounts stand on the right. */
const OF_WORDS = [CURRENCY, INSIDE].map(([title]) => title);

/** One row for each currency, the base first. */
function rows<P>(positions: readonly P[], width: number, columns: readonly Column<P>[]): string {
  return table(
    columns.map(([title]) => ({ title, right: !OF_WORDS.includes(title) })),
    positions.map((position) => columns.map(([, cell]) => cell(position))),
    width,
  );
}

export function positionsTable(positions: readonly Position[], width: number): string {
  return rows(positions, width, [
    CURRENCY,
    ['BALANCE', (position) => cellOf(position, position.withdrawable)],
    ['PROJECTED', (position) => ifKnown(position, position.projected)],
    TARGET,
    BAND,
    ['TRADE', tradeText],
  ]);
}

/**
 * For each currency: the balance as soon as all is traded, the balance once all has settled, and whether this is inside the
 * band.
 */
export function leftTable(positions: readonly PositionAndAfter[], width: number): string {
  return rows(positions, width, [
    CURRENCY,
    ['BALANCE', (position) => cellOf(position, position.after.withdrawable)],
    ['PROJECTED', (position) => ifKnown(position, position.after.projected)],
    TARGET,
    BAND,
    INSIDE,
  ]);
}

/**
 * For each currency: the balance as soon as all is traded, the balance once all has settled, and the balance once the batch
 * is paid.
 */
export function leftOfBatchTable(positions: readonly PositionAndPaid[], width: number): string {
  return rows(positions, width, [
    CURRENCY,
    ['BALANCE', (position) => cellOf(position, position.after.withdrawable)],
    ['PROJECTED', (position) => ifKnown(position, position.after.projected)],
    ['PAID', (position) => cellOf(position, position.after.paid)],
    ['LEFT', (position) => ifKnown(position, position.after.left)],
  ]);
}

/** What is left once all trades have settled. It is for a report, whose trades may have settled or not. */
export function settledTable(positions: readonly PositionAndAfter[], width: number): string {
  return rows(positions, width, [
    CURRENCY,
    ['EXPECTED', (position) => ifKnown(position, position.after.projected)],
    TARGET,
    BAND,
    INSIDE,
  ]);
}

function inCurrency({ currency }: Pick<Position, 'currency'>, amount: string): string {
  return amountText(amount, decimalsOf(currency, {}));
}

function cellOf({ currency }: Pick<Position, 'currency'>, amount: string): string {
  return cellText(amount, decimalsOf(currency, {}));
}

function ifKnown(position: Pick<Position, 'currency'>, amount: string | null): string {
  return amount === null ? '?' : cellOf(position, amount);
}

/** The target as the policy writes it: an amount, or `min …`, `max …`, `… to …`. */
function targetText(position: Position): string {
  const { target, low, high } = position;
  if (target !== null) return inCurrency(position, target);
  if (low !== null && high !== null) return `${inCurrency(position, low)} to ${inCurrency(position, high)}`;
  if (low !== null) return `min ${inCurrency(position, low)}`;
  return high === null ? '-' : `max ${inCurrency(position, high)}`;
}

function bandText(position: Position): string {
  const { target, high } = position;
  return target === null || high === null ? '-' : inCurrency(position, subtract(high, target));
}

function tradeText(position: Position): string {
  const { wanted, traded } = position;
  return wanted === null || !isPositive(traded) ? '-' : `${wanted.side} ${inCurrency(position, traded)}`;
}

function insideText({ low, high, after }: PositionAndAfter): string {
  const { projected } = after;
  if (projected === null || (low === null && high === null)) return '-';
  const isBelow = low !== null && compare(projected, low) < 0;
  return isBelow ? 'below' : high !== null && compare(projected, high) > 0 ? 'above' : 'yes';
}

/** Why a currency is traded, or less of it than its target asks for; nothing for a currency that stays as it is. */
export function decisionLines(positions: readonly Position[]): readonly string[] {
  return positions.flatMap((position) => decisionOf(position) ?? []);
}

function decisionOf(position: Position): string | null {
  const { currency, wanted, traded, restraint } = position;
  const reason = restraint === null ? null : restraintText(restraint);
  if (wanted === null) return reason === null ? null : `${currency}: ${reason}.`;
  const asked = `${wanted.side === 'sell' ? 'selling' : 'buying'} ${inCurrency(position, wanted.value)}`;
  const why = `${currency}: ${passedText(position)}; ${asked} brings it ${goalText(position)}`;
  if (reason === null) return `${why}.`;
  const less = isPositive(traded) ? `only ${inCurrency(position, traded)} are planned` : 'nothing is planned';
  return `${why}. But ${less}: ${reason}.`;
}

/** Which bound the currency has passed. */
function passedText(position: Position): string {
  const { projected, low, high, wanted } = position;
  const bound = wanted?.side === 'sell' ? high : low;
  const where = wanted?.side === 'sell' ? 'above' : 'below';
  return `${inCurrency(position, projected ?? '')} is ${where} ${inCurrency(position, bound ?? '')}`;
}

/** Where the trade leads, rounded to the currency's decimals. */
function goalText(position: Position): string {
  const { projected, target, low, high, wanted } = position;
  const goal = target ?? (wanted?.side === 'sell' ? high : low) ?? '';
  if (wanted === null || projected === null) return '';
  const reached = (wanted.side === 'sell' ? subtract : add)(projected, wanted.value);
  const to = inCurrency(position, goal);
  return equal(reached, goal)
    ? `back to ${to}`
    : `to ${inCurrency(position, reached)}, as near to ${to} as its decimals allow`;
}
