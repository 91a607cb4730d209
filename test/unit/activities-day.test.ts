/** What the date of a policy has come to, as one of its runs is told in its turn before it asks for a quote (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDay } from '../../activities/day.ts';
import { openLeg, type OpenLeg } from '../../domain/plan/reserved.ts';
import type { Leg } from '../../domain/plan/plan.ts';
import type { RunName } from '../../domain/references.ts';
import type { Day } from '../../domain/writes/step.ts';
import { OUR_TURN, inActivity, page, worker } from '../support/activities.ts';
import { LEG, NO_ANSWER, RUN, TRADE, context } from '../support/scripts.ts';

const LIMIT = { value: '5000', currency: 'USD' };
const BESIDE = { policy: RUN.policy, id: `${RUN.id}-b` };
/** A sale for dollars: what is sold is worth 1,000 USD, and the guard takes 20 USD less. */
const SALE: Leg = {
  ...LEG,
  reference: `${RUN.policy}.${RUN.id}-b.mxn-usd-1`,
  sell: 'MXN',
  buy: 'USD',
  amount: { side: 'sell', value: '17000', fixed: false },
  why: { kind: 'target', currency: 'MXN' },
  guard: {
    bound: { buyFactor: '17', sellFactor: '0.98' },
    text: '',
    staleAtMs: null,
    referenceRate: { times: '1', over: '17', currency: 'USD', decimals: 2 },
  },
};
/** A purchase with dollars, which costs 102 USD at the most. */
const PURCHASE: Leg = {
  ...SALE,
  reference: `${RUN.policy}.${RUN.id}-b.usd-mxn-1`,
  sell: 'USD',
  buy: 'MXN',
  amount: { side: 'buy', value: '1020', fixed: false },
  guard: { bound: { buyFactor: '1', sellFactor: '10' }, text: '', staleAtMs: null, referenceRate: null },
};

async function asked({
  turn = OUR_TURN,
  legs = [],
  run = BESIDE,
  listed = [],
}: {
  readonly turn?: Parameters<typeof readDay>[1]['turn'];
  readonly legs?: readonly OpenLeg[];
  readonly run?: RunName;
  readonly listed?: readonly Partial<typeof TRADE>[] | null;
}): Promise<Day> {
  const { deps } = worker(
    {
      listTrades: async () =>
        listed === null ? NO_ANSWER : page(...listed.map((more) => ({ ...TRADE, ...more }))),
    },
    {
      turn: {
        ...worker().deps.turn,
        readReserved: async () => ({ open: [{ run, reserved: [], legs }], gone: [] }),
      },
    },
  );
  const { sendWindows } = context().plan;
  const question = { run: RUN, sendWindows, limit: LIMIT, turn, onReply: () => {} };
  return inActivity({}, () => readDay(deps, question));
}

function dollarsOf(day: Day): string {
  if ('wait' in day) return day.wait.problem.code;
  return day.onDate.find(({ currency }) => currency === 'USD')?.value ?? '0';
}

/** A trade of the list, of 300 USD. */
const of = (reference: string, more: Partial<typeof TRADE> = {}) => ({
  clientReferenceId: reference,
  sellAmount: '300',
  ...more,
});

test('what other runs of the policy have traded on the date counts, and nothing else of the list', async () => {
  const listed = (run: string, more: Partial<typeof TRADE> = {}) =>
    asked({ listed: [of(`${RUN.policy}.${run}.other`, more)] }).then(dollarsOf);
  assert.equal(await listed(BESIDE.id), '300');
  assert.equal(await listed(BESIDE.id, { status: 'FAILED' }), '0');
  assert.equal(await listed('2026-11-20'), '0');
  assert.equal(await listed(RUN.id), '0');
});

test('what an open run may still trade counts at the most that it may come to, a sale at a price as much better as the guard lets it be worse', async () => {
  const dollars = async (...legs: readonly OpenLeg[]) => dollarsOf(await asked({ legs }));
  assert.equal(await dollars(openLeg(SALE, true)), '1020.408163265307');
  assert.equal(await dollars(openLeg(PURCHASE, true)), '102');
  assert.equal(await dollars(openLeg(SALE, true), openLeg(PURCHASE, true)), '1122.408163265307');
  // Without reference rates nothing tells more than the bound.
  const bare = { ...SALE, guard: SALE.guard && { ...SALE.guard, referenceRate: null } };
  assert.equal(await dollars(openLeg(bare, true)), '980');
  for (const run of [
    { ...BESIDE, policy: 'q' },
    { ...BESIDE, id: '2026-11-20' },
  ])
    assert.equal(dollarsOf(await asked({ legs: [openLeg(SALE, true)], run })), '0');
});

test('a sale that may be made already at any price is waited for; a purchase is bounded, and what the list shows counts as listed', async () => {
  const untold = openLeg(SALE, false);
  assert.equal(dollarsOf(await asked({ legs: [untold] })), 'RESERVATION_UNKNOWN');
  assert.equal(dollarsOf(await asked({ legs: [openLeg(PURCHASE, false)] })), '102');
  for (const reference of [SALE.reference, `${SALE.reference}~2`])
    assert.equal(dollarsOf(await asked({ legs: [untold], listed: [of(reference)] })), '300');
});

test('without the turn, while lists may lag, and while the list cannot be read, the day is not known', async () => {
  assert.equal(dollarsOf(await asked({ turn: null })), 'LOOKUP_INCOMPLETE');
  const lagging = { ...OUR_TURN, tradedAgoMs: 1_000 };
  assert.equal(dollarsOf(await asked({ turn: lagging })), 'LISTS_MAY_LAG');
  assert.notEqual(dollarsOf(await asked({ listed: null })), '0');
});
