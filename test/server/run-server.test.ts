/** What a run needs goes away and comes back: Temporal, the service. Nothing happens twice. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, describe, test } from 'node:test';
import { readPlan } from '../../durable/plans.ts';
import { startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { WRITES, assertDoneOnce, assertNothingMoved, openStage } from '../support/stage.ts';

const AT_ONCE = { concurrency: 8 };
const plain = { rates: { 'USD/MXN': '17.25' }, balances: { USD: '1000000', MXN: '1000000' } };

describe('what goes away and comes back changes nothing', AT_ONCE, () => {
  describe('Temporal on a file is killed and restarted', AT_ONCE, () => {
    for (const operation of WRITES)
      test(`while the reply to ${operation} is on its way`, async () => {
        const folder = await mkdtemp(join(tmpdir(), 'cambist-temporal-'));
        const dbFile = join(folder, 'temporal.db');
        const start = (port: number): Promise<DevServer> =>
          startDevServer({ port, headless: true, shortTimers: true, dbFile });
        let server = await start(0);
        const stage = await openStage({ ...plain, temporalAddress: server.address });
        try {
          await stage.startWorker();
          const { run, release } = await stage.startHeld(convertPolicy(), operation, { when: 'after' });
          await server.kill();
          release();
          server = await start(Number(server.address.split(':')[1]));
          assertDoneOnce(run, await run.report());
        } finally {
          await stage.close();
          await server.kill();
          await rm(folder, { recursive: true, force: true });
        }
      });
  });

  describe('the service goes down and comes back with its records', AT_ONCE, () => {
    for (const operation of WRITES)
      for (const when of ['before', 'after'] as const)
        test(`while it holds ${operation}, ${when} booking it`, async () => {
          const stage = await openStage(plain);
          try {
            await stage.startWorker();
            const { run } = await stage.startHeld(convertPolicy(), operation, { when });
            await stage.closeSandbox();
            await stage.reopenSandbox();
            assertDoneOnce(run, await run.report());
          } finally {
            await stage.close();
          }
        });

    test('before the run has a plan: it says that it waits for the service, its plan also without a worker, and goes on', async () => {
      const stage = await openStage(plain);
      after(() => stage.close());
      await stage.closeSandbox();
      const worker = await stage.startWorker();
      const run = await stage.start(convertPolicy());
      await run.heldBy('NOT_SENT');
      worker.shutdown();
      await worker.ended;
      const plan = await readPlan(stage.temporal.client, 'SANDBOX', run.name, 0);
      assert.equal(plan.kind === 'waiting' && plan.waiting?.problem.code, 'NOT_SENT');
      await stage.startWorker();
      await stage.reopenSandbox();
      assertNothingMoved(run);
      assertDoneOnce(run, await run.report());
    });
  });
});
