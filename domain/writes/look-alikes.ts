/**
 * Look-alikes: withdrawals at the service that pay the same amount in the same currency to the same account as a payment of
 * a batch, and that carry no tag of ours. A payment with look-alikes waits until a person has approved exactly the list of
 * them. A withdrawal does not count when a run of ours accounts for it, when the payment's own key answers for it, or when it
 * failed before the batch could be paid. One that has failed since then may be the payment itself. Pure.
 */
import type { BatchPayment } from '../batch.ts';
import { normalise } from '../money.ts';
import type { LookAlikeApproval } from '../people/instructions.ts';
import { isKeyKnownSince, type ServiceFacts } from '../service/facts.ts';
import type { Withdrawal } from '../service/records.ts';
import { CREATED_SLACK_MS } from './lookups.ts';

/**
 * The letter of a payment: `l`: it has look-alikes without an approval; `a`: all of its look-alikes are approved; `.`: it
 * has none.
 */
export const LOOK_ALIKE = Object.freeze({ held: 'l', approved: 'a', none: '.' } as const);

/** The look-alikes of one payment. */
export type LookAlike =
  /** A person must decide before the payment is first sent. `recordId`: one of these withdrawals; null: it is not named. */
  | { readonly kind: 'held'; readonly recordId: string | null }
  /** A person has approved them: they are not this payment, so they do not stop it. */
  | { readonly kind: 'approved' };

/** @param letter of the payment; absent: it has no look-alikes */
export function lookAlikeOf(letter: string | undefined, recordId: string | undefined): LookAlike | null {
  if (letter === LOOK_ALIKE.held) return { kind: 'held', recordId: recordId ?? null };
  return letter === LOOK_ALIKE.approved ? { kind: 'approved' } : null;
}

/** Makes one short text of several: SHA-256, which workflow code does not have. */
type Digest = (texts: readonly string[]) => string;

/**
 * An approval distinguishes at most this many groups of payments. In a small batch each payment is a group; for a large
 * batch the approval stays small.
 */
const MOST_GROUPS = 1_024;

/** Tells which records could be a payment of a batch. */
export class Alike {
  readonly #keys = new Set<string>();

  add(payments: readonly BatchPayment[]): void {
    for (const payment of payments) for (const key of keysOf(payment)) this.#keys.add(key);
  }

  has(record: Withdrawal): boolean {
    return record.tag === null && this.couldBe(record);
  }

  /** The same, whatever name of ours the record carries. */
  couldBe(record: Withdrawal): boolean {
    return this.#keys.has(keyOfRecord(record));
  }
}

/** The keys of a payment. A record that shows no account could be a payment to any account. */
function keysOf([, account, currency, amount]: BatchPayment): readonly [string, string] {
  const open = `${currency} ${normalise(amount)} `;
  return [`${open}${account}`, open];
}

function keyOfRecord({ currency, withdrawalAmount, withdrawalAccountId }: Withdrawal): string {
  return `${currency} ${normalise(withdrawalAmount)} ${withdrawalAccountId ?? ''}`;
}

/** The records that an approval covers, and how it groups the payments of a chunk. */
type ApprovalBounds = Pick<LookAlikeApproval, 'sinceMs' | 'untilMs' | 'perGroup'>;

/** Which records may be withdrawals of the batch itself. */
export type Own = {
  /** The batch can have sent nothing before this moment. Epoch milliseconds, like the others. */
  readonly opensAtMs: number;
  /** Records created from this moment on do not count: the payments' own keys answer for them. Infinity: for none. */
  readonly keysAnswerSinceMs: number;
};

/** The facts by which a record is judged. */
export type Judging = {
  /** All records in the list for which `Alike.has` is true. */
  readonly records: readonly Withdrawal[];
  /** Ids of the records for which runs of ours account. */
  readonly accounted: ReadonlySet<string>;
  readonly failedWords: readonly string[];
  /** Older records do not count, epoch milliseconds. */
  readonly sinceMs: number;
  readonly own: Own;
  readonly approval: LookAlikeApproval | null;
};

/** The look-alikes of payments with the same key. `wereShown`: all of them were there when a person approved. */
type KeyLookAlikes = { readonly records: readonly Withdrawal[]; readonly wereShown: boolean };

/** The look-alikes of the payments of a batch, chunk by chunk. */
export class LookAlikes {
  readonly #judging: Judging;
  readonly #digest: Digest;
  readonly #byKey = new Map<string, Withdrawal[]>();
  readonly #standing = new Map<string, KeyLookAlikes>();
  readonly #keyDigests = new Map<string, string>();
  readonly #approved: ReadonlySet<string>;

  constructor(judging: Judging, digest: Digest) {
    this.#judging = judging;
    this.#digest = digest;
    this.#approved = new Set(judging.approval?.groups);
    for (const record of judging.records) {
      const key = keyOfRecord(record);
      const known = this.#byKey.get(key);
      if (known === undefined) this.#byKey.set(key, [record]);
      else known.push(record);
    }
  }

