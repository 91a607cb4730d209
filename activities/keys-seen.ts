/**
 * Since when this worker knows that an API key sends for a run. A worker that has a new key sends only once nothing can appear any more
 * that left by the old one before its worker read of the new key. Whoever may write to the namespace can note a key with an earlier
 * moment. So what others have noted counts from when this worker has first read it, and no earlier.
 */
import type { Fact, Kept } from '../domain/people/instructions.ts';
import { runName, type RunName } from '../domain/references.ts';
import type { Clock, Deps } from './deps.ts';
import { putLast } from './put-last.ts';

type KeyNoted = Extract<Fact, { readonly kind: 'api key' }>;

/** So many notes are remembered. One that is forgotten counts from when it is read once more. */
const MOST = 10_000;

/** The same, with the moments of API keys as this worker knows them. */
export function datingKeys(
  instructions: Deps['instructions'],
  { wallMs }: Pick<Clock, 'wallMs'>,
): Deps['instructions'] {
  const known = new Map<string, number>();
  const knownSince = (place: string, { keyName, atMs }: KeyNoted, nowMs: number): number => {
    const name = JSON.stringify([place, keyName, atMs]);
    return putLast(known, name, known.get(name) ?? Math.max(atMs, nowMs), MOST);
  };
  return {
    ...instructions,
    read: async (mode, run, chunk): Promise<Kept> => {
      const kept = await instructions.read(mode, run, chunk);
      const nowMs = wallMs();
      const facts = kept.facts.map((fact) =>
        fact.kind === 'api key' ? { ...fact, atMs: knownSince(placeOf(run, chunk), fact, nowMs) } : fact,
      );
      return { ...kept, facts };
    },
    note: async (mode, run, facts, chunk) => {
      await instructions.note(mode, run, facts, chunk);
      for (const fact of facts) if (fact.kind === 'api key') knownSince(placeOf(run, chunk), fact, fact.atMs);
    },
  };
}

function placeOf(run: RunName, chunk: number | undefined): string {
  return JSON.stringify([runName(run), chunk ?? null]);
}
