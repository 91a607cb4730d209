/**
 * What a rebalancing may trade (M4), judged by the ledger alone: never past a limit of a trade, a run or a day, never at a worse
 * price than its guard lets pass, never so much of a currency that it is beyond its target on the other side, and never the
 * last dollars. What other people do with the money is not its fault.
 */
import type { Quote } from '../../../domain/service/records.ts';
import { TARGETS } from './ours.ts';
import { isReservedTwice } from './outside.ts';
import { otherSide } from './prices.ts';
import { isFailed, isLast, type Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import { textOf, units } from './units.ts';
import type { World } from './world.ts';

type TradeMovement = Extract<Movement, { kind: 'trade' }>;

const REFERENCE = units('17.25');
/** What each currency is brought back to. */
const GOALS: Readonly<Record<string, string>> = {
  EUR: TARGETS.eur,
  GBP: TARGETS.leastGbp,
  MXN: TARGETS.mostMxn,
};
/** Digits that amounts are cut to, of a few trades. */
export const TOLERANCE = units('0.05');
const BPS = 10_000n;

/** What this trade, which has just been booked, breaks. */
export function brokenByRebalance(
  world: World,
  temporal: Temporal,
  movement: TradeMovement,
): readonly string[] {
  const { item } = movement.send.write;
  world.coverage.hit('rebalance', movement.record.buyCurrency === 'USD' ? 'a sale' : 'a purchase');
  const isUncounted = (currency: string): boolean =>
    isMovedByOthers(world, currency) || isReservedTwice(world, currency);
  const { sellCurrency, buyCurrency } = movement.record;
  const traded = buyCurrency === 'USD' ? sellCurrency : buyCurrency;
  return [
    ...overLimits(world, temporal, { dollars: dollarsOf(movement), isBooked: true }),
    ...outsideGuard(movement),
    ...(isUncounted(traded) ? [] : beyondTarget(world, movement)),
    ...(isUncounted('USD') ? [] : lastDollars(world, movement)),
  ].map((what) => `${item} ${what}`);
}

/** The limits that a trade passes. @param isBooked it is among the trades of the ledger already */
export function overLimits(
  world: World,
  temporal: Temporal,
  { dollars, isBooked }: { readonly dollars: bigint; readonly isBooked: boolean },
): readonly string[] {
  const { rebalance, input } = temporal.ours;
  if (rebalance === null) return [];
  const { perTrade, perRun, perDay } = rebalance;
  const ofPolicy = world.runs.filter(({ ours }) => ours.input.run.policy === input.run.policy);
  const sumOf = (runs: readonly Temporal[]): bigint => {
    const prefixes = runs.map((run) => run.ours.prefix);
    return tradesOf(world)
      .filter(({ send }) => prefixes.includes(prefixOf(world, send.write.item)))
      .reduce((sum, trade) => sum + dollarsOf(trade), isBooked ? 0n : dollars);
  };
  const ofDay = strangersDollars(world, input.run) + sumOf(ofPolicy);
  return [
    [perTrade, dollars, 'a trade'],
    [perRun, sumOf([temporal]), 'a run'],
    [perDay, ofDay, 'a day'],
  ].flatMap(([limit, moved, of]) =>
    typeof limit === 'string' && typeof moved === 'bigint' && moved > units(limit)
      ? [`brings ${textOf(moved)} USD, ${limit} is the limit of ${String(of)}`]
      : [],
  );
}

/** What somebody else has traded under names of the policy on this date: nobody can tell such trades from those of its own runs. */
function strangersDollars({ service }: World, { policy, id }: Temporal['ours']['input']['run']): bigint {
  const date = id.slice(0, '2026-11-21'.length);
  return service.strangersTrades
    .filter(({ reference }) => reference.startsWith(`${policy}.${date}`))
    .reduce((sum, { dollars }) => sum + units(dollars), 0n);
}

export function outsideGuard({ record }: TradeMovement): readonly string[] {
  const { sellCurrency: sell, buyCurrency: buy } = record;
  const [sold, bought] = [soldOf(record), boughtOf(record)];
  return isWorse({ sell, buy, sold, bought })
    ? [`is traded at ${textOf(bought)} ${buy} for ${textOf(sold)} ${sell}`]
    : [];
}

type Price = {
  readonly sell: string;
  readonly buy: string;
  readonly sold: bigint;
  readonly bought: bigint;
};

function isWorse({ sell, buy, sold, bought }: Price): boolean {
  const fair = otherSide({ sell, buy }, 'sell', sold, REFERENCE);
  return bought * BPS + TOLERANCE * BPS < fair * (BPS - BigInt(TARGETS.worstCostBps));
}

// What a leg that is not traded may still be asked for (M8), by the true balances.

/** A quote that the guard does not let pass, or that is so near to it that rounding decides. */
export function isAtWorsePrice(quote: Quote): boolean {
  const { sellCurrency: sell, buyCurrency: buy } = quote;
  const sold = units(quote.sellAmount ?? quote.quoteAmount);
  const bought = units(quote.buyAmount ?? quote.quoteAmount);
  return isWorse({ sell, buy, sold, bought: bought - 2n * TOLERANCE });
}

/** The US dollars of a leg, by its last quote, or at the worst by the reference. */
export function dollarsAsked(
  { sell, buy, value }: { readonly sell: string; readonly buy: string; readonly value: bigint },
  quote: Quote | null,
): bigint {
  if (quote !== null)
    return units((sell === 'USD' ? quote.sellAmount : quote.buyAmount) ?? quote.quoteAmount);
  const fair = otherSide({ sell, buy }, sell === 'USD' ? 'buy' : 'sell', value, REFERENCE);
  return (fair * (BPS + BigInt(TARGETS.worstCostBps))) / BPS;
}

/** What stands against a leg in the balances of now; null: they ask for at least that leg, and there is money for it. */
export function stillAsked(
  world: World,
  temporal: Temporal,
  leg: {
    readonly currency: string;
    readonly isSale: boolean;
    readonly value: bigint;
    readonly dollars: bigint;
  },
): string | null {
  const { currency, isSale, value, dollars } = leg;
  const due = demandOf(world, currency);
  if ((isSale ? due : -due) < value) return 'the balances do not ask for it any more';
  const demands = Object.keys(GOALS).map((one) => [one, demandOf(world, one)] as const);
  const most = temporal.ours.rebalance?.maxTrades ?? null;
  if (most !== null && demands.filter(([, demand]) => demand !== 0n).length > most) return 'others go first';
  if (isSale) return world.service.balanceOf(currency) < value ? 'there is no money for it' : null;
  const others = demands.filter(([one, demand]) => one !== currency && demand < 0n);
  const needed = others.reduce(
    (sum, [buy, demand]) => sum + dollarsAsked({ sell: 'USD', buy, value: -demand }, null),
    dollars,
  );
  const left = world.service.balanceOf('USD') - units(TARGETS.leastUsd) - needed;
  if (left < 0n) return 'there is no money for it';
  return left < settledSince(world, temporal, world.healedAtMs ?? 0)
    ? 'its money was still on its way'
    : null;
}

/**
 * US dollars that sales of other runs have brought only after this moment. A leg that a run takes up once more is traded only while a new
 * plan would trade it, and a plan spends no dollars that are on their way. For those of its own sales the run waits (design: "Reset means:
 * try again what is not done").
 */
function settledSince(world: World, { ours }: Temporal, sinceMs: number): bigint {
  return tradesOf(world)
    .filter(({ send }) => prefixOf(world, send.write.item) !== ours.prefix)
    .filter(({ record, saidAtMs }) => record.buyCurrency === 'USD' && saidAtMs > sinceMs)
    .reduce((sum, { record }) => sum + boughtOf(record), 0n);
}

/** What the targets ask to sell of a currency, or, below zero, to buy of it. */
function demandOf(world: World, currency: string): bigint {
  const now = projectedOf(world, currency);
  const { eur, bandEur, leastGbp, mostMxn } = TARGETS;
  switch (currency) {
    case 'EUR': {
      const beside = now - units(eur);
      return (beside < 0n ? -beside : beside) > units(bandEur) ? beside : 0n;
    }
    case 'GBP':
      return now < units(leastGbp) ? now - units(leastGbp) : 0n;
    default:
      return now > units(mostMxn) ? now - units(mostMxn) : 0n;
  }
}

/** A trade goes back to the target, and never to the other side of it. */
function beyondTarget(world: World, { record }: TradeMovement): readonly string[] {
  const isSale = record.buyCurrency === 'USD';
  const currency = isSale ? record.sellCurrency : record.buyCurrency;
  const target = GOALS[currency];
  if (target === undefined) return [`trades ${currency}, which no target names`];
  const now = projectedOf(world, currency);
  const isBeyond = isSale ? now < units(target) - TOLERANCE : now > units(target) + TOLERANCE;
  return isBeyond ? [`brings ${currency} to ${textOf(now)}, beyond its target ${target}`] : [];
}

function lastDollars(world: World, { record }: TradeMovement): readonly string[] {
  const now = projectedOf(world, 'USD');
  if (record.sellCurrency !== 'USD' || now >= units(TARGETS.leastUsd) - TOLERANCE) return [];
  return [`leaves ${textOf(now)} USD, ${TARGETS.leastUsd} are kept`];
}

/** Whose money of this currency it is cannot be told any more, or a trade of it that was counted on has failed. */
export function isMovedByOthers({ service, oracle }: World, currency: string): boolean {
  return (
    service.movedByOthers.has(currency) ||
    [...oracle.misled].some((item) => item.toUpperCase().includes(currency)) ||
    service.ledger.some(
      ({ kind, status, record }) =>
        kind === 'trade' && isFailed(status) && [record.sellCurrency, record.buyCurrency].includes(currency),
    )
  );
}

/** What there is, with what is on its way. */
export function projectedOf(world: World, currency: string): bigint {
  return tradesOf(world)
    .filter(({ status, record }) => !isLast(status) && record.buyCurrency === currency)
    .reduce((sum, { record }) => sum + boughtOf(record), world.service.balanceOf(currency));
}

export function tradesOf({ service }: World): readonly TradeMovement[] {
  return service.ledger.flatMap((movement) =>
    movement.kind === 'trade' && !isFailed(movement.status) ? [movement] : [],
  );
}

function prefixOf({ runs }: World, item: string): string {
  return runs.findLast(({ ours }) => item.startsWith(ours.prefix))?.ours.prefix ?? '';
}

function dollarsOf({ record }: TradeMovement): bigint {
  return record.sellCurrency === 'USD' ? soldOf(record) : boughtOf(record);
}

export function soldOf({ sellAmount, executedAmount }: TradeMovement['record']): bigint {
  return units(sellAmount ?? executedAmount);
}

function boughtOf({ buyAmount, executedAmount }: TradeMovement['record']): bigint {
  return units(buyAmount ?? executedAmount);
}
