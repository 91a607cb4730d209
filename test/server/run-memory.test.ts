/**
 * What Temporal remembers for a run beside its own history: what people said outlives whatever is done to the workflow
 * that keeps it, and a workflow under another id than its input makes sends nothing (M1).
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { WorkflowFailedError, WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NOTHING_KEPT, isCancelled, type Instruction, type Kept } from '../../domain/people/instructions.ts';
import { noteFacts } from '../../durable/instructions/keep.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import {
  INSTRUCTIONS_TYPE,
  PLAN_TYPE,
  RUN_TYPE,
  instructionsIdOf,
  planIdOf,
  recordInstructionUpdate,
} from '../../workflows/names.ts';
import { sayGoOn } from '../../operations/decide/go-on.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Place } from '../../operations/place.ts';
import { said } from '../support/instructions.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run } from '../support/stage.ts';
import { say } from '../support/say.ts';

const AT_ONCE = { concurrency: 4 };
const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
});
await stage.startWorker();
after(() => stage.close());
const { client } = stage.temporal;
const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';

/** One payment that waits for money which is not there. */
const waits = (sell: string): string =>
  convertPolicy({
    sell,
    amount: '{ sell: "900000000.00" }',
    shortfall: 'hold',
    withdraw: [{ id: 'supplier', account: MXN_ACCOUNT, fixed: '100.00' }],
  });

async function startWaiting(sell = 'EUR'): Promise<Run> {
  const run = await stage.start(waits(sell));
  await run.heldBy('SHORTFALL');
  return run;
}

const of = (run: Run) => ({ client, taskQueue, mode: 'SANDBOX', run: run.name }) as const;
const keeperOf = (run: Run): WorkflowHandle =>
  client.workflow.getHandle(instructionsIdOf('SANDBOX', run.name));

async function keptOf(run: Run): Promise<Kept> {
  return (await readInstructions(of(run))) ?? NOTHING_KEPT;
}

/** The code with which a workflow failed. */
async function failureOf(handle: WorkflowHandle): Promise<string> {
  const ended = await handle.result().then(
    () => 'completed',
    (error: unknown) => error,
  );
  assert.ok(ended instanceof WorkflowFailedError && ended.cause instanceof ApplicationFailure, String(ended));
  return ended.cause.type ?? '';
}

describe('a workflow under another id than its input makes ends at once, and sends nothing', AT_ONCE, () => {
  test('run', async () => {
    const run = await stage.start(convertPolicy());
    assertDoneOnce(run, await run.report());
    const other = await client.workflow.start(RUN_TYPE, {
      workflowId: `${run.handle.workflowId}-again`,
      taskQueue,
      args: [run.input],
    });
    assert.equal(await failureOf(other), 'WORKFLOW_ID_DIFFERS');
    assert.equal(run.movements().trades.length, 1);
    assert.equal(run.movements().withdrawals.length, 1);
  });

  test('plan', async () => {
    const run = await startWaiting();
    const other = await client.workflow.start(PLAN_TYPE, {
      workflowId: `${planIdOf('SANDBOX', run.name)}-again`,
      taskQueue,
      args: [{ ...run.input, forRun: 'run' }],
    });
    assert.equal(await failureOf(other), 'WORKFLOW_ID_DIFFERS');
  });

  test('instructions', async () => {
    const run = await startWaiting();
    const other = await client.workflow.start(INSTRUCTIONS_TYPE, {
      workflowId: `${instructionsIdOf('SANDBOX', run.name)}-again`,
      taskQueue,
      args: [{ mode: 'SANDBOX', run: run.name, previousRunId: null }],
    });
    assert.equal(await failureOf(other), 'WORKFLOW_ID_DIFFERS');
  });

  test('any of them without an input', async () => {
    const types = [RUN_TYPE, PLAN_TYPE, INSTRUCTIONS_TYPE];
    const handles = await Promise.all(
      types.map((type) =>
        client.workflow.start(type, { workflowId: uniqueName('stray'), taskQueue, args: [] }),
      ),
    );
    const codes = await Promise.all(handles.map(failureOf));
    assert.deepEqual(codes, ['INPUT_INVALID', 'INPUT_INVALID', 'INPUT_INVALID']);
  });
});

/** What may become of the workflow that keeps what people said. */
const LOSSES: readonly (readonly [string, (run: Run) => Promise<void>])[] = [
  ['is terminated', async (run) => void (await keeperOf(run).terminate('clean-up'))],
  [
    'is reset to its beginning, its updates left out',
    async (run) => {
      const keeper = keeperOf(run);
      const { workflowId, runId } = await keeper.describe();
      const [point] = await resetPoints(client.workflow.getHandle(workflowId, runId));
      assert.ok(point !== undefined);
      await resetTo(stage.temporal, { workflowId, runId }, point, { signals: false });
    },
  ],
  [
    'is reset to its last event, its updates left out',
    async (run) => {
      const keeper = keeperOf(run);
      const { workflowId, runId } = await keeper.describe();
      const point = (await resetPoints(client.workflow.getHandle(workflowId, runId))).at(-1);
      assert.ok(point !== undefined);
      await resetTo(stage.temporal, { workflowId, runId }, point, { signals: false });
    },
  ],
];

