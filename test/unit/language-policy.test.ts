/** Policies from text to record: the samples, the defaults, and every mistake with its place and its fix. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { ConvertPolicy, Policy } from '../../domain/policy.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { formatTrouble, troubleOfPolicy, type PolicyProblem } from '../../language/text/problem.ts';
import { convertPolicy, isSample } from '../support/policies.ts';
import { urlOf } from '../support/root.ts';

/** As every command prints it. */
function shown(problem: PolicyProblem): string {
  return formatTrouble(troubleOfPolicy(problem), (line) => line);
}

const POLICIES = urlOf('policies/');

const SUPPLIER = `policy: 1
kind: convert
name: mxn-supplier
environment: sandbox
convert:
  sell: USD
  buy: MXN
  amount: { sell: "1000.00" }
withdraw:
  - id: supplier
    account: wac_7Hk2mQ9vT4xR
    amount: proceeds
    rounding: down
`;

function read(name: string): string {
  return readFileSync(new URL(name, POLICIES), 'utf8');
}

function samples(): readonly string[] {
  return readdirSync(POLICIES).filter(isSample);
}

/** What `check` would print. */
function printed(text: string): string {
  const result = loadPolicy(text, 'p.yaml');
  return (result.ok ? ['loads', ...result.warnings.map(shown)] : result.problems.map(shown)).join('\n');
}

/** `code line:column fix` of every problem, without the picture. */
function listed(text: string): readonly string[] {
  const result = loadPolicy(text, 'p.yaml');
  const problems = result.ok ? result.warnings : result.problems;
  return problems.map(({ code, line, column, fix }) => `${code} ${line}:${column} ${fix}`);
}

function edited(from: string, to: string): string {
  assert.ok(SUPPLIER.includes(from), `the test's policy has "${from}"`);
  return SUPPLIER.replace(from, to);
}

function loadedAny(text: string): Policy {
  const result = loadPolicy(text, 'p.yaml');
  assert.ok(result.ok, printed(text));
  return result.policy;
}

function loaded(text: string): ConvertPolicy {
  const policy = loadedAny(text);
  assert.ok(policy.kind === 'convert');
  return policy;
}

test('every sample loads without a warning and names its schema on the first line', () => {
  assert.ok(samples().length >= 5);
  for (const name of samples()) {
    const result = loadPolicy(read(name), name);
    assert.deepEqual(result.ok ? result.warnings : result.problems, [], name);
    assert.equal(read(name).split('\n')[0], '# yaml-language-server: $schema=./policy.schema.json');
  }
});

test('each reference file that a sample names exists and loads', () => {
  for (const name of samples()) {
    const result = loadPolicy(read(name), name);
    assert.ok(result.ok);
    const file = result.policy.guard?.reference?.file;
    if (file === undefined) continue;
    assert.equal(loadReferenceRates(read(file), file).ok, true, file);
  }
});

test('the sample of the design becomes the record that the plan is compiled from', () => {
  assert.deepEqual(loaded(read('mxn-supplier.yaml')), {
    kind: 'convert',
    name: 'mxn-supplier',
    environment: 'sandbox',
    zone: 'America/Mexico_City',
    schedule: null,
    cutoffs: [],
    guard: {
      worstRates: [{ sell: 'USD', buy: 'MXN', rate: { value: '16.90', currency: 'MXN', per: 'USD' } }],
      reference: null,
    },
    rules: {
      quote: { validForSeconds: 45, settlement: 'T0', maxQuotes: 5 },
      unusualGuard: null,
      settle: { until: 'funds', lateAfterMs: 21_600_000 },
      shortfall: 'skip',
      limits: null,
    },
    convert: { sell: 'USD', buy: 'MXN', amount: { kind: 'sell', value: '1000.00' } },
    withdraw: [
      { id: 'supplier', account: 'wac_7Hk2mQ9vT4xR', amount: { kind: 'proceeds', rounding: 'down' } },
    ],
  });
});

test('the reason of an unusual guard is loaded as it is written', () => {
  const guard = (more: string): string =>
    convertPolicy({ guard: `{ worst_rate: "1.85 MXN per USD"${more} }` });
  assert.equal(loaded(guard('')).rules.unusualGuard, null);
  const reason = 'a test of the desk, agreed with Ana';
  assert.equal(loaded(guard(`, unusual: "${reason}"`)).rules.unusualGuard, reason);
  for (const wrong of ['""', 'true', '"two\\nlines"', `"${'x'.repeat(101)}"`])
    assert.equal(loadPolicy(guard(`, unusual: ${wrong}`), 'p.yaml').ok, false, wrong);
});

test('what a sandbox policy leaves out gets its documented default', () => {
  const policy = loaded(SUPPLIER.slice(0, SUPPLIER.indexOf('withdraw')));
  assert.equal(policy.zone, 'UTC');
  assert.deepEqual(policy.rules.quote, { validForSeconds: 30, settlement: 'T0', maxQuotes: 5 });
  assert.equal(policy.guard, null);
  assert.deepEqual(policy.rules.settle, { until: 'funds', lateAfterMs: null });
  assert.equal(policy.rules.shortfall, 'skip');
  assert.equal(policy.rules.limits, null);
  assert.deepEqual(policy.withdraw, []);
});

