/** The kill switch under load: nothing leaves after it, whatever goes on; and after `resume` everybody is paid exactly once. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { READING_HOLDS_MS } from '../../domain/halt.ts';
import { describe } from '../../durable/described.ts';
import { currentHalts, halt, resume as letGo } from '../../operations/halt/switch.ts';
import { startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { UNSERVED_QUEUE, HALT_TYPE, haltIdOf } from '../../workflows/names.ts';
import { paymentsOf, startBatch, type BatchRun } from '../support/batches.ts';
import { assertExit, command } from '../support/commands.ts';
import { startBuiltWorker } from '../support/built-worker.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { openWire } from '../support/proxy.ts';
import { untilPolling } from '../support/pollers.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Stage } from '../support/stage.ts';

// A server of its own: a halt of everything is one of every test. It takes fewer signals for a workflow than 10,000.
let server: DevServer;
const MOST_SIGNALS = 60;
before(async () => {
  const dynamicConfig = [`history.maximumSignalsPerExecution=${MOST_SIGNALS}`];
  server = await startDevServer({ port: 0, headless: true, shortTimers: true, dynamicConfig });
});
after(() => server.stop());

const RICH = { USD: '1000000', EUR: '1000000', MXN: '1000000' };
const PAYMENTS = 60;
/** Slow enough that a batch is under way for many seconds, most of it inside one call. */
const POLICY = 'payout: { fund: { mode: none }, parallel: 2 }';

async function openSlowStage(temporalAddress = server.address): Promise<Stage> {
  const stage = await openStage({ balances: RICH, rates: { 'USD/MXN': '17.25' }, temporalAddress });
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 10_000,
    effect: { kind: 'delay', ms: 250 },
  });
  return stage;
}

async function underWay(run: BatchRun): Promise<void> {
  await eventually('a few payments', () => run.writes().length >= 6);
}

function assertPaidOnce(run: BatchRun, status: string): void {
  assert.equal(status, 'COMPLETED');
  const tags = run
    .movements()
    .withdrawals.map(({ metadata }) => (metadata as Readonly<Record<string, unknown>>)['cambist']);
  assert.equal(tags.length, run.payments.length);
  assert.equal(new Set(tags).size, run.payments.length);
}

/** What had left arrives a moment later, on a busy machine too. */
const ARRIVES_WITHIN_MS = 2_000;
const lastWriteMs = (run: BatchRun): number => Math.max(...run.writes().map(({ at }) => Date.parse(at)));

test('a batch under load is halted: once the command returns nothing more is sent, and after resume everybody is paid once', async () => {
  const stage = await openSlowStage();
  try {
    await Promise.all([stage.startWorker(), stage.startWorker()]);
    const run = await startBatch(stage, paymentsOf(PAYMENTS), { perChunk: 30, policy: POLICY });
    await underWay(run);
    const halted = await command(stage, ['halt', '--reason', 'wrong accounts', '--by', 'ana']);
    const returnedAtMs = Date.now();
    assertExit(halted, 0);
    assert.match(halted.stdout, /^Halted in SANDBOX: everything\. Since \S+ UTC no worker sends anything/);
    const sent = run.writes().length;
    assert.ok(sent < PAYMENTS, `${sent} were sent before it`);
    const report = await run.heldBy('HALTED');
    assert.match(JSON.stringify(report.problems), /ana has halted everything since .*wrong accounts/);
    await delay(3_000);
    assert.equal(run.writes().length, sent);
    assert.ok(lastWriteMs(run) <= returnedAtMs);
    const status = await command(stage, ['status', '--json']);
    assert.deepEqual(
      (JSON.parse(status.stdout) as { halts: { by: string; why: string }[] }).halts.map(({ by, why }) => [
        by,
        why,
      ]),
      [['ana', 'wrong accounts']],
    );
    assertExit(await command(stage, ['list', '--attention']), 6);

    assertExit(await command(stage, ['resume', '--by', 'ben']), 0);
    assertPaidOnce(run, (await run.report()).status);
  } finally {
    await command(stage, ['resume']);
    await stage.close();
  }
});

