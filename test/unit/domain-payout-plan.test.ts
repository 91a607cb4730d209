/** What a payout buys for its batch: with `shortfall: hold` all of it, whatever is there of the base; its rules bind all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountBook, BatchTally } from '../../domain/plan/batch-items.ts';
import { planContradicts } from '../../domain/plan/agrees.ts';
import { add } from '../../domain/money.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { chunkStateOf } from '../../domain/run/chunk-state.ts';
import { fundedIn, fundingOf, withoutItsBatch } from '../../domain/run/funding.ts';
import { newLeg } from '../../domain/run/items.ts';
import { NOTHING_RESERVED } from '../../domain/plan/reserved.ts';
import { reservationIn } from '../../domain/run/reserves.ts';
import { adoptPlan, newRunState, type RunState } from '../../domain/run/state.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { inputOn, madeFrom } from '../support/plans.ts';

/** 400 EUR and 6500 MXN cost 500 and 400 USD at the worst rates. */
const PAID = { EUR: '400', MXN: '6500', USD: '75' } as const;
const GUARD = 'guard: { worst_rate: ["0.80 EUR per USD", "16.25 MXN per USD"] }';

function policyWith(more: string) {
  const loaded = loadPolicy(
    `policy: 1\nkind: payout\nname: p\nenvironment: sandbox\nzone: UTC\npayout: { fund: { from: USD, mode: net } }\n${GUARD}\n${more}\n`,
    'p.yaml',
  );
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded;
}

function planned(usd: string, more: string) {
  const loaded = policyWith(more);
  const totals = Object.entries(PAID).map(([currency, value]) => ({ currency, value }));
  const chunks = [{ payments: 3, hash: 'a'.repeat(64), unpayable: null }];
  const batch = { payments: 3, totals, payable: totals, heldBy: [], chunks };
  const result = compilePlan(inputOn('2026-11-18', loaded, { USD: usd }, { batch }));
  assert.ok(result.ok, JSON.stringify(result));
  return result.plan;
}

const legsAt = (usd: string, more: string) =>
  planned(usd, more).legs.map(({ id, amount }) => `${id} ${amount?.side} ${amount?.value}`);
const ALL = ['usd-eur-1 buy 400', 'usd-mxn-1 buy 6500'];

test('with `shortfall: hold` all that is missing is bought, however little there is to buy it with', () => {
  for (const usd of ['0', '75', '575', '974.99', '975'])
    assert.deepEqual(legsAt(usd, 'shortfall: hold'), ALL, usd);
});

test('with `shortfall: skip` no more is bought than what is there now can buy', () => {
  assert.deepEqual(legsAt('975', 'shortfall: skip'), ALL);
  assert.deepEqual(legsAt('775', 'shortfall: skip'), ['usd-eur-1 buy 400', 'usd-mxn-1 buy 3250']);
  assert.deepEqual(legsAt('75', 'shortfall: skip'), []);
});

test('limits cut what is bought all the same', () => {
  const limited = (limits: string) => legsAt('0', `shortfall: hold\nlimits: { ${limits} }`);
  assert.deepEqual(limited('per_trade: "200.00 USD"'), ['usd-eur-1 buy 160', 'usd-mxn-1 buy 3250']);
  assert.deepEqual(limited('per_run: "600.00 USD"'), ['usd-eur-1 buy 400', 'usd-mxn-1 buy 1625']);
});

test('a plan that pays its batch by another rule than the policy contradicts it', () => {
  const { policy } = policyWith('shortfall: hold');
  const plan = planned('975', 'shortfall: hold');
  const contradiction = (change: object): string | null => {
    const batch = plan.batch === null ? null : { ...plan.batch, rules: { ...plan.batch.rules, ...change } };
    return planContradicts({ ...plan, batch }, policy, madeFrom(null, plan.date));
  };
  assert.equal(contradiction({}), null);
  const stopAfter = { failed: 9, ratioPercent: null, sameCode: null };
  for (const change of [{ parallel: 50 }, { stopAfter }, { canary: 9 }, { dedupeMs: 1 }])
    assert.match(contradiction(change) ?? 'agrees', new RegExp(`\\(${Object.keys(change).join('')}\\)`));
});

test('a plan that funds or pays more than its batch has contradicts the policy', () => {
  const { policy } = policyWith('shortfall: hold');
  const plan = planned('975', 'shortfall: hold');
  const contradiction = (change: Partial<Plan>): string =>
    planContradicts({ ...plan, ...change }, policy, madeFrom(null, plan.date)) ?? 'agrees';
  assert.ok(plan.batch !== null);
  const more = plan.batch.payable.map((money) => ({ ...money, value: add(money.value, '1') }));
  assert.match(contradiction({ batch: { ...plan.batch, payable: more } }), /more than its batch/);
  const legs = plan.legs.map((leg) => ({ ...leg, amount: leg.amount && { ...leg.amount, value: '8000' } }));
  assert.match(contradiction({ legs }), /another amount/);
});

function stateAt(usd: string, shortfall = 'hold'): RunState {
  const plan = planned(usd, `shortfall: ${shortfall}`);
  const state = newRunState(plan.run, 'sandbox/p.2026-11-18', plan.policy);
  adoptPlan(state, plan);
  return state;
}

const fundingsOf = (state: RunState) => state.legs.map((record) => fundingOf(state, record));

test('a leg leaves what the batch pays in the base, and what the legs before it may cost', () => {
  assert.deepEqual(fundingsOf(stateAt('975')), [
    { ahead: '75', owed: '400', wasThere: true },
    { ahead: '575', owed: '6500', wasThere: true },
  ]);
  assert.deepEqual(
    fundingsOf(stateAt('974.99')).map((funding) => funding?.wasThere),
    [true, false],
  );
  assert.deepEqual(fundingsOf(stateAt('975', 'skip')), [null, null]);
});

