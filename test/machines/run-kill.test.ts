/**
 * A worker is killed like a power cut (`SIGKILL`) at every moment of a run, once; a fresh worker goes on. The end is the
 * same as if nothing had happened: one trade, one withdrawal, everything paid. The moments of the two writes are a table
 * (`support/kill-cells.ts`), of which no cell may be missing.
 */
import assert from 'node:assert/strict';
import { describe, test as testAlways } from 'node:test';
import type { SettingsPatch } from '../../sandbox/server.ts';
import { uniqueName } from '../support/dev-server.ts';
import { CELLS, MOMENTS, MOVEMENTS, SIDES, killIn, nameOf } from '../support/kill-cells.ts';
import { convertPolicy } from '../support/policies.ts';
import { isPlayed, seedOr, test } from '../support/sliced.ts';
import { assertDoneOnce, openStage, type Run, type Stage } from '../support/stage.ts';
import { startDoomedWorker, type KillPoint } from '../support/worker-process.ts';

/** What a service may keep under a key, and where it may show metadata: all nine combinations are met. */
const KEPT = ['none', 'refusals', 'all'] as const;
const SHOWN = ['always', 'never', 'mixed'] as const;
const combinations = KEPT.flatMap((storeErrors) =>
  SHOWN.map((metadataInLists) => ({ storeErrors, metadataInLists })),
);
/** Each cell takes the next combination, another one by another seed: the fourteen cells of a movement meet all nine. */
function settingsOf(index: number): SettingsPatch {
  const settings = combinations[(index + seedOr(0)) % combinations.length];
  assert.ok(settings !== undefined);
  return settings;
}

const booked = { trades: 0, withdrawals: 0 };

/** A stage for one kill: once the worker is dead and a fresh one works, time passes there. */
async function onStage(index: number, work: (stage: Stage) => Promise<void>): Promise<void> {
  const money = { rates: { 'USD/MXN': '17.25' }, balances: { USD: '1000000', MXN: '1000000' } };
  const stage = await openStage({ ...money, settings: settingsOf(index), timePasses: true });
  try {
    await work(stage);
    const { trades, withdrawals } = stage.sandbox.ledger();
    booked.trades += trades.length;
    booked.withdrawals += withdrawals.length;
  } finally {
    await stage.close();
  }
}

/** The other moments of a run, in the order in which it passes them. */
const POINTS: readonly (readonly [string, KillPoint])[] = [
  ['before the service is observed', { point: 'before observation', nth: 1 }],
  ['before the plan is told', { point: 'before result', nth: 1 }],
  ...around('the instructions are read before the quote', 'read instructions', 1),
  ...around('the balances are read', 'read balances', 1),
  ...around('the quote is asked for', 'send quote', 1),
  ['before the quote is told', { point: 'before result', nth: 2 }],
  ...around('the instructions are read before the trade', 'read instructions', 2),
  ['after the reply to the trade is judged', { point: 'after send trade', nth: 1 }],
  ['when the trade is on its way to Temporal', { point: 'before result', nth: 3, afterwards: true }],
  ['before settlement is looked for', { point: 'before settlement poll', nth: 1 }],
  ['before settlement is told', { point: 'before result', nth: 4 }],
  ...around('the instructions are read before the withdrawal', 'read instructions', 3),
  ['after the reply to the withdrawal is judged', { point: 'after send withdrawal', nth: 1 }],
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

/** A few at once: starting a process is work, all else is waiting for the server to notice. */
const AT_ONCE = { concurrency: 10 };
const killed = new Set<string>();

const titleOf = (when: string): string => `${when}: the run ends as if nothing had happened`;
const ALL = [...CELLS.map(nameOf), ...POINTS.map(([when]) => when)].map(titleOf);

describe('a worker killed in a write', AT_ONCE, () => {
  for (const [index, cell] of CELLS.entries())
    test(titleOf(nameOf(cell)), () =>
      onStage(index, async (stage) => {
        const { run, taskQueue, afterwards, standing } = await killIn(cell, stage);
        killed.add(titleOf(nameOf(cell)));
        assert.deepEqual(standing.found, standing.wanted);
        await Promise.all([afterwards(), finish(stage, run, taskQueue)]);
      }),
    );
});

describe('a worker killed', AT_ONCE, () => {
  for (const [index, [when, point]] of POINTS.entries())
    test(titleOf(when), () =>
      onStage(index, async (stage) => {
        const taskQueue = uniqueName('queue');
        const doomed = startDoomedWorker({ ...stage.env, CAMBIST_TASK_QUEUE: taskQueue }, point);
        const run = await stage.start(convertPolicy(), { taskQueue });
        const end = await Promise.race([doomed.gone, run.handle.result()]);
        assert.equal(end, 'SIGKILL');
        killed.add(titleOf(when));
        await finish(stage, run, taskQueue);
      }),
    );
});

testAlways('no cell of the table is missing: each movement, each moment, before and after it', (context) => {
  for (const movement of MOVEMENTS) {
    const indices = [...CELLS.keys()].filter((index) => CELLS[index]?.movement === movement);
    assert.equal(new Set(indices.map(settingsOf)).size, combinations.length);
  }
  assert.equal(ALL.length, MOVEMENTS.length * MOMENTS.length * SIDES.length + POINTS.length);
  assert.deepEqual([...killed].toSorted(), ALL.filter(isPlayed).toSorted());
  assert.deepEqual(booked, { trades: killed.size, withdrawals: killed.size });
  context.diagnostic(
    `${killed.size} kills, ${booked.trades} trades and ${booked.withdrawals} withdrawals booked`,
  );
});

/** A fresh worker ends the run. */
async function finish(stage: Stage, run: Run, taskQueue: string): Promise<void> {
  const worker = await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue } });
  const report = await run.report();
  assertDoneOnce(run, report);
  assert.deepEqual(report.totals, [
    { currency: 'MXN', planned: '17250', paid: '17250', notPaid: '0', needsHuman: '0' },
  ]);
  const sends = run.writes();
  assert.equal(new Set(sends.map((entry) => entry.reference)).size, 2);
  worker.shutdown();
}
