/** The buttons beside workflows: of activities, schedules, deployments, task queues and namespaces (docs/operations/buttons.md). */
import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import { todayIn } from '../../calendar/business-date.ts';
import type { Report } from '../../domain/run/report.ts';
import { startDevServer } from '../../worker/dev-server.ts';
import { instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { disagreements } from '../support/agreement.ts';
import { applySchedule, startedBy, type AppliedSchedule } from '../support/applied-schedule.ts';
import { assertPaidOnce, chunkOf, paymentsOf, startBatch, untilAllEnded } from '../support/batches.ts';
import { BESIDE, type Beside } from '../support/button-rows.ts';
import { ACTIVITY_BUTTONS, pressBeside, type ActivityButton } from '../support/buttons.ts';
import { assertExit, command, flat } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { gateOf } from '../support/gate.ts';
import { eventually } from '../support/patience.ts';
import { patiently } from '../support/patiently.ts';
import { twoPayments } from '../support/places.ts';
import { test } from '../support/sliced.ts';
import { keepFor, openStage, type Run, type Stage } from '../support/stage.ts';

const RICH = { USD: '10000000', EUR: '10000000', MXN: '10000000' };
const RATES = { 'USD/MXN': '17.25' };
const stage = await openStage({ rates: RATES, balances: RICH, timePasses: true });
await stage.startWorker();
after(() => stage.close());

function assertDone(on: Stage, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(disagreements(report, on.sandbox.ledger()), []);
  const { trades, withdrawals } = run.movements();
  assert.deepEqual([trades.length, withdrawals.length], [1, 2]);
}

/** A button beside an activity that has not begun; `start` makes some workflow that calls it. */
async function beforeActivity(
  type: string,
  button: ActivityButton,
  start: (own: Stage) => Promise<{ readonly workflowId: string; readonly done: () => Promise<void> }>,
): Promise<void> {
  const own = await openStage({ rates: RATES, balances: RICH });
  try {
    const { interceptors, open } = gateOf(type);
    await own.startWorker({ temporal: { debugMode: true, interceptors } });
    const { workflowId, done } = await start(own);
    await eventually('the workflow', () =>
      own.temporal.client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => true,
          () => null,
        ),
    );
    await pressBeside(own, workflowId, type, button);
    open();
    await done();
  } finally {
    await own.close();
  }
}

type Scheduled = AppliedSchedule & {
  readonly moved: () => number;
  readonly report: () => Promise<string>;
};

const today = todayIn('UTC', Date.now());

/** A schedule of a policy, of midnight. */
async function applied(on: Stage = stage): Promise<Scheduled> {
  const made = await applySchedule(on);
  const { name } = made;
  const moved = (): number => {
    const { trades, withdrawals } = on.sandbox.ledger();
    return [
      ...trades.map((one) => one['clientReferenceId']),
      ...withdrawals.map((one) => JSON.stringify(one['metadata'])),
    ].filter((named) => String(named).includes(`${name}.`)).length;
  };
  /** The end of the run of today, as the report has it. */
  const report = (): Promise<string> =>
    eventually('the end of the run', async () => {
      const told = await command(on, ['report', `${name}.${today}`, '--json']);
      if (told.exitCode !== 0 && told.exitCode !== 8) return null;
      const document = JSON.parse(told.stdout) as Report;
      if (document.status === 'RUNNING' || document.status === 'HELD') return null;
      assert.deepEqual(disagreements(document, on.sandbox.ledger()), []);
      return document.status;
    });
  return { ...made, moved, report };
}

/** How what a schedule has started so far has ended. */
async function endsOf({ schedule }: Scheduled, count: number): Promise<readonly string[]> {
  const ids = await startedBy(schedule, count);
  return Promise.all(
    ids.map(async (workflowId) =>
      stage.temporal.client.workflow
        .getHandle(workflowId)
        .result()
        .then(
          (result: unknown) => JSON.stringify(result),
          (error: unknown) => JSON.stringify((error as { cause?: unknown }).cause),
        ),
    ),
  );
}

const DAY_MS = 86_400_000;
const midnight = (): Date => new Date(`${today}T00:00:00Z`);

