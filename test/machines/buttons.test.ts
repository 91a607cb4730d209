/** Each button of Temporal's UI and command line, pressed in the middle of a write: docs/operations/buttons.md is this table. */
import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { runName } from '../../domain/references.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { startDevServer } from '../../worker/dev-server.ts';
import {
  UNSERVED_QUEUE,
  HALT_TYPE,
  TRIAL_TYPE,
  haltIdOf,
  trialIdOf,
  type TrialInput,
} from '../../workflows/names.ts';
import { applySchedule, startedBy, type AppliedSchedule } from '../support/applied-schedule.ts';
import {
  assertPaidOnce,
  chunkOf,
  paymentsOf,
  startBatch,
  untilAllEnded,
  type BatchRun,
} from '../support/batches.ts';
import { ON_DEV_SERVER, type OnDevServer } from '../support/button-rows.ts';
import { assertExit, command, flat } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { gateOf } from '../support/gate.ts';
import { eventually } from '../support/patience.ts';
import { twoPayments } from '../support/places.ts';
import { RESERVES, SELLS_ALL, convertPolicy } from '../support/policies.ts';
import {
  assertDone,
  cancel,
  failureOf,
  BATCH_ID,
  handleOf,
  inBatch,
  inPayment,
  instructionsOf,
  pin,
  planOf,
  refused,
  remove,
  reset,
  resetMany,
  signalWithStart,
  startLike,
  startPaying,
  terminate,
  updateWithStart,
  type Pressed,
} from '../support/presses.ts';
import { cell, test } from '../support/sliced.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Stage } from '../support/stage.ts';
import { lasting } from '../support/lasting.ts';
import { WORST_SERVICE } from './resets/services.ts';

const RICH = { USD: '10000000', EUR: '10000000', MXN: '10000000' };
const RATES = { 'USD/MXN': '17.25' };
const stage = await openStage({ rates: RATES, balances: RICH, timePasses: true });
await stage.startWorker();
after(() => stage.close());

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

