/** Policies of kind rebalance from text to record: what is filled in, and every mistake with its place and its fix. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { formatTrouble, troubleOfPolicy, type PolicyProblem } from '../../language/text/problem.ts';
import { urlOf } from '../support/root.ts';

const POLICY = `policy: 1
kind: rebalance
name: daily
environment: sandbox
rebalance:
  base: { currency: USD, min: "100.00" }
  targets:
    EUR: { keep: "250.00", band: "25.00" }
    MXN: { max: "0.00" }
    GBP: { min: "40.00" }
    SGD: { share: 10%, band: 1% }
  never_sell: [GBP]
  min_trade: "1.00 USD"
  max_trades: 6
guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 25bps }
limits: { per_trade: "400.00 USD", per_run: "1000.00 USD" }
`;

function edited(from: string, to: string): string {
  assert.ok(POLICY.includes(from), `the test's policy has "${from}"`);
  return POLICY.replace(from, to);
}

/** `code line:column fix` of every problem, or of every warning where there is none. */
function listed(text: string): readonly string[] {
  const result = loadPolicy(text, 'p.yaml');
  const found = result.ok ? result.warnings : result.problems;
  return [
    result.ok ? 'loads' : 'refused',
    ...found.map(({ code, line, column, fix }) => `${code} ${line}:${column} ${fix}`),
  ];
}

test('a rebalancing becomes a record with its targets in the order of the policy', () => {
  const result = loadPolicy(POLICY, 'p.yaml');
  assert.ok(result.ok && result.policy.kind === 'rebalance');
  assert.deepEqual(result.warnings, []);
  assert.deepEqual(result.policy.rebalance, {
    base: { currency: 'USD', min: '100.00' },
    targets: [
      { currency: 'EUR', goal: { kind: 'keep', keep: '250.00', band: '25.00' } },
      { currency: 'MXN', goal: { kind: 'range', min: null, max: '0.00' } },
      { currency: 'GBP', goal: { kind: 'range', min: '40.00', max: null } },
      { currency: 'SGD', goal: { kind: 'share', sharePercent: '10', bandPercent: '1' } },
    ],
    neverSell: ['GBP'],
    minTrade: '1.00',
    maxTrades: 6,
  });
  assert.deepEqual(result.policy.rules.limits, {
    perTrade: { value: '400.00', currency: 'USD' },
    perRun: { value: '1000.00', currency: 'USD' },
    perDay: null,
    perPayment: [],
    paidPerRun: [],
  });
});

test('what may be left out is not asked for', () => {
  const short = POLICY.replace(/, min: "100.00"/, '')
    .replace(/ {2}never_sell[\s\S]*max_trades: 6\n/, '')
    .replace(/^limits.*\n/m, '');
  const result = loadPolicy(short, 'p.yaml');
  assert.ok(result.ok && result.policy.kind === 'rebalance', listed(short).join('\n'));
  const { base, neverSell, minTrade, maxTrades } = result.policy.rebalance;
  assert.deepEqual(
    [base.min, neverSell, minTrade, maxTrades, result.policy.rules.limits],
    [null, [], null, null, null],
  );
});

const EUR = '{ keep: "250.00", band: "25.00" }';
const TARGET_FIX =
  'write one of `{ keep: "…", band: "…" }`, `{ share: 10%, band: 1% }`, `{ min: "…" }`, `{ max: "…" }`';
const GUARD_FIX = 'write `guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 25bps }`';
const GUARD = /^guard.*\n/m;

/** The policy with worst rates beside its reference rates. */
function withWorstRates(rates: string): string {
  return edited(', worst_cost: 25bps }', `, worst_cost: 25bps, worst_rate: [${rates}] }`);
}