test('a worker that cannot read Temporal sends nothing after a second, and goes on when it can', async () => {
  const wire = await openWire(server.address);
  const stage = await openSlowStage(server.address);
  try {
    await stage.startWorker({ env: { TEMPORAL_ADDRESS: wire.address } });
    const run = await startBatch(stage, paymentsOf(PAYMENTS), { perChunk: PAYMENTS, policy: POLICY });
    await underWay(run);
    wire.setWeather({ kind: 'still' });
    const cutAtMs = Date.now();
    await delay(4_000);
    const sent = run.writes().length;
    assert.ok(sent < PAYMENTS);
    assert.ok(lastWriteMs(run) <= cutAtMs + READING_HOLDS_MS + ARRIVES_WITHIN_MS);
    wire.setWeather({ kind: 'clear' });
    assertPaidOnce(run, (await run.report()).status);
  } finally {
    await stage.close();
    await wire.close();
  }
});

test('a halted policy leaves another one going, and a new run of it waits and moves nothing', async () => {
  const stage = await openStage({
    balances: RICH,
    rates: { 'USD/MXN': '17.25' },
    temporalAddress: server.address,
  });
  try {
    await stage.startWorker();
    const [doubted, other] = [stage.find(convertPolicy(), {}), stage.find(convertPolicy(), {})];
    const { policy } = doubted.name;
    assertExit(await command(stage, ['halt', '--policy', policy, '--reason', 'is doubted']), 0);
    await Promise.all([doubted.startAgain(), other.startAgain()]);
    assertDoneOnce(other, await other.report());
    const held = await doubted.heldBy('HALTED');
    assert.match(JSON.stringify(held.problems), new RegExp(`npx cambist resume --policy ${policy}`));
    assertNothingMoved(doubted);
    assert.deepEqual(
      doubted.writes().map(({ operation }) => operation),
      [],
    );
    const all = await command(stage, ['resume']);
    assert.match(
      all.stdout,
      /^In SANDBOX, everything was (not halted\.|resumed already, .+)\nHalted: .+ has halted policy/s,
    );
    assertNothingMoved(doubted);
    const resume = ['resume', '--policy', policy];
    const refused = await command(stage, resume, { ask: () => Promise.resolve('no') });
    assertExit(refused, 4);
    const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');
    assert.match(flat(refused.stderr), /has halted policy.*"is doubted".*NOT_CONFIRMED/);
    // While a person reads the question, somebody else halts the same once more.
    const since = await command(stage, resume, {
      ask: async () => {
        await command(stage, ['halt', '--policy', policy, '--reason', 'by another', '--by', 'ben']);
        return 'yes';
      },
    });
    assertExit(since, 4);
    assert.match(flat(since.stderr), /SAID_SINCE.* ben has halted/);
    assertNothingMoved(doubted);
    assertExit(await command(stage, [...resume, '--yes'], { ask: () => assert.fail('It asks.') }), 0);
    assertDoneOnce(doubted, await doubted.report());
  } finally {
    await stage.close();
  }
});

