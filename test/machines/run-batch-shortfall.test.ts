/** A batch that buys what it pays, with too little to buy it with: `shortfall: hold` waits for the money, and then buys once. */
import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import type { Report } from '../../domain/run/report.ts';
import { assertPaidOnce, resetBatch, startBatch, untilAllEnded, untilBooked } from '../support/batches.ts';
import { wakeIfOpen } from '../support/passing-time.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';

const POLICY = `payout: { fund: { from: USD, mode: net } }
quote: { settlement: T0 }
guard: { worst_rate: ["0.80 EUR per USD", "15.00 MXN per USD"] }
settle: { until: funds }
shortfall: hold`;

/** 2000 EUR are missing: 2500 USD at most. 15000 MXN: 1000 USD at most. */
const PAYMENTS: readonly BatchPayment[] = [
  ['a-1', 'wac_EuR5epaLive1', 'EUR', '1500'],
  ['a-2', 'wac_EuR5epaLive1', 'EUR', '600'],
  ['b-1', 'wac_7Hk2mQ9vT4xR', 'MXN', '15000'],
  ['c-1', 'wac_U5DFedw1re9', 'USD', '75'],
  ['d-1', 'wac_7Hk2mQ9vT4xR', 'MXN', '5000'],
];

const stages: Stage[] = [];
after(() => Promise.all(stages.map((stage) => stage.close())));

/** Held for money: what needs no trade is paid, nothing else has moved. */
async function heldBatch() {
  const stage = await openStage({
    balances: { USD: '1100', EUR: '100', MXN: '5000' },
    rates: { 'USD/EUR': '0.92', 'USD/MXN': '17.25' },
  });
  stages.push(stage);
  await stage.startWorker();
  const batch = await startBatch(stage, PAYMENTS, { perChunk: 10, policy: POLICY });
  await untilBooked(batch, 1);
  const held = await batch.heldBy('SHORTFALL');
  assert.equal(held.status, 'HELD');
  assert.deepEqual(
    held.legs.map(({ id, outcome }) => [id, outcome]),
    [
      ['usd-eur-1', 'PENDING'],
      ['usd-mxn-1', 'PENDING'],
    ],
  );
  return { stage, batch };
}

const sentences = ({ problems }: Report) =>
  problems.flatMap(({ code, message }) => (code === 'SHORTFALL' ? message : []));

describe('a funded batch with too little money', { concurrency: 4 }, () => {
  cell(
    'is held with a sentence for each leg; once the money is there it buys each currency once, and pays everybody',
    async () => {
      const { stage, batch } = await heldBatch();
      const held = await batch.until(({ problems }) => sentences({ problems } as Report).length === 2);
      assert.match(
        sentences(held)[0] ?? '',
        /^Short of [\d,]+\.\d+ USD: the leg buys 2,000.00 EUR for 2,500.00 USD at most; 1,\d\d\d\.\d+ USD are there/,
      );
      assert.match(
        sentences(held)[1] ?? '',
        /^Short of .*: the leg buys 15,000.00 MXN for 1,000.00 USD at most; .*, of which 2,5\d\d\.\d\d USD go first/,
      );
      const { trades, withdrawals } = batch.movements();
      assert.deepEqual([trades.length, withdrawals.length], [0, 1]);
      stage.sandbox.setBalances({ USD: '2500' });
      await batch.wake();
      await batch.until(({ legs }) => legs[0]?.outcome === 'TRADED');
      stage.sandbox.setBalances({ USD: '1000' });
      await batch.wake();
      const report = await untilAllEnded(stage, batch);
      assertPaidOnce(batch, report);
      assert.equal(report.status, 'COMPLETED');
      assert.deepEqual(
        report.legs.map(({ buyAmount, outcome }) => [buyAmount, outcome]),
        [
          ['2000', 'TRADED'],
          ['15000', 'TRADED'],
        ],
      );
      assert.equal(batch.movements().trades.length, 2);
    },
  );

  for (const which of ['run', 1] as const)
    test(`is bought and paid once though ${which === 'run' ? 'its run' : 'its chunk'} is reset while it waits`, async () => {
      const { stage, batch } = await heldBatch();
      await resetBatch(stage, batch, which, 0.5);
      stage.sandbox.setBalances({ USD: '3500' });
      // A run that was reset cannot know whether it had traded already: it waits for the end of that doubt.
      const report = await stage.during(batch.handle.workflowId, () => untilAllEnded(stage, batch));
      assertPaidOnce(batch, report);
      assert.equal(batch.movements().trades.length, 2);
    });

  test('that buys only what there is money for pays with that, and waits for no more', async () => {
    const stage = await openStage({
      balances: { USD: '100', MXN: '0' },
      rates: { 'USD/EUR': '0.92', 'USD/MXN': '17.25' },
    });
    stages.push(stage);
    await stage.startWorker();
    const account = 'wac_7Hk2mQ9vT4xR';
    const payments: readonly BatchPayment[] = [
      ['b-1', account, 'MXN', '1400'],
      ['b-2', account, 'MXN', '600'],
    ];
    const batch = await startBatch(stage, payments, {
      perChunk: 10,
      policy: POLICY.replace('shortfall: hold', 'shortfall: skip'),
    });
    const report = await batch.report();
    assert.deepEqual(
      report.payments.map(({ id, outcome }) => [id, outcome]),
      [
        ['b-1', 'PAID'],
        ['b-2', 'NOT_PAID'],
      ],
    );
    assert.equal(batch.movements().withdrawals.length, 1);
  });

  test('pays what came in the currency itself, and does not buy it as well', async () => {
    const { stage, batch } = await heldBatch();
    stage.sandbox.setBalances({ EUR: '2100', MXN: '20000' });
    await batch.wake();
    const report = await untilAllEnded(stage, batch);
    assert.deepEqual(
      report.legs.map(({ outcome }) => outcome),
      ['NOT_TRADED', 'NOT_TRADED'],
    );
    assert.ok(
      report.payments.every(({ outcome }) => outcome === 'PAID'),
      JSON.stringify(report.payments),
    );
    const { trades, withdrawals } = batch.movements();
    assert.deepEqual([trades.length, withdrawals.length], [0, PAYMENTS.length]);
  });

  test('does not wait for money that another one waits for too: the first that sees it has it, then the other', async () => {
    const stage = await openStage({ balances: { USD: '100' }, rates: { 'USD/MXN': '17.25' } });
    stages.push(stage);
    await stage.startWorker();
    const batches = await Promise.all(
      ['e', 'f'].map((name) =>
        startBatch(stage, [[`${name}-1`, 'wac_7Hk2mQ9vT4xR', 'MXN', '15000']], {
          perChunk: 10,
          policy: POLICY,
        }),
      ),
    );
    await Promise.all(batches.map((batch) => batch.heldBy('SHORTFALL')));
    const tradesOf = () => batches.map((batch) => batch.movements().trades.length);
    for (const expected of [1, 2]) {
      stage.sandbox.setBalances({ USD: '1000' });
      await Promise.all(batches.map(wakeIfOpen));
      await Promise.race(
        batches.filter((_batch, index) => tradesOf()[index] === 0).map((batch) => batch.report()),
      );
      assert.equal(
        tradesOf().reduce((sum, count) => sum + count, 0),
        expected,
      );
    }
    await Promise.all(batches.map(async (batch) => assertPaidOnce(batch, await untilAllEnded(stage, batch))));
  });
});
