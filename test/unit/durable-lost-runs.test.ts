/** Which runs Temporal knows nothing of, and for how long it keeps what has ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { runName, type RunName } from '../../domain/references.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { keptForMs } from '../../durable/retention.ts';

const RUNS: readonly RunName[] = Array.from({ length: 12 }, (_, index) => ({
  policy: 'p',
  id: `2026-11-21-${index}`,
}));

/** A Temporal that knows these workflows; `fails`: it does not answer about this one. */
function temporalWith(known: readonly string[], fails: string | null = null) {
  const asked: string[] = [];
  const client = {
    workflow: {
      getHandle: (workflowId: string) => ({
        describe: async () => {
          asked.push(workflowId);
          if (workflowId === fails) throw new Error('away');
          if (!known.includes(workflowId)) throw new WorkflowNotFoundError('none', workflowId, undefined);
          return {};
        },
      }),
    },
  } as unknown as Client;
  return { client, asked };
}

test('a run is unknown where Temporal has neither it, nor its plan, nor what people said, in its own mode', async () => {
  const { client } = temporalWith([
    'sandbox/p.2026-11-21-0',
    'sandbox/p.2026-11-21-1/plan',
    'sandbox/p.2026-11-21-2/instructions',
    'live/p.2026-11-21-3',
    'sandbox/p.2026-11-21-10',
  ]);
  const unknown = await claimsOf(client).unknown('SANDBOX', RUNS);
  assert.deepEqual(
    unknown.map(runName),
    [3, 4, 5, 6, 7, 8, 9, 11].map((index) => `p.2026-11-21-${index}`),
  );
});

test('a run that is there costs one question', async () => {
  const { client, asked } = temporalWith(['live/p.2026-11-21-0']);
  assert.deepEqual(await claimsOf(client).unknown('LIVE', RUNS.slice(0, 1)), []);
  assert.deepEqual(asked, ['live/p.2026-11-21-0']);
});

test('where Temporal does not answer, nothing is told of any run', async () => {
  for (const fails of ['sandbox/p.2026-11-21-5', 'sandbox/p.2026-11-21-5/plan'])
    // One after the other.
    await assert.rejects(claimsOf(temporalWith([], fails).client).unknown('SANDBOX', RUNS), /away/);
});

test('how long Temporal keeps what has ended is what its namespace says; where nobody may ask, nothing is kept', async () => {
  const keeps = (describeNamespace: () => Promise<unknown>) =>
    keptForMs({
      options: { namespace: 'default' },
      workflowService: { describeNamespace },
    } as unknown as Client);
  const seconds = (value: number) => ({ config: { workflowExecutionRetentionTtl: { seconds: value } } });
  assert.equal(await keeps(async () => seconds(86_400)), 86_400_000);
  assert.equal(await keeps(async () => ({ config: null })), 0);
  const failing = (code: number) =>
    keeps(() => Promise.reject(Object.assign(new Error('no'), { code, details: '', metadata: {} })));
  assert.equal(await failing(7), 0);
  await assert.rejects(failing(14), /no/);
});
