/** The health check of a worker: whether one on this machine asks for work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../operations/failure.ts';
import type { Place } from '../../operations/place.ts';
import { requireWorkerOn } from '../../operations/watch/pollers.ts';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');

/** A queue whose workers have asked for work so many seconds ago. */
function queueOf(workers: Readonly<Record<string, number>>): Pick<Place, 'client' | 'taskQueue'> {
  const pollers = Object.entries(workers).map(([identity, secondsAgo]) => ({
    identity,
    lastAccessTime: { seconds: NOW_MS / 1_000 - secondsAgo },
  }));
  const client = {
    options: { namespace: 'treasury' },
    withDeadline: (_untilMs: number, ask: () => Promise<unknown>) => ask(),
    workflowService: { describeTaskQueue: async () => ({ pollers }) },
  };
  return { client, taskQueue: 'cambist-live' } as unknown as Pick<Place, 'client' | 'taskQueue'>;
}

async function verdict(workers: Readonly<Record<string, number>>): Promise<readonly string[] | string> {
  try {
    return await requireWorkerOn('pod-1', queueOf(workers), NOW_MS);
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    assert.equal(error.ending, 'infrastructure');
    return error.problems[0]?.code ?? '';
  }
}

test('a worker of this machine that has asked for work within the last minute is well', async () => {
  assert.deepEqual(await verdict({ 'cambist/0.9.0 1@pod-1': 30, 'cambist/0.9.0 1@pod-2': 1 }), [
    'cambist/0.9.0 1@pod-1',
  ]);
});

test('one that has not asked for longer is not, and workers of other machines do not speak for it', async () => {
  for (const workers of [
    {},
    { 'cambist/0.9.0 1@pod-1': 90 },
    { 'cambist/0.9.0 1@pod-2': 1 },
    { 'cambist/0.9.0 1@other-pod-1': 1 },
    { 'cambist/0.9.0 1@pod-1': 90, 'cambist/0.9.0 1@pod-2': 1 },
  ])
    assert.equal(await verdict(workers), 'NO_WORKER', JSON.stringify(workers));
});
