/**
 * What the journals in a folder of this machine show that people said, as workers before this one have read it. A worker that was
 * started anew misses it where Temporal does not have it any more (`activities/words-seen.ts`).
 */
import { journalsSince, linesOf, type Owner as KeyOwner } from './sent-in-journals.ts';

/** Under whatever API key. */
type Owner = Pick<KeyOwner, 'mode' | 'organisation'>;

/** Longer than anything of a run is sent. */
const LOOKS_BACK_MS = 14 * 86_400_000;

/**
 * Makes what reads the journals once, and gives the ids of the words of each run, by its name.
 * @param note called with each journal that cannot be read whole
 */
export function saidInJournals(
  folder: string,
  owner: Owner,
  { nowMs, note }: { readonly nowMs: () => number; readonly note: (problem: string) => void },
): () => Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  let read: Promise<ReadonlyMap<string, ReadonlySet<string>>> | null = null;
  return () => (read ??= readFolder(folder, owner, { nowMs: nowMs(), note }));
}

async function readFolder(
  folder: string,
  owner: Owner,
  { nowMs, note }: { readonly nowMs: number; readonly note: (problem: string) => void },
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const said = new Map<string, Set<string>>();
  const isOurs = (begin: Owner): boolean =>
    begin.mode === owner.mode && begin.organisation === owner.organisation;
  try {
    for await (const path of journalsSince(folder, nowMs - LOOKS_BACK_MS))
      for await (const line of linesOf(path, isOurs, note)) {
        // Without a number it was accepted by a worker, and may not have been kept.
        if (line.kind !== 'said' || line.number === null) continue;
        const words = said.get(line.run) ?? new Set();
        said.set(line.run, words.add(line.entry));
      }
  } catch (error) {
    note(`CAMBIST_AUDIT: ${error instanceof Error ? error.message : String(error)}`);
  }
  return said;
}
