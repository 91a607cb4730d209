/**
 * A batch as it is submitted and as its run knows it. Its payments are in its chunks, each a workflow `payments`; the run
 * holds counts, sums and hashes, so that nothing of it grows with the batch. Pure.
 */
import type { Money, PayoutPolicy } from './policy.ts';

/** One payment as it is submitted. The amount has no needless zeros. Nothing else of a row ever leaves its file. */
export type BatchPayment = readonly [id: string, account: string, currency: string, amount: string];

/** So many payments make a chunk at most, and so many bytes of JSON: below what Temporal likes to carry at once. */
export const CHUNK = Object.freeze({ payments: 500, bytes: 98_304 });

/** The most chunks of a batch: the plan carries the hash of each. */
export const MOST_CHUNKS = 400;

/** One chunk: how many payments it has, and their SHA-256 (hex). */
export type ChunkDigest = { readonly payments: number; readonly hash: string };

/** What a run of a batch is started with. */
export type Manifest = {
  readonly payments: number;
  /** One sum per currency, by the name of the currency. */
  readonly totals: readonly Money[];
  /** In the order of the file. */
  readonly chunks: readonly ChunkDigest[];
};

/** Why a payment is known to be impossible when the plan is made; `.`: it is not. */
export const UNPAYABLE = Object.freeze({
  m: 'ACCOUNT_MISSING',
  u: 'ACCOUNT_UNUSABLE',
  c: 'ACCOUNT_CURRENCY',
  w: 'CURRENCY_NOT_WITHDRAWABLE',
  d: 'PAID_BY_ANOTHER_BATCH',
} as const);
export type Unpayable = keyof typeof UNPAYABLE;

/**
 * `unpayable`: one letter of `UNPAYABLE` or `.` for each payment, in order; null: nothing stands against any of them.
 * `alike`: one letter of `LOOK_ALIKE` for each; absent: nothing looks like any of them.
 */
export type PlanChunk = ChunkDigest & { readonly unpayable: string | null; readonly alike?: string };

/** A batch in its plan. */
export type PlanBatch = Omit<Manifest, 'chunks'> & {
  /** Sums of what is not known to be impossible, per currency: so much is funded. */
  readonly payable: readonly Money[];
  /** The first runs that have paid or hold what is not paid for that. */
  readonly heldBy: readonly string[];
  readonly chunks: readonly PlanChunk[];
} & PayoutRules &
  Pick<PayoutPolicy['payout'], 'dedupeMs'>;

/** What the policy says of how it is paid. */
export type PayoutRules = Pick<PayoutPolicy['payout'], 'parallel' | 'stopAfter' | 'canary'>;

/** So many chunks send side by side at most: while one waits for Temporal, the others send. */
const MOST_LANES = 4;

/** How many chunks of a batch send side by side. */
export function lanesOf({ parallel, chunks }: Pick<PlanBatch, 'parallel' | 'chunks'>): number {
  return Math.min(MOST_LANES, parallel, chunks.length);
}

/** A batch as it was seen, before it is planned. */
export type SeenBatch = Omit<PlanBatch, keyof PayoutRules | 'dedupeMs'>;

/** So many runs are named that hold payments of a batch. */
const MOST_HOLDERS = 3;

/** The runs that are named. */
export function firstHolders(runs: Iterable<string>): readonly string[] {
  return [...new Set(runs)].slice(0, MOST_HOLDERS);
}

/** Ids that differ only in capitals are one: it is compared like this. */
export function nameOfPayment([id]: BatchPayment): string {
  return id.toLowerCase();
}

/** Of every payment that is known to be impossible, why. */
export function unpayableOf({ chunks }: PlanBatch): readonly Unpayable[] {
  return chunks.flatMap(({ unpayable }) => (unpayable ?? '').split('').filter(isUnpayable));
}

export function isUnpayable(letter: string | undefined): letter is Unpayable {
  return letter !== undefined && Object.hasOwn(UNPAYABLE, letter);
}

/** Where the batch of a run differs from the one that it was planned with; null: they are the same. */
export function otherBatch(planned: PlanBatch | null, given: Manifest | null): string | null {
  if (planned === null || given === null)
    return planned === given ? null : 'One of the two has no batch of payments.';
  if (planned.payments !== given.payments)
    return `It was planned with ${planned.payments} payments, and now there are ${given.payments}.`;
  const index = planned.chunks.findIndex(({ hash }, at) => given.chunks[at]?.hash !== hash);
  if (index < 0 && planned.chunks.length === given.chunks.length) return null;
  return `Its payments are others, the first of them in chunk ${Math.max(index, 0) + 1}.`;
}