test('all forms of an amount, a guard and the limits reach the record as they were written', () => {
  const all = loaded(edited('{ sell: "1000.00" }', "{ sell: all, keep: '0.00' }"));
  assert.deepEqual(all.convert.amount, { kind: 'sell-all', keep: '0.00' });
  const buy = loaded(edited('{ sell: "1000.00" }', '{ buy: "17000" }'));
  assert.deepEqual(buy.convert.amount, { kind: 'buy', value: '17000' });
  const guarded = `${SUPPLIER}guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 12.5bps }
limits: { per_trade: "400000.00 USD", per_run: "9000000.00 MXN" }
`;
  assert.deepEqual(loaded(guarded).guard, {
    worstRates: [],
    reference: { file: 'rates/daily.yaml', maxAgeMs: 108_000_000, worstCostBps: '12.5' },
  });
  assert.deepEqual(loaded(guarded).rules.limits, {
    perTrade: { value: '400000.00', currency: 'USD' },
    perRun: { value: '9000000.00', currency: 'MXN' },
    perDay: null,
    perPayment: [],
    paidPerRun: [],
  });
});

test('comments, white space, quotes and the order of fields change no hash; anything that is said does', () => {
  const hash = policyHash(SUPPLIER);
  assert.match(hash ?? '', /^[0-9a-f]{64}$/);
  const same = [
    `# reviewed\n${SUPPLIER}\n\n# the end\n`,
    `\uFEFF${SUPPLIER.replaceAll('\n', '\r\n')}`,
    edited('name: mxn-supplier', 'name:   "mxn-supplier" # renamed in March'),
    edited('  sell: USD\n  buy: MXN\n', '  buy: MXN\n  sell: USD\n'),
    edited('{ sell: "1000.00" }', "\n    sell: '1000.00'"),
  ];
  for (const text of same) assert.equal(policyHash(text), hash, text);
  const other = [
    edited('1000.00', '1000.0'),
    edited('wac_7Hk2mQ9vT4xR', 'wac_7Hk2mQ9vT4xS'),
    edited('rounding: down', 'rounding: half-even'),
    `${SUPPLIER}shortfall: skip\n`,
    edited(
      '  - id: supplier',
      '  - id: first\n    account: wac_1\n    amount: { fixed: "1" }\n  - id: supplier',
    ),
  ];
  assert.equal(new Set([hash, ...other.map(policyHash)]).size, other.length + 1);
  const inParis = `${SUPPLIER}zone: Europe/Paris\n`;
  const schedules = [
    '',
    'schedule: { at: "09:30", days: weekdays }\n',
    'schedule: { at: "10:00", days: daily, holidays: FR }\n',
  ];
  for (const schedule of schedules)
    assert.equal(policyHash(inParis + schedule), policyHash(inParis), schedule);
  assert.notEqual(policyHash(inParis), hash);
  assert.notEqual(
    policyHash(SUPPLIER.replace('  sell: USD\n', '  sell: USD\n  schedule: inner\n')),
    hash,
    'only the field at the top is left out',
  );
  const [first, second] = ['{ id: a, account: b }', '{ id: b, account: a }'];
  assert.notEqual(
    policyHash(`withdraw: [${first}, ${second}]`),
    policyHash(`withdraw: [${second}, ${first}]`),
  );
  for (const text of ['a: 1\na: 2', '{', 'a: &x 1', '- 1', `# ${'x'.repeat(64 * 1024)}`])
    assert.equal(policyHash(text), null, text.slice(0, 20));
});

test('a loaded policy carries the hash of what it says, and is frozen all the way down', () => {
  const result = loadPolicy(SUPPLIER, 'p.yaml');
  assert.ok(result.ok);
  assert.equal(result.hash, policyHash(SUPPLIER));
  assert.ok(result.policy.kind === 'convert');
  assert.ok(Object.isFrozen(result.policy.convert.amount));
  assert.ok(Object.isFrozen(result.policy.withdraw[0]?.amount));
});

test('a byte order mark and Windows line ends change neither the record nor the places', () => {
  const text = `\uFEFF${SUPPLIER.replaceAll('\n', '\r\n')}`;
  assert.deepEqual(loaded(text), loaded(SUPPLIER));
  assert.deepEqual(listed(text.replace('proceeds', 'proceds')), [
    'POLICY_NOT_ONE_OF 12:13 did you mean `proceeds`?',
  ]);
});

