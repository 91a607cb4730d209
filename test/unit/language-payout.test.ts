/** Payout policies from text to record, and every mistake with its place and its fix; destinations beside them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadDestinations } from '../../language/load-destinations.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { formatOf } from '../support/batch-format.ts';
import { urlOf } from '../support/root.ts';

const SAMPLE = readFileSync(urlOf('policies/contractors.yaml'), 'utf8');

/** Only what must be there. */
const SHORT = `policy: 1
kind: payout
name: contractors
environment: sandbox
payout:
  fund: { mode: none }
`;

/** `code line:column fix` of every problem, or of every warning when it loads. */
function listed(text: string): readonly string[] {
  const result = loadPolicy(text, 'p.yaml');
  const problems = result.ok ? result.warnings : result.problems;
  return problems.map(({ code, line, column, fix }) => `${code} ${line}:${column} ${fix}`);
}

test('the sample becomes the record that a batch is checked by', () => {
  const result = loadPolicy(SAMPLE, 'contractors.yaml');
  assert.ok(result.ok && result.policy.kind === 'payout', listed(SAMPLE).join('\n'));
  assert.deepEqual(result.policy, {
    kind: 'payout',
    name: 'contractors',
    environment: 'sandbox',
    zone: 'Europe/Paris',
    schedule: null,
    cutoffs: [],
    guard: {
      worstRates: [],
      reference: { file: 'rates/daily.yaml', maxAgeMs: 365 * 86_400_000, worstCostBps: '30' },
    },
    rules: {
      quote: { validForSeconds: 30, settlement: 'T0', maxQuotes: 5 },
      unusualGuard: null,
      settle: { until: 'funds', lateAfterMs: null },
      shortfall: 'hold',
      limits: {
        perTrade: { value: '500000.00', currency: 'USD' },
        perRun: { value: '900000.00', currency: 'USD' },
        perDay: null,
        perPayment: [
          { value: '50000.00', currency: 'EUR' },
          { value: '60000.00', currency: 'USD' },
          { value: '900000.00', currency: 'MXN' },
          { value: '40000.00', currency: 'GBP' },
        ],
        paidPerRun: [
          { value: '900000.00', currency: 'EUR' },
          { value: '1000000.00', currency: 'USD' },
          { value: '9000000.00', currency: 'MXN' },
          { value: '400000.00', currency: 'GBP' },
        ],
      },
    },
    payout: {
      fund: { kind: 'net', from: 'USD' },
      format: formatOf({ id: 'ref', currency: 'ccy' }),
      rules: {
        parallel: 8,
        stopAfter: { failed: 5, ratioPercent: null, sameCode: 3 },
        canary: 1,
        dedupeMs: 30 * 86_400_000,
      },
      destinations: 'destinations/contractors.yaml',
    },
  });
});

test('a policy that says only what it must has the defaults', () => {
  const result = loadPolicy(SHORT, 'p.yaml');
  assert.ok(result.ok && result.policy.kind === 'payout', listed(SHORT).join('\n'));
  assert.deepEqual(result.policy.payout, {
    fund: { kind: 'none' },
    format: formatOf(),
    rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 30 * 86_400_000 },
    destinations: null,
  });
});

test('a policy may say how its files are written', () => {
  const text = `${SHORT}  columns: { id: { column: Beleg-Nr, as: slug } }
  numbers: { decimal: ",", group: space }
  encoding: windows-1252
  ignore: { id: Summe }
`;
  const result = loadPolicy(text, 'p.yaml');
  assert.ok(result.ok && result.policy.kind === 'payout', listed(text).join('\n'));
  assert.deepEqual(
    result.policy.payout.format,
    formatOf(
      { id: 'Beleg-Nr' },
      {
        slugs: true,
        numbers: { decimal: ',', group: 'space' },
        encoding: 'windows-1252',
        ignore: { 'Beleg-Nr': 'Summe' },
      },
    ),
  );
});

