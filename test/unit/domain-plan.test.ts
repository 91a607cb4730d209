/** The plan: what a policy and one observation of the service make, or everything that stands against it (M4). */
import { amountOf } from '../../domain/plan/amounts.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepsGuard } from '../../domain/plan/price-bounds.ts';
import type { CompileResult } from '../../domain/plan/compile.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import { notCovered } from '../../domain/plan/amounts.ts';
import { planContradicts } from '../../domain/plan/agrees.ts';
import { keptPlan, type Plan } from '../../domain/plan/plan.ts';
import { planOf as readPlan } from '../../domain/plan/plan-shape.ts';
import type { ConvertPolicy, Limits, Guard } from '../../domain/policy.ts';
import { sendWindowsOf } from '../../calendar/business-date.ts';
import { POLICY_HEAD, compileAt, madeFrom, type More as MorePlan } from '../support/plans.ts';
import { LEG, NOW, PAYMENT, RUN, TRADE, WITHDRAWAL } from '../support/scripts.ts';

const POLICY: ConvertPolicy = {
  ...POLICY_HEAD,
  kind: 'convert',
  convert: { sell: 'USD', buy: 'MXN', amount: { kind: 'sell', value: '1000.00' } },
  withdraw: [{ id: PAYMENT.id, account: PAYMENT.account, amount: { kind: 'proceeds', rounding: 'down' } }],
};
const SELL_ALL = { ...POLICY.convert, amount: { kind: 'sell-all', keep: '500.00' } } as const;
const DAY_MS = 86_400_000;

const ACCOUNT = { id: PAYMENT.account, status: 'LIVE', currency: 'MXN', isUnusable: false };
const PAIR = { sellCurrency: 'USD', buyCurrency: 'MXN', minTradeAmount: '0.01', maxTradeAmount: '5000.00' };

const THERE: Partial<Observation> = {
  balances: { balances: [{ currency: 'USD', withdrawable: '1500.005', total: '9999' }] },
  accounts: [ACCOUNT],
  accountIdForms: ['wac'],
  pairs: [PAIR],
};

type More = MorePlan<ConvertPolicy>;

function compile({ policy = {}, observation = {}, referenceRates = null }: More = {}): CompileResult {
  return compileAt({ ...POLICY, ...policy }, { ...THERE, ...observation }, referenceRates);
}

function planOf(more: More = {}): Plan {
  const result = compile(more);
  assert.ok(result.ok);
  return result.plan;
}

function codesOf(more: More): readonly string[] {
  const result = compile(more);
  return result.ok ? [] : result.problems.map((problem) => problem.code);
}

test('a leg and its payment are named, numbered and depend on each other', () => {
  const plan = planOf();
  assert.deepEqual(plan.legs, [LEG]);
  assert.deepEqual(plan.payments, [
    {
      id: PAYMENT.id,
      reference: PAYMENT.reference,
      account: PAYMENT.account,
      currency: 'MXN',
      amount: { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 },
      dependsOn: LEG.id,
    },
  ]);
  assert.equal(plan.foundRecords, false);
  assert.ok(Object.isFrozen(plan));
});

test('"sell all" takes what is withdrawable above the cushion, cut to the currency’s decimals', () => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['1500.005', '1000'],
    ['500.01', '0.01'],
    ['500.00', null],
    ['499.99', null],
  ];
  for (const [withdrawable, amount] of rows) {
    const balances = { balances: [{ currency: 'USD', withdrawable, total: '9999' }] };
    const plan = planOf({ policy: { convert: SELL_ALL }, observation: { balances } });
    assert.equal(plan.legs[0]?.amount?.value ?? null, amount);
    // The proceeds of nothing are no payment.
    assert.equal(plan.payments.length, amount === null ? 0 : 1);
  }
  const none = { balances: { balances: [] } };
  assert.deepEqual(planOf({ policy: { convert: SELL_ALL }, observation: none }).legs, []);
});

