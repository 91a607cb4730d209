/**
 * A stranger calls every activity, and starts every workflow, with whatever comes to his mind. The process of the worker goes on,
 * and so does a run of ours; nothing is sent but what that run has planned.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import * as workflows from '../../workflows/names.ts';
import { worker as scripted } from '../support/activities.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';
import { startDoomedWorker } from '../support/worker-process.ts';

const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, balances: { USD: '1000000' } });
const ours = startDoomedWorker(stage.env, null);
const connection = await NativeConnection.connect({ address: stage.env['TEMPORAL_ADDRESS'] ?? '' });
const hisQueue = uniqueName('stranger');
const his = await Worker.create({
  connection,
  taskQueue: hisQueue,
  workflowsPath: join(ROOT, 'test/support/strangers-workflow.ts'),
});
const working = his.run();
after(async () => {
  his.shutdown();
  await working;
  await connection.close();
  await stage.close();
  ours.kill();
});

const { client } = stage.temporal;
const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
const RUN = { policy: 'p', id: '2026-11-21' };

const ODD: readonly (readonly unknown[])[] = [
  [],
  [null],
  [1, 2, 3],
  ['__proto__'],
  ['x'.repeat(1_000_000)],
  [[]],
  [{}],
  [JSON.parse('{"__proto__":{"mode":"SANDBOX"},"run":{"policy":"__proto__","id":"constructor"}}')],
  [{ plan: {} }],
  [{ plan: null, items: null }],
  [{ mode: 'SANDBOX', run: null }],
  [{ mode: 7, run: RUN }],
  [{ mode: 'SANDBOX', run: { policy: {}, id: [] } }],
  [{ mode: 'SANDBOX', run: RUN, number: -1, read: [{}], tell: [null], items: [{}], plan: { run: RUN } }],
];

test('every activity, called with odd arguments, leaves the worker and its runs alone', async () => {
  const names = Object.keys(createActivities(scripted().deps));
  assert.ok(names.length > 10);
  for (const activity of names)
    // One activity after the other, by all arguments at a time.
    await Promise.all(
      ODD.map((args) =>
        client.workflow.execute('oddly', {
          taskQueue: hisQueue,
          workflowId: uniqueName('his'),
          args: [{ taskQueue, activity, args }],
        }),
      ),
    );
  await assertAlive();
});

/** Hundred thousand arrays, one in the other. */
const DEEP: PayloadCodec = {
  encode: async (payloads) =>
    payloads.map((payload): Payload => ({
      metadata: payload.metadata ?? {},
      data: Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)),
    })),
  decode: async (payloads) => payloads,
};

test('every workflow, started with odd arguments, leaves the worker and its runs alone', async () => {
  const types = Object.entries(workflows).flatMap(([name, value]) =>
    name.endsWith('_TYPE') && typeof value === 'string' ? [value] : [],
  );
  assert.ok(types.length > 6);
  const deep = new Client({
    connection: client.connection,
    namespace: client.options.namespace,
    dataConverter: { payloadCodecs: [DEEP] },
  });
  for (const type of types) {
    const started = [...ODD.map((args) => [client, args] as const), [deep, [1]] as const];
    // One type after the other, with all arguments at a time.
    await Promise.all(
      started.map(async ([by, args]) => {
        const handle = await by.workflow.signalWithStart(type, {
          taskQueue,
          workflowId: uniqueName('his'),
          args: [...args],
          signal: 'news',
          signalArgs: [...args],
          workflowExecutionTimeout: '3s',
        });
        await handle.result().catch(() => undefined);
      }),
    );
  }
  await assertAlive();
});

/** The worker process is still there, and does what a run of ours asks for, once. */
async function assertAlive(): Promise<void> {
  const before = stage.sandbox.ledger();
  const run = await stage.start(convertPolicy());
  const gone = ours.gone.then(() => null);
  const end = await Promise.race([run.report(), gone]);
  assert.ok(end !== null, 'the worker has ended');
  assertDoneOnce(run, end);
  const { trades, withdrawals } = stage.sandbox.ledger();
  assert.equal(trades.length, before.trades.length + 1);
  assert.equal(withdrawals.length, before.withdrawals.length + 1);
}