const MISTAKES: readonly (readonly [what: string, text: string, expected: readonly string[]])[] = [
  ['a target that says nothing', edited(EUR, '{}'), [`POLICY_TARGET 8:5 ${TARGET_FIX}`]],
  [
    'two targets of one currency',
    edited(EUR, '{ keep: "250.00", band: "25.00", max: "300.00" }'),
    [`POLICY_TARGET 8:5 ${TARGET_FIX}`],
  ],
  [
    'a kept amount without a band',
    edited(EUR, '{ keep: "250.00" }'),
    ['POLICY_MISSING_FIELD 8:12 write `band: "…"` beside it; "0.00" trades every difference'],
  ],
  [
    'a share without a band',
    edited('{ share: 10%, band: 1% }', '{ share: 10% }'),
    ['POLICY_MISSING_FIELD 11:12 write `band: 1%` beside it'],
  ],
  [
    'a band larger than the target',
    edited(EUR, '{ keep: "20.00", band: "25.00" }'),
    ['POLICY_BAND_TOO_LARGE 8:33 write a band of 20.00 at most, or only a `max`'],
  ],
  [
    'a band larger than the share',
    edited('{ share: 10%, band: 1% }', '{ share: 10%, band: 11% }'),
    ['POLICY_BAND_TOO_LARGE 11:30 write a band of 10% at most, or only a `max`'],
  ],
  [
    'a band beside a bound',
    edited('{ min: "40.00" }', '{ min: "40.00", band: "1.00" }'),
    ['POLICY_CONTRADICTION 10:26 delete it'],
  ],
  [
    'a percentage as the band of an amount',
    edited(EUR, '{ keep: "250.00", band: 10% }'),
    ['POLICY_CONTRADICTION 8:34 write an amount in quotes: "25000.00"'],
  ],
  [
    'an amount as the band of a share',
    edited('{ share: 10%, band: 1% }', '{ share: 10%, band: "1.00" }'),
    ['POLICY_CONTRADICTION 11:30 write it with %: 1%'],
  ],
  [
    'a maximum below the minimum',
    edited('{ min: "40.00" }', '{ min: "40.00", max: "39.00" }').replace('  never_sell: [GBP]\n', ''),
    ['POLICY_CONTRADICTION 10:31 write a `max` that is not below `min`'],
  ],
  [
    'shares of more than everything',
    edited('{ max: "0.00" }', '{ share: 95%, band: 1% }'),
    ['POLICY_SHARES_TOO_LARGE 11:19 lower them to 100% together; what they leave stays in the base'],
  ],
  [
    'a share above 100',
    edited('share: 10%', 'share: 101%'),
    ['POLICY_PERCENT 11:19 write a number and %: 12.5%'],
  ],
  ['a share without its sign', edited('share: 10%', 'share: 10'), ['POLICY_PERCENT 11:19 write 10%']],
  [
    'a target of the base',
    edited('    EUR:', '    USD:'),
    ['POLICY_BASE_CURRENCY 8:5 delete it here; what must stay of it is `base.min`'],
  ],
  [
    'a base with a maximum',
    edited('min: "100.00" }', 'max: "100.00" }'),
    ['POLICY_NOT_AVAILABLE 6:26 delete it, or give another currency a `max`'],
  ],
  [
    'a base that is never sold',
    edited('[GBP]', '[USD]'),
    ['POLICY_BASE_CURRENCY 12:16 delete it here; what must stay of it is `base.min`'],
  ],
  [
    'a currency with a maximum that is never sold',
    edited('[GBP]', '[MXN]'),
    ['POLICY_CONTRADICTION 12:16 delete one of the two'],
  ],
  [
    'no target at all',
    POLICY.replace(/targets:\n[\s\S]* {2}never/, 'targets: {}\n  never').replace('  never_sell: [GBP]\n', ''),
    ['POLICY_MISSING_FIELD 7:3 write one, such as `{ EUR: { min: "40000.00" } }`'],
  ],
  ['a currency that is none', edited('    EUR:', '    eur:'), ['POLICY_CURRENCY 8:5 did you mean `EUR`?']],
  [
    'a currency that nobody knows',
    edited('    SGD:', '    SGE:'),
    ['POLICY_CURRENCY_UNKNOWN 11:5 did you mean `SGD`?'],
  ],
  [
    'a base that nobody knows',
    edited('currency: USD', 'currency: QQQ').replaceAll(' USD"', ' QQQ"'),
    ['POLICY_CURRENCY_UNKNOWN 6:21 if the service has it, write its decimals into the service file'],
  ],
  [
    'too many decimals',
    edited('"40.00"', '"40.005"'),
    [
      'POLICY_AMOUNT_DECIMALS 10:18 write "40.00" (cut off), or set `decimals` in the service file if the service takes more',
    ],
  ],
  [
    'an amount outside quotes',
    edited('"40.00"', '40.00'),
    ['POLICY_AMOUNT_UNQUOTED 10:17 write "40.00", with the quotes'],
  ],
  [
    'a smallest trade in another currency',
    edited('"1.00 USD"', '"1.00 EUR"'),
    ['POLICY_LIMIT_CURRENCY 13:20 state it in USD'],
  ],
  [
    'a limit in another currency',
    edited('"400.00 USD"', '"400.00 EUR"'),
    ['POLICY_LIMIT_CURRENCY 16:30 state it in USD'],
  ],
  [
    'limits that limit nothing',
    edited('{ per_trade: "400.00 USD", per_run: "1000.00 USD" }', '{}'),
    ['POLICY_MISSING_FIELD 16:1 write `per_trade: "400000.00 USD"` or `per_run: "1000000.00 USD"` in it'],
  ],
  [
    'a limit on payments',
    edited('per_run: "1000.00 USD"', 'per_payment: ["1000.00 USD"]'),
    ['POLICY_NOT_AVAILABLE 16:36 delete it'],
  ],
  ['no guard', POLICY.replace(GUARD, ''), [`POLICY_MISSING_FIELD 2:7 ${GUARD_FIX}`]],
  ['a guard without a cost', edited(', worst_cost: 25bps', ''), [`POLICY_MISSING_FIELD 15:1 ${GUARD_FIX}`]],
  [
    'one worst rate for all pairs',
    POLICY.replace(GUARD, 'guard: { worst_rate: "1.05 USD per EUR" }\n'),
    [
      'POLICY_CONTRADICTION 11:12 write `reference` and `worst_cost` in `guard`, or `keep` with an amount',
      'POLICY_WRONG_TYPE 15:22 write for example `worst_rate: ["1.05 USD per EUR"]`',
    ],
  ],
  [
    'a worst rate of a pair that is not traded',
    withWorstRates('"1.05 USD per CHF", "0.85 GBP per EUR"'),
    [
      'POLICY_RATE_PAIR 15:109 write a rate between USD and one of EUR, MXN, GBP, SGD',
      'POLICY_RATE_PAIR 15:129 write a rate between USD and one of EUR, MXN, GBP, SGD',
    ],
  ],
  [
    'a worst rate of a currency for itself',
    withWorstRates('"1 EUR per EUR"'),
    ['POLICY_SAME_CURRENCY 15:98 delete it'],
  ],
  [
    'two worst rates for one way of a pair',
    withWorstRates('"1.05 USD per EUR", "1.06 USD per EUR"'),
    ['POLICY_RATE_TWICE 15:115 delete one of the two'],
  ],
  [
    'a worst rate for sales of what is only bought',
    withWorstRates('"1.25 USD per GBP"'),
    ['POLICY_CONTRADICTION 15:95 delete it; for purchases write "0.8 GBP per USD"'],
  ],
  [
    'a worst rate for purchases of what is only sold',
    withWorstRates('"18 MXN per USD"'),
    ['POLICY_CONTRADICTION 15:95 delete it; for sales write "0.0555556 USD per MXN"'],
  ],
  [
    'worst rates between which there is no price',
    withWorstRates('"1.10 USD per EUR", "0.95 EUR per USD"'),
    ['POLICY_CONTRADICTION 15:115 write a lower rate, at most "0.909091 EUR per USD"'],
  ],
  [
    'a worst rate outside quotes',
    withWorstRates('1.05 USD per EUR'),
    ['POLICY_AMOUNT_UNQUOTED 15:95 write "1.05 USD per EUR", with the quotes'],
  ],
  [
    'a worst rate that is none',
    withWorstRates('"1.05 EUR/USD"'),
    ['POLICY_RATE 15:95 write "1.05 EUR per USD", with the quotes'],
  ],
  [
    'a reference without its cost beside worst rates',
    POLICY.replace(', worst_cost: 25bps', ', worst_rate: ["1.05 USD per EUR"]'),
    [`POLICY_MISSING_FIELD 15:1 ${GUARD_FIX}`],
  ],
  [
    'payments',
    `${POLICY}withdraw: []\n`,
    ['POLICY_NOT_AVAILABLE 17:1 delete it, or pay by a policy of kind convert'],
  ],
  [
    'a conversion',
    `${POLICY}convert: {}\n`,
    ['POLICY_NOT_AVAILABLE 17:1 write `kind: convert`, or delete it'],
  ],
  [
    'live without limits and guard',
    edited('sandbox', 'live')
      .replace(GUARD, '')
      .replace(/^limits.*\n/m, ''),
    [
      `POLICY_LIVE_UNSTATED 4:14 ${GUARD_FIX}, or what you mean instead`,
      'POLICY_LIVE_UNSTATED 4:14 write `quote: { settlement: T0 }`, or what you mean instead',
      'POLICY_LIVE_UNSTATED 4:14 write `settle: { until: funds }`, or what you mean instead',
      'POLICY_LIVE_UNSTATED 4:14 write `shortfall: skip`, or what you mean instead',
      'POLICY_LIVE_UNSTATED 4:14 write `limits: { per_trade: "400000.00 USD", per_run: "1000000.00 USD" }`, or what you mean instead',
    ],
  ],
];

