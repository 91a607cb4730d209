/** Each button of Temporal's UI and command line, pressed in the middle of a write: docs/operations/buttons.md is this table. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe } from 'node:test';
import { WithStartWorkflowOperation, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { todayIn } from '../../calendar/business-date.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import type { Report } from '../../domain/run/report.ts';
import { runName } from '../../domain/references.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { readStart } from '../../durable/history.ts';
import { startDevServer } from '../../worker/dev-server.ts';
import {
  UNSERVED_QUEUE,
  HALT_TYPE,
  TRIAL_TYPE,
  haltIdOf,
  instructionsIdOf,
  planIdOf,
  trialIdOf,
  type TrialInput,
} from '../../workflows/names.ts';
import { disagreements } from '../support/agreement.ts';
import { applySchedule, startedBy } from '../support/applied-schedule.ts';
import {
  assertPaidOnce,
  chunkOf,
  deleteInTemporal,
  paymentsOf,
  startBatch,
  untilAllEnded,
  type BatchRun,
} from '../support/batches.ts';
import { ON_DEV_SERVER, type OnDevServer } from '../support/button-rows.ts';
import { assertExit, command, flat } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { twoPayments } from '../support/places.ts';
import { RESERVES, SELLS_ALL, convertPolicy } from '../support/policies.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { cell, test } from '../support/sliced.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run, type Stage } from '../support/stage.ts';
import { lasting } from '../support/lasting.ts';
import { WORST_SERVICE } from './resets/services.ts';

const RICH = { USD: '10000000', EUR: '10000000', MXN: '10000000' };
const RATES = { 'USD/MXN': '17.25' };
const stage = await openStage({ rates: RATES, balances: RICH, timePasses: true });
await stage.startWorker();
after(() => stage.close());

type Pressed = { readonly workflowId: string };

const planOf = ({ name }: Run): Pressed => ({ workflowId: planIdOf('SANDBOX', name) });
const instructionsOf = ({ name }: Run): Pressed => ({ workflowId: instructionsIdOf('SANDBOX', name) });
const handleOf = ({ temporal }: Stage, { workflowId }: Pressed): WorkflowHandle =>
  temporal.client.workflow.getHandle(workflowId);

/** _Reset_, to the first event or the last one. */
async function reset(on: Stage, pressed: Pressed, to: 'first' | 'last' = 'first'): Promise<void> {
  const { workflowId, runId } = await handleOf(on, pressed).describe();
  const points = await resetPoints(on.temporal.client.workflow.getHandle(workflowId, runId));
  const point = points.at(to === 'first' ? 0 : -1);
  assert.ok(point !== undefined, `${workflowId} has an event to go back to`);
  await resetTo(on.temporal, { workflowId, runId }, point);
}

const cancel = async (on: Stage, pressed: Pressed): Promise<void> => {
  await handleOf(on, pressed).cancel();
};
const terminate = async (on: Stage, pressed: Pressed): Promise<void> => {
  await handleOf(on, pressed).terminate('a mistake');
};
const remove = (on: Stage, { workflowId }: Pressed): Promise<void> => deleteInTemporal(on, [workflowId]);

/** _Start Workflow Like This One_: the type, the task queue and the input of the newest Temporal run. */
async function startLike(
  on: Stage,
  pressed: Pressed,
  workflowId = pressed.workflowId,
): Promise<WorkflowHandle> {
  const { client } = on.temporal;
  const start = await readStart(client, pressed.workflowId);
  const { taskQueue } = await handleOf(on, pressed).describe();
  return client.workflow.start(start?.type ?? '', { workflowId, taskQueue, args: [start?.input] });
}

/** The same for each workflow whose id begins so, as from the list of workflows. */
async function resetMany(on: Stage, beginning: string, to: 'first' | 'last', count: number): Promise<void> {
  const { client, namespace } = on.temporal;
  const visibilityQuery = `WorkflowId STARTS_WITH '${beginning}'`;
  await eventually(
    'all of them in the list',
    async () => (await client.workflow.count(visibilityQuery)).count >= count,
  );
  const jobId = randomUUID();
  const options = to === 'first' ? { firstWorkflowTask: {} } : { lastWorkflowTask: {} };
  await client.workflowService.startBatchOperation({
    namespace,
    visibilityQuery,
    jobId,
    reason: 'a test',
    resetOperation: { identity: 'somebody', options },
  });
  await eventually('the end of the batch operation', async () => {
    const told = await client.workflowService.describeBatchOperation({ namespace, jobId });
    return Number(told.completeOperationCount) + Number(told.failureOperationCount) >= count;
  });
}

