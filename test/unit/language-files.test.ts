/** Service files and reference files: their records, their defaults and their mistakes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decimalsOf } from '../../domain/currencies.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { loadServiceFacts } from '../../language/load-service-facts.ts';
import { formatTrouble, troubleOfPolicy, type PolicyProblem } from '../../language/text/problem.ts';

/** As every command prints it. */
function printed(problem: PolicyProblem): string {
  return formatTrouble(troubleOfPolicy(problem), (line) => line);
}

const WHOLE = `trade_statuses: { settled: [SETTLED, COMPLETED, CLOSED], failed: [FAILED, REJECTED, CANCELLED] }
withdrawal_statuses: { paid: [COMPLETED], failed: [FAILED, REJECTED, RETURNED, CANCELLED, CANCELED, EXPIRED] }
sale_leaves_withdrawable: at_trade        # at_trade | at_settlement: what planning from balances may count on
list_lag: 1m                              # how long a new record may be missing from lists
account_statuses: { unusable: [UNVERIFIED, PENDING, REJECTED, ARCHIVED, DISABLED] }
settle_doubt: { trade: 2m, withdrawal: 24h }
late_after: { settlement: 6h, withdrawal: 24h }
decimals: { USDC: 6 }
`;

function factsProblems(text: string): string {
  const result = loadServiceFacts(text, 's.yaml');
  return result.ok ? 'loads' : result.problems.map(printed).join('\n');
}

function ratesProblems(text: string): string {
  const result = loadReferenceRates(text, 'r.yaml');
  return result.ok ? 'loads' : result.problems.map(printed).join('\n');
}

test('the service file of the design says what the defaults say', () => {
  const result = loadServiceFacts(WHOLE, 's.yaml');
  assert.ok(result.ok, factsProblems(WHOLE));
  assert.deepEqual(result.facts, { ...DEFAULT_SERVICE_FACTS, decimals: { USDC: 6 } });
  assert.ok(Object.isFrozen(result.facts.tradeStatuses.settled));
});

test('an empty service file gives the defaults', () => {
  for (const text of ['', '# nothing yet\n']) {
    const result = loadServiceFacts(text, 's.yaml');
    assert.deepEqual(result, { ok: true, facts: DEFAULT_SERVICE_FACTS });
  }
});

test('each fact of a service file replaces its default alone', () => {
  const result = loadServiceFacts(
    `trade_statuses: { settled: [Done] }
sale_leaves_withdrawable: at_settlement
list_lag: 5s
key_used_since: 2026-11-01
account_statuses: { unusable: [Frozen] }
settle_doubt: { trade: 10s }
late_after: { withdrawal: 2d }
`,
    's.yaml',
  );
  assert.ok(result.ok);
  assert.deepEqual(result.facts, {
    ...DEFAULT_SERVICE_FACTS,
    tradeStatuses: { ...DEFAULT_SERVICE_FACTS.tradeStatuses, settled: ['Done'] },
    saleLeavesWithdrawable: 'at_settlement',
    listLagMs: 5_000,
    keyUsedSince: '2026-11-01',
    accountStatuses: { unusable: ['Frozen'] },
    settleDoubtMs: { trade: 10_000, withdrawal: 86_400_000 },
    lateAfterMs: { settlement: 21_600_000, withdrawal: 172_800_000 },
  });
});

