/** What trades cost against the reference rates, what legs should come to, and what is left: exact, rounded once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, expectedOf, leftOf } from '../../domain/plan/cost.ts';
import type { Leg, PlanGuard, Position } from '../../domain/plan/plan.ts';
import { LEG } from '../support/scripts.ts';

// 1.08 USD per EUR, as one rate and as a fraction.
const SALE = { times: '1.08', over: '1', currency: 'USD', decimals: 2 };
const PURCHASE = { times: '1', over: '1.08', currency: 'USD', decimals: 2 };
const SELL_EUR = { sell: 'EUR', buy: 'USD' };
const BUY_EUR = { sell: 'USD', buy: 'EUR' };

const COSTS: readonly (readonly [
  what: string,
  args: Parameters<typeof costOf>,
  amount: string,
  bps: string,
])[] = [
  ['a sale at the reference rate', [SALE, SELL_EUR, { sellAmount: '100', buyAmount: '108' }], '0', '0'],
  ['a sale that brings less', [SALE, SELL_EUR, { sellAmount: '1000', buyAmount: '1077.30' }], '2.7', '25'],
  ['a sale that brings more', [SALE, SELL_EUR, { sellAmount: '1000', buyAmount: '1081.08' }], '-1.08', '-10'],
  [
    'a purchase at the reference rate',
    [PURCHASE, BUY_EUR, { sellAmount: '108', buyAmount: '100' }],
    '0',
    '0',
  ],
  ['a dearer purchase', [PURCHASE, BUY_EUR, { sellAmount: '1082.70', buyAmount: '1000' }], '2.7', '24.94'],
  ['half a cent, to the even one', [SALE, SELL_EUR, { sellAmount: '1', buyAmount: '1.075' }], '0', '46.3'],
  ['half a cent more', [SALE, SELL_EUR, { sellAmount: '1', buyAmount: '1.065' }], '0.02', '138.89'],
  ['less than can be told', [SALE, SELL_EUR, { sellAmount: '1000000', buyAmount: '1080000.001' }], '0', '0'],
];

for (const [what, args, amount, bps] of COSTS)
  test(`the cost of ${what}: ${amount} USD, ${bps} bps`, () => {
    assert.deepEqual(costOf(...args), { amount, currency: 'USD', bps });
  });

test('where nothing is sold there is no cost', () => {
  assert.equal(costOf(SALE, SELL_EUR, { sellAmount: '0', buyAmount: '0' }), null);
});

const decimalsOf = () => 2;
const guard: PlanGuard = {
  bound: { buyFactor: '1', sellFactor: '17' },
  text: 'not worse than 17 MXN per USD',
  staleAtMs: null,
  referenceRate: null,
};

test('a leg is expected by its quote, else by the reference rate, else at the worst rate', () => {
  const referenceRate = { times: '1', over: '0.057', currency: 'MXN', decimals: 2 };
  const leg: Leg = { ...LEG, guard: { ...guard, referenceRate } };
  const quote = { sellAmount: '1000.00', buyAmount: '17500' };
  assert.deepEqual(expectedOf(leg, quote, decimalsOf), {
    by: 'quote',
    ...quote,
    rate: '17.5',
    cost: { amount: '43.86', currency: 'MXN', bps: '25' },
  });
  const expected = expectedOf(leg, null, decimalsOf);
  assert.deepEqual([expected?.by, expected?.buyAmount, expected?.cost], ['reference rate', '17543.86', null]);
  const worst = expectedOf({ ...LEG, guard }, null, decimalsOf);
  assert.deepEqual([worst?.by, worst?.buyAmount], ['worst rate', '17000']);
  const purchase: Leg = { ...LEG, guard, amount: { side: 'buy', value: '100.00', fixed: true } };
  assert.equal(expectedOf(purchase, null, decimalsOf)?.sellAmount, '5.88');
  assert.equal(expectedOf({ ...LEG, guard: null }, null, decimalsOf), null);
  assert.equal(expectedOf({ ...LEG, guard, amount: null }, null, decimalsOf), null);
});

test('what is sold has gone, and what is bought is there once it has settled', () => {
  const position = (currency: string, projected: string | null): Position => ({
    currency,
    withdrawable: '100',
    projected,
    target: null,
    low: null,
    high: null,
    wanted: null,
    traded: '0',
    restraint: null,
  });
  const trades = [
    { sell: 'EUR', buy: 'USD', sellAmount: '30', buyAmount: '32.4' },
    { sell: 'USD', buy: 'GBP', sellAmount: '12.7', buyAmount: '10' },
  ];
  assert.deepEqual(leftOf(position('USD', '90'), trades), { withdrawable: '87.3', projected: '109.7' });
  assert.deepEqual(leftOf(position('EUR', '100'), trades), { withdrawable: '70', projected: '70' });
  assert.deepEqual(leftOf(position('GBP', null), trades), { withdrawable: '100', projected: null });
});