/** What a workflow that was refused failed with. */
async function failureOf(handle: WorkflowHandle): Promise<string> {
  const ended: unknown = await handle.result().then(
    () => 'completed',
    (error: unknown) => error,
  );
  assert.ok(ended instanceof WorkflowFailedError && ended.cause instanceof ApplicationFailure, String(ended));
  return ended.cause.type ?? '';
}

function assertDone(on: Stage, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(disagreements(report, on.sandbox.ledger()), []);
  const { trades, withdrawals } = run.movements();
  assert.deepEqual([trades.length, withdrawals.length], [report.legs.length, report.payments.length]);
}

/** A button that is pressed while the reply to a withdrawal is on its way. */
async function inPayment(press: (run: Run) => Promise<void>): Promise<Run> {
  const { run, release } = await stage.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
  const before = run.movements();
  await press(run);
  release();
  assertDone(stage, run, await run.report());
  const { trades, withdrawals } = run.movements();
  assert.deepEqual(trades, before.trades, 'nothing is traded again');
  assert.equal(withdrawals.length, 2);
  return run;
}

/** A button that is pressed while the plan is being made: the service answers nobody who has its key. */
async function inPlan(press: (on: Stage, pressed: Pressed) => Promise<void>): Promise<void> {
  const own = await openStage({ rates: RATES, balances: RICH, timePasses: true });
  try {
    await own.startWorker();
    own.setKeyActive(false);
    const run = await own.start(twoPayments());
    await eventually('the plan waits', async () => {
      const shown = await handleOf(own, planOf(run))
        .describe()
        .catch(() => null);
      return shown?.memo?.['waits'] ?? null;
    });
    await press(own, planOf(run));
    own.setKeyActive(true);
    assertDone(own, run, await run.report());
  } finally {
    await own.close();
  }
}

const ID = `${todayIn('UTC', Date.now())}-weekly`;

/** A batch of two chunks, the first payment of the second one booked while its reply is on the way. */
async function startPaying(
  on: Stage = stage,
): Promise<{ readonly batch: BatchRun; readonly release: () => void }> {
  const name = uniqueName('b');
  const held = on.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 1,
    when: { reference: `${name}.${ID}.inv-4` },
    effect: { kind: 'hold', when: 'after' },
  });
  const batch = await startBatch(on, paymentsOf(6), { perChunk: 3, name, id: ID });
  await on.sandbox.faultHit(held);
  return { batch, release: () => on.sandbox.releaseFaults(held) };
}

async function inBatch(press: (batch: BatchRun) => Promise<void>): Promise<void> {
  const { batch, release } = await startPaying();
  await press(batch);
  release();
  assertPaidOnce(batch, await untilAllEnded(stage, batch));
}

/** The same payments with other amounts: no payment of one looks like one of the other. */
const dearer = (payments: readonly BatchPayment[]): readonly BatchPayment[] =>
  payments.map(([id, account, currency, amount]): BatchPayment => [id, account, currency, `1${amount}`]);

/** A button that is pressed while a run that has the turn is about to hear of its trade. */
async function inTurn(press: (on: Stage, turn: Pressed) => Promise<unknown>): Promise<void> {
  const own = await openStage({ rates: RATES, balances: { USD: '150000' }, timePasses: true });
  try {
    await own.startWorker();
    const { run, release } = await own.startHeld(SELLS_ALL, 'createTrade', { when: 'after' });
    const query = `WorkflowType = 'turn' AND TaskQueue = '${own.env['CAMBIST_TASK_QUEUE'] ?? ''}'`;
    const turn = await eventually('the turn in the list', async () => {
      for await (const { workflowId } of own.temporal.client.workflow.list({ query })) return { workflowId };
      return null;
    });
    await press(own, turn);
    release();
    assertDone(own, run, await run.report());
    assert.equal(run.movements().trades.length, 1);
  } finally {
    await own.close();
  }
}

const ODD_SIGNALS = [
  ['payEverybody', 'now'],
  ['wake', 'now'],
  ['news', 'none'],
] as const;

