/**
 * The journal of one worker, in a file of its own (docs/operations/audit.md). Lines that come at the same moment are written
 * and brought to the disk together. A line for which no send waits is written with the next one for which a send does, or a
 * moment later. A line that could not be written leaves nothing behind: the next one takes its place.
 */
import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTHING_WRITTEN, nextLine, type AuditEnd, type AuditFact } from '../domain/audit.ts';
import type { Journal } from '../activities/audited-service.ts';
import type { TimedClock } from '../activities/deps.ts';
import { auditDigest } from '../config/audit-digest.ts';
import { ConfigurationError } from '../config/errors.ts';

type JournalClock = Pick<TimedClock, 'wallMs' | 'wake'>;

type Waiting = {
  readonly fact: AuditFact;
  readonly resolve: (line: number) => void;
  readonly reject: (error: unknown) => void;
};

export type AuditJournal = Journal & {
  readonly path: string;
  /** Writes the last line and closes the file. */
  readonly close: () => Promise<void>;
};

/**
 * Begins a journal in this folder.
 * @param begin who writes it
 * @throws ConfigurationError where no file can be made in the folder
 */
export async function beginJournal(
  folder: string,
  begin: Omit<Extract<AuditFact, { readonly kind: 'begin' }>, 'kind'>,
  clock: JournalClock,
): Promise<AuditJournal> {
  const started = new Date(clock.wallMs()).toISOString().replaceAll(':', '-');
  // No name is used twice, so that no worker writes into the journal of another one.
  const path = join(folder, `${started}-${randomUUID().slice(0, 8)}.jsonl`);
  let file: FileHandle | null = null;
  try {
    file = await open(path, 'wx', 0o600);
    const journal = new FileJournal(file, clock);
    await journal.keep({ kind: 'begin', ...begin });
    return {
      path,
      keep: (fact) => journal.keep(fact),
      keepSoon: (fact) => journal.keepSoon(fact),
      close: () => journal.close(),
    };
  } catch (error) {
    // An empty file would be no journal.
    if (file !== null) await Promise.allSettled([file.close(), rm(path)]);
    throw new ConfigurationError([
      {
        code: 'AUDIT_UNWRITABLE',
        item: null,
        message: `CAMBIST_AUDIT is "${folder}", and no journal can be begun there: ${error instanceof Error ? error.message : String(error)}.`,
        fix: 'Name a folder that is there and that the worker may write to, or unset the variable.',
      },
    ]);
  }
}

/** A killed worker loses at most the lines of this time for which no send waits. */
const SOON_MS = 100;

class FileJournal {
  readonly #file: FileHandle;
  readonly #clock: JournalClock;
  #end: AuditEnd = NOTHING_WRITTEN;
  /** The length of the file up to the last whole line, in bytes. */
  #bytes = 0;
  #waiting: Waiting[] = [];
  #isWriting = false;
  /** True when one of those that wait shall not wait any longer. */
  #isUrgent = false;
  /** Takes back that those that wait are written soon; null: nobody has asked for it. */
  #notSoon: (() => void) | null = null;

  constructor(file: FileHandle, clock: JournalClock) {
    this.#file = file;
    this.#clock = clock;
  }

  keep(fact: AuditFact): Promise<number> {
    const line = this.#add(fact);
    this.#hurry();
    return line;
  }

  keepSoon(fact: AuditFact): Promise<number> {
    const line = this.#add(fact);
    this.#notSoon ??= this.#clock.wake(SOON_MS, () => this.#hurry());
    return line;
  }

  #add(fact: AuditFact): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fact, resolve, reject });
    });
  }

  #hurry(): void {
    this.#isUrgent = true;
    if (!this.#isWriting) void this.#writeAll();
  }

  async close(): Promise<void> {
    await this.keep({ kind: 'end' }).catch(() => {});
    await this.#file.close();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#isUrgent) {
      const together = this.#waiting;
      this.#waiting = [];
      this.#isUrgent = false;
      this.#notSoon?.();
      this.#notSoon = null;
      await this.#write(together);
    }
    this.#isWriting = false;
  }

  async #write(together: readonly Waiting[]): Promise<void> {
    let end = this.#end;
    try {
      const at = new Date(this.#clock.wallMs()).toISOString();
      const lines = together.map(({ fact }) => {
        const next = nextLine(end, fact, at, auditDigest);
        end = next.end;
        return { text: `${next.text}\n`, n: next.end.n };
      });
      const bytes = Buffer.from(lines.map(({ text }) => text).join(''));
      await writeWhole(this.#file, bytes, this.#bytes);
      await this.#file.datasync();
      // What is written to a deleted file is nowhere once the worker has ended.
      if ((await this.#file.stat()).nlink === 0)
        throw new Error('its file was deleted; start the worker again');
      this.#end = end;
      this.#bytes += bytes.length;
      for (const [index, { resolve }] of together.entries()) resolve(lines[index]?.n ?? 0);
    } catch (error) {
      // What a full disk has taken of it is no line.
      await this.#file.truncate(this.#bytes).catch(() => {});
      for (const { reject } of together) reject(error);
    }
  }
}

async function writeWhole(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    // One part after the other: a disk that is nearly full takes less than it was given.
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}
