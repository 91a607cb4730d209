/** Ceilings of a day: how much may be paid and traded, whatever runs are started (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Totals,
  usedOf,
  whyOverCeiling,
  type Ceilings,
  type Spending,
} from '../../domain/writes/ceilings.ts';
import { loadCeilings } from '../../language/load-ceilings.ts';

const FILE = `ceilings: 1
workers: 1
paid:
  per_day: ["1000.00 EUR", "500.00 USD"]
  per_account: ["300.00 EUR"]
traded: { per_day: ["2000.00 USD"] }
policies:
  team: { paid_per_day: ["400.00 EUR"], traded_per_day: ["100.00 USD"] }
`;

function ceilings(text = FILE): Ceilings {
  const loaded = loadCeilings(text, 'ceilings.yaml');
  assert.ok(loaded.ok && loaded.ceilings !== 'UNBOUNDED', JSON.stringify(loaded));
  return loaded.ceilings;
}

const paid = (value: string, more: Partial<Spending> = {}, currency = 'EUR'): Spending => ({
  kind: 'paid',
  policy: 'p',
  account: 'wac_1',
  amounts: [{ value, currency }],
  ...more,
});
const traded = (sold: string, bought: string, policy = 'p'): Spending => ({
  kind: 'traded',
  policy,
  account: null,
  amounts: [
    { value: sold, currency: 'USD' },
    { value: bought, currency: 'MXN' },
  ],
});

function over(
  spending: Spending,
  own: readonly Spending[] = [],
  foreign: readonly Spending[] = [],
  by = ceilings(),
) {
  const totals = (those: readonly Spending[]): Totals => {
    const all = new Totals();
    for (const one of those) all.add(one);
    return all;
  };
  return whyOverCeiling(by, { own: totals(own), foreign: totals(foreign) }, spending);
}

const TO = (account: string | null): Partial<Spending> => ({ account });

test('what comes to a ceiling exactly is allowed, and 0.01 more is not', () => {
  const before = [paid('300', TO('wac_2')), paid('300', TO('wac_3')), paid('300', TO('wac_4'))];
  assert.equal(over(paid('100.00'), before), null);
  assert.match(
    over(paid('100.01'), before) ?? '',
    /100\.01 EUR is above what is left of the ceiling of 1,?000\.00 EUR paid on one UTC day: 100\.00 EUR$/,
  );
});

test('a ceiling of an account counts what goes to that account, and what may have gone to it', () => {
  assert.equal(over(paid('100'), [paid('200'), paid('300', TO('wac_2'))]), null);
  assert.match(
    over(paid('100.01'), [paid('200')]) ?? '',
    /to account "wac_[^"]+" on one UTC day: 100\.00 EUR/,
  );
  assert.match(over(paid('100.01'), [paid('200', TO(null))]) ?? '', /to account/);
});

test('a ceiling of a policy binds that policy alone', () => {
  const team = { policy: 'team' };
  const before = [paid('300', { ...team, account: 'wac_2' })];
  assert.match(over(paid('100.01', team), before) ?? '', /400\.00 EUR paid by policy "team"/);
  assert.equal(over(paid('100.01'), before), null);
  assert.match(over(traded('100.01', '1', 'team')) ?? '', /100\.00 USD traded by policy "team"/);
  assert.equal(over(traded('100.01', '1')), null);
});

test('a trade counts on each of its sides, and needs a ceiling of one of them; a payment needs one of its currency', () => {
  assert.equal(over(traded('2000', '99999')), null);
  assert.match(
    over(traded('0.01', '1'), [traded('2000', '1')]) ?? '',
    /left of the ceiling of 2,?000\.00 USD traded/,
  );
  assert.match(over(paid('1', {}, 'GBP')) ?? '', /no ceiling says how much GBP may be paid on one day/);
  const without = ceilings('ceilings: 1\nworkers: 1\npaid: { per_day: ["1.00 EUR"] }\n');
  assert.match(
    over(traded('1', '1'), [], [], without) ?? '',
    /no ceiling says how much USD or MXN may be traded/,
  );
});

test('a quote asks by the one side that is known, and the ceiling may be one of the other', () => {
  const quoted = (bought: string, sold: string): Spending => ({
    kind: 'traded',
    policy: 'p',
    account: null,
    amounts: [
      { value: bought, currency: 'MXN' },
      { value: sold, currency: 'USD' },
    ],
  });
  assert.equal(over(quoted('99999', '0')), null);
  assert.equal(over(quoted('99999', '0'), [traded('2500', '1')]), null, 'its trade is asked about again');
  assert.match(over(quoted('0', '2000.01')) ?? '', /above what is left/);
});

test('what others move takes from the whole, and each of the workers takes its share of the rest', () => {
  const two = ceilings(FILE.replace('workers: 1', 'workers: 2'));
  const elsewhere = paid('200', { policy: null, account: 'wac_9' });
  assert.equal(over(paid('300', TO('wac_5')), [paid('100', TO('wac_2'))], [elsewhere], ceilings()), null);
  assert.equal(
    over(paid('150', TO('wac_5')), [paid('250', TO('wac_2'))], [elsewhere], two)?.includes('workers'),
    undefined,
  );
  assert.match(
    over(paid('150'), [paid('250.01', TO('wac_2'))], [elsewhere], two) ?? '',
    /\(each of 2 workers takes its share\)$/,
  );
});

test('what is taken back counts no more', () => {
  const own = new Totals();
  own.add(paid('900', TO('wac_2')));
  own.add(paid('900', TO('wac_2')), -1);
  assert.equal(whyOverCeiling(ceilings(), { own, foreign: new Totals() }, paid('300')), null);
});

test('a file with mistakes gives no ceilings', () => {
  for (const text of [
    '',
    'ceilings: 1\n',
    FILE.replace('workers: 1', 'workers: 0'),
    FILE.replace('"500.00 USD"', '500.00'),
    `${FILE}more: 1\n`,
    'ceilings: 1\nunbounded: false\n',
  ])
    assert.equal(loadCeilings(text, 'ceilings.yaml').ok, false, text);
});

test('that nothing binds a day is said in so many words, and beside no ceiling', () => {
  const said = 'ceilings: 1\nunbounded: true\n';
  assert.deepEqual(loadCeilings(said, 'ceilings.yaml'), { ok: true, ceilings: 'UNBOUNDED' });
  for (const [text, told] of [
    [`${said}workers: 2\n`, /^CEILINGS_CONTRADICTION `workers` stands beside `unbounded`/],
    [`${FILE}unbounded: true\n`, /`paid` stands beside `unbounded`/],
    ['ceilings: 1\n', /^CEILINGS_MISSING_FIELD `workers` is missing .*`unbounded: true` where nothing binds/],
  ] as const) {
    const loaded = loadCeilings(text, 'ceilings.yaml');
    assert.ok(!loaded.ok, text);
    assert.match(
      loaded.problems.map(({ code, message, fix }) => `${code} ${message} ${fix}`).join('\n'),
      told,
    );
  }
});

test('how much of each ceiling is used is told as a part: the shares of all workers, what is foreign, and the account with the most', () => {
  const own = new Totals();
  const foreign = new Totals();
  own.add(paid('150', TO('wac_2')));
  own.add(paid('30', { policy: 'team', account: 'wac_3' }));
  foreign.add(paid('100', { policy: null, account: null }));
  own.add(traded('500', '9000'));
  const parts = usedOf({ ...ceilings(), workers: 2 }, { own, foreign });
  assert.deepEqual(
    parts.map(({ kind, policy, per, currency, part }) => [kind, policy, per, currency, part]),
    [
      ['paid', null, 'day', 'EUR', 0.46],
      ['paid', null, 'day', 'USD', 0],
      ['paid', null, 'account', 'EUR', 1.33333],
      ['traded', null, 'day', 'USD', 0.5],
      ['paid', 'team', 'day', 'EUR', 0.15],
      ['traded', 'team', 'day', 'USD', 0],
    ],
  );
});
