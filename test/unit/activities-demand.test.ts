/** How much of a leg the policy still asks for: the balances, reservations and trades of now, in the turn of the run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDemand } from '../../activities/demand.ts';
import type { Reserved } from '../../domain/plan/reserved.ts';
import type { PlanInput } from '../../domain/run/calls.ts';
import type { Deps } from '../../activities/deps.ts';
import { runName } from '../../domain/references.ts';
import type { OwnTurn } from '../../domain/turn.ts';
import type { Demand, OwnTrade } from '../../domain/writes/step.ts';
import { NO_OTHER_RUNS, OUR_TURN, inActivity, planInputOf, page, worker } from '../support/activities.ts';
import { convertPolicy } from '../support/policies.ts';
import { LEG, NO_ANSWER, RUN, TRADE, done } from '../support/scripts.ts';

const SELL_ALL = convertPolicy({
  amount: '{ sell: all, keep: "500.00" }',
  limits: '{ per_trade: "2000.00 USD" }',
}).replace('replaced', RUN.policy);
const TREASURY = `policy: 1
kind: rebalance
name: ${RUN.policy}
environment: sandbox
rebalance:
  base: { currency: MXN }
  targets: { USD: { max: "500.00" } }
guard: { worst_rate: ["16.90 MXN per USD"] }
`;
const OURS: OwnTurn = { ...OUR_TURN, hasLapsed: true };
const GUARD = {
  bound: { buyFactor: '1', sellFactor: '16.9' },
  text: '',
  staleAtMs: null,
  referenceRate: null,
};
const SOLD = {
  ...LEG,
  amount: { side: 'sell', value: '1000', fixed: false },
  why: { kind: 'target', currency: 'USD' },
  guard: GUARD,
} as const;

type DemandCase = {
  readonly policyText?: string;
  readonly input?: PlanInput | null;
  readonly turn?: OwnTurn | null;
  readonly usd?: string;
  readonly reserved?: readonly Reserved[];
  readonly scripted?: Parameters<typeof worker>[0];
  readonly claims?: Deps['claims'];
  readonly ownTrades?: readonly OwnTrade[];
};

/** What the run is told; `requests` is what the service was asked. */
async function asked({
  policyText = SELL_ALL,
  turn = OURS,
  usd = '1500',
  reserved = [],
  ownTrades = [],
  ...more
}: DemandCase) {
  const input = planInputOf(policyText);
  const never = () => assert.fail('Nobody asks for it here.');
  const balances = async () =>
    done({ aggregateUsd: usd, balances: [{ currency: 'USD', withdrawable: usd, total: usd }] });
  const accounts = async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'LIVE', currency: 'MXN' });
  const { deps, requests } = worker(
    { balances, pairs: async () => NO_ANSWER, listWithdrawalAccounts: accounts, ...more.scripted },
    {
      claims: more.claims ?? NO_OTHER_RUNS,
      plans: {
        find: async () => ({
          isMade: true,
          hasFailed: false,
          input: more.input === undefined ? input : more.input,
        }),
        start: never,
        read: never,
        readEarlier: never,
      },
      turn: {
        ...worker().deps.turn,
        readReserved: async () => ({
          open: [{ run: { policy: 'q', id: '2026-11-21' }, reserved, legs: [] }],
          gone: [],
        }),
      },
    },
  );
  const told = await inActivity({}, () =>
    readDemand(deps, { mode: 'SANDBOX', run: RUN, leg: SOLD, ownTrades, turn }),
  );
  return { told, requests };
}

const amountOf = (told: Demand): string => ('demand' in told ? told.demand : told.wait.problem.code);

test('a leg is asked for by the balances of now, whatever the run has sent, and whatever its limits are', async () => {
  for (const policyText of [SELL_ALL, TREASURY])
    for (const [usd, demand] of [
      ['1500', '1000'],
      ['1499.99', '999.99'],
      ['500', '0'],
      ['9000', '8500'],
    ] as const)
      assert.equal(amountOf((await asked({ policyText, usd })).told), demand, `${policyText} ${usd}`);
  const sent = { listTrades: async () => page(TRADE) };
  assert.equal(amountOf((await asked({ scripted: sent })).told), '1000');
});

test('what other runs have reserved is not asked for; where that cannot be told, the leg waits', async () => {
  const reserved = { currency: 'USD', takes: '300', changes: '-300', isTold: true };
  assert.equal(amountOf((await asked({ reserved: [reserved] })).told), '700');
  assert.equal(
    amountOf((await asked({ reserved: [{ ...reserved, isTold: false }] })).told),
    'RESERVATION_UNKNOWN',
  );
  // A rebalancing waits for what its target names. What it only buys or sells for that is bounded by what is there.
  const untold = (currency: string) =>
    asked({ policyText: TREASURY, reserved: [{ ...reserved, currency, isTold: false }] });
  assert.equal(amountOf((await untold('USD')).told), 'RESERVATION_UNKNOWN');
  assert.equal(amountOf((await untold('MXN')).told), '1000');
});

