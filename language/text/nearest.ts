/** "Did you mean": the known word nearest to a mistyped one. */
import distance from 'damerau-levenshtein';

/**
 * The nearest candidate that is at most a third of the word's length in edits away (a swap of neighbours is one edit); null
 * when none is near enough for the question.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > 64) return null;
  const allowed = Math.max(1, Math.floor(word.length / 3));
  const [best] = candidates
    .map((candidate) => ({ candidate, edits: distance(word.toLowerCase(), candidate.toLowerCase()).steps }))
    .filter(({ edits }) => edits <= allowed)
    .toSorted((a, b) => a.edits - b.edits);
  return best?.candidate ?? null;
}
