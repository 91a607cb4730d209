/** Service files and reference files: their records, their defaults and their mistakes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decimalsOf } from '../domain/currencies.ts';
import { DEFAULT_SERVICE_FACTS } from '../domain/service-facts.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { loadServiceFacts } from '../language/load-service-facts.ts';
import { formatProblem } from '../language/problem.ts';

const WHOLE = `trade_words: { settled: [SETTLED, COMPLETED, CLOSED], failed: [FAILED, REJECTED, CANCELLED] }
withdrawal_words: { paid: [COMPLETED], failed: [FAILED, REJECTED, RETURNED, CANCELLED, CANCELED, EXPIRED] }
sale_leaves_withdrawable: at_trade        # at_trade | at_settlement: what planning from balances may count on
settle_doubt: { trade: 2m, withdrawal: 24h }
decimals: { USDC: 6 }
`;

function factsProblems(text: string): string {
  const result = loadServiceFacts(text, 's.yaml');
  return result.ok ? 'loads' : result.problems.map(formatProblem).join('\n');
}

function ratesProblems(text: string): string {
  const result = loadReferenceRates(text, 'r.yaml');
  return result.ok ? 'loads' : result.problems.map(formatProblem).join('\n');
}

test('the service file of the design says what the defaults say', () => {
  const result = loadServiceFacts(WHOLE, 's.yaml');
  assert.ok(result.ok, factsProblems(WHOLE));
  assert.deepEqual(result.facts, { ...DEFAULT_SERVICE_FACTS, decimals: { USDC: 6 } });
  assert.ok(Object.isFrozen(result.facts.tradeWords.settled));
});

test('an empty service file gives the defaults', () => {
  for (const text of ['', '# nothing yet\n']) {
    const result = loadServiceFacts(text, 's.yaml');
    assert.deepEqual(result, { ok: true, facts: DEFAULT_SERVICE_FACTS });
  }
});

test('each fact of a service file replaces its default alone', () => {
  const result = loadServiceFacts(
    'trade_words: { settled: [Done] }\nsale_leaves_withdrawable: at_settlement\nsettle_doubt: { trade: 1s }\n',
    's.yaml',
  );
  assert.ok(result.ok);
  assert.deepEqual(result.facts, {
    ...DEFAULT_SERVICE_FACTS,
    tradeWords: { settled: ['Done'], failed: DEFAULT_SERVICE_FACTS.tradeWords.failed },
    saleLeavesWithdrawable: 'at_settlement',
    settleDoubtMs: { trade: 1_000, withdrawal: 86_400_000 },
  });
});

test('mistakes of a service file come at once with their places', () => {
  assert.equal(
    factsProblems(`trade_word: { settled: [A] }
withdrawal_words: { paid: [], failed: [NO WAY, 5] }
sale_leaves_withdrawable: at_trad
settle_doubt: { trade: 0s }
decimals: { usdc: 6, USDT: 12 }
`),
    `s.yaml:1:1 SERVICE_FILE_UNKNOWN_FIELD: "trade_word" is no field of this file
  1 | trade_word: { settled: [A] }
    | ^^^^^^^^^^
fix: did you mean \`trade_words\`?
s.yaml:2:27 SERVICE_FILE_WRONG_TYPE: \`paid\` has no entry, or too many
  2 | withdrawal_words: { paid: [], failed: [NO WAY, 5] }
    |                           ^^
fix: write for example \`paid: [COMPLETED]\`
s.yaml:2:48 SERVICE_FILE_WORD: "5" is not a status word
  2 | withdrawal_words: { paid: [], failed: [NO WAY, 5] }
    |                                                ^
fix: write the word as the service sends it, such as COMPLETED; put words like "NO" or "NULL" in quotes
s.yaml:3:27 SERVICE_FILE_NOT_ONE_OF: "at_trad" is not what \`sale_leaves_withdrawable\` takes: at_trade, at_settlement
  3 | sale_leaves_withdrawable: at_trad
    |                           ^^^^^^^
fix: did you mean \`at_trade\`?
s.yaml:4:24 SERVICE_FILE_DURATION: "0s" is not a duration between 1s and 366d
  4 | settle_doubt: { trade: 0s }
    |                        ^^
fix: write a whole number and s, m, h or d: 45s, 30m, 6h, 2d
s.yaml:5:13 SERVICE_FILE_CURRENCY: "usdc" is not a currency code
  5 | decimals: { usdc: 6, USDT: 12 }
    |             ^^^^
fix: did you mean \`USDC\`?
s.yaml:5:28 SERVICE_FILE_NUMBER: "12" is not a whole number from 0 to 8
  5 | decimals: { usdc: 6, USDT: 12 }
    |                            ^^
fix: write a whole number from 0 to 8, without quotes`,
  );
});

test('one word cannot mean both ends, whether written or by default, whatever its capitals', () => {
  assert.equal(
    factsProblems(
      'withdrawal_words: { paid: [COMPLETED, Returned], failed: [RETURNED] }\ntrade_words: { settled: [CANCELLED] }\n',
    ),
    `s.yaml:1:59 SERVICE_FILE_CONTRADICTION: "RETURNED" is also a word for \`paid\`
  1 | withdrawal_words: { paid: [COMPLETED, Returned], failed: [RETURNED] }
    |                                                           ^^^^^^^^
fix: delete it from one of the two lists
s.yaml:2:26 SERVICE_FILE_CONTRADICTION: "CANCELLED" is also a word for \`failed\`, by default
  2 | trade_words: { settled: [CANCELLED] }
    |                          ^^^^^^^^^
fix: delete it here, or write \`failed\` out without it`,
  );
  assert.match(factsProblems('trade_words: { failed: [CLOSED] }\n'), /also a word for `settled`, by default/);
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
    `r.yaml:1:8 RATES_INSTANT: "2026-02-30T16:00:00+01:00" is not a moment with its offset from UTC
  1 | as_of: 2026-02-30T16:00:00+01:00
    |        ^^^^^^^^^^^^^^^^^^^^^^^^^
fix: write date, T, time and offset: 2026-11-20T16:00:00+01:00
r.yaml:4:5 RATES_AMOUNT_UNQUOTED: "0.9 EUR per USD" is not in quotes
  4 |   - 0.9 EUR per USD
    |     ^^^^^^^^^^^^^^^
fix: write "0.9 EUR per USD", with the quotes
r.yaml:4:5 RATES_RATE_TWICE: the pair of EUR and USD is already on line 3
  4 |   - 0.9 EUR per USD
    |     ^^^^^^^^^^^^^^^
fix: keep one rate per pair
r.yaml:5:5 RATES_SAME_CURRENCY: a rate is between two currencies, not from USD to itself
  5 |   - "1.0 USD per USD"
    |     ^^^^^^^^^^^^^^^^^
fix: delete it
r.yaml:6:5 RATES_RATE: "1,08 USD/GBP" is not a rate
  6 |   - "1,08 USD/GBP"
    |     ^^^^^^^^^^^^^^
fix: write "1.08 USD per GBP", with the quotes`,
  );
});

for (const asOf of ['2026-11-20', '2026-11-20T16:00:00', '2026-11-20 16:00:00Z', 'yesterday', '1763650800']) {
  test(`\`as_of: ${asOf}\` is refused, since it leaves the moment open`, () => {
    assert.match(
      ratesProblems(`as_of: ${asOf}\nrates: ["1.08 USD per EUR"]\n`),
      /^r\.yaml:1:8 RATES_INSTANT/,
    );
  });
}

test('an empty reference file guards nothing and is refused', () => {
  assert.match(ratesProblems(''), /`as_of` is missing[^]*`rates` is missing/);
  assert.match(ratesProblems('as_of: 2026-11-20T16:00:00Z\nrates: []\n'), /RATES_WRONG_TYPE/);
});
