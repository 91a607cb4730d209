/**
 * What a look at the service's lists proves (design: "In doubt, absent, generations"). Pure: the driver reads the pages,
 * this file judges the records. Found and equal: done. Found and different: a person. Absent: no record even could be it.
 */
import { equal } from '../money.ts';
import type { Leg } from '../plan/plan.ts';
import type { Trade, Withdrawal } from '../service/records.ts';
import { generationOf, runPrefix, type RunName } from '../references.ts';

/** Records that a scan kept, and whether it read every page back to where it had to. */
export type ListScan<T> = {
  readonly records: readonly T[];
  readonly complete: boolean;
  readonly reason: string | null;
};

export type Look<T> =
  | { readonly kind: 'found'; readonly record: T }
  /** A record is ours by reference, tag or id, and contradicts what was fixed: never overwritten, a person decides. */
  | { readonly kind: 'differs'; readonly record: T; readonly difference: string }
  /** `closed`: generations of which a record is known that has failed; none of a trade. */
  | { readonly kind: 'absent'; readonly closed: readonly number[] }
  /** Nothing found, but this proves nothing. `complete`: every page was read, and something untagged could be it. */
  | {
      readonly kind: 'unproven';
      readonly reason: string;
      readonly complete: boolean;
      /** When the newest record that could be it was created, epoch milliseconds; null when none was seen. */
      readonly newestAtMs: number | null;
    };

/** How far back a look must read: a day before the run's date. */
export const LOOK_BACK_MS = 86_400_000;
/** How much earlier than the run's date a record may seem to have been created. */
export const CREATED_SLACK_MS = 600_000;

/** True when a trade is this leg's by reference (any generation) or by the quote that we hold. */
export function isTradeOf(leg: Leg, quoteId: string | null, trade: Trade): boolean {
  return (
    generationOf(leg.reference, trade.clientReferenceId ?? '') !== null ||
    (quoteId !== null && trade.quoteId === quoteId)
  );
}

/**
 * True for a trade that carries the run's name and is of no leg of its plan: another plan of the run has sent it, which was made
 * after a restored backup, or is not there any more.
 */
export function isTradeOfAnotherPlan(run: RunName, legs: readonly string[], trade: Trade): boolean {
  const name = trade.clientReferenceId ?? '';
  return name.startsWith(runPrefix(run)) && legs.every((own) => generationOf(own, name) === null);
}

/**
 * Judges a scan for a leg's trade. Of several under its reference, `known.namedId` is the one that a person has named.
 * `isStray`: whether a trade is of another plan of the run.
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
      difference: `trades ${record.id} and ${second.id} both carry ${leg.reference}`,
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
    reason: `trade ${id} was made as ${clientReferenceId ?? ''}, which is no leg of this plan, and could be in its place`,
    complete,
    newestAtMs: Date.parse(createdAt),
  };
}

/** Records of one name that all agree with the plan are one and the same item: which of them it is, a person may say. */
function chosen<T extends { readonly id: string }>(
  ours: readonly T[],
  namedId: string | null,
  difference: (record: T) => string | null,
): readonly T[] {
  const named = ours.filter(({ id }) => id === namedId);
  return named.length > 0 && ours.every((record) => difference(record) === null) ? named : ours;
}

/** What a trade contradicts of its leg; null when it agrees. Amounts are compared as numbers. */
export function tradeDifference(leg: Leg, trade: Trade): string | null {
  if (trade.sellCurrency !== leg.sell || trade.buyCurrency !== leg.buy) {
    return `it sells ${trade.sellCurrency} for ${trade.buyCurrency}, planned was ${leg.sell} for ${leg.buy}`;
  }
  // An amount that came from live balances is taken from the record.
  if (leg.amount === null || !leg.amount.fixed) return null;
  const { side, value } = leg.amount;
  const recorded = side === 'sell' ? trade.sellAmount : trade.buyAmount;
  if (recorded !== null && equal(recorded, value)) return null;
  return `its ${side} amount is ${recorded ?? 'not given'}, planned was ${value}`;
}

