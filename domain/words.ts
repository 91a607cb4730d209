/**
 * A *word* is a person's recorded decision about a run. Words live in Temporal outside the run's own history, so that
 * no reset loses them; they are read before every write and never override a record of the service.
 */

/** Who said it and when (epoch milliseconds). */
type Said = { readonly by: string; readonly atMs: number };

export type Word =
  /** What is not sent stays unsent. */
  | (Said & { readonly kind: 'cancel' })
  /** Takes a cancel back: `run --go-on`. */
  | (Said & { readonly kind: 'go-on' });

/** True when the last cancel has not been taken back. */
export function isCancelled(words: readonly Word[]): boolean {
  return words.at(-1)?.kind === 'cancel';
}
