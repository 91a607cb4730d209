/** Which payment of a batch counts a record as its own: each chunk is asked once, and those that do not answer are told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '@temporalio/client';
import { runName } from '../../domain/references.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';

type Chunk = {
  readonly id: string;
  readonly startedAt?: number;
  readonly isClosed?: boolean;
  /** Null: it does not answer. */
  readonly records: readonly (readonly [item: string, withdrawalId: string])[] | null;
  /** What it has ended with. */
  readonly result?: unknown;
};

let temporals = 0;

function temporalOf(chunks: readonly Chunk[]) {
  temporals += 1;
  const named = chunks.map((chunk, index) => ({ ...chunk, runId: `run-${temporals}-${index}` }));
  const asked: string[] = [];
  const queries: string[] = [];
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list({ query }: { readonly query: string }) {
        queries.push(query);
        for (const { id, runId, startedAt = 1, isClosed = false } of named)
          yield {
            workflowId: id,
            type: id.includes('/chunk-') ? 'chunk' : 'run',
            runId,
            startTime: new Date(startedAt),
            status: { name: isClosed ? 'COMPLETED' : 'RUNNING' },
            ...(isClosed && { closeTime: new Date(9) }),
          };
      },
      getHandle: (id: string, runId: string) => ({
        result: async () => {
          const { result = {} } = named.find((chunk) => chunk.runId === runId) ?? {};
          if (result === 'cannot be read') throw new Error('lost');
          return result;
        },
        query: async () => {
          asked.push(id);
          const records = named.find((chunk) => chunk.runId === runId)?.records ?? null;
          if (records === null) throw new Error('nobody answers');
          return {
            runId,
            heard: null,
            isFirst: false,
            hasPlan: true,
            items: records.map(([item, recordId]) => [item, 'PAID', recordId]),
          };
        },
      }),
    },
  };
  return { client: client as unknown as Client, asked, queries };
}

const find = async ({ client }: ReturnType<typeof temporalOf>, ids: readonly string[], withinMs = 60_000) => {
  const of = { mode: 'SANDBOX', run: { policy: 'own', id: '2026-11-21' } } as const;
  const records = ids.map((id) => ({ id, createdAt: '2026-11-20T09:00:00Z' }));
  const claims = await claimsOf(client).whose(of, records, withinMs);
  const items = claims.flatMap(({ recordId, by }) =>
    by.kind === 'item' ? [[recordId, `${by.run} ${by.item}`] as const] : [],
  );
  const silent = claims.flatMap(({ by }) => (by.kind === 'silent' ? by.runs.map(runName) : []));
  return { items: new Map(items), silent: [...new Set(silent)] };
};

test('the payment is told by its run and its id, whatever number of records is asked about', async () => {
  const temporal = temporalOf([
    { id: 'sandbox/p.2026-11-20/chunk-0001', records: [['a', 'wtd_1']] },
    { id: 'sandbox/p.2026-11-20/chunk-0002', records: [['b', 'wtd_2']] },
    { id: 'sandbox/q.2026-11-21', records: [['c', 'wtd_3']] },
    { id: 'sandbox/own.2026-11-21', records: [['c', 'wtd_3']] },
  ]);
  const { items, silent } = await find(temporal, ['wtd_1', 'wtd_2']);
  assert.deepEqual(
    [...items],
    [
      ['wtd_1', 'p.2026-11-20 a'],
      ['wtd_2', 'p.2026-11-20 b'],
    ],
  );
  assert.deepEqual(silent, []);
  assert.equal(temporal.queries.length, 1);
  assert.deepEqual(temporal.asked.toSorted(), [
    'sandbox/p.2026-11-20/chunk-0001',
    'sandbox/p.2026-11-20/chunk-0002',
    'sandbox/q.2026-11-21',
  ]);
});

test('the newest Temporal run of a chunk counts, and one that has ended is asked once for ever', async () => {
  const id = 'sandbox/p.2026-11-20/chunk-0001';
  const temporal = temporalOf([
    { id, startedAt: 1, records: [['old', 'wtd_1']] },
    { id, startedAt: 2, isClosed: true, records: [['new', 'wtd_1']] },
  ]);
  assert.equal((await find(temporal, ['wtd_1'])).items.get('wtd_1'), 'p.2026-11-20 new');
  assert.equal((await find(temporal, ['wtd_1'])).items.get('wtd_1'), 'p.2026-11-20 new');
  assert.equal(temporal.asked.length, 1);
});

test('of a chunk that is completed its result is read, and nobody is asked, unless it does not have all payments', async () => {
  const rows = [
    ['a', null, 'wac_1', 'USD', '1', 'wtd_1', 'COMPLETED', 'PAID', null],
    ['b', null, 'wac_1', 'USD', '1', null, null, 'NOT_PAID', 'not verified'],
  ];
  const result = (next: number | null) => ({
    heard: 'r/c',
    firstPage: { report: {}, rows, next, chunks: 0 },
  });
  const temporal = temporalOf([
    { id: 'sandbox/p.2026-11-20/chunk-0001', isClosed: true, records: null, result: result(null) },
    {
      id: 'sandbox/p.2026-11-20/chunk-0002',
      isClosed: true,
      records: [
        ['a', 'wtd_3'],
        ['c', 'wtd_2'],
      ],
      result: result(2),
    },
  ]);
  const { items, silent } = await find(temporal, ['wtd_1', 'wtd_2']);
  assert.deepEqual(
    [...items],
    [
      ['wtd_1', 'p.2026-11-20 a'],
      ['wtd_2', 'p.2026-11-20 c'],
    ],
  );
  assert.deepEqual([silent, temporal.asked], [[], ['sandbox/p.2026-11-20/chunk-0002']]);
  const lost = temporalOf([
    {
      id: 'sandbox/p.2026-11-20/chunk-0001',
      isClosed: true,
      records: [['a', 'wtd_1']],
      result: 'cannot be read',
    },
  ]);
  assert.equal((await find(lost, ['wtd_1'])).items.get('wtd_1'), 'p.2026-11-20 a');
});

test('a batch of which a chunk does not answer is told, unless every record is found', async () => {
  const temporal = temporalOf([
    { id: 'sandbox/p.2026-11-20/chunk-0001', records: null },
    { id: 'sandbox/q.2026-11-20/chunk-0001', records: [['a', 'wtd_1']] },
  ]);
  assert.deepEqual((await find(temporal, ['wtd_1'])).silent, []);
  assert.deepEqual((await find(temporal, ['wtd_2'])).silent, ['p.2026-11-20']);
  // There was no time to ask anybody.
  assert.deepEqual((await find(temporal, ['wtd_2'], 0)).silent, ['p.2026-11-20', 'q.2026-11-20']);
});