for (const [what, text, expected] of MISTAKES)
  test(`refused: ${what}`, () => {
    assert.deepEqual(listed(text), ['refused', ...expected]);
  });

/** Without reference rates, so without a share. */
function byWorstRates(rates: string): string {
  return edited('    SGD: { share: 10%, band: 1% }\n', '').replace(
    GUARD,
    `guard: { worst_rate: [${rates}] }\n`,
  );
}

test('each way of each pair may have its own worst rate, beside reference rates or instead of them', () => {
  const beside = loadPolicy(withWorstRates('"1.05 USD per EUR", "0.90 EUR per USD"'), 'p.yaml');
  assert.ok(beside.ok);
  assert.deepEqual(beside.warnings, []);
  assert.deepEqual(beside.policy.guard?.worstRates, [
    { sell: 'EUR', buy: 'USD', rate: { value: '1.05', currency: 'USD', per: 'EUR' } },
    { sell: 'USD', buy: 'EUR', rate: { value: '0.90', currency: 'EUR', per: 'USD' } },
  ]);
  assert.equal(beside.policy.guard?.reference?.worstCostBps, '25');
  const instead = loadPolicy(
    byWorstRates('"1.05 USD per EUR", "0.90 EUR per USD", "0.05 USD per MXN", "0.75 GBP per USD"'),
    'p.yaml',
  );
  assert.ok(instead.ok);
  assert.deepEqual([instead.warnings, instead.policy.guard?.reference], [[], null]);
});

