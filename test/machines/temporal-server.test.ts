/**
 * A run on the real Temporal server, which is newer than the dev server and can pause workflows. The server is built on
 * demand, so this belongs to the proof alone, which may also name one that is there (CAMBIST_TEST_REAL_SERVER).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { todayIn } from '../../calendar/business-date.ts';
import { runName } from '../../domain/references.ts';
import { parseRun } from '../../operations/named-run.ts';
import { haltIdOf, instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { movedTwice } from '../support/agreement.ts';
import { applySchedule, startedBy } from '../support/applied-schedule.ts';
import { assertPaidOnce, chunkOf, paymentsOf, startBatch, untilAllEnded } from '../support/batches.ts';
import { ON_REAL_SERVER, type OnRealServer } from '../support/button-rows.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { gateOf } from '../support/gate.ts';
import { eventually } from '../support/patience.ts';
import { SELLS_ALL, convertPolicy } from '../support/policies.ts';
import { reset } from '../support/presses.ts';
import {
  assertDoneOnce,
  assertNothingMoved,
  openStage,
  type Stage,
  type StageOptions,
} from '../support/stage.ts';
import { startTemporalServer } from '../support/temporal-server.ts';

const RATES = { 'USD/MXN': '17.25' };
const RICH = { USD: '1000000', EUR: '1000000', MXN: '1000000' };
/** Nobody is at work who has asked the service for nothing for so long. */
const QUIET_MS = 3_000;
/** The event with which a workflow's first task is done. */
const FIRST_TASK = 4;
/** `WORKFLOW_TASK_SCHEDULED`, `WORKFLOW_TASK_STARTED` and `WORKFLOW_EXECUTION_PAUSED` of the server's enumeration of events. */
const [TASK_SCHEDULED, TASK_STARTED, PAUSED] = [5, 6, 58];

