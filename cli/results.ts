/** The results of a batch on the command line: `--out`. */
import { Option } from 'commander';
import type { RunName } from '../domain/references.ts';
import type { BatchFile } from '../operations/batches/file.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Place } from '../operations/place.ts';
import { requireWritable, writeResults } from '../operations/batches/results.ts';
import { requireRun } from '../operations/follow/runs.ts';
import type { Output } from './terminal/output.ts';
import { nonEmpty } from './terminal/options.ts';
import { count } from './terminal/text.ts';

export type OutOption = { readonly out?: string };

export function outOption(): Option {
  return new Option(
    '--out <file>',
    'write the batch file with what became of each payment behind its row; in the form of the batch file',
  ).argParser(nonEmpty);
}

/** Checked before anything moves. @throws CommandFailure where the results cannot be written */
export async function requireOut(
  { caller }: Output,
  { out, batch }: OutOption & { readonly batch?: string },
): Promise<void> {
  if (out === undefined) return;
  if (batch === undefined)
    throw new CommandFailure('bad input', [
      {
        code: 'BAD_COMMAND_LINE',
        place: '--out',
        message: 'it writes the rows of a batch file, and no file is named',
        fix: 'Name the file of payments by --batch.',
      },
    ]);
  await requireWritable({ file: batch, cwd: caller.cwd }, out);
}

/** Writes the results; does nothing without `--out`. */
export async function saveResults(
  output: Output,
  place: Place,
  { run, batch, out }: { readonly run: RunName; readonly batch: BatchFile; readonly out: string | undefined },
): Promise<void> {
  if (out === undefined) return;
  const facts = await requireRun(place, run);
  const rows = await writeResults(place, { facts, batch, out });
  output.note(`${out}: the results of ${count(rows, 'payment')}.`);
}
