/**
 * The same run again: started twice, terminated, reset to whatever event, its plan reset, cancelled and reset. What was
 * done is found, what is missing is done, and the report says the same.
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

/** Many runs at once: a run that cannot know whether it was sent waits for more than a minute. */
const AT_ONCE = { concurrency: 20 };

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000', EUR: '0', GBP: '0', CHF: '0' },
  // A trade that is asked to settle on the second day does not settle while a test waits.
  settings: { settlementMs: { T2: 3_600_000 } },
  timePasses: true,
});
await stage.startWorker();
after(() => stage.close());

/** The report without what may differ when nothing has changed: looks and times. */
function withoutEvidence(report: Report): Omit<Report, 'evidence'> {
  const { evidence: _, ...rest } = report;
  return rest;
}

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
    cell('a completed run that is started again finds everything and sends nothing', async () => {
      const run = await started();
      const first = await run.report();
      const sent = run.writes().length;
      await run.startAgain();
      const second = await run.report();
      assertDoneOnce(run, second);
      assert.deepEqual(withoutEvidence(second), withoutEvidence(first));
      assert.equal(run.writes().length, sent);
    });

    test('a run that is started ten times at once is one run', async () => {
      const run = await started();
      await Promise.all(Array.from({ length: 10 }, () => run.startAgain()));
      assertDoneOnce(run, await run.report());
      assert.equal(run.writes().length, 2);
    });

    for (const operation of ['createTrade', 'createWithdrawal'] as const)
      for (const when of ['before', 'after'] as const)
        for (const again of ['started again', 'reset'] as const) {
          const play =
            operation === 'createWithdrawal' && when === 'after' && again === 'reset' ? cell : test;
          play(
            `a run that is ended and ${again} while ${operation} is held ${when} its booking moves once`,
            async () => {
              const { run, release } = await stage.startHeld(convertPolicy(), operation, { when });
              if (again === 'reset') {
                const [first] = await resetPoints(run.handle);
                assert.ok(first !== undefined);
                await resetTo(stage.temporal, await baseOf(run), first);
              } else {
                await run.handle.terminate();
                await run.startAgain();
              }
              // The attempt that was under way is let go only when the new run has looked.
              const look = operation === 'createTrade' ? 'scan trades' : 'scan withdrawals';
              await run.until((report) => report.evidence.some((entry) => entry.call === look));
              release();
              assertDoneOnce(run, await run.report());
            },
          );
        }

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
          assert.deepEqual(
            withoutEvidence(await run.report()),
            withoutEvidence(first),
            `event ${String(eventId)}`,
          );
        }
        assertDoneOnce(run, await run.report());
        assert.equal(run.writes().length, sent);
      });

    test('a reset of a reset, and two resets at once, move nothing', async () => {
      const run = await started();
      const first = await run.report();
      await resetToStart(run);
      const [point] = await resetPoints(run.handle);
      assert.ok(point !== undefined);
      const base = await baseOf(run);
      await Promise.allSettled([resetTo(stage.temporal, base, point), resetTo(stage.temporal, base, point)]);
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.deepEqual(withoutEvidence(report), withoutEvidence(first));
    });

    test('a run that waits for money, reset, goes on when the money comes, once', async () => {
      const run = await started({ sell: 'EUR', shortfall: 'hold' });
      await run.heldBy('SHORTFALL');
      const [first] = await resetPoints(run.handle);
      assert.ok(first !== undefined);
      await resetTo(stage.temporal, await baseOf(run), first);
      stage.sandbox.deposit({ currency: 'EUR', amount: '1000.00' });
      assertDoneOnce(run, await run.report());
    });

    test('a run that waits for money, terminated and started again, goes on when the money comes, once', async () => {
      const run = await started({ sell: 'GBP', shortfall: 'hold' });
      await run.heldBy('SHORTFALL');
      await run.handle.terminate();
      await run.startAgain();
      stage.sandbox.deposit({ currency: 'GBP', amount: '1000.00' });
      assertDoneOnce(run, await run.report());
    });

    test('a run that failed, reset while the cause lasts, fails with the same report', async () => {
      const run = await started({ guard: '{ worst_rate: "18 MXN per USD" }' });
      const first = await run.report();
      assert.equal(first.status, 'FAILED');
      assert.deepEqual(withoutEvidence(await resetToStart(run)), withoutEvidence(first));
      assertNothingMoved(run);
    });

    cell('a run whose payment was refused, reset when the cause is gone, pays only that', async () => {
      const account = { id: 'wac_SoonLive', currency: 'MXN', assetType: 'FIAT' } as const;
      stage.sandbox.putAccounts([{ ...account, status: 'SUSPENDED' }]);
      const run = await started({
        withdraw: [
          { id: 'supplier', account: 'wac_7Hk2mQ9vT4xR', fixed: '100.00' },
          { id: 'later', account: account.id, fixed: '200.00' },
        ],
      });
      const first = await run.report();
      assert.deepEqual(
        first.payments.map((payment) => payment.outcome),
        ['PAID', 'NOT_PAID'],
      );
      stage.sandbox.putAccounts([{ ...account, status: 'LIVE' }]);
      const report = await resetToStart(run);
      assertDoneOnce(run, report);
      assert.equal(report.payments[0]?.withdrawalId, first.payments[0]?.withdrawalId);
      assert.match(report.payments[1]?.reference ?? '', /\.later~2$/);
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
        assert.deepEqual(withoutEvidence(report), withoutEvidence(first));
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

    test('an amount that was taken from live balances is not taken again', async () => {
      stage.sandbox.setBalances({ CHF: '5000.00' });
      const run = await started({ sell: 'CHF', amount: '{ sell: all, keep: "1000.00" }' });
      const first = await run.report();
      assert.equal(first.legs[0]?.sellAmount, '4000');
      stage.sandbox.setBalances({ CHF: '9000.00' });
      await run.startAgain();
      assert.deepEqual(withoutEvidence(await run.report()), withoutEvidence(first));
      assert.deepEqual(withoutEvidence(await resetToStart(run)), withoutEvidence(first));
      assert.equal(run.movements().trades.length, 1);
    });
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

    test('a run that is cancelled while it waits for settlement pays nothing, also after a reset', async () => {
      const run = await started({ quote: '{ valid_for: 45s, settlement: T2 }' });
      await run.heldBy('AWAITING_SETTLEMENT');
      await run.handle.cancel();
      const first = await run.report();
      assert.equal(first.status, 'CANCELLED');
      assert.equal(first.legs[0]?.outcome, 'TRADED');
      assert.equal(first.payments[0]?.outcome, 'NOT_PAID');
      assert.deepEqual(withoutEvidence(await resetToStart(run)), withoutEvidence(first));
      assert.deepEqual(
        run.writes().map((entry) => entry.operation),
        ['createTrade'],
      );
    });

    cell(
      'a cancel in the middle of a write takes effect after it: what was sent is followed to its end',
      async () => {
        const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', {
          when: 'before',
        });
        await run.handle.cancel();
        release();
        assertDoneOnce(run, await run.report());
      },
    );
  });
});
