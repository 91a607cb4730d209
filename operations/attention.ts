/** Which runs somebody should look at. Reads only. */
import type { Place } from './place.ts';
import { needsSomebody, shownFirst } from '../domain/waits.ts';
import { CommandFailure } from './failure.ts';
import { ANSWER_LIMIT_MS, listRuns, readRun, readStuck, type RunFacts } from './runs.ts';

/** States in which nobody has to look at a run that has ended. */
const QUIET: readonly string[] = ['COMPLETED'];

/**
 * A run in the list. `why`: what somebody should know of it, as one sentence; null: nothing, or nobody has looked.
 * `isStuck`: it gets nowhere and cannot say so by itself.
 */
export type Listed = { readonly facts: RunFacts; readonly why: string | null; readonly isStuck: boolean };

/** True for a run that somebody should look at. */
export function needsAttention({ facts, why }: Listed): boolean {
  return why !== null || (!facts.isOpen && !QUIET.includes(facts.state));
}

/** Runs, newest first. `limit`: so many are wanted at least; null: all. */
export async function listAll(place: Place, limit: number | null): Promise<readonly Listed[]> {
  const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
  return found.map((facts) => ({ facts, why: null, isStuck: false }));
}

/**
 * The runs that somebody should look at, newest first. Open ones are asked what they wait for: one that waits in good
 * time, for settlement say, needs nobody.
 */
export async function listAttention(place: Place, nowMs: number): Promise<readonly Listed[]> {
  const all = await listAll(place, null);
  const listed = await Promise.all(
    all.map(async (each) => (each.facts.isOpen ? lookAt(place, each.facts, nowMs) : each)),
  );
  return listed.filter(needsAttention);
}

async function lookAt(place: Place, facts: RunFacts, nowMs: number): Promise<Listed> {
  const stuck = await readStuck(place.client, facts, nowMs);
  if (stuck !== null) return { facts, why: stuck, isStuck: true };
  try {
    const { progress } = await readRun(place, facts, ANSWER_LIMIT_MS);
    const [wait] = shownFirst(progress.items.map(({ waiting }) => waiting)).filter(needsSomebody);
    return { facts, why: wait === undefined ? null : toldBy(wait.problem), isStuck: false };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const [problem] = error.problems;
    return { facts, why: problem === undefined ? null : toldBy(problem), isStuck: true };
  }
}

function toldBy({ code, message }: { readonly code: string; readonly message: string }): string {
  return `${code}: ${message}`;
}
