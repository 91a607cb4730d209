/**
 * Which payments need not wait any more. Each waits only for its own leg, until that is decided. A payment
 * that is released but cannot be paid is not sent, and the reason is told. Pure.
 */
import { amountOf, bringerOf } from '../plan/amounts.ts';
import { brokenPaymentLimit } from '../plan/limits.ts';
import { isUnpayable, type BatchPayment } from '../batch.ts';
import { add } from '../money.ts';
import { unpayable } from '../plan/batch-items.ts';
import { asForgotten } from '../writes/doubt.ts';
import { lookAlikeOf } from '../writes/look-alikes.ts';
import type { Limits } from '../policy.ts';
import { PROBLEMS, type Problem } from '../problems.ts';
import type { GoOf } from './calls.ts';
import {
  acceptedOf,
  isUnsent,
  legProblem,
  openLeg,
  tradeOf,
  type LegRecord,
  type PaymentRecord,
} from './items.ts';
import { refusalsIn } from './stop-rule.ts';
import type { RunState } from './state.ts';

/**
 * True when nothing about the leg can change what is paid: it is settled, or not traded for good. In a cancelled run a trade
 * need not settle, but a poll must have shown it.
 */
export function isDecided(record: LegRecord, isCancelled: boolean): boolean {
  const { stage } = record;
  switch (stage.kind) {
    case 'converting':
    case 'handed on':
      return false;
    case 'traded':
      return openLeg(record) === null && (stage.settled !== null || (isCancelled && stage.isShown === true));
    case 'not traded':
      return true;
  }
}

/** Sets amounts that are known once their leg has brought the money, by the rounding of the policy. */
export function fixAmounts({ payments, legs }: Pick<RunState, 'payments' | 'legs'>): void {
  const planned = payments.map(({ payment }) => payment);
  for (const record of payments) {
    const bringer = bringerOf(record.payment);
    const leg = legs.find((each) => each.leg.id === bringer);
    const traded = leg === undefined ? null : tradeOf(leg);
    if (traded !== null) record.amount = amountOf(record.payment, planned, traded.buyAmount);
  }
}

/** Releases, in the order of the plan, each payment that waits for no leg any more. */
export function release(state: RunState, limits: Limits | null): void {
  const legs = new Map(state.legs.map((record) => [record.leg.id, record]));
  const sums = new PaidSums(state.payments, limits);
  for (const record of state.payments) {
    const { dependsOn } = record.payment;
    const leg = legs.get(dependsOn ?? '');
    const isReady = leg === undefined || isDecided(leg, state.cancelled);
    const nothing = isReady && dependsOn !== null ? broughtNothing(record, dependsOn, leg) : null;
    const { isKnown, broken } = nothing === null ? sums.next(record) : { isKnown: true, broken: null };
    const { stage } = record;
    if (stage.kind !== 'unsent') continue;
    const isNeverSent = nothing !== null && isProvenUntraded(leg, state.plan);
    stage.release =
      isReady && isKnown ? { unwanted: nothing ?? broken, ...(isNeverSent && { isNeverSent }) } : null;
    const ends = nothing !== null || state.cancelled;
    if (ends && !stage.state.sent && mayBeForgotten(leg)) stage.state = asForgotten(stage.state);
  }
}

/**
 * True when a leg has ended without a trade, or when the plan has no such leg, and no plan before it can have had one. A
 * payment is sent only once the trade of its leg is known. So no Temporal run has sent a payment of this leg.
 */
function isProvenUntraded(leg: LegRecord | undefined, plan: RunState['plan']): boolean {
  return leg === undefined ? plan?.foundRecords === false : leg.stage.kind === 'not traded';
}

/**
 * True when the trade of a leg was found by a history that may be a restored one. The history before it may have paid by this
 * trade, before it failed or the run was cancelled. So its payments do not end before doubt is over (M3).
 */
function mayBeForgotten(leg: LegRecord | undefined): boolean {
  return leg?.stage.kind === 'traded' && leg.stage.isFoundLate === true;
}

/** The currencies in which the batch may pay: every leg that buys one is settled, or will never bring it. */
export function releasedIn({ plan, legs, cancelled }: RunState): readonly string[] {
  const currencies = (plan?.batch?.totals ?? []).map(({ currency }) => currency);
  return currencies.filter((currency) =>
    legs.every((record) => record.leg.buy !== currency || isDecided(record, cancelled)),
  );
}

/**
 * Releases the payments of a chunk as the go of its run says. True when a payment is released that was not.
 * @param rows the payments as they were submitted, in the same order
 */
