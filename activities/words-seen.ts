/**
 * What this worker has read of the words and facts of each run. Whoever may write to the namespace can delete what keeps them, and
 * start it anew without some of them, such as a cancel. So nothing is sent for a run of which a worker reads less than it has read
 * before. Only words and facts that were read before a reading began are missed in it, since another one may be under way.
 */
import type { Kept } from '../domain/people/instructions.ts';
import { runName, type RunName } from '../domain/references.ts';
import { InstructionsFewer, type Deps } from './deps.ts';
import { putLast } from './put-last.ts';

/** The words of so many runs, and of chunks of batches, are remembered: of those that were read last. */
const MOST = 10_000;

/** What was read of a run. It is replaced, and never changed. */
type Seen = { readonly words: ReadonlySet<string>; readonly facts: number };
const NOTHING_SEEN: Seen = { words: new Set(), facts: 0 };

/**
 * The same, of which a reading fails that shows less than one before.
 * @param before the ids of the words of each run that workers before this one have read, by its name
 */
export function remembering(
  instructions: Deps['instructions'],
  before: ReadonlyMap<string, ReadonlySet<string>>,
): Deps['instructions'] {
  /** That which was read last stands last. */
  const seen = new Map<string, Seen>();
  const see = (place: string, kept: Kept): void => {
    const { words, facts } = seen.get(place) ?? NOTHING_SEEN;
    const ids = kept.instructions.map(({ id }) => id);
    const isNew = ids.some((id) => !words.has(id)) || kept.facts.length > facts;
    const now = isNew
      ? { words: new Set([...words, ...ids]), facts: Math.max(facts, kept.facts.length) }
      : { words, facts };
    putLast(seen, place, now, MOST);
  };
  return {
    ...instructions,
    read: async (mode, run, chunk) => {
      const place = placeOf(run, chunk);
      const { words, facts } = seen.get(place) ?? NOTHING_SEEN;
      const earlier = before.get(runName(run)) ?? new Set();
      const kept = await instructions.read(mode, run, chunk);
      const ids = new Set(kept.instructions.map(({ id }) => id));
      const missing = [...new Set([...words, ...earlier])].filter((id) => !ids.has(id)).length;
      if (missing > 0 || kept.facts.length < facts) throw new InstructionsFewer(missing, kept);
      see(place, kept);
      return kept;
    },
  };
}

function placeOf(run: RunName, chunk: number | undefined): string {
  return chunk === undefined ? runName(run) : `${runName(run)}/${chunk}`;
}