async function signalAll(batch: BatchRun): Promise<void> {
  for (const pressed of [batch.handle, instructionsOf(batch), chunkOf(stage, batch, 2)])
    for (const [name, ...args] of [...ODD_SIGNALS, ['runEnded']] as const)
      await handleOf(stage, pressed).signal(name, ...args);
  // One that has ended takes none.
  await assert.rejects(handleOf(stage, planOf(batch)).signal('payEverybody', 'now'));
}

/** So long an update may wait for somebody who takes it. */
const UPDATE_MS = 3_000;

/** An update that no workflow of ours knows is refused; where nobody could refuse it, it leaves nothing behind. */
async function refused(on: Stage, pressed: Pressed): Promise<void> {
  const { client } = on.temporal;
  const handle = handleOf(on, pressed);
  const send = () => handle.executeUpdate('payEverybody', { args: ['now'] });
  await assert.rejects(client.withDeadline(Date.now() + UPDATE_MS, send));
}

async function signalWithStart(on: Stage, { workflowId }: Pressed): Promise<void> {
  const { client } = on.temporal;
  const start = await readStart(client, workflowId);
  await client.workflow.signalWithStart(start?.type ?? '', {
    workflowId,
    taskQueue: on.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [start?.input],
    signal: 'payEverybody',
    signalArgs: ['now'],
  });
}

