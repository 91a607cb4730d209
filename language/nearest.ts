/** "Did you mean": the known word nearest to a mistyped one. */

/**
 * The candidate within a third of the word's length in edits (a swap of neighbours is one edit), the nearest first;
 * null when nothing is near enough to be worth a question.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > 64) return null;
  const allowed = Math.max(1, Math.floor(word.length / 3));
  let best: string | null = null;
  let bestEdits = allowed + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestEdits) continue;
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Edit distance with insertion, deletion, replacement and a swap of neighbours, one edit each. */
function distance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let edits = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) edits = Math.min(edits, at(beforePrevious, column - 2) + 1);
      current.push(edits);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
