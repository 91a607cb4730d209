/** What is asked of Temporal about pins and attempts, against a client of scripted answers (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { isCurrentAttempt } from '../operations/attempts.ts';
import { readFirstPlan, readResult, startPlan } from '../operations/plans.ts';
import type { PlanInput } from '../workflows/names.ts';
import { RUN } from './support/scripts.ts';

const INPUT: PlanInput = {
  run: RUN,
  mode: 'SANDBOX',
  policyText: 'policy: 1',
  policyHash: 'hash',
  policyFile: 'p.yaml',
  files: {},
  forRun: 'run-1',
};

/** A Temporal in which these runs of the pin are known; each one's result is its run id. */
function temporal(runs: Readonly<Record<string, { status: string; closedAtMs: number }>>): Client {
  async function* list() {
    for (const [runId, { status, closedAtMs }] of Object.entries(runs))
      if (status === 'COMPLETED') yield { runId, closeTime: new Date(closedAtMs) };
  }
  const getHandle = (_id: string, runId: string) => ({
    describe: async () => {
      const status = runs[runId]?.status;
      if (status === undefined) throw new WorkflowNotFoundError('unknown', 'pin', runId);
      return { status: { name: status } };
    },
    result: async () => runId,
  });
  return { workflow: { list, getHandle } } as unknown as Client;
}

test('of several completed pins the first one counts, in whatever order they are told', async () => {
  const runs = {
    third: { status: 'COMPLETED', closedAtMs: 3_000 },
    first: { status: 'COMPLETED', closedAtMs: 1_000 },
    failed: { status: 'FAILED', closedAtMs: 500 },
    second: { status: 'COMPLETED', closedAtMs: 2_000 },
  };
  assert.equal(await readFirstPlan(temporal(runs), 'SANDBOX', RUN), 'first');
  assert.equal(await readFirstPlan(temporal({}), 'SANDBOX', RUN), null);
});

test('only a completed pin has a result', async () => {
  const client = temporal({
    done: { status: 'COMPLETED', closedAtMs: 1 },
    failed: { status: 'FAILED', closedAtMs: 1 },
  });
  const resultOf = (runId: string) => readResult(client, 'sandbox/p.2026-11-21/plan', runId);
  assert.deepEqual(
    [await resultOf('done'), await resultOf('failed'), await resultOf('gone')],
    ['done', null, null],
  );
});

test('a pin is started once: one under way is used, and only one that failed may be started again', async () => {
  const asked: unknown[] = [];
  const start = async (type: string, options: Record<string, unknown>) => {
    const { workflowId, workflowIdReusePolicy, workflowIdConflictPolicy } = options;
    asked.push({ type, workflowId, workflowIdReusePolicy, workflowIdConflictPolicy });
  };
  await startPlan({ workflow: { start } } as unknown as Client, 'cambist', INPUT);
  assert.deepEqual(asked, [
    {
      type: 'plan',
      workflowId: 'sandbox/p.2026-11-21/plan',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'USE_EXISTING',
    },
  ]);
});

test('an attempt counts while its run is open and Temporal still waits for that very attempt', async () => {
  const attempt = {
    workflowExecution: { workflowId: 'sandbox/p.2026-11-21', runId: 'run-1' },
    activityId: '7',
    attempt: 2,
  };
  const seenIn = (status: string, pendingActivities: readonly unknown[]) => {
    const describe = async () => ({ status: { name: status }, raw: { pendingActivities } });
    return isCurrentAttempt({ workflow: { getHandle: () => ({ describe }) } } as unknown as Client, attempt);
  };
  const pending = { activityId: '7', attempt: 2 };
  assert.equal(await seenIn('RUNNING', [pending]), true);
  assert.equal(await seenIn('RUNNING', [{ ...pending, attempt: 3 }]), false);
  assert.equal(await seenIn('RUNNING', [{ ...pending, activityId: '8' }]), false);
  assert.equal(await seenIn('RUNNING', []), false);
  assert.equal(await seenIn('TERMINATED', [pending]), false);

  const failing = (error: Error) => {
    const describe = async () => {
      throw error;
    };
    return isCurrentAttempt({ workflow: { getHandle: () => ({ describe }) } } as unknown as Client, attempt);
  };
  assert.equal(await failing(new WorkflowNotFoundError('gone', 'run', 'run-1')), false);
  await assert.rejects(failing(new Error('Temporal is away')), /Temporal is away/);
});