test('fixed payments stay in the plan where there is nothing to sell, and depend on the leg that brings nothing', () => {
  const balances = {
    balances: [{ currency: 'USD', withdrawable: '1.00', total: '1.00' }],
  };
  const fixed = { kind: 'fixed', value: '100.00' } as const;
  const withdraw = ['first', 'second'].map((id) => ({ id, account: PAYMENT.account, amount: fixed }));
  const plan = planOf({ policy: { convert: SELL_ALL, withdraw }, observation: { balances } });
  assert.deepEqual(plan.legs, []);
  assert.deepEqual(
    plan.payments.map(({ id, amount, dependsOn }) => ({ id, amount, dependsOn })),
    ['first', 'second'].map((id) => ({ id, amount: fixed, dependsOn: LEG.id })),
  );
});

test('an amount from live balances is taken from the record, or forgotten, but never computed a second time', () => {
  const policy = { convert: SELL_ALL };
  const adopted = planOf({ policy, observation: { trades: [{ ...TRADE, sellAmount: '777.00' }] } });
  assert.deepEqual(adopted.legs[0]?.amount, { side: 'sell', value: '777.00', fixed: false });
  assert.equal(adopted.foundRecords, true);
  const forgotten = planOf({ policy, observation: { withdrawals: [WITHDRAWAL] } });
  assert.equal(forgotten.legs[0]?.amount, null);
  // What the policy fixed goes on, whatever is found.
  const fixed = planOf({ observation: { trades: [{ ...TRADE, sellAmount: '777.00' }] } });
  assert.deepEqual(fixed.legs, [LEG]);
});

const AS_OF = new Date(NOW - DAY_MS).toISOString();
const REFERENCE: Guard = {
  worstRates: [],
  reference: { file: 'rates.yaml', maxAgeMs: DAY_MS, worstCostBps: '25' },
};
const WORST_RATE: Guard = {
  worstRates: [{ sell: 'USD', buy: 'MXN', rate: { value: '16.90', currency: 'MXN', per: 'USD' } }],
  reference: null,
};
const RATES = { asOf: AS_OF, rates: [{ value: '17.25', currency: 'MXN', per: 'USD' }] };

const NO_LIMITS = { perTrade: null, perRun: null, perDay: null, perPayment: [], paidPerRun: [] } as const;

/** The rules of the policy with these limits. */
function limitedTo(limits: Partial<Limits>): Pick<ConvertPolicy, 'rules'> {
  return { rules: { ...POLICY_HEAD.rules, limits: { ...NO_LIMITS, ...limits } } };
}

const FIXED: ConvertPolicy['withdraw'] = [
  { id: 'first', account: PAYMENT.account, amount: { kind: 'fixed', value: '40.00' } },
  { id: 'second', account: PAYMENT.account, amount: { kind: 'fixed', value: '60.00' } },
];

