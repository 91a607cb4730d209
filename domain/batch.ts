/**
 * A batch as it is submitted and as its run knows it. Its payments are in its chunks, each a workflow `chunk`. The run
 * has only counts, sums and hashes, so that no payload grows with the batch. Pure.
 */
import type { Money, PayoutRules } from './policy.ts';

/** One payment as it is submitted. The amount has no needless zeros. Nothing else of a row ever leaves its file. */
export type BatchPayment = readonly [id: string, account: string, currency: string, amount: string];

/**
 * A chunk has at most this many payments, and at most this many bytes of JSON: less than the largest payload that Temporal
 * likes.
 */
export const CHUNK = Object.freeze({ payments: 500, bytes: 98_304 });

/** The most chunks of a batch. The plan has the hash of each of them, so their number is limited. */
export const MOST_CHUNKS = 400;

/** One chunk: the number of its payments, and their SHA-256 (hex). */
export type ChunkDigest = { readonly payments: number; readonly hash: string };

/** The batch with which a run is started. */
export type Manifest = {
  readonly payments: number;
  /** One sum for each currency, in the order of the currencies' names. */
  readonly totals: readonly Money[];
  /** The chunks in the order of the file. */
  readonly chunks: readonly ChunkDigest[];
};

/** Why a payment is known to be impossible when the plan is made, by a letter. The letter `.` means that it is not. */
export const UNPAYABLE = Object.freeze({
  m: 'ACCOUNT_MISSING',
  u: 'ACCOUNT_UNUSABLE',
  c: 'ACCOUNT_CURRENCY',
  w: 'CURRENCY_NOT_WITHDRAWABLE',
  d: 'PAID_BY_ANOTHER_BATCH',
} as const);
export type Unpayable = keyof typeof UNPAYABLE;

/** Payments with these codes need money of their own once they are mended. What another batch has paid needs none. */
const LEFT_OUT: readonly string[] = Object.values(UNPAYABLE).filter((code) => code !== UNPAYABLE.d);

/** True for a payment that its plan has left out of what it funds, and that a person may mend. */
export function isLeftOut(code: string): boolean {
  return LEFT_OUT.includes(code);
}

/**
 * `unpayable`: one letter of `UNPAYABLE` or `.` for each payment, in order; null: no payment is known to be impossible.
 * `alike`: one letter of `LOOK_ALIKE` for each; absent: no payment has a look-alike.
 */
export type PlanChunk = ChunkDigest & { readonly unpayable: string | null; readonly alike?: string };

/** A batch as its plan has it. */
export type PlanBatch = Omit<Manifest, 'chunks'> & {
  /** The sums, for each currency, of the payments that are not known to be impossible. This much is funded. */
  readonly payable: readonly Money[];
  /** The first runs that have paid or hold payments of this batch, which are not paid for that reason. */
  readonly heldBy: readonly string[];
  readonly chunks: readonly PlanChunk[];
  readonly rules: PayoutRules;
};

/** At most this many chunks send side by side. While one waits for Temporal, the others send. */
const MOST_LANES = 4;

/** How many chunks of a batch send side by side. */
export function lanesOf({ rules, chunks }: Pick<PlanBatch, 'rules' | 'chunks'>): number {
  return Math.min(MOST_LANES, rules.parallel, chunks.length);
}

/**
 * How many payments one call has. More would be faster, but so many always fit into a payload of 128 KiB,
 * whatever the service says about each.
 */
export const LARGEST_CALL = 36;
/**
 * The same where payments leave one by one, because an attempt sends for 20 s at most; and where a rule may stop the
 * batch, because a call always goes to its end.
 */
const SMALL_CALL = 25;

/** How each chunk of a batch sends: so many payments side by side, and so many in one call. */
export function slicesOf(batch: Pick<PlanBatch, 'rules' | 'chunks'>) {
  const { parallel, stopAfter, canary } = batch.rules;
  const sideBySide = Math.floor(parallel / lanesOf(batch));
  const isSmall = sideBySide === 1 || stopAfter !== null || canary !== null;
  return { sideBySide, callSize: isSmall ? SMALL_CALL : LARGEST_CALL };
}

/** A batch as one reading of the file and the service shows it, before it is planned. */
export type SeenBatch = Omit<PlanBatch, 'rules'>;

/** At most this many runs that hold payments of a batch are named. */
const MOST_HOLDERS = 3;

/** The first of these runs, for messages. */
export function firstHolders(runs: Iterable<string>): readonly string[] {
  return [...new Set(runs)].slice(0, MOST_HOLDERS);
}

/** The form in which ids are compared: ids that differ only in capitals count as one. */
export function nameOfPayment([id]: BatchPayment): string {
  return id.toLowerCase();
}

/** The reason for every payment that is known to be impossible. */
export function unpayableOf({ chunks }: PlanBatch): readonly Unpayable[] {
  return chunks.flatMap(({ unpayable }) => (unpayable ?? '').split('').filter(isUnpayable));
}

export function isUnpayable(letter: string | undefined): letter is Unpayable {
  return letter !== undefined && Object.hasOwn(UNPAYABLE, letter);
}

/** How the batch of a run differs from the batch with which it was planned; null: they are the same. */
export function otherBatch(planned: PlanBatch | null, given: Manifest | null): string | null {
  if (planned === null || given === null)
    return planned === given
      ? null
      : 'The plan has a batch of payments and this start has none, or the other way round.';
  if (planned.payments !== given.payments)
    return `The batch was planned with ${planned.payments} payments, and now has ${given.payments}.`;
  if (JSON.stringify(planned.totals) !== JSON.stringify(given.totals))
    return 'The batch was planned with other sums than it has now.';
  const index = planned.chunks.findIndex(({ hash }, at) => given.chunks[at]?.hash !== hash);
  if (index < 0 && planned.chunks.length === given.chunks.length) return null;
  return `Its payments differ from those of the plan, first in chunk ${Math.max(index, 0) + 1}.`;
}
