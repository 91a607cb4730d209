/** Reads a chunk of a batch from its first input. What the chunk has done since does not matter. */
import type { Client } from '@temporalio/client';
import type { BatchPayment } from '../../domain/batch.ts';
import type { RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { isRecord, lineOf, listOf } from '../../domain/shape.ts';
import { CHUNK_TYPE, chunkIdOf } from '../../workflows/names.ts';
import { readStart } from '../history.ts';

export type SubmittedChunk =
  | { readonly kind: 'payments'; readonly payments: readonly BatchPayment[] }
  /** Temporal has no workflow under the id of the chunk. */
  | { readonly kind: 'none' }
  /** A workflow has this id that no submission of a batch has started. */
  | { readonly kind: 'foreign' };

/** Reads the newest Temporal run of the id. */
export async function readChunk(
  { client, mode }: { readonly client: Client; readonly mode: Mode },
  run: RunName,
  number: number,
): Promise<SubmittedChunk> {
  const start = await readStart(client, chunkIdOf(mode, run, number));
  if (start === null) return { kind: 'none' };
  const { type, input } = start;
  const isOwn =
    type === CHUNK_TYPE &&
    isRecord(input) &&
    isRecord(input['run']) &&
    input['run']['policy'] === run.policy &&
    input['run']['id'] === run.id &&
    input['mode'] === mode &&
    input['number'] === number &&
    isPayments(input['payments']);
  if (!isOwn) return { kind: 'foreign' };
  return { kind: 'payments', payments: input['payments'] as readonly BatchPayment[] };
}

const isText = lineOf(1_000);
const isPayments = listOf((payment) => listOf(isText)(payment) && (payment as unknown[]).length === 4);
