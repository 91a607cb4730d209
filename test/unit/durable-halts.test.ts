/** Reading the record of halts from Temporal: what counts as "nothing is halted", and what is no answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { haltsOf } from '../../durable/halts/read.ts';

const payloads = (value: unknown) => ({ payloads: [defaultDataConverter.payloadConverter.toPayload(value)] });
const SAID = { scope: { policy: null, currency: null }, by: 'ana', why: 'wrong accounts' };
const AT_MS = 1_795_413_539_636;
const started = { workflowExecutionStartedEventAttributes: { input: payloads([]) } };
const signaled = (signalName: string) => ({
  eventTime: { seconds: 1_795_413_539, nanos: 636_000_000 },
  workflowExecutionSignaledEventAttributes: {
    signalName,
    input: payloads(signalName === 'resume' ? { ...SAID, haltAtMs: AT_MS } : SAID),
  },
});

type Told = { runId: string; status: string; events: readonly unknown[] } | Error;

/** Temporal, as far as the record of halts asks it; `reads` counts the histories that were read. */
function temporal(told: { now: Told }) {
  const asked = { describes: 0, reads: 0 };
  const current = (): Exclude<Told, Error> => {
    if (told.now instanceof Error) throw told.now;
    return told.now;
  };
  const getHandle = () => ({
    describe: async () => {
      asked.describes += 1;
      const { runId, status, events } = current();
      return { runId, historyLength: events.length, status: { name: status } };
    },
    fetchHistory: async () => {
      asked.reads += 1;
      return { events: current().events };
    },
  });
  const client = {
    workflow: { getHandle },
    withDeadline: <T>(_deadline: number, work: () => T) => work(),
    options: {
      loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultDataConverter.payloadConverter },
    },
  };
  return { read: haltsOf({ client: client as unknown as Client, mode: 'SANDBOX' }), asked };
}

test('nothing is halted where Temporal says that there is no record', async () => {
  const { read } = temporal({ now: new WorkflowNotFoundError('none', 'sandbox/halt', undefined) });
  assert.deepEqual(await read(), []);
});

test('whatever else goes wrong is no answer', async () => {
  const told: { now: Told } = { now: new Error('14 UNAVAILABLE') };
  const { read } = temporal(told);
  await assert.rejects(read(), /UNAVAILABLE/);
  told.now = { runId: 'a', status: 'RUNNING', events: [started, signaled('halt')] };
  assert.equal((await read()).length, 1);
  told.now = new Error('4 DEADLINE_EXCEEDED');
  await assert.rejects(read(), /DEADLINE/);
});

test('what was said counts from when Temporal took it, and an unchanged record is not read again', async () => {
  const told: { now: Told } = { now: { runId: 'a', status: 'RUNNING', events: [started, signaled('halt')] } };
  const { read, asked } = temporal(told);
  const expected = [{ ...SAID, atMs: AT_MS }];
  assert.deepEqual(await read(), expected);
  assert.deepEqual(await read(), expected);
  assert.deepEqual(asked, { describes: 2, reads: 1 });
  told.now = { runId: 'a', status: 'RUNNING', events: [started, signaled('halt'), signaled('resume')] };
  assert.deepEqual(await read(), []);
  told.now = { runId: 'b', status: 'RUNNING', events: [started, signaled('halt'), signaled('halt')] };
  assert.deepEqual(await read(), expected);
  assert.deepEqual(asked, { describes: 4, reads: 3 });
});

test('a record that somebody has ended still halts what stood in it', async () => {
  const { read } = temporal({
    now: { runId: 'a', status: 'TERMINATED', events: [started, signaled('halt'), {}] },
  });
  assert.equal((await read()).length, 1);
});