/** What is added to the short policy, or written in the place of its last line. */
const MISTAKES: readonly (readonly [text: string, ...expected: string[]])[] = [
  [`${SHORT}  parallel: 0\n`, 'POLICY_NUMBER 7:13 write a whole number from 1 to 50, without quotes'],
  [`${SHORT}  canary: 101\n`, 'POLICY_NUMBER 7:11 write a whole number from 1 to 100, without quotes'],
  [`${SHORT}  dedupe: 30\n`, 'POLICY_DURATION 7:11 write a whole number and s, m, h or d: 45s, 30m, 6h, 2d'],
  [
    `${SHORT}  stop_after: {}\n`,
    'POLICY_MISSING_FIELD 7:3 write one in it, such as `failed: 5`, `ratio: 10%` or `same_code: 3`',
  ],
  [`${SHORT}  stop_after: { ratio: 101% }\n`, 'POLICY_PERCENT 7:24 write a number and %: 12.5%'],
  [`${SHORT}  stop_afer: { failed: 5 }\n`, 'POLICY_UNKNOWN_FIELD 7:3 did you mean `stop_after`?'],
  [
    `${SHORT}  numbers: { decimal: ",", group: "," }\n`,
    'POLICY_CONTRADICTION 7:35 name the sign that separates thousands, or delete `group`',
  ],
  [
    `${SHORT}  ignore: {}\n`,
    'POLICY_MISSING_FIELD 7:3 write the text that such a row has in a column: `{ id: Summe }`',
  ],
  [
    `${SHORT}  columns: { id: { column: account, as: slug } }\n`,
    'POLICY_COLUMN_TWICE 7:18 name two different columns',
  ],
  [`${SHORT}  columns: { id: account }\n`, 'POLICY_COLUMN_TWICE 7:18 name two different columns'],
  [
    `${SHORT}  columns: { amount: sum, account: sum }\n`,
    'POLICY_COLUMN_TWICE 7:22 name two different columns',
  ],
  [
    `${SHORT}  columns: { id: " ref" }\n`,
    'POLICY_COLUMN 7:18 write it as it stands in the first line of the file, without blanks around it: id',
  ],
  [
    `${SHORT}  destinations: ../others.yaml\n`,
    'POLICY_FILE 7:17 write a relative path below this folder that ends in .yaml: destinations/contractors.yaml',
  ],
  [SHORT.replace('mode: none', ''), 'POLICY_MISSING_FIELD 6:3 add it, for example `mode: net`'],
  [
    SHORT.replace('mode: none', 'mode: net'),
    'POLICY_MISSING_FIELD 6:17 write it beside it: `{ from: USD, mode: net }`',
  ],
  [
    SHORT.replace('mode: none', 'mode: none, from: USD'),
    'POLICY_CONTRADICTION 6:23 delete `from`, or write `mode: net`',
  ],
  [
    `${SHORT}guard: { worst_rate: ["0.90 EUR per USD"] }\nlimits: { per_run: "5.00 USD" }\n`,
    'POLICY_CONTRADICTION 7:1 delete it, or write `mode: net`',
    'POLICY_CONTRADICTION 8:11 delete it, or write `mode: net`',
  ],
  [`${SHORT}schedule: { at: "09:30", days: daily }\nzone: UTC\n`, 'POLICY_NOT_AVAILABLE 7:1 delete it'],
  [`${SHORT}withdraw: []\n`, 'POLICY_NOT_AVAILABLE 7:1 move the payments into a batch file'],
  [`${SHORT}limits: { per_day: "5.00 USD" }\n`, 'POLICY_NOT_AVAILABLE 7:11 delete it'],
  [
    `${SHORT}limits: {}\n`,
    'POLICY_MISSING_FIELD 7:1 write `per_payment: ["50000.00 EUR"]` or `per_run: "900000.00 USD"` in it',
  ],
  [
    `${SHORT}limits: { per_payment: ["5.00 EUR", "6.00 EUR"], paid_per_run: [7.00 EUR, "1.005 EUR"] }\n`,
    'POLICY_LIMIT_TWICE 7:37 keep one limit per currency',
    'POLICY_AMOUNT_UNQUOTED 7:65 write "7.00 EUR", with the quotes',
    'POLICY_AMOUNT_DECIMALS 7:76 write "1.00" (cut off), or set `decimals` in the service file if the service takes more',
  ],
];

for (const [text, ...expected] of MISTAKES) {
  test(`a payout policy with \`${text.slice(SHORT.length).trim() || text.slice(-30).trim()}\` is told what is wrong`, () => {
    assert.deepEqual(listed(text), expected);
  });
}

const FUNDED = SHORT.replace('mode: none', 'from: USD, mode: net');

