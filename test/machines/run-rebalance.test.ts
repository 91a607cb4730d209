/**
 * A rebalancing of three legs, one of which lives on the others' proceeds: its worker is killed like a power cut at every
 * moment that matters to a leg, and a finished or refused one is reset to every event. Each leg is traded once, for what
 * its plan said, and the base keeps its minimum (M1, M4, M8).
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import { uniqueName } from '../support/dev-server.ts';
import { RATES_FILES, REBALANCING_RATES, rebalancingPolicy, traded } from '../support/rebalancing.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { test } from '../support/sliced.ts';
import { openStage, type Run, type Stage } from '../support/stage.ts';
import { startDoomedWorker, type KillPoint } from '../support/worker-process.ts';
import { lasting } from '../support/lasting.ts';

/** There are no dollars above the minimum: pounds are bought with what the sales bring. */
const POLICY = rebalancingPolicy('0.00');
const BALANCES = { USD: '100000', EUR: '300000', GBP: '10000', MXN: '185000' };
const ALL = ['buy 30000 GBP', 'sell 185000 MXN', 'sell 50000 EUR'];

async function onStage(work: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await openStage({ rates: REBALANCING_RATES, balances: BALANCES, timePasses: true });
  try {
    await work(stage);
  } finally {
    await stage.close();
  }
}

function assertAllOnce(stage: Stage, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(traded(run), ALL);
  const ids = run.movements().trades.map(({ id }) => String(id));
  assert.deepEqual(report.legs.map(({ tradeId }) => tradeId ?? '').toSorted(), ids.toSorted());
  const { USD, EUR, GBP, MXN } = stage.sandbox.ledger().balances;
  assert.deepEqual([EUR?.total, GBP?.total, MXN?.total], ['250000', '40000', '0']);
  assert.ok(Number(USD?.total) >= 100_000, `${String(USD?.total)} USD are left of the 100000 that are kept`);
}

/** A few at once: starting a process is work, all else is waiting for the server to notice. */
const AT_ONCE = { concurrency: 8 };

const THREE_TIMES = [1, 2, 3];
const POINTS: readonly KillPoint[] = [
  { point: 'after read balances', nth: 1 },
  ...['before send quote', 'after send quote', 'written POST /v3/fx/trades', 'after send trade'].flatMap(
    (point) => THREE_TIMES.map((nth) => ({ point, nth })),
  ),
  ...[1, 3, 5, 7].map((nth) => ({ point: 'before result', nth, afterwards: true })),
  { point: 'before settlement poll', nth: 1 },
];

describe('a worker killed in a rebalancing', AT_ONCE, () => {
  for (const point of POINTS)
    test(`${point.point}, time ${point.nth}: the run ends as if nothing had happened`, () =>
      onStage(async (stage) => {
        const taskQueue = uniqueName('queue');
        const doomed = startDoomedWorker({ ...stage.env, CAMBIST_TASK_QUEUE: taskQueue }, point);
        const run = await stage.start(POLICY, { files: RATES_FILES, taskQueue });
        assert.equal(await Promise.race([doomed.gone, run.handle.result()]), 'SIGKILL');
        const worker = await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue } });
        assertAllOnce(stage, run, await run.report());
        worker.shutdown();
      }));
});

/** Resets the run that came to its end to each of its events, one after the other; `judge` looks at each end. */
async function resetToEach(stage: Stage, run: Run, judge: (report: Report) => void): Promise<void> {
  const { workflowId, runId } = await run.handle.describe();
  const base = stage.temporal.client.workflow.getHandle(workflowId, runId);
  const points = await resetPoints(base);
  assert.ok(points.length > 5, `${points.length} events`);
  for (const point of points) {
    // One after the other: each ends the one before.
    await resetTo(stage.temporal, { workflowId, runId }, point);
    judge(await run.report());
  }
}

describe('a rebalancing that is reset to every event', AT_ONCE, () => {
  test('tells the same again and trades nothing, once it is done', () =>
    onStage(async (stage) => {
      await stage.startWorker();
      const run = await stage.start(POLICY, { files: RATES_FILES });
      const report = await run.report();
      assertAllOnce(stage, run, report);
      await resetToEach(stage, run, (again) => {
        assert.deepEqual(lasting(again), lasting(report));
        assert.deepEqual(traded(run), ALL);
      });
    }));

  test('trades nothing while one of its legs is refused, and that leg alone, once, when the cause is gone', () =>
    onStage(async (stage) => {
      await stage.startWorker();
      stage.sandbox.addFault({
        id: 'no pesos',
        operation: 'createQuote',
        when: { currency: 'MXN' },
        effect: { kind: 'error', code: 'TRADE_PAIR_NOT_SUPPORTED', stored: false },
      });
      const run = await stage.start(POLICY, { files: RATES_FILES });
      const refused = await run.report();
      const others = ['buy 30000 GBP', 'sell 50000 EUR'];
      assert.deepEqual([refused.status, traded(run)], ['PARTIAL', others]);
      await resetToEach(stage, run, (again) => {
        assert.deepEqual([again.status, traded(run)], ['PARTIAL', others]);
      });
      stage.sandbox.clearFaults('no pesos');
      await resetToEach(stage, run, (again) => assertAllOnce(stage, run, again));
    }));
});
