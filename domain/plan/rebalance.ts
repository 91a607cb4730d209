/**
 * The trades of a rebalancing: from targets and projected balances to trades between the base and one currency each, with
 * the reason for every number. Exact decimals, no clock, no order of arrival: the same input gives the same trades.
 *
 * Every number is rounded to the currency's decimals. Sold amounts and amounts kept by share are rounded down. Amounts that
 * are bought up to a minimum are rounded up. The cost of a purchase is counted at the worst price that the guard takes.
 */
import { add, compare, isPositive, multiply, notNegative, quotient, round, subtract, sum } from '../money.ts';
import { currenciesOf, type RebalancePolicy, type Target } from '../policy.ts';
import type { Pair } from '../service/records.ts';
import type { Position } from './plan.ts';
import type { Restraint } from './restraints.ts';
import type { Holding } from './holding.ts';
import type { PriceBound, Worth } from './price-bounds.ts';

export type RebalanceInput = {
  readonly rebalance: RebalancePolicy['rebalance'];
  readonly holdingOf: (currency: string) => Holding;
  readonly decimalsOf: (currency: string) => number;
  /** The worth of one unit in the base; null: the rates do not tell it. */
  readonly worthOf: (currency: string) => Worth | null;
  /** The worst price that the guard takes, from `sell` to `buy`; null: there is none, and nothing is traded. */
  readonly boundOf: (sell: string, buy: string) => PriceBound | null;
  /** The rate that is missing when a currency has none. */
  readonly missingRate: Extract<Restraint, 'no rate' | 'no worst rate'>;
  /** The pairs that the service offers; null: the list could not be read, which proves nothing. */
  readonly pairs: readonly Pair[] | null;
  /**
   * The most that one trade may move on the base's side, and the most that all trades may move by two limits; null: no
   * limit.
   */
  readonly most: { readonly trade: string | null; readonly run: string | null; readonly day: string | null };
  /** True when purchases wait for the base that they need. Then no purchase is cut to the base that is there. */
  readonly waitsForBase: boolean;
};

/** One trade between the base and another currency. `value` is in the other currency. */
export type PlannedTrade = {
  readonly side: 'buy' | 'sell';
  readonly currency: string;
  readonly value: string;
  /** The sales of this plan must first bring this much of the base; `0`: there is enough without them. */
  readonly needsFromSales: string;
};

export type Rebalancing = {
  readonly positions: readonly Position[];
  /** Sales first, each in the order of the policy. */
  readonly trades: readonly PlannedTrade[];
};

/** Digits after the point of values in the base. These values are only compared and added. */
const VALUE_DECIMALS = 12;

type Bounds = {
  /** The amount that is kept; null: there is only a minimum or a maximum. */
  readonly target: string | null;
  readonly low: string | null;
  readonly high: string | null;
  /** The balance to which a trade leads: `up` from below, `down` from above. */
  readonly up: string | null;
  readonly down: string | null;
  /**
   * How a purchase is rounded: up when it must reach a minimum; down for every other target, so that it does not pass it.
   */
  readonly rounding: 'up' | 'down';
};

/** A position while the restraints are applied. */
type Draft = Omit<Position, 'traded'> & {
  amount: string;
  restraint: Restraint | null;
  needsFromSales: string;
};

export function planRebalancing(input: RebalanceInput): Rebalancing {
  const { rebalance } = input;
  const total = rebalance.targets.some(({ goal }) => goal.kind === 'share') ? totalOf(input) : null;
  const asked = rebalance.targets.map((target) => draftOf(target, input, total));
  for (const draft of asked) restrain(draft, input);
  const drafts = keepLimits(asked, input);
  return {
    positions: [basePosition(input), ...drafts.map(positionOf)],
    trades: salesFirst(drafts).flatMap((draft) => tradesOf(draft, input)),
  };
}

