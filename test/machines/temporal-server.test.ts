/**
 * A run on the real Temporal server, which is newer than the dev server and can pause workflows. The server is built on
 * demand, so this belongs to the proof alone.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { runName } from '../../domain/references.ts';
import { parseRun } from '../../operations/named-run.ts';
import { instructionsIdOf } from '../../workflows/names.ts';
import { assertExit, command } from '../support/commands.ts';
import { eventually } from '../support/patience.ts';
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

  /** Pauses a workflow as a person does in the Temporal UI. */
  async function pause(workflowId: string): Promise<() => Promise<void>> {
    const { client, namespace } = stage.temporal;
    const asked = { namespace, workflowId, identity: 'ana', reason: 'a look' };
    await client.workflowService.pauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    return async () => {
      await client.workflowService.unpauseWorkflowExecution({ ...asked, requestId: randomUUID() });
    };
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
    assert.match(text, /paused in Temporal since \S+ \S+ UTC, by ana \("a look"\)/);
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
        /paused in Temporal since \S+ \S+ UTC, by ana/,
      );
    }
    await assertNamed(workflowId);
    release();
    await unpause();
    assertDoneOnce(run, await run.report());
  });

  test('while somebody has paused what keeps the instructions of a run, nothing of it is sent, and it goes on by itself', async () => {
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
});
