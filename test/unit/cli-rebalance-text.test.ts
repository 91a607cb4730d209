/** What `plan` and `report` say of a rebalancing, as printed on 80 columns: the sample, on a day on which most needs doing. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { explainPlan, planDocument } from '../../cli/views/plan-text.ts';
import type { Paint } from '../../cli/terminal/text.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { ReportSchema } from '../../cli/views/report-schema.ts';
import { reportText } from '../../cli/views/report-text.ts';
import type { Problem } from '../../domain/problems.ts';
import { runName } from '../../domain/references.ts';
import { makeReport } from '../../domain/run/report.ts';
import { addEvidence, adoptPlan, newRunState, type Evidence } from '../../domain/run/state.ts';
import { inputOn } from '../support/plans.ts';
import type { IndicativePrice } from '../../operations/start/indicative-price.ts';
import { urlOf } from '../support/root.ts';

const NOW_MS = Date.parse('2026-11-23T08:30:02Z');

const same = (text: string): string => text;
const PLAIN: Paint = { good: same, bad: same, warn: same, strong: same, faint: same };
const DATE = '2026-11-23';

function sample(name: string): string {
  return readFileSync(urlOf(`policies/${name}`), 'utf8');
}

/** Balances by currency; the policy as it is edited. */
function planned(
  there: Readonly<Record<string, string>>,
  prices: readonly IndicativePrice[] = [],
  edit: (text: string) => string = same,
) {
  const loaded = loadPolicy(edit(sample('daily-treasury.yaml')), 'daily-treasury.yaml');
  const rates = loadReferenceRates(sample('rates/daily.yaml'), 'rates/daily.yaml');
  assert.ok(loaded.ok && rates.ok);
  const input = inputOn(DATE, loaded, there, { referenceRates: rates.rates });
  const result = compilePlan(input);
  assert.ok(result.ok, JSON.stringify(result));
  const text = explainPlan(result.plan, input, prices, { width: 80, paint: PLAIN });
  return { plan: result.plan, input, document: planDocument(result.plan, input, prices), text };
}

/** The part of the text under a heading. */
function section(text: string, heading: string): string {
  const part = text.split('\n\n').find((one) => one.startsWith(heading));
  return part ?? `no ${heading} in:\n${text}`;
}

const DAY = { USD: '300000', EUR: '300000', GBP: '10000', MXN: '18500', BRL: '400000' };
const quoted = (leg: string, sellAmount: string, buyAmount: string): IndicativePrice => ({
  leg,
  kind: 'quoted',
  sides: { sellAmount, buyAmount },
});

test('the plan of a rebalancing shows each currency with its target, and why it is traded', () => {
  assert.equal(
    section(planned(DAY).text, 'Currencies'),
    `Currencies
  CURRENCY     BALANCE   PROJECTED          TARGET       BAND           TRADE
  USD       300,000.00  300,000.00  min 100,000.00          -               -
  EUR       300,000.00  300,000.00      250,000.00  25,000.00  sell 50,000.00
  MXN        18,500.00   18,500.00        max 0.00          -  sell 18,500.00
  GBP        10,000.00   10,000.00   min 40,000.00          -   buy 30,000.00
  BRL       400,000.00  400,000.00      384,357.99  38,435.79               -
  EUR: 300,000.00 is above 275,000.00; selling 50,000.00 brings it back to
  250,000.00.
  MXN: 18,500.00 is above 0.00; selling 18,500.00 brings it back to 0.00.
  GBP: 10,000.00 is below 40,000.00; buying 30,000.00 brings it back to
  40,000.00.`,
  );
});

