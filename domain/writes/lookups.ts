/**
 * What a lookup in the service's lists proves (design: "In doubt, absent, generations"). Pure: the driver reads the pages,
 * this file judges the records. Found and equal: the item is done. Found and different: a person decides. Absent: no record
 * could be the item.
 */
import { equal } from '../money.ts';
import type { Leg } from '../plan/plan.ts';
import type { Trade, Withdrawal } from '../service/records.ts';
import type { Sides } from '../plan/cost.ts';
import { generationOf, runPrefix, type RunName } from '../references.ts';

/** The records that a list scan kept, and whether it read every page that it had to read. */
export type ListScan<T> = {
  readonly records: readonly T[];
  readonly complete: boolean;
  readonly reason: string | null;
};

export type Look<T> =
  | { readonly kind: 'found'; readonly record: T }
  /** A record is ours by reference, tag or id, but contradicts the plan. A person decides. */
  | { readonly kind: 'differs'; readonly record: T; readonly difference: string }
  /** `closed`: the generations with a record that has failed; empty for a trade. */
  | { readonly kind: 'absent'; readonly closed: readonly number[] }
  /**
   * Nothing was found, but that proves nothing. `complete`: every page was read, and a record without a tag could be the
   * item.
   */
  | {
      readonly kind: 'unproven';
      readonly reason: string;
      readonly complete: boolean;
      /** When the newest record that could be the item was created, epoch milliseconds; null when there was none. */
      readonly newestAtMs: number | null;
    };

/** How far back a lookup must read: to a day before the run's date. */
export const LOOK_BACK_MS = 86_400_000;
/** How much earlier than the run's date a record may seem to have been created. */
export const CREATED_SLACK_MS = 600_000;

/** True when a trade is this leg's by its reference (in any generation) or by the quote that we have. */
export function isTradeOf(leg: Leg, quoteId: string | null, trade: Trade): boolean {
  return (
    generationOf(leg.reference, trade.clientReferenceId ?? '') !== null ||
    (quoteId !== null && trade.quoteId === quoteId)
  );
}

/**
 * True for a trade under the run's name that belongs to no leg of its plan. It was sent by another plan of the run, which
 * was made after a backup was restored, or which is lost.
 */
export function isTradeOfAnotherPlan(run: RunName, legs: readonly string[], trade: Trade): boolean {
  const name = trade.clientReferenceId ?? '';
  return name.startsWith(runPrefix(run)) && legs.every((own) => generationOf(own, name) === null);
}

/**
 * Judges a list scan for the trade of a leg. When several trades carry its reference, `known.namedId` is the one that a
 * person has named. `isStray` tells whether a trade belongs to another plan of the run.
 */
export function lookForTrade(
  leg: Leg,
  known: {
    readonly quoteId: string | null;
    readonly namedId: string | null;
    readonly isStray: (trade: Trade) => boolean;
  },
  scan: ListScan<Trade>,
): Look<Trade> {
  const ours = scan.records.filter((trade) => isTradeOf(leg, known.quoteId, trade));
  const [record, second] = chosen(ours, known.namedId, (trade) => tradeDifference(leg, trade));
  if (record !== undefined && second !== undefined && record.id !== second.id) {
    return {
      kind: 'differs',
      record,
      difference: `trade ${second.id} has the same reference, ${leg.reference}`,
    };
  }
  if (record === undefined) {
    const stray = scan.records.find(known.isStray);
    return stray === undefined ? nothingFound(scan) : ofAnotherPlan(stray, scan);
  }
  const difference = tradeDifference(leg, record);
  return difference === null ? { kind: 'found', record } : { kind: 'differs', record, difference };
}

function ofAnotherPlan(
  { id, createdAt, clientReferenceId }: Trade,
  { complete }: ListScan<Trade>,
): Look<never> {
  return {
    kind: 'unproven',
    reason: `trade ${id} has the reference ${clientReferenceId ?? ''}, which is no leg of this plan, and could have been made in its place`,
    complete,
    newestAtMs: Date.parse(createdAt),
  };
}

/** When several records carry one name and all agree with the plan, a person may say which of them is the item. */
function chosen<T extends { readonly id: string }>(
  ours: readonly T[],
  namedId: string | null,
  difference: (record: T) => string | null,
): readonly T[] {
  const named = ours.filter(({ id }) => id === namedId);
  return named.length > 0 && ours.every((record) => difference(record) === null) ? named : ours;
}