const PRESSES: Record<Beside, () => Promise<void>> = {
  'Pause, Unpause, Reset, Update options, Complete, Fail | activity of chunk': async () => {
    await Promise.all(
      ACTIVITY_BUTTONS.map(async (button) => {
        const name = uniqueName('b');
        const id = `${today}-weekly`;
        const held = stage.sandbox.addFault({
          operation: 'createWithdrawal',
          times: 1,
          when: { reference: `${name}.${id}.inv-1` },
          effect: { kind: 'hold', when: 'after' },
        });
        const batch = await startBatch(stage, paymentsOf(3), { perChunk: 3, name, id });
        await stage.sandbox.faultHit(held);
        const { workflowId } = chunkOf(stage, batch, 1);
        await pressBeside(stage, workflowId, 'createWithdrawals', button);
        stage.sandbox.releaseFaults(held);
        assertPaidOnce(batch, await untilAllEnded(stage, batch));
      }),
    );
  },
  'Pause, Unpause, Reset, Update options, Complete, Fail | activity of plan, instructions, scheduled':
    async () => {
      const startRun = async (own: Stage) => {
        const run = await own.start(twoPayments());
        return { run, done: async () => assertDone(own, run, await run.report()) };
      };
      await Promise.all(
        ACTIVITY_BUTTONS.flatMap((button) => [
          beforeActivity('observe', button, async (own) => {
            const { run, done } = await startRun(own);
            return { workflowId: planIdOf('SANDBOX', run.name), done };
          }),
          beforeActivity('takeOverInstructions', button, async (own) => {
            const { run, done } = await startRun(own);
            return { workflowId: instructionsIdOf('SANDBOX', run.name), done };
          }),
          beforeActivity('startScheduled', button, async (own) => {
            const { schedule, report, moved } = await applied(own);
            await schedule.trigger();
            const [workflowId = ''] = await startedBy(schedule);
            const done = async (): Promise<void> => {
              assert.equal(await report(), 'COMPLETED');
              assert.equal(moved(), 2);
            };
            return { workflowId, done };
          }),
        ]),
      );
    },

  'Pause, Unpause | schedule': async () => {
    const policy = await applied();
    await policy.schedule.pause('somebody');
    assert.match(flat((await command(stage, ['schedule', 'list'])).stdout), /paused/);
    await policy.schedule.trigger();
    assert.equal(await policy.report(), 'COMPLETED');
    await policy.schedule.unpause('somebody');
    assert.equal((await policy.schedule.describe()).state.paused, false);
    assert.equal(policy.moved(), 2);
  },
  'Trigger, Backfill | schedule': async () => {
    const policy = await applied();
    const { schedule } = policy;
    await Promise.all([schedule.trigger(), schedule.trigger(ScheduleOverlapPolicy.ALLOW_ALL)]);
    const start = new Date(midnight().getTime() - 1_000);
    const backfill = { start, end: new Date(), overlap: ScheduleOverlapPolicy.ALLOW_ALL } as const;
    await schedule.backfill(backfill);
    await schedule.backfill(backfill);
    assert.equal(await policy.report(), 'COMPLETED');
    await schedule.trigger(ScheduleOverlapPolicy.ALLOW_ALL);
    // Dates that are over start nothing.
    await schedule.backfill({
      ...backfill,
      start: new Date(start.getTime() - 2 * DAY_MS),
      end: new Date(start.getTime() - 1_000),
    });
    const ends = await endsOf(policy, 5);
    assert.ok(
      ends.some((end) => end.includes('RUN_ID_PAST')),
      ends.join('\n'),
    );
    assert.equal(policy.moved(), 2);
  },
  'Edit | schedule': async () => {
    const policy = await applied();
    const edit = (from: string, to: string) =>
      policy.schedule.update((before) => {
        assert.equal(before.action.type, 'startWorkflow');
        const [input] = before.action.args as readonly [{ readonly policyText: string }];
        return {
          ...before,
          action: { ...before.action, args: [{ ...input, policyText: input.policyText.replace(from, to) }] },
        };
      });
    await edit(policy.name, `${policy.name}-other`);
    await policy.schedule.trigger();
    assert.match((await endsOf(policy, 1)).join(), /POLICY_NAME_DIFFERS/);
    assert.equal(policy.moved(), 0);
    await policy.schedule.delete();
    const again = await command(stage, ['schedule', 'apply', policy.file]);
    assertExit(again, 0);
    await policy.schedule.trigger();
    assert.equal(await policy.report(), 'COMPLETED');
    await edit('"1000.00"', '"2000.00"');
    await policy.schedule.trigger();
    await endsOf(policy, 2);
    assert.equal(policy.moved(), 2, 'the run of the date keeps to its plan');
    const told = await command(stage, ['schedule', 'apply', policy.file, '--dry-run']);
    assert.match(told.stdout, /-convert: .*2000\.00.*\n\+convert: .*1000\.00/);
  },
  'Delete | schedule': async () => {
    const policy = await applied();
    await policy.schedule.trigger();
    await endsOf(policy, 1);
    await policy.schedule.delete();
    assert.equal(await policy.report(), 'COMPLETED');
    assert.equal(policy.moved(), 2);
    assert.match((await command(stage, ['schedule', 'apply', policy.file])).stdout, /new/);
  },
  'Create | schedule': async () => {
    const policy = await applied();
    const { client } = stage.temporal;
    const { action, spec } = await policy.schedule.describe();
    const create = (workflowId: string) =>
      client.schedule.create({
        scheduleId: uniqueName('mine'),
        spec: { calendars: spec.calendars ?? [] },
        action: {
          ...action,
          workflowId,
          type: 'startWorkflow',
          workflowType: action.workflowType,
          args: action.args ?? [],
        } as never,
      });
    const same = await create(action.workflowId ?? '');
    const other = await create(uniqueName('mine'));
    await policy.schedule.trigger();
    assert.equal(await policy.report(), 'COMPLETED');
    await Promise.all([same.trigger(), other.trigger()]);
    assert.match((await endsOf({ ...policy, schedule: same }, 1)).join(), /"kind":"ended"/);
    assert.match((await endsOf({ ...policy, schedule: other }, 1)).join(), /WORKFLOW_ID_DIFFERS/);
    assert.equal(policy.moved(), 2);
    await Promise.all([same.delete(), other.delete()]);
  },

  'Set current, Ramp, Unset, Delete version | deployment': async () => {
    const own = await openStage({ rates: RATES, balances: RICH });
    const { workflowService } = own.temporal.client;
    const of = { namespace: own.temporal.namespace, deploymentName: own.env['CAMBIST_TASK_QUEUE'] ?? '' };
    const anyway = { ignoreMissingTaskQueues: true, identity: 'somebody' };
    /** Empty: workers without a build. */
    const setCurrent = (buildId: string) =>
      patiently(() => workflowService.setWorkerDeploymentCurrentVersion({ ...of, ...anyway, buildId }));
    try {
      for (const build of ['1.0.0', '2.0.0']) await own.startWorker({ env: { CAMBIST_BUILD_ID: build } });
      await setCurrent('1.0.0');
      const { run, release } = await own.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
      await setCurrent('2.0.0');
      await workflowService.setWorkerDeploymentRampingVersion({
        ...of,
        ...anyway,
        buildId: '1.0.0',
        percentage: 50,
      });
      await assert.rejects(
        workflowService.deleteWorkerDeploymentVersion({
          namespace: of.namespace,
          deploymentVersion: { deploymentName: of.deploymentName, buildId: '1.0.0' },
          skipDrainage: true,
          identity: 'somebody',
        }),
      );
      await setCurrent('');
      release();
      await setCurrent('2.0.0');
      assertDone(own, run, await run.report());
    } finally {
      await own.close();
    }
  },

  'Set rate limit | task queue': async () => {
    const own = await openStage({ rates: RATES, balances: RICH });
    const { workflowService } = own.temporal.client;
    const set = (rateLimit: { readonly requestsPerSecond: number } | null) =>
      workflowService.updateTaskQueueConfig({
        namespace: own.temporal.namespace,
        taskQueue: own.env['CAMBIST_TASK_QUEUE'] ?? '',
        taskQueueType: 2,
        updateQueueRateLimit: { rateLimit, reason: 'a test' },
        identity: 'somebody',
      });
    try {
      await own.startWorker();
      const { run, release } = await own.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
      await set({ requestsPerSecond: 0.5 });
      release();
      assertDone(own, run, await run.report());
      await set(null);
    } finally {
      await own.close();
    }
  },

  'Set retention | namespace': async () => {
    const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
    const own = await openStage({ rates: RATES, balances: RICH, temporalAddress: server.address });
    try {
      await own.startWorker();
      const { run, release } = await own.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
      await keepFor(own.temporal, 1);
      release();
      assertDone(own, run, await run.report());
    } finally {
      await own.close();
      await server.kill();
    }
  },
};

describe('pressed beside workflows', { concurrency: 4 }, () => {
  for (const row of BESIDE) test(row, PRESSES[row]);
});
