/**
 * The same run again, where it depends on what a real Temporal does: started ten times, reset to whatever event, its plan reset,
 * cancelled and reset. Everything else is told in `test/story/again.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { PLAN_TYPE, planIdOf } from '../../workflows/names.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy, type PolicyParts } from '../support/policies.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { cell, test } from '../support/sliced.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run } from '../support/stage.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { lasting } from '../support/lasting.ts';

/** Many runs at once: a run that cannot know whether it was sent waits for more than a minute. */
const AT_ONCE = { concurrency: 20 };

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
  timePasses: true,
});
await stage.startWorker();
after(() => stage.close());

async function started(parts: PolicyParts = {}): Promise<Run> {
  return stage.start(convertPolicy(parts));
}

async function baseOf(run: Run): Promise<{ readonly workflowId: string; readonly runId: string }> {
  const { workflowId, runId } = await run.handle.describe();
  return { workflowId, runId };
}

/** Resets the newest Temporal run to its first event, and waits for the end. */
async function resetToStart(run: Run): Promise<Report> {
  const [first] = await resetPoints(run.handle);
  assert.ok(first !== undefined);
  await resetTo(stage.temporal, await baseOf(run), first);
  return run.report();
}

function changed(policyText: string): { readonly policyText: string; readonly policyHash: string } {
  const text = policyText.replace('"1000.00"', '"1000.01"');
  return { policyText: text, policyHash: policyHash(text) ?? '' };
}

describe('whatever is begun again, each movement happens once', AT_ONCE, () => {
  describe('the same run again', AT_ONCE, () => {
    test('a run that is started ten times at once is one run', async () => {
      const run = await started();
      await Promise.all(Array.from({ length: 10 }, () => run.startAgain()));
      assertDoneOnce(run, await run.report());
      assert.equal(run.writes().length, 2);
    });

    cell(
      'a run that is ended and reset while createWithdrawal is held after its booking moves once',
      async () => {
        const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', {
          when: 'after',
        });
        const [first] = await resetPoints(run.handle);
        assert.ok(first !== undefined);
        await resetTo(stage.temporal, await baseOf(run), first);
        // The attempt that was under way is let go only when the new run has looked.
        await run.until((report) => report.evidence.some((entry) => entry.call === 'scan withdrawals'));
        release();
        assertDoneOnce(run, await run.report());
      },
    );

    for (const signals of [true, false])
      test(`a completed run can be reset to every event, signals ${signals ? 'and all' : 'left out'}`, async () => {
        const run = await started();
        await run.wake();
        const first = await run.report();
        const base = await baseOf(run);
        const sent = run.writes().length;
        for (const eventId of await resetPoints(run.handle)) {
          // A reset ends the one before.
          await resetTo(stage.temporal, base, eventId, { signals });
          // See above.
          assert.deepEqual(lasting(await run.report()), lasting(first), `event ${String(eventId)}`);
        }
        assertDoneOnce(run, await run.report());
        assert.equal(run.writes().length, sent);
      });

    cell(
      'a payment that a second run of the date has made meanwhile is not made by a reset of the first',
      async () => {
        const account = { id: 'wac_MendedNow77', currency: 'MXN', assetType: 'FIAT' } as const;
        stage.sandbox.putAccounts([{ ...account, status: 'SUSPENDED' }]);
        const first = await started({ withdraw: [{ id: 'supplier', account: account.id, fixed: '100.00' }] });
        assert.equal((await first.report()).payments[0]?.outcome, 'NOT_PAID');
        stage.sandbox.putAccounts([{ ...account, status: 'LIVE' }]);
        const { policy, id } = first.name;
        const second = await stage.start(first.input.policyText, { name: policy, id: `${id}-second` });
        assertDoneOnce(second, await second.report());
        const { problems, payments } = await resetToStart(first);
        assert.equal(payments[0]?.outcome, 'NOT_PAID');
        assert.ok(
          problems.some(({ code, message }) => code === 'DONE_ELSEWHERE' && message.includes('-second')),
        );
        assert.deepEqual(first.movements().withdrawals, []);
      },
    );
  });

  describe('the plan is made once', AT_ONCE, () => {
    cell(
      'a plan workflow that is reset, or started again with another policy, returns the first plan',
      async () => {
        const run = await started();
        const first = await run.report();
        const planId = planIdOf('SANDBOX', run.name);
        const { client } = stage.temporal;
        const planWorkflow = client.workflow.getHandle(planId);
        const plan = (await planWorkflow.result()) as Plan;
        const [point] = await resetPoints(planWorkflow);
        assert.ok(point !== undefined);
        await resetTo(
          stage.temporal,
          { workflowId: planId, runId: (await planWorkflow.describe()).runId },
          point,
        );
        assert.deepEqual(await client.workflow.getHandle(planId).result(), plan);
        await client.workflow.start(PLAN_TYPE, {
          workflowId: planId,
          taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
          args: [{ ...run.input, ...changed(run.input.policyText), forRun: 'another' }],
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        });
        assert.deepEqual(await client.workflow.getHandle(planId).result(), plan);
        await run.startAgain();
        const report = await run.report();
        assertDoneOnce(run, report);
        assert.deepEqual(lasting(report), lasting(first));
      },
    );

    cell(
      'a run that is started again with another policy text fails with the difference and sends nothing',
      async () => {
        const run = await started();
        await run.report();
        const before = { movements: run.movements(), writes: run.writes() };
        await run.startAgain(changed(run.input.policyText));
        const report = await run.report();
        assert.equal(report.status, 'FAILED');
        assert.deepEqual(
          report.problems.map((problem) => problem.code),
          ['POLICY_CHANGED'],
        );
        assert.deepEqual({ movements: run.movements(), writes: run.writes() }, before);
        // The right text goes on as before.
        await run.startAgain();
        assertDoneOnce(run, await run.report());
      },
    );
  });

  describe('what was cancelled stays unsent', AT_ONCE, () => {
    test('a run that is cancelled before anything sends nothing, also after a reset and a new start', async () => {
      const taskQueue = uniqueName('queue');
      const run = await stage.start(convertPolicy(), { taskQueue });
      await run.handle.cancel();
      await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue } });
      const first = await run.report();
      assert.equal(first.status, 'CANCELLED');
      assert.equal((await run.handle.describe()).status.name, 'CANCELLED');
      const again = await resetToStart(run);
      assert.equal(again.status, 'CANCELLED');
      // Whether it has items depends on whether a plan was made before the cancel was seen.
      assert.ok(again.legs.every(({ outcome }) => outcome === 'NOT_TRADED'));
      assert.ok(again.payments.every(({ outcome }) => outcome === 'NOT_PAID'));
      assert.deepEqual(run.writes(), []);
      assertNothingMoved(run);
    });

    test('a cancel in the middle of a write takes effect after it: what was sent is followed to its end', async () => {
      const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', {
        when: 'before',
      });
      await run.handle.cancel();
      release();
      assertDoneOnce(run, await run.report());
    });
  });
});