test('all mistakes of a file come at once, each with its line, carets and fix', () => {
  const text = `policy: 1
kind: convert
name: MXN Supplier
environment: sandbox
zone: europe/paris
convert:
  sell: usd
  buy: MXN
  amount: { sell: 1000.00 }
quote:
  valid_fro: 45s
  max_quotes: 50
guard:
  worst_rate: "16.90 MXN per USDD"
withdraw:
  - id: supplier
    amount: { fixed: "1,000.00" }
  - id: Supplier
    account: wac_7Hk2mQ9vT4xR
    amount: proceeds
extra: 4
`;
  assert.equal(
    printed(text),
    `POLICY_NAME p.yaml:3:7: "MXN Supplier" is not a policy name: 1 to 40 of a-z, 0-9 and "-", a letter or digit first.
    name: MXN Supplier
          ^^^^^^^^^^^^
  fix: write mxn-supplier
POLICY_ZONE p.yaml:5:7: "europe/paris" is not a time zone.
    zone: europe/paris
          ^^^^^^^^^^^^
  fix: did you mean \`Europe/Paris\`?
POLICY_CURRENCY p.yaml:7:9: "usd" is not a currency code.
      sell: usd
            ^^^
  fix: did you mean \`USD\`?
POLICY_AMOUNT_UNQUOTED p.yaml:9:19: the amount 1000.00 is not in quotes: a program that reads the file could round it.
      amount: { sell: 1000.00 }
                      ^^^^^^^
  fix: write "1000.00", with the quotes
POLICY_UNKNOWN_FIELD p.yaml:11:3: "valid_fro" is no field of \`quote\`.
      valid_fro: 45s
      ^^^^^^^^^
  fix: did you mean \`valid_for\`?
POLICY_NUMBER p.yaml:12:15: "50" is not a whole number from 1 to 20.
      max_quotes: 50
                  ^^
  fix: write a whole number from 1 to 20, without quotes
POLICY_MISSING_FIELD p.yaml:16:5: \`account\` is missing in an entry of \`withdraw\`.
      - id: supplier
        ^^^^^^^^^^^^
  fix: add it, for example \`account: wac_7Hk2mQ9vT4xR\`
POLICY_AMOUNT p.yaml:17:22: "1,000.00" is not an amount: it has separators; only a decimal point may stand between digits.
        amount: { fixed: "1,000.00" }
                         ^^^^^^^^^^
  fix: write "1000.00", with the quotes
POLICY_DUPLICATE_ID p.yaml:18:9: "Supplier" is already on line 16 (small and capital letters make no difference).
      - id: Supplier
            ^^^^^^^^
  fix: give each payment an id of its own
POLICY_ROUNDING_MISSING p.yaml:20:13: proceeds can have more decimals than the currency: say how they are rounded.
        amount: proceeds
                ^^^^^^^^
  fix: write \`rounding: down\` (or half-even) beside it
POLICY_PROCEEDS_WITH_FIXED p.yaml:20:13: proceeds is the whole bought amount: with fixed amounts beside it more would be paid than was bought.
        amount: proceeds
                ^^^^^^^^
  fix: write \`amount: rest\` to pay what the fixed amounts leave, or pay the proceeds only
POLICY_UNKNOWN_FIELD p.yaml:21:1: "extra" is no field of this file.
    extra: 4
    ^^^^^
  fix: this file has policy, kind, name, environment, zone, schedule, quote, guard, settle, shortfall, convert, limits, withdraw`,
  );
});

test('what YAML allows and a policy does not is refused at its place', () => {
  assert.equal(
    printed(`%YAML 1.2
---
${SUPPLIER}shortfall: &how skip
shortfall: hold
zone: !!str UTC
settle: *how
<<: { quote: { max_quotes: 3 } }
---
policy: 1
`),
    `POLICY_DIRECTIVE p.yaml:1:1: directives are not allowed: the file is read as YAML 1.2.
    %YAML 1.2
    ^^^^^^^^^
  fix: delete the line that begins with \`%\`
POLICY_ANCHOR p.yaml:16:12: anchors are not allowed.
    shortfall: &how skip
               ^^^^
  fix: delete the anchor, or put a text that begins with \`&\` in quotes
POLICY_DUPLICATE_KEY p.yaml:17:1: "shortfall" is written twice; the first is on line 16.
    shortfall: hold
    ^^^^^^^^^
  fix: delete one of the two
POLICY_TAG p.yaml:18:7: tags are not allowed.
    zone: !!str UTC
          ^^^^^
  fix: delete the tag, or put a text that begins with \`!\` in quotes
POLICY_ALIAS p.yaml:19:9: aliases are not allowed: each value must be written where it is used.
    settle: *how
            ^^^^
  fix: write the value out, or put a text that begins with \`*\` in quotes
POLICY_MERGE_KEY p.yaml:20:1: merge keys are not allowed.
    <<: { quote: { max_quotes: 3 } }
    ^^
  fix: write the fields out
POLICY_SEVERAL_DOCUMENTS p.yaml:21:1: a second document begins here; a file holds one.
    ---
    ^^^
  fix: delete the line \`---\` or \`...\`, or move what follows into a file of its own`,
  );
});

test('text that is not YAML is shown at each broken line, and nothing else is guessed about it', () => {
  assert.equal(
    printed('policy: 1\nkind: convert: yes\n\tname: x\nzone: "a\n'),
    `POLICY_SYNTAX p.yaml:2:7: not YAML: Nested mappings are not allowed in compact mappings.
    kind: convert: yes
          ^
  fix: put nested fields on lines of their own, indented by two blanks
POLICY_SYNTAX p.yaml:3:1: not YAML: Tabs are not allowed as indentation.
     name: x
    ^
  fix: indent with blanks, not with tabs
POLICY_SYNTAX p.yaml:4:9: not YAML: Missing closing "quote.
    zone: "a
            ^
  fix: add what is missing: a closing quote, bracket or brace, a comma, or a blank after the colon`,
  );
});

