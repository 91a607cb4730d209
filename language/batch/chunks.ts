/**
 * A batch in the chunks in which it is submitted. The same rows always make the same chunks, for every reader and at any
 * time. Only one chunk at a time is in memory.
 */
import { CHUNK, type BatchPayment } from '../../domain/batch.ts';
import { normalise } from '../../domain/money.ts';
import type { BatchRow } from './batch-reader.ts';
import { hashOfChunk } from './chunk-hash.ts';

/** A part of a batch. */
export type Chunk = {
  /** From 1, in the order of the file. */
  readonly number: number;
  readonly payments: readonly BatchPayment[];
  /** `hashOfChunk` of the payments. */
  readonly hash: string;
};

/** A row as it is submitted. Its other columns stay in the file. */
export function paymentOf({ id, account, currency, amount }: BatchRow): BatchPayment {
  return [id, account, currency, normalise(amount)];
}

/** The rows in their order, each chunk as large as `CHUNK` allows. A file without rows has no chunk. */
export async function* chunksOf(rows: AsyncIterable<BatchRow>): AsyncGenerator<Chunk> {
  let number = 1;
  let payments: BatchPayment[] = [];
  let bytes = BRACKETS_BYTES;
  for await (const row of rows) {
    const payment = paymentOf(row);
    const ownBytes = Buffer.byteLength(JSON.stringify(payment)) + COMMA_BYTES;
    if (payments.length > 0 && (payments.length === CHUNK.payments || bytes + ownBytes > CHUNK.bytes)) {
      yield { number, payments, hash: hashOfChunk(payments) };
      number += 1;
      payments = [];
      bytes = BRACKETS_BYTES;
    }
    payments.push(payment);
    bytes += ownBytes;
  }
  if (payments.length > 0) yield { number, payments, hash: hashOfChunk(payments) };
}

const BRACKETS_BYTES = 2;
/** The comma after a payment. It is counted for the last one too. */
const COMMA_BYTES = 1;
