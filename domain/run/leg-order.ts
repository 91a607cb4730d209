/**
 * Which leg goes when. Legs go in the order of the plan, one at a time, because one may sell what another one
 * buys. A leg that waits lets the next one go on, and stops only the purchases that still need its proceeds.
 * Pure.
 */
import { sumsOf } from '../plan/amounts.ts';
import { moneyText } from '../currencies.ts';
import { compare, sum } from '../money.ts';
import type { Money } from '../policy.ts';
import { makeProblem, type Problem } from '../problems.ts';
import type { WaitReason } from '../waits.ts';
import type { Follows } from './calls.ts';
import type { QuoteInHand } from '../writes/leg-state.ts';
import type { OwnTrade } from '../writes/step.ts';
import { afterSale } from '../writes/trade-texts.ts';
import { openLeg, tradeOf, type LegRecord } from './items.ts';

/** Why a leg that could be quoted is not quoted, and for whose trade it waits. */
export type HeldBack = { readonly reason: WaitReason; readonly problem: Problem };

/** Why a leg may not go now; null: it may. */
export function heldBack(legs: readonly LegRecord[], record: LegRecord): HeldBack | null {
  const { leg, stage } = record;
  // A leg in doubt is looked up, however the other legs stand.
  if (stage.kind !== 'converting' || stage.state.doubt !== null) return null;
  const worse = legs.find((other) => other.stage.kind === 'traded' && other.stage.worse?.isHeld === true);
  if (worse !== undefined)
    return {
      reason: 'person',
      problem: makeProblem('AFTER_WORSE_TRADE', leg.id, { message: stops(worse, record) }),
    };
  const sale = openSale(legs, record);
  if (sale === null || !lacksProceeds(legs, record)) return null;
  return { reason: 'sale', problem: afterSale(leg, sale) };
}

/** The id of the first leg that still brings what this one sells, or may; null: there is none. */
export function openSale(legs: readonly LegRecord[], record: LegRecord): string | null {
  return legs.find((other) => feeds(other, record) && !isSure(other))?.leg.id ?? null;
}

/**
 * Why a purchase is not traded when the sales before it brought too little: it would spend money that the
 * policy keeps. Null: it may be traded.
 */
export function withoutItsSale(legs: readonly LegRecord[], record: LegRecord): Problem | null {
  const { leg } = record;
  const sales = legs.filter((other) => feeds(other, record));
  const isDecided = sales.length > 0 && sales.every(isSure);
  if (!isDecided || !lacksProceeds(legs, record)) return null;
  const sale = sales.find(({ stage }) => stage.kind === 'not traded');
  const message =
    sale === undefined
      ? `Leg "${leg.id}" needs ${moneyText(leg.needsFromSales, leg.sell)} from the sales before it, which brought ${moneyText(broughtFor(legs, record), leg.sell)}.`
      : `Leg "${leg.id}" needs the ${leg.sell} of leg "${sale.leg.id}", which was not traded.`;
  const fix = sale === undefined ? 'See the legs before it.' : `See leg "${sale.leg.id}".`;
  return { code: 'LEG_NOT_TRADED', item: leg.id, message, fix };
}

function stops({ leg: worse }: LegRecord, { leg }: LegRecord): string {
  return `Leg "${worse.id}" was traded at a worse price than planned. Leg "${leg.id}" is not traded before a person has looked at that.`;
}

/** True when the leg is decided, waits or is held back, so that the next one may go. */
export function isResting(legs: readonly LegRecord[], record: LegRecord): boolean {
  return openLeg(record) === null || record.waiting !== null || heldBack(legs, record) !== null;
}

/** Whether another leg is quoted at once, in whatever way this one ends, or only when this one is done. */
export function follows(legs: readonly LegRecord[], record: LegRecord): Follows {
  const rest = legs.filter((other) => other !== record);
  const converting = rest.filter(({ stage }) => stage.kind === 'converting');
  const isHeld = (other: LegRecord): boolean => heldBack(legs, other) !== null;
  if (converting.some((other) => !isHeld(other) && other.waiting === null)) return 'at once';
  return converting.some((other) => isHeld(other) && heldBack(rest, other) === null) ? 'when done' : 'none';
}

/** What the other legs have sold and bought, may have, or are about to, for each currency. */
export function tradedBeside(legs: readonly LegRecord[], record: LegRecord): readonly Money[] {
  return sumsOf(
    legs.flatMap((other): readonly Money[] => {
      const trade = other === record ? null : (tradeOf(other) ?? quoteInHandOf(other));
      if (trade === null) return [];
      const { sell, buy } = other.leg;
      return [
        { currency: sell, value: trade.sellAmount },
        { currency: buy, value: trade.buyAmount },
      ];
    }),
  );
}

/** The trades of the other legs. */
export function tradesBeside(legs: readonly LegRecord[], record: LegRecord): readonly OwnTrade[] {
  return legs.flatMap((other) => {
    const { stage } = other;
    if (other === record || stage.kind !== 'traded') return [];
    const { tradeId, createdAtMs } = stage.traded;
    return [{ tradeId, createdAtMs }];
  });
}

function feeds({ leg }: LegRecord, { leg: purchase }: LegRecord): boolean {
  return leg.buy === purchase.sell;
}

/** True when the sales that were traded have not brought as much as a purchase needs of them. */
function lacksProceeds(legs: readonly LegRecord[], record: LegRecord): boolean {
  return compare(broughtFor(legs, record), record.leg.needsFromSales) < 0;
}

/** Whether a purchase waits until a poll has read the trade of this sale, which only a call has told of. */
export function isAwaited(legs: readonly LegRecord[], sale: LegRecord): boolean {
  return (
    sale.stage.kind === 'traded' &&
    !isSure(sale) &&
    legs.some(({ leg, stage }) => {
      const isPurchase = stage.kind === 'converting' && leg.sell === sale.leg.buy;
      return isPurchase && compare(leg.needsFromSales, '0') > 0;
    })
  );
}

/**
 * True when the leg is not traded for good, or when it is traded and a poll has read its trade. A person can type an answer
 * in place of a call. So no other leg spends what only a call has told of (M4).
 */
function isSure(record: LegRecord): boolean {
  const { stage } = record;
  if (openLeg(record) !== null) return false;
  return stage.kind !== 'traded' || stage.isShown === true || stage.settled !== null;
}

/** What the sales have brought. A trade that will never settle brings nothing. */
function broughtFor(legs: readonly LegRecord[], record: LegRecord): string {
  const sales = legs.filter((other) => feeds(other, record) && isSure(other));
  return sum(
    sales.flatMap(({ stage }) =>
      stage.kind === 'traded' && stage.settled !== false ? stage.traded.buyAmount : [],
    ),
  );
}

/** The quote of a leg that may still be traded, or that is in doubt and may have been traded. */
function quoteInHandOf({ stage }: LegRecord): QuoteInHand | null {
  return stage.kind === 'converting' ? stage.state.quote : null;
}
