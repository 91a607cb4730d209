/**
 * Writes the outcome of each payment of a batch behind its row, into a new file. The file gets its name only when it is
 * complete, so that no person or program ever reads half of it. Rows are written as they are read: memory does not grow with
 * the batch.
 */
import { access, constants, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { runName, type RunName } from '../../domain/references.ts';
import type { RowResult } from '../../language/batch/results.ts';
import { openBytes, type BatchFile } from './file.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readPayments, type TracedPayment } from '../follow/read-run.ts';
import type { RunFacts } from '../follow/runs.ts';

/** The result of a row about which the run says nothing yet. */
const PENDING: RowResult = { outcome: 'PENDING' };

/** This many lines are written at once. */
const LINES = 500;

/**
 * @param out the file's name as given; relative to the folder in which the command runs
 * @returns how many rows it has, the first line of CSV not counted
 * @throws CommandFailure when the file cannot be written; the run goes on all the same
 */
export async function writeResults(
  place: Place,
  { facts, batch, out }: { readonly facts: RunFacts; readonly batch: BatchFile; readonly out: string },
): Promise<number> {
  const opened = await openBytes(batch);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  const path = pathOf(batch, out);
  const beside = `${path}.${process.pid}.part`;
  const { resultLines } = await import('../../language/batch/results.ts');
  const results = new Results(readPayments(place, facts));
  const { zone, payout } = batch.policyFile.policy;
  const lines = resultLines(opened.chunks, { format: payout.format, zone }, (id) => results.of(id));
  try {
    const file = await open(beside, 'w').catch((error: unknown) => {
      throw unwritable(out, error, facts.run);
    });
    try {
      let some: string[] = [];
      const write = async (): Promise<void> => {
        await file.write(some.join(''));
        some = [];
      };
      for await (const line of lines) if (some.push(line) >= LINES) await write();
      await write();
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw isOfFiles(error) ? unwritable(out, error, facts.run) : error;
  }
  return results.asked;
}

/**
 * The results of payments in the order of the file. The report has the same order, but some payments may be missing from it.
 */
class Results {
  asked = 0;
  readonly #payments: AsyncGenerator<TracedPayment>;
  #next: TracedPayment | null = null;
  #isOver = false;

  constructor(payments: AsyncGenerator<TracedPayment>) {
    this.#payments = payments;
  }

  async of(id: string): Promise<RowResult> {
    this.asked += 1;
    if (this.#next === null && !this.#isOver) {
      const { value, done } = await this.#payments.next();
      this.#isOver = done === true;
      this.#next = done === true ? null : value;
    }
    if (this.#next?.id !== id) return PENDING;
    const result = this.#next;
    this.#next = null;
    return result;
  }
}

/** Checks before anything moves that the results can be written. @throws CommandFailure when they cannot */
export async function requireWritable(batch: Pick<BatchFile, 'file' | 'cwd'>, out: string): Promise<void> {
  const path = pathOf(batch, out);
  if (path === pathOf(batch, batch.file)) throw unwritable(out, new Error('it is the batch file itself'));
  try {
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(out, error);
  }
  const there = await stat(path).catch(() => null);
  if (there !== null && !there.isFile()) throw unwritable(out, new Error('it is no file'));
}

function pathOf({ cwd }: Pick<BatchFile, 'cwd'>, file: string): string {
  return isAbsolute(file) ? file : join(cwd, file);
}

function isOfFiles(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

/** @param run absent: it is not known yet */
function unwritable(out: string, error: unknown, run?: RunName): CommandFailure {
  if (error instanceof CommandFailure) return error;
  return new CommandFailure('bad input', [
    {
      code: 'RESULTS_UNWRITABLE',
      place: out,
      message: `the results cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      fix: `Name a file in a folder that you may write to. A run that was started goes on; \`npx cambist report ${run === undefined ? 'RUN' : runName(run)} --batch FILE --out FILE\` writes them at any time.`,
    },
  ]);
}
