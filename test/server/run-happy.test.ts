/** The main job: a convert policy as a durable run, through signed calls, to the final status. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { urlOf } from '../support/root.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

const SUPPLIER = await readFile(urlOf('policies/mxn-supplier.yaml'), 'utf8');

const REST = await readFile(urlOf('policies/mxn-invoices-and-rest.yaml'), 'utf8');

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

test('the rest is what the invoices leave of what was bought, and is paid once like them', async () => {
  const report = await (await stage.start(REST)).report();
  assert.equal(report.status, 'COMPLETED');
  assert.deepEqual(
    report.payments.map(({ id, amount, outcome }) => [id, amount, outcome]),
    [
      ['inv-2026-311', '21000.00', 'PAID'],
      ['inv-2026-319', '9500.00', 'PAID'],
      ['on-account', '4000', 'PAID'],
    ],
  );
  const sent = stage.sandbox.requests().filter(({ operation }) => operation === 'createWithdrawal');
  assert.equal(sent.length, 3 + 1);
});

test('a limit binds the rest once it is known; the invoices are paid all the same', async () => {
  const limited = REST.replace('"25000.00 MXN"]', '"21000.00 MXN"]').replace(
    '"50000.00 MXN"',
    '"34499.99 MXN"',
  );
  const report = await (await stage.start(limited)).report();
  assert.deepEqual(
    report.payments.map(({ outcome }) => outcome),
    ['PAID', 'PAID', 'NOT_PAID'],
  );
  assert.deepEqual(
    report.problems.map(({ code, item }) => [code, item]),
    [['OVER_LIMIT', 'on-account']],
  );
  assert.deepEqual(report.totals, [
    { currency: 'MXN', planned: '34500', paid: '30500', notPaid: '4000', needsHuman: '0' },
  ]);
});
