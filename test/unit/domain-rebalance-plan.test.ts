/** The plan of a rebalancing: made once from one observation, read back, and held against its policy (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planContradicts } from '../../domain/plan/agrees.ts';
import type { CompileResult } from '../../domain/plan/compile.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import type { Plan, PlanGuard } from '../../domain/plan/plan.ts';
import { planOf } from '../../domain/plan/plan-shape.ts';
import type { RebalancePolicy } from '../../domain/policy.ts';
import { POLICY_HEAD, compileAt, madeFrom, type More as MorePlan } from '../support/plans.ts';
import { NOW, TRADE, WITHDRAWAL } from '../support/scripts.ts';

const POLICY: RebalancePolicy = {
  ...POLICY_HEAD,
  kind: 'rebalance',
  guard: {
    worstRates: [],
    reference: { file: 'rates.yaml', maxAgeMs: 86_400_000, worstCostBps: '25' },
  },
  rebalance: {
    base: { currency: 'USD', min: '100' },
    targets: [
      { currency: 'EUR', goal: { kind: 'range', min: null, max: '100' } },
      { currency: 'MXN', goal: { kind: 'range', min: '1000', max: null } },
    ],
    neverSell: ['MXN'],
    minTrade: null,
    maxTrades: 2,
  },
};
const RATES = {
  asOf: new Date(NOW - 3_600_000).toISOString(),
  rates: [
    { value: '1.10', currency: 'USD', per: 'EUR' },
    { value: '20', currency: 'MXN', per: 'USD' },
  ],
};

const THERE: Partial<Observation> = {
  balances: {
    balances: [
      { currency: 'USD', withdrawable: '1000', total: '1000' },
      { currency: 'EUR', withdrawable: '150', total: '150' },
    ],
  },
};

type More = MorePlan<RebalancePolicy>;

function compile({ policy = {}, observation = {}, referenceRates = RATES }: More = {}): CompileResult {
  return compileAt({ ...POLICY, ...policy }, { ...THERE, ...observation }, referenceRates);
}

function planned(more: More = {}): Plan {
  const result = compile(more);
  assert.ok(result.ok, JSON.stringify(result));
  return result.plan;
}

function refusal(more: More): readonly string[] {
  const result = compile(more);
  assert.ok(!result.ok);
  return result.problems.map(({ code, message }) => `${code}: ${message}`);
}

const legsOf = ({ legs }: Plan): readonly string[] =>
  legs.map(({ id, amount, why }) => `${id} ${amount?.side ?? '-'} ${amount?.value ?? '-'} ${why.kind}`);

test('each leg has a name, a guard of its own pair, and an amount from balances; every currency has its position', () => {
  const plan = planned();
  assert.deepEqual(legsOf(plan), ['eur-usd-1 sell 50 target', 'usd-mxn-1 buy 1000 target']);
  assert.deepEqual(
    plan.legs.map(({ reference, amount }) => [reference, amount?.fixed]),
    [
      ['p.2026-11-21.eur-usd-1', false],
      ['p.2026-11-21.usd-mxn-1', false],
    ],
  );
  assert.deepEqual(
    plan.legs.map(({ guard }) => guard?.bound),
    [
      { buyFactor: '1', sellFactor: '1.09725' },
      { buyFactor: '1', sellFactor: '19.95' },
    ],
  );
  assert.deepEqual(
    plan.positions.map(({ currency, traded }) => `${currency} ${traded}`),
    ['USD 0', 'EUR 50', 'MXN 1000'],
  );
});

test('a plan whose bound is looser than the worst rate of its policy is not of the policy', () => {
  const guard = {
    worstRates: [worstRate('1.0973', 'USD', 'EUR')],
    reference: POLICY.guard?.reference ?? null,
  };
  const plan = planned({ policy: { guard } });
  assert.equal(planContradicts(plan, { ...POLICY, guard }, madeFrom(RATES)), null);
  const bound = { buyFactor: '1', sellFactor: '1.09729' };
  const looser = plan.legs.map((leg) => ({ ...leg, guard: leg.guard && { ...leg.guard, bound } }));
  assert.match(
    planContradicts({ ...plan, legs: looser }, { ...POLICY, guard }, madeFrom(RATES)) ?? '',
    /another price guard/,
  );
});

test('the plan is read back as it was made, and agrees with its policy', () => {
  for (const more of [{}, { observation: { trades: [TRADE] } }]) {
    const plan = planned(more);
    const read = planOf(structuredClone(plan));
    assert.ok(read.ok, JSON.stringify(read));
    assert.equal(planContradicts(read.value, POLICY, madeFrom(RATES)), null);
  }
});

test('where something of the run is at the service, its legs are what was traded, and nothing is computed again', () => {
  const second = { ...TRADE, id: 'tde_2', clientReferenceId: 'p.2026-11-21.usd-mxn-2' };
  const stranger = { ...TRADE, id: 'tde_3', clientReferenceId: 'p.2026-11-21.other' };
  const { legs, positions, foundRecords } = planned({ observation: { trades: [second, TRADE, stranger] } });
  assert.deepEqual(
    legs.map(({ id, amount, why }) => [id, amount?.value, why.kind]),
    [
      ['usd-mxn-1', '1000.00', 'found'],
      ['usd-mxn-2', '1000.00', 'found'],
    ],
  );
  assert.deepEqual([positions, foundRecords], [[], true]);
  assert.deepEqual(legsOf(planned({ observation: { withdrawals: [WITHDRAWAL] } })), []);
});

test('what earlier trades bring counts as there, and a currency of which that cannot be told is left alone', () => {
  const coming = (comes: string, isTold = true) => ({
    observation: { onTheWay: [{ currency: 'MXN', comes, goes: '0', isTold }] },
  });
  assert.deepEqual(legsOf(planned(coming('1000'))), ['eur-usd-1 sell 50 target']);
  assert.deepEqual(legsOf(planned(coming('400'))), ['eur-usd-1 sell 50 target', 'usd-mxn-1 buy 600 target']);
  const { positions } = planned(coming('400', false));
  assert.equal(positions.find(({ currency }) => currency === 'MXN')?.restraint, 'status unknown');
});

test('rates that are missing, too old or of a time to come refuse the run, also on a day without a trade', () => {
  const targets = POLICY.rebalance.targets.slice(0, 1);
  const policy = { rebalance: { ...POLICY.rebalance, targets } };
  const rows: readonly (readonly [More, RegExp])[] = [
    [{ referenceRates: null }, /^PLAN_REFERENCE_MISSING: .* between EUR and USD/],
    [{ referenceRates: { ...RATES, rates: RATES.rates.slice(1) } }, /^PLAN_REFERENCE_MISSING: .*EUR and USD/],
    [
      { referenceRates: { ...RATES, asOf: new Date(NOW - 86_400_001).toISOString() } },
      /^PLAN_REFERENCE_TOO_OLD/,
    ],
    [
      { referenceRates: { ...RATES, asOf: new Date(NOW + 60_001).toISOString() } },
      /^PLAN_REFERENCE_FROM_THE_FUTURE/,
    ],
  ];
  for (const [more, expected] of rows) {
    const [first = '', ...rest] = refusal({ ...more, policy, observation: { balances: { balances: [] } } });
    assert.match(first, expected);
    assert.deepEqual(rest, []);
  }
});

const worstRate = (value: string, currency: string, per: string) => ({
  sell: per,
  buy: currency,
  rate: { value, currency, per },
});

test('a leg keeps the stricter of its two bounds, each way of a pair its own', () => {
  const guarded = (...worstRates: ReturnType<typeof worstRate>[]) =>
    planned({ policy: { guard: { worstRates, reference: POLICY.guard?.reference ?? null } } }).legs.map(
      ({ guard }) => guard,
    );
  const [sale, purchase] = guarded(worstRate('1.0973', 'USD', 'EUR'), worstRate('19', 'MXN', 'USD'));
  assert.deepEqual(sale?.bound, { buyFactor: '1', sellFactor: '1.0973' });
  assert.match(
    sale?.text ?? '',
    /^not worse than 1\.0973 USD per EUR, and at most 25 bps worse than rates\.yaml/,
  );
  // Of the reference, since the worst rate is looser.
  assert.deepEqual(purchase?.bound, { buyFactor: '1', sellFactor: '19.95' });
  assert.notEqual(purchase?.staleAtMs, null);
  // A rate for purchases of euros bounds no sale of them.
  assert.deepEqual(guarded(worstRate('0.90', 'EUR', 'USD'))[0]?.bound, {
    buyFactor: '1',
    sellFactor: '1.09725',
  });
});

test('by worst rates alone only what they bound is traded, and they value it', () => {
  const guard = { worstRates: [worstRate('19', 'MXN', 'USD')], reference: null };
  const plan = planned({ policy: { guard }, referenceRates: null });
  assert.deepEqual(legsOf(plan), ['usd-mxn-1 buy 1000 target']);
  assert.deepEqual(plan.legs[0]?.guard, {
    bound: { buyFactor: '1', sellFactor: '19' },
    text: 'not worse than 19 MXN per USD',
    staleAtMs: null,
    referenceRate: null,
  });
  assert.equal(plan.positions.find(({ currency }) => currency === 'EUR')?.restraint, 'no worst rate');
  assert.equal(planContradicts(plan, { ...POLICY, guard }, madeFrom(null)), null);
});

test('a currency that the reference file does not value is left alone, and the rest goes on', () => {
  const plan = planned({ referenceRates: { ...RATES, rates: RATES.rates.slice(1) } });
  assert.deepEqual(legsOf(plan), ['usd-mxn-1 buy 1000 target']);
  assert.equal(plan.positions.find(({ currency }) => currency === 'EUR')?.restraint, 'no rate');
});

const FALSE_PLANS: readonly (readonly [what: string, change: (plan: Plan) => Plan, expected: RegExp])[] = [
  ['a payment', (plan) => ({ ...plan, payments: [{} as Plan['payments'][number]] }), /pays/],
  [
    'a leg between other currencies',
    (plan) => withLeg(plan, { sell: 'GBP', id: 'gbp-usd-1', reference: 'p.2026-11-21.gbp-usd-1' }),
    /does not trade/,
  ],
  [
    'a sale of what is never sold',
    (plan) => withLeg(plan, { sell: 'MXN', id: 'mxn-usd-1', reference: 'p.2026-11-21.mxn-usd-1' }),
    /never sells/,
  ],
  ['another reference', (plan) => withLeg(plan, { reference: 'q.2026-11-21.eur-usd-1' }), /no name of a leg/],
  ['another name', (plan) => withLeg(plan, { id: 'usd-eur-1' }), /no name of a leg/],
  [
    'a fixed amount',
    (plan) => withLeg(plan, { amount: { side: 'sell', value: '50', fixed: true } }),
    /fixes the amount/,
  ],
  [
    'more legs than max_trades',
    (plan) => ({ ...plan, legs: [...plan.legs, ...plan.legs] }),
    /2 trades at most/,
  ],
  [
    'a leg twice',
    (plan) => ({ ...plan, legs: plan.legs.slice(0, 1).flatMap((leg) => [leg, leg]) }),
    /one name/,
  ],
  ['other totals', (plan) => ({ ...plan, totals: [] }), /totals/],
  [
    'a price that its reference rates do not allow',
    (plan) => withGuard(plan, { bound: ANY_PRICE }),
    /price guard/,
  ],
  [
    'rates that are good for longer',
    (plan) => withGuard(plan, { staleAtMs: NOW + 90_000_000 }),
    /price guard/,
  ],
  [
    'more sold than is too much',
    (plan) => withLeg(plan, { amount: { side: 'sell', value: '50.01', fixed: false } }),
    /another amount/,
  ],
  [
    'a currency bought that is too much',
    (plan) =>
      withLeg(plan, {
        id: 'usd-eur-1',
        reference: 'p.2026-11-21.usd-eur-1',
        sell: 'USD',
        buy: 'EUR',
        amount: { side: 'buy', value: '50', fixed: false },
      }),
    /another amount/,
  ],
  [
    'a balance that is not known',
    (plan) => ({ ...plan, positions: plan.positions.filter(({ currency }) => currency !== 'EUR') }),
    /another amount/,
  ],
  [
    'an amount of a trade that nobody has found',
    (plan) => withLeg(plan, { why: { kind: 'found' } }),
    /no trade was found/,
  ],
  [
    'another limit',
    (plan) => ({
      ...plan,
      rules: {
        ...plan.rules,
        limits: { perTrade: null, perRun: null, perDay: null, perPayment: [], paidPerRun: [] },
      },
    }),
    /limits/,
  ],
];

function withLeg(plan: Plan, change: Partial<Plan['legs'][number]>): Plan {
  return { ...plan, legs: plan.legs.map((leg, index) => (index === 0 ? { ...leg, ...change } : leg)) };
}

const ANY_PRICE = { buyFactor: '1', sellFactor: '0.01' };

function withGuard(plan: Plan, change: Partial<PlanGuard>): Plan {
  const [leg] = plan.legs;
  assert.ok(leg !== undefined && leg.guard !== null);
  return withLeg(plan, { guard: { ...leg.guard, ...change } });
}

for (const [what, change, expected] of FALSE_PLANS)
  test(`a plan with ${what} is not of the policy`, () => {
    assert.match(planContradicts(change(planned()), POLICY, madeFrom(RATES)) ?? 'agrees', expected);
  });

const amount = fc.integer({ min: 0, max: 300_000 }).map((cents) => `${cents / 100}`);
const GOALS = fc.oneof(
  fc.record({ keep: amount, band: amount }).map((of) => ({ kind: 'keep', ...of }) as const),
  fc.record({ min: amount }).map((of) => ({ kind: 'range', ...of, max: null }) as const),
  fc.record({ max: amount }).map((of) => ({ kind: 'range', ...of, min: null }) as const),
  fc
    .integer({ min: 1, max: 60 })
    .map((percent) => ({ kind: 'share', sharePercent: `${percent}`, bandPercent: '0.5' }) as const),
);
test('whatever the balances and the targets are, a plan that was made from them agrees with its policy', () => {
  const held = fc.record({ USD: amount, EUR: fc.integer({ min: 0, max: 300_000_001 }), MXN: amount });
  fc.assert(
    fc.property(GOALS, GOALS, held, (eur, mxn, { USD, EUR, MXN }) => {
      const policy = {
        rebalance: {
          ...POLICY.rebalance,
          targets: [
            { currency: 'EUR', goal: eur },
            { currency: 'MXN', goal: mxn },
          ],
          neverSell: [],
        },
      };
      // A balance may have more decimals than its currency.
      const there = { USD, EUR: `${EUR / 100_000}`, MXN };
      const balances = Object.entries(there).map(([currency, value]) => ({
        currency,
        withdrawable: value,
        total: value,
      }));
      const result = compile({ policy, observation: { balances: { balances } } });
      if (result.ok)
        assert.equal(planContradicts(result.plan, { ...POLICY, ...policy }, madeFrom(RATES)), null);
    }),
    { numRuns: 300 },
  );
});