test('an unknown kind is refused at the kind, and mistakes of the common head are still told', () => {
  const text = `policy: 1
kind: payot
name: contractors
environment: sandbox
payout: { fund: { from: USD, mode: net } }
quote: { setlement: T0 }
limits: { per_day: "2000000.00 USD" }
`;
  assert.equal(
    printed(text),
    `POLICY_KIND p.yaml:2:7: "payot" is not a kind of policy; the kinds are: convert, rebalance, payout.
    kind: payot
          ^^^^^
  fix: did you mean \`payout\`?
POLICY_UNKNOWN_FIELD p.yaml:6:10: "setlement" is no field of \`quote\`.
    quote: { setlement: T0 }
             ^^^^^^^^^
  fix: did you mean \`settlement\`?`,
  );
});

test('in live each field that could lose money and is left to a default is named', () => {
  assert.equal(
    printed(`${edited('sandbox', 'live')}quote: { valid_for: 15s }\n`),
    `POLICY_LIVE_UNSTATED p.yaml:4:14: in live \`guard\` must be written out; no default is taken.
    environment: live
                 ^^^^
  fix: write \`guard: { worst_rate: "…" }\`, or what you mean instead
POLICY_LIVE_UNSTATED p.yaml:4:14: in live \`settle.until\` must be written out; no default is taken.
    environment: live
                 ^^^^
  fix: write \`settle: { until: funds }\`, or what you mean instead
POLICY_LIVE_UNSTATED p.yaml:4:14: in live \`shortfall\` must be written out; no default is taken.
    environment: live
                 ^^^^
  fix: write \`shortfall: skip\`, or what you mean instead
POLICY_LIVE_UNSTATED p.yaml:4:14: in live \`limits\` must be written out; no default is taken.
    environment: live
                 ^^^^
  fix: write \`limits: { per_run: "…", per_payment: ["… MXN"], paid_per_run: ["… MXN"] }\`, or what you mean instead
POLICY_LIVE_UNSTATED p.yaml:14:1: in live \`quote.settlement\` must be written out; no default is taken.
    quote: { valid_for: 15s }
    ^^^^^
  fix: write \`quote: { settlement: T0 }\`, or what you mean instead`,
  );
});

test('the live sample loads only as long as each of its live fields is there', () => {
  const text = read('live-shaped.yaml');
  for (const field of ['settlement: T1', 'until: status', 'shortfall: skip', 'rounding: down']) {
    const without = text.replace(new RegExp(`^ *${field}.*\n`, 'm'), '');
    assert.notEqual(without, text);
    assert.equal(loadPolicy(without, 'live.yaml').ok, false, field);
  }
});

