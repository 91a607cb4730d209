/** The id of a chunk is made in one place. Everything that meets such an id in Temporal's lists must read it back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { runOfAnyWorkflowId, runOfWorkflowId, type RunName } from '../../domain/references.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { listUnfinished } from '../../operations/batches/unfinished.ts';
import { CHUNK_TYPE, chunkIdOf } from '../../workflows/names.ts';

const OTHER: RunName = { policy: 'contractors', id: '2026-11-20-weekly' };
const OWN = { mode: 'SANDBOX', run: { policy: 'contractors', id: '2026-11-21-weekly' } } as const;
/** More digits than the padding of the id has, too. */
const NUMBERS = [1, 42, 9_999, 10_000];
const STARTED = new Date('2026-11-20T09:00:00Z');

/** A Temporal that has these chunks, and no run. A search finds them by their type only. */
function temporalOf(numbers: readonly number[]): Client {
  const infos = numbers.map((number) => ({
    workflowId: chunkIdOf('SANDBOX', OTHER, number),
    type: CHUNK_TYPE,
    runId: `chunk-${number}`,
    startTime: STARTED,
    status: { name: 'RUNNING' },
  }));
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list({ query }: { readonly query: string }) {
        if (query.includes(`'${CHUNK_TYPE}'`)) yield* infos;
      },
      getHandle: (workflowId: string, runId?: string) => ({
        describe: async () => {
          throw new WorkflowNotFoundError('not there', workflowId, undefined);
        },
        query: async () => ({
          runId,
          heard: null,
          isFirst: false,
          hasPlan: true,
          items: [[`of-${runId}`, 'PAID', `wtd-of-${runId}`]],
        }),
      }),
    },
  };
  return client as unknown as Client;
}

test('a chunk belongs to its run, and is no run', () => {
  for (const number of NUMBERS) {
    const id = chunkIdOf('SANDBOX', OTHER, number);
    assert.deepEqual(runOfAnyWorkflowId(id), OTHER, id);
    assert.equal(runOfWorkflowId(id), null, id);
  }
});

test('a batch suspects the chunks of other batches by their runs and numbers', async () => {
  const suspects = await claimsOf(temporalOf(NUMBERS)).suspects(OWN, ['inv-1'], STARTED.getTime());
  assert.deepEqual(
    suspects,
    NUMBERS.map((number) => ({ run: OTHER, number, names: ['inv-1'] })),
  );
});

test('the payments of other chunks own their records', async () => {
  const records = NUMBERS.map((number) => ({
    id: `wtd-of-chunk-${number}`,
    createdAt: STARTED.toISOString(),
  }));
  const claims = await claimsOf(temporalOf(NUMBERS)).whose(OWN, records, 60_000);
  const owners = claims.map(({ by }) => (by.kind === 'item' ? `${by.run} ${by.item}` : by.kind));
  assert.deepEqual(owners.toSorted(), [
    'contractors.2026-11-20-weekly of-chunk-1',
    'contractors.2026-11-20-weekly of-chunk-10000',
    'contractors.2026-11-20-weekly of-chunk-42',
    'contractors.2026-11-20-weekly of-chunk-9999',
  ]);
});

test('a submission that was cut off is found by all of its chunks', async () => {
  const found = await listUnfinished(temporalOf(NUMBERS), 'SANDBOX', STARTED.getTime() + 3_600_000);
  assert.deepEqual(found, [{ run: OTHER, chunks: NUMBERS.length, startedAtMs: STARTED.getTime() }]);
});