test('its trades come with what they should bring, and what is left afterwards', () => {
  const { text } = planned(DAY);
  assert.equal(
    section(text, 'Trades'),
    `Trades
  LEG                     TRADE       EXPECTED       RATE  COST  BPS
  eur-usd-1  sell 50,000.00 EUR  54,000.00 USD       1.08     -    -
  mxn-usd-1  sell 18,500.00 MXN   1,000.00 USD  0.0540541     -    -
  usd-gbp-1   buy 30,000.00 GBP  38,100.00 USD   0.787402     -    -
  EXPECTED is by the reference rates. With --quote the command asks the service
  for quotes.
  eur-usd-1: not traded below 1.0773 USD per EUR (at most 25 bps worse than
  rates/daily.yaml of 2026-11-20T16:00:00+01:00).
  mxn-usd-1: not traded below about 0.0539189 USD per MXN (at most 25 bps worse
  than rates/daily.yaml of 2026-11-20T16:00:00+01:00).
  usd-gbp-1: not traded below about 0.785433 GBP per USD (at most 25 bps worse
  than rates/daily.yaml of 2026-11-20T16:00:00+01:00).
  Quote: valid for 30 s, settles T0; at most 3 quotes, each under the same
  reference.
  If money is missing, the leg is not traded (\`shortfall: skip\`).
  Limits: 400,000.00 USD per trade, 1,000,000.00 USD per run, 2,000,000.00 USD
  per day; the amount is within them, and a quote beyond them is not traded.
  Each trade has a reference of its own, such as
  daily-treasury.2026-11-23.eur-usd-1.`,
  );
  assert.equal(
    section(text, 'Afterwards'),
    `Afterwards
  CURRENCY     BALANCE   PROJECTED          TARGET       BAND  INSIDE
  USD       261,900.00  316,900.00  min 100,000.00          -  yes
  EUR       250,000.00  250,000.00      250,000.00  25,000.00  yes
  MXN             0.00        0.00        max 0.00          -  yes
  GBP        10,000.00   40,000.00   min 40,000.00          -  yes
  BRL       400,000.00  400,000.00      384,357.99  38,435.79  yes
  BALANCE is what is left after the sales; PROJECTED adds what is bought, once
  it has settled.`,
  );
});

test('with quotes each trade shows its cost, in money and basis points, and what has no quote says why', () => {
  const { text, document } = planned(DAY, [
    quoted('eur-usd-1', '50000', '53946.00'),
    quoted('mxn-usd-1', '18500', '1000.50'),
    {
      leg: 'usd-gbp-1',
      kind: 'not quoted',
      why: 'The service says: trading is switched off (TRADE_DISABLED).',
    },
  ]);
  assert.equal(
    section(text, 'Trades').split('\n').slice(0, 8).join('\n'),
    `Trades
  LEG                     TRADE       EXPECTED       RATE        COST     BPS
  eur-usd-1  sell 50,000.00 EUR  53,946.00 USD    1.07892  +54.00 USD  +10.00
  mxn-usd-1  sell 18,500.00 MXN   1,000.50 USD  0.0540811   -0.50 USD   -5.00
  usd-gbp-1   buy 30,000.00 GBP  38,100.00 USD   0.787402           -       -
  total                                                    +53.50 USD
  EXPECTED is by quotes of this moment, which are not traded, else by the
  reference rates.`,
  );
  assert.deepEqual(
    document.legs.map(({ id, expected, noQuote }) => [id, expected?.by, expected?.cost, noQuote]),
    [
      ['eur-usd-1', 'quote', { amount: '54', currency: 'USD', bps: '10' }, null],
      ['mxn-usd-1', 'quote', { amount: '-0.5', currency: 'USD', bps: '-5' }, null],
      ['usd-gbp-1', 'reference rate', null, 'The service says: trading is switched off (TRADE_DISABLED).'],
    ],
  );
});

test('a worst rate that is far from the reference rates is a remark, and a quote that is far from the guard too', () => {
  const worstRate = (rate: string) => (text: string) =>
    text.replace('  worst_cost: 25bps\n', `  worst_cost: 25bps\n  worst_rate: ["${rate}"]\n`);
  const { text, document } = planned(
    DAY,
    [quoted('eur-usd-1', '50000', '68000.00'), quoted('mxn-usd-1', '18500', '900.00')],
    worstRate('0.80 USD per EUR'),
  );
  assert.match(document.remarks.join(), /^The worst rate of the guard is 0\.80 USD per EUR\. /);
  assert.match(text, /Note: The worst rate of the guard is 0\.80 USD per EUR\. /);
  const trades = section(text, 'Trades').replaceAll(/\s+/g, ' ');
  assert.match(
    trades,
    /The quote for eur-usd-1: The guard allows it, and would allow a price that is a fifth/,
  );
  assert.match(trades, /The quote for mxn-usd-1: The guard refuses it\./);
  assert.deepEqual(planned(DAY, [], worstRate('1.05 USD per EUR')).document.remarks, []);
});

