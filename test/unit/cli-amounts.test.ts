/** Amounts in what people read have the decimals of their currency, wherever they stand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moneyText } from '../../domain/currencies.ts';
import { againstExpected, Totals } from '../../language/batch/totals.ts';
import { sentLines } from '../../cli/views/sent-text.ts';
import { changeLines } from '../../cli/views/replay-text.ts';
import { makeReportOf } from '../support/cli-reports.ts';

test('an amount has the decimals of its currency, more where it has more, and is not rounded', () => {
  assert.equal(moneyText('100', 'USD'), '100.00 USD');
  assert.equal(moneyText('100.005', 'USD'), '100.005 USD');
  assert.equal(moneyText('100', 'JPY'), '100 JPY');
  assert.equal(moneyText('100', 'USD', { USD: 3 }), '100.000 USD');
  assert.equal(moneyText('no amount', 'USD'), 'no amount USD');
});

test('control totals are told with them', () => {
  const totals = new Totals();
  totals.rows = 2;
  for (const currency of ['USD', 'EUR']) totals.count({ currency, value: '100' });
  const expected = { count: null, sums: [{ currency: 'USD', value: '2400' }] };
  assert.deepEqual(
    againstExpected(totals, expected, {}).map(({ message }) => message),
    [
      '2400.00 USD are expected, the file pays 100.00 USD',
      'the file also pays 100.00 EUR, for which no total is expected',
    ],
  );
});

test('what a cancelled run has sent, and what a replay has changed, is told with them', () => {
  assert.deepEqual(sentLines(makeReportOf({ status: 'COMPLETED' })), [
    'trade tde_BhQh2Nqoq3ZLr1vFGEXEey: 1000.00 USD for 18500.00 MXN',
    'withdrawal wtd_3GVKK9mcGadvqjq8TViDA5: 18500.00 MXN to wac_7Hk2mQ9vT4xR',
  ]);
  const change = { item: 'supplier', kind: 'payment' as const, before: 'NOT_PAID', after: 'PAID' };
  assert.deepEqual(changeLines([{ ...change, amount: '18500', currency: 'MXN' }]), [
    'What changed:',
    '  supplier: NOT_PAID -> PAID, 18500.00 MXN',
  ]);
});