describe('on the real Temporal server', async () => {
  const given = process.env['CAMBIST_TEST_REAL_SERVER'];
  const server =
    given === undefined
      ? await startTemporalServer({ 'frontend.WorkflowPauseEnabled': true })
      : { address: given, kill: async () => {} };
  const stage = await openStage({
    rates: RATES,
    balances: RICH,
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

  /** Pauses a workflow as a person does in the Temporal UI. */
  async function pause(workflowId: string): Promise<() => Promise<void>> {
    const { client, namespace } = stage.temporal;
    const asked = { namespace, workflowId, identity: 'ana', reason: 'a look' };
    await client.workflowService.pauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    return async () => {
      await client.workflowService.unpauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    };
  }

  /** `list --attention` names it. */
  async function assertListed(workflowId: string): Promise<void> {
    await eventually(`the list shows ${workflowId}`, async () => {
      const told = await command(stage, ['list', '--attention']);
      return told.stdout.replaceAll(/\s+/g, '').includes(workflowId);
    });
  }

  /** `list --attention` names it, and who has paused it. */
  async function assertNamed(workflowId: string): Promise<void> {
    // Temporal's list is a moment behind.
    const listed = await eventually('the list shows it', async () => {
      const told = await command(stage, ['list', '--attention']);
      return told.stdout.includes('paused in Temporal') ? told : null;
    });
    assertExit(listed, 6);
    const text = listed.stdout.replaceAll(/\s+/g, ' ');
    assert.ok(text.includes(runName(parseRun(workflowId).run)), text);
    assert.match(text, /paused in Temporal since (?:\S+ )?\d\d:\d\d:\d\d(?: UTC)?, by ana \("a look"\)/);
    const all = (await command(stage, ['list'])).stdout.replaceAll(/\s+/g, ' ');
    assert.match(all, /\b(?:PAUSED|HELD)\b/);
    assert.match(all, /paused in Temporal since (?:\S+ )?\d\d:\d\d:\d\d(?: UTC)?, by ana/);
  }

  test('a run that somebody pauses while its trade is on the way says so, and trades and pays once after it goes on', async () => {
    const { run, release } = await stage.startHeld(convertPolicy(), 'createTrade', { when: 'after' });
    const { workflowId } = run.handle;
    const unpause = await pause(workflowId);
    const { status } = await run.handle.describe();
    assert.equal(status.name, 'PAUSED');
    for (const typed of [['status'], ['report']]) {
      const told = await command(stage, [...typed, runName(run.name)]);
      assertExit(told, 6);
      assert.match(
        `${told.stdout}${told.stderr}`.replaceAll(/\s+/g, ' '),
        /paused in Temporal since (?:\S+ )?\d\d:\d\d:\d\d(?: UTC)?, by ana/,
      );
    }
    await assertNamed(workflowId);
    release();
    await unpause();
    assertDoneOnce(run, await run.report());
  });

  test('a run that is cancelled while it is paused sends nothing more after it goes on', async () => {
    const { run, release } = await stage.startHeld(convertPolicy(), 'createTrade', { when: 'after' });
    const unpause = await pause(run.handle.workflowId);
    const cancelled = await command(stage, ['cancel', runName(run.name), '--by', 'ben']);
    assertExit(cancelled, 0);
    assert.match(cancelled.stdout.replaceAll(/\s+/g, ' '), /is paused in Temporal since .* Press _Unpause_/);
    release();
    await unpause();
    const { payments } = await run.report();
    assert.deepEqual(
      payments.map(({ outcome }) => outcome),
      ['NOT_PAID'],
    );
    assert.deepEqual(run.movements().withdrawals, []);
  });

  /** A stage on the same server that nobody else has. */
  async function onItsOwn(options: StageOptions, work: (own: Stage) => Promise<void>): Promise<void> {
    const own = await openStage({ rates: RATES, temporalAddress: server.address, ...options });
    try {
      await work(own);
    } finally {
      await own.close();
    }
  }

  /** Temporal had made a task for it that no worker had taken when it was paused: this server never gives it out. */
  async function hasLostItsTask(handle: WorkflowHandle): Promise<boolean> {
    const { events } = await handle.fetchHistory();
    const types = (events ?? []).map(({ eventType }) => Number(eventType));
    const [scheduled = 0, started = 0, paused = 0] = [TASK_SCHEDULED, TASK_STARTED, PAUSED].map((type) =>
      types.lastIndexOf(type),
    );
    return started < scheduled && scheduled < paused;
  }

  const PRESSES: Record<OnRealServer, () => Promise<void>> = {
    'Pause, Unpause | run, chunk': () =>
      onItsOwn({ balances: RICH }, async (own) => {
        await own.startWorker();
        const name = uniqueName('b');
        const id = `${todayIn('UTC', Date.now())}-weekly`;
        const held = own.sandbox.addFault({
          operation: 'createWithdrawal',
          times: 1,
          when: { reference: `${name}.${id}.inv-4` },
          effect: { kind: 'hold', when: 'after' },
        });
        const batch = await startBatch(own, paymentsOf(6), { perChunk: 3, name, id });
        await own.sandbox.faultHit(held);
        const all = [batch.handle, chunkOf(own, batch, 1), chunkOf(own, batch, 2)];
        // This server never gives out a first workflow task that meets a pause.
        for (const handle of all)
          await eventually('it has begun', async () => (await handle.describe()).historyLength >= FIRST_TASK);
        const unpauses: (() => Promise<void>)[] = [];
        for (const { workflowId } of all) unpauses.push(await pause(workflowId));
        await assertNamed(batch.handle.workflowId);
        own.sandbox.releaseFaults(held);
        await settled(own);
        const { withdrawals } = batch.movements();
        assert.ok(withdrawals.length <= 4, 'the call that was on its way, and none after it');
        // This server forgets a pause that meets a workflow task.
        for (const unpause of unpauses) await unpause().catch(() => undefined);
        for (const handle of all) if (await hasLostItsTask(handle)) await reset(own, handle, 'last');
        assertPaidOnce(batch, await untilAllEnded(own, batch));
      }),
    'Pause, Unpause | plan': () =>
      onItsOwn({ balances: RICH }, async (own) => {
        await own.startWorker();
        own.setKeyActive(false);
        const run = await own.start(convertPolicy());
        const planId = planIdOf('SANDBOX', run.name);
        const { client } = own.temporal;
        await eventually('the plan waits', async () => {
          const shown = await client.workflow
            .getHandle(planId)
            .describe()
            .catch(() => null);
          return shown?.memo?.['waits'] ?? null;
        });
        const unpause = await pause(planId);
        own.setKeyActive(true);
        await run.heldBy('PLAN_PAUSED');
        assertNothingMoved(run);
        await unpause();
        assertDoneOnce(run, await run.report());
      }),
    'Pause, Unpause | instructions': async () => {
      const { run, release } = await stage.startHeld(convertPolicy(), 'createTrade', { when: 'after' });
      const instructionsId = instructionsIdOf('SANDBOX', run.name);
      const unpause = await pause(instructionsId);
      release();
      await run.heldBy('INSTRUCTIONS_PAUSED');
      assert.deepEqual(run.movements().withdrawals, []);
      await assertNamed(run.handle.workflowId);
      const told = await command(stage, ['status']);
      assert.ok(
        told.stdout.replaceAll(/\s+/g, ' ').includes(`${instructionsId} is paused in Temporal since`),
        told.stdout,
      );
      await unpause();
      await run.wake();
      assertDoneOnce(run, await run.report());
    },
    'Pause, Unpause | turn': () =>
      onItsOwn({ balances: { USD: '150000' } }, async (own) => {
        await own.startWorker();
        const { run, release } = await own.startHeld(SELLS_ALL, 'createTrade', { when: 'after' });
        const query = `WorkflowType = 'turn' AND TaskQueue = '${own.env['CAMBIST_TASK_QUEUE'] ?? ''}'`;
        const turnId = await eventually('the turn in the list', async () => {
          for await (const { workflowId } of own.temporal.client.workflow.list({ query })) return workflowId;
          return null;
        });
        const unpause = await pause(turnId);
        const other = await own.start(SELLS_ALL);
        await assertListed(turnId);
        await settled(own);
        assertNothingMoved(other);
        release();
        await unpause();
        assertDoneOnce(run, await run.report());
        await other.until(({ status }) => status !== 'RUNNING');
        assert.deepEqual(movedTwice(own.sandbox.ledger()), []);
      }),
    'Pause, Unpause | halt': () =>
      onItsOwn({ balances: RICH }, async (own) => {
        await own.startWorker();
        const run = own.find(convertPolicy(), {});
        const { policy } = run.name;
        assertExit(await command(own, ['halt', '--policy', policy, '--reason', 'a doubt', '--by', 'ana']), 0);
        const unpause = await pause(haltIdOf('SANDBOX'));
        await run.startAgain();
        await run.heldBy('HALTED');
        assertNothingMoved(run);
        await assertListed(haltIdOf('SANDBOX'));
        await unpause();
        assertExit(await command(own, ['resume', '--policy', policy, '--by', 'ben']), 0);
        assertDoneOnce(run, await run.report());
      }),
    'Pause, Unpause | scheduled': () =>
      onItsOwn({ balances: RICH }, async (own) => {
        const { name, text, schedule } = await applySchedule(own);
        const { interceptors, open } = gateOf('startScheduled');
        await own.startWorker({ temporal: { debugMode: true, interceptors } });
        await schedule.trigger();
        const [scheduledId = ''] = await startedBy(schedule);
        const handle = own.temporal.client.workflow.getHandle(scheduledId);
        // This server never gives out a first workflow task that meets a pause.
        await eventually('its call', async () => (await handle.describe()).raw.pendingActivities?.length);
        const unpause = await pause(scheduledId);
        await assertListed(scheduledId);
        const run = own.find(text, { name, id: todayIn('UTC', Date.now()) });
        assertNothingMoved(run);
        open();
        await unpause();
        await handle.result();
        assertDoneOnce(run, await run.report());
        await schedule.delete();
      }),
  };
  for (const row of ON_REAL_SERVER) test(row, PRESSES[row]);
});

/** Nothing is asked of the service any more. */
async function settled({ sandbox }: Stage): Promise<void> {
  const last = (): unknown => sandbox.requests().at(-1)?.seq;
  for (let before: unknown = null; before !== last();) {
    before = last();
    await delay(QUIET_MS);
  }
}
