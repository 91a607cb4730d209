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
  | (Said & { readonly kind: 'go-on' })
  /** The item was executed, as this record of the service: adopted when it exists and agrees with the plan. */
  | (Said & { readonly kind: 'executed'; readonly item: string; readonly recordId: string })
  /** The item was not executed: stands in for what is left of the time that doubt takes, after one complete look. */
  | (Said & { readonly kind: 'not executed'; readonly item: string; readonly evidence: string })
  /** Opens a later generation of a payment that was not paid, with a fence of its own (epoch milliseconds). */
  | (Said & {
      readonly kind: 'pay again';
      readonly item: string;
      readonly generation: number;
      readonly reason: string;
      readonly fenceUntilMs: number;
    });

export type Decision = Extract<Word, { kind: 'executed' | 'not executed' }>;
type PayAgain = Extract<Word, { kind: 'pay again' }>;

/** What all words together say about one item. */
export type WordsAbout = {
  readonly cancelled: boolean;
  /** The last decision about the item; a later `pay again` makes it history. */
  readonly decision: Decision | null;
  /** The generation that a person opened last; null when nobody did. */
  readonly payAgain: PayAgain | null;
};

/** True when what is not sent stays unsent. `words` in the order in which they were said. */
export function isCancelled(words: readonly Word[]): boolean {
  return words.findLast(({ kind }) => kind === 'cancel' || kind === 'go-on')?.kind === 'cancel';
}

/** `words` in the order in which they were said. */
export function wordsAbout(words: readonly Word[], item: string): WordsAbout {
  let decision: Decision | null = null;
  let payAgain: PayAgain | null = null;
  for (const word of words) {
    switch (word.kind) {
      case 'cancel':
      case 'go-on':
        break;
      case 'executed':
      case 'not executed':
        if (word.item === item) decision = word;
        break;
      case 'pay again':
        if (word.item !== item) break;
        payAgain = word;
        decision = null;
    }
  }
  return { cancelled: isCancelled(words), decision, payAgain };
}
