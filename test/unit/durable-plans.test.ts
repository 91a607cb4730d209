/** What is asked of Temporal about plans and attempts, against a client of scripted answers (M1). */
import { planOf } from '../../domain/plan/plan-shape.ts';
import { keptPlan } from '../../domain/plan/plan.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { isCurrentAttempt } from '../../durable/attempts.ts';
import { findPlan, readEarlierPlan, readFirstPlan, readPlan, startPlan } from '../../durable/plans.ts';
import type { PlanInput } from '../../domain/run/calls.ts';
import type { Why } from '../../domain/waits.ts';
import { WAITS_MEMO } from '../../workflows/names.ts';
import { LEG, PAYMENT, RUN, WHOLE_PLAN } from '../support/scripts.ts';

const INPUT: PlanInput = {
  run: RUN,
  mode: 'SANDBOX',
  policyText: 'policy: 1',
  policyHash: 'hash',
  policyFile: 'p.yaml',
  files: {},
  startedBy: 'ana',
  forRun: 'run-1',
  askedBy: 'run-1',
};

const PLAN = keptPlan(WHOLE_PLAN);
const [KEPT_PAYMENT] = PLAN.payments;
const planBy = (runId: string): unknown => ({ ...PLAN, madeFor: runId });

type Seen = {
  readonly status: string;
  readonly closedAtMs: number;
  readonly type?: string;
  readonly result?: unknown;
};

/** A Temporal in which these runs of a `plan` are known; each one's plan was made for it. The last is the newest. */
function temporal(runs: Readonly<Record<string, Seen>>): Client {
  async function* list() {
    for (const [runId, { status, closedAtMs, type }] of Object.entries(runs))
      if (status === 'COMPLETED' && type === undefined) yield { runId, closeTime: new Date(closedAtMs) };
  }
  const getHandle = (workflowId: string, runId: string) => ({
    describe: async () => {
      const seen = runs[runId];
      if (seen === undefined) throw new WorkflowNotFoundError('unknown', 'plan', runId);
      return { workflowId, runId, status: { name: seen.status }, type: seen.type ?? 'plan' };
    },
    result: async () => {
      const seen = runs[runId];
      return seen !== undefined && 'result' in seen ? seen.result : planBy(runId);
    },
  });
  return { workflow: { list, getHandle } } as unknown as Client;
}

test('of several completed plans the first one counts, in whatever order they are told', async () => {
  const runs = {
    third: { status: 'COMPLETED', closedAtMs: 3_000 },
    first: { status: 'COMPLETED', closedAtMs: 1_000 },
    failed: { status: 'FAILED', closedAtMs: 500 },
    second: { status: 'COMPLETED', closedAtMs: 2_000 },
  };
  assert.equal((await readFirstPlan(temporal(runs), 'SANDBOX', RUN))?.madeFor, 'first');
  assert.equal(await readFirstPlan(temporal({}), 'SANDBOX', RUN), null);
});

test('a plan that is made again is what its Temporal run has completed with, else the first one', async () => {
  const client = temporal({
    first: { status: 'COMPLETED', closedAtMs: 1 },
    second: { status: 'COMPLETED', closedAtMs: 2 },
    failed: { status: 'FAILED', closedAtMs: 1 },
    other: { status: 'COMPLETED', closedAtMs: 0, type: 'anything' },
  });
  const of = async (runId: string | null) =>
    (await readEarlierPlan(client, 'SANDBOX', RUN, runId))?.madeFor ?? null;
  assert.deepEqual(
    [await of('second'), await of('failed'), await of('gone'), await of('other'), await of(null)],
    ['second', 'first', 'first', 'first', 'first'],
  );
  assert.equal(await readEarlierPlan(temporal({}), 'SANDBOX', RUN, 'gone'), null);
});

test('a plan of a version or a shape that nobody knows is refused, and says so', async () => {
  for (const result of [
    { ...PLAN, version: 2 },
    { ...PLAN, bodyLayout: 2 },
    { ...PLAN, approvedBy: 'ana' },
    { ...PLAN, payments: [{ ...KEPT_PAYMENT, account: null }] },
    { ...PLAN, payments: [{ ...KEPT_PAYMENT, amount: { kind: 'fixed', value: '1e9' } }] },
    { ...PLAN, legs: [{ ...LEG, amount: { side: 'sell', value: '-1.00', fixed: true } }] },
    null,
    'a plan',
  ]) {
    const client = temporal({ made: { status: 'COMPLETED', closedAtMs: 1, result } });
    const state = await readPlan(client, 'SANDBOX', RUN, 10);
    assert.ok(state.kind === 'refused', JSON.stringify(result));
    assert.equal(state.problems[0]?.code, 'PLAN_UNREADABLE');
    assert.match(state.problems[0].fix, /worker of the version that made the plan/);
  }
});

