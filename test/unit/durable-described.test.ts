/** How a workflow stands, as Temporal describes and lists it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client, type WorkflowExecutionInfo } from '@temporalio/client';
import { chunksOf } from '../../durable/batches/chunks.ts';
import { canBeAsked, describe, hasEndedByItself, isOpen } from '../../durable/described.ts';
import { keepNewest, queryFor } from '../../durable/listed.ts';
import { RUN_TYPE } from '../../workflows/names.ts';

const STATUSES = [
  'RUNNING',
  'PAUSED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
  'CONTINUED_AS_NEW',
] as const;
const of = (name: (typeof STATUSES)[number]) => ({ status: { name } });
const RUN = { policy: 'weekly', id: '2026-11-27' };

test('a workflow that somebody has paused is open, and answers no question', () => {
  assert.deepEqual(
    STATUSES.filter((name) => isOpen(of(name))),
    ['RUNNING', 'PAUSED'],
  );
  assert.deepEqual(
    STATUSES.filter((name) => !canBeAsked(of(name))),
    ['PAUSED'],
  );
  assert.deepEqual(
    STATUSES.filter((name) => hasEndedByItself(of(name))),
    ['COMPLETED', 'FAILED', 'CANCELLED'],
  );
});

test('a workflow that Temporal does not know is none; any other trouble is no answer', async () => {
  const throwing = (error: Error): Client => {
    const handle = {
      describe: async (): Promise<never> => {
        throw error;
      },
    };
    return { workflow: { getHandle: () => handle } } as unknown as Client;
  };
  assert.equal(await describe(throwing(new WorkflowNotFoundError('none', 'a', undefined)), 'a'), null);
  await assert.rejects(describe(throwing(new Error('14 UNAVAILABLE')), 'a'), /UNAVAILABLE/);
});

test('the chunks of a run that somebody has paused wait: they neither go nor take it for over', async () => {
  const shown = { type: RUN_TYPE, runId: 'r', workflowId: 'sandbox/weekly.2026-11-27', ...of('PAUSED') };
  const handle = { describe: async () => shown, query: () => assert.fail('it is asked') };
  const client = { workflow: { getHandle: () => handle } } as unknown as Client;
  assert.equal(await chunksOf(client, 'queue').readGo('SANDBOX', RUN, 1), null);
});

test('a query goes by the ids, which no search attribute can change, and the rest of it is added', () => {
  assert.equal(
    queryFor({ types: ['run', 'plan'], mode: 'LIVE', policy: 'weekly', also: ['CloseTime IS NULL'] }),
    "WorkflowType IN ('run', 'plan') AND WorkflowId STARTS_WITH 'live/weekly.' AND CloseTime IS NULL",
  );
  assert.equal(
    queryFor({ types: ['run'], mode: 'LIVE', policy: null }),
    "WorkflowType IN ('run') AND WorkflowId STARTS_WITH 'live/'",
  );
});

test('of one id the newest Temporal run is kept, in whichever order Temporal lists them', () => {
  const info = (runId: string, name: (typeof STATUSES)[number], atMs: number) =>
    ({ workflowId: 'a', runId, startTime: new Date(atMs), ...of(name) }) as WorkflowExecutionInfo;
  const [first, second] = [info('1', 'TERMINATED', 1_000), info('2', 'COMPLETED', 2_000)];
  for (const order of [
    [first, second],
    [second, first],
  ]) {
    const newest = new Map<string, WorkflowExecutionInfo>();
    for (const each of order) keepNewest(newest, each);
    assert.equal(newest.get('a')?.runId, '2');
  }
});
