/** The chunks of a batch as they were started, which Temporal keeps. Later changes of their state do not count. */
import type { BatchPayment, Manifest } from '../../domain/batch.ts';
import type { RunName } from '../../domain/references.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { readChunk } from '../../durable/batches/submitted-chunk.ts';
import type { Place } from '../place.ts';

/** A batch as Temporal has it, read one chunk at a time. */
export class SubmittedBatch {
  readonly #place: Pick<Place, 'client' | 'mode'>;
  readonly #run: RunName;
  readonly #chunks: number | null;
  /** Whether every chunk could be read; known at the end of `payments`. */
  isWhole: boolean;

  /** @param chunks how many chunks the batch has; null: not known, since its submission was not completed */
  constructor(place: Pick<Place, 'client' | 'mode'>, run: RunName, chunks: number | null) {
    this.#place = place;
    this.#run = run;
    this.#chunks = chunks;
    this.isWhole = chunks !== null;
  }

  /** The payments in the order of the batch, without those of missing chunks. */
  async *payments(): AsyncGenerator<BatchPayment> {
    for await (const { payments } of this.chunks()) yield* payments;
  }

  /** The same, a chunk at a time. */
  async *chunks(): AsyncGenerator<{ readonly number: number; readonly payments: readonly BatchPayment[] }> {
    for (let number = 1, missing = 0; !this.#isBehind(number, missing); number += 1) {
      const chunk = await readChunk(this.#place, this.#run, number);
      missing = chunk.kind === 'none' ? missing + 1 : 0;
      if (chunk.kind === 'payments') yield { number, payments: chunk.payments };
      else this.isWhole = false;
    }
  }

  #isBehind(number: number, missing: number): boolean {
    return this.#chunks === null ? missing >= SIDE_BY_SIDE : number > this.#chunks;
  }
}

/** The command starts this many chunks side by side. So when this many in a row are missing, there is no later one. */
export const SIDE_BY_SIDE = 4;

/**
 * The numbers of the chunks that are missing in Temporal. `differs`: Temporal has a chunk that the batch does not have, or
 * another version of one.
 * @param manifest of the batch
 */
export async function missingChunks(
  place: Pick<Place, 'client' | 'mode'>,
  run: RunName,
  { chunks }: Manifest,
): Promise<ReadonlySet<number> | 'differs'> {
  const missing = new Set<number>();
  // The loop goes past the last chunk, to find the chunks of a longer batch.
  for (let first = 1; first <= chunks.length + SIDE_BY_SIDE; first += SIDE_BY_SIDE) {
    const numbers = Array.from({ length: SIDE_BY_SIDE }, (_, index) => first + index);
    const found = await Promise.all(numbers.map((number) => readChunk(place, run, number)));
    for (const [index, chunk] of found.entries()) {
      const number = first + index;
      if (chunk.kind === 'none') missing.add(number);
      else if (chunk.kind === 'foreign' || hashOfChunk(chunk.payments) !== chunks[number - 1]?.hash)
        return 'differs';
    }
  }
  return new Set([...missing].filter((number) => number <= chunks.length));
}