const WARNINGS: readonly (readonly [what: string, text: string, expected: readonly string[]])[] = [
  [
    'a currency that is not sold anyway',
    edited('[GBP]', '[GBP, CHF]'),
    ['POLICY_CONTRADICTION 12:21 delete it, or give it a target'],
  ],
  [
    'a way of a pair that no worst rate bounds',
    byWorstRates('"1.05 USD per EUR", "0.05 USD per MXN"'),
    [
      'POLICY_MISSING_FIELD 8:5 write "… EUR per USD" in `worst_rate`, or `reference` with `worst_cost`',
      'POLICY_MISSING_FIELD 10:5 write "… GBP per USD" in `worst_rate`, or `reference` with `worst_cost`',
    ],
  ],
];

for (const [what, text, expected] of WARNINGS)
  test(`taken with a warning: ${what}`, () => {
    assert.deepEqual(listed(text), ['loads', ...expected]);
  });

test('a currency of the service file is known', () => {
  assert.ok(loadPolicy(edited('    SGD:', '    SGE:'), 'p.yaml', { SGE: 2 }).ok);
});

/** As `check` prints it. */
function printed(problems: readonly PolicyProblem[]): string {
  return problems.map((problem) => formatTrouble(troubleOfPolicy(problem), (line) => line)).join('\n');
}

