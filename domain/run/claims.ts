/**
 * Whose is it? Runs and chunks of ours tell what they hold of their items, and which records of the service are theirs. From
 * what they tell follows whether an item is done elsewhere, and which item counts a record as its own. Nothing is known of a
 * run that does not answer: each verdict says what follows from that. Pure.
 */
import {
  acceptedOf,
  legOutcome,
  paymentOutcome,
  tradeIdOf,
  type LegOutcome,
  type PaymentOutcome,
} from './items.ts';
import { itemOfOtherRun } from '../plan/observation.ts';
import { runName, type RunName } from '../references.ts';
import type { Withdrawal } from '../service/records.ts';
import { payerOf } from './payer.ts';
import type { RunState } from './state.ts';
import { isFlag, lineOf, listOf, misshapen, oneOf, orNull, type Field, type Fields } from '../shape.ts';

/** A leg or a payment. `recordId`: the service's record of it, even one that has failed; null: the service has shown none. */
type HeldItem = readonly [id: string, outcome: LegOutcome | PaymentOutcome, recordId: string | null];

/** What a run, or a chunk of a batch, tells of its items. */
export type Holds = {
  /** The Temporal run that tells it. */
  readonly runId: string;
  /** The payer that a chunk is by the go that it has heard last; null: no go yet, or it is no chunk. */
  readonly heard: string | null;
  /** True for a chunk of which no other Temporal run can have sent anything. */
  readonly isFirst: boolean;
  /** False: it has read no plan since it was started or reset, so that it may hold more than it tells. */
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
  const items = (
    plan === null
      ? []
      : [
          ...legs.map((leg): HeldItem => [leg.leg.id, legOutcome(leg), tradeIdOf(leg)]),
          ...payments.map((record): HeldItem => [
            record.payment.id,
            paymentOutcome(record),
            acceptedOf(record)?.withdrawalId ?? null,
          ]),
        ]
  ).filter(([id, , recordId]) => (names === null ? recordId !== null : asked.has(id.toLowerCase())));
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

/**
 * Whether an item for which people have named a record may still take that record. It may not where the service has shown
 * another record of it by now, by which it is done or under way.
 * @param holds what each run and chunk that may have the item tells of it; null: it does not answer
 */
export function mayTake(
  holds: readonly (Pick<Holds, 'items'> | null)[],
  item: string,
  recordId: string,
): boolean {
  return !holds.some((each) => {
    const [, outcome, own] = (each === null ? null : itemOf(each, item.toLowerCase())) ?? [];
    const isItsOwn = outcome === 'PAID' || outcome === 'TRADED' || outcome === 'PENDING';
    return isItsOwn && own !== undefined && own !== null && own !== recordId;
  });
}

/** *Moved*: an item was done, or is left to a person, who may have it done, or the service has a record of it. */
export function hasMoved(outcome: LegOutcome | PaymentOutcome, recordId: string | null): boolean {
  switch (outcome) {
    case 'TRADED':
    case 'PAID':
    case 'NEEDS_HUMAN':
      return true;
    case 'PENDING':
      return recordId !== null;
    case 'NOT_TRADED':
    case 'NOT_PAID':
      return false;
  }
}

/** How Temporal shows a run or a chunk that is asked. `isOnly`: no earlier Temporal run of its id is listed. */
export type Standing = { readonly isOpen: boolean; readonly isOnly: boolean };

/**
 * Whether it may hold more than it tells: it has read no plan, and will, or an earlier Temporal run of its id has done what
 * this one does not know. No other Temporal run can have sent anything of what `isFirst` says.
 */
function mayHoldMore(
  { hasPlan, isFirst }: Pick<Holds, 'hasPlan' | 'isFirst'>,
  { isOpen, isOnly }: Standing,
): boolean {
  return !hasPlan && (!isOnly || (isOpen && !isFirst));
}

/**
 * *Rival*: whether another run of the policy has moved the item of this name, by its id in small letters. `may have`: the run
 * is silent (`holds` is null), or it may hold more than it tells.
 */
export function rivalry(
  holds: Pick<Holds, 'items' | 'hasPlan' | 'isFirst'> | null,
  standing: Standing,
  name: string,
): 'has' | 'may have' | 'has not' {
  if (holds === null) return 'may have';
  const [, outcome, recordId] = itemOf(holds, name) ?? [];
  if (outcome !== undefined && hasMoved(outcome, recordId ?? null)) return 'has';
  return mayHoldMore(holds, standing) ? 'may have' : 'has not';
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
 * unpayable. `madeFor`: as in that plan; null: Temporal has deleted the plan.
 */
export type OtherPayment = {
  readonly name: string;
  readonly isWanted: boolean;
  readonly madeFor: string | null;
};

/**
 * Whether another batch of the policy holds a payment that this batch has as well: no payee is paid by two batches (M1). A
 * batch without a plan holds nothing, because it will see this batch when it makes its plan. A payment that ended unpaid is
 * held once more as soon as the run of that batch takes it up again, even before the chunk has heard of it.
 */
export function isHeld(chunk: Holds, coordinator: Coordinator, payment: OtherPayment): boolean {
  const isOpen = coordinator.kind === 'open';
  const [, outcome] = itemOf(chunk, payment.name) ?? [];
  if (outcome !== undefined && outcome !== 'NOT_PAID') return true;
  if (outcome === 'NOT_PAID' && chunk.hasPlan)
    return isOpen && chunk.heard !== payerOf({ coordinator: coordinator.runId, chunk: chunk.runId });
  // The chunk has not taken it up yet, or may have paid it since what it tells.
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

/** Whose a record of the service is that carries no name of ours. */
export type By =
  /** This item of this run, or of a batch, counts it as its own. */
  | { readonly kind: 'item'; readonly run: string; readonly item: string }
  /** Every run that may have it has answered, and none counts it as its own. */
  | { readonly kind: 'none' }
  /** No run that has answered has it. These, or a chunk of theirs, do not answer, or may hold more than they tell. */
  | { readonly kind: 'silent'; readonly runs: readonly RunName[] };

export type Claim = { readonly recordId: string; readonly by: By };

/** Collects what runs and chunks answer, and judges by it whose records are. */
export class Answers {
  readonly #wanted: ReadonlySet<string>;
  readonly #owners = new Map<string, By>();
  readonly #silent = new Map<string, RunName>();

  /** @param recordIds the records that are asked about */
  constructor(recordIds: readonly string[]) {
    this.#wanted = new Set(recordIds);
  }

  /** @param holds what the run, or a chunk of it, tells; null: it does not answer */
  add(run: RunName, holds: Pick<Holds, 'items' | 'hasPlan' | 'isFirst'> | null, standing: Standing): void {
    if (holds === null || mayHoldMore(holds, standing)) this.#silent.set(runName(run), run);
    for (const [item, , recordId] of holds?.items ?? [])
      if (recordId !== null && this.#wanted.has(recordId) && !this.#owners.has(recordId))
        this.#owners.set(recordId, { kind: 'item', run: runName(run), item });
  }

  /** True when no further answer changes anything. */
  get areEnough(): boolean {
    return this.#owners.size === this.#wanted.size;
  }

  get claims(): readonly Claim[] {
    const others: By =
      this.#silent.size === 0 ? { kind: 'none' } : { kind: 'silent', runs: [...this.#silent.values()] };
    return [...this.#wanted].map((recordId) => ({ recordId, by: this.#owners.get(recordId) ?? others }));
  }
}

/**
 * The records that an item of ours accounts for. All others *look alike*: the record of a silent run counts as that of no run, so
 * that a payment which it looks like waits for a person.
 */
export function accountedFor(claims: readonly Claim[]): readonly string[] {
  return claims.filter(({ by }) => by.kind === 'item').map(({ recordId }) => recordId);
}

/**
 * *Paid elsewhere*: the payment among these (`names` by `nameOfPayment`) that a record of the service pays by its tag, and
 * the other run of the policy that sent it; null: none.
 */
export function paidElsewhere(
  own: RunName,
  names: ReadonlySet<string>,
  { tag }: Pick<Withdrawal, 'tag'>,
): readonly [name: string, run: string] | null {
  const other = tag === null ? null : itemOfOtherRun(own, tag);
  const name = other?.item.toLowerCase();
  return other === null || name === undefined || !names.has(name) ? null : [name, other.run];
}

/** What was found, and stops payments until a person lets them go by the name of its list: `--go-on NAME`, or `--again NAME`. */
export type FoundList = 'lost-runs' | 'look-alikes' | 'made-before';

/**
 * The name of a list. With it, a person accepts exactly what is in this list: one more record or run, and the name is another.
 * @param digest makes twelve letters of `[A-Za-z0-9_-]`
 */
export function nameOfFound(
  list: FoundList,
  members: readonly string[],
  digest: (texts: readonly string[]) => string,
): string {
  return `${list}-${digest(members.toSorted())}`;
}

/** The kind of list that `--go-on` names; null: it names an item of a plan. */
export function foundListOf(name: string): Exclude<FoundList, 'made-before'> | null {
  const [, list] = /^(lost-runs|look-alikes)-[\w-]{12}$/.exec(name) ?? [];
  return list === 'lost-runs' || list === 'look-alikes' ? list : null;
}
