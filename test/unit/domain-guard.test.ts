/** The price guard: one exact inequality in both directions of writing, equal passes (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundFromCost, boundFromRate, keepsGuard, rateOf } from '../../domain/plan/price-bounds.ts';
import type { Rate } from '../../domain/policy.ts';

const USD_MXN = { sell: 'USD', buy: 'MXN' };
const rate = (value: string, currency: string, per: string): Rate => ({ value, currency, per });

test('a literal rate bounds the price in whichever direction it was written, and equal passes', () => {
  const rows: readonly (readonly [Rate, string, string, boolean])[] = [
    // Bought per sold: at least.
    [rate('16.90', 'MXN', 'USD'), '1000', '16900', true],
    [rate('16.90', 'MXN', 'USD'), '1000', '16900.0000000001', true],
    [rate('16.90', 'MXN', 'USD'), '1000', '16899.9999999999', false],
    // Sold per bought: at most.
    [rate('0.0625', 'USD', 'MXN'), '1000', '16000', true],
    [rate('0.0625', 'USD', 'MXN'), '1000', '15999.9999999999', false],
    [rate('0.0625', 'USD', 'MXN'), '1000.0000000001', '16000', false],
  ];
  for (const [worst, sold, bought, keeps] of rows)
    assert.equal(
      keepsGuard(boundFromRate(worst, USD_MXN), sold, bought),
      keeps,
      `${worst.value} ${worst.currency} per ${worst.per}: ${sold} for ${bought}`,
    );
});

test('an inverse bound is not divided out: a third passes exactly', () => {
  const bound = boundFromRate(rate('3', 'USD', 'MXN'), USD_MXN);
  assert.equal(keepsGuard(bound, '1', '0.333333333333333333333333'), false);
  assert.equal(keepsGuard(bound, '3', '1'), true);
});

test('a cost against reference rates is exact to the basis point, directly, inversely and across a third currency', () => {
  const direct = [rate('20', 'MXN', 'USD')];
  const inverse = [rate('0.05', 'USD', 'MXN')];
  const cross = [rate('1.25', 'USD', 'EUR'), rate('20', 'MXN', 'USD')];
  const rows: readonly (readonly [
    readonly Rate[],
    { sell: string; buy: string },
    string,
    string,
    boolean,
  ])[] = [
    [direct, USD_MXN, '1000', '19950', true],
    [direct, USD_MXN, '1000', '19949.99999999', false],
    [inverse, USD_MXN, '1000', '19950', true],
    [inverse, USD_MXN, '1000', '19949.99999999', false],
    // One euro is 1.25 dollars is 25 pesos.
    [cross, { sell: 'EUR', buy: 'MXN' }, '1000', '24937.5', true],
    [cross, { sell: 'EUR', buy: 'MXN' }, '1000', '24937.49999999', false],
    [cross, { sell: 'MXN', buy: 'EUR' }, '25000', '997.5', true],
    [cross, { sell: 'MXN', buy: 'EUR' }, '25000', '997.49999999', false],
  ];
  for (const [rates, pair, sold, bought, keeps] of rows) {
    const bound = boundFromCost(rates, '25', pair);
    assert.ok(bound !== null);
    assert.equal(keepsGuard(bound, sold, bought), keeps, `${pair.sell} ${sold} for ${pair.buy} ${bought}`);
  }
});

test('a cost of nothing asks for the reference itself, and a better price always passes', () => {
  const bound = boundFromCost([rate('20', 'MXN', 'USD')], '0', USD_MXN);
  assert.ok(bound !== null);
  assert.equal(keepsGuard(bound, '1', '20'), true);
  assert.equal(keepsGuard(bound, '1', '19.99999999'), false);
  assert.equal(keepsGuard(bound, '1', '1000'), true);
});

test('rates that do not connect the two currencies give no bound', () => {
  assert.equal(boundFromCost([], '25', USD_MXN), null);
  assert.equal(boundFromCost([rate('1.25', 'USD', 'EUR'), rate('20', 'MXN', 'GBP')], '25', USD_MXN), null);
});

test('the rate of a report is bought by sold with twelve significant digits', () => {
  assert.equal(rateOf('1000.00', '17250.000000'), '17.25');
  assert.equal(rateOf('3', '1'), '0.333333333333');
});