test('a leg that is asked for less because of another open run names that run', async () => {
  const takers = async (more: DemandCase) => {
    const { told } = await asked({ policyText: TREASURY, ...more });
    assert.ok('demand' in told, JSON.stringify(told));
    return [told.demand, ...told.takenBy.map(runName)];
  };
  const reserved = { currency: 'USD', takes: '300', changes: '-300', isTold: true };
  assert.deepEqual(await takers({ reserved: [reserved] }), ['700', 'q.2026-11-21']);
  // It has traded, and the trade may still fail; one of its own, or one that has settled, names nobody.
  const sold = {
    ...TRADE,
    sellCurrency: 'USD',
    buyCurrency: 'MXN',
    clientReferenceId: 'q.2026-11-21.usd-mxn-1',
  };
  const tradedAs = (more: object) => ({ listTrades: async () => page({ ...sold, ...more }) });
  const after = (more: object) => takers({ usd: '500', scripted: tradedAs(more) });
  assert.deepEqual(await after({ status: 'EXECUTED' }), ['0', 'q.2026-11-21']);
  assert.deepEqual(await after({ status: 'SETTLED' }), ['0']);
  assert.deepEqual(await after({ status: 'FAILED' }), ['0']);
  assert.deepEqual(await after({ status: 'EXECUTED', buyCurrency: 'EUR' }), ['0']);
  assert.deepEqual(await after({ status: 'EXECUTED', clientReferenceId: `${runName(RUN)}.usd-mxn-1` }), [
    '0',
  ]);
  // It has reserved some, and enough is left.
  assert.deepEqual(await takers({ reserved: [reserved], usd: '1800' }), ['1000']);
  // Without it there would be as little.
  const none = { ...reserved, takes: '0', changes: '0' };
  assert.deepEqual(await takers({ reserved: [none], usd: '600' }), ['100']);
});

test('what funds a batch waits while nobody can tell what another run takes of what it buys or sells', async () => {
  const policyText = `policy: 1
kind: payout
name: ${RUN.policy}
environment: sandbox
payout: { fund: { from: USD, mode: net } }
quote: { settlement: T0 }
guard: { worst_rate: ["16.90 MXN per USD"] }
shortfall: hold
`;
  const input = {
    ...planInputOf(policyText),
    batch: { payments: 1, totals: [], chunks: [{ payments: 1, hash: 'h' }] },
  };
  for (const currency of ['USD', 'MXN']) {
    const reserved = { currency, takes: '0', changes: '0', isTold: false };
    assert.equal(amountOf((await asked({ input, reserved: [reserved] })).told), 'RESERVATION_UNKNOWN');
  }
});

test('without the turn, while lists may lag, and while the service cannot be read, nothing is told', async () => {
  for (const [more, code] of [
    [{ turn: null }, 'LOOKUP_INCOMPLETE'],
    [{ turn: { ...OURS, tradedAgoMs: 1_000, tradedAtMs: null } }, 'LISTS_MAY_LAG'],
  ] as const) {
    const { told, requests } = await asked(more);
    assert.equal(amountOf(told), code);
    assert.deepEqual(requests, []);
  }
  const { told } = await asked({ scripted: { balances: async () => NO_ANSWER } });
  assert.ok('wait' in told && told.wait.reason === 'outage', JSON.stringify(told));
});

test('where nobody knows what the run was told to do, nothing of the leg is asked for', async () => {
  assert.equal(amountOf((await asked({ input: null })).told), '0');
  assert.equal(amountOf((await asked({ policyText: 'not a policy' })).told), '0');
  assert.equal(amountOf((await asked({ policyText: SELL_ALL.replace('USD', 'EUR') })).told), '0');
});

test('a trade of the run that the lists do not show yet holds its next leg up while lists may lag; one with a date to come does not', async () => {
  const beside = (createdAtMs: number) => asked({ ownTrades: [{ tradeId: 'tde_9', createdAtMs }] });
  const now = worker().deps.clock.wallMs();
  assert.equal(amountOf((await beside(now)).told), 'LISTS_MAY_LAG');
  assert.equal(amountOf((await beside(now - 86_400_000)).told), '1000');
  assert.equal(amountOf((await beside(now + 30 * 86_400_000)).told), '1000');
});
