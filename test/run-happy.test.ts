/** The main job: a convert policy as a durable run, through signed calls, to the last word of the service. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { openStage } from './support/stage.ts';

const SUPPLIER = await readFile(new URL('../policies/mxn-supplier.yaml', import.meta.url), 'utf8');

test('a convert policy is quoted, traded, settled and paid, each exactly once', async () => {
  const stage = await openStage({ rates: { 'USD/MXN': '17.25' } });
  try {
    await stage.startWorker();
    const run = await stage.start(SUPPLIER);
    const report = await run.report();
    assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
    const ledger = stage.sandbox.ledger();
    assert.equal(ledger.trades.length, 1);
    assert.equal(ledger.withdrawals.length, 1);
    assert.equal(report.legs[0]?.tradeId, ledger.trades[0]?.['id']);
    assert.equal(report.payments[0]?.withdrawalId, ledger.withdrawals[0]?.['id']);
    assert.deepEqual(report.totals, [
      { currency: 'MXN', planned: '17250', paid: '17250', notPaid: '0', needsHuman: '0' },
    ]);
    const writes = stage.sandbox.requests().filter((entry) => entry.method === 'POST');
    assert.deepEqual(
      writes.map((entry) => entry.operation),
      ['createQuote', 'createTrade', 'createWithdrawal'],
    );
  } finally {
    await stage.close();
  }
});