test('mistakes of a service file come at once with their places', () => {
  assert.equal(
    factsProblems(`trade_status: { settled: [A] }
withdrawal_statuses: { paid: [], failed: [NO WAY, 5] }
sale_leaves_withdrawable: at_trad
settle_doubt: { trade: 0s }
decimals: { usdc: 6, USDT: 12 }
list_lag: 1 minute
key_used_since: 2026-02-30
account_statuses: { usable: [LIVE] }
late_after: { settlement: tomorrow }
`),
    `SERVICE_FILE_UNKNOWN_FIELD s.yaml:1:1: "trade_status" is no field of this file.
    trade_status: { settled: [A] }
    ^^^^^^^^^^^^
  fix: did you mean \`trade_statuses\`?
SERVICE_FILE_WRONG_TYPE s.yaml:2:30: \`paid\` has no entry, or too many.
    withdrawal_statuses: { paid: [], failed: [NO WAY, 5] }
                                 ^^
  fix: write for example \`paid: [COMPLETED]\`
SERVICE_FILE_STATUS s.yaml:2:51: "5" is not a status.
    withdrawal_statuses: { paid: [], failed: [NO WAY, 5] }
                                                      ^
  fix: write the status as the service sends it, such as COMPLETED; put "NO" or "NULL" in quotes
SERVICE_FILE_NOT_ONE_OF s.yaml:3:27: "at_trad" is not what \`sale_leaves_withdrawable\` takes: at_trade, at_settlement.
    sale_leaves_withdrawable: at_trad
                              ^^^^^^^
  fix: did you mean \`at_trade\`?
SERVICE_FILE_DURATION s.yaml:4:24: "0s" is not a duration between 1s and 366d.
    settle_doubt: { trade: 0s }
                           ^^
  fix: write a whole number and s, m, h or d: 45s, 30m, 6h, 2d
SERVICE_FILE_CURRENCY s.yaml:5:13: "usdc" is not a currency code.
    decimals: { usdc: 6, USDT: 12 }
                ^^^^
  fix: did you mean \`USDC\`?
SERVICE_FILE_NUMBER s.yaml:5:28: "12" is not a whole number from 0 to 8.
    decimals: { usdc: 6, USDT: 12 }
                               ^^
  fix: write a whole number from 0 to 8, without quotes
SERVICE_FILE_DURATION s.yaml:6:11: "1 minute" is not a duration between 1s and 366d.
    list_lag: 1 minute
              ^^^^^^^^
  fix: write 1m
SERVICE_FILE_DATE s.yaml:7:17: "2026-02-30" is not a calendar date.
    key_used_since: 2026-02-30
                    ^^^^^^^^^^
  fix: write year, month and day: 2026-11-01
SERVICE_FILE_UNKNOWN_FIELD s.yaml:8:21: "usable" is no field of \`account_statuses\`.
    account_statuses: { usable: [LIVE] }
                        ^^^^^^
  fix: did you mean \`unusable\`?
SERVICE_FILE_DURATION s.yaml:9:27: "tomorrow" is not a duration between 1s and 366d.
    late_after: { settlement: tomorrow }
                              ^^^^^^^^
  fix: write a whole number and s, m, h or d: 45s, 30m, 6h, 2d`,
  );
});

test('doubt is never shorter than twice the time that lists may lag: refused when written, raised when not', () => {
  assert.equal(
    factsProblems('list_lag: 90s\nsettle_doubt: { trade: 2m, withdrawal: 24h }\n'),
    `SERVICE_FILE_CONTRADICTION s.yaml:2:24: "2m" is shorter than twice \`list_lag\` (3m).
    settle_doubt: { trade: 2m, withdrawal: 24h }
                           ^^
  fix: write at least 3m, or a shorter \`list_lag\``,
  );
  assert.equal(factsProblems('list_lag: 60s\nsettle_doubt: { trade: 2m }\n'), 'loads');
  assert.match(factsProblems('settle_doubt: { withdrawal: 119s }\n'), /shorter than twice `list_lag` \(2m\)/);
  const raised = loadServiceFacts('list_lag: 1d\n', 's.yaml');
  assert.ok(raised.ok);
  assert.deepEqual(raised.facts.settleDoubtMs, { trade: 172_800_000, withdrawal: 172_800_000 });
});

test('one status cannot mean both ends, whether written or by default, whatever its capitals', () => {
  assert.equal(
    factsProblems(
      'withdrawal_statuses: { paid: [COMPLETED, Returned], failed: [RETURNED] }\ntrade_statuses: { settled: [CANCELLED] }\n',
    ),
    `SERVICE_FILE_CONTRADICTION s.yaml:1:62: "RETURNED" is also a status for \`paid\`.
    withdrawal_statuses: { paid: [COMPLETED, Returned], failed: [RETURNED] }
                                                                 ^^^^^^^^
  fix: delete it from one of the two lists
SERVICE_FILE_CONTRADICTION s.yaml:2:29: "CANCELLED" is also a status for \`failed\`, by default.
    trade_statuses: { settled: [CANCELLED] }
                                ^^^^^^^^^
  fix: delete it here, or write \`failed\` out without it`,
  );
  assert.match(
    factsProblems('trade_statuses: { failed: [CLOSED] }\n'),
    /also a status for `settled`, by default/,
  );
  assert.match(
    factsProblems('trade_statuses: { settled: [Locked] }\n'),
    /also a status for `pending`, by default/,
  );
  assert.match(
    factsProblems('withdrawal_statuses: { pending: [QUEUED, RETURNED] }\n'),
    /"RETURNED" is also a status for `failed`, by default/,
  );
});

