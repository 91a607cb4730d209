/** Which runs somebody should look at: however many there are, Temporal is asked about a few at a time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { READABLE } from '../../config/readable.ts';
import { UNREADABLE } from '../../domain/unreadable.ts';
import { listAll, listAttention } from '../../operations/watch/attention.ts';
import { readStuckChunk } from '../../operations/follow/stuck.ts';
import type { Place } from '../../operations/place.ts';

/** A Temporal with so many runs that have failed, newest first, about which nobody has said anything. */
function placeWith(count: number, reading: { now: number; most: number }, more: object = {}): Place {
  const infos = Array.from({ length: count }, (_, index) => ({
    workflowId: `sandbox/q${index}.2026-11-21`,
    runId: `failed-${index}`,
    taskQueue: 'cambist-sandbox',
    status: { name: 'FAILED' },
    startTime: new Date(Date.parse('2026-11-21T20:00:00Z') - index * 1_000),
    typedSearchAttributes: { get: () => 'FAILED' },
    ...more,
  }));
  const describe = async (): Promise<never> => {
    reading.now += 1;
    reading.most = Math.max(reading.most, reading.now);
    await nextTurn();
    reading.now -= 1;
    throw new WorkflowNotFoundError('Nothing was said.', 'instructions', undefined);
  };
  const workflow = {
    async *list() {
      yield* infos;
    },
    getHandle: () => ({ describe }),
  };
  return { client: { workflow }, mode: 'SANDBOX' } as unknown as Place;
}

test('what people said is read of ten runs at a time, and the runs stay in the order of the list', async () => {
  const reading = { now: 0, most: 0 };
  const { listed, acknowledged } = await listAttention(placeWith(25, reading), Date.now(), null);
  assert.equal(reading.most, 10);
  assert.equal(acknowledged, 0);
  assert.deepEqual(
    listed.map(({ facts }) => facts.run.policy),
    Array.from({ length: 25 }, (_, index) => `q${index}`),
  );
});

test('a run whose memo nobody can read is in the list, and is named', async () => {
  const place = placeWith(2, { now: 0, most: 0 }, { memo: { note: UNREADABLE } });
  const { listed } = await listAttention(place, Date.now(), null);
  for (const { why } of [...listed, ...(await listAll(place, 50))])
    assert.equal(why?.code, 'MEMO_UNREADABLE');
});

test('what cannot be read in Temporal stands as such, and does not end the reading of the rest', async () => {
  const known = defaultPayloadConverter.toPayload({ a: '1' });
  const text = (of: string) => new TextEncoder().encode(of);
  const strange = [
    {},
    { metadata: {} },
    { metadata: { encoding: text('binary/strange') }, data: text('x') },
    { metadata: { encoding: text('json/plain') }, data: text('{"a": ') },
  ];
  const read = await READABLE.decode([...strange, known]);
  const told = (payload: Payload): unknown => {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch (error) {
      return String(error);
    }
  };
  assert.deepEqual(read.map(told), [...strange.map(() => ({ ...UNREADABLE })), { a: '1' }]);
});

const NOW_MS = 1_795_960_000_000;
/** Of a chunk whose task was made so long ago, and has not been taken. */
type Task = { readonly attempt: number; readonly waitsMs: number };

/** The first of some chunks that is stuck, of which Temporal shows these tasks. */
async function stuckOf(numbers: readonly number[], tasks: Readonly<Record<string, Task>>) {
  const getHandle = (workflowId: string) => {
    const { attempt, waitsMs } = tasks[workflowId.slice(-4)] ?? { attempt: 1, waitsMs: 0 };
    const pendingWorkflowTask = { attempt, scheduledTime: { seconds: (NOW_MS - waitsMs) / 1_000 } };
    const shown = {
      status: { name: 'RUNNING' },
      runId: 'r',
      historyLength: 40,
      raw: { pendingWorkflowTask },
    };
    return { describe: async () => shown };
  };
  const workflowService = { getWorkflowExecutionHistoryReverse: async () => ({ history: { events: [] } }) };
  const client = { workflow: { getHandle }, workflowService, options: { namespace: 'default' } };
  const place = { client, mode: 'SANDBOX' } as unknown as Place;
  return readStuckChunk(place, { policy: 'batch', id: '2026-11-21' }, numbers, NOW_MS);
}

test('of the open chunks of a batch the first one is named whose task fails again and again', async () => {
  const stuck = await stuckOf([1, 2, 3, 7], {
    '0003': { attempt: 5, waitsMs: 1_000 },
    '0007': { attempt: 9, waitsMs: 1_000 },
  });
  assert.equal(stuck?.code, 'STUCK');
  assert.match(stuck.message, /^Chunk 3: Its workflow task has failed 4 times: this version of the worker /);
});

test('a chunk whose task Temporal has lost is named after five minutes, since busy workers take those of chunks late', async () => {
  assert.equal(await stuckOf([1, 2], { '0002': { attempt: 1, waitsMs: 299_000 } }), null);
  const stuck = await stuckOf([1, 2], { '0002': { attempt: 1, waitsMs: 300_000 } });
  assert.match(
    stuck?.message ?? '',
    /^Chunk 2: No worker has taken it for five minutes, .* reset it in Temporal/,
  );
});
