/**
 * A run on the real Temporal server, which is newer than the dev server and can pause workflows. The server is built on
 * demand, so this belongs to the proof alone.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';
import { startTemporalServer } from '../support/temporal-server.ts';

describe('on the real Temporal server', async () => {
  const server = await startTemporalServer({ 'frontend.WorkflowPauseEnabled': true });
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000', MXN: '1000000' },
    temporalAddress: server.address,
  });
  after(async () => {
    await stage.close();
    await server.kill();
  });

  test('a conversion trades and pays once', async () => {
    await stage.startWorker();
    const run = await stage.start(convertPolicy());
    assertDoneOnce(run, await run.report());
  });

  test('a run that somebody pauses while its trade is on the way trades and pays once after it goes on', async () => {
    const { run, release } = await stage.startHeld(convertPolicy(), 'createTrade', { when: 'after' });
    const { client, namespace } = stage.temporal;
    const asked = { namespace, workflowId: run.handle.workflowId, identity: 'ana', reason: 'a look' };
    await client.workflowService.pauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    const { status } = await run.handle.describe();
    assert.equal(status.name, 'PAUSED');
    release();
    await client.workflowService.unpauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    assertDoneOnce(run, await run.report());
  });
});
