/** What `plan` says of a plan: its numbers with their reasons, and what is worth a thought before the run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedDayLines } from '../../cli/views/closed-days-text.ts';
import { explainPlan, planDocument } from '../../cli/views/plan-text.ts';
import { shortfallOf } from '../../cli/views/shortfall-text.ts';
import type { Paint } from '../../cli/terminal/text.ts';
import { decimalsOf } from '../../domain/currencies.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { requireCompiled } from '../../operations/start/compile-now.ts';
import type { IndicativePrice } from '../../operations/start/indicative-price.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import { sendWindowsOf } from '../../calendar/business-date.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { NOTHING_THERE } from '../support/plans.ts';
import { convertPolicy, MXN_ACCOUNT, type PolicyParts } from '../support/policies.ts';

const same = (text: string): string => text;
const PLAIN: Paint = { good: same, bad: same, warn: same, strong: same, faint: same };

/** The plan of a policy with these parts, made on `date` with this much to sell. */
function planOf(
  parts: PolicyParts,
  { date = '2026-11-18', withdrawable = '5000.00', isUnusable = false } = {},
  prices: readonly IndicativePrice[] = [],
) {
  const loaded = loadPolicy(convertPolicy(parts), 'p.yaml');
  assert.ok(loaded.ok);
  const input: CompileInput = {
    run: { policy: loaded.policy.name, id: date },
    policy: loaded.policy,
    policyHash: loaded.hash,
    date,
    sendWindows: sendWindowsOf(date, 'UTC'),
    referenceRates: null,
    observation: {
      ...NOTHING_THERE,
      observedAtMs: Date.parse(`${date}T12:00:00Z`),
      balances: { balances: [{ currency: 'USD', withdrawable, total: withdrawable }] },
      accounts: [{ id: MXN_ACCOUNT, status: 'LIVE', currency: 'MXN', isUnusable }],
      accountIdForms: ['wac'],
    },
    decimalsOf: (currency) => decimalsOf(currency, {}),
    lateAfterMs: DEFAULT_SERVICE_FACTS.lateAfterMs,
    batch: null,
    madeFor: '',
  };
  const plan = requireCompiled({ input, result: compilePlan(input) });
  return {
    plan,
    document: planDocument(plan, input, prices),
    shortfall: shortfallOf(plan, input.observation),
    text: explainPlan(plan, input, prices, { width: 200, paint: PLAIN }),
  };
}

test('why there is no plan comes with a command that can be typed', () => {
  assert.throws(
    () => planOf({}, { isUnusable: true }),
    (failure) => {
      assert.ok(failure instanceof CommandFailure);
      assert.match(failure.problems[0]?.fix ?? '', /`npx cambist replay replaced\.2026-11-18`/);
      return true;
    },
  );
});

test('money that may settle less than a day before withdrawals stop is a remark, with the reason', () => {
  const settlement = (window: string) => ({ quote: `{ settlement: ${window} }` });
  // 18 November 2026 is a Wednesday.
  assert.deepEqual(planOf(settlement('T2')).document.remarks, []);
  assert.deepEqual(planOf(settlement('T1'), { date: '2026-11-19' }).document.remarks, []);
  const late = planOf(settlement('T2'), { date: '2026-11-19' });
  assert.match(late.document.remarks.join(), /settles T2 may come as late as/);
  assert.match(late.text, /Note: What is bought on 2026-11-19/);
  // Nothing is paid, so nothing can be too late.
  assert.deepEqual(
    planOf({ ...settlement('T2'), withdraw: [] }, { date: '2026-11-19' }).document.remarks,
    [],
  );
});

test('payments and trades whose payment system is closed on their day are a remark, with the first day after', () => {
  const eur = 'wac_EuR5epaLive1';
  const plan = (parts: PolicyParts, date: string) => planOf(parts, { date }).document.remarks;
  // 26 November 2026 is Thanksgiving Day. MXN has no system that is known here.
  assert.deepEqual(plan({ quote: '{ settlement: T0 }' }, '2026-11-26'), [
    'On 2026-11-26 payments cannot pass fedwire (Thanksgiving Day): usd-mxn-1, USD for MXN, will settle on 2026-11-27 at the earliest.',
  ]);
  assert.deepEqual(plan({ quote: '{ settlement: T1 }' }, '2026-11-25'), [
    'On 2026-11-26 payments cannot pass fedwire (Thanksgiving Day): usd-mxn-1, USD for MXN, will settle on 2026-11-27 at the earliest.',
  ]);
  assert.deepEqual(plan({ quote: '{ settlement: T0 }' }, '2026-11-27'), []);
  const made = planOf({}).plan;
  const [payment] = made.payments;
  assert.ok(payment !== undefined);
  const payments = [
    { ...payment, id: 'rent', account: eur, currency: 'EUR' },
    { ...payment, id: 'tax', currency: 'MXN' },
  ];
  const lines = closedDayLines({ ...made, date: '2026-12-25', legs: [], payments });
  const batch = {
    payments: 3,
    totals: [],
    payable: [
      { currency: 'EUR', value: '1560.5' },
      { currency: 'GBP', value: '9' },
    ],
    heldBy: [],
    chunks: [],
    rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 1 },
  };
  assert.deepEqual(closedDayLines({ ...made, date: '2027-12-27', legs: [], payments: [], batch }), [
    'On 2027-12-27 payments cannot pass chaps (Christmas Day): the payments in GBP, 9.00 GBP, will arrive on 2027-12-29 at the earliest.',
  ]);
  assert.deepEqual(lines, [
    'On 2026-12-25 payments cannot pass T2 (Christmas Day): rent will arrive on 2026-12-28 at the earliest.',
  ]);
});

