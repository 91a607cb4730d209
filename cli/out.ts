/** A file that a command writes of a batch: `--out`. */
import { requireWritable } from '../operations/new-file.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Output } from './terminal/output.ts';

export type OutOption = { readonly out?: string };

/**
 * Checked before anything moves.
 * @param read what the command reads besides the batch
 * @throws CommandFailure where the results cannot be written
 */
export async function requireOut(
  { caller }: Output,
  { out, batch }: OutOption & { readonly batch?: string },
  read: readonly string[],
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
  await requireWritable({ cwd: caller.cwd, read: [batch, ...read] }, out);
}