function positionOf(draft: Draft): Position {
  const { currency, withdrawable, projected, target, low, high, wanted, amount, restraint } = draft;
  return { currency, withdrawable, projected, target, low, high, wanted, traded: amount, restraint };
}

function basePosition({ rebalance, holdingOf }: RebalanceInput): Position {
  const { currency, min } = rebalance.base;
  const { withdrawable, projected } = holdingOf(currency);
  const still = { target: null, low: min, high: null, wanted: null, traded: '0', restraint: null };
  return { currency, withdrawable, projected, ...still };
}

// The trades that the targets ask for.

/** @param total the total to which shares refer; null: it cannot be computed, or no target is a share */
function draftOf(target: Target, input: RebalanceInput, total: string | null): Draft {
  const { currency } = target;
  const holding = input.holdingOf(currency);
  const { withdrawable, projected } = holding;
  const bounds = boundsOf(target, input, total);
  const draft = {
    currency,
    withdrawable,
    projected,
    wanted: null,
    amount: '0',
    restraint: null,
    needsFromSales: '0',
  };
  if (bounds === null) return { ...draft, target: null, low: null, high: null, restraint: missing(input) };
  const { target: kept, low, high } = bounds;
  const bounded = { ...draft, target: kept, low, high };
  if (holding.projected === null) return { ...bounded, restraint: holding.unknown };
  const wanted = wantedOf(holding.projected, bounds, input.decimalsOf(currency));
  return { ...bounded, wanted, amount: wanted?.value ?? '0' };
}

/** Why the bounds of a share cannot be computed: this takes every projected balance and every rate. */
function missing({ rebalance, holdingOf, worthOf }: RebalanceInput): Restraint {
  const all = currenciesOf(rebalance);
  if (all.some((currency) => worthOf(currency) === null)) return 'no rate';
  const unknown = all.map(holdingOf).find(({ projected }) => projected === null);
  return unknown?.unknown ?? 'no rate';
}

/** What targets and balances say without any price. */
export type TargetInput = Pick<RebalanceInput, 'rebalance' | 'holdingOf' | 'decimalsOf' | 'worthOf'>;

/** The bounds of a target; null: a share of a total that cannot be computed. */
export function boundsOf(
  { currency, goal }: Target,
  input: TargetInput,
  total: string | null,
): Bounds | null {
  switch (goal.kind) {
    case 'keep':
      return around(goal.keep, goal.band);
    case 'range':
      return {
        target: null,
        low: goal.min,
        high: goal.max,
        up: goal.min,
        down: goal.max,
        rounding: 'up',
      };
    case 'share': {
      const worth = input.worthOf(currency);
      if (total === null || worth === null) return null;
      const decimals = input.decimalsOf(currency);
      const part = (percent: string): string =>
        quotient(
          multiply(multiply(total, multiply(percent, '0.01')), worth.over),
          worth.times,
          decimals,
          'down',
        );
      return around(part(goal.sharePercent), part(goal.bandPercent));
    }
  }
}

function around(keep: string, band: string): Bounds {
  return {
    target: keep,
    low: notNegative(subtract(keep, band)),
    high: add(keep, band),
    up: keep,
    down: keep,
    rounding: 'down',
  };
}

/**
 * The total of all currencies that the policy names, valued in the base, and never less than zero. Null: it cannot be
 * computed.
 */
export function totalOf({ rebalance, holdingOf, worthOf }: TargetInput): string | null {
  const all = currenciesOf(rebalance);
  const values = all.map((currency) => {
    const { projected } = holdingOf(currency);
    const worth = worthOf(currency);
    return projected === null || worth === null ? null : valueOf(projected, worth);
  });
  if (values.includes(null)) return null;
  const total = sum(values.flatMap((value) => value ?? []));
  return notNegative(total);
}

function valueOf(amount: string, { times, over }: Worth): string {
  return quotient(multiply(amount, times), over, VALUE_DECIMALS, 'half-even');
}

