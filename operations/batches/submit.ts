/**
 * Submits a batch: its file chunk by chunk, each a workflow `payments` that holds its payments and waits. Nothing is sent
 * by it, and it is safe to repeat: what is there already is left as it is, if it is the same.
 */
import type { RunName } from '../../domain/references.ts';
import type { ChunkInput } from '../../domain/run/calls.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { chunksOf, type Chunk } from '../../language/batch/chunks.ts';
import { openBatch } from './file.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { batchChanged, type ReadBatch } from './same.ts';
import { SIDE_BY_SIDE, missingChunks } from './submitted.ts';
import { readChunk } from '../../durable/batches/submitted-chunk.ts';

export type Submission = {
  readonly run: RunName;
  readonly batch: ReadBatch;
  /** Whether Temporal knows nothing of the run yet: then nobody can have sent anything of a chunk. */
  readonly isFirst: boolean;
  /** Hears how many payments are submitted. */
  readonly onSubmitted: (payments: number) => void;
};

/** Resolves when every chunk is there. @throws CommandFailure when another batch is, or the file changes meanwhile */
export async function submitBatch(place: Place, submission: Submission): Promise<void> {
  const { run, batch, onSubmitted } = submission;
  const { file, manifest } = batch;
  // Nothing of a file is started where something of another one is: neither of the two could be completed any more.
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
    // None is left behind at work when one of them fails.
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
  // One that is closed is the run's to start again.
  if (await startChunk(client, taskQueue, input, 'REJECT_DUPLICATE')) return 'is there';
  const there = await readChunk(place, run, number);
  return there.kind === 'payments' && hashOfChunk(there.payments) === hash ? 'is there' : 'differs';
}

/** The first one alone: of two files that are submitted at the same time under one id, one is most often refused by it. */
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
      fix: 'See that nobody writes to it, then type the same again. Chunks of it that were submitted stay as they are.',
    },
  ]);
}