/** What stands against a plan, one thing at a time. */
const AGAINST: readonly (readonly [string, More, string | null])[] = [
  ['another environment', { policy: { environment: 'live' } }, 'PLAN_ENVIRONMENT'],
  ['an account that is not in a complete list', { observation: { accounts: [] } }, 'PLAN_ACCOUNT_MISSING'],
  [
    'an account that is not in a list that could not be read whole',
    { observation: { accounts: [], accountsComplete: false } },
    null,
  ],
  [
    'an account of another currency',
    { observation: { accounts: [{ ...ACCOUNT, currency: 'EUR' }] } },
    'PLAN_ACCOUNT_CURRENCY',
  ],
  [
    'an account whose currency is not shown',
    { observation: { accounts: [{ ...ACCOUNT, status: null, currency: null }] } },
    null,
  ],
  [
    'an account that is not in a list of ids in another form',
    { observation: { accounts: [], accountIdForms: ['uuid'] } },
    null,
  ],
  [
    'an account that is in no list, because the list is empty',
    { observation: { accounts: [], accountIdForms: [] } },
    'PLAN_ACCOUNT_MISSING',
  ],
  [
    'an account that the service pays nothing to',
    { observation: { accounts: [{ ...ACCOUNT, status: 'UNVERIFIED', isUnusable: true }] } },
    'PLAN_ACCOUNT_UNUSABLE',
  ],
  [
    'a currency that cannot be withdrawn',
    {
      policy: { convert: { ...POLICY.convert, buy: 'JPY' } },
      observation: { accounts: [{ ...ACCOUNT, currency: null }], pairs: null },
    },
    'PLAN_CURRENCY_NOT_WITHDRAWABLE',
  ],
  [
    'a currency that cannot be withdrawn, and is not',
    { policy: { convert: { ...POLICY.convert, buy: 'JPY' }, withdraw: [] }, observation: { pairs: null } },
    null,
  ],
  ['a pair that is not offered', { observation: { pairs: [] } }, 'PLAN_PAIR_NOT_OFFERED'],
  [
    'a pair that is offered the other way round only',
    { observation: { pairs: [{ ...PAIR, sellCurrency: 'MXN', buyCurrency: 'USD' }] } },
    'PLAN_PAIR_NOT_OFFERED',
  ],
  ['pairs that could not be read', { observation: { pairs: null } }, null],
  [
    'an amount below the pair’s minimum',
    { observation: { pairs: [{ ...PAIR, minTradeAmount: '1000.01' }] } },
    'PLAN_AMOUNT_OUTSIDE_PAIR',
  ],
  [
    'an amount above the pair’s maximum',
    { observation: { pairs: [{ ...PAIR, maxTradeAmount: '999.99' }] } },
    'PLAN_AMOUNT_OUTSIDE_PAIR',
  ],
  [
    'an amount that equals a bound of the pair',
    { observation: { pairs: [{ ...PAIR, minTradeAmount: '1000', maxTradeAmount: '1000.000' }] } },
    null,
  ],
  [
    'a bought amount, of which only a quote tells what is sold',
    {
      policy: { convert: { ...POLICY.convert, amount: { kind: 'buy', value: '9999.00' } } },
      observation: { pairs: [{ ...PAIR, maxTradeAmount: '1.00' }] },
    },
    null,
  ],
  [
    'an amount with more decimals than its currency',
    { policy: { convert: { ...POLICY.convert, amount: { kind: 'sell', value: '1000.001' } } } },
    'PLAN_AMOUNT_DECIMALS',
  ],
  [
    'a payment with more decimals than its currency',
    {
      policy: {
        withdraw: [{ id: 'first', account: PAYMENT.account, amount: { kind: 'fixed', value: '1.001' } }],
      },
    },
    'PLAN_AMOUNT_DECIMALS',
  ],
  [
    'an amount over a limit',
    {
      policy: limitedTo({ perTrade: { value: '999.99', currency: 'USD' } }),
    },
    'PLAN_OVER_LIMIT',
  ],
  [
    'an amount that equals a limit',
    {
      policy: limitedTo({ perTrade: { value: '1000', currency: 'USD' } }),
    },
    null,
  ],
  [
    'a limit in the other currency, which only the quote can tell',
    {
      policy: limitedTo({ perTrade: { value: '1.00', currency: 'MXN' } }),
    },
    null,
  ],
  [
    'a payment over its limit',
    {
      policy: {
        withdraw: FIXED,
        ...limitedTo({ perPayment: [{ value: '59.99', currency: 'MXN' }] }),
      },
    },
    'PLAN_OVER_LIMIT',
  ],
  [
    'payments that are over the limit of the run together',
    {
      policy: {
        withdraw: FIXED,
        ...limitedTo({ paidPerRun: [{ value: '99.99', currency: 'MXN' }] }),
      },
    },
    'PLAN_OVER_LIMIT',
  ],
  [
    'payments that equal both limits',
    {
      policy: {
        withdraw: FIXED,
        ...limitedTo({
          perPayment: [{ value: '60', currency: 'MXN' }],
          paidPerRun: [{ value: '100', currency: 'MXN' }],
        }),
      },
    },
    null,
  ],
  ['no reference rates', { policy: { guard: REFERENCE } }, 'PLAN_REFERENCE_MISSING'],
  [
    'reference rates for another pair',
    { policy: { guard: REFERENCE }, referenceRates: { ...RATES, rates: [] } },
    'PLAN_REFERENCE_MISSING',
  ],
  [
    'reference rates that are older than allowed',
    {
      policy: { guard: REFERENCE },
      referenceRates: { ...RATES, asOf: new Date(NOW - DAY_MS - 1).toISOString() },
    },
    'PLAN_REFERENCE_TOO_OLD',
  ],
  [
    'reference rates of a time to come',
    {
      policy: { guard: REFERENCE },
      referenceRates: { ...RATES, asOf: new Date(NOW + 60_001).toISOString() },
    },
    'PLAN_REFERENCE_FROM_THE_FUTURE',
  ],
  [
    'reference rates that another clock has fixed a minute ahead',
    {
      policy: { guard: REFERENCE },
      referenceRates: { ...RATES, asOf: new Date(NOW + 60_000).toISOString() },
    },
    null,
  ],
  ['reference rates of just that age', { policy: { guard: REFERENCE }, referenceRates: RATES }, null],
  [
    'a date that is over',
    { observation: { observedAtMs: sendWindowsOf(RUN.id, 'UTC').tradesUntilMs + 1 } },
    'PLAN_WINDOW_PASSED',
  ],
  [
    'a date that is over, where something was done already',
    { observation: { observedAtMs: sendWindowsOf(RUN.id, 'UTC').tradesUntilMs + 1, trades: [TRADE] } },
    null,
  ],
];