function wantedOf(projected: string, bounds: Bounds, decimals: number): Position['wanted'] {
  const { low, high, up, down, rounding } = bounds;
  if (low !== null && up !== null && compare(projected, low) < 0) {
    const value = round(subtract(up, projected), decimals, rounding);
    return isPositive(value) ? { side: 'buy', value } : null;
  }
  if (high !== null && down !== null && compare(projected, high) > 0) {
    const value = round(subtract(projected, down), decimals, 'down');
    return isPositive(value) ? { side: 'sell', value } : null;
  }
  return null;
}

// The restraints.

function isSale({ wanted }: Draft): boolean {
  return wanted?.side === 'sell';
}

/** The trades in the order in which they are sent: sales first, each in the order of the policy. */
function salesFirst(drafts: readonly Draft[]): readonly Draft[] {
  return [...drafts.filter(isSale), ...drafts.filter((draft) => !isSale(draft))];
}

function isTraded({ amount }: Draft): boolean {
  return isPositive(amount);
}

function refuse(draft: Draft, restraint: Restraint): void {
  draft.amount = '0';
  draft.restraint = restraint;
}

function cut(draft: Draft, most: string, restraint: Restraint): void {
  if (compare(draft.amount, most) <= 0) return;
  draft.amount = most;
  draft.restraint = restraint;
}

function restrain(draft: Draft, input: RebalanceInput): void {
  const { currency, wanted } = draft;
  const { rebalance, decimalsOf, worthOf, most } = input;
  if (wanted === null) return;
  if (isSale(draft) && rebalance.neverSell.includes(currency)) return refuse(draft, 'never_sell');
  if (worthOf(currency) === null || boundOfDraft(draft, input) === null)
    return refuse(draft, input.missingRate);
  if (isSale(draft)) {
    const { withdrawable } = draft;
    cut(draft, round(withdrawable, decimalsOf(currency), 'down'), 'withdrawable');
    if (!isTraded(draft)) return refuse(draft, 'withdrawable');
  }
  if (pairOf(draft, input) === undefined) return refuse(draft, 'pair not offered');
  if (most.trade !== null) cut(draft, amountFor(draft, most.trade, input), 'per_trade');
  const inOne = mostInOne(draft, input);
  if (inOne !== null) cut(draft, multiply(inOne, `${MOST_PARTS}`), 'pair maximum');
  checkSize(draft, input);
}

/** Refuses a trade that is too small for the policy or for the service. */
function checkSize(draft: Draft, input: RebalanceInput): void {
  const { minTrade } = input.rebalance;
  const worth = input.worthOf(draft.currency);
  if (!isTraded(draft) || worth === null) return;
  if (minTrade !== null && compare(valueOf(draft.amount, worth), minTrade) < 0)
    return refuse(draft, draft.restraint ?? 'min_trade');
  const pair = pairOf(draft, input);
  // The bounds are in the sold currency. For a purchase, the sold amount is counted by the reference rates.
  const sold = isSale(draft) ? draft.amount : valueOf(draft.amount, worth);
  if (pair && compare(sold, pair.minTradeAmount) < 0) refuse(draft, draft.restraint ?? 'pair minimum');
}

/** The pair of a trade. Null: the pairs could not be read. Undefined: the service does not offer the pair. */
function pairOf(draft: Draft, { rebalance, pairs }: RebalanceInput): Pair | null | undefined {
  if (pairs === null) return null;
  const base = rebalance.base.currency;
  const [sell, buy] = isSale(draft) ? [draft.currency, base] : [base, draft.currency];
  return pairs.find((pair) => pair.sellCurrency === sell && pair.buyCurrency === buy);
}

/** The worst price that the guard takes for this trade; null: the guard has no bound for it. */
function boundOfDraft(draft: Draft, { rebalance, boundOf }: RebalanceInput): PriceBound | null {
  const base = rebalance.base.currency;
  return isSale(draft) ? boundOf(draft.currency, base) : boundOf(base, draft.currency);
}