export function releaseByGo(
  payments: readonly PaymentRecord[],
  rows: readonly BatchPayment[],
  go: GoOf,
): boolean {
  let left = leftOf(payments, go);
  let isNew = false;
  for (const [index, { stage, payment }] of payments.entries()) {
    if (stage.kind !== 'unsent') continue;
    const letter = go.unpayable?.[index];
    const row = rows[index];
    const impossible = row !== undefined && isUnpayable(letter) ? unpayable(row, letter, go.heldBy) : null;
    const unwanted = impossible ?? (go.stopped === null ? null : { ...go.stopped, item: payment.id });
    const alike = lookAlikeOf(go.alike?.[index], go.alikeIds?.[index]);
    // A payment that waits for a person takes no place among the first payments. Another one goes instead.
    const hasPlace = left > 0 || alike?.kind === 'held';
    const isReleased = unwanted !== null || (hasPlace && go.released.includes(payment.currency));
    isNew ||= isReleased && stage.release === null;
    const isNeverSent = unwanted !== null && go.neverSent?.includes(index) === true;
    stage.release = isReleased
      ? { unwanted, ...(isNeverSent && { isNeverSent }), ...(alike !== null && { alike }) }
      : null;
    if (isReleased && unwanted === null && alike?.kind !== 'held') left -= 1;
  }
  return isNew;
}

/**
 * How many more of the first payments may leave. A payment that was refused has used a place; one that never left has
 * not.
 */
function leftOf(payments: readonly PaymentRecord[], { most, runId }: Pick<GoOf, 'most' | 'runId'>): number {
  return (most ?? Number.POSITIVE_INFINITY) - refusalsIn(payments, runId).sent;
}

/** True when first payments of a chunk have ended without being sent, so that others may take their places. */
export function hasRoomFor(payments: readonly PaymentRecord[], go: GoOf): boolean {
  if (go.most === null) return false;
  const unsent = payments.filter(({ stage }) => stage.kind === 'unsent');
  const waiting = unsent.filter((record) => !isUnsent(record));
  const isWaiting = waiting.some(({ payment }) => go.released.includes(payment.currency));
  return isWaiting && unsent.length - waiting.length < leftOf(payments, go);
}

/** Adds up what is paid, in the order of the plan, because limits hold for the sums too (M4). */
class PaidSums {
  readonly #limits: Limits | null;
  /** The sum for each currency: all accepted payments of the plan, and the payments before this one. */
  readonly #sums = new Map<string, string>();
  /** Currencies in which a payment before this one has an amount that is not known yet. */
  readonly #unknown = new Set<string>();

  constructor(payments: readonly PaymentRecord[], limits: Limits | null) {
    this.#limits = limits;
    for (const record of payments) if (acceptedOf(record) !== null) this.#add(record);
  }

  /** Whether it is known yet if the payment breaks a limit, and which limit it breaks. */
  next(record: PaymentRecord): { readonly isKnown: boolean; readonly broken: Problem | null } {
    const { amount, payment } = record;
    const { currency } = payment;
    if (acceptedOf(record) !== null) return { isKnown: true, broken: null };
    if (this.#isSummed(currency) && this.#unknown.has(currency)) return { isKnown: false, broken: null };
    if (amount === null) {
      this.#unknown.add(currency);
      return { isKnown: true, broken: null };
    }
    const before = [{ value: this.#sums.get(currency) ?? '0', currency }];
    const broken = brokenPaymentLimit(this.#limits, { value: amount, currency }, before);
    this.#add(record);
    return { isKnown: true, broken: broken === null ? null : overLimit(record, broken) };
  }

  #add({ amount, payment: { currency } }: PaymentRecord): void {
    if (amount !== null && this.#isSummed(currency))
      this.#sums.set(currency, add(this.#sums.get(currency) ?? '0', amount));
  }

  #isSummed(currency: string): boolean {
    return this.#limits?.paidPerRun.some((limit) => limit.currency === currency) ?? false;
  }
}

/** Why a payment is not sent if its leg brings nothing. The run still looks whether it was sent. */
function broughtNothing(record: PaymentRecord, leg: string, found: LegRecord | undefined): Problem | null {
  const item = record.payment.id;
  const { currency } = record.payment;
  // `sell: all` with nothing to sell: there is no leg, and its payments get no money (M3).
  if (found === undefined)
    return {
      code: 'LEG_NOT_TRADED',
      item,
      message: `Leg "${leg}" brings no ${currency}: when the plan was made, there was nothing to sell.`,
      fix: 'Bring money in and start another run, or pay it by a policy that sells a fixed amount.',
    };
  const problem = whyNothing(found);
  if (problem === null) return null;
  // The leg's own problem says the rest, and only there.
  const message = `Leg "${leg}" brought no ${currency}`;
  const fix = PROBLEMS.LEG_NOT_TRADED.advice;
  return problem.code === 'CANCELLED'
    ? { code: 'CANCELLED', item, message: `${message}: the run was cancelled.`, fix }
    : { code: 'LEG_NOT_TRADED', item, message: `${message}.`, fix };
}

/** Why a leg has brought no money for good; null: it has brought it, or may yet. */
function whyNothing(record: LegRecord): Problem | null {
  switch (record.stage.kind) {
    case 'converting':
    case 'handed on':
      return null;
    case 'traded':
      return record.stage.settled === false ? legProblem(record) : null;
    case 'not traded':
      return record.stage.problem;
  }
}

function overLimit({ payment }: PaymentRecord, message: string): Problem {
  return {
    code: 'OVER_LIMIT',
    item: payment.id,
    message,
    fix: 'The money stays in the balance. If it is to be paid all the same, raise the limit, and pay it by another run.',
  };
}