test('a halt that a worker has seen holds when somebody deletes its workflow, also for the next worker by its journal, and a resume lets go', async () => {
  const stage = await openStage({
    balances: RICH,
    rates: { 'USD/MXN': '17.25' },
    temporalAddress: server.address,
  });
  const { client, namespace } = stage.temporal;
  const of = { client, mode: 'SANDBOX' } as const;
  try {
    const env = { CAMBIST_AUDIT: stage.folder };
    const worker = await stage.startWorker({ env });
    const run = stage.find(convertPolicy(), {});
    const { policy } = run.name;
    assertExit(
      await command(stage, ['halt', '--policy', policy, '--reason', 'is doubted', '--by', 'ana']),
      0,
    );
    await run.startAgain();
    await run.heldBy('HALTED');
    const ofAna = async () => (await currentHalts(of)).find(({ scope }) => scope.policy === policy);
    const said = await ofAna();
    const deleteRecord = async (): Promise<string | undefined> => {
      const deleted = await describe(client, haltIdOf('SANDBOX'));
      const workflowExecution = { workflowId: haltIdOf('SANDBOX') };
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
      return deleted?.runId;
    };
    const isBack = async (deletedRunId: string | undefined): Promise<void> => {
      await eventually('the worker puts the halt back', async () => {
        const shown = await describe(client, haltIdOf('SANDBOX'));
        return shown !== null && shown.runId !== deletedRunId && (await ofAna()) !== undefined;
      });
      assert.deepEqual(await ofAna(), said);
    };
    await isBack(await deleteRecord());
    // Mostly the worker has not seen its end, and goes by a halt of everything too.
    assertExit(await command(stage, ['resume', '--by', 'ana']), 0);
    await run.heldBy('HALTED');
    worker.shutdown();
    await worker.ended;
    const deletedRunId = await deleteRecord();
    await eventually('it is gone', async () => (await describe(client, haltIdOf('SANDBOX'))) === null);
    const notes: string[] = [];
    await stage.startWorker({ env, note: (code, problem) => notes.push(`${code}: ${problem}`) });
    assert.match(notes.join('\n'), /^HALTED: ana has halted policy .* A journal of this worker’s folder/);
    await isBack(deletedRunId);
    assertNothingMoved(run);
    const resumed = await command(stage, ['resume', '--policy', policy, '--by', 'ben']);
    assertExit(resumed, 0);
    assert.match(
      resumed.stdout.replaceAll(/\s+/g, ' '),
      /^Takes back: ana has halted policy .*: "is doubted"\. Resumed/,
    );
    assertDoneOnce(run, await run.report());
  } finally {
    await command(stage, ['resume']);
    await stage.close();
  }
});

test('halts that are said at once are all kept, without any worker, and by whoever ends their workflow', async () => {
  const stage = await openStage({ temporalAddress: server.address });
  const { client } = stage.temporal;
  const of = { client, mode: 'SANDBOX' } as const;
  const currencies = ['EUR', 'MXN', 'USD', 'GBP', 'SGD'];
  const kept = async () => new Set((await currentHalts(of)).map(({ scope }) => scope.currency));
  try {
    await Promise.all(
      currencies.map((currency) => halt(of, { scope: { policy: null, currency }, by: 'ana', why: 'a test' })),
    );
    assert.deepEqual(await kept(), new Set(currencies));
    const again = await command(stage, ['halt', '--currency', 'EUR', '--reason', 'a doubt', '--by', 'bo']);
    assertExit(again, 0);
    assert.match(
      again.stdout.replaceAll(/\s+/g, ' '),
      /It was halted already: ana has halted everything in EUR since \S+ \S+ UTC: "a test"\. The reason is now "a doubt"\./,
    );
    await client.workflow.getHandle(haltIdOf('SANDBOX')).terminate('somebody tidies up');
    assert.deepEqual(await kept(), new Set(currencies));
    const told = await command(stage, ['status']);
    assert.match(
      told.stdout.replaceAll(/\s+/g, ' '),
      /ended the workflow that keeps what is halted, at \S+ \S+ UTC: "somebody tidies up"\./,
    );
    await startEmpty(client);
    assert.deepEqual(await kept(), new Set(currencies));
    assertExit(await command(stage, ['resume', '--currency', 'SGD']), 0);
    assert.deepEqual(await kept(), new Set(['EUR', 'GBP', 'MXN', 'USD']));
  } finally {
    for (const currency of currencies) await command(stage, ['resume', '--currency', currency]);
    await stage.close();
  }
});

test('a halt counts, and what was said before goes on counting, where somebody has used up all signals that Temporal takes', async () => {
  const stage = await openStage({ temporalAddress: server.address });
  const { client } = stage.temporal;
  const of = { client, mode: 'SANDBOX' } as const;
  const said = { by: 'ana', why: 'a test' };
  const haltIn = (currency: string) => halt(of, { scope: { policy: null, currency }, ...said });
  const kept = async () => new Set((await currentHalts(of)).map(({ scope }) => scope.currency));
  try {
    await haltIn('EUR');
    const open = client.workflow.getHandle(haltIdOf('SANDBOX'));
    const { runId } = await open.describe();
    const flood = await Promise.allSettled(
      Array.from({ length: MOST_SIGNALS }, () => open.signal('approve', 'anything')),
    );
    assert.ok(flood.some(({ status }) => status === 'rejected'));
    await haltIn('MXN');
    assert.notEqual((await open.describe()).runId, runId);
    assert.deepEqual(await kept(), new Set(['EUR', 'MXN']));
  } finally {
    await letGo(of, await currentHalts(of), said);
    await stage.close();
  }
});