/** A button that is pressed while a policy is halted, whose run waits for that. `stands`: what was halted still is. */
async function inHalt(
  press: (on: Stage, halt: Pressed, stands: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // A server of its own: a record that is deleted halts everything.
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  const own = await openStage({ rates: RATES, balances: RICH, temporalAddress: server.address });
  try {
    await own.startWorker();
    const halted = own.find(convertPolicy(), {});
    const { policy } = halted.name;
    assertExit(await command(own, ['halt', '--policy', policy, '--reason', 'a doubt', '--by', 'ana']), 0);
    const stands = async (): Promise<void> => {
      await eventually('the halt stands', async () => {
        const told = await command(own, ['status', '--json']);
        return /"why": ?"a doubt"/.test(told.stdout) || null;
      });
    };
    await stands();
    await press(own, { workflowId: haltIdOf('SANDBOX') }, stands);
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
}

/**
 * A button that is pressed while a start by a schedule is under way: its call has not begun. What the press returns is done once the
 * run of the date has ended.
 */
async function inScheduled(
  press: (on: Stage, scheduled: Pressed) => Promise<void | (() => Promise<void>)>,
): Promise<void> {
  const own = await openStage({ rates: RATES, balances: RICH });
  try {
    const { interceptors, open } = gateOf('startScheduled');
    await own.startWorker({ temporal: { debugMode: true, interceptors } });
    const { name, text, schedule } = await applySchedule(own);
    await schedule.trigger();
    const [workflowId = ''] = await startedBy(schedule);
    await eventually(
      'its call',
      async () => (await handleOf(own, { workflowId }).describe()).raw.pendingActivities?.length,
    );
    const afterwards = await press(own, { workflowId });
    open();
    const run = own.find(text, { name, id: todayIn('UTC', Date.now()) });
    await eventually('the run of the date', () =>
      run.handle.describe().then(
        () => true,
        () => null,
      ),
    );
    assertDoneOnce(run, await run.report());
    await afterwards?.();
    assertDoneOnce(run, await run.report());
    await schedule.delete();
  } finally {
    await own.close();
  }
}

/**
 * Buttons that are pressed while starts by schedules wait, which a worker has taken: the service refuses the key. Each is pressed on
 * a start of its own.
 * @param then once the key counts again
 */
async function whileStartsWait(
  presses: readonly ((on: Stage, scheduled: Pressed) => Promise<unknown>)[],
  then: (own: Stage, waited: readonly (AppliedSchedule & Pressed)[]) => Promise<void>,
): Promise<void> {
  const own = await openStage({ rates: RATES, balances: RICH });
  try {
    await own.startWorker();
    const applied = await Promise.all(presses.map(() => applySchedule(own)));
    own.setKeyActive(false);
    const waited = await Promise.all(
      applied.map(async (one) => {
        await one.schedule.trigger();
        const [workflowId = ''] = await startedBy(one.schedule);
        await eventually('it waits for the service', async () => {
          const { raw } = await handleOf(own, { workflowId }).describe();
          return raw.pendingActivities?.[0]?.lastFailure;
        });
        return { ...one, workflowId };
      }),
    );
    for (const [index, press] of presses.entries()) {
      const scheduled = waited[index] ?? assert.fail('Each has its start.');
      await press(own, scheduled);
    }
    own.setKeyActive(true);
    await then(own, waited);
    for (const { schedule } of applied) await schedule.delete();
  } finally {
    await own.close();
  }
}

/** The run of today, once its schedule has started it. */
async function untilDone(on: Stage, { name, text }: AppliedSchedule): Promise<void> {
  const run = on.find(text, { name, id: todayIn('UTC', Date.now()) });
  await eventually('the run of the date', () =>
    run.handle.describe().then(
      () => true,
      () => null,
    ),
  );
  assertDoneOnce(run, await run.report());
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

const PRESSES: Record<OnDevServer, () => Promise<void>> = {
  'Reset many to the first event | run, plan, instructions, chunk': () =>
    inBatch(stage, ({ handle }) => resetMany(stage, handle.workflowId, 'first', 5)),
  'Reset many to the last event | run, plan, instructions, chunk': () =>
    inBatch(stage, ({ handle }) => resetMany(stage, handle.workflowId, 'last', 5)),

  'Reset many to the first event, Reset many to the last event | turn, halt, scheduled': async () => {
    for (const to of ['first', 'last'] as const) {
      await inTurn((own, { workflowId }) => resetMany(own, workflowId, to, 1));
      await inHalt(async (own, { workflowId }, stands) => {
        const before = await handleOf(own, { workflowId }).describe();
        await resetMany(own, workflowId, to, 1);
        const since = await handleOf(own, { workflowId }).describe();
        assert.equal(since.runId, before.runId, 'it has no event to go back to');
        await stands();
      });
      await inScheduled(async (own, scheduled) => {
        const { runId } = await handleOf(own, scheduled).describe();
        await resetMany(own, scheduled.workflowId, to, 1);
        assert.notEqual((await handleOf(own, scheduled).describe()).runId, runId);
        return async () => assert.match(JSON.stringify(await handleOf(own, scheduled).result()), /kind/);
      });
    }
  },

  'Terminate | run': async () => {
    await inPayment(stage, async (run) => {
      await terminate(stage, run.handle);
      const told = await command(stage, ['status', runName(run.name)]);
      assert.match(flat(told.stdout), /terminated/i);
      await run.startAgain();
    });
  },
  'Delete | run': async () => {
    await inPayment(stage, async (run) => {
      await remove(stage, run.handle);
      await run.startAgain();
    });
  },
  'Start like this one | run': async () => {
    const run = await inPayment(stage, async ({ handle }) => {
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
    await inPayment(stage, (run) => remove(stage, planOf(run)));
  },

  'Reset, Cancel, Terminate | instructions': async () => {
    for (const press of [reset, cancel, terminate])
      // One after the other: each of them says what has failed.
      await inPayment(stage, async (run) => press(stage, instructionsOf(run)));
  },
  'Start like this one | instructions': async () => {
    const run = await inPayment(stage, async (open) => {
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
    inBatch(stage, async (batch) => {
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
        id: `${BATCH_ID}-b`,
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
    await inHalt(async (own, halt, stands) => {
      await assert.rejects(reset(own, halt), /has an event to go back to/);
      await handleOf(own, halt).signal('payEverybody', 'now');
      await handleOf(own, halt).signal('resume', 'everything');
      await refused(own, halt);
      // A worker may have begun a new record before the second person did.
      const likeThis = (): Promise<unknown> => startLike(own, halt).catch(() => undefined);
      for (const press of [cancel, terminate, likeThis, remove]) {
        await press(own, halt);
        await stands();
      }
    });
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
    await whileStartsWait([reset, cancel, terminate, remove], async (own, waited) => {
      const [wasReset = assert.fail('There is one.'), ...ended] = waited;
      await untilDone(own, wasReset);
      // Temporal's list is a moment behind.
      await eventually('all that were ended are told as missed', async () => {
        const told = flat((await command(own, ['list', '--attention'])).stdout);
        return ended.every(({ name: of }) =>
          told.includes(`${of}.${todayIn('UTC', Date.now())} was to start at`),
        );
      });
      for (const one of ended) {
        assert.equal(own.find(one.text, { name: one.name }).movements().trades.length, 0);
        assertExit(await command(own, ['schedule', 'trigger', one.name]), 0);
        await untilDone(own, one);
      }
    });
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
    await inBatch(stage, (batch) => signalAll(batch));
    await inTurn(async (own, turn) => {
      for (const [name, ...args] of [
        ...ODD_SIGNALS,
        ['giveBack', 5],
        ['forget', 'all'],
        ['reopen', null],
      ] as const)
        await handleOf(own, turn).signal(name, ...args);
    });
    await inPlan(async (own, plan) => {
      for (const [name, ...args] of ODD_SIGNALS) await handleOf(own, plan).signal(name, ...args);
    });
    await inScheduled(async (own, scheduled) => {
      for (const [name, ...args] of ODD_SIGNALS) await handleOf(own, scheduled).signal(name, ...args);
    });
  },
  'Update | run, plan, instructions, chunk, turn, scheduled': async () => {
    await inBatch(stage, async (batch) => {
      for (const pressed of [batch.handle, planOf(batch), instructionsOf(batch), chunkOf(stage, batch, 2)])
        await refused(stage, pressed);
    });
    await inTurn(refused);
    await inPlan(refused);
    await inScheduled(refused);
  },
  'Start under another id | run, plan, instructions, chunk, turn, halt, scheduled': async () => {
    const before = stage.sandbox.requests().at(-1)?.seq;
    const elsewhere = async (on: Stage, pressed: Pressed): Promise<void> => {
      const started = await startLike(on, pressed, uniqueName('elsewhere'));
      assert.match(await failureOf(started), /WORKFLOW_ID_DIFFERS|INPUT_INVALID/);
    };
    await inBatch(stage, async (batch) => {
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
    await inPayment(stage, async () => {});
    await handleOf(stage, { workflowId }).terminate('the test is over');
  },
  'Signal with start, Update with start | run, plan, instructions, chunk, turn': async () => {
    const { batch, release } = await startPaying(stage);
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
  'Signal with start, Update with start | halt, scheduled': async () => {
    await inHalt(async (own, halt, stands) => {
      for (const end of [null, terminate]) {
        await end?.(own, halt);
        for (const signal of [['payEverybody'], ['resume', 'everything']] as const)
          await signalWithStart(own, halt, signal);
        await updateWithStart(own, halt);
        await stands();
      }
    });
    await inScheduled(async (own, scheduled) => {
      await signalWithStart(own, scheduled);
      await updateWithStart(own, scheduled);
      return async () => {
        await handleOf(own, scheduled).result();
        // One that has ended is started like the last one, without the time by which its id is made.
        await signalWithStart(own, scheduled);
        assert.equal(await failureOf(handleOf(own, scheduled)), 'INPUT_INVALID');
        await updateWithStart(own, scheduled);
        assert.equal(await failureOf(handleOf(own, scheduled)), 'INPUT_INVALID');
      };
    });
  },
  'Update options | halt, scheduled': async () => {
    await inHalt(async (own, halt, stands) => {
      // No worker serves it, of whatever build.
      await pin(own, halt, '9.9.9');
      await stands();
      await pin(own, halt, null);
    });
    await inScheduled(async (own, scheduled) => {
      await pin(own, scheduled, '9.9.9');
      return async () => {
        assert.equal((await handleOf(own, scheduled).describe()).status.name, 'RUNNING');
        await pin(own, scheduled, null);
        await handleOf(own, scheduled).result();
      };
    });
  },
  'Update options | run, plan, instructions, chunk, turn': async () => {
    const { batch, release } = await startPaying(stage);
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
