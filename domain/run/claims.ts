/**
 * Whose is it? Runs and chunks of ours tell what they hold of their items, and which records of the service are theirs. From
 * what they tell follows whether an item is done elsewhere, and which item counts a record as its own. Of a run that does
 * not answer nothing is known: each verdict says what it makes of that. Pure.
 */
import {
  acceptedOf,
  legOutcome,
  paymentOutcome,
  tradeOf,
  type LegOutcome,
  type PaymentOutcome,
} from './items.ts';
import type { RunName } from '../references.ts';
import type { RunState } from './state.ts';
import { isFlag, lineOf, listOf, misshapen, oneOf, orNull, type Field, type Fields } from '../shape.ts';

/** A leg or a payment. `recordId`: the service's record of it, even one that has failed; null: the service has shown none. */
type HeldItem = readonly [id: string, outcome: LegOutcome | PaymentOutcome, recordId: string | null];

/** What a run, or a chunk of a batch, tells of its items. */
export type Holds = {
  /** The Temporal run that tells it. */
  readonly runId: string;
  /** The Temporal run whose go a chunk has heard last; null: none yet, or it is no chunk. */
  readonly heard: string | null;
  /** True for a chunk of which no other Temporal run can have sent anything. */
  readonly isFirst: boolean;
  /** False: it has read no plan yet, and so knows none of its items. */
  readonly hasPlan: boolean;
  readonly items: readonly HeldItem[];
};

const isOutcome = oneOf('TRADED', 'NOT_TRADED', 'PAID', 'NOT_PAID', 'NEEDS_HUMAN', 'PENDING');
const isRecordId = orNull(lineOf(300));
const isItem: Field = (value) =>
  Array.isArray(value) &&
  value.length === 3 &&
  lineOf(100)(value[0]) &&
  isOutcome(value[1]) &&
  isRecordId(value[2]);
const HOLDS: Fields = {
  runId: lineOf(100),
  heard: orNull(lineOf(300)),
  isFirst: isFlag,
  hasPlan: isFlag,
  items: listOf(isItem),
};

/** Another form of answer proves nothing: a run that gives it counts as silent. */
export function isHolds(value: unknown): value is Holds {
  return misshapen(value, HOLDS) === null;
}

/** @param names ids in small letters; null: every item of which the service has shown a record */
export function holdsOf(
  { plan, legs, payments }: Pick<RunState, 'plan' | 'legs' | 'payments'>,
  who: Pick<Holds, 'runId' | 'heard' | 'isFirst'>,
  names: readonly string[] | null,
): Holds {
  const asked = new Set(names);
  const items = [
    ...legs.map((leg): HeldItem => [leg.leg.id, legOutcome(leg), tradeOf(leg)?.tradeId ?? null]),
    ...payments.map((record): HeldItem => [
      record.payment.id,
      paymentOutcome(record),
      acceptedOf(record)?.withdrawalId ?? null,
    ]),
  ].filter(([id, , recordId]) => (names === null ? recordId !== null : asked.has(id.toLowerCase())));
  return { ...who, hasPlan: plan !== null, items };
}

/** @param name an id in small letters */
function itemOf({ items }: Pick<Holds, 'items'>, name: string): HeldItem | null {
  return items.find(([id]) => id.toLowerCase() === name) ?? null;
}

/** The service's record of an item, as far as the run or chunk knows; null: none, or one that has failed. */
export function recordIn(holds: Pick<Holds, 'items'>, name: string): string | null {
  const [, outcome, recordId] = itemOf(holds, name) ?? [];
  return outcome === 'NOT_PAID' ? null : (recordId ?? null);
}

/** Whether a run has done the item of this name, or has left it to a person, who may have it done. */
export function hasDone(holds: Pick<Holds, 'items'>, name: string): boolean {
  const [, outcome, recordId] = itemOf(holds, name) ?? [];
  switch (outcome) {
    case 'TRADED':
    case 'PAID':
    case 'NEEDS_HUMAN':
      return true;
    case 'PENDING':
      return recordId !== null;
    case 'NOT_TRADED':
    case 'NOT_PAID':
    case undefined:
      return false;
  }
}

/** The run of a batch. */
export type Coordinator =
  | { readonly kind: 'open'; readonly runId: string }
  /** It has ended by itself: nothing of the batch is sent any more, unless a person starts it again. */
  | { readonly kind: 'ended' }
  /** A person has ended it, or Temporal has no such run: the batch may go on from where it stands. */
  | { readonly kind: 'cut off' };

/**
 * A payment of another batch, by its id in small letters. `isWanted`: false when the plan of that batch knows it to be
 * unpayable. `madeFor`: as in that plan.
 */
export type OtherPayment = { readonly name: string; readonly isWanted: boolean; readonly madeFor: string };

/**
 * Whether another batch of the policy holds a payment that this batch has as well: no payee is paid by two batches (M1). A
 * batch without a plan holds nothing, because it will see this batch when it makes its plan. A payment that ended unpaid is
 * held once more as soon as the run of that batch takes it up again, even before the chunk has heard of it.
 */
export function isHeld(chunk: Holds, coordinator: Coordinator, payment: OtherPayment): boolean {
  const isOpen = coordinator.kind === 'open';
  const item = itemOf(chunk, payment.name);
  if (item !== null) {
    const [, outcome] = item;
    return outcome !== 'NOT_PAID' || (isOpen && chunk.heard !== `${coordinator.runId}/${chunk.runId}`);
  }
  // The chunk has not taken it up yet.
  const isAsPlanned = chunk.isFirst && (!isOpen || coordinator.runId === payment.madeFor);
  if (!payment.isWanted) return isOpen && !isAsPlanned;
  return coordinator.kind !== 'ended' || !chunk.isFirst;
}

/** A chunk of another batch that may have these payments too, by their ids in small letters. */
export type Suspect = { readonly run: RunName; readonly number: number; readonly names: readonly string[] };

/** The run of another batch that has a payment. `withdrawalId`: the record by which it has paid; null: it may still pay. */
export type Holder = { readonly run: string; readonly withdrawalId: string | null };

/** `silent`: a run that may hold some of the payments and does not answer; null: all have answered. */
export type Holders = { readonly held: ReadonlyMap<string, Holder>; readonly silent: string | null };

/** The item of one of our runs that counts a record as its own. */
export type Owner = { readonly run: string; readonly item: string };

/** Adds the owners of those of these records that a run or chunk counts as its own. */
export function addOwners(
  owners: Map<string, Owner>,
  ids: ReadonlySet<string>,
  run: string,
  { items }: Pick<Holds, 'items'>,
): void {
  for (const [item, , recordId] of items)
    if (recordId !== null && ids.has(recordId) && !owners.has(recordId)) owners.set(recordId, { run, item });
}