/** What identifies one payment at the service. */
export type PaymentIdentity = {
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  /** Null: not known, since the leg whose proceeds it pays on is not known to be traded. */
  readonly amount: string | null;
  /** Begin of the run's date, epoch milliseconds. */
  readonly opensAtMs: number;
  /** The record that a person has named as this payment; null: none. */
  readonly namedId: string | null;
  /** Ids that the service gave us for this payment. */
  readonly ownIds: readonly string[];
  /** Ids that the service gave us for other payments. */
  readonly otherIds: readonly string[];
  /** A person has opened this generation after earlier ones: their records count only while they may still pay. */
  readonly fromGeneration: number;
  /** Records of the earlier generations that show no tag. */
  readonly closedIds: readonly string[];
  /** Generations that a person's instruction follows, with the record that it names. */
  readonly follows: readonly { readonly generation: number; readonly recordId: string | null }[];
  /** A person has looked through what was created until then: none of it is this payment. Null: nobody has. */
  readonly approvedUntilMs: number | null;
  /** The service's words for "will never be paid". */
  readonly failedWords: readonly string[];
};

/**
 * True when a withdrawal is this payment's by tag (any generation), or, without a tag, by the id that the service gave
 * us. One with the tag or the id of another payment never is.
 */
export function isWithdrawalOf(payment: PaymentIdentity, withdrawal: Withdrawal): boolean {
  if (withdrawal.tag !== null) return generationOf(payment.reference, withdrawal.tag) !== null;
  return payment.ownIds.includes(withdrawal.id) && !payment.otherIds.includes(withdrawal.id);
}

/** True when an untagged withdrawal could be this payment: enough to forbid "absent", never enough to adopt. */
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
 * The records of a scan that merely could be the payment. Once a person has asked to pay it again, one that has failed
 * counts no more: whatever it was, it pays nothing.
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

/** Judges a scan for a payment's withdrawal. */
export function lookForWithdrawal(payment: PaymentIdentity, scan: ListScan<Withdrawal>): Look<Withdrawal> {
  const ours = scan.records.filter(
    (record) => isWithdrawalOf(payment, record) && !isClosedGeneration(payment, record),
  );
  const [record, second] = chosen(ours, payment.namedId, (each) => withdrawalDifference(payment, each));
  if (record !== undefined && second !== undefined && record.id !== second.id) {
    return {
      kind: 'differs',
      record,
      difference: `withdrawals ${record.id} and ${second.id} both carry ${payment.reference}`,
    };
  }
  if (record !== undefined) {
    const difference = withdrawalDifference(payment, record);
    return difference === null ? { kind: 'found', record } : { kind: 'differs', record, difference };
  }
  const twins = candidatesOf(payment, scan);
  const [twin] = twins;
  if (twin !== undefined)
    return {
      kind: 'unproven',
      reason: `withdrawal ${twin.id} carries no tag and could be it`,
      complete: scan.complete,
      newestAtMs: Math.max(...twins.map(({ createdAt }) => Date.parse(createdAt))),
    };
  const nothing = nothingFound(scan);
  return nothing.kind === 'absent' ? { ...nothing, closed: closedIn(payment, scan) } : nothing;
}

/** Generations whose own record has failed: by its tag, or because a person's instruction names it. */
function closedIn(payment: PaymentIdentity, scan: ListScan<Withdrawal>): readonly number[] {
  return scan.records.flatMap((record) => {
    if (!isClosedGeneration(payment, record)) return [];
    const tagged = generationOf(payment.reference, record.tag ?? '');
    const followed = payment.follows.find(({ recordId }) => recordId === record.id);
    return tagged ?? followed?.generation ?? [];
  });
}

/** A failed withdrawal of a generation that a person has opened a later one after. */
function isClosedGeneration(payment: PaymentIdentity, withdrawal: Withdrawal): boolean {
  const generation = generationOf(payment.reference, withdrawal.tag ?? '');
  const isEarlier =
    generation === null
      ? withdrawal.tag === null && payment.closedIds.includes(withdrawal.id)
      : generation < payment.fromGeneration;
  return isEarlier && payment.failedWords.includes(withdrawal.status);
}

/** What a withdrawal contradicts of its payment; null when it agrees. A null account is no difference. */
export function withdrawalDifference(payment: PaymentIdentity, record: Withdrawal): string | null {
  if (record.currency !== payment.currency)
    return `its currency is ${record.currency}, planned was ${payment.currency}`;
  if (payment.amount !== null && !equal(record.withdrawalAmount, payment.amount)) {
    return `its amount is ${record.withdrawalAmount}, planned was ${payment.amount}`;
  }
  if (record.withdrawalAccountId !== null && record.withdrawalAccountId !== payment.account) {
    return `its account is ${record.withdrawalAccountId}, planned was ${payment.account}`;
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