  /** The look-alikes of a payment, approved or not. */
  of(payment: BatchPayment): readonly Withdrawal[] {
    return keysOf(payment).flatMap((key) => this.#standingOf(key).records);
  }

  /** Computed once for all payments with this key. */
  #standingOf(key: string): KeyLookAlikes {
    const known = this.#standing.get(key);
    if (known !== undefined) return known;
    const { approval } = this.#judging;
    const records = (this.#byKey.get(key) ?? []).filter((record) => this.#counts(record));
    const wereShown = approval !== null && records.every((record) => isInside(record, approval));
    const standing = { records, wereShown };
    this.#standing.set(key, standing);
    return standing;
  }

  /** One letter for each payment of the chunk with this number, from 1; null: none of them has a look-alike. */
  lettersOf(number: number, payments: readonly BatchPayment[]): string | null {
    if (this.#byKey.size === 0) return null;
    const approvedGroups = new Map<number, boolean>();
    const letters = payments.map((payment, index) => {
      const found = keysOf(payment).map((key) => this.#standingOf(key));
      const { approval } = this.#judging;
      if (found.every(({ records }) => records.length === 0)) return LOOK_ALIKE.none;
      if (approval === null || found.some(({ wereShown }) => !wereShown)) return LOOK_ALIKE.held;
      const group = Math.floor(index / approval.perGroup);
      const isApproved = approvedGroups.get(group) ?? this.#isApproved(approval, number, group, payments);
      approvedGroups.set(group, isApproved);
      return isApproved ? LOOK_ALIKE.approved : LOOK_ALIKE.held;
    });
    return letters.every((letter) => letter === LOOK_ALIKE.none) ? null : letters.join('');
  }

  #isApproved(
    approval: LookAlikeApproval,
    number: number,
    group: number,
    payments: readonly BatchPayment[],
  ): boolean {
    const name = this.#groupOf(approval, number, group, payments);
    return name !== null && this.#approved.has(name);
  }

  /**
   * The name of a group of payments, by its number, made of all records that could be one of them; null: there are none. It
   * includes records that have failed or for which a run accounts.
   */
  #groupOf(
    within: ApprovalBounds,
    number: number,
    group: number,
    payments: readonly BatchPayment[],
  ): string | null {
    const { perGroup } = within;
    const keys = new Set(payments.slice(group * perGroup, (group + 1) * perGroup).flatMap(keysOf));
    const digests = [...keys].map((key) => this.#digestOf(key, within)).filter((one) => one !== '');
    return digests.length === 0 ? null : `${number}.${group}.${this.#digest(digests.toSorted(byText))}`;
  }

  #digestOf(key: string, within: ApprovalBounds): string {
    const name = `${within.sinceMs} ${within.untilMs} ${key}`;
    const known = this.#keyDigests.get(name);
    if (known !== undefined) return known;
    const ids = (this.#byKey.get(key) ?? []).filter((one) => isInside(one, within)).map(({ id }) => id);
    const digest = ids.length === 0 ? '' : this.#digest(ids.toSorted(byText));
    this.#keyDigests.set(name, digest);
    return digest;
  }

  #counts(record: Withdrawal): boolean {
    const { accounted, sinceMs } = this.#judging;
    const isSince = Date.parse(record.createdAt) >= sinceMs;
    return isSince && mayCount(record, this.#judging) && !accounted.has(record.id);
  }

  /** The bounds of an approval that a person gives now to all look-alikes of a batch with this many payments. */
  bounds(payments: number): ApprovalBounds {
    const { records, sinceMs, own } = this.#judging;
    const newestMs = records.reduce(
      (newest, { createdAt }) => Math.max(newest, Date.parse(createdAt)),
      sinceMs,
    );
    // No approval covers records for which the payments' own keys answer.
    return {
      sinceMs,
      untilMs: Math.min(newestMs, own.keysAnswerSinceMs - 1),
      perGroup: Math.max(1, Math.ceil(payments / MOST_GROUPS)),
    };
  }

  /** The names of the groups in the chunk with this number, from 1, for such an approval. */
  groupsOf(bounds: ApprovalBounds, number: number, payments: readonly BatchPayment[]): readonly string[] {
    const groups = Array.from({ length: Math.ceil(payments.length / bounds.perGroup) }, (_, group) =>
      this.#groupOf(bounds, number, group, payments),
    );
    return groups.filter((group) => group !== null);
  }
}

/** Whether a record can stand against a payment. Only then our runs are asked whose it is. */
export function mayCount(
  { createdAt, status }: Withdrawal,
  { failedWords, own }: Pick<Judging, 'failedWords' | 'own'>,
): boolean {
  const atMs = Date.parse(createdAt);
  // A payment of the batch that has failed is paid again only if a person says so.
  const isOwnOrPays = atMs >= own.opensAtMs - CREATED_SLACK_MS || !failedWords.includes(status);
  return atMs < own.keysAnswerSinceMs && isOwnOrPays;
}

function isInside(
  { createdAt }: Withdrawal,
  { sinceMs, untilMs }: Pick<ApprovalBounds, 'sinceMs' | 'untilMs'>,
): boolean {
  const atMs = Date.parse(createdAt);
  return atMs >= sinceMs && atMs <= untilMs;
}

/**
 * When only this API key has sent writes since before the run's date began, the key of a payment brings back every record that
 * was created for it since then.
 * @param opensAtMs when the run's date began, epoch milliseconds
 */
export function ownOf(facts: Pick<ServiceFacts, 'keyUsedSince'>, opensAtMs: number): Own {
  const keysAnswerSinceMs = isKeyKnownSince(facts, opensAtMs) ? opensAtMs - CREATED_SLACK_MS : Infinity;
  return { opensAtMs, keysAnswerSinceMs };
}

/**
 * From when on records count, epoch milliseconds: for as long as the policy says, and never later than the batch could send.
 * @param dedupeMs how far back the policy wants them to count
 */
export function countsSince(nowMs: number, dedupeMs: number, { opensAtMs }: Own): number {
  return Math.min(nowMs - dedupeMs, opensAtMs - CREATED_SLACK_MS);
}

/** @param sinceMs the payments' own keys answer from this moment on at the latest, epoch milliseconds */
export function answeredSince(own: Own, sinceMs: number): Own {
  return { ...own, keysAnswerSinceMs: Math.min(own.keysAnswerSinceMs, sinceMs) };
}

function byText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