test('guards and limits of a funded payout are about what it trades', () => {
  assert.deepEqual(
    listed(`${FUNDED}guard: { worst_rate: ["1.10 USD per EUR", "0.90 EUR per USD", "0.91 EUR per USD"] }
limits: { per_trade: "5.00 EUR" }
`),
    [
      'POLICY_RATE_PAIR 7:37 write what one USD must bring at least: "0.90 EUR per USD"',
      'POLICY_RATE_TWICE 7:63 delete one of the two',
      'POLICY_LIMIT_CURRENCY 8:28 state it in USD',
    ],
  );
  assert.deepEqual(listed(`${FUNDED}guard: { worst_cost: 25bps }\n`), [
    'POLICY_MISSING_FIELD 7:10 write `guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 30bps }`',
  ]);
});

test('in live a payout states everything that could lose money', () => {
  const required = (text: string): readonly string[] =>
    listed(text.replace('sandbox', 'live')).map((line) => line.replace(/, or what you mean instead$/, ''));
  assert.deepEqual(required(SHORT), [
    'POLICY_LIVE_UNSTATED 4:14 write `shortfall: skip`',
    'POLICY_LIVE_UNSTATED 4:14 write `limits: { per_payment: ["50000.00 EUR"], paid_per_run: ["900000.00 EUR"] }`',
    'POLICY_LIVE_UNSTATED 5:1 write `stop_after: { failed: 5 }`',
    'POLICY_LIVE_UNSTATED 5:1 write `destinations: destinations.yaml`',
  ]);
  assert.deepEqual(required(`${FUNDED}limits: { per_run: "900000.00 USD" }\nshortfall: hold\n`), [
    'POLICY_LIVE_UNSTATED 4:14 write `guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 30bps }`',
    'POLICY_LIVE_UNSTATED 4:14 write `quote: { settlement: T0 }`',
    'POLICY_LIVE_UNSTATED 4:14 write `settle: { until: funds }`',
    'POLICY_LIVE_UNSTATED 5:1 write `stop_after: { failed: 5 }`',
    'POLICY_LIVE_UNSTATED 5:1 write `destinations: destinations.yaml`',
    'POLICY_LIVE_UNSTATED 7:1 write `per_trade: "500000.00 USD"`',
    'POLICY_LIVE_UNSTATED 7:1 write `per_payment: ["50000.00 EUR"]`',
    'POLICY_LIVE_UNSTATED 7:1 write `paid_per_run: ["900000.00 EUR"]`',
  ]);
});

function destinationProblems(text: string): readonly string[] {
  const result = loadDestinations(text, 'd.yaml');
  return result.ok
    ? []
    : result.problems.map(({ code, line, column, fix }) => `${code} ${line}:${column} ${fix}`);
}

test('a file of destinations gives each account its currency and its label', () => {
  const text = readFileSync(urlOf('policies/destinations/contractors.yaml'), 'utf8');
  const result = loadDestinations(text, 'd.yaml');
  assert.ok(result.ok, destinationProblems(text).join('\n'));
  assert.deepEqual(result.destinations.get('wac_7Hk2mQ9vT4xR'), { currency: 'MXN', label: 'Marta Ruiz' });
  assert.equal(result.destinations.size, 4);
});

test('mistakes of a file of destinations come at once with their places', () => {
  assert.deepEqual(destinationProblems('accounts: {}\n'), [
    'DESTINATIONS_MISSING_FIELD 1:1 write one, such as `wac_7Hk2mQ9vT4xR: { currency: MXN, label: Acme }`',
  ]);
  assert.deepEqual(
    destinationProblems(`accounts:
  wac_7Hk2mQ9vT4xR: { currency: mxn, label: Marta }
  wac_7Hk2mQ9vT4xR: { currency: EUR, label: Marta }
  somebody: { currency: EUR, label: Jonas }
  wac_EuR5epaLive1: { currency: EUR }
`),
    [
      'DESTINATIONS_CURRENCY 2:33 did you mean `MXN`?',
      'DESTINATIONS_DUPLICATE_KEY 3:3 delete one of the two',
      'DESTINATIONS_ACCOUNT 4:3 copy the id as the service shows it: `wac_` and up to 22 letters and digits (never 0, O, I, l), or a lower-case UUID',
      'DESTINATIONS_MISSING_FIELD 5:3 add it, for example `label: Acme`',
    ],
  );
});