const UNUSABLE_AMOUNTS: readonly (readonly [written: string, problem: string])[] = [
  ['1000.00', 'AMOUNT_UNQUOTED 8:19 write "1000.00", with the quotes'],
  ['1000', 'AMOUNT_UNQUOTED 8:19 write "1000", with the quotes'],
  ['0x10', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['.inf', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['true', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['1e3', 'AMOUNT 8:19 write "1000", with the quotes'],
  ['"1e3"', 'AMOUNT 8:19 write "1000", with the quotes'],
  ['"1.25e1"', 'AMOUNT 8:19 write "12.5", with the quotes'],
  ['"1e-9"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['".5"', 'AMOUNT 8:19 write "0.5", with the quotes'],
  ['"1."', 'AMOUNT 8:19 write "1", with the quotes'],
  ['"007.50"', 'AMOUNT 8:19 write "7.50", with the quotes'],
  ['"+1"', 'AMOUNT 8:19 write "1", with the quotes'],
  ['"-1"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['"0"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['"0.00"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['"1,000.00"', 'AMOUNT 8:19 write "1000.00", with the quotes'],
  ['"1.000,00"', 'AMOUNT 8:19 write "1000.00", with the quotes'],
  ['"1_000"', 'AMOUNT 8:19 write "1000", with the quotes'],
  ['"1 000.00"', 'AMOUNT 8:19 write "1000.00", with the quotes'],
  ['"1000.00 USD"', 'AMOUNT 8:19 write "1000.00", with the quotes'],
  ['"$1000"', 'AMOUNT 8:19 write "1000", with the quotes'],
  ['" 1000"', 'AMOUNT 8:19 write "1000", with the quotes'],
  ['"1000\\n"', 'TEXT 8:19 write the text itself, on one line'],
  ['"\\x31000.00"', 'TEXT 8:19 write "1000.00", on one line'],
  ['"10\\\n    00.00"', 'TEXT 8:19 write "1000.00", on one line'],
  ['"10٠٠"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['"123456789012345678901"', 'AMOUNT 8:19 write digits with a point, in quotes: "1000.00"'],
  ['"alll"', 'AMOUNT 8:19 did you mean `all`?'],
  [
    '"1000.005"',
    'AMOUNT_DECIMALS 8:20 write "1000.00" (cut off), or set `decimals` in the service file if the service takes more',
  ],
  ['"0.001"', 'AMOUNT_DECIMALS 8:20 write at least "0.01"'],
];

for (const [written, problem] of UNUSABLE_AMOUNTS) {
  test(`the amount ${written} is refused with what to write instead`, () => {
    assert.deepEqual(listed(edited('"1000.00"', written)), [`POLICY_${problem}`]);
  });
}

test('a block text is no amount', () => {
  const text = edited('amount: { sell: "1000.00" }', 'amount:\n    sell: |-\n      1000.00');
  assert.deepEqual(listed(text), ['POLICY_TEXT 9:11 write "1000.00", on one line']);
});

test('decimals of amounts follow the currency, and what the operator knows overrides the table', () => {
  const usdc = edited('MXN', 'USDC').replace('{ sell: "1000.00" }', '{ buy: "1000.0000001" }');
  assert.deepEqual(
    listed(usdc).map((line) => line.split(' ')[0]),
    ['POLICY_AMOUNT_DECIMALS'],
  );
  assert.equal(loadPolicy(usdc, 'p.yaml', { USDC: 8 }).ok, true);
  assert.equal(loadPolicy(edited('"1000.00"', '"1000.5"'), 'p.yaml', { USD: 0 }).ok, false);
  assert.match(listed(edited('USD', 'JPY'))[0] ?? '', /^POLICY_AMOUNT_DECIMALS 8:20 write "1000"/);
});

const REFUSED: readonly (readonly [title: string, text: string, problems: readonly string[]])[] = [
  [
    'another version of the language',
    edited('policy: 1', 'policy: 2'),
    ['VERSION 1:9 write `policy: 1`, or use the Cambist that the policy was written for'],
  ],
  ['a version in quotes', edited('policy: 1', 'policy: "1"'), ['NUMBER 1:9 write 1, without quotes']],
  ['a mistyped kind', edited('kind: convert', 'kind: covnert'), ['KIND 2:7 did you mean `convert`?']],
  [
    'a kind without a value',
    edited('kind: convert', 'kind:'),
    ['EMPTY_FIELD 2:1 write for example `kind: convert`'],
  ],
  ['a name that could not begin a reference', edited('mxn-supplier', '-mxn'), ['NAME 3:7 write mxn']],
  ['a mistyped environment', edited('sandbox', 'sandbx'), ['NOT_ONE_OF 4:14 did you mean `sandbox`?']],
  [
    'a list where fields belong',
    edited('{ sell: "1000.00" }', '["1000.00"]'),
    ['WRONG_TYPE 8:11 write for example `amount: { sell: "1000.00" }`'],
  ],
  [
    'fields where a value belongs',
    edited('sell: USD', 'sell: { a: b }'),
    ['WRONG_TYPE 6:9 write for example `sell: USD`'],
  ],
  [
    'a value where fields belong',
    edited('kind: convert', 'kind: convert\nquote: T0'),
    ['WRONG_TYPE 3:8 write for example `quote: { settlement: T0 }`'],
  ],
  [
    'an amount without a side',
    edited('{ sell: "1000.00" }', '{}'),
    [
      'MISSING_FIELD 8:3 write one of `{ sell: "1000.00" }`, `{ buy: "17000.00" }`, `{ sell: all, keep: "500.00" }`',
    ],
  ],
  [
    'an amount with both sides',
    edited('"1000.00"', '"1000.00", buy: "17000.00"'),
    ['CONTRADICTION 8:30 delete one of the two'],
  ],
  [
    'all without what to keep',
    edited('"1000.00"', 'all'),
    ['MISSING_FIELD 8:19 write `{ sell: all, keep: "0.00" }` to sell everything'],
  ],
  [
    'something to keep beside a fixed amount',
    edited('"1000.00"', '"1000.00", keep: "5.00"'),
    ['CONTRADICTION 8:30 delete `keep`, or write `sell: all`'],
  ],
  [
    'a negative cushion',
    edited('"1000.00"', 'all, keep: "-5.00"'),
    ['AMOUNT 8:30 write digits with a point, in quotes: "1000.00"'],
  ],
  [
    'the same currency on both sides',
    edited('MXN', 'USD'),
    ['SAME_CURRENCY 7:8 write two different currencies'],
  ],
  [
    'a mistyped account',
    edited('wac_7Hk2mQ9vT4xR', 'wac_0Hk'),
    [
      'ACCOUNT 11:14 copy the id as the service shows it: `wac_` and up to 22 letters and digits (never 0, O, I, l), or a lower-case UUID',
    ],
  ],
  [
    'an upper-case UUID',
    edited('wac_7Hk2mQ9vT4xR', '6F9619FF-8B86-D011-B42D-00CF4FC964FF'),
    ['ACCOUNT 11:14 write 6f9619ff-8b86-d011-b42d-00cf4fc964ff'],
  ],
  [
    'an id that no reference may hold',
    edited('id: supplier', 'id: inv.1042'),
    ["ID 10:9 write an id such as supplier or inv-1042; it becomes part of the payment's reference"],
  ],
  [
    'an id with the mark of a generation',
    edited('id: supplier', 'id: inv~2'),
    ["ID 10:9 write an id such as supplier or inv-1042; it becomes part of the payment's reference"],
  ],
  [
    'proceeds without rounding',
    edited('\n    rounding: down', ''),
    ['ROUNDING_MISSING 12:13 write `rounding: down` (or half-even) beside it'],
  ],
  [
    'a fixed amount with rounding',
    edited('proceeds', '{ fixed: "1.00" }'),
    ['CONTRADICTION 13:5 delete `rounding`'],
  ],
  [
    'an amount of a payment without its brace',
    edited('proceeds\n    rounding: down', '"500.00"'),
    ['NOT_ONE_OF 12:13 write for example `amount: { fixed: "16500.00" }`'],
  ],
  [
    'a mistyped field of a fixed amount',
    edited('proceeds\n    rounding: down', '{ fixd: "500.00" }'),
    [
      'MISSING_FIELD 12:5 add it, for example `fixed: "16500.00"`',
      'UNKNOWN_FIELD 12:15 did you mean `fixed`?',
    ],
  ],
  [
    'a payment with the id of the trade',
    SUPPLIER.replace('id: supplier', 'id: USD-mxn-1'),
    ['ID_OF_LEG 10:9 give the payment another id'],
  ],
  [
    'proceeds twice',
    `${SUPPLIER}  - { id: other, account: wac_7Hk2mQ9vT4xR, amount: proceeds, rounding: down }\n`,
    ['PROCEEDS_TWICE 14:53 keep one entry with `amount: proceeds`'],
  ],
  [
    'the rest without its rounding',
    SUPPLIER.replace('amount: proceeds\n    rounding: down', 'amount: rest'),
    ['ROUNDING_MISSING 12:13 write `rounding: down` (or half-even) beside it'],
  ],
  [
    'the rest beside the proceeds',
    `${SUPPLIER}  - { id: other, account: wac_7Hk2mQ9vT4xR, amount: rest, rounding: down }\n`,
    ['REST_WITH_PROCEEDS 14:53 write `{ fixed: "…" }` for that entry, or delete one of the two'],
  ],
  [
    'the rest twice',
    `${SUPPLIER.replace('amount: proceeds', 'amount: rest')}  - { id: other, account: wac_7Hk2mQ9vT4xR, amount: rest, rounding: down }\n`,
    ['REST_TWICE 14:53 keep one entry with `amount: rest`'],
  ],
  [
    'the rest of what is all paid out already',
    `${SUPPLIER.replace('{ sell: "1000.00" }', '{ buy: "17000.00" }').replace('amount: proceeds', 'amount: rest')}  - { id: other, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "17000.00" } }\n`,
    ['REST_OF_NOTHING 12:13 buy more, or delete this entry'],
  ],
  [
    'a limit per day',
    `${SUPPLIER}limits: { per_day: "5.00 USD" }\n`,
    ['NOT_AVAILABLE 14:11 delete it, and bound the run by `per_run`'],
  ],
  [
    'limits without a limit',
    `${SUPPLIER}limits: {}\n`,
    ['MISSING_FIELD 14:1 write `per_trade: "1000.00 USD"` or `per_run: "1000.00 USD"` in it'],
  ],
  [
    'a limit without quotes',
    `${SUPPLIER}limits: { per_run: 5000.00 USD }\n`,
    ['AMOUNT_UNQUOTED 14:20 write "5000.00 USD", with the quotes'],
  ],
  [
    'a limit without its currency',
    `${SUPPLIER}limits: { per_run: "5000.00" }\n`,
    ['MONEY 14:20 write an amount and its currency: "1000000.00 USD"'],
  ],
  [
    'a limit with separators',
    `${SUPPLIER}limits: { per_run: "5,000.00 usd" }\n`,
    ['MONEY 14:20 write "5000.00 USD", with the quotes'],
  ],
  [
    'a limit in a third currency',
    `${SUPPLIER}limits: { per_run: "5000.00 EUR" }\n`,
    ['LIMIT_CURRENCY 14:29 state the limit in USD or in MXN'],
  ],
  [
    'a guard of nothing',
    `${SUPPLIER}guard: {}\n`,
    ['MISSING_FIELD 14:1 write `{ worst_rate: "16.90 MXN per USD" }`, or `reference` with `worst_cost`'],
  ],
  [
    'two guards',
    `${SUPPLIER}guard: { worst_rate: "16.90 MXN per USD", worst_cost: 25bps }\n`,
    ['CONTRADICTION 14:43 delete one of the two'],
  ],
  [
    'a reference without a cost',
    `${SUPPLIER}guard: { reference: { file: rates/daily.yaml, max_age: 30h } }\n`,
    ['MISSING_FIELD 14:10 write `worst_cost: 25bps`'],
  ],
  [
    'a reference outside the folder',
    `${SUPPLIER}guard: { reference: { file: ../daily.yaml, max_age: 30h }, worst_cost: 25bps }\n`,
    ['FILE 14:29 write a relative path below this folder that ends in .yaml: rates/daily.yaml'],
  ],
  [
    'a cost in percent',
    `${SUPPLIER}guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 1% }\n`,
    ['COST 14:75 write a number from 0 to 9999 and bps: 25bps is 0.25 %'],
  ],
  [
    'a rate without quotes',
    `${SUPPLIER}guard: { worst_rate: 16.90 MXN per USD }\n`,
    ['AMOUNT_UNQUOTED 14:22 write "16.90 MXN per USD", with the quotes'],
  ],
  [
    'a rate in market style',
    `${SUPPLIER}guard: { worst_rate: "16,90 mxn/usd" }\n`,
    ['RATE 14:22 write "16.90 MXN per USD", with the quotes'],
  ],
  [
    'a rate as a bare number',
    `${SUPPLIER}guard: { worst_rate: "16.90" }\n`,
    ['RATE 14:22 write how many units of one currency one unit of the other costs: "16.90 MXN per USD"'],
  ],
  [
    'a rate of another pair',
    `${SUPPLIER}guard: { worst_rate: "1.08 USD per EUR" }\n`,
    ['RATE_PAIR 14:36 write a rate in MXN per USD or in USD per MXN'],
  ],
  [
    'a rate of one currency',
    `${SUPPLIER}guard: { worst_rate: "1.00 USD per USD" }\n`,
    ['RATE_PAIR 14:36 write a rate in MXN per USD or in USD per MXN'],
  ],
  ['a duration in words', `${SUPPLIER}settle: { late_after: 6 hours }\n`, ['DURATION 14:23 write 6h']],
  [
    'a duration of years',
    `${SUPPLIER}settle: { late_after: 400d }\n`,
    ['DURATION 14:23 write a whole number and s, m, h or d: 45s, 30m, 6h, 2d'],
  ],
  [
    'a zone that does not exist',
    `${SUPPLIER}zone: Europe/Pariss\n`,
    ['ZONE 14:7 did you mean `Europe/Paris`?'],
  ],
  [
    'an offset as a zone',
    `${SUPPLIER}zone: "+02:00"\n`,
    ['ZONE 14:7 write the name of a zone, such as UTC or Europe/Paris'],
  ],
  [
    'a quote life that the service does not sell',
    `${SUPPLIER}quote: { valid_for: 20s }\n`,
    ['NOT_ONE_OF 14:21 did you mean `30s`?'],
  ],
  [
    'a fraction of a quote',
    `${SUPPLIER}quote: { max_quotes: 5.0 }\n`,
    ['NUMBER 14:22 write a whole number from 1 to 20, without quotes'],
  ],
  ['a key of the prototype', `${SUPPLIER}__proto__: { polluted: true }\n`, ['UNKNOWN_FIELD 14:1 delete it']],
  [
    'a key of every object',
    `${SUPPLIER}constructor: 1\n`,
    [
      'UNKNOWN_FIELD 14:1 this file has policy, kind, name, environment, zone, schedule, quote, guard, settle, shortfall, convert, limits, withdraw',
    ],
  ],
  [
    'an entry without a value',
    `${SUPPLIER}  -\n`,
    [
      'EMPTY_FIELD 14:4 write for example `{ id: supplier, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "16500.00" } }`',
    ],
  ],
];

for (const [title, text, problems] of REFUSED) {
  test(`${title} is refused at its place with its fix`, () => {
    assert.equal(loadPolicy(text, 'p.yaml').ok, false);
    assert.deepEqual(
      listed(text),
      problems.map((problem) => `POLICY_${problem}`),
    );
  });
}

test('a rate may be written in either direction, and a two-letter or long currency is one', () => {
  for (const rate of ['"16.90 MXN per USD"', '"0.0591 USD per MXN"', "'16.90 MXN per USD'"]) {
    const [worst] = loaded(`${SUPPLIER}guard: { worst_rate: ${rate} }\n`).guard?.worstRates ?? [];
    assert.deepEqual([worst?.sell, worst?.buy], ['USD', 'MXN'], rate);
  }
  assert.equal(loaded(edited('MXN', 'ABCDEFGHIJ12345')).convert.buy, 'ABCDEFGHIJ12345');
});

test('any account of the interface is taken: every prefix and a lower-case UUID', () => {
  for (const account of ['wac_1', 'abcde_ZZZZZZZZZZZZZZZZZZZZZZ', '6f9619ff-8b86-d011-b42d-00cf4fc964ff']) {
    assert.equal(loaded(edited('wac_7Hk2mQ9vT4xR', account)).withdraw[0]?.account, account);
  }
});

const GUARD = 'guard: { worst_rate: "16.90 MXN per USD" }\n';
const PAYS_FIXED = `${SUPPLIER.replace('proceeds\n    rounding: down', '{ fixed: "16900.00" }')}${GUARD}`;
const PAYS_TWICE = PAYS_FIXED.replace(
  '    amount: { fixed: "16900.00" }\n',
  `    amount: { fixed: "10000.00" }
  - id: second
    account: wac_7Hk2mQ9vT4xR
    amount: { fixed: "6900.00" }
`,
);

const WARNED: readonly (readonly [title: string, text: string, warning: string])[] = [
  [
    'a bought currency that the interface cannot withdraw',
    edited('MXN', 'CAD'),
    'CURRENCY_NOT_WITHDRAWABLE 7:8 ask the operator of the service, or leave `withdraw` out',
  ],
  ['a currency in no table', edited('USD', 'USX'), 'CURRENCY_UNKNOWN 6:9 did you mean `USD`?'],
  [
    'a limit below the amount',
    `${SUPPLIER}limits: { per_trade: "999.99 USD" }\n`,
    'AMOUNT_ABOVE_LIMIT 8:19 lower the amount or raise the limit',
  ],
  [
    'a payment above its limit',
    `${PAYS_FIXED}limits: { per_payment: ["16899.99 MXN"], paid_per_run: ["16900.00 MXN"] }\n`,
    'AMOUNT_ABOVE_LIMIT 12:22 lower the amount or raise the limit',
  ],
  [
    'payments that are above a limit together',
    `${PAYS_TWICE}limits: { per_payment: ["10000.00 MXN"], paid_per_run: ["16899.99 MXN"] }\n`,
    'AMOUNT_ABOVE_LIMIT 15:22 lower the amount or raise the limit',
  ],
];

/** Every one fills the guard's worst rate exactly. */
const COVERED: readonly (readonly [what: string, text: string])[] = [
  ['one payment', PAYS_FIXED],
  ['two payments', PAYS_TWICE],
  [
    'a rate the other way round',
    PAYS_FIXED.replace('16.90 MXN per USD', '0.05 USD per MXN').replace('16900', '20000'),
  ],
  ['a fixed bought side', PAYS_FIXED.replace('{ sell: "1000.00" }', '{ buy: "16900.00" }')],
];

for (const [what, text] of COVERED) {
  test(`payments that the conversion just covers load; a hundredth more does not: ${what}`, () => {
    assert.deepEqual(listed(text), []);
    const more = text.replace(/fixed: "(\d+)\.00"/, 'fixed: "$1.01"');
    assert.equal(loadPolicy(more, 'p.yaml').ok, false);
    assert.deepEqual(
      listed(more).map((line) => line.split(' ')[0]),
      ['POLICY_WITHDRAWALS_EXCEED_AMOUNT'],
    );
  });
}

test('payments that nothing proves to be covered load with a warning that says why', () => {
  for (const [from, to, why] of [
    [GUARD, '', 'no guard says how much the sale brings at least'],
    [
      '{ sell: "1000.00" }',
      '{ sell: all, keep: "0.00" }',
      'how much is sold is known only when the plan is made',
    ],
  ] as const) {
    const text = PAYS_FIXED.replace(from, to);
    const result = loadPolicy(text, 'p.yaml');
    assert.ok(result.ok, printed(text));
    assert.deepEqual(
      result.warnings.map(({ code }) => code),
      ['POLICY_WITHDRAWALS_UNCOVERED'],
    );
    assert.ok(result.warnings[0]?.message.endsWith(why));
  }
});

test('limits of payments are one amount per paid currency, in quotes, and nothing else', () => {
  const limited = (limits: string) => listed(`${SUPPLIER}limits: { ${limits} }\n`);
  assert.deepEqual(limited('per_payment: ["1.00 MXN"], paid_per_run: [\'2.00 MXN\']'), []);
  assert.deepEqual(limited('per_payment: ["1.00 MXN", "2.00 MXN"]'), [
    'POLICY_LIMIT_TWICE 14:37 keep one limit per currency',
  ]);
  assert.deepEqual(limited('paid_per_run: ["1.00 USD"]'), [
    'POLICY_LIMIT_CURRENCY 14:32 state the limit in MXN',
  ]);
  assert.deepEqual(limited('per_payment: [1.00 MXN]'), [
    'POLICY_AMOUNT_UNQUOTED 14:25 write "1.00 MXN", with the quotes',
  ]);
  assert.deepEqual(limited('per_payment: ["1.001 MXN"]'), [
    'POLICY_AMOUNT_DECIMALS 14:26 write "1.00" (cut off), or set `decimals` in the service file if the service takes more',
  ]);
  assert.deepEqual(limited('per_payment: "1.00 MXN"'), [
    'POLICY_WRONG_TYPE 14:24 write for example `per_payment: ["30000.00 MXN"]`',
  ]);
  assert.deepEqual(loaded(`${SUPPLIER}limits: { per_payment: ["1.00 MXN"] }\n`).rules.limits, {
    perTrade: null,
    perRun: null,
    perDay: null,
    perPayment: [{ value: '1.00', currency: 'MXN' }],
    paidPerRun: [],
  });
});

test('in live what is paid is limited too, each payment and their sum', () => {
  const text = read('live-shaped.yaml');
  const codesWithout = (fields: string): readonly string[] => {
    const without = text.replaceAll(new RegExp(`^ *(${fields}): .*\n`, 'gm'), '');
    assert.notEqual(without, text, fields);
    return listed(without).map((line) => line.split(' ')[0] ?? '');
  };
  assert.deepEqual(codesWithout('per_payment'), ['POLICY_LIVE_UNSTATED']);
  assert.deepEqual(codesWithout('paid_per_run'), ['POLICY_LIVE_UNSTATED']);
  // One limit of what is traded is enough for one conversion.
  assert.deepEqual(codesWithout('per_trade'), []);
  assert.deepEqual(codesWithout('per_run'), []);
  assert.deepEqual(codesWithout('per_trade|per_run'), ['POLICY_LIVE_UNSTATED']);
});

for (const [title, text, warning] of WARNED) {
  test(`${title} loads with a warning`, () => {
    assert.equal(loadPolicy(text, 'p.yaml').ok, true, printed(text));
    assert.deepEqual(listed(text), [`POLICY_${warning}`]);
  });
}

test('an empty file lists what a policy needs', () => {
  for (const text of ['', '\n', '# nothing\n', '---\n']) {
    const lines = listed(text);
    assert.equal(lines.length, 5);
    assert.ok(lines.every((line) => line.startsWith('POLICY_MISSING_FIELD')));
  }
});

test('a file that holds no fields is refused as such', () => {
  for (const text of ['- a\n', 'hello\n', '"policy: 1"\n', '42\n']) {
    assert.deepEqual(listed(text), ['POLICY_WRONG_TYPE 1:1 begin from a sample in `policies/`']);
  }
});