/** How a trade contradicts its leg; null when it agrees. Amounts are compared as numbers. */
export function tradeDifference(
  leg: Leg,
  trade: Omit<Trade, 'createdAt' | 'settlementWindow'>,
): string | null {
  if (trade.sellCurrency !== leg.sell || trade.buyCurrency !== leg.buy) {
    return `it sells ${trade.sellCurrency} for ${trade.buyCurrency}, and the plan sells ${leg.sell} for ${leg.buy}`;
  }
  // When the amount was computed from live balances, the record tells how much it is.
  if (leg.amount === null || !leg.amount.fixed) return null;
  const { side, value } = leg.amount;
  const recorded = side === 'sell' ? trade.sellAmount : trade.buyAmount;
  if (recorded !== null && equal(recorded, value)) return null;
  return `its ${side} amount is ${recorded ?? 'not given'}, and the plan says ${value}`;
}

/**
 * True for a trade that agrees with the plan, and carries the leg's reference or none. Every trade that we send carries one;
 * but a person may have named one without (`resolve --executed`), and a service that leaves it out must not make us trade
 * the leg twice. So a trade without a reference is never found for a leg, and a leg that has its id keeps it.
 */
export function isTradeAsPlanned(leg: Leg, trade: Omit<Trade, 'createdAt' | 'settlementWindow'>): boolean {
  const { clientReferenceId: name } = trade;
  return (
    (name === null || generationOf(leg.reference, name) !== null) && tradeDifference(leg, trade) === null
  );
}

/** Both amounts of a trade, whichever of them was asked for. */
export function sidesOf({
  sellAmount,
  buyAmount,
  executedAmount,
}: Pick<Trade, 'sellAmount' | 'buyAmount' | 'executedAmount'>): Sides {
  return sellAmount === null
    ? { sellAmount: executedAmount, buyAmount: buyAmount ?? executedAmount }
    : { sellAmount, buyAmount: executedAmount };
}

/** What a payment pays, and to whom. */
type Paid = {
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  /** Null: not known, because the payment pays the proceeds of a leg that is not known to be traded. */
  readonly amount: string | null;
};

/** What identifies one payment at the service. */
export type PaymentIdentity = Paid & {
  /** The beginning of the run's date, epoch milliseconds. */
  readonly opensAtMs: number;
  /** The record that a person has named as this payment; null: none. */
  readonly namedId: string | null;
  /** Ids that the service gave us for this payment. */
  readonly ownIds: readonly string[];
  /** Ids that the service gave us for other payments. */
  readonly otherIds: readonly string[];
  /** A person has opened this generation. Records of earlier ones count only while they may still pay. */
  readonly fromGeneration: number;
  /** Records of the earlier generations that have no tag. */
  readonly closedIds: readonly string[];
  /**
   * The generations that people's instructions to pay again follow, each with the record that the instruction names.
   */
  readonly follows: readonly { readonly generation: number; readonly recordId: string | null }[];
  /**
   * A person has looked through the records created up to this moment: none of them is this payment. Null: no person has
   * looked.
   */
  readonly approvedUntilMs: number | null;
  /** The service's words for "will never be paid". */
  readonly failedWords: readonly string[];
};

/**
 * True when a withdrawal belongs to this payment: by its tag (any generation), or, without a tag, by the id that the
 * service gave us. A withdrawal with the tag or the id of another payment never does.
 */
export function isWithdrawalOf(payment: PaymentIdentity, withdrawal: Withdrawal): boolean {
  if (withdrawal.tag !== null) return generationOf(payment.reference, withdrawal.tag) !== null;
  return payment.ownIds.includes(withdrawal.id) && !payment.otherIds.includes(withdrawal.id);
}

/**
 * True when a withdrawal without a tag could be this payment. Then the payment is not absent. The withdrawal is never
 * adopted for this alone.
 */
export function couldBe(payment: PaymentIdentity, withdrawal: Withdrawal): boolean {
  return (
    withdrawal.tag === null &&
    withdrawal.currency === payment.currency &&
    payment.amount !== null &&
    equal(withdrawal.withdrawalAmount, payment.amount) &&
    (withdrawal.withdrawalAccountId === null || withdrawal.withdrawalAccountId === payment.account) &&
    Date.parse(withdrawal.createdAt) >= payment.opensAtMs - CREATED_SLACK_MS &&
    (payment.approvedUntilMs === null || Date.parse(withdrawal.createdAt) > payment.approvedUntilMs) &&
    !payment.otherIds.includes(withdrawal.id)
  );
}

/**
 * The records of a list scan that could be the payment. Once a person has asked to pay it again, a failed record does not
 * count any more: whatever it was, it pays nothing.
 */
export function candidatesOf(payment: PaymentIdentity, scan: ListScan<Withdrawal>): readonly Withdrawal[] {
  const isPaidAgain = payment.fromGeneration > 1;
  return scan.records.filter(
    (candidate) =>
      couldBe(payment, candidate) &&
      !isClosedGeneration(payment, candidate) &&
      !(isPaidAgain && payment.failedWords.includes(candidate.status)),
  );
}