/** The largest amount of the currency for which the base's side is at most `baseAmount`, at `highestPrice`. */
function amountFor(draft: Draft, baseAmount: string, input: RebalanceInput): string {
  const price = highestPrice(draft, input);
  if (price === null) return '0';
  return quotient(multiply(baseAmount, price.over), price.times, input.decimalsOf(draft.currency), 'down');
}

/**
 * The most base that one unit may cost, or bring. The guard bounds the cost of a purchase, but not what a sale brings. So a
 * sale is counted at a price that is as much better than the reference as the guard lets it be worse. Then a quote that is a
 * little better than the reference does not break a limit to which the sale was cut. Null: there is no price.
 */
function highestPrice(draft: Draft, input: RebalanceInput): Worth | null {
  const worth = input.worthOf(draft.currency);
  const bound = boundOfDraft(draft, input);
  if (worth === null || bound === null) return null;
  const { times, over } = worth;
  const { buyFactor, sellFactor } = bound;
  if (!isSale(draft)) return { times: buyFactor, over: sellFactor };
  // The reference divided by the worst price, times the reference.
  return {
    times: multiply(multiply(times, times), buyFactor),
    over: multiply(multiply(over, over), sellFactor),
  };
}

/** The amount that a trade counts against a limit on the base's side. */
function highestBaseSide(draft: Draft, input: RebalanceInput): string {
  const price = highestPrice(draft, input);
  if (price === null) return '0';
  const decimals = input.decimalsOf(input.rebalance.base.currency);
  return quotient(multiply(draft.amount, price.times), price.over, decimals, 'up');
}

/** The base's side of a trade: the most that a purchase costs, the least that a sale brings. */
function baseSide(draft: Draft, input: RebalanceInput): string {
  const { amount } = draft;
  const decimals = input.decimalsOf(input.rebalance.base.currency);
  const bound = boundOfDraft(draft, input);
  if (bound === null) return '0';
  return isSale(draft)
    ? quotient(multiply(amount, bound.sellFactor), bound.buyFactor, decimals, 'down')
    : quotient(multiply(amount, bound.buyFactor), bound.sellFactor, decimals, 'up');
}

/**
 * The limits on all trades together. If a limit leaves nothing of a trade, the next largest trade gets its place among
 * `max_trades`, and everything is counted again without it.
 */
function keepLimits(asked: readonly Draft[], input: RebalanceInput): readonly Draft[] {
  const fallen = new Map<string, Restraint>();
  for (;;) {
    const drafts = asked.map((draft) => ({ ...draft }));
    for (const draft of drafts) {
      const restraint = fallen.get(draft.currency);
      if (restraint !== undefined) refuse(draft, restraint);
    }
    keepMostTrades(drafts, input);
    const chosen = drafts.filter(isTraded);
    keepSumLimit(drafts, input, input.most.run, 'per_run');
    keepSumLimit(drafts, input, input.most.day, 'per_day');
    if (!input.waitsForBase) keepBase(drafts, input);
    const left = chosen.filter((draft) => !isTraded(draft));
    const isOneWaiting = drafts.some(({ restraint }) => restraint === 'max_trades');
    if (left.length === 0 || !isOneWaiting) return drafts;
    for (const { currency, restraint } of left) if (restraint !== null) fallen.set(currency, restraint);
  }
}

/**
 * Keeps the trades with the largest worth; among equal ones, the first in the policy. A trade in several parts keeps as many
 * parts as there are places left.
 */
