/** The size limits of a policy: single amounts and sums over a run, of what is traded and of what is paid (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenPaymentLimit, brokenTradeLimit } from '../../domain/plan/limits.ts';
import type { Limits, Money } from '../../domain/policy.ts';

const usd = (value: string): Money => ({ value, currency: 'USD' });
const mxn = (value: string): Money => ({ value, currency: 'MXN' });
const LIMITS: Limits = {
  perTrade: usd('100.00'),
  perRun: usd('150.00'),
  perDay: null,
  perPayment: [mxn('1000.00'), usd('50.00')],
  paidPerRun: [mxn('1500.00')],
};

const TRADES: readonly (readonly [
  what: string,
  trade: readonly Money[],
  others: readonly (readonly Money[])[],
  limit: string | null,
])[] = [
  ['a trade that equals its limit', [usd('100')], [], null],
  ['a trade above it', [usd('100.01')], [], 'per_trade of 100.00 USD'],
  ['the bought side above it', [mxn('1.00'), usd('100.01')], [], 'per_trade of 100.00 USD'],
  ['another currency', [mxn('999999')], [], null],
  ['trades that equal the limit of the run', [usd('50')], [[usd('60'), mxn('1')], [usd('40')]], null],
  ['trades that are above it together', [usd('50.01')], [[usd('60')], [usd('40')]], 'per_run of 150.00 USD'],
  [
    'both sides of a run that sells and buys a currency',
    [usd('60')],
    [[mxn('9'), usd('91')]],
    'per_run of 150.00 USD',
  ],
  ['a trade of other currencies in a run that is above it', [mxn('1')], [[usd('200')]], null],
];

test('the limit of a day counts other runs of the date; the limit of a run does not', () => {
  const limits = { ...LIMITS, perTrade: null, perDay: usd('200.00') };
  const before = { inRun: [usd('60')], onDate: [usd('80')] };
  assert.equal(brokenTradeLimit(limits, [usd('60')], before), null);
  assert.equal(
    brokenTradeLimit(limits, [usd('60.01')], before),
    '200.01 USD on one business date is above the limit per_day of 200.00 USD.',
  );
});

for (const [what, trade, others, limit] of TRADES)
  test(`${what} ${limit === null ? 'keeps the limits' : `breaks ${limit}`}`, () => {
    const broken = brokenTradeLimit(LIMITS, trade, { inRun: others.flat(), onDate: [] });
    assert.equal(broken === null, limit === null, broken ?? '');
    if (limit !== null) assert.ok(broken?.endsWith(`above the limit ${limit}.`), broken ?? '');
    assert.equal(brokenTradeLimit(null, trade, { inRun: others.flat(), onDate: [] }), null);
  });

const PAYMENTS: readonly (readonly [
  what: string,
  payment: Money,
  before: readonly Money[],
  limit: string | null,
])[] = [
  ['a payment that equals its limit', mxn('1000.00'), [], null],
  ['a payment above it', mxn('1000.01'), [], 'per_payment of 1,000.00 MXN'],
  ['a payment above the limit of its own currency', usd('50.01'), [], 'per_payment of 50.00 USD'],
  ['a payment without a limit', { value: '9999', currency: 'EUR' }, [], null],
  ['payments that equal the limit of the run', mxn('500'), [mxn('600'), usd('9999'), mxn('400')], null],
  [
    'payments that are above it together',
    mxn('500.01'),
    [mxn('600'), mxn('400')],
    'paid_per_run of 1,500.00 MXN',
  ],
  ['payments of a currency that only single payments limit', usd('50'), [usd('50'), usd('50')], null],
];

for (const [what, payment, before, limit] of PAYMENTS)
  test(`${what} ${limit === null ? 'keeps the limits of payments' : `breaks ${limit}`}`, () => {
    const broken = brokenPaymentLimit(LIMITS, payment, before);
    assert.equal(broken === null, limit === null, broken ?? '');
    if (limit !== null) assert.ok(broken?.endsWith(`above the limit ${limit}.`), broken ?? '');
    assert.equal(brokenPaymentLimit(null, payment, before), null);
  });