test('a leg that is not traded for good, or waits for a person, takes nothing from those behind it', () => {
  const problem = { code: 'OUTSIDE_GUARD', item: null, message: '', fix: '' } as const;
  for (const stage of [
    { kind: 'not traded', quoteId: null, endedIn: 'run-1', problem } as const,
    { ...newLeg(), needsHuman: true },
  ]) {
    const state = stateAt('0');
    const [eur] = state.legs;
    assert.ok(eur !== undefined, 'euros are bought');
    eur.stage = stage;
    assert.equal(fundingsOf(state)[1]?.ahead, '75');
  }
});

test('a settlement is waited for by what was there and what was bought, where that is less than the batch pays', () => {
  const state = stateAt('975');
  const [eur] = state.legs;
  assert.ok(eur !== undefined && state.plan !== null, 'euros are bought');
  const traded = (buyAmount: string, settled: boolean | null = null) => {
    const quoted = { sellAmount: '500', buyAmount: '400' };
    const trade = {
      tradeId: 't',
      createdAtMs: 0,
      quoteId: 'q',
      sellAmount: '500',
      buyAmount,
      quoted,
      status: 'SETTLED',
    };
    eur.stage = { kind: 'traded', traded: trade, atMs: 0, settled, worse: null };
    return fundedIn(state, 'EUR');
  };
  assert.deepEqual(
    [traded('400'), traded('150'), traded('500'), traded('400', false)],
    ['400', '150', '400', '0'],
  );
  const there = state.plan.positions.map((position) => ({ ...position, projected: '100' }));
  state.plan = { ...state.plan, positions: there };
  assert.deepEqual([traded('150'), traded('300')], ['250', '400']);
  // What is accepted is gone from the balance too.
  const total = { currency: 'EUR', planned: '400', paid: '0', notPaid: '0', needsHuman: '0', accepted: '60' };
  for (const chunk of state.chunks)
    chunk.state = {
      ...chunkStateOf({
        number: 1,
        heard: null,
        isSending: false,
        payments: [],
        waiting: null,
        isAgain: false,
        isUnsure: false,
      }),
      totals: [total],
    };
  assert.deepEqual([traded('150'), traded('300')], ['190', '340']);
  state.plan = { ...state.plan, positions: there.map((position) => ({ ...position, projected: null })) };
  assert.equal(traded('150'), '340');
});

test('while its legs wait, others see what they may cost, and that what they buy is paid out', () => {
  const state = stateAt('0');
  const told = ({ reserved } = reservationIn(state, '') ?? NOTHING_RESERVED) =>
    reserved.map(({ currency, takes, changes, short }) => [currency, takes, changes, short]);
  assert.deepEqual(told(), [
    ['USD', '900', '-900', undefined],
    ['EUR', '0', '0', undefined],
    ['MXN', '0', '0', undefined],
  ]);
  const [eur] = state.legs;
  assert.ok(eur?.stage.kind === 'converting', 'euros are bought');
  const problem = { code: 'SHORTFALL', item: eur.leg.id, message: '', fix: '' } as const;
  eur.stage.state = { ...eur.stage.state, phase: { kind: 'short', problem, despite: null } };
  assert.deepEqual(told()[0], ['USD', '900', '-900', '500']);
});

test('a batch that was stopped wants nothing more bought', () => {
  const state = stateAt('0');
  const codes = () => state.legs.map((record) => withoutItsBatch(state, record)?.code);
  assert.deepEqual(codes(), [undefined, undefined]);
  state.stopped = { code: 'BATCH_STOPPED', item: null, message: '', fix: '' };
  assert.deepEqual(codes(), ['BATCH_STOPPED', 'BATCH_STOPPED']);
});

test('a payment that is impossible when the batch is planned counts against the limits: a reset may make it', () => {
  const money = (value: string) => ({ value, currency: 'MXN' });
  const problemsWith = (limits: { perPayment?: string; paidPerRun?: string }) => {
    const tally = new BatchTally({
      limits: {
        perTrade: null,
        perRun: null,
        perDay: null,
        perPayment: limits.perPayment === undefined ? [] : [money(limits.perPayment)],
        paidPerRun: limits.paidPerRun === undefined ? [] : [money(limits.paidPerRun)],
      },
      decimalsOf: () => 2,
      book: new AccountBook({
        accounts: [{ id: 'wac_1', currency: 'MXN', status: null, isUnusable: false }],
        accountsComplete: true,
        accountIdForms: [],
      }),
      destinations: null,
      held: new Map([['c', 'p.2026-11-20']]),
    });
    tally.add(
      { payments: 3, hash: 'a' },
      [
        ['a', 'wac_missing', 'MXN', '60'],
        ['b', 'wac_1', 'MXN', '20'],
        ['c', 'wac_1', 'MXN', '30'],
      ],
      null,
    );
    assert.equal(tally.batch.chunks[0]?.unpayable, 'm.d');
    assert.deepEqual(tally.batch.payable, [money('20')]);
    return tally.problems.map(({ code, item }) => `${code} ${item}`);
  };
  assert.deepEqual(problemsWith({ perPayment: '59.99' }), ['PLAN_OVER_LIMIT a']);
  assert.deepEqual(problemsWith({ paidPerRun: '109.99' }), ['PLAN_OVER_LIMIT c']);
  assert.deepEqual(problemsWith({ perPayment: '60', paidPerRun: '110' }), []);
});
