/** Which runs somebody should look at. Reads only. */
import type { Place } from './place.ts';
import { listRuns, readStuck, type RunFacts } from './runs.ts';

/** States in which nobody has to look at a run. */
const QUIET: readonly string[] = ['RUNNING', 'COMPLETED'];

/** A run in the list. `stuck`: why it gets nowhere though it does not say so; null: it does, or nobody has looked. */
export type Listed = { readonly facts: RunFacts; readonly stuck: string | null };

/**
 * True for a run that somebody should look at. Late runs are held, and so is one with a status that nobody knows; a
 * cancel that left nothing undone is completed.
 */
export function needsAttention({ facts, stuck }: Listed): boolean {
  return stuck !== null || !QUIET.includes(facts.state);
}

/** Runs, newest first. `limit`: so many are wanted at least; null: all. */
export async function listAll(place: Place, limit: number | null): Promise<readonly Listed[]> {
  const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
  return found.map((facts) => ({ facts, stuck: null }));
}

/** The runs that somebody should look at, newest first; those that say nothing of it by themselves are looked at. */
export async function listAttention(place: Place, nowMs: number): Promise<readonly Listed[]> {
  const listed = await Promise.all(
    (await listAll(place, null)).map(async ({ facts }): Promise<Listed> => {
      const isQuiet = facts.isOpen && QUIET.includes(facts.state);
      return { facts, stuck: isQuiet ? await readStuck(place.client, facts, nowMs) : null };
    }),
  );
  return listed.filter(needsAttention);
}
