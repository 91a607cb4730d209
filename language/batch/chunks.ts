/**
 * A batch in the chunks in which it is submitted: always the same ones for the same rows, whoever reads them and when.
 * Never more in memory than one chunk.
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
  /** `hashOfChunk` of them. */
  readonly hash: string;
};

/** A row as it is submitted: what else stands in it stays in its file. */
export function paymentOf({ id, account, currency, amount }: BatchRow): BatchPayment {
  return [id, account, currency, normalise(amount)];
}

/** The rows in their order; each chunk as large as `CHUNK` allows. No rows: no chunks. */
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
/** Behind each but the last, for which it is counted too. */
const COMMA_BYTES = 1;