for (const [what, more, code] of AGAINST)
  test(`${what} ${code === null ? 'is no reason against a plan' : `makes no plan: ${code}`}`, () => {
    assert.deepEqual(codesOf(more), code === null ? [] : [code]);
  });

test('all reasons are told at once', () => {
  assert.deepEqual(
    codesOf({ policy: { environment: 'live', guard: REFERENCE }, observation: { accounts: [] } }),
    ['PLAN_ENVIRONMENT', 'PLAN_ACCOUNT_MISSING', 'PLAN_REFERENCE_MISSING'],
  );
});

test('where something was sent already, a plan is there to follow it, whatever stands against more', () => {
  const policy = { guard: REFERENCE };
  const observation = { accounts: [], trades: [TRADE] };
  for (const referenceRates of [
    null,
    { ...RATES, asOf: '2020-01-01T00:00:00Z' },
    { ...RATES, asOf: '2030-01-01T00:00:00Z' },
  ]) {
    const plan = planOf({ policy, observation, referenceRates });
    assert.ok(readPlan(structuredClone(keptPlan(plan))).ok);
    const { legs, payments } = plan;
    const guard = legs[0]?.guard ?? null;
    // Nothing new is traded against it.
    assert.ok(guard?.staleAtMs !== null && guard !== null && guard.staleAtMs < NOW);
    assert.equal(payments.length, 1);
  }
  assert.deepEqual(codesOf({ policy, observation: { accounts: [] } }), [
    'PLAN_ACCOUNT_MISSING',
    'PLAN_REFERENCE_MISSING',
  ]);
});

test('the guard of the plan is the policy’s, and says until when its reference holds', () => {
  const [leg] = planOf({ policy: { guard: REFERENCE }, referenceRates: RATES }).legs;
  const guard = leg?.guard ?? null;
  assert.ok(guard?.bound);
  assert.equal(guard.staleAtMs, NOW);
  assert.equal(keepsGuard(guard.bound, '1000', '17206.875'), true);
  assert.equal(keepsGuard(guard.bound, '1000', '17206.87'), false);
  const [literal] = planOf({ policy: { guard: WORST_RATE } }).legs;
  assert.equal(literal?.guard?.staleAtMs, null);
  assert.equal(literal?.guard?.text, 'not worse than 16.90 MXN per USD');
});

test('fixed payments that the leg is not sure to cover are told, and are no reason against the plan', () => {
  const pays = (value: string) =>
    [{ id: 'first', account: PAYMENT.account, amount: { kind: 'fixed', value } }] as const;
  const guard = WORST_RATE;
  const buy = { ...POLICY.convert, amount: { kind: 'buy', value: '16900.00' } } as const;
  const rows: readonly (readonly [Partial<ConvertPolicy>, RegExp | null])[] = [
    [{ guard, withdraw: pays('16900.00') }, null],
    [{ guard, withdraw: pays('16900.01') }, /worst price/],
    [{ convert: buy, withdraw: pays('16900.00') }, null],
    [{ convert: buy, withdraw: pays('16900.01') }, /buys only 16,900\.00 MXN/],
    [{ withdraw: pays('1.00') }, /no guard/],
    [{ convert: SELL_ALL, guard, withdraw: pays('16900.01') }, /worst price/],
    [{ guard: REFERENCE, withdraw: pays('17206.87') }, null],
    [{ guard: REFERENCE, withdraw: pays('17206.88') }, /worst price/],
    [{}, null],
  ];
  for (const [policy, told] of rows) {
    const found = notCovered(planOf({ policy, referenceRates: RATES }));
    assert.equal(found === null, told === null, found ?? JSON.stringify(policy));
    if (told !== null) assert.match(found ?? '', told);
  }
});

