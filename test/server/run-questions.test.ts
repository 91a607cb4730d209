/**
 * Questions to workflows while their worker is busy or away. A question that comes with events that no workflow task has
 * begun with must not make the workflow work on them: what it would do then could not be replayed, and the run would be stuck
 * at its next worker.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CompleteAsyncError, Context } from '@temporalio/activity';
import { Client, Connection, WithStartWorkflowOperation } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker, bundleWorkflowCode } from '@temporalio/worker';
import { QUESTION_BEFORE, RETRIES, askAgain } from '../../config/temporal.ts';
import { ASK_AGAIN } from '../../workflows/names.ts';
import { testServerAddress, uniqueName } from '../support/dev-server.ts';
import { ROOT } from '../support/root.ts';
import { silenceRuntime } from '../support/silent-runtime.ts';

// A question that is refused is logged: expected.
const silent = silenceRuntime();
const fileOf = (path: string): string => join(ROOT, path);
const address = await testServerAddress();
const environment = await TestWorkflowEnvironment.createFromExistingServer({ address });
const { connection, client } = environment;
const patientClient = new Client({
  connection,
  interceptors: { workflow: [askAgain(connection, 'default')] },
});
const workflowBundle = await bundleWorkflowCode({
  workflowsPath: fileOf('test/support/asked-workflow.ts'),
  workflowInterceptorModules: [fileOf('workflows/never-ahead.ts')],
  logger: silent,
});

after(() => environment.teardown());

type AnswerWhileAway = { readonly answer: string; readonly isRefused: boolean };

/**
 * A workflow whose first step ends, and which is asked, while no worker is there; the worker that comes answers the question
 * for two seconds, in which the workflow is woken.
 */
async function askedWhileAway(questions: Client): Promise<AnswerWhileAway> {
  const taskQueue = uniqueName('asked');
  const worker = await workerOn(taskQueue);
  const handle = await client.workflow.start('asked', { taskQueue, workflowId: taskQueue });
  const token = await worker.firstStep;
  await worker.stop();
  const answer = client.withDeadline(Date.now() + 60_000, () =>
    questions.workflow
      .getHandle(taskQueue)
      .query<string, [number]>('slow', 2_000)
      .catch((error: Error) => error.message),
  );
  // It waits for a worker, like the step's end, which comes after it.
  await delay(500);
  await client.activity.complete(token, undefined);
  const later = await workerOn(taskQueue);
  await delay(1_000);
  await handle.signal('woken');
  const answered = await answer;
  await handle.result();
  await later.stop();
  const history = await handle.fetchHistory();
  await assert.doesNotReject(Worker.runReplayHistory({ workflowBundle }, history, taskQueue));
  return { answer: answered, isRefused: answered === ASK_AGAIN };
}

async function workerOn(taskQueue: string) {
  let toldToken: (token: Uint8Array) => void = () => {};
  const firstStep = new Promise<Uint8Array>((resolve) => {
    toldToken = resolve;
  });
  const activities = {
    first: () => {
      toldToken(Context.current().info.taskToken);
      throw new CompleteAsyncError();
    },
    next: () => Promise.resolve(),
  };
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    taskQueue,
    workflowBundle,
    activities,
  });
  const end = worker.run();
  const stop = async (): Promise<void> => {
    worker.shutdown();
    await end;
  };
  return { firstStep, stop };
}

/** Which of the two a new worker takes up first, the question or the task, is the server's choice: half of the times, or fewer. */
const TRIES = 30;

test('a question never makes a workflow run ahead of its history: what it does then replays', async () => {
  let refused = 0;
  for (let tries = 0; tries < TRIES && refused === 0; tries += 1)
    if ((await askedWhileAway(client)).isRefused) refused += 1;
  assert.ok(refused > 0, 'no question came before the task that it was ahead of');
});

test('whoever asks through a client of ours is answered, once the workflow has gone on', async () => {
  const { answer } = await askedWhileAway(patientClient);
  assert.equal(answer, 'past the first step');
});