/** The report of a run that traded like this, by leg; a leg that is not named is not traded. */
function reported(
  traded: Readonly<Record<string, readonly [sold: string, bought: string, settled?: false]>>,
) {
  const { plan } = planned(DAY);
  const state = newRunState(plan.run, `sandbox/${runName(plan.run)}`, plan.policy);
  adoptPlan(state, plan);
  for (const record of state.legs) {
    const [sellAmount, buyAmount, settled = true] = traded[record.leg.id] ?? [];
    if (sellAmount === undefined || buyAmount === undefined) {
      record.stage = { kind: 'not traded', quoteId: null, problem: OUTSIDE, endedIn: 'run-1' };
      continue;
    }
    const quoteId = `qte_${record.leg.id}`;
    const trade = {
      tradeId: `tde_${record.leg.id}`,
      createdAtMs: NOW_MS,
      quoteId,
      sellAmount,
      buyAmount,
      quoted: null,
      status: 'SETTLED',
    };
    record.stage = { kind: 'traded', atMs: 0, traded: trade, worse: null, settled };
  }
  state.ended = true;
  return { state, report: makeReport(state) };
}

const OUTSIDE: Problem = {
  code: 'OUTSIDE_GUARD',
  item: 'usd-gbp-1',
  message: 'The price is worse than the guard allows.',
  fix: 'Wait for a better price.',
};

test('the report of a rebalancing gives each leg its cost, and each currency what is expected of it', () => {
  const { report } = reported({
    'eur-usd-1': ['50000', '53946.00'],
    'mxn-usd-1': ['18500', '1000.50', false],
  });
  assert.deepEqual(
    report.legs.map(({ id, why, planned: asked, cost }) => [id, why, asked?.value, cost]),
    [
      ['eur-usd-1', 'target', '50000', { amount: '54', currency: 'USD', bps: '10' }],
      ['mxn-usd-1', 'target', '18500', { amount: '-0.5', currency: 'USD', bps: '-5' }],
      ['usd-gbp-1', 'target', '30000', null],
    ],
  );
  // What will never settle moves nothing.
  assert.deepEqual(
    report.positions.map(({ currency, after }) => [currency, after.withdrawable, after.projected]),
    [
      ['USD', '300000', '353946'],
      ['EUR', '250000', '250000'],
      ['MXN', '18500', '18500'],
      ['GBP', '10000', '10000'],
      ['BRL', '400000', '400000'],
    ],
  );
  assert.ok(ReportSchema.safeParse(report).success);
});

