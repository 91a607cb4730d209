/** A key that a worker or a command does not have is told by its own code, wherever Temporal's client meets it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, ServiceError, type ConnectionLike } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { keyMissing, sealingCodec } from '../../config/seal/codec.ts';
import { newSealKeys, withNewestActive, withNextKey } from '../../config/seal/keys.ts';
import { keyMissingText } from '../../domain/unreadable.ts';
import { failureOf } from '../../operations/failure-of.ts';
import { describeRun, listRuns } from '../../operations/follow/runs.ts';
import { standingOf } from '../../operations/follow/standing.ts';
import type { Place } from '../../operations/place.ts';
import { listAll } from '../../operations/watch/attention.ts';

const NOW_MS = Date.parse('2026-11-21T09:00:00Z');
const older = newSealKeys(NOW_MS);
const newer = withNewestActive(withNextKey(older, NOW_MS));

test('a sealed value at a command without keys, and a worker that says so by Temporal, are SEAL_KEY_MISSING', async () => {
  const met = keyMissing('its-id');
  // A worker's answer to a question brings only the text, inside an error of the connection.
  const told = new ServiceError('Failed to query Workflow', {
    cause: new Error(`13 INTERNAL: ${met.message}`),
  });
  for (const error of [met, told]) {
    const { ending, problems } = failureOf(error);
    assert.deepEqual([ending, problems.map(({ code }) => code)], ['configuration', ['SEAL_KEY_MISSING']]);
    assert.ok(problems[0]?.message.includes('its-id'));
  }
  assert.deepEqual(
    failureOf(new ServiceError('away')).problems.map(({ code }) => code),
    ['TEMPORAL_ERROR'],
  );
});

/** What Temporal has of an open run whose memo these keys have sealed. */
async function inTemporal(policy: string, keys: typeof older) {
  const workflowId = `sandbox/${policy}.2026-11-21`;
  const [todo] = await sealingCodec({ now: () => keys, again: () => keys }).encode(
    [defaultPayloadConverter.toPayload('Pay supplier')],
    { type: 'workflow', namespace: 'default', workflowId },
  );
  return {
    execution: { workflowId, runId: `run-of-${policy}` },
    type: { name: 'run' },
    taskQueue: 'queue',
    status: 1,
    historyLength: { toNumber: () => 3 },
    startTime: msToTs(NOW_MS),
    memo: { fields: { todo } as Record<string, Payload> },
  };
}

test('a run whose memo is sealed by a key that is not here says so in its row, and every other run is shown', async () => {
  const runs = [
    await inTemporal('first', older),
    await inTemporal('ahead', newer),
    await inTemporal('last', older),
  ];
  const [, ahead] = runs;
  const connection = {
    workflowService: {
      listWorkflowExecutions: async () => ({ executions: runs, nextPageToken: null }),
      describeWorkflowExecution: async () => ({ workflowExecutionInfo: ahead }),
    },
  } as unknown as ConnectionLike;
  const codec = sealingCodec({ now: () => older, again: () => older });
  const client = new Client({ connection, dataConverter: { payloadCodecs: [codec] } });
  const open = { policy: null, onlyOpen: true, limit: null };
  assert.deepEqual(
    (await listRuns(client, 'SANDBOX', open)).map(({ run, missingKey }) => [run.policy, missingKey]),
    [
      ['first', null],
      ['ahead', newer.active.id],
      ['last', null],
    ],
  );
  const [, row] = await listAll({ client, mode: 'SANDBOX' } as unknown as Place, null);
  assert.deepEqual(row?.why, { code: 'SEAL_KEY_MISSING', message: keyMissingText(newer.active.id) });
  const one = await describeRun(client, 'SANDBOX', { policy: 'ahead', id: '2026-11-21' });
  assert.deepEqual([one?.temporalStatus, one?.missingKey], ['RUNNING', newer.active.id]);
});

test('a run whose worker lacks the key is asked once, and what to do is said in place of "no worker answered"', async () => {
  let asked = 0;
  const failure = { message: keyMissingText('its-id') };
  const events = [{ workflowTaskFailedEventAttributes: { failure } }];
  const client = {
    options: { namespace: 'default' },
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      getHandle: () => ({
        query: async () => {
          asked += 1;
          throw new ServiceError('Failed to query Workflow', { cause: new Error('4 DEADLINE_EXCEEDED') });
        },
      }),
    },
    workflowService: { getWorkflowExecutionHistoryReverse: async () => ({ history: { events } }) },
  };
  const place = { client, mode: 'SANDBOX', say: () => {} } as unknown as Place;
  const facts = {
    run: { policy: 'p', id: '2026-11-21' },
    workflowId: 'sandbox/p.2026-11-21',
    temporalRunId: 'run-1',
    taskQueue: 'queue',
    temporalStatus: 'RUNNING',
    isOpen: true,
    startedAtMs: 0,
    closedAtMs: null,
    state: 'RUNNING',
    isUntaken: false,
    hasOddMemo: false,
    missingKey: null,
  } as const;
  const standing = await standingOf(place, facts, Date.now);
  assert.ok(standing.kind === 'untold');
  const { code, message, fix } = standing.problem ?? {};
  assert.equal(code, 'SEAL_KEY_MISSING');
  assert.match(`${message}. ${fix}`, /key that its worker does not have.*Put the newest file of keys/);
  assert.deepEqual([standing.ending, asked], ['configuration', 1]);
});
