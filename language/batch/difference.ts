/**
 * How a file of payments differs from the batch that was submitted under the same id. Rows are compared by the ids of their
 * payments, wherever they are. Only rows without a counterpart are kept in memory, and these are few when little has
 * changed. Pure.
 */
import type { BatchPayment } from '../../domain/batch.ts';
import type { BatchRow } from './batch-reader.ts';
import { paymentOf } from './chunks.ts';

/** One row that differs. */
export type RowDifference =
  /** Only the file has it. */
  | { readonly kind: 'new'; readonly line: number; readonly now: BatchPayment }
  /** Only the submitted batch has it. */
  | { readonly kind: 'gone'; readonly before: BatchPayment }
  /** Both have the id, but the rest of the row differs. */
  | {
      readonly kind: 'changed';
      readonly line: number;
      readonly before: BatchPayment;
      readonly now: BatchPayment;
    };

/**
 * All differences are counted, and the first ones are kept: those of the file in its order, then those that are gone.
 */
export type BatchDifference = {
  readonly counts: Readonly<Record<RowDifference['kind'], number>>;
  readonly first: readonly RowDifference[];
};

/**
 * Reads both to their end.
 * @param submitted the payments that were submitted, in their order
 */
export async function differenceOf(
  rows: AsyncIterable<BatchRow>,
  submitted: AsyncIterable<BatchPayment>,
  options: {
    /** At most this many differences are kept. */
    readonly most: number;
    /**
     * Called at the end. False where a part of the batch was never submitted or is lost: then a row that only the file has
     * may belong to that part.
     */
    readonly isWhole: () => boolean;
  },
): Promise<BatchDifference> {
  const onlyNow = new Map<string, { readonly line: number; readonly now: BatchPayment }>();
  const onlyBefore = new Map<string, BatchPayment>();
  const changed: RowDifference[] = [];
  let changes = 0;
  const compare = (line: number, before: BatchPayment, now: BatchPayment): void => {
    if (before.every((text, index) => text === now[index])) return;
    changes += 1;
    if (changed.length < options.most) changed.push({ kind: 'changed', line, before, now });
  };
  for await (const [row, before] of sideBySide(rows, submitted)) {
    if (row !== null) {
      const now = paymentOf(row);
      const known = onlyBefore.get(row.id);
      if (known === undefined) onlyNow.set(row.id, { line: row.line, now });
      else compare(row.line, known, now);
      onlyBefore.delete(row.id);
    }
    if (before !== null) {
      const [id] = before;
      const known = onlyNow.get(id);
      if (known === undefined) onlyBefore.set(id, before);
      else compare(known.line, before, known.now);
      onlyNow.delete(id);
    }
  }
  const added = options.isWhole() ? [...onlyNow.values()] : [];
  const ofFile = [
    ...changed,
    ...added.slice(0, options.most).map(({ line, now }): RowDifference => ({ kind: 'new', line, now })),
  ];
  const gone = [...onlyBefore.values()].map((before): RowDifference => ({ kind: 'gone', before }));
  return {
    counts: { new: added.length, gone: gone.length, changed: changes },
    first: [...ofFile.toSorted((a, b) => lineOf(a) - lineOf(b)), ...gone].slice(0, options.most),
  };
}

function lineOf(difference: RowDifference): number {
  return difference.kind === 'gone' ? 0 : difference.line;
}

/** One value of each at a time; null for the one that has come to its end. */
async function* sideBySide<A, B>(
  left: AsyncIterable<A>,
  right: AsyncIterable<B>,
): AsyncGenerator<readonly [A | null, B | null]> {
  const lefts = left[Symbol.asyncIterator]();
  const rights = right[Symbol.asyncIterator]();
  for (;;) {
    const [a, b] = [await lefts.next(), await rights.next()];
    if (a.done === true && b.done === true) return;
    yield [a.done === true ? null : a.value, b.done === true ? null : b.value];
  }
}
