/**
 * Submits a batch: the command starts one workflow `chunk` for each chunk of the file, which keeps its payments and
 * waits. This sends nothing, and it is safe to repeat: a chunk that is there already stays as it is, if it is the same.
 */
import type { RunName } from '../../domain/references.ts';
import type { ChunkInput } from '../../domain/run/calls.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { chunksOf, type Chunk } from '../../language/batch/chunks.ts';
import { openBatch } from './file.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { batchChanged, type ReadBatch } from './same-batch.ts';
import { SIDE_BY_SIDE, missingChunks } from './submitted.ts';
import { readChunk } from '../../durable/batches/submitted-chunk.ts';

export type Submission = {
  readonly run: RunName;
  readonly batch: ReadBatch;
  /** Whether Temporal knows nothing of the run yet. Then no worker can have sent anything of a chunk. */
  readonly isFirst: boolean;
  /** Called with the number of payments that are submitted by now. */
  readonly onSubmitted: (payments: number) => void;
};

/** Resolves when every chunk is there. @throws CommandFailure when another batch is there, or the file has changed */
export async function submitBatch(place: Place, submission: Submission): Promise<void> {
  const { run, batch, onSubmitted } = submission;
  const { file, manifest } = batch;
  // The command starts no chunk of a file while chunks of another file are there: neither of the two batches could be
  // completed any more.
  const missing = await missingChunks(place, run, manifest);
  if (missing === 'differs') throw await batchChanged(place, { run, file, chunks: null });
  if (missing.size === 0) return;
  const opened = await openBatch(file, 0);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  let payments = 0;
  let chunks = 0;
  for await (const group of groupsOf(chunksOf(opened.reader.rows()), SIDE_BY_SIDE)) {
    if (group.some(({ number, hash }) => manifest.chunks[number - 1]?.hash !== hash))
      throw fileChanged(file.file);
    const toStart = group.filter(({ number }) => missing.has(number));
    // When one of the starts fails, the command still waits for the others.
    const ends = await Promise.allSettled(toStart.map((chunk) => submitChunk(place, submission, chunk)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    if (ends.some((end) => end.status === 'fulfilled' && end.value === 'differs'))
      throw await batchChanged(place, { run, file, chunks: null });
    chunks += group.length;
    for (const chunk of group) payments += chunk.payments.length;
    onSubmitted(payments);
  }
  if (chunks !== manifest.chunks.length) throw fileChanged(file.file);
}

async function submitChunk(
  place: Place,
  { run, isFirst }: Submission,
  { number, payments, hash }: Chunk,
): Promise<'is there' | 'differs'> {
  const { client, mode, taskQueue } = place;
  const input: ChunkInput = { run, mode, number, payments, isFirst };
  // This never starts a closed chunk again: the run does that itself.
  if (await startChunk(client, taskQueue, input, 'REJECT_DUPLICATE')) return 'is there';
  const there = await readChunk(place, run, number);
  return there.kind === 'payments' && hashOfChunk(there.payments) === hash ? 'is there' : 'differs';
}

/**
 * The first chunk is a group of its own. When two files are submitted at the same time under one id, this usually refuses
 * one of them.
 */
async function* groupsOf<T>(all: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  let isFirst = true;
  for await (const one of all) {
    group.push(one);
    if (group.length < size && !isFirst) continue;
    isFirst = false;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

function fileChanged(file: string): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'BATCH_FILE_CHANGED',
      place: file,
      message: 'the file changed while it was being submitted; nothing was sent',
      fix: 'See that no program writes to it, then type the same again. Chunks of it that were submitted stay as they are.',
    },
  ]);
}
