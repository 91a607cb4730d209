/**
 * What the journals in a folder of this machine show that people said, as workers before this one have read it. A worker that was
 * started anew misses it where Temporal does not have it any more: the words of runs (`activities/words-seen.ts`), and what is halted
 * (`activities/halt-gate.ts`).
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLine } from '../domain/audit.ts';
import { nameText, type Halt } from '../domain/halt.ts';
import type { Note } from './note.ts';
import { linesOf, type Owner as KeyOwner } from './sent-in-journals.ts';

/** Under whatever API key. */
type Owner = Pick<KeyOwner, 'mode' | 'organisation'>;

/**
 * Longer than anything of a run is sent. Each journal begins with what its worker held as halted, so that the newest ones tell of a halt
 * however long ago it was said.
 */
const LOOKS_BACK_MS = 14 * 86_400_000;

type Said = {
  /** The ids of the words of each run, by its name. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>;
  /** The halts of which no journal says that they are over, in no order. */
  readonly halts: readonly Halt[];
};

/**
 * Reads the newest journals of this mode and organisation.
 * @param own the journal of this worker, which is not read; null: it keeps none
 * @param note called with each journal that cannot be read whole
 */
export async function saidInJournals(
  folder: string,
  owner: Owner,
  { own, note }: { readonly own: string | null; readonly note: Note },
): Promise<Said> {
  const words = new Map<string, Set<string>>();
  const halts = new Map<string, Halt>();
  const over = new Set<string>();
  const see = (line: AuditLine): void => {
    if (line.kind === 'halt') {
      const { scope, by, why, saidAt } = line;
      const atMs = Date.parse(saidAt);
      halts.set(nameText({ scope, haltAtMs: atMs }), { scope, by, why, atMs });
    }
    if (line.kind === 'over') over.add(nameText({ scope: line.scope, haltAtMs: Date.parse(line.haltAt) }));
    // Without a number it was accepted by a worker, and may not have been kept.
    if (line.kind === 'said' && line.number !== null)
      words.set(line.run, (words.get(line.run) ?? new Set()).add(line.entry));
  };
  const isOurs = (begin: Owner): boolean =>
    begin.mode === owner.mode && begin.organisation === owner.organisation;
  let newestMs: number | null = null;
  for (const { path, atMs } of await journalsIn(folder, note)) {
    if (path === own) continue;
    if (newestMs !== null && newestMs - atMs > LOOKS_BACK_MS) break;
    try {
      // One after the other: they are large.
      for await (const line of linesOf(path, isOurs, note)) {
        newestMs ??= atMs;
        see(line);
      }
    } catch (error) {
      note('FILE_UNREADABLE', `CAMBIST_AUDIT: "${path}": ${textOf(error)}`);
    }
  }
  return { words, halts: [...halts].flatMap(([name, halt]) => (over.has(name) ? [] : halt)) };
}

/** The journals in a folder, and when each was written to last; the newest first. */
async function journalsIn(
  folder: string,
  note: Note,
): Promise<readonly { readonly path: string; readonly atMs: number }[]> {
  try {
    const paths = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
    const all = paths.map(async (name) => {
      const path = join(folder, name);
      // It may be shipped away at this moment.
      const found = await stat(path).catch(() => null);
      return found === null ? [] : [{ path, atMs: found.mtimeMs }];
    });
    return (await Promise.all(all)).flat().toSorted((one, other) => other.atMs - one.atMs);
  } catch (error) {
    note('FILE_UNREADABLE', `CAMBIST_AUDIT: ${textOf(error)}`);
    return [];
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