function keepMostTrades(drafts: readonly Draft[], input: RebalanceInput): void {
  const { maxTrades } = input.rebalance;
  if (maxTrades === null) return;
  const worthOfDraft = ({ currency, amount }: Draft): string =>
    valueOf(amount, input.worthOf(currency) ?? { times: '0', over: '1' });
  const bySize = drafts.filter(isTraded).toSorted((a, b) => compare(worthOfDraft(b), worthOfDraft(a)));
  let left = maxTrades;
  for (const draft of bySize) {
    const inOne = mostInOne(draft, input);
    if (inOne !== null) cut(draft, multiply(inOne, `${left}`), 'max_trades');
    if (left === 0) refuse(draft, 'max_trades');
    checkSize(draft, input);
    if (isTraded(draft)) left -= partsOf(draft, input);
  }
}

/** Cuts trades to a limit on the base's side of all of them, sales first, in the order in which they are sent. */
function keepSumLimit(
  drafts: readonly Draft[],
  input: RebalanceInput,
  most: string | null,
  name: 'per_run' | 'per_day',
): void {
  if (most === null) return;
  let left = most;
  for (const draft of salesFirst(drafts)) {
    cut(draft, amountFor(draft, notNegative(left), input), name);
    checkSize(draft, input);
    left = subtract(left, highestBaseSide(draft, input));
  }
}

/**
 * Gives the base to the purchases, in the order of the policy. A purchase uses the proceeds of the sales only when there is
 * not enough base without them.
 */
function keepBase(drafts: readonly Draft[], input: RebalanceInput): void {
  const { base } = input.rebalance;
  const there = subtract(input.holdingOf(base.currency).withdrawable, base.min ?? '0');
  const sales = drafts.filter(isSale).map((draft) => baseSide(draft, input));
  let spent = '0';
  for (const draft of drafts) {
    if (isSale(draft) || !isTraded(draft)) continue;
    const left = subtract(add(there, sum(sales)), spent);
    cut(draft, amountFor(draft, notNegative(left), input), 'base');
    if (!isTraded(draft)) refuse(draft, 'base');
    checkSize(draft, input);
    spent = add(spent, baseSide(draft, input));
    draft.needsFromSales = isTraded(draft) ? notNegative(subtract(spent, there)) : '0';
  }
}

// From drafts to trades.

/** The most trades of one currency in a plan. When more would be needed, the pair's maximum is too small for this policy. */
export const MOST_PARTS = 50;

/**
 * The most of the currency that one trade may move by the pair's maximum, in the currency's decimals; null: no maximum is
 * known.
 */
function mostInOne(draft: Draft, input: RebalanceInput): string | null {
  const pair = pairOf(draft, input);
  if (!pair) return null;
  const { maxTradeAmount } = pair;
  // The maximum is in the sold currency.
  return isSale(draft)
    ? round(maxTradeAmount, input.decimalsOf(draft.currency), 'down')
    : amountFor(draft, maxTradeAmount, input);
}

/** How many trades are needed, by the pair's maximum. */
function partsOf(draft: Draft, input: RebalanceInput): number {
  const most = mostInOne(draft, input);
  if (most === null || !isPositive(most)) return 1;
  return Math.max(1, Number(quotient(draft.amount, most, 0, 'up')));
}

/**
 * Splits a trade into parts of one size; the last part is the remainder. A part needs the proceeds of the sales only for its
 * own cost and for the parts before it.
 */
function tradesOf(draft: Draft, input: RebalanceInput): readonly PlannedTrade[] {
  const { wanted, currency, amount, needsFromSales } = draft;
  if (wanted === null || !isTraded(draft)) return [];
  const { side } = wanted;
  const count = partsOf(draft, input);
  const part = quotient(amount, `${count}`, input.decimalsOf(currency), 'up');
  return Array.from({ length: count }, (_, index) => {
    const before = multiply(part, `${index}`);
    const isLast = index === count - 1;
    const upToIt = isLast ? amount : add(before, part);
    const later = subtract(baseSide(draft, input), baseSide({ ...draft, amount: upToIt }, input));
    return {
      side,
      currency,
      value: subtract(upToIt, before),
      needsFromSales: notNegative(subtract(needsFromSales, later)),
    };
  });
}
