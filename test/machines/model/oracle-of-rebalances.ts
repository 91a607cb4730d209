/**
 * What a rebalancing may trade (M4), judged by the ledger alone: never past a limit of a trade, a run or a day, never at a worse
 * price than its guard lets pass, never so much of a currency that it is beyond its target on the other side, and never the
 * last dollars. What other people do with the money is not its fault.
 */
import { TARGETS } from './ours.ts';
import { isBetterThanReserved, isBookedAfterItsRun, isReservedTwice } from './outside.ts';
import { otherSide } from './prices.ts';
import { isFailed, isLast, type Movement } from './service.ts';
import type { Temporal } from './temporal.ts';
import { textOf, units } from './units.ts';
import type { World } from './world.ts';

type TradeMovement = Extract<Movement, { kind: 'trade' }>;

const REFERENCE = units('17.25');
/** Digits that amounts are cut to, of a few trades. */
const TOLERANCE = units('0.05');
const BPS = 10_000n;

/** What this trade, which has just been booked, breaks. */
export function brokenByRebalance(
  world: World,
  temporal: Temporal,
  movement: TradeMovement,
): readonly string[] {
  const { item } = movement.send.write;
  world.coverage.hit('rebalance', movement.record.buyCurrency === 'USD' ? 'a sale' : 'a purchase');
  const isAlone = isBookedAfterItsRun(world, temporal, movement);
  const isUncounted = isMovedByOthers(world) || isReservedTwice(world) || isAlone;
  return [
    ...overLimits(world, temporal, movement, isAlone),
    ...outsideGuard(movement),
    ...(isUncounted ? [] : [...beyondTarget(world, movement), ...lastDollars(world, movement)]),
  ].map((what) => `${item} ${what}`);
}

/** @param isAlone other runs could not know of the trade: their limit of a day is none of it */
function overLimits(
  world: World,
  temporal: Temporal,
  movement: TradeMovement,
  isAlone: boolean,
): readonly string[] {
  const { rebalance, input } = temporal.ours;
  if (rebalance === null) return [];
  const { perTrade, perRun, perDay } = rebalance;
  const ofPolicy = world.runs.filter(({ ours }) => ours.input.run.policy === input.run.policy);
  const sumOf = (runs: readonly Temporal[], valueOf: (trade: TradeMovement) => bigint): bigint => {
    const prefixes = runs.map((run) => run.ours.prefix);
    return tradesOf(world)
      .filter(({ send }) => prefixes.includes(prefixOf(world, send.write.item)))
      .reduce((sum, trade) => sum + valueOf(trade), 0n);
  };
  const isTogether = ofPolicy.length > 1;
  const ofDay = sumOf(ofPolicy, isTogether ? leastDollarsOf : dollarsOf);
  if (isTogether && perDay !== null) isBetterThanReserved(world, sumOf(ofPolicy, dollarsOf) > units(perDay));
  return [
    [perTrade, dollarsOf(movement), 'a trade'],
    [perRun, sumOf([temporal], dollarsOf), 'a run'],
    [isAlone ? null : perDay, ofDay, 'a day'],
  ].flatMap(([limit, moved, of]) =>
    typeof limit === 'string' && typeof moved === 'bigint' && moved > units(limit)
      ? [`brings ${textOf(moved)} USD, ${limit} is the limit of ${String(of)}`]
      : [],
  );
}

function outsideGuard({ record }: TradeMovement): readonly string[] {
  const { sellCurrency: sell, buyCurrency: buy } = record;
  const [sold, bought] = [soldOf(record), boughtOf(record)];
  const fair = otherSide({ sell, buy }, 'sell', sold, REFERENCE);
  const isWorse = bought * BPS + TOLERANCE * BPS < fair * (BPS - BigInt(TARGETS.worstCostBps));
  return isWorse ? [`is traded at ${textOf(bought)} ${buy} for ${textOf(sold)} ${sell}`] : [];
}

/** A trade goes back to the target, and never to the other side of it. */
function beyondTarget(world: World, { record }: TradeMovement): readonly string[] {
  const isSale = record.buyCurrency === 'USD';
  const currency = isSale ? record.sellCurrency : record.buyCurrency;
  const target = { EUR: TARGETS.eur, GBP: TARGETS.leastGbp, MXN: TARGETS.mostMxn }[currency];
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

/** Whose money it is cannot be told any more, or a trade that was counted on has failed. */
function isMovedByOthers({ service, oracle }: World): boolean {
  return (
    service.isMovedByOthers ||
    oracle.misled.size > 0 ||
    service.ledger.some(({ kind, status }) => kind === 'trade' && isFailed(status))
  );
}

/** What there is, with what is on its way. */
function projectedOf(world: World, currency: string): bigint {
  return tradesOf(world)
    .filter(({ status, record }) => !isLast(status) && record.buyCurrency === currency)
    .reduce((sum, { record }) => sum + boughtOf(record), world.service.balanceOf(currency));
}

function tradesOf({ service }: World): readonly TradeMovement[] {
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

/** A sale as another run counts it that has not been told of it yet: by the worst price that its guard lets pass. */
function leastDollarsOf(movement: TradeMovement): bigint {
  const { sellCurrency: sell, buyCurrency: buy } = movement.record;
  const moved = dollarsOf(movement);
  if (buy !== 'USD') return moved;
  const fair = otherSide({ sell, buy }, 'sell', soldOf(movement.record), REFERENCE);
  const least = (fair * (BPS - BigInt(TARGETS.worstCostBps))) / BPS;
  return least < moved ? least : moved;
}

function soldOf({ sellAmount, executedAmount }: TradeMovement['record']): bigint {
  return units(sellAmount ?? executedAmount);
}

function boughtOf({ buyAmount, executedAmount }: TradeMovement['record']): bigint {
  return units(buyAmount ?? executedAmount);
}
