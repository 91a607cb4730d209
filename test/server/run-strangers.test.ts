/**
 * What a worker believes: Temporal carries data, not authority. Whatever somebody puts there by hand, no account, amount
 * or currency leaves that the plan and the policy do not confirm (M1, M4).
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Client, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, type PayloadCodec } from '@temporalio/common';
import { readFirstPlan } from '../../durable/plans.ts';
import { listRuns, requireRun } from '../../operations/follow/runs.ts';
import { readStuck } from '../../operations/follow/stuck.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { RUN_TYPE, instructionsIdOf, planIdOf, reportQuery } from '../../workflows/names.ts';
import { readReport } from '../../domain/run/report.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { Follower } from '../support/shown.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run } from '../support/stage.ts';

const AT_ONCE = { concurrency: 4 };
const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
});
await stage.startWorker();
after(() => stage.close());
const { client } = stage.temporal;
const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';

/** A run that nobody has started: its name, its input and what moves under it. */
async function unstarted(): Promise<Run> {
  const run = await stage.start(convertPolicy(), { taskQueue: uniqueName('nobody') });
  await run.handle.terminate('only its input is wanted');
  return run;
}

function startWith(
  run: Run,
  args: readonly unknown[],
  more: object = {},
): Promise<WorkflowHandle & { readonly firstExecutionRunId: string }> {
  return client.workflow.start(RUN_TYPE, {
    workflowId: run.handle.workflowId,
    taskQueue,
    args: [...args],
    ...more,
  });
}

async function failureOf(handle: WorkflowHandle): Promise<ApplicationFailure> {
  const ended: unknown = await handle.result().then(
    () => 'completed',
    (error: unknown) => error,
  );
  assert.ok(ended instanceof WorkflowFailedError && ended.cause instanceof ApplicationFailure, String(ended));
  return ended.cause;
}

describe('an input that Cambist did not make', AT_ONCE, () => {
  test('is of the other mode: it waits for a worker of that mode, and nothing is sent', async () => {
    const run = await unstarted();
    const input = { ...run.input, mode: 'LIVE' as const };
    const handle = await client.workflow.start(RUN_TYPE, {
      workflowId: run.handle.workflowId.replace('sandbox/', 'live/'),
      taskQueue,
      args: [input],
    });
    const follower = new Follower(handle.workflowId);
    const codes = async (): Promise<readonly string[]> =>
      (await readReport((offset) => handle.query(reportQuery, offset))).problems.map(({ code }) => code);
    // One look after the other, at whatever is told first.
    while ((await codes()).length === 0) await follower.next();
    follower.close();
    assert.deepEqual(await codes(), ['MODE_DIFFERS']);
    assert.equal((await handle.describe()).status.name, 'RUNNING');
    assertNothingMoved(run);
    await handle.terminate('seen');
  });
});

describe('a plan that the policy does not confirm', AT_ONCE, () => {
  test('a workflow of another type in its place is no plan', async () => {
    const run = await unstarted();
    await client.workflow.start('anything', {
      workflowId: planIdOf('SANDBOX', run.name),
      taskQueue: uniqueName('nobody'),
      args: [],
    });
    await startWith(run, [run.input]);
    await run.until(({ status }) => status === 'RUNNING' || status === 'HELD');
    assert.equal(await readFirstPlan(client, 'SANDBOX', run.name), null);
    assertNothingMoved(run);
    await run.handle.terminate('seen');
  });

  test('the hash of the plan is that of the policy, by the worker’s own reading; its text and who started it stay in the input', async () => {
    const run = await unstarted();
    await startWith(run, [{ ...run.input, policyHash: 'whatever somebody says' }]);
    const report = await run.report();
    assertDoneOnce(run, report);
    assert.equal(report.startedBy, run.input.startedBy);
    const plan = await readFirstPlan(client, 'SANDBOX', run.name);
    assert.equal(plan?.policy.hash, policyHash(run.input.policyText));
    assert.ok(!JSON.stringify(plan).includes('withdraw:'));
  });
});

describe('state that nobody handed on', AT_ONCE, () => {
  const carried = { plan: null, runId: 'run', legs: [], payments: [], cancelled: false, evidence: [] };
  const refusalOf = async (workflowId: string, runId: string) => {
    const each = client.workflow.getHandle(workflowId, runId, { followRuns: false });
    await each.result().catch(() => undefined);
    const last = (await each.fetchHistory()).events?.at(-1);
    // A cron schedule begins again all the same.
    const { failure, newExecutionRunId } =
      last?.workflowExecutionFailedEventAttributes ??
      last?.workflowExecutionContinuedAsNewEventAttributes ??
      {};
    return { code: failure?.applicationFailureInfo?.type, nextRunId: newExecutionRunId ?? '' };
  };

  test('a start brings none: the run is refused, and nothing is sent', async () => {
    const run = await unstarted();
    const { workflowId, firstExecutionRunId } = await startWith(run, [run.input, carried]);
    assert.equal((await refusalOf(workflowId, firstExecutionRunId)).code, 'CARRIED_STATE_REFUSED');
    assertNothingMoved(run);
  });

  test('nor does what a cron schedule starts after it, which Temporal says was continued', async () => {
    const run = await unstarted();
    const cronSchedule = '@every 1s';
    const { workflowId, firstExecutionRunId } = await startWith(run, [run.input, carried], { cronSchedule });
    const first = await refusalOf(workflowId, firstExecutionRunId);
    const second = await refusalOf(workflowId, first.nextRunId);
    assert.deepEqual([first.code, second.code], ['CARRIED_STATE_REFUSED', 'CARRIED_STATE_REFUSED']);
    assertNothingMoved(run);
    await run.handle.terminate('seen').catch(() => undefined);
  });

  test('nor does a retry of a start that no worker took, which Temporal says was continued', async () => {
    const run = await unstarted();
    const queue = uniqueName('queue');
    const { firstExecutionRunId } = await startWith(run, [run.input, carried], {
      taskQueue: queue,
      workflowRunTimeout: '2s',
      retry: { initialInterval: '100ms', maximumAttempts: 50 },
    });
    const first = client.workflow.getHandle(run.handle.workflowId, firstExecutionRunId, {
      followRuns: false,
    });
    await first.result().catch(() => undefined);
    await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: queue } });
    assert.equal((await failureOf(run.handle)).type, 'CARRIED_STATE_REFUSED');
    assertNothingMoved(run);
  });
});

