/** A conversion beside a large batch: no call of the batch takes a place that the conversion needs. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { todayIn } from '../../calendar/business-date.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { chunkOf, paymentsOf } from '../support/batches.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

/** More than Temporal's own SDK lets a worker have under way when nobody says otherwise. */
const CHUNKS = 110;
const BEAT_MS = 1_000;

const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, balances: { USD: '100000', MXN: '0' } });
after(() => stage.close());

test('no conversion waits for the slot of a batch, and Temporal has the batch behind it in line (slots and priority)', async () => {
  let [begun, ended] = [0, 0];
  let letGo = (): void => {};
  const opened = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const held: ActivityInboundCallsInterceptor['execute'] = async (input, next) => {
    const context = Context.current();
    if (context.info.activityType !== 'readGo') return next(input);
    begun += 1;
    const beats = setInterval(() => context.heartbeat(), BEAT_MS);
    await opened;
    clearInterval(beats);
    ended += 1;
    return next(input);
  };
  const interceptors = { activity: [() => ({ inbound: { execute: held } })] };
  await stage.startWorker({ temporal: { debugMode: true, interceptors } });
  try {
    const name = { policy: uniqueName('batch'), id: `${todayIn('UTC', Date.now())}-large` };
    const queue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    for (let number = 1; number <= CHUNKS; number += 1)
      await startChunk(
        stage.temporal.client,
        queue,
        { run: name, mode: 'SANDBOX', number, payments: paymentsOf(1), isFirst: true },
        'REJECT_DUPLICATE',
      );
    await eventually(
      'each chunk has a call under way',
      () => begun === CHUNKS,
      async () => begun,
    );
    const run = await stage.start(convertPolicy());
    assertDoneOnce(run, await run.report());
    assert.equal(ended, 0, 'It waited for a call of the batch.');
    const [ofChunk, ofRun] = await Promise.all(
      [chunkOf(stage, { name }, 1), run.handle].map(async (handle) => (await handle.describe()).priority),
    );
    // Temporal's own where nothing is said.
    assert.ok((ofChunk?.priorityKey || 3) > (ofRun?.priorityKey || 3));
  } finally {
    letGo();
  }
});
