/** Cut-offs of a policy: when one is over, and when what is sent after it arrives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { pastCutoffs } from '../../operations/start/past-cutoffs.ts';

const PAYOUT = 'kind: payout\npayout: { fund: { mode: none } }\n';

function linesOf(cutoff: string, at: string, { kind = PAYOUT, batch = ['EUR'] } = {}): readonly string[] {
  const text = `policy: 1\nname: p\nenvironment: sandbox\n${kind}settle: { cutoff: ${cutoff} }\n`;
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return pastCutoffs(loaded.policy, batch, Date.parse(at));
}

const EUR = '{ EUR: "15:30 Europe/Brussels" }';

test('after the cut-off the line names it and the day on which the money arrives', () => {
  // 23 November 2026 is a Monday.
  assert.deepEqual(linesOf(EUR, '2026-11-23T14:30:00Z'), [
    'It is past 15:30 Europe/Brussels, the cut-off of EUR: what is paid in it will arrive on 2026-11-24 at the earliest.',
  ]);
});

const DAYS: readonly (readonly [what: string, cutoff: string, at: string, day: string | null])[] = [
  ['a moment before', EUR, '2026-11-23T14:29:59.999Z', null],
  ['on a Friday', EUR, '2026-11-27T15:00:00Z', '2026-11-30'],
  ['before closed days of T2', EUR, '2026-12-24T15:00:00Z', '2026-12-28'],
  ['on a day on which T2 is closed anyway', EUR, '2026-12-25T15:00:00Z', null],
  ['in summer time', EUR, '2026-07-01T13:30:00Z', '2026-07-02'],
  [
    'tomorrow in the zone of the cut-off',
    '{ EUR: "00:30 Asia/Tokyo" }',
    '2026-11-23T15:30:00Z',
    '2026-11-25',
  ],
  ['a currency that is not paid', '{ USD: "15:30 Europe/Brussels" }', '2026-11-23T15:00:00Z', null],
];

for (const [what, cutoff, at, day] of DAYS) {
  test(`${day === null ? 'nothing is said' : 'the next open day is named'}: ${what}`, () => {
    const [line] = linesOf(cutoff, at);
    assert.equal(/on ([0-9-]+) at/.exec(line ?? '')?.[1] ?? null, day);
  });
}

test('a currency without a known payment system moves on the next weekday', () => {
  const [line] = linesOf('{ MXN: "12:00 America/Mexico_City" }', '2026-11-27T20:00:00Z', { batch: ['MXN'] });
  assert.match(line ?? '', /will arrive on 2026-11-30 at/);
});

test('a conversion is told of what it pays, and a rebalancing of what it trades', () => {
  const convert = (withdraw: string): string =>
    `kind: convert\nconvert: { sell: USD, buy: EUR, amount: { sell: "1.00" } }\n${withdraw}`;
  const paid = 'withdraw: [{ id: a, account: wac_EuR5epaLive1, amount: proceeds, rounding: down }]\n';
  assert.equal(linesOf(EUR, '2026-11-23T15:00:00Z', { kind: convert(paid) }).length, 1);
  assert.deepEqual(linesOf(EUR, '2026-11-23T15:00:00Z', { kind: convert('') }), []);
  const kind = `kind: rebalance
rebalance: { base: { currency: USD }, targets: { EUR: { min: "1.00" } } }
guard: { reference: { file: r.yaml, max_age: 30h }, worst_cost: 25bps }
`;
  assert.match(
    linesOf(EUR, '2026-11-23T15:00:00Z', { kind })[0] ?? '',
    /what is traded in it will settle on/,
  );
});

test('a cut-off without a zone, or in none that there is, is refused with what to write', () => {
  for (const wrong of ['15:30', '3:30 Europe/Brussels', '15:30 Brussels', '15:30 Europe/Brussel']) {
    const loaded = loadPolicy(
      `policy: 1\nname: p\nenvironment: sandbox\n${PAYOUT}settle: { cutoff: { EUR: "${wrong}" } }\n`,
      'p.yaml',
    );
    assert.ok(!loaded.ok, wrong);
    assert.deepEqual(
      loaded.problems.map(({ code }) => code),
      ['POLICY_TIME'],
      wrong,
    );
  }
});
