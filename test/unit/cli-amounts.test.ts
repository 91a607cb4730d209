/** Amounts in what people read have the decimals of their currency, wherever they stand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountText, moneyText } from '../../domain/currencies.ts';
import { againstExpected, Totals } from '../../language/batch/totals.ts';
import { sentLines } from '../../cli/views/sent-text.ts';
import { cellMoney } from '../../cli/views/amount-text.ts';
import { reportText } from '../../cli/views/report-text.ts';
import { changeLines } from '../../cli/views/replay-text.ts';
import { makeReportOf } from '../support/cli-reports.ts';

test('an amount has the decimals of its currency, more where it has more, and is not rounded', () => {
  assert.equal(moneyText('100', 'USD'), '100.00 USD');
  assert.equal(moneyText('100.005', 'USD'), '100.005 USD');
  assert.equal(moneyText('100', 'JPY'), '100 JPY');
  assert.equal(moneyText('100', 'USD', { USD: 3 }), '100.000 USD');
  assert.equal(moneyText('no amount', 'USD'), 'no amount USD');
});

test('the thousands of an amount are apart, and only before its point', () => {
  assert.equal(moneyText('999.5', 'USD'), '999.50 USD');
  assert.equal(moneyText('1234567.5', 'USD'), '1,234,567.50 USD');
  assert.equal(moneyText('-123456.1234567', 'USDC'), '-123,456.1234567 USDC');
  assert.equal(moneyText('1234567', 'JPY'), '1,234,567 JPY');
  assert.equal(amountText('60000', 2), '60,000.00');
});

test('a cell has the decimals of the currency, and never tells something as nothing', () => {
  assert.equal(cellMoney('17250.123456', 'MXN'), '17,250.12 MXN');
  assert.equal(cellMoney('17250.1', 'MXN'), '17,250.10 MXN');
  assert.equal(cellMoney('0.0012', 'USD'), '0.0012 USD');
  assert.equal(cellMoney(null, 'USD'), '- USD');
  const report = makeReportOf({ status: 'COMPLETED' });
  const legs = report.legs.map((leg) => ({ ...leg, buyAmount: '18500.123456789' }));
  const paint = { good: same, bad: same, warn: same, strong: same, faint: same };
  const text = reportText({ report: { ...report, legs }, uiUrl: null, nowMs: 0, width: 200, paint });
  assert.equal(text.split('18,500.123456789 MXN').length, 2, 'the exact amount stands once');
  assert.match(text, /^usd-mxn-1 +1,000\.00 USD +18,500\.12 MXN /m);
});

const same = (text: string): string => text;

test('control totals are told with them', () => {
  const totals = new Totals();
  totals.rows = 2;
  for (const currency of ['USD', 'EUR']) totals.count({ currency, value: '100' });
  const expected = { count: null, sums: [{ currency: 'USD', value: '2400' }] };
  assert.deepEqual(
    againstExpected(totals, expected, {}).map(({ message }) => message),
    [
      '2,400.00 USD are expected, the file pays 100.00 USD',
      'the file also pays 100.00 EUR, for which no total is expected',
    ],
  );
});

test('what a cancelled run has sent, and what a replay has changed, is told with them', () => {
  assert.deepEqual(sentLines(makeReportOf({ status: 'COMPLETED' })), [
    'trade tde_BhQh2Nqoq3ZLr1vFGEXEey: 1,000.00 USD for 18,500.00 MXN',
    'withdrawal wtd_3GVKK9mcGadvqjq8TViDA5: 18,500.00 MXN to wac_7Hk2mQ9vT4xR',
  ]);
  const change = { item: 'supplier', kind: 'payment' as const, before: 'NOT_PAID', after: 'PAID' };
  assert.deepEqual(changeLines([{ ...change, amount: '18500', currency: 'MXN' }]), [
    'What changed:',
    '  supplier: NOT_PAID -> PAID, 18,500.00 MXN',
  ]);
});