/** A plan that somebody has changed, and the word by which the contradiction is known. */
const TAMPERED: readonly (readonly [what: string, change: (plan: Plan) => Plan, word: RegExp])[] = [
  ['another account', changePayment({ account: 'wac_other' }), /wac_other/],
  ['other totals', (plan) => ({ ...plan, totals: [] }), /totals/],
  ['another currency', changePayment({ currency: 'USD' }), /in USD/],
  ['another amount', changePayment({ amount: { kind: 'fixed', value: '40.01' } }), /another amount/],
  ['another reference', changePayment({ reference: 'p.2026-11-21.other' }), /other/],
  ['a payment that needs no leg', changePayment({ dependsOn: null }), /depend/],
  ['a payment more', (plan) => ({ ...plan, payments: [...plan.payments, PAYMENT] }), /3 payments/],
  ['a payment less', (plan) => ({ ...plan, payments: plan.payments.slice(1) }), /1 payments/],
  ['no leg', (plan) => ({ ...plan, legs: [] }), /no leg/],
  ['a leg more', (plan) => ({ ...plan, legs: [...plan.legs, LEG] }), /2 legs/],
  ['another sold amount', changeLeg({ amount: { side: 'sell', value: '1000.01', fixed: true } }), /1000\.01/],
  ['the other side', changeLeg({ amount: { side: 'buy', value: '1000.00', fixed: true } }), /buy 1000/],
  ['another pair', changeLeg({ sell: 'EUR' }), /EUR/],
  ['another policy', (plan) => ({ ...plan, policy: { ...plan.policy, name: 'q' } }), /"q"/],
  ['a wider limit', changeRules({ limits: null }), /limits/],
  [
    'another guard',
    (plan) => ({ ...plan, legs: plan.legs.map((leg) => ({ ...leg, guard: null })) }),
    /guard/,
  ],
  [
    'a later end of its window',
    (plan) => ({
      ...plan,
      sendWindows: {
        ...plan.sendWindows,
        withdrawalsUntilMs: plan.sendWindows.withdrawalsUntilMs + DAY_MS,
      },
    }),
    /The send window of the plan/,
  ],
  [
    'a longer quote',
    changeRules({ quote: { validForSeconds: 60, settlement: 'T0', maxQuotes: 5 } }),
    /quote/,
  ],
];

function changePayment(change: Partial<Plan['payments'][number]>): (plan: Plan) => Plan {
  return (plan) => ({
    ...plan,
    payments: plan.payments.map((payment, index) => (index === 0 ? { ...payment, ...change } : payment)),
  });
}

function changeRules(change: Partial<Plan['rules']>): (plan: Plan) => Plan {
  return (plan) => ({ ...plan, rules: { ...plan.rules, ...change } });
}

function changeLeg(change: Partial<Plan['legs'][number]>): (plan: Plan) => Plan {
  return (plan) => ({ ...plan, legs: plan.legs.map((leg) => ({ ...leg, ...change })) });
}

const LITERAL = {
  withdraw: FIXED,
  guard: WORST_RATE,
  ...limitedTo({ perRun: { value: '1000', currency: 'USD' } }),
} as const;

for (const [what, change, word] of TAMPERED)
  test(`a plan with ${what} than its policy contradicts it`, () => {
    const policy = { ...POLICY, ...LITERAL };
    const plan = planOf({ policy: LITERAL });
    assert.equal(planContradicts(plan, policy, madeFrom(null)), null);
    assert.match(planContradicts(change(plan), policy, madeFrom(null)) ?? 'no contradiction', word);
  });