test('fixed payments that the conversion may not cover are a remark', () => {
  const withdraw = [{ id: 'supplier', account: MXN_ACCOUNT, fixed: '17000.00' }];
  assert.match(planOf({ withdraw }).document.remarks.join(), /17,000\.00 MXN; no guard/);
  assert.deepEqual(planOf({ withdraw, guard: '{ worst_rate: "17.00 MXN per USD" }' }).document.remarks, []);
});

test('nothing to sell is done for proceeds, and a shortage for fixed payments', () => {
  const amount = '{ sell: all, keep: "5000.00" }';
  const everything = planOf({ amount });
  assert.equal(everything.shortfall, null);
  assert.match(everything.text, /nothing to sell.*The run would end as completed\./);
  const withdraw = [{ id: 'supplier', account: MXN_ACCOUNT, fixed: '1.00' }];
  const fixed = planOf({ amount, withdraw });
  assert.equal(fixed.shortfall?.code, 'SHORTFALL');
  assert.match(fixed.text, /1 payment would end as not paid/);
  assert.doesNotMatch(fixed.text, /completed/);
});

test('the price of this moment stands beside what the guard allows, and is not there when nobody gave one', () => {
  const guard = '{ worst_rate: "17.00 MXN per USD" }';
  const price = (buyAmount: string): IndicativePrice => ({
    leg: 'usd-mxn-1',
    kind: 'quoted',
    sides: { sellAmount: '1000.00', buyAmount },
  });
  const taken = planOf({ guard }, {}, [price('17000')]);
  assert.match(
    taken.text,
    /Price now: 17 MXN per USD \(17,000\.00 MXN for 1,000\.00 USD\), by a quote that is not traded\. The guard allows it\./,
  );
  assert.deepEqual(taken.document.legs[0]?.expected, {
    by: 'quote',
    sellAmount: '1000.00',
    buyAmount: '17000',
    rate: '17',
    cost: null,
  });
  assert.match(planOf({ guard }, {}, [price('16999.99')]).text, /The guard refuses it\./);
  assert.match(
    planOf({ guard }, {}, [price('21251')]).text,
    /The guard allows it, and would allow a price that is a fifth worse/,
  );
  const turned = planOf({ guard: '{ worst_rate: "17.00 USD per MXN" }' }, {}, [price('17000')]);
  assert.match(
    turned.text,
    /The rate of the guard is inverted, so it would allow any price\. Nothing is traded\./,
  );
  assert.match(planOf({}, {}, [price('17000')]).text, /not traded\.\n/);
  const none: IndicativePrice = { leg: 'usd-mxn-1', kind: 'not quoted', why: 'The service answered NO.' };
  const unquoted = planOf({ guard }, {}, [none]);
  assert.match(unquoted.text, /No price now: The service answered NO\./);
  assert.equal(unquoted.document.legs[0]?.noQuote, 'The service answered NO.');
  assert.doesNotMatch(planOf({ guard }).text, /Price now/);
});

test('the reason for an unusual guard is shown once, and answers what the plan would ask', () => {
  const guard = '{ worst_rate: "0.10 MXN per USD", unusual: "a floor against errors only" }';
  const price: IndicativePrice = {
    leg: 'usd-mxn-1',
    kind: 'quoted',
    sides: { sellAmount: '1000.00', buyAmount: '17000' },
  };
  const { text, document } = planOf({ guard }, {}, [price]);
  const said = 'The policy says why its guard is unusual: "a floor against errors only".';
  assert.equal(text.split(said).length, 2, text);
  assert.deepEqual(document.remarks, [said]);
  assert.match(text, /by a quote that is not traded\. The guard allows it\./);
  assert.doesNotMatch(text, /ten times worse/);
});

test('every limit of the plan is shown', () => {
  const limits =
    '{ per_trade: "1000.00 USD", per_run: "2000.00 USD", per_payment: ["3.00 MXN"], paid_per_run: ["4.00 MXN"] }';
  assert.match(
    planOf({ limits }).text,
    /1,000\.00 USD per trade, 2,000\.00 USD per run, 3\.00 MXN per payment, 4\.00 MXN paid per run/,
  );
});