test('a plan of another version, or of another layout of requests, is told by both numbers', () => {
  const why = (value: unknown): string => {
    const read = planOf(value);
    return read.ok ? 'it was read' : read.why;
  };
  assert.match(why({ ...PLAN, version: 2 }), /version 2, and this version of Cambist reads 1/);
  assert.match(why({ ...PLAN, bodyLayout: 2 }), /layout 2, and this version of Cambist writes only layout 1/);
  assert.equal(why(PLAN), 'it was read');
});

test('references of payments are not kept with the plan: whoever reads it makes them of its names', () => {
  assert.equal(JSON.stringify(PLAN).includes(PAYMENT.reference), false);
  assert.deepEqual(planOf(PLAN), { ok: true, value: WHOLE_PLAN });
  assert.equal(planOf({ ...PLAN, payments: [PAYMENT] }).ok, false);
});

/**
 * A Temporal whose only `plan` is being made, and shows this memo. `open`: the requests that have not ended.
 * @param status `COMPLETED`: it has completed at the moment at which nobody waits for it any more, and no list shows it
 */
function inTheMaking(
  memo: Readonly<Record<string, unknown>>,
  status: 'RUNNING' | 'PAUSED' | 'COMPLETED' = 'RUNNING',
) {
  const open = new Set<unknown>();
  async function* list() {}
  let aborted: AbortSignal | null = null;
  const poll = {
    result: () =>
      new Promise((resolve, reject) => {
        if (status === 'COMPLETED' && aborted?.aborted === true) return resolve(PLAN);
        open.add(reject);
        aborted?.addEventListener('abort', () => {
          open.delete(reject);
          reject(new Error('aborted'));
        });
      }),
    describe: async () => ({ status: { name: status }, type: 'plan', memo }),
    query: () => assert.fail('No workflow is asked anything.'),
  };
  const client = {
    workflow: { list, getHandle: () => poll },
    withAbortSignal: (signal: AbortSignal, work: () => Promise<unknown>) => {
      aborted = signal;
      return work();
    },
  } as unknown as Client;
  return { open, state: () => readSoon(client) };
}

async function readSoon(client: Client): Promise<unknown> {
  const over = new AbortController();
  const late = delay(2_000, 'too late', { signal: over.signal });
  try {
    return await Promise.race([readPlan(client, 'SANDBOX', RUN, 5), late]);
  } finally {
    over.abort();
  }
}

const WHY: Why = {
  reason: 'turn',
  problem: { code: 'TURN_OF_ANOTHER', item: null, message: 'Run q trades now.', fix: 'Nothing to do.' },
  sinceMs: 1,
};

test('a plan in the making says why it waits, as its workflow shows it; the workflow is asked nothing', async () => {
  for (const waiting of [WHY, { ...WHY, safeAtMs: 2 }]) {
    const { state } = inTheMaking({ [WAITS_MEMO]: waiting });
    assert.deepEqual(await state(), { kind: 'waiting', waiting });
  }
});

test('a plan that somebody has paused waits for a person, whatever it waited for before', async () => {
  const state = await inTheMaking({ [WAITS_MEMO]: WHY }, 'PAUSED').state();
  assert.equal((state as { waiting: Why }).waiting.problem.code, 'PLAN_PAUSED');
});

test('a memo that somebody else has made says nothing', async () => {
  const { problem } = WHY;
  for (const waiting of [
    undefined,
    null,
    'because',
    { ...WHY, reason: 'boredom' },
    { ...WHY, reason: undefined },
    { ...WHY, wakeAtMs: 5 },
    { ...WHY, sinceMs: 'long ago' },
    { ...WHY, problem: null },
    { ...WHY, problem: { ...problem, code: 'OK\npaid' } },
    { ...WHY, problem: { ...problem, message: 'x'.repeat(100_000) } },
    { ...WHY, problem: { ...problem, approvedBy: 'ana' } },
  ]) {
    const { state } = inTheMaking({ [WAITS_MEMO]: waiting });
    assert.deepEqual(await state(), { kind: 'waiting', waiting: null });
  }
});