const SOLD_ALL: readonly (readonly [what: string, change: (plan: Plan) => Plan])[] = [
  ['more than everything', changeLeg({ amount: { side: 'sell', value: '1500.01', fixed: false } })],
  ['the other side', changeLeg({ amount: { side: 'buy', value: '1500.00', fixed: false } })],
  ['less that is kept', changeLeg({ why: { kind: 'all above', available: '2000.00', keep: '0' } })],
  ['a trade that nobody has found', changeLeg({ why: { kind: 'found' } })],
  ['an amount that nobody has lost', changeLeg({ amount: null, why: { kind: 'forgotten' } })],
];
for (const [what, change] of SOLD_ALL)
  test(`a plan that sells everything above an amount contradicts its policy by ${what}`, () => {
    const keep = '500.00';
    const convert = { ...SELL_ALL, amount: { kind: 'sell-all', keep } } as const;
    const balances = { balances: [{ currency: 'USD', withdrawable: '2000.00', total: '2000.00' }] };
    const plan = planOf({ policy: { convert }, observation: { balances } });
    assert.equal(planContradicts(plan, { ...POLICY, convert }, madeFrom(null)), null);
    const why = planContradicts(change(plan), { ...POLICY, convert }, madeFrom(null));
    assert.match(why ?? 'agrees', /everything above 500\.00/);
  });

test('a plan agrees with its policy, whatever was read from balances, found, or kept by Temporal in another order', () => {
  const policies: readonly Partial<ConvertPolicy>[] = [
    {},
    { convert: SELL_ALL },
    { convert: SELL_ALL, withdraw: FIXED },
    { guard: REFERENCE },
    { withdraw: [] },
    {
      withdraw: [
        ...FIXED,
        { id: 'rest', account: PAYMENT.account, amount: { kind: 'rest', rounding: 'down' } },
      ],
    },
  ];
  const none = { balances: [] };
  const observations = [{}, { balances: none }, { trades: [TRADE] }, { withdrawals: [WITHDRAWAL] }];
  for (const policy of policies)
    for (const observation of observations) {
      const plan = planOf({ policy, observation, referenceRates: RATES });
      const kept: Plan = JSON.parse(JSON.stringify(plan));
      assert.equal(planContradicts(kept, { ...POLICY, ...policy }, madeFrom(RATES)), null);
    }
});

test('the rest is what the fixed payments of the plan leave of what was bought, rounded as the policy says', () => {
  const rounding = 'down';
  const withdraw = [
    { id: 'first', account: PAYMENT.account, amount: { kind: 'fixed', value: '16000.00' } },
    { id: 'treasury', account: PAYMENT.account, amount: { kind: 'rest', rounding } },
    // One that stands after it counts as well.
    { id: 'second', account: PAYMENT.account, amount: { kind: 'fixed', value: '1000.00' } },
  ] as const;
  const { payments, totals } = planOf({ policy: { withdraw } });
  assert.deepEqual(payments[1]?.amount, { kind: 'rest', leg: LEG.id, rounding, decimals: 2 });
  assert.deepEqual(totals, [
    { what: 'sell', currency: 'USD', value: '1000' },
    { what: 'pay', currency: 'MXN', value: '17000' },
  ]);
  const rows: readonly (readonly [bought: string, rest: string])[] = [
    ['17250.00', '250'],
    ['17250.019', '250.01'],
    ['17000.001', '0'],
    ['17000', '0'],
    // They are more than was bought: nothing is left, and nothing below nothing.
    ['16999.99', '0'],
  ];
  for (const [bought, rest] of rows)
    assert.deepEqual(
      payments.map((payment) => amountOf(payment, payments, bought)),
      ['16000.00', rest, '1000.00'],
      bought,
    );
});

test('without a leg there is no rest, and the fixed payments stay in the plan', () => {
  const withdraw = [
    { id: 'first', account: PAYMENT.account, amount: { kind: 'fixed', value: '1.00' } },
    { id: 'treasury', account: PAYMENT.account, amount: { kind: 'rest', rounding: 'down' } },
  ] as const;
  const balances = { balances: [] };
  const { payments } = planOf({ policy: { convert: SELL_ALL, withdraw }, observation: { balances } });
  assert.deepEqual(
    payments.map(({ id }) => id),
    ['first'],
  );
});