test('decimals come from the operator, else from the table, else are 2', () => {
  const cases: readonly (readonly [currency: string, decimals: number])[] = [
    ['USD', 2],
    ['JPY', 0],
    ['KWD', 3],
    ['CLF', 4],
    ['USDC', 6],
    ['EUROP', 6],
    ['XYZ', 2],
    ['constructor', 2],
    ['__proto__', 2],
  ];
  for (const [currency, decimals] of cases) assert.equal(decimalsOf(currency, {}), decimals, currency);
  assert.equal(decimalsOf('USDC', { USDC: 2 }), 2);
  assert.equal(decimalsOf('JPY', { USDC: 2 }), 0);
});

test('a reference file becomes rates with the moment of their fixing', () => {
  assert.deepEqual(
    loadReferenceRates(
      'as_of: 2026-11-20T16:00:00+01:00\nrates: ["1.0832 USD per EUR", "17 MXN per USD"]\n',
      'r.yaml',
    ),
    {
      ok: true,
      rates: {
        asOf: '2026-11-20T16:00:00+01:00',
        rates: [
          { value: '1.0832', currency: 'USD', per: 'EUR' },
          { value: '17', currency: 'MXN', per: 'USD' },
        ],
      },
    },
  );
});

test('mistakes of a reference file come at once with their places', () => {
  assert.equal(
    ratesProblems(`as_of: 2026-02-30T16:00:00+01:00
rates:
  - "1.0832 USD per EUR"
  - 0.9 EUR per USD
  - "1.0 USD per USD"
  - "1,08 USD/GBP"
`),
    `RATES_INSTANT r.yaml:1:8: "2026-02-30T16:00:00+01:00" is not a moment with its offset from UTC.
    as_of: 2026-02-30T16:00:00+01:00
           ^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: write date, T, time and offset: 2026-11-20T16:00:00+01:00
RATES_AMOUNT_UNQUOTED r.yaml:4:5: "0.9 EUR per USD" is not in quotes.
      - 0.9 EUR per USD
        ^^^^^^^^^^^^^^^
  fix: write "0.9 EUR per USD", with the quotes
RATES_RATE_TWICE r.yaml:4:5: the pair of EUR and USD is already on line 3.
      - 0.9 EUR per USD
        ^^^^^^^^^^^^^^^
  fix: keep one rate per pair
RATES_SAME_CURRENCY r.yaml:5:5: a rate is between two currencies, not from USD to itself.
      - "1.0 USD per USD"
        ^^^^^^^^^^^^^^^^^
  fix: delete it
RATES_RATE r.yaml:6:5: "1,08 USD/GBP" is not a rate.
      - "1,08 USD/GBP"
        ^^^^^^^^^^^^^^
  fix: write "1.08 USD per GBP", with the quotes`,
  );
});

test('three rates that go round must agree within 3 %, in whichever direction they are written', () => {
  const said = (gbp: string): string =>
    ratesProblems(`as_of: 2026-11-20T16:00:00Z
rates:
  - "1.10 USD per EUR"
  - "${gbp}"
  - "17 MXN per USD"
  - "0.88 GBP per EUR"
`);
  // 1.10 dollars are 0.88 pounds, and so 1.25 dollars a pound.
  for (const rate of ['1.25 USD per GBP', '1.287 USD per GBP', '1.213 USD per GBP', '0.80 GBP per USD'])
    assert.equal(said(rate), 'loads', rate);
  for (const rate of ['1.29 USD per GBP', '1.21 USD per GBP', '0.125 USD per GBP', '1.25 GBP per USD'])
    assert.match(
      said(rate),
      new RegExp(
        `^RATES_RATES_DISAGREE r\\.yaml:6:5: this rate and two others disagree by more than 3 %: 1\\.10 USD per EUR and ${rate} give another one than 0\\.88 GBP per EUR`,
      ),
    );
});

for (const asOf of ['2026-11-20', '2026-11-20T16:00:00', '2026-11-20 16:00:00Z', 'yesterday', '1763650800']) {
  test(`\`as_of: ${asOf}\` is refused, since it leaves the moment open`, () => {
    assert.match(
      ratesProblems(`as_of: ${asOf}\nrates: ["1.08 USD per EUR"]\n`),
      /^RATES_INSTANT r\.yaml:1:8: /,
    );
  });
}

test('an empty reference file guards nothing and is refused', () => {
  assert.match(ratesProblems(''), /`as_of` is missing[^]*`rates` is missing/);
  assert.match(ratesProblems('as_of: 2026-11-20T16:00:00Z\nrates: []\n'), /RATES_WRONG_TYPE/);
});
