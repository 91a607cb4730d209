/** Worst rates of a policy that lie far from its reference rates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { readRate } from '../../language/text/leaves.ts';
import { farBounds } from '../../domain/plan/far-bounds.ts';

/** What is said of this worst rate where 1 EUR is 1.08 USD. */
function linesOf(
  worstRate: string,
  rates: readonly string[] | null = ['1.08 USD per EUR'],
  more = '',
): readonly string[] {
  const text = `policy: 1
kind: rebalance
name: p
environment: sandbox
rebalance: { base: { currency: USD }, targets: { EUR: { min: "1.00", max: "9.00" } } }
guard: { reference: { file: r.yaml, max_age: 30h }, worst_cost: 25bps, worst_rate: ["${worstRate}"]${more} }
`;
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const read = rates === null ? null : { asOf: '2026-11-20T16:00:00Z', rates: rates.map(readRate) };
  return farBounds(loaded.policy, read);
}

const CASES: readonly (readonly [worstRate: string, said: string | null])[] = [
  ['1.08 USD per EUR', null],
  // A sale of EUR that may bring a fifth less, and one that may bring less still.
  ['0.864 USD per EUR', null],
  ['0.8639 USD per EUR', 'so it would allow a price that is more than a fifth worse'],
  ['0.108 USD per EUR', 'so it would allow a price that is ten times worse'],
  // No price of the market keeps these.
  ['1.35 USD per EUR', null],
  ['1.3501 USD per EUR', 'so no price near the reference rates would keep it'],
  ['108.00 USD per EUR', 'so no price near the reference rates would keep it'],
  // Purchases of EUR.
  ['0.90 EUR per USD', null],
  ['0.70 EUR per USD', 'so it would allow a price that is more than a fifth worse'],
  ['1.80 EUR per USD', 'so no price near the reference rates would keep it'],
];

for (const [worstRate, said] of CASES) {
  test(`${worstRate} is ${said === null ? 'not ' : ''}remarked on where 1 EUR is 1.08 USD`, () => {
    const [line, ...others] = linesOf(worstRate);
    assert.deepEqual(others, []);
    if (said === null) assert.equal(line, undefined);
    else assert.ok(line?.includes(said), line);
  });
}

test('the remark names the worst rate, and the reference rate in the same direction', () => {
  assert.deepEqual(linesOf('0.70 EUR per USD'), [
    'The worst rate of the guard is 0.70 EUR per USD. By the reference rates it is 0.925926 EUR per USD, so it would allow a price that is more than a fifth worse: see that you mean it.',
  ]);
});

for (const [worstRate, rate] of [
  ['0.05 USD per EUR', '20 USD per EUR'],
  ['20 EUR per USD', '20 USD per EUR'],
] as const)
  test(`${worstRate} is said to be inverted, most likely, where the reference is ${rate}`, () => {
    assert.match(linesOf(worstRate, [rate]).join(), /so it is most likely inverted: see that you mean it\.$/);
  });

test('nothing is compared without a reference rate for the pair', () => {
  assert.deepEqual(linesOf('9.00 USD per EUR', null), []);
  assert.deepEqual(linesOf('9.00 USD per EUR', ['1.30 USD per GBP']), []);
});

test('a policy that says why its guard is unusual has answered', () => {
  assert.deepEqual(linesOf('0.05 USD per EUR', undefined, ', unusual: "a floor against errors only"'), []);
});