test('the report of a rebalancing is printed on 80 columns', () => {
  const { state } = reported({
    'eur-usd-1': ['50000', '53946.00'],
    'mxn-usd-1': ['18500', '1000.50'],
    'usd-gbp-1': ['38100', '30000'],
  });
  const evidence = (item: string, id: string, sellAmount: string, buyAmount: string): Evidence => ({
    at: '2026-11-23T09:00:00.000Z',
    item,
    call: 'send quote',
    result: 'success',
    traceId: null,
    replayed: null,
    quote: { id, sellAmount, buyAmount },
  });
  addEvidence(state, [
    evidence('eur-usd-1', 'qte_1', '50000', '53900'),
    evidence('eur-usd-1', 'qte_eur-usd-1', '50000', '53946'),
    evidence('mxn-usd-1', 'qte_mxn-usd-1', '18500', '1000.50'),
  ]);
  const text = reportText({ report: makeReport(state), uiUrl: null, nowMs: NOW_MS, width: 80, paint: PLAIN });
  assert.equal(
    text,
    `daily-treasury.2026-11-23: COMPLETED

Traded 50,000.00 EUR for 53,946.00 USD at 1.07892 (trade tde_eur-usd-1), made at
09:30:02 Europe/Paris, settled. It was quoted again once.
Traded 18,500.00 MXN for 1,000.50 USD at 0.0540811 (trade tde_mxn-usd-1), made
at 09:30:02, settled.
Traded 38,100.00 USD for 30,000.00 GBP at 0.787402 (trade tde_usd-gbp-1), made
at 09:30:02, settled.

When it was planned:
CURRENCY     BALANCE   PROJECTED          TARGET       BAND           TRADE
USD       300,000.00  300,000.00  min 100,000.00          -               -
EUR       300,000.00  300,000.00      250,000.00  25,000.00  sell 50,000.00
MXN        18,500.00   18,500.00        max 0.00          -  sell 18,500.00
GBP        10,000.00   10,000.00   min 40,000.00          -   buy 30,000.00
BRL       400,000.00  400,000.00      384,357.99  38,435.79               -
EUR: 300,000.00 is above 275,000.00; selling 50,000.00 brings it back to
250,000.00.
MXN: 18,500.00 is above 0.00; selling 18,500.00 brings it back to 0.00.
GBP: 10,000.00 is below 40,000.00; buying 30,000.00 brings it back to 40,000.00.

LEG                 SELL            BUY       RATE  OUTCOME
eur-usd-1  50,000.00 EUR  53,946.00 USD    1.07892  TRADED
mxn-usd-1  18,500.00 MXN   1,000.50 USD  0.0540811  TRADED
usd-gbp-1  38,100.00 USD  30,000.00 GBP   0.787402  TRADED

Costs against the reference rates:
LEG                   PLANNED         QUOTED        COST     BPS
eur-usd-1  sell 50,000.00 EUR  53,946.00 USD  +54.00 USD  +10.00
mxn-usd-1  sell 18,500.00 MXN   1,000.50 USD   -0.50 USD   -5.00
usd-gbp-1   buy 30,000.00 GBP              -    0.00 USD    0.00
total                                         +53.50 USD

Once what it traded has settled:
CURRENCY    EXPECTED          TARGET       BAND  INSIDE
USD       316,846.50  min 100,000.00          -  yes
EUR       250,000.00      250,000.00  25,000.00  yes
MXN             0.00        max 0.00          -  yes
GBP        40,000.00   min 40,000.00          -  yes
BRL       400,000.00      384,357.99  38,435.79  yes`,
  );
});

test('what is held back says by what, and a rounded trade how near it comes', () => {
  const { text } = planned({ ...DAY, EUR: '300000.129', GBP: '39999.50' }, [], (policy) =>
    policy.replace('per_trade: "400000.00 USD"', 'per_trade: "27000.00 USD"'),
  );
  assert.equal(
    section(text, 'Currencies').split('\n').slice(7).join('\n'),
    `  EUR: 300,000.129 is above 275,000.00; selling 50,000.12 brings it to
  250,000.009, as near to 250,000.00 as its decimals allow. But only 24,937.50
  are planned: the limit per_trade allows only a part of it; the rest is left
  for another day.
  MXN: 18,500.00 is above 0.00; selling 18,500.00 brings it back to 0.00.
  GBP: 39,999.50 is below 40,000.00; buying 0.50 brings it back to 40,000.00.
  But nothing is planned: the difference is worth less than min_trade, and is
  not traded.`,
  );
});

test('no line is wider than the terminal, also with large amounts', () => {
  const large = Object.fromEntries(
    Object.entries(DAY).map(([currency, amount]) => [currency, `${amount}000000.55`]),
  );
  for (const there of [DAY, large])
    for (const line of planned(there).text.split('\n'))
      assert.ok(line.length <= 80 || !line.trim().includes(' '), line);
});

test('a leg whose guard gives no bound is told as one of which nothing new is traded', () => {
  const { plan, input } = planned(DAY);
  const [leg] = plan.legs;
  assert.ok(leg?.guard);
  const guard = { ...leg.guard, bound: null, text: 'against rates/daily.yaml, which gives no such rate' };
  const unbounded = { ...plan, legs: [{ ...leg, guard }] };
  const text = explainPlan(unbounded, input, [], { width: 200, paint: PLAIN });
  assert.match(
    text,
    /eur-usd-1: nothing new is traded \(against rates\/daily\.yaml, which gives no such rate\)\./,
  );
  const free = { ...plan, legs: [{ ...leg, guard: null }] };
  assert.match(
    explainPlan(free, input, [], { width: 200, paint: PLAIN }),
    /eur-usd-1: no guard, any price is taken\./,
  );
});