describe('what was said outlives whatever becomes of the workflow that keeps it', AT_ONCE, () => {
  for (const [what, lose] of LOSSES)
    test(`it ${what}`, async () => {
      const run = await startWaiting();
      const payAgain = { kind: 'pay again', item: 'supplier', follows: 1, recordId: null } as const;
      await say(of(run), payAgain);
      await say(of(run), { kind: 'cancel' });
      await noteFacts(of(run), [{ kind: 'opened', item: 'supplier', generation: 2, atMs: 1 }]);
      const before = await keptOf(run);
      await lose(run);
      assert.deepEqual(await keptOf(run), before);
      // Whoever speaks next speaks to one that knows it all.
      await say(of(run), { kind: 'accept', item: 'usd-mxn-1', recordId: 'tde_1' });
      const { instructions, facts } = await keptOf(run);
      assert.deepEqual(
        instructions.map(({ kind }) => kind),
        ['pay again', 'cancel', 'accept'],
      );
      assert.deepEqual(facts, before.facts);
      assert.ok(isCancelled(instructions));
      await run.wake();
      assert.equal((await run.report()).status, 'CANCELLED');
      assertNothingMoved(run);
    });

  test('it is gone for good while the plan is there: nothing is sent before somebody says what holds', async () => {
    const run = await startWaiting('GBP');
    const { workflowId, runId } = await keeperOf(run).describe();
    await run.handle.terminate('clean-up');
    await client.workflowService.deleteWorkflowExecution({
      namespace: stage.temporal.namespace,
      workflowExecution: { workflowId, runId },
    });
    await eventually('what people said is deleted', async () => (await readInstructions(of(run))) === null);
    stage.sandbox.deposit({ currency: 'GBP', amount: '900000000.00' });
    await run.startAgain();
    const held = await run.heldBy('INSTRUCTIONS_MISSING');
    assertNothingMoved(run);
    assert.equal(held.status, 'HELD');
    await say(of(run), { kind: 'cancel' });
    await run.wake();
    await run.until(({ problems }) => problems.every(({ code }) => code !== 'INSTRUCTIONS_MISSING'));
    assertNothingMoved(run);
  });

  test('what takes a cancel back is refused while a person has said something that its person had not seen', async () => {
    const run = await startWaiting();
    await say(of(run), { kind: 'cancel' });
    const { instructions } = await keptOf(run);
    await say(of(run), { kind: 'cancel', by: 'bo', why: 'not today' });
    const place = { client, taskQueue, mode: 'SANDBOX', namespace: stage.temporal.namespace } as Place;
    await assert.rejects(
      sayGoOn(place, run.name, { by: 'ana', why: 'mended' }, { instructions, facts: [] }),
      (error: unknown) => {
        assert.ok(error instanceof CommandFailure);
        const [problem] = error.problems;
        assert.deepEqual([error.ending, problem?.code], ['refused by us', 'SAID_SINCE']);
        return /"bo": cancel what is not sent: "not today"/.test(problem?.message ?? '');
      },
    );
    assert.ok(isCancelled((await keptOf(run)).instructions));
    await sayGoOn(place, run.name, { by: 'ana', why: 'mended' }, await keptOf(run));
    assert.ok(!isCancelled((await keptOf(run)).instructions));
  });

  test('what is kept only after its person has left is refused, and a cancel is not', async () => {
    const run = await startWaiting();
    const late = (instruction: Instruction) =>
      keeperOf(run).executeUpdate(recordInstructionUpdate, { args: [instruction, { seen: 0, untilMs: 1 }] });
    await assert.rejects(
      late(said({ kind: 'not executed', item: 'supplier' })),
      (error: unknown) =>
        error instanceof WorkflowUpdateFailedError &&
        error.cause instanceof ApplicationFailure &&
        error.cause.type === 'SAID_TOO_LATE',
    );
    assert.deepEqual((await keptOf(run)).instructions, []);
    assert.equal((await late(said({ kind: 'cancel' }))).number, 1);
  });

  test('it ends with the run, and is opened again by whoever speaks next', async () => {
    const run = await stage.start(convertPolicy());
    await run.report();
    await keeperOf(run).result();
    await say(of(run), { kind: 'go-on', item: null });
    assert.equal((await keptOf(run)).instructions.length, 1);
    assert.equal((await keeperOf(run).describe()).status.name, 'RUNNING');
  });
});

describe('only what has the closed shape is kept', AT_ONCE, () => {
  test('an instruction of no known kind is refused and leaves no trace', async () => {
    const run = await startWaiting();
    const before = await keptOf(run);
    const hostile = { ...said({ kind: 'cancel' }), kind: 'pay everybody' } as never;
    await assert.rejects(
      keeperOf(run).executeUpdate(recordInstructionUpdate, {
        args: [hostile, { seen: 0, untilMs: Date.now() }],
      }),
      (error: unknown) =>
        error instanceof WorkflowUpdateFailedError && /Nothing is kept/.test(String(error.cause)),
    );
    assert.deepEqual(await keptOf(run), before);
  });

  test('whoever starts the workflow brings no state of his own', async () => {
    const run = { policy: uniqueName('p'), id: '2026-11-21' };
    const handle = await client.workflow.start(INSTRUCTIONS_TYPE, {
      workflowId: instructionsIdOf('SANDBOX', run),
      taskQueue,
      args: [{ mode: 'SANDBOX', run, previousRunId: null }, NOTHING_KEPT],
    });
    assert.equal(await failureOf(handle), 'CARRIED_STATE_REFUSED');
  });

  test('the same instruction twice is one, with the moment and the date at which it was accepted first', async () => {
    const run = await startWaiting();
    const once = said({ kind: 'pay again', item: 'supplier', follows: 1, recordId: null, id: randomUUID() });
    await say(of(run), once);
    await say(of(run), once);
    const [recorded, ...others] = (await keptOf(run)).instructions;
    assert.deepEqual(others, []);
    assert.ok(recorded !== undefined && Math.abs(recorded.atMs - Date.now()) < 60_000);
    assert.equal(recorded.date, new Date(recorded.atMs).toISOString().slice(0, 10));
  });
});
