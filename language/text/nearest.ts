/** "Did you mean": the known word nearest to a mistyped one. */
import distance from 'damerau-levenshtein';

/**
 * The nearest candidate that is at most a third of the word's length in edits away (a swap of neighbours is one edit); null
 * when none is near enough for the question. Of several, one with which the word begins: "EURO" is EUR and not EURC.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > 64) return null;
  const written = word.toLowerCase();
  const allowed = Math.max(1, Math.floor(word.length / 3));
  const [best] = candidates
    .map((candidate) => {
      const known = candidate.toLowerCase();
      return { candidate, edits: distance(written, known).steps, rest: written.startsWith(known) ? 0 : 1 };
    })
    .filter(({ edits }) => edits <= allowed)
    .toSorted((a, b) => a.edits - b.edits || a.rest - b.rest);
  return best?.candidate ?? null;
}
