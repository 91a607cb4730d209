/**
 * Hashes that show whether two chunks of a batch are the same. The command that submits a chunk and the worker that gets it
 * both use them. Pure.
 */
import { createHash } from 'node:crypto';
import type { PaidAgain, PaidAgainOfChunk } from '../../domain/people/instructions.ts';
import { nameOfPayment, type BatchPayment } from '../../domain/batch.ts';

/** SHA-256 of the JSON of the payments, hex. */
export function hashOfChunk(payments: readonly BatchPayment[]): string {
  return createHash('sha256').update(JSON.stringify(payments)).digest('hex');
}

/** The same for the payments of a chunk that a person wants to be paid again, base64url: their order does not matter. */
export function hashOfList(items: readonly PaidAgain[]): string {
  const sorted = items.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url');
}

/** Whether these are the payments of a chunk that a person has named to be paid again: so many, each once, and by their hash. */
export function isListOf([, payments, hash]: PaidAgainOfChunk, items: readonly PaidAgain[]): boolean {
  const names = new Set(items.map(([item]) => item));
  return items.length === payments && names.size === payments && hashOfList(items) === hash;
}

/** A `hashOfName` has this many characters. */
const NAME_HASH = 8;

/** Two different names mostly have different hashes. Where two hashes are equal, the names themselves are compared. */
export function hashOfName(name: string): string {
  return createHash('sha256').update(name).digest().subarray(0, 6).toString('base64url');
}

/**
 * The hashes of all names of a chunk, for its memo. With them another batch can see, without the history, whether the chunk
 * may have one of its names.
 */
export function hashesOfNames(payments: readonly BatchPayment[]): string {
  return payments.map((payment) => hashOfName(nameOfPayment(payment))).join('');
}

/** The hashes in a memo; null when no chunk has written it. */
export function readHashes(memo: unknown): readonly string[] | null {
  if (typeof memo !== 'string' || memo === '' || memo.length % NAME_HASH > 0) return null;
  return Array.from({ length: memo.length / NAME_HASH }, (_, index) =>
    memo.slice(index * NAME_HASH, (index + 1) * NAME_HASH),
  );
}

/** A hash that differs between lists of ids, or of such hashes. */
export function hashOfTexts(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 9).toString('base64url');
}