async function updateWithStart(on: Stage, { workflowId }: Pressed): Promise<void> {
  const { client } = on.temporal;
  const start = await readStart(client, workflowId);
  const startWorkflowOperation = new WithStartWorkflowOperation(start?.type ?? '', {
    workflowId,
    taskQueue: on.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [start?.input],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  await assert.rejects(
    client.workflow.executeUpdateWithStart('payEverybody', { args: ['now'], startWorkflowOperation }),
  );
}

/** `temporal workflow update-options`: only workers of this build may have it; null: any worker may. */
async function pin({ temporal, env }: Stage, { workflowId }: Pressed, buildId: string | null): Promise<void> {
  const { client, namespace } = temporal;
  const version = { deploymentName: env['CAMBIST_TASK_QUEUE'] ?? '', buildId };
  await client.workflowService.updateWorkflowExecutionOptions({
    namespace,
    workflowExecution: { workflowId },
    updateMask: { paths: ['versioning_override'] },
    workflowExecutionOptions:
      buildId === null ? {} : { versioningOverride: { pinned: { behavior: 1, version } } },
  });
}

const PRESSES: Record<OnDevServer, () => Promise<void>> = {
  'Reset many to the first event | run, plan, instructions, chunk': () =>
    inBatch(({ handle }) => resetMany(stage, handle.workflowId, 'first', 5)),
  'Reset many to the last event | run, plan, instructions, chunk': () =>
    inBatch(({ handle }) => resetMany(stage, handle.workflowId, 'last', 5)),

  'Terminate | run': async () => {
    await inPayment(async (run) => {
      await terminate(stage, run.handle);
      const told = await command(stage, ['status', runName(run.name)]);
      assert.match(flat(told.stdout), /terminated/i);
      await run.startAgain();
    });
  },
  'Delete | run': async () => {
    await inPayment(async (run) => {
      await remove(stage, run.handle);
      await run.startAgain();
    });
  },
  'Start like this one | run': async () => {
    const run = await inPayment(async ({ handle }) => {
      await assert.rejects(startLike(stage, handle), /already started/);
    });
    const first = await run.report();
    await startLike(stage, run.handle);
    assert.deepEqual(lasting(await run.report()), lasting(first));
    assertDone(stage, run, await run.report());
  },

  'Cancel | plan': () => inPlan(cancel),
  'Terminate | plan': () => inPlan(terminate),
  'Delete | plan': async () => {
    await inPlan(remove);
    // Also once it is made: the run goes on by what it has read.
    await inPayment((run) => remove(stage, planOf(run)));
  },

  'Reset, Cancel, Terminate | instructions': async () => {
    for (const press of [reset, cancel, terminate])
      // One after the other: each of them says what has failed.
      await inPayment(async (run) => press(stage, instructionsOf(run)));
  },
  'Start like this one | instructions': async () => {
    const run = await inPayment(async (open) => {
      await assert.rejects(startLike(stage, instructionsOf(open)), /already started/);
    });
    const first = await run.report();
    await handleOf(stage, instructionsOf(run)).result();
    await startLike(stage, instructionsOf(run));
    await run.startAgain();
    assert.deepEqual(lasting(await run.report()), lasting(first));
    assertDone(stage, run, await run.report());
  },

  'Delete | chunk': () =>
    inBatch(async (batch) => {
      const { workflowId } = chunkOf(stage, batch, 2);
      await remove(stage, { workflowId });
      await batch.wake();
      await eventually('it is said', async () => {
        const told = await command(stage, ['status', runName(batch.name)]);
        return /is not in Temporal|CHUNK_MISSING/.test(flat(told.stdout));
      });
      // As the same `npx cambist run` submits what is missing.
      const payments = batch.payments.slice(3);
      const input = { run: batch.name, mode: 'SANDBOX', number: 2, payments, isFirst: false } as const;
      await startChunk(
        stage.temporal.client,
        stage.env['CAMBIST_TASK_QUEUE'] ?? '',
        input,
        'REJECT_DUPLICATE',
      );
    }),
  'Start like this one | chunk': async () => {
    const own = await openStage({ rates: RATES, balances: RICH, timePasses: true, settings: WORST_SERVICE });
    try {
      await own.startWorker();
      const { batch, release } = await startPaying(own);
      await assert.rejects(startLike(own, chunkOf(own, batch, 2)), /already started/);
      await terminate(own, chunkOf(own, batch, 2));
      await startLike(own, chunkOf(own, batch, 2));
      release();
      const first = await untilAllEnded(own, batch);
      assertPaidOnce(batch, first);
      // Once the batch has ended, another one with the same ids asks it who is paid.
      await startLike(own, chunkOf(own, batch, 1));
      const second = await startBatch(own, dearer(paymentsOf(6)), {
        perChunk: 3,
        name: batch.name.policy,
        id: `${ID}-b`,
      });
      const told = await second.report();
      assert.deepEqual(second.movements().withdrawals, []);
      assert.ok(told.payments.every(({ outcome }) => outcome === 'NOT_PAID'));
      assert.deepEqual(lasting(await untilAllEnded(own, batch)), lasting(first));
    } finally {
      await own.close();
    }
  },

  'Reset | turn': async () => {
    await inTurn(async (own, turn) => {
      const holder = await own.start(RESERVES);
      await holder.until(({ status }) => status === 'HELD');
      await reset(own, turn);
      own.sandbox.setBalances({ USD: '150000' });
      const other = await own.start(SELLS_ALL);
      await other.until(({ status }) => status !== 'RUNNING');
      assert.deepEqual(other.movements().trades, [], 'it still knows who has reserved the money');
    });
  },
  'Cancel, Terminate, Delete, Start like this one | turn': async () => {
    for (const press of [cancel, terminate, remove, startLike])
      // One after the other: each of them says what has failed.
      await inTurn(async (own, turn) => {
        if (press === startLike) {
          await assert.rejects(startLike(own, turn), /already started/);
          await terminate(own, turn);
        }
        await press(own, turn);
      });
  },

  'Reset, Cancel, Terminate, Delete, Start like this one, Signal, Update | halt': async () => {
    // A server of its own: a record that is deleted halts everything.
    const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
    const own = await openStage({ rates: RATES, balances: RICH, temporalAddress: server.address });
    try {
      await own.startWorker();
      const halted = own.find(convertPolicy(), {});
      const { policy } = halted.name;
      assertExit(await command(own, ['halt', '--policy', policy, '--reason', 'a doubt', '--by', 'ana']), 0);
      const halt = { workflowId: haltIdOf('SANDBOX') };
      const stands = async (): Promise<void> => {
        const told = await command(own, ['status', '--json']);
        assert.match(told.stdout, /"why": ?"a doubt"/);
      };
      await stands();
      await assert.rejects(reset(own, halt), /has an event to go back to/);
      await handleOf(own, halt).signal('payEverybody', 'now');
      await handleOf(own, halt).signal('resume', 'everything');
      await refused(own, halt);
      // A worker may have begun a new record before the second person did.
      const likeThis = (): Promise<unknown> => startLike(own, halt).catch(() => undefined);
      for (const press of [cancel, terminate, likeThis, remove]) {
        await press(own, halt);
        await eventually(`the halt stands after ${press.name}`, () =>
          stands().then(
            () => true,
            () => null,
          ),
        );
      }
      await halted.startAgain();
      await halted.heldBy('HALTED');
      assertNothingMoved(halted);
      await command(own, ['resume', '--by', 'ben']);
      assertExit(await command(own, ['resume', '--policy', policy, '--by', 'ben']), 0);
      assertDoneOnce(halted, await halted.report());
    } finally {
      await own.close();
      await server.kill();
    }
  },

  'Reset, Cancel, Terminate, Delete, Start like this one | scheduled': async () => {
    const { name, scheduled, moved } = await triggered();
    await handleOf(stage, scheduled).result();
    const report = await eventually('the end of the run', async () => {
      const told = await command(stage, ['status', `${name}.${todayIn('UTC', Date.now())}`]);
      return /is completed/.test(told.stdout) ? told : null;
    });
    assert.ok(report !== null);
    assert.equal(moved(), 1);
    await reset(stage, scheduled);
    assert.match(JSON.stringify(await handleOf(stage, scheduled).result()), /ended/);
    // The UI does not bring the time with it, by which its id is made.
    assert.equal(await failureOf(await startLike(stage, scheduled)), 'INPUT_INVALID');
    await remove(stage, scheduled);
    assert.equal(moved(), 1);
    for (const press of [cancel, terminate]) {
      const untaken = await triggered(uniqueName('nobody'));
      await press(stage, untaken.scheduled);
      assert.equal(untaken.moved(), 0);
    }
  },
  'Reset, Cancel, Terminate, Delete, Start like this one, Signal, Update | trial': async () => {
    const before = stage.sandbox.ledger();
    const { name, text, file } = await applySchedule(stage);
    const { client } = stage.temporal;
    const asked = await eventually('the trial in the list', async () => {
      for await (const { workflowId } of client.workflow.list({ query: `WorkflowType = '${TRIAL_TYPE}'` }))
        if (workflowId.includes(`/${name}-`)) return { workflowId };
      return null;
    });
    const answer = await handleOf(stage, asked).result();
    await reset(stage, asked);
    assert.deepEqual(await handleOf(stage, asked).result(), answer);
    assert.deepEqual(await (await startLike(stage, asked)).result(), answer);
    await remove(stage, asked);
    const scheduled = { mode: 'SANDBOX', policy: name, policyText: text, policyFile: file } as const;
    const presses = [
      cancel,
      terminate,
      refused,
      (on: Stage, it: Pressed) => handleOf(on, it).signal('start'),
    ];
    for (const [index, press] of presses.entries()) {
      const input: TrialInput = { ...scheduled, token: `untaken-${index}` };
      const untaken = { workflowId: trialIdOf(input) };
      // No worker takes it, so that it is open while the button is pressed.
      await client.workflow.start(TRIAL_TYPE, {
        ...untaken,
        taskQueue: uniqueName('nobody'),
        args: [input],
        workflowExecutionTimeout: 5_000,
      });
      await press(stage, untaken);
    }
    const ofPolicy = ({ clientReferenceId }: { readonly clientReferenceId?: unknown }): boolean =>
      String(clientReferenceId).startsWith(`${name}.`);
    assert.deepEqual(
      [before, stage.sandbox.ledger()].map(({ trades }) => trades.filter(ofPolicy)),
      [[], []],
    );
    assert.equal(
      await client.workflow.count(`WorkflowId STARTS_WITH 'sandbox/${name}.'`).then(({ count }) => count),
      0,
    );
  },

  'Signal | run, plan, instructions, chunk, turn, scheduled': async () => {
    await inBatch((batch) => signalAll(batch));
    await inTurn(async (own, turn) => {
      for (const [name, ...args] of [
        ...ODD_SIGNALS,
        ['giveBack', 5],
        ['forget', 'all'],
        ['reopen', null],
      ] as const)
        await handleOf(own, turn).signal(name, ...args);
    });
    const { scheduled, moved } = await triggered(uniqueName('nobody'));
    await handleOf(stage, scheduled).signal('payEverybody', 'now');
    assert.equal(moved(), 0);
  },
  'Update | run, plan, instructions, chunk, turn, scheduled': async () => {
    await inBatch(async (batch) => {
      for (const pressed of [batch.handle, planOf(batch), instructionsOf(batch), chunkOf(stage, batch, 2)])
        await refused(stage, pressed);
    });
    await inTurn(refused);
    const { scheduled, moved } = await triggered(uniqueName('nobody'));
    await refused(stage, scheduled);
    assert.equal(moved(), 0);
  },
  'Start under another id | run, plan, instructions, chunk, turn, halt, scheduled': async () => {
    const before = stage.sandbox.requests().at(-1)?.seq;
    const elsewhere = async (on: Stage, pressed: Pressed): Promise<void> => {
      const started = await startLike(on, pressed, uniqueName('elsewhere'));
      assert.match(await failureOf(started), /WORKFLOW_ID_DIFFERS|INPUT_INVALID/);
    };
    await inBatch(async (batch) => {
      for (const pressed of [batch.handle, planOf(batch), instructionsOf(batch), chunkOf(stage, batch, 2)])
        await elsewhere(stage, pressed);
    });
    await inTurn(elsewhere);
    const { scheduled } = await triggered();
    await elsewhere(stage, scheduled);
    assert.notEqual(stage.sandbox.requests().at(-1)?.seq, before);
    // No code stands behind it, and only the one id is read.
    const workflowId = uniqueName('elsewhere');
    await stage.temporal.client.workflow.start(HALT_TYPE, {
      workflowId,
      taskQueue: UNSERVED_QUEUE,
      args: [[]],
    });
    await inPayment(async () => {});
    await handleOf(stage, { workflowId }).terminate('the test is over');
  },
  'Signal with start, Update with start | run, plan, instructions, chunk, turn': async () => {
    const { batch, release } = await startPaying();
    release();
    const first = await untilAllEnded(stage, batch);
    await handleOf(stage, instructionsOf(batch)).result();
    for (const pressed of [batch.handle, planOf(batch), instructionsOf(batch), chunkOf(stage, batch, 2)]) {
      // One after the other, each when the one before has ended.
      await signalWithStart(stage, pressed);
      assert.deepEqual(lasting(await untilAllEnded(stage, batch)), lasting(first));
      await updateWithStart(stage, pressed);
      assert.deepEqual(lasting(await untilAllEnded(stage, batch)), lasting(first));
    }
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
    await inTurn(async (own, turn) => {
      await signalWithStart(own, turn);
      await updateWithStart(own, turn);
    });
  },
  'Update options | run, plan, instructions, chunk, turn': async () => {
    const { batch, release } = await startPaying();
    const all = [batch.handle, instructionsOf(batch), chunkOf(stage, batch, 1), chunkOf(stage, batch, 2)];
    for (const pressed of all) await pin(stage, pressed, '9.9.9');
    release();
    const told = await command(stage, ['status', runName(batch.name)]);
    assertExit(told, 7);
    assert.match(flat(told.stdout), /pinned it to workers of build "9\.9\.9"/);
    assert.equal(
      batch.movements().withdrawals.filter(({ metadata }) => JSON.stringify(metadata).includes('inv-6'))
        .length,
      0,
    );
    for (const pressed of all) await pin(stage, pressed, null);
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
    // A plan that is made has ended, and nobody can pin it; one that is being made waits until its pin is taken back.
    await inPlan(async (own, plan) => {
      await pin(own, plan, '9.9.9');
      await pin(own, plan, null);
    });
    await inTurn(async (own, turn) => {
      await pin(own, turn, '9.9.9');
      await pin(own, turn, null);
    });
  },
};

/** A schedule whose start was pressed: _Trigger_. @param taskQueue absent: that of the stage */
async function triggered(taskQueue?: string): Promise<{
  readonly name: string;
  readonly scheduled: Pressed;
  readonly moved: () => number;
}> {
  const { name, schedule } = await applySchedule(stage, taskQueue);
  await schedule.trigger();
  const [workflowId = ''] = await startedBy(schedule);
  const moved = (): number =>
    stage.sandbox
      .ledger()
      .trades.filter(({ clientReferenceId }) => String(clientReferenceId).startsWith(`${name}.`)).length;
  return { name, scheduled: { workflowId }, moved };
}

/** Those that `npm test` presses too: the ones that have moved money twice. */
const CELLS: readonly OnDevServer[] = ['Start like this one | chunk', 'Delete | run'];

describe('pressed while something is under way', { concurrency: 8 }, () => {
  for (const row of ON_DEV_SERVER) (CELLS.includes(row) ? cell : test)(row, PRESSES[row]);
});
