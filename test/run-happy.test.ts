/** The main job: a convert policy as a durable run, through signed calls, to the last word of the service. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { assertDoneOnce, openStage } from './support/stage.ts';

const SUPPLIER = await readFile(new URL('../policies/mxn-supplier.yaml', import.meta.url), 'utf8');

const stage = await openStage({ rates: { 'USD/MXN': '17.25' } });
await stage.startWorker();
after(() => stage.close());

test('a convert policy is quoted, traded, settled and paid, each exactly once', async () => {
  const run = await stage.start(SUPPLIER);
  const report = await run.report();
  assertDoneOnce(run, report);
  assert.deepEqual(report.totals, [
    { currency: 'MXN', planned: '17250', paid: '17250', notPaid: '0', needsHuman: '0' },
  ]);
  const writes = stage.sandbox.requests().filter((entry) => entry.method === 'POST');
  assert.deepEqual(
    writes.map((entry) => entry.operation),
    ['createQuote', 'createTrade', 'createWithdrawal'],
  );
});
