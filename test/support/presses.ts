/** The buttons of Temporal's UI and command line, each as the request that it makes; and what must be true after a press. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { todayIn } from '../../calendar/business-date.ts';
import type { Report } from '../../domain/run/report.ts';
import { readStart } from '../../durable/history.ts';
import { instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { disagreements } from './agreement.ts';
import {
  assertPaidOnce,
  deleteInTemporal,
  paymentsOf,
  startBatch,
  untilAllEnded,
  type BatchRun,
} from './batches.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import { twoPayments } from './places.ts';
import { resetPoints, resetTo } from './resets.ts';
import type { Run, Stage } from './stage.ts';

export type Pressed = { readonly workflowId: string };

export const planOf = ({ name }: Run): Pressed => ({ workflowId: planIdOf('SANDBOX', name) });
export const instructionsOf = ({ name }: Run): Pressed => ({ workflowId: instructionsIdOf('SANDBOX', name) });
export const handleOf = ({ temporal }: Stage, { workflowId }: Pressed): WorkflowHandle =>
  temporal.client.workflow.getHandle(workflowId);

/** _Reset_, to the first event or the last one. */
export async function reset(on: Stage, pressed: Pressed, to: 'first' | 'last' = 'first'): Promise<void> {
  const { workflowId, runId } = await handleOf(on, pressed).describe();
  const points = await resetPoints(on.temporal.client.workflow.getHandle(workflowId, runId));
  const point = points.at(to === 'first' ? 0 : -1);
  assert.ok(point !== undefined, `${workflowId} has an event to go back to`);
  await resetTo(on.temporal, { workflowId, runId }, point);
}

export const cancel = async (on: Stage, pressed: Pressed): Promise<void> => {
  await handleOf(on, pressed).cancel();
};
export const terminate = async (on: Stage, pressed: Pressed): Promise<void> => {
  await handleOf(on, pressed).terminate('a mistake');
};
export const remove = (on: Stage, { workflowId }: Pressed): Promise<void> =>
  deleteInTemporal(on, [workflowId]);

/** The type, the task queue and the input of the newest Temporal run. */
async function likeIt(on: Stage, pressed: Pressed) {
  const start = await readStart(on.temporal.client, pressed.workflowId);
  const { taskQueue } = await handleOf(on, pressed).describe();
  return { type: start?.type ?? '', taskQueue, args: [start?.input] };
}

/** _Start Workflow Like This One_. */
export async function startLike(
  on: Stage,
  pressed: Pressed,
  workflowId = pressed.workflowId,
): Promise<WorkflowHandle> {
  const { type, ...start } = await likeIt(on, pressed);
  return on.temporal.client.workflow.start(type, { ...start, workflowId });
}

/** The same for each workflow whose id begins so, as from the list of workflows. */
export async function resetMany(
  on: Stage,
  beginning: string,
  to: 'first' | 'last',
  count: number,
): Promise<void> {
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
export async function failureOf(handle: WorkflowHandle): Promise<string> {
  const ended: unknown = await handle.result().then(
    () => 'completed',
    (error: unknown) => error,
  );
  assert.ok(ended instanceof WorkflowFailedError && ended.cause instanceof ApplicationFailure, String(ended));
  return ended.cause.type ?? '';
}

export function assertDone(on: Stage, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(disagreements(report, on.sandbox.ledger()), []);
  const { trades, withdrawals } = run.movements();
  assert.deepEqual([trades.length, withdrawals.length], [report.legs.length, report.payments.length]);
}

/** So long an update may wait for somebody who takes it. */
const UPDATE_MS = 3_000;

/** An update that no workflow of ours knows is refused; where nobody could refuse it, it leaves nothing behind. */
export async function refused(on: Stage, pressed: Pressed): Promise<void> {
  const { client } = on.temporal;
  const handle = handleOf(on, pressed);
  const send = () => handle.executeUpdate('payEverybody', { args: ['now'] });
  await assert.rejects(client.withDeadline(Date.now() + UPDATE_MS, send));
}

export async function signalWithStart(
  on: Stage,
  { workflowId }: Pressed,
  signal: readonly [name: string, ...args: unknown[]] = ['payEverybody', 'now'],
): Promise<void> {
  const { type, ...start } = await likeIt(on, { workflowId });
  const [name, ...signalArgs] = signal;
  await on.temporal.client.workflow.signalWithStart(type, { ...start, workflowId, signal: name, signalArgs });
}

export async function updateWithStart(on: Stage, { workflowId }: Pressed): Promise<void> {
  const { client } = on.temporal;
  const { type, ...start } = await likeIt(on, { workflowId });
  const startWorkflowOperation = new WithStartWorkflowOperation(type, {
    ...start,
    workflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  const send = () =>
    client.workflow.executeUpdateWithStart('payEverybody', { args: ['now'], startWorkflowOperation });
  await assert.rejects(client.withDeadline(Date.now() + UPDATE_MS, send));
}

/** `temporal workflow update-options`: only workers of this build may have it; null: any worker may. */
export async function pin(
  { temporal, env }: Stage,
  { workflowId }: Pressed,
  buildId: string | null,
): Promise<void> {
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

/** A button that is pressed while the reply to a withdrawal is on its way. */
export async function inPayment(stage: Stage, press: (run: Run) => Promise<void>): Promise<Run> {
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

export const BATCH_ID = `${todayIn('UTC', Date.now())}-weekly`;

/** A batch of two chunks, the first payment of the second one booked while its reply is on the way. */
export async function startPaying(
  on: Stage,
): Promise<{ readonly batch: BatchRun; readonly release: () => void }> {
  const name = uniqueName('b');
  const held = on.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 1,
    when: { reference: `${name}.${BATCH_ID}.inv-4` },
    effect: { kind: 'hold', when: 'after' },
  });
  const batch = await startBatch(on, paymentsOf(6), { perChunk: 3, name, id: BATCH_ID });
  await on.sandbox.faultHit(held);
  return { batch, release: () => on.sandbox.releaseFaults(held) };
}

export async function inBatch(stage: Stage, press: (batch: BatchRun) => Promise<void>): Promise<void> {
  const { batch, release } = await startPaying(stage);
  await press(batch);
  release();
  assertPaidOnce(batch, await untilAllEnded(stage, batch));
}
