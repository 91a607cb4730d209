/** Reference rates that have moved by more than a tenth since the last plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movedRates } from '../../domain/plan/moved-rates.ts';
import type { Leg } from '../../domain/plan/plan.ts';
import type { Rate } from '../../domain/policy.ts';
import { lineOf } from '../../operations/start/moved-rates.ts';
import { readRate } from '../../language/text/leaves.ts';
import { LEG } from '../support/scripts.ts';

/** A leg that was planned by this worth of one sold unit. */
function legOf(sell: string, buy: string, times: string, over = '1'): Leg {
  const referenceRate = { times, over, currency: buy, decimals: 2 };
  return { ...LEG, sell, buy, guard: { bound: null, text: '', staleAtMs: null, referenceRate } };
}

const USD_EUR = legOf('USD', 'EUR', '1', '1.08');

const CASES: readonly (readonly [what: string, leg: Leg, rates: readonly string[], now: string | null])[] = [
  ['the same rate', USD_EUR, ['1.08 USD per EUR'], null],
  ['a tenth more is not more than a tenth', USD_EUR, ['1.2 USD per EUR'], null],
  ['more than a tenth', USD_EUR, ['1.21 USD per EUR'], '0.826446'],
  ['more than a tenth the other way', USD_EUR, ['0.98 USD per EUR'], '1.02041'],
  ['a rate that is upside down', USD_EUR, ['0.9259 USD per EUR'], '1.08003'],
  ['the other direction of the pair', USD_EUR, ['0.8 EUR per USD'], '0.8'],
  ['through a third currency', USD_EUR, ['0.5 USD per GBP', '0.6 EUR per GBP'], '1.2'],
  ['a pair that the rates do not value', USD_EUR, ['1.08 USD per GBP'], null],
  ['a leg without a reference', { ...USD_EUR, guard: null }, ['9 USD per EUR'], null],
];

for (const [what, leg, texts, now] of CASES) {
  test(`${what} is ${now === null ? 'not ' : ''}remarked on`, () => {
    const rates: readonly Rate[] = texts.map(readRate);
    const [moved, ...others] = movedRates({ legs: [leg, leg] }, rates);
    assert.deepEqual(others, []);
    assert.equal(moved?.now ?? null, now);
  });
}

test('the remark names both rates and the run whose plan had the other one', () => {
  const [moved] = movedRates({ legs: [legOf('EUR', 'USD', '1.08')] }, [readRate('1.80 USD per EUR')]);
  assert.ok(moved !== undefined);
  assert.equal(
    lineOf({ run: { policy: 'daily-treasury', id: '2026-11-20' } }, moved),
    'By the reference rates 1 EUR is 1.8 USD; it was 1.08 in the plan of daily-treasury.2026-11-20. That is more than 10 % apart: see that the file is right.',
  );
});
