/**
 * Look-alikes: withdrawals at the service that pay the same account the same amount in the same currency as a payment of a
 * batch, and that carry no tag of ours. A payment that has one waits for a person, unless one has approved exactly the list of
 * them, a run of ours accounts for it, it has failed, or its own key answers for it. Pure.
 */
import type { BatchPayment } from '../batch.ts';
import { normalise } from '../money.ts';
import type { LookAlikeApproval } from '../people/instructions.ts';
import { isKeyKnownSince, type ServiceFacts } from '../service/facts.ts';
import type { Withdrawal } from '../service/records.ts';
import { CREATED_SLACK_MS } from './lookups.ts';

/** What stands behind a payment: `l`: one that nobody has approved, `a`: all that it has are approved, `.`: none. */
export const LOOK_ALIKE = Object.freeze({ held: 'l', approved: 'a', none: '.' } as const);

/** Makes one short text of several: SHA-256, which code of workflows has not. */
type Digest = (texts: readonly string[]) => string;

/** So many groups of payments an approval tells apart: each payment alone in a small batch, and few bytes for a large one. */
const MOST_GROUPS = 1_024;

/** Which records could be taken for a payment of a batch. */
export class Alike {
  readonly #keys = new Set<string>();

  add(payments: readonly BatchPayment[]): void {
    for (const payment of payments) for (const key of keysOf(payment)) this.#keys.add(key);
  }

  has(record: Withdrawal): boolean {
    return record.tag === null && this.#keys.has(keyOfRecord(record));
  }
}

/** A record that shows no account could be of any. */
function keysOf([, account, currency, amount]: BatchPayment): readonly [string, string] {
  const open = `${currency} ${normalise(amount)} `;
  return [`${open}${account}`, open];
}

function keyOfRecord({ currency, withdrawalAmount, withdrawalAccountId }: Withdrawal): string {
  return `${currency} ${normalise(withdrawalAmount)} ${withdrawalAccountId ?? ''}`;
}

/** Which records an approval is about, and how it groups the payments of a chunk. */
type ApprovalBounds = Pick<LookAlikeApproval, 'sinceMs' | 'untilMs' | 'perGroup'>;

/** By what a record is judged. */
export type Judging = {
  /** Everything that the list shows of what `Alike` has. */
  readonly records: readonly Withdrawal[];
  /** Those that runs of ours account for. */
  readonly accounted: ReadonlySet<string>;
  readonly failedWords: readonly string[];
  /** How far back one counts, epoch milliseconds. */
  readonly sinceMs: number;
  /** What was created from then on, the payments' own keys answer for. */
  readonly ownSinceMs: number;
  readonly approval: LookAlikeApproval | null;
};

/** What stands against payments that are alike; `wereShown`: all of it was there when somebody approved. */
type Standing = { readonly records: readonly Withdrawal[]; readonly wereShown: boolean };

/** The look-alikes of the payments of a batch, chunk by chunk. */
export class LookAlikes {
  readonly #judging: Judging;
  readonly #digest: Digest;
  readonly #byKey = new Map<string, Withdrawal[]>();
  readonly #standing = new Map<string, Standing>();
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

  /** Those that stand against a payment, approved or not. */
  of(payment: BatchPayment): readonly Withdrawal[] {
    return keysOf(payment).flatMap((key) => this.#standingOf(key).records);
  }

  /** Judged once for all payments that are alike. */
  #standingOf(key: string): Standing {
    const known = this.#standing.get(key);
    if (known !== undefined) return known;
    const { approval } = this.#judging;
    const records = (this.#byKey.get(key) ?? []).filter((record) => this.#counts(record));
    const wereShown = approval !== null && records.every((record) => isInside(record, approval));
    const standing = { records, wereShown };
    this.#standing.set(key, standing);
    return standing;
  }

  /** One letter for each payment of the chunk with this number, from 1; null: nothing stands against any of them. */
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

  /** What a group of payments can be taken for, by number; null: for nothing. Failed or not, and whoever accounts for it. */
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

  #counts({ id, createdAt, status }: Withdrawal): boolean {
    const { accounted, failedWords, sinceMs, ownSinceMs } = this.#judging;
    const atMs = Date.parse(createdAt);
    return atMs >= sinceMs && atMs < ownSinceMs && !failedWords.includes(status) && !accounted.has(id);
  }

  /** Within what a person who approves all of these approves them, for a batch of so many payments. */
  bounds(payments: number): ApprovalBounds {
    const { records, sinceMs, ownSinceMs: endMs } = this.#judging;
    const newestMs = records.reduce(
      (newest, { createdAt }) => Math.max(newest, Date.parse(createdAt)),
      sinceMs,
    );
    // What the payments' own keys answer for is theirs, whatever somebody approves.
    return {
      sinceMs,
      untilMs: Math.min(newestMs, endMs - 1),
      perGroup: Math.max(1, Math.ceil(payments / MOST_GROUPS)),
    };
  }

  /** What such an approval says of the chunk with this number, from 1. */
  groupsOf(bounds: ApprovalBounds, number: number, payments: readonly BatchPayment[]): readonly string[] {
    const groups = Array.from({ length: Math.ceil(payments.length / bounds.perGroup) }, (_, group) =>
      this.#groupOf(bounds, number, group, payments),
    );
    return groups.filter((group) => group !== null);
  }
}

function isInside(
  { createdAt }: Withdrawal,
  { sinceMs, untilMs }: Pick<ApprovalBounds, 'sinceMs' | 'untilMs'>,
): boolean {
  const atMs = Date.parse(createdAt);
  return atMs >= sinceMs && atMs <= untilMs;
}

/**
 * From when on the payments' own keys answer for a record: where only this API key has written since before the run's date
 * began, what was created since then is brought back by the key of its payment.
 */
export function ownSince(facts: Pick<ServiceFacts, 'keyUsedSince'>, opensAtMs: number): number {
  return isKeyKnownSince(facts, opensAtMs) ? opensAtMs - CREATED_SLACK_MS : Infinity;
}

function byText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
