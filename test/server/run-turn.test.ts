/** One spender at a time: runs of one organisation plan with money that no other one has planned with. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { runName, type RunName } from '../../domain/references.ts';
import { turnsOf } from '../../durable/other-runs/turn.ts';
import { forgetRunsSignal, turnIdOf, turnQuery } from '../../workflows/names.ts';
import { uniqueName } from '../support/dev-server.ts';
import type { Report } from '../../domain/run/report.ts';
import { eventually } from '../support/patience.ts';
import { RESERVES, convertPolicy } from '../support/policies.ts';
import { openStage } from '../support/stage.ts';
import { resetPoints, resetTo } from '../support/resets.ts';

const RATES = { 'EUR/USD': '1.08', 'GBP/USD': '1.27', 'USD/MXN': '18.50' };
const FILES = {
  'rates.yaml': `as_of: ${new Date().toISOString().slice(0, 19)}Z
rates: ["1.0800 USD per EUR", "1.2700 USD per GBP"]
`,
};

function rebalance(targets: string): string {
  return `policy: 1
kind: rebalance
name: replaced
environment: sandbox
rebalance:
  base: { currency: USD, min: "100000.00" }
  targets: { ${targets} }
quote: { valid_for: 45s, settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 100bps }
settle: { until: status }
limits: { per_run: "1000000.00 USD" }
`;
}

/** Sells all dollars above 500. */
const SELL_ALL = `policy: 1
kind: convert
name: replaced
environment: sandbox
convert: { sell: USD, buy: USDC, amount: { sell: all, keep: "500.00" } }
quote: { settlement: IMMEDIATE }
guard: { worst_rate: "0.99 USDC per USD" }
`;

const BUY_GBP = rebalance('GBP: { min: "30000.00" }');
const BUY_EUR = rebalance('EUR: { min: "40000.00" }');

/** The turns of an organisation that nobody else has, with a worker. */
async function turnsOfItsOwn(context: TestContext) {
  const stage = await openStage({});
  context.after(() => stage.close());
  await stage.startWorker();
  const { client } = stage.temporal;
  const organisation = uniqueName('org');
  const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  const turns = turnsOf({ client, taskQueue, mode: 'SANDBOX', organisation });
  return { client, turns, workflowId: turnIdOf('SANDBOX', organisation) };
}

/** The id of the one workflow `turn` of a stage. */
async function turnIdIn({ temporal, env }: Awaited<ReturnType<typeof openStage>>): Promise<string> {
  const turns = temporal.client.workflow.list({
    query: `WorkflowType = 'turn' AND TaskQueue = '${env['CAMBIST_TASK_QUEUE'] ?? ''}'`,
  });
  const ids = new Set<string>();
  for await (const { workflowId } of turns) ids.add(workflowId);
  const [id = ''] = ids;
  assert.match(id, /^sandbox\/[^/]+\/turn$/);
  return id;
}