test('a workflow that is terminated before it could go on is asked all the same', async () => {
  const taskQueue = uniqueName('asked');
  const worker = await workerOn(taskQueue);
  const handle = await client.workflow.start('asked', { taskQueue, workflowId: taskQueue });
  const token = await worker.firstStep;
  await worker.stop();
  await client.activity.complete(token, undefined);
  await handle.terminate('somebody did not want to wait');
  const later = await workerOn(taskQueue);
  const ask = (questions: Client) =>
    questions.workflow
      .getHandle(taskQueue)
      .query<string, [number]>('slow', 0)
      .catch((error: Error) => error.message);
  assert.equal(await ask(client), ASK_AGAIN);
  assert.equal(await ask(patientClient), 'past the first step');
  assert.equal(await ask(client), ASK_AGAIN);
  await later.stop();
});

/** A workflow whose task is under way, taken by this test instead of a worker. */
async function taskUnderWay(once: Connection): Promise<string> {
  const service = once.workflowService;
  const taskQueue = uniqueName('asked');
  const handle = await client.workflow.start('asked', { taskQueue, workflowId: taskQueue });
  const poll = { namespace: 'default', taskQueue: { name: taskQueue }, identity: 'test' };
  const nextTask = () => once.withDeadline(Date.now() + 60_000, () => service.pollWorkflowTaskQueue(poll));
  const { taskToken } = await nextTask();
  await service.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands: [] });
  await handle.signal('woken');
  await nextTask();
  return taskQueue;
}

test('a question that Temporal refuses because another one waits is asked again much sooner than other refused calls', async () => {
  const once = await Connection.connect({ address, interceptors: [] });
  const service = once.workflowService;
  const workflowId = await taskUnderWay(once);
  const waiting = new AbortController();
  const ask = () =>
    once.withAbortSignal(waiting.signal, () =>
      service
        .queryWorkflow({ namespace: 'default', execution: { workflowId }, query: { queryType: 'slow' } })
        .then(
          () => null,
          (error: unknown) => error,
        ),
    );
  // One of the two waits for the task, and the other one is refused at once.
  const asked = [ask(), ask()];
  const refusal = (await Promise.race(asked)) as Parameters<typeof RETRIES.retryableDecider>[1];
  waiting.abort();
  await Promise.all(asked);
  await once.close();
  await client.workflow.getHandle(workflowId).terminate();
  assert.match(refusal.details, QUESTION_BEFORE);
  assert.equal(RETRIES.retryableDecider(1, refusal), true);
  const otherRefusal = { ...refusal, details: 'too many calls' };
  assert.ok(
    RETRIES.delayFunction(1, refusal) * 10 < RETRIES.delayFunction(1, otherRefusal),
    'it is asked again no sooner than other calls',
  );
});

/** What Temporal says to whoever asks something of a workflow whose task fails again and again. */
test('a workflow that cannot take an instruction for the moment is told again, and no other call that is refused', async () => {
  const once = await Connection.connect({ address, interceptors: [] });
  const service = once.workflowService;
  const taskQueue = uniqueName('asked');
  const poll = { namespace: 'default', taskQueue: { name: taskQueue }, identity: 'test' };
  const handle = await client.workflow.start('asked', { taskQueue, workflowId: taskQueue });
  for (let times = 0; times < 3; times += 1) {
    const { taskToken } = await once.withDeadline(Date.now() + 60_000, () =>
      service.pollWorkflowTaskQueue(poll),
    );
    await service.respondWorkflowTaskFailed({ namespace: 'default', taskToken });
  }
  const startWorkflowOperation = new WithStartWorkflowOperation('asked', {
    taskQueue,
    workflowId: taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  const asksOnce = new Client({ connection: once });
  const refused = await asksOnce.workflow.executeUpdateWithStart('told', { startWorkflowOperation }).then(
    () => null,
    (error: unknown) => error,
  );
  await once.close();
  await handle.terminate();
  const refusal = refused as Parameters<typeof RETRIES.retryableDecider>[1];
  assert.equal(RETRIES.retryableDecider(1, refusal), true);
  assert.equal(RETRIES.retryableDecider(20, refusal), false);
  assert.equal(RETRIES.retryableDecider(1, { ...refusal, details: 'no such name' }), false);
});