test('200 starts by a stranger, of runs and of what stands in the place of their plans, keep no worker from a real run', async () => {
  const nobody = uniqueName('nobody');
  const strange = Array.from({ length: 100 }, () => stage.find(convertPolicy(), {}));
  // All at once. None of these runs gets a plan, so that all of them go on asking for it.
  await Promise.all(
    strange.map(async (run) => {
      const workflowId = planIdOf('SANDBOX', run.name);
      await client.workflow.start('anything', { workflowId, taskQueue: nobody, args: [] });
      await startWith(run, [run.input]);
    }),
  );
  const real = await stage.start(convertPolicy());
  assertDoneOnce(real, await real.report());
  for (const run of strange) {
    assertNothingMoved(run);
    // One after the other.
    assert.equal((await run.handle.describe()).status.name, 'RUNNING');
    await run.handle.terminate('seen');
  }
});

/** Somebody who makes what he writes look sealed. */
const looksSealed: PayloadCodec = {
  encode: async (payloads) =>
    payloads.map(() => ({
      metadata: { encoding: Buffer.from('binary/cambist-sealed'), key: Buffer.from('no-key') },
      data: Buffer.from('anything'),
    })),
  decode: async (payloads) => payloads,
};

test('words that only look sealed stop neither their run nor a worker without keys; what was started so waits for its key', async () => {
  const { connection, options } = client;
  const stranger = new Client({
    connection,
    namespace: options.namespace,
    dataConverter: { payloadCodecs: [looksSealed] },
  });
  const { run, release } = await stage.startHeld(convertPolicy(), 'createTrade', { when: 'before' });
  const his = stranger.workflow.getHandle(run.handle.workflowId);
  for (const signal of ['news', 'wake', 'anything'])
    // One after the other.
    await his.signal(signal, 1);
  const keeps = stranger.workflow.getHandle(instructionsIdOf('SANDBOX', run.name));
  await assert.rejects(keeps.executeUpdate('record', { args: [{}, {}] }));
  release();
  assertDoneOnce(run, await run.report());

  const started = stage.find(convertPolicy(), {});
  const { workflowId } = started.handle;
  const memo = { note: 'x' };
  const input = [started.input];
  const { firstExecutionRunId } = await stranger.workflow.start(RUN_TYPE, {
    workflowId,
    taskQueue,
    args: input,
    memo,
  });
  const facts = await requireRun({ ...stage.temporal, mode: 'SANDBOX' }, started.name);
  // One look after the other: the first task has failed once Temporal gives it a second time.
  while ((await readStuck(client, facts, Date.now()))?.code !== 'SEAL_KEY_MISSING');
  const runs = await listRuns(client, 'SANDBOX', { policy: null, onlyOpen: true, limit: null });
  assert.ok(runs.length > 0);
  assertNothingMoved(started);
  await client.workflow.getHandle(workflowId, firstExecutionRunId).terminate('seen');
});

test('a run that somebody has started with a memo that nobody can read, and without search attributes, is in the list', async () => {
  const run = await unstarted();
  const strange: PayloadCodec = {
    encode: async (payloads) =>
      payloads.map(({ data }) => ({
        metadata: { encoding: Buffer.from('binary/strange') },
        ...(data && { data }),
      })),
    decode: async (payloads) => payloads,
  };
  const { connection, options } = client;
  const stranger = new Client({
    connection,
    namespace: options.namespace,
    dataConverter: { payloadCodecs: [strange] },
  });
  const { workflowId } = run.handle;
  await stranger.workflow.start(RUN_TYPE, {
    workflowId,
    taskQueue: uniqueName('nobody'),
    args: [],
    memo: { note: 'x' },
  });
  const found = async (): Promise<boolean | undefined> => {
    const { policy } = run.name;
    const runs = await listRuns(client, 'SANDBOX', { policy, onlyOpen: true, limit: null });
    return runs.find((facts) => facts.workflowId === workflowId)?.hasOddMemo;
  };
  // Lists are a moment behind.
  while ((await found()) === undefined);
  assert.equal(await found(), true);
  await run.handle.terminate('seen');
});

test('a run whose plan was refused makes it anew when it is started again, with what it was started with then', async () => {
  const guard = '{ reference: { file: rates.yaml, max_age: 30h }, worst_cost: 500bps }';
  const text = convertPolicy({ guard });
  const run = await stage.start(text);
  const refused = await run.report();
  assert.equal(refused.status, 'FAILED', JSON.stringify(refused));
  const rates = `as_of: ${new Date().toISOString()}\nrates: ["17.25 MXN per USD"]\n`;
  await run.startAgain({ files: { 'rates.yaml': rates } });
  assertDoneOnce(run, await run.report());
});