describe('runs of one organisation', () => {
  test('several rebalancings at once plan with the same money never twice', async (context) => {
    const stage = await openStage({ rates: RATES, balances: { USD: '150000' } });
    context.after(() => stage.close());
    await stage.startWorker();
    // Each alone has money enough; all together have not.
    const runs = await Promise.all(
      [BUY_GBP, BUY_EUR, BUY_GBP, BUY_EUR].map((policy) => stage.start(policy, { files: FILES })),
    );
    const reports = await Promise.all(runs.map((run) => run.report()));
    assert.deepEqual(
      reports.map(({ status }) => status),
      ['COMPLETED', 'COMPLETED', 'COMPLETED', 'COMPLETED'],
    );
    const left = Number(stage.sandbox.ledger().balances['USD']?.withdrawable ?? '0');
    assert.ok(left >= 100_000, `${left} USD are left of the 100000 that are kept`);
    const restraints = reports.flatMap(({ positions }) =>
      positions.flatMap(({ restraint }) => restraint ?? []),
    );
    assert.ok(restraints.includes('base'), restraints.join(', '));
    const traded = runs.flatMap((run) => run.movements().trades);
    assert.ok(traded.length > 1 && traded.length <= 4, `${traded.length}`);
  });

  test('what a held run has reserved is planned by nobody else, and is free once that run has ended', async (context) => {
    const stage = await openStage({ rates: RATES, balances: { USD: '150000' } });
    context.after(() => stage.close());
    await stage.startWorker();
    const held = await stage.start(RESERVES);
    await held.until((report) => report.status === 'HELD');
    const poor = await (await stage.start(BUY_GBP, { files: FILES })).report();
    assert.deepEqual([poor.status, poor.legs], ['COMPLETED', []]);
    assert.equal(poor.positions.find(({ currency }) => currency === 'GBP')?.restraint, 'base');

    const turn = stage.temporal.client.workflow.getHandle(await turnIdIn(stage));
    const state = await turn.query(turnQuery);
    assert.equal(state.holder, null);
    assert.ok(state.open.some(({ run }) => run === runName(held.name)));

    await held.handle.cancel();
    await held.until((report) => report.status === 'CANCELLED');
    const rich = await (await stage.start(BUY_GBP, { files: FILES })).report();
    assert.deepEqual([rich.status, rich.legs.length], ['COMPLETED', 1]);
  });

  test('a run that sells all there is leaves what a run of tomorrow will sell', async (context) => {
    const stage = await openStage({ rates: { ...RATES, 'USDC/USD': '1' }, balances: { USD: '5000' } });
    context.after(() => stage.close());
    await stage.startWorker();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const held = await stage.start(convertPolicy({ amount: '{ sell: "3000.00" }' }), { id: tomorrow });
    await held.until((report) => report.status === 'HELD');
    const run = await stage.start(SELL_ALL);
    const report = await run.report();
    assert.deepEqual([report.status, report.legs[0]?.sellAmount], ['COMPLETED', '1500']);
    await held.handle.cancel();
    await held.until((now) => now.status === 'CANCELLED');
  });

  test('beside a run that is terminated in the middle of a trade, others wait until the service shows that trade, also once the turn is deleted, and do not make it once more', async (context) => {
    const stage = await openStage({ rates: RATES, balances: { USD: '500000' } });
    context.after(() => stage.close());
    await stage.startWorker();
    const policy = BUY_GBP;
    const hold = stage.sandbox.addFault({
      operation: 'createTrade',
      times: 1,
      effect: { kind: 'hold', when: 'before' },
    });
    const gone = await stage.start(policy, { files: FILES });
    await stage.sandbox.faultHit(hold);
    await gone.handle.terminate('a careless person');
    const run = await stage.start(policy, { files: FILES });
    const isBeside = ({ code }: Report['problems'][number]): boolean => code === 'RESERVATION_UNKNOWN';
    const waits = await run.until(({ problems }) => problems.some(isBeside));
    const { message } = waits.problems.find(isBeside) ?? assert.fail('It waits.');
    const isGone = (text: string): boolean =>
      text.startsWith(`Run ${runName(gone.name)} is gone from Temporal since `);
    assert.ok(isGone(message), message);
    // The next turn finds both of them by their plans.
    const { client, namespace } = stage.temporal;
    const execution = { workflowId: await turnIdIn(stage) };
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: execution });
    const later = await stage.start(policy, { files: FILES });
    const beside = await later.until(({ problems }) => problems.some(isBeside));
    assert.ok(isGone(beside.problems.find(isBeside)?.message ?? ''), JSON.stringify(beside.problems));
    stage.sandbox.releaseFaults(hold);
    for (const each of [run, later]) {
      // One after the other.
      const report = await each.report();
      assert.deepEqual([report.status, report.legs], ['COMPLETED', []]);
    }
    assert.deepEqual(
      [gone, run, later].map((each) => each.movements().trades.length),
      [1, 0, 0],
    );
  });

  test('the history of the turn stays short, and what it knows is handed on', async (context) => {
    const { client, turns, workflowId } = await turnsOfItsOwn(context);
    const named = (policy: string): RunName => ({ policy, id: '2026-11-21' });
    const runs = [named('a'), named('b'), named('c')] as const;
    const askOften = async (run: RunName): Promise<void> => {
      for (let taken = 0; taken < 100;) {
        // Who is told that it is not its turn asks again, as a run does.
        if ((await turns.take(run, true)).turn !== 'ours') continue;
        taken += 1;
        await turns.giveBack(run, Date.now());
      }
    };
    await turns.reopen(runs[0]);
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    await Promise.all(runs.map(askOften));

    const first = await client.workflow.getHandle(workflowId, runId).describe();
    assert.equal(first.status.name, 'CONTINUED_AS_NEW');
    // Temporal itself suggests it from 4,096 events on.
    assert.ok(first.historyLength < 3_000, `${first.historyLength} events`);
    const state = await client.workflow.getHandle(workflowId).query(turnQuery);
    assert.deepEqual(state.open.map(({ run }) => run).toSorted(), runs.map(runName));
    assert.equal(state.traded.length, 2);
  });

  test('whoever waits for the turn is answered once the history is long, so that it can go on in a new one', async (context) => {
    const { client, turns, workflowId } = await turnsOfItsOwn(context);
    assert.equal((await turns.take({ policy: 'a', id: '2026-11-21' }, true)).turn, 'ours');
    const handle = client.workflow.getHandle(workflowId);
    const { runId } = await handle.describe();
    const tell = (times: number): Promise<unknown> =>
      Promise.all(Array.from({ length: times }, () => handle.signal(forgetRunsSignal, ['c.2026-11-21'])));
    // The first one keeps its turn, while others say something. Most of it is said before: the question waits only so long.
    while ((await handle.describe()).historyLength < 850) await tell(20);
    const waits = turns.take({ policy: 'b', id: '2026-11-21' }, true);
    await eventually('the question', async () => (await handle.query(turnQuery)).line.length);
    await tell(200);
    assert.equal((await waits).turn, 'others');
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const fired = (events ?? []).map(({ timerFiredEventAttributes: timer }) => String(timer?.startedEventId));
    const lasted = (events ?? []).filter(
      ({ eventId, timerStartedEventAttributes: timer }) =>
        Number(timer?.startToFireTimeout?.seconds ?? 0) > 5 && fired.includes(String(eventId)),
    );
    assert.equal(lasted.length, 0, 'its question waited for its whole time');
  });

  test('turns are given, and a new history begins, while signals keep coming', async (context) => {
    const { client, turns, workflowId } = await turnsOfItsOwn(context);
    await turns.reopen({ policy: 'a', id: '2026-11-21' });
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    const over = new AbortController();
    const floods = Array.from({ length: 4 }, async (_, flood) => {
      while (!over.signal.aborted)
        await client.workflow.getHandle(workflowId).signal(forgetRunsSignal, [`none.2026-11-2${flood}`]);
    });
    try {
      const newest = () => client.workflow.getHandle(workflowId).describe();
      await eventually(
        'a new history',
        async () => (await newest()).runId !== runId,
        async () => (await newest()).historyLength,
      );
      assert.equal((await turns.take({ policy: 'b', id: '2026-11-21' }, true)).turn, 'ours');
    } finally {
      over.abort();
      await Promise.all(floods);
    }
  });

  test('what was to be sold and is no longer there is not sold after a reset; once it is there again, it is, once', async (context) => {
    const stage = await openStage({
      rates: { 'USDC/USD': '1.10' },
      balances: { USD: '5000' },
      timePasses: true,
    });
    context.after(() => stage.close());
    await stage.startWorker();
    const run = await stage.start(SELL_ALL);
    const resetTheRun = async () => {
      const { workflowId, runId } = await run.handle.describe();
      const [first] = await resetPoints(run.handle);
      assert.ok(first !== undefined, 'a run has an event to go back to');
      await resetTo(stage.temporal, { workflowId, runId }, first);
      return run.report();
    };
    const codesOf = ({ problems }: Report) => problems.map(({ code }) => code);
    assert.deepEqual(codesOf(await run.report()), ['OUTSIDE_GUARD']);
    stage.sandbox.setRates({ 'USDC/USD': '1' });
    // 4500.00 was to be sold, and 500.00 to stay.
    stage.sandbox.setBalances({ USD: '4999.99' });
    assert.deepEqual(codesOf(await resetTheRun()), ['BALANCES_CHANGED']);
    assert.deepEqual(run.movements().trades, []);
    stage.sandbox.setBalances({ USD: '7000' });
    const report = await resetTheRun();
    assert.deepEqual([report.status, report.legs[0]?.sellAmount], ['COMPLETED', '4500']);
    assert.equal((await resetTheRun()).status, 'COMPLETED');
    assert.equal(run.movements().trades.length, 1);
  });
});