const PRINTED: readonly (readonly [what: string, text: string, expected: string])[] = [
  [
    'targets that contradict each other',
    edited('{ min: "40.00" }', '{ min: "40.00", max: "39.00" }').replace('  never_sell: [GBP]\n', ''),
    `POLICY_CONTRADICTION p.yaml:10:31: \`max\` 39.00 is below \`min\` 40.00: GBP would be bought and sold for ever.
        GBP: { min: "40.00", max: "39.00" }
                                  ^^^^^^^
  fix: write a \`max\` that is not below \`min\``,
  ],
  [
    'two targets of one currency',
    edited(EUR, '{ keep: "250.00", band: "25.00", max: "300.00" }'),
    `POLICY_TARGET p.yaml:8:5: "EUR" has several targets, which cannot stand together.
        EUR: { keep: "250.00", band: "25.00", max: "300.00" }
        ^^^
  fix: write one of \`{ keep: "…", band: "…" }\`, \`{ share: 10%, band: 1% }\`, \`{ min: "…" }\`, \`{ max: "…" }\``,
  ],
  [
    'shares over 100 %',
    edited('{ max: "0.00" }', '{ share: 95%, band: 1% }'),
    `POLICY_SHARES_TOO_LARGE p.yaml:11:19: with this one the shares add up to 105%, which is 5% more than there is.
        SGD: { share: 10%, band: 1% }
                      ^^^
  fix: lower them to 100% together; what they leave stays in the base`,
  ],
  [
    'a base with a maximum',
    edited('min: "100.00" }', 'max: "100.00" }'),
    `POLICY_NOT_AVAILABLE p.yaml:6:26: the base has no \`max\`: every surplus is sold into it.
      base: { currency: USD, max: "100.00" }
                             ^^^
  fix: delete it, or give another currency a \`max\``,
  ],
  [
    'an unknown currency',
    edited('    SGD:', '    SGE:'),
    `POLICY_CURRENCY_UNKNOWN p.yaml:11:5: "SGE" is not a currency that Cambist knows.
        SGE: { share: 10%, band: 1% }
        ^^^
  fix: did you mean \`SGD\`?`,
  ],
  [
    'a band larger than the target',
    edited(EUR, '{ keep: "20.00", band: "25.00" }'),
    `POLICY_BAND_TOO_LARGE p.yaml:8:33: a band of 25.00 around 20.00 reaches below zero, so EUR would never be bought.
        EUR: { keep: "20.00", band: "25.00" }
                                    ^^^^^^^
  fix: write a band of 20.00 at most, or only a \`max\``,
  ],
  [
    'an unknown zone',
    `${POLICY}zone: Europe/Pariss\n`,
    `POLICY_ZONE p.yaml:17:7: "Europe/Pariss" is not a time zone.
    zone: Europe/Pariss
          ^^^^^^^^^^^^^
  fix: did you mean \`Europe/Paris\`?`,
  ],
  [
    'a worst rate that bounds the wrong way',
    withWorstRates('"1.25 USD per GBP"'),
    `POLICY_CONTRADICTION p.yaml:15:95: "1.25 USD per GBP" bounds sales of GBP, which is never sold by its target.
    …yaml, max_age: 30h }, worst_cost: 25bps, worst_rate: ["1.25 USD per GBP"] }
                                                           ^^^^^^^^^^^^^^^^^^
  fix: delete it; for purchases write "0.8 GBP per USD"`,
  ],
];

for (const [what, text, expected] of PRINTED)
  test(`printed with its line, a caret and what to do: ${what}`, () => {
    const result = loadPolicy(text, 'p.yaml');
    assert.equal(printed(result.ok ? [] : result.problems), expected);
  });

test('printed with its line, a caret and what to do: a pair twice in a reference file', () => {
  const text = `as_of: 2026-11-20T16:00:00+01:00
rates:
  - "1.0800 USD per EUR"
  - "0.9259 EUR per USD"
`;
  const result = loadReferenceRates(text, 'rates/daily.yaml');
  assert.equal(
    printed(result.ok ? [] : result.problems),
    `RATES_RATE_TWICE rates/daily.yaml:4:5: the pair of EUR and USD is already on line 3.
      - "0.9259 EUR per USD"
        ^^^^^^^^^^^^^^^^^^^^
  fix: keep one rate per pair`,
  );
});

test('the sample takes all of the language that a rebalancing has', () => {
  const text = readFileSync(urlOf('policies/daily-treasury.yaml'), 'utf8');
  for (const word of [
    'keep',
    'band',
    'max',
    'min',
    'share',
    'min_trade',
    'max_trades',
    'per_trade',
    'per_run',
  ])
    assert.ok(text.includes(`${word}:`), word);
});
