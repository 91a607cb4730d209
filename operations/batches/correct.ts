/** Corrects a batch file where the right text is certain, into a new file. */
import type { Correction } from '../../language/batch/corrections.ts';
import { CommandFailure } from '../failure.ts';
import { openBytes, type BatchFile } from './file.ts';
import { requireNew, writeNewFile } from '../new-file.ts';

/**
 * @param out the new file's name as given; it is written also where nothing is corrected
 * @throws CommandFailure when a file cannot be read or written
 */
export async function correctBatch(batch: BatchFile, out: string): Promise<readonly Correction[]> {
  const opened = await openBytes(batch);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.chunks) chunks.push(chunk);
  const { corrected } = await import('../../language/batch/corrections.ts');
  const { bytes, corrections } = await corrected(
    Buffer.concat(chunks),
    batch.policyFile.policy.payout.format,
    batch.decimals,
  );
  await requireNew(batch, out);
  await writeNewFile(batch, { out }, oneOf(bytes));
  return corrections;
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