test('whoever waits for a plan waits no longer than his patience, and leaves nothing open at Temporal', async () => {
  const { open, state } = inTheMaking({});
  for (let time = 0; time < 3; time += 1) assert.deepEqual(await state(), { kind: 'waiting', waiting: null });
  assert.equal(open.size, 0);
});

test('a plan that lists do not show yet is read all the same, also by whoever does not wait for it', async () => {
  assert.deepEqual(await inTheMaking({}, 'COMPLETED').state(), { kind: 'plan', plan: WHOLE_PLAN });
});

test('whoever has just started a plan reads that Temporal run alone', async () => {
  const states = [planBy('started'), { ...PLAN, version: 2 }].map((result) => {
    const getHandle = (_workflowId: string, runId: string) => {
      assert.equal(runId, 'started');
      return { result: async () => result };
    };
    const withAbortSignal = (_signal: unknown, work: () => unknown) => work();
    const client = { workflow: { getHandle }, withAbortSignal } as unknown as Client;
    return readPlan(client, 'SANDBOX', RUN, 5, 'started');
  });
  const [made, strange] = await Promise.all(states);
  assert.equal(made?.kind === 'plan' && made.plan.madeFor, 'started');
  assert.equal(strange?.kind === 'refused' && strange.problems[0]?.code, 'PLAN_UNREADABLE');
});

/** A Temporal whose newest `plan` stands like this and was asked for by that Temporal run. */
function withNewest(status: string | null, askedBy: string) {
  const asked: unknown[] = [];
  const forRuns: string[] = [];
  const start = async (type: string, options: Record<string, unknown>) => {
    const { workflowId, workflowIdReusePolicy, workflowIdConflictPolicy, args } = options;
    asked.push({ type, workflowId, workflowIdReusePolicy, workflowIdConflictPolicy });
    forRuns.push(...(args as readonly PlanInput[]).map(({ forRun }) => forRun));
    return { firstExecutionRunId: 'started' };
  };
  async function* list() {}
  const getHandle = () => ({
    describe: async () => {
      if (status === null) throw new WorkflowNotFoundError('unknown', 'plan', undefined);
      return { runId: 'newest', status: { name: status } };
    },
  });
  const events = [{ workflowExecutionStartedEventAttributes: { input: { payloads: [{ askedBy }] } } }];
  const workflowService = { getWorkflowExecutionHistory: async () => ({ history: { events } }) };
  const loadedDataConverter = { payloadCodecs: [], payloadConverter: { fromPayload: (it: unknown) => it } };
  const workflow = { start, getHandle, list };
  const client = { workflow, workflowService, options: { loadedDataConverter } } as unknown as Client;
  const startOnce = async (input = INPUT) =>
    startPlan(
      client,
      { taskQueue: 'cambist', organisation: 'org-1' },
      input,
      await findPlan(client, 'SANDBOX', RUN),
    );
  return { asked, forRuns, startOnce };
}

test('a plan is started once: one that was made or is under way is used, and any other is made again', async () => {
  const options = {
    type: 'plan',
    workflowId: 'sandbox/p.2026-11-21/plan',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    workflowIdConflictPolicy: 'FAIL',
  };
  for (const status of [null, 'RUNNING', 'TERMINATED']) {
    const { asked, startOnce } = withNewest(status, 'run-1');
    assert.equal(await startOnce(), 'started');
    assert.deepEqual(asked, [options]);
  }
  const { asked, startOnce } = withNewest('COMPLETED', 'run-1');
  assert.deepEqual([await startOnce(), asked], [null, []]);
});

test('a refusal is heard by the Temporal run that asked, and the plan is made anew for another one', async () => {
  const same = withNewest('FAILED', INPUT.askedBy);
  assert.deepEqual([await same.startOnce(), same.asked.length], [null, 0]);
  const other = withNewest('FAILED', 'an earlier run');
  assert.deepEqual([await other.startOnce(), other.asked.length], ['started', 1]);
});

test('only after a plan that was refused is the plan made for the Temporal run of a reset, since nothing can have been sent before', async () => {
  const reset: PlanInput = { ...INPUT, forRun: 'run-1', askedBy: 'run-2' };
  for (const [status, forRun] of [
    ['FAILED', 'run-2'],
    [null, 'run-1'],
    ['TERMINATED', 'run-1'],
    ['RUNNING', 'run-1'],
  ] as const) {
    const { forRuns, startOnce } = withNewest(status, 'run-1');
    await startOnce(reset);
    assert.deepEqual(forRuns, [forRun], `${status}`);
  }
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