/**
 * Judges a list scan for the withdrawal of a payment. Where the service shows a later generation, failed records of those
 * before it do not count, also when what has opened it counts no longer.
 */
export function lookForWithdrawal(asked: PaymentIdentity, scan: ListScan<Withdrawal>): Look<Withdrawal> {
  const shown = scan.records.map(({ tag }) => generationOf(asked.reference, tag ?? '') ?? 1);
  const payment = { ...asked, fromGeneration: Math.max(asked.fromGeneration, ...shown) };
  const ours = scan.records.filter(
    (record) => isWithdrawalOf(payment, record) && !isClosedGeneration(payment, record),
  );
  const [record, second] = chosen(ours, payment.namedId, (each) => withdrawalDifference(payment, each));
  if (record !== undefined && second !== undefined && record.id !== second.id) {
    return {
      kind: 'differs',
      record,
      difference: `withdrawal ${second.id} has the same reference, ${payment.reference}`,
    };
  }
  if (record !== undefined) {
    const difference = withdrawalDifference(payment, record);
    return difference === null ? { kind: 'found', record } : { kind: 'differs', record, difference };
  }
  const twins = candidatesOf(payment, scan);
  if (twins.length > 0)
    return {
      kind: 'unproven',
      reason: candidatesText(twins),
      complete: scan.complete,
      newestAtMs: Math.max(...twins.map(({ createdAt }) => Date.parse(createdAt))),
    };
  const nothing = nothingFound(scan);
  return nothing.kind === 'absent' ? { ...nothing, closed: closedIn(payment, scan) } : nothing;
}

/** At most this many records are named in one sentence. */
const NAMED = 5;

function candidatesText(twins: readonly Withdrawal[]): string {
  const ids = twins.slice(0, NAMED).map(({ id }) => id);
  const more = twins.length - ids.length;
  const which = `${ids.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return twins.length === 1
    ? `withdrawal ${which} has no reference and could be it`
    : `withdrawals ${which} have no reference, and each could be it`;
}

/**
 * The generations whose own record has failed. A record belongs to a generation by its tag, or because a person's
 * instruction names it.
 */
function closedIn(payment: PaymentIdentity, scan: ListScan<Withdrawal>): readonly number[] {
  return scan.records.flatMap((record) => {
    if (!isClosedGeneration(payment, record)) return [];
    const tagged = generationOf(payment.reference, record.tag ?? '');
    const followed = payment.follows.find(({ recordId }) => recordId === record.id);
    return tagged ?? followed?.generation ?? [];
  });
}

/** True for a failed withdrawal of a generation after which a person has opened a later one. */
function isClosedGeneration(payment: PaymentIdentity, withdrawal: Withdrawal): boolean {
  const generation = generationOf(payment.reference, withdrawal.tag ?? '');
  const isEarlier =
    generation === null
      ? withdrawal.tag === null && payment.closedIds.includes(withdrawal.id)
      : generation < payment.fromGeneration;
  return isEarlier && payment.failedWords.includes(withdrawal.status);
}

/** True for a withdrawal that agrees with the plan, and carries the payment's tag or none. */
export function isWithdrawalAsPlanned(payment: Paid, record: Omit<Withdrawal, 'createdAt'>): boolean {
  const isTagged = record.tag === null || generationOf(payment.reference, record.tag) !== null;
  return isTagged && withdrawalDifference(payment, record) === null;
}

/** How a withdrawal contradicts its payment; null when it agrees. A missing account is no contradiction. */
export function withdrawalDifference(payment: Paid, record: Omit<Withdrawal, 'createdAt'>): string | null {
  if (record.currency !== payment.currency)
    return `its currency is ${record.currency}, and the plan says ${payment.currency}`;
  if (payment.amount !== null && !equal(record.withdrawalAmount, payment.amount)) {
    return `its amount is ${record.withdrawalAmount}, and the plan says ${payment.amount}`;
  }
  if (record.withdrawalAccountId !== null && record.withdrawalAccountId !== payment.account) {
    return `its account is ${record.withdrawalAccountId}, and the plan says ${payment.account}`;
  }
  return null;
}

function nothingFound(scan: ListScan<unknown>): Extract<Look<never>, { kind: 'absent' | 'unproven' }> {
  if (scan.complete) return { kind: 'absent', closed: [] };
  return {
    kind: 'unproven',
    reason: scan.reason ?? 'not every page could be read',
    complete: false,
    newestAtMs: null,
  };
}
