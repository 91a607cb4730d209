/** A batch in chunks, and how a changed file differs from one that was submitted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CHUNK, MOST_CHUNKS, type BatchPayment } from '../../domain/batch.ts';
import { normalise } from '../../domain/money.ts';
import type { BatchRow } from '../../language/batch/batch-reader.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { chunksOf, paymentOf, type Chunk } from '../../language/batch/chunks.ts';
import { differenceOf, type BatchDifference } from '../../language/batch/difference.ts';

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';

function rowOf(line: number, more: Partial<BatchRow> = {}): BatchRow {
  return {
    line,
    id: `p${line}`,
    account: ACCOUNT,
    currency: 'EUR',
    amount: '12.50',
    others: { note: 'x' },
    ...more,
  };
}

function rowsOf(count: number): readonly BatchRow[] {
  return Array.from({ length: count }, (_, index) => rowOf(index + 2));
}

async function* each<T>(all: Iterable<T>): AsyncGenerator<T> {
  for (const one of all) {
    await Promise.resolve();
    yield one;
  }
}

async function chunked(rows: readonly BatchRow[]): Promise<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of chunksOf(each(rows))) chunks.push(chunk);
  return chunks;
}

const anyRow: fc.Arbitrary<BatchRow> = fc
  .record({
    id: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/),
    account: fc.stringMatching(/^wac_[A-Za-z0-9]{4,400}$/),
    currency: fc.constantFrom('EUR', 'USD', 'USDC'),
    amount: fc.stringMatching(/^[1-9][0-9]{0,19}(\.[0-9]{1,18})?$/),
  })
  .map((cells) => ({ line: 2, others: {}, ...cells }));

test('what goes into chunks comes out of them, in its order, and no chunk is too large', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { maxLength: 1_200, size: 'max' }), async (rows) => {
      const chunks = await chunked(rows);
      assert.deepEqual(
        chunks.flatMap(({ payments }) => payments),
        rows.map(({ id, account, currency, amount }) => [id, account, currency, normalise(amount)]),
      );
      assert.deepEqual(
        chunks.map(({ number }) => number),
        chunks.map((_, index) => index + 1),
      );
      for (const { payments, hash } of chunks) {
        assert.ok(payments.length > 0 && payments.length <= CHUNK.payments);
        assert.ok(Buffer.byteLength(JSON.stringify(payments)) <= CHUNK.bytes);
        assert.equal(hash, hashOfChunk(payments));
      }
    }),
    { numRuns: 30 },
  );
});

test('the same rows make the same chunks, whatever else stands in the file and however amounts are written', async () => {
  const rows = rowsOf(1_200);
  const others = rows.map((row) => ({ ...row, line: row.line + 7, amount: '12.5000', others: {} }));
  const chunks = await chunked(rows);
  assert.deepEqual(await chunked(others), chunks);
  assert.deepEqual(
    chunks.map(({ payments }) => payments.length),
    [500, 500, 200],
  );
  assert.equal(chunks[2]?.hash, '886a277b48436f3a405b5644e0e1ec3692a88214a4c6bd2ddfec45a108c5cd77');
});

test('one more payment makes another hash of its chunk alone', async () => {
  const hashes = async (count: number): Promise<readonly string[]> =>
    (await chunked(rowsOf(count))).map(({ hash }) => hash);
  const [first, second] = [await hashes(1_001), await hashes(1_002)];
  assert.deepEqual(first.slice(0, 2), second.slice(0, 2));
  assert.notEqual(first[2], second[2]);
});

test('the largest batch of the longest rows has no more chunks than a plan can carry', () => {
  const longest: BatchPayment = [
    'x'.repeat(64),
    'x'.repeat(128),
    'USDC',
    '9'.repeat(20) + '.' + '9'.repeat(18),
  ];
  const perChunk = Math.floor((CHUNK.bytes - 2) / (JSON.stringify(longest).length + 1));
  assert.ok(Math.ceil(100_000 / Math.min(perChunk, CHUNK.payments)) <= MOST_CHUNKS);
});

function difference(
  rows: readonly BatchRow[],
  submitted: readonly BatchPayment[],
  more: { readonly most?: number; readonly isWhole?: () => boolean } = {},
): Promise<BatchDifference> {
  return differenceOf(each(rows), each(submitted), { most: 50, isWhole: () => true, ...more });
}

test('rows that are new, gone and changed are told apart, with their lines', async () => {
  const before = rowsOf(6).map(paymentOf);
  const [two, , four, five, ...rest] = rowsOf(6);
  assert.ok(two !== undefined && four !== undefined && five !== undefined);
  const now = [rowOf(90, { id: 'extra' }), ...rest, five, { ...four, amount: '13' }, two];
  assert.deepEqual(await difference(now, before), {
    counts: { new: 1, gone: 1, changed: 1 },
    first: [
      {
        kind: 'changed',
        line: 4,
        before: ['p4', ACCOUNT, 'EUR', '12.5'],
        now: ['p4', ACCOUNT, 'EUR', '13'],
      },
      { kind: 'new', line: 90, now: ['extra', ACCOUNT, 'EUR', '12.5'] },
      { kind: 'gone', before: ['p3', ACCOUNT, 'EUR', '12.5'] },
    ],
  });
});

test('the same rows in another order do not differ', async () => {
  const rows = rowsOf(40);
  const found = await difference(rows.toReversed(), rows.map(paymentOf));
  assert.deepEqual(found, { counts: { new: 0, gone: 0, changed: 0 }, first: [] });
});

test('of what was submitted in part nothing counts as new', async () => {
  const rows = rowsOf(10);
  const found = await difference(rows, rows.slice(0, 4).map(paymentOf), { isWhole: () => false });
  assert.deepEqual(found.counts, { new: 0, gone: 0, changed: 0 });
});

test('all differences are counted, and the first ones kept', async () => {
  const before = rowsOf(100).map(paymentOf);
  const now = rowsOf(200).map((row) => ({ ...row, currency: 'USD' }));
  const { counts, first } = await difference(now.slice(10), before, { most: 5 });
  assert.deepEqual(counts, { new: 100, gone: 10, changed: 90 });
  assert.deepEqual(
    first.map((one) => (one.kind === 'gone' ? 'gone' : `${one.kind} ${one.line}`)),
    ['changed 12', 'changed 13', 'changed 14', 'changed 15', 'changed 16'],
  );
});

test('every difference is found, whatever was changed and moved', async () => {
  const cells = fc.uniqueArray(
    fc.record({ id: fc.integer({ min: 0, max: 60 }), amount: fc.integer({ min: 1, max: 3 }) }),
    { selector: ({ id }) => id, maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(cells, cells, async (before, now) => {
      const was = new Map(before.map(({ id, amount }) => [id, amount]));
      const is = new Map(now.map(({ id, amount }) => [id, amount]));
      const row = ({ id, amount }: { id: number; amount: number }, index: number): BatchRow =>
        rowOf(index + 2, { id: `i${id}`, amount: `${amount}` });
      const { counts } = await difference(now.map(row), before.map(row).map(paymentOf));
      assert.deepEqual(counts, {
        new: now.filter(({ id }) => !was.has(id)).length,
        gone: before.filter(({ id }) => !is.has(id)).length,
        changed: now.filter(({ id, amount }) => was.has(id) && was.get(id) !== amount).length,
      });
    }),
  );
});