/** What a stranger can do who may write to the namespace: the workflow is there again, and says that nothing stands. */
async function startEmpty(client: Client): Promise<void> {
  await client.workflow.start(HALT_TYPE, {
    workflowId: haltIdOf('SANDBOX'),
    taskQueue: UNSERVED_QUEUE,
    args: [[]],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

type Drilled = {
  readonly stopped: readonly { readonly worker: string; readonly afterMs: number }[];
  readonly slowestMs: number;
};

test('a drill tells how fast each worker stops, while a batch is paid, and stops nothing', async () => {
  const stage = await openSlowStage();
  const { env, temporal } = stage;
  const workers = [startBuiltWorker({ env }), startBuiltWorker({ env })];
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    const run = await startBatch(stage, paymentsOf(PAYMENTS), { perChunk: PAYMENTS, policy: POLICY });
    await underWay(run);
    const drilled = await command(stage, ['halt', '--drill', '--json']);
    assertExit(drilled, 0);
    const { stopped, slowestMs } = JSON.parse(drilled.stdout) as Drilled;
    assert.deepEqual(
      new Set(stopped.map(({ worker }) => Number.parseInt(worker, 10))),
      new Set(workers.map(({ process: { pid } }) => pid)),
    );
    assert.equal(slowestMs, stopped.at(-1)?.afterMs);
    const sent = run.writes().length;
    assert.ok(sent < PAYMENTS, `${sent} were sent before it ended`);
    assertPaidOnce(run, (await run.report()).status);
    assert.deepEqual(await currentHalts({ client: temporal.client, mode: 'SANDBOX' }), []);
    const open = await temporal.client.workflow.count(
      "WorkflowType = 'halt' AND ExecutionStatus = 'Running'",
    );
    assert.equal(open.count, 1, 'the record of halts alone');
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await stage.close();
  }
});

test('a drill names the worker that stands still, and whoever has none is told to start one', async () => {
  const stage = await openSlowStage();
  const { env, temporal } = stage;
  const workers = [startBuiltWorker({ env }), startBuiltWorker({ env })];
  const [frozen, other] = workers.map(({ process: child }) => child);
  try {
    assertExit(await command(stage, ['halt', '--drill']), 7);
    await Promise.all(workers.map(({ ready }) => ready));
    const names = [frozen, other].map((child) => `${child?.pid}@`);
    await untilPolling(temporal.client, env['CAMBIST_TASK_QUEUE'] ?? '', names);
    frozen?.kill('SIGSTOP');
    const drilled = await command(stage, ['halt', '--drill']);
    assertExit(drilled, 7);
    assert.match(drilled.stderr, new RegExp(`^HALT_DRILL_FAILED ${frozen?.pid}@`));
    assert.doesNotMatch(drilled.stderr, new RegExp(`${other?.pid}@`));
    assert.deepEqual(await currentHalts({ client: temporal.client, mode: 'SANDBOX' }), []);
    frozen?.kill('SIGCONT');
    const again = await command(stage, ['halt', '--drill']);
    assertExit(again, 0);
    assert.match(again.stdout, /^A halt stops 2 workers: .* Nothing was halted\.$/m);
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await stage.close();
  }
});

test('a file on the machine of the worker holds a run; no resume lets it go, and it goes on once the file is gone', async () => {
  const stage = await openStage({
    balances: RICH,
    rates: { 'USD/MXN': '17.25' },
    temporalAddress: server.address,
  });
  try {
    const file = join(stage.folder, 'halt');
    await writeFile(file, '');
    await stage.startWorker({ env: { CAMBIST_HALT_FILE: file } });
    const run = await stage.start(convertPolicy());
    const held = await run.heldBy('HALT_FILE');
    assert.match(JSON.stringify(held.problems), /The file .*halt.* is there on machine/);
    await command(stage, ['resume', '--yes']);
    await run.wake();
    await run.heldBy('HALT_FILE');
    assertNothingMoved(run);
    await rm(file);
    await run.wake();
    assertDoneOnce(run, await run.report());
  } finally {
    await stage.close();
  }
});
