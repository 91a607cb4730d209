/** The results of a batch on the command line: `--out`. */
import { Option } from 'commander';
import type { RunName } from '../domain/references.ts';
import type { BatchFile } from '../operations/batches/file.ts';
import type { Place } from '../operations/place.ts';
import { writeResults } from '../operations/batches/results.ts';
import { requireRun } from '../operations/follow/runs.ts';
import type { AsNow } from '../operations/watch/came-back.ts';
import { cameBackOf } from './came-back.ts';
import type { Output } from './terminal/output.ts';
import { nonEmpty } from './terminal/options.ts';
import { count } from './terminal/text.ts';

export function outOption(): Option {
  return new Option(
    '--out <file>',
    'write the batch file with what became of each payment behind its row; in the form of the batch file',
  ).argParser(nonEmpty);
}

/**
 * Writes the results; does nothing without `--out`.
 * @param asNow tells payments that came back; null: none did. Absent: they are looked for here
 */
export async function saveResults(
  output: Output,
  place: Place,
  {
    run,
    batch,
    out,
    asNow,
  }: {
    readonly run: RunName;
    readonly batch: BatchFile;
    readonly out: string | undefined;
    readonly asNow?: AsNow | null;
  },
): Promise<void> {
  if (out === undefined) return;
  const facts = await requireRun(place, run);
  const told = asNow === undefined ? await cameBackOf(output, place, facts) : asNow;
  const rows = await writeResults(place, { facts, batch, out, asNow: told });
  output.note(`${out}: the results of ${count(rows, 'payment')}.`);
}
