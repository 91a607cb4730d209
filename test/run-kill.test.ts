/**
 * A worker is killed like a power cut at every moment of a run, once; a fresh worker goes on. The end is the same as if
 * nothing had happened: one trade, one withdrawal, everything paid.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { uniqueName } from './support/dev-server.ts';
import { convertPolicy } from './support/policies.ts';
import { assertDoneOnce, openStage } from './support/stage.ts';
import { startDoomedWorker, type KillPoint } from './support/worker-process.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
});
after(() => stage.close());

/** Every moment of a run, in the order in which a run passes it. */
const POINTS: readonly (readonly [string, KillPoint])[] = [
  ['before the service is observed', { point: 'before observation', nth: 1 }],
  ['before the plan is told', { point: 'before result', nth: 1 }],
  ...around('the words are read before the quote', 'read words', 1),
  ...around('the balances are read', 'read balances', 1),
  ...around('the quote is asked for', 'send quote', 1),
  ['before the quote is told', { point: 'before result', nth: 2 }],
  ...around('the words are read before the trade', 'read words', 2),
  ...around('the trade is sent', 'send trade', 1),
  ['before the trade is told', { point: 'before result', nth: 3 }],
  ['when the trade is on its way to Temporal', { point: 'before result', nth: 3, afterwards: true }],
  ['before settlement is looked for', { point: 'before settlement poll', nth: 1 }],
  ['before settlement is told', { point: 'before result', nth: 4 }],
  ...around('the words are read before the withdrawal', 'read words', 3),
  ...around('the withdrawal is sent', 'send withdrawal', 1),
  ['before the withdrawal is told', { point: 'before result', nth: 5 }],
  ['when the withdrawal is on its way to Temporal', { point: 'before result', nth: 5, afterwards: true }],
  ['before the payment is looked for', { point: 'before payment poll', nth: 1 }],
  ['before the payment is told', { point: 'before result', nth: 6 }],
];

function around(what: string, effect: string, nth: number): readonly (readonly [string, KillPoint])[] {
  return [
    [`before ${what}`, { point: `before ${effect}`, nth }],
    [`after ${what}`, { point: `after ${effect}`, nth }],
  ];
}

// A few at once: starting a process is work, all else is waiting for the server to notice.
describe('a worker killed', { concurrency: 6 }, () => {
  for (const [when, point] of POINTS)
    test(`${when}: the run ends as if nothing had happened`, async () => {
      const taskQueue = uniqueName('queue');
      const doomed = startDoomedWorker({ ...stage.env, CAMBIST_TASK_QUEUE: taskQueue }, point);
      const run = await stage.start(convertPolicy(), { taskQueue });
      assert.equal(await doomed.gone, 'SIGKILL');
      const worker = await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue } });
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.deepEqual(report.totals, [
        { currency: 'MXN', planned: '17250', paid: '17250', notPaid: '0', needsHuman: '0' },
      ]);
      const sends = run.writes();
      assert.equal(new Set(sends.map((entry) => entry.reference)).size, 2);
      worker.shutdown();
    });
});
