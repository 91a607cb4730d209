/**
 * What Temporal offers beside a pending activity ends a call, and no item: its result typed by somebody, its failure, and a
 * shorter time (M1, M3).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { defaultPayloadConverter } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { PaymentsAnswer } from '../../domain/run/calls.ts';
import { makeProblem } from '../../domain/problems.ts';
import { runName } from '../../domain/references.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { recommendedPoint, resetPointsOf } from '../../operations/replay/points.ts';
import { convertPolicy } from '../support/policies.ts';
import { eventually } from '../support/patience.ts';
import { baseOf } from '../support/places.ts';
import { assertDoneOnce, openStage, type Run } from '../support/stage.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
  timePasses: true,
});
await stage.startWorker();
after(() => stage.close());
const { client, namespace } = stage.temporal;

/** The one pending activity of a run. */
async function pendingOf(run: Run): Promise<string> {
  let id = '';
  await eventually('a pending activity', async () => {
    id = (await run.handle.describe()).raw.pendingActivities?.[0]?.activityId ?? '';
    return id !== '';
  });
  return id;
}

/** Completes its pending activity as somebody who types the result. */
async function complete(run: Run, typed: PaymentsAnswer): Promise<void> {
  const { workflowId, runId } = await baseOf(run);
  await client.workflowService.respondActivityTaskCompletedById({
    namespace,
    workflowId,
    runId,
    activityId: await pendingOf(run),
    identity: 'somebody',
    result: { payloads: [defaultPayloadConverter.toPayload(typed)] },
  });
}

test('temporal activity complete with the withdrawal of another run: the payment is paid once, under its own', async () => {
  const other = await stage.start(convertPolicy());
  assertDoneOnce(other, await other.report());
  const [another] = other.movements().withdrawals;
  for (const when of ['before', 'after'] as const) {
    // One after the other.
    const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when });
    const { runId } = await baseOf(run);
    const accepted = {
      withdrawalId: String(another?.['id']),
      createdAtMs: Date.now(),
      reference: `${runName(run.name)}.supplier`,
      status: 'COMPLETED',
      amount: '17250.00',
    };
    const typed: PaymentsAnswer = {
      items: [{ id: 'supplier', step: { kind: 'accepted', accepted } }],
      evidence: [],
      runId,
    };
    await complete(run, typed);
    release();
    const report = await run.report();
    assertDoneOnce(run, report);
    assert.notEqual(report.payments[0]?.withdrawalId, accepted.withdrawalId);
    // Temporal says who has ended the call: `replay` would go back to before it.
    const points = await resetPointsOf((await run.handle.fetchHistory()).events ?? [], async () => '');
    const best = recommendedPoint(points, { fromTheStart: true });
    assert.deepEqual([best?.step, best?.isEndedBeside], ['Pay', true]);
  }
});

test('temporal activity complete with "not paid" while the payment is on its way: the run waits for what its worker may have sent', async () => {
  const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when: 'before' });
  const { runId } = await baseOf(run);
  const problem = makeProblem('ACCOUNT_MISSING', 'supplier');
  const step = { kind: 'not paid', state: NEW_PAYMENT, problem } as const;
  await complete(run, { items: [{ id: 'supplier', step }], evidence: [], runId });
  const waits = await run.until(({ problems }) => problems.some(({ code }) => code === 'COMPLETED_BESIDE'));
  assert.equal(waits.status, 'HELD');
  // What it finds in the end is told in `test/story/answers.test.ts`: it takes minutes.
  await run.handle.terminate('it was seen');
  release();
});

test('temporal activity fail: the payment is looked up, and paid once', async () => {
  const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when: 'after' });
  const { workflowId, runId } = await baseOf(run);
  const activityId = await pendingOf(run);
  await client.activity.fail({ workflowId, runId, activityId }, new Error('somebody says so'));
  release();
  assertDoneOnce(run, await run.report());
});

test('Update options with a schedule-to-close of a second: the payment is looked up, and paid once', async () => {
  const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when: 'after' });
  const execution = await baseOf(run);
  const id = await pendingOf(run);
  await client.workflowService.updateActivityOptions({
    namespace,
    execution,
    identity: 'somebody',
    id,
    activityOptions: { scheduleToCloseTimeout: msToTs(1_000) },
    updateMask: { paths: ['schedule_to_close_timeout'] },
  });
  await eventually('the end of the call', async () => {
    const { pendingActivities } = (await run.handle.describe()).raw;
    return (pendingActivities ?? []).every(({ activityId }) => activityId !== id);
  });
  release();
  assertDoneOnce(run, await run.report());
});
