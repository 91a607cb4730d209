/** Single days, told in full: what chance seldom brings, or never so cleanly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paymentsOf } from '../machines/model/ours.ts';
import { PLAIN_DAY, TWO_LEGS } from '../machines/model/schedule.ts';
import {
  LOST_REPLY,
  START,
  after,
  assertDoneOnce,
  before,
  refused,
  reset,
  story,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

test('a plain day trades once, pays once and asks for nothing twice', async () => {
  const end = await story().play();
  assertDoneOnce(end);
  for (const [effect, times] of [
    ['send quote', 1],
    ['send trade', 1],
    ['send withdrawal', 1],
    ['scan trades', 0],
    ['scan withdrawals', 0],
  ] as const)
    assert.equal(end.asked(effect), times, effect);
});

test('given a lost reply to the withdrawal, when the run is reset before it is answered, then it is paid once', async () => {
  const end = await story()
    .given({ withdrawal: [LOST_REPLY] })
    .when(before('send withdrawal', { plusMs: 500 }), reset())
    .play();
  assertDoneOnce(end);
});

for (const [code, ms] of [
  ['WITHDRAWAL_DISABLED_FOR_ACCOUNT', 2 * DAY_MS],
  ['WITHDRAWAL_PENDING_DEPOSIT_REQUIRED', 3 * DAY_MS],
  ['WITHDRAWAL_INSUFFICIENT_BALANCE', 4 * DAY_MS],
] as const)
  test(`${code} for ${ms / DAY_MS} days leaves a key for the day after, and the payment is paid by it, once`, async () => {
    const end = await story()
      .given({ policy: { shortfall: 'hold' } })
      .when(START, { kind: 'refuses', step: 'withdrawal', code, ms })
      .play();
    assertDoneOnce(end);
    const [payment] = end.withdrawals;
    const tradedAtMs = Date.parse(end.trades[0]?.createdAt ?? '');
    assert.equal(payment?.status, 'COMPLETED');
    assert.ok(Date.parse(payment.createdAt) < tradedAtMs + ms + 4 * HOUR_MS);
  });

for (const [times, everyMs, every] of [
  [10, 6 * HOUR_MS, 'six hours'],
  [60, MINUTE_MS, 'minute'],
] as const)
  test(`sixty payments that wait for money share ${times} deposits of one payment each, one every ${every}, in plan order, and all are paid once`, async () => {
    const planned = paymentsOf({ pays: 'batch' }).map(({ id }) => id);
    assert.equal(planned.length, 60);
    const end = await story()
      .given({ policy: { pays: 'batch', shortfall: 'hold', settle: 'status' } })
      // Each deposit is for one payment, and a little is left.
      .when(before('send withdrawal'), [
        { kind: 'money', currency: 'MXN', change: 'goes' },
        { kind: 'deposits', each: '260', everyMs, times },
      ])
      .until(({ payments }) => payments.filter(({ outcome }) => outcome === 'PAID').length >= times)
      .play();
    const [{ trades, withdrawals, writes, report } = assert.fail('There is a run.')] = end.afterwards;
    assert.equal(report.status, 'COMPLETED');
    assert.deepEqual(
      withdrawals.map(({ tag }) => tag?.replace(/~.*/, '')),
      planned.map((id) => `${report.run}.${id}`),
    );
    // Every deposit pays at once what it is enough for, and what the earlier ones left.
    for (let deposits = 1; deposits <= times; deposits += 1) {
      const soonMs = Date.parse(trades[0]?.createdAt ?? '') + deposits * everyMs + MINUTE_MS;
      const count = withdrawals.filter(({ createdAt }) => Date.parse(createdAt) < soonMs).length;
      assert.ok(count >= deposits, `${count} are paid after ${deposits} deposits`);
    }
    // No key is used up by a deposit that is for another payment: refused, asked again when there was money, and the next.
    for (const id of planned) assert.equal(writes.filter(({ write: { item } }) => item === id).length, 3, id);
  });

test('a purchase on the proceeds of a sale waits for it also when a reset takes both up once more, in doubt', async () => {
  const remedy = { kind: 'reset', back: 1, run: 0 } as const;
  const day = { ...PLAIN_DAY, rebalance: TWO_LEGS, remedy };
  const end = await story(day)
    .given({ service: { stores: 'nothing else' }, trade: [refused('TRADE_CREDIT_LIMIT_EXCEEDED')] })
    .play();
  const [{ trades } = assert.fail('There is a run.')] = end.afterwards;
  assert.deepEqual(
    trades.map(({ sellCurrency, buyCurrency }) => `${sellCurrency} ${buyCurrency}`),
    ['MXN USD', 'USD EUR'],
  );
});

test('two rebalancings that wait for each other’s trades to be listed both end', async () => {
  const rebalance = {
    ...TWO_LEGS,
    startsWith: { USD: '100000', EUR: '2500', GBP: '250', MXN: '900000' },
    other: 'run',
  } as const;
  const remedy = { kind: 'reset', back: 5, run: 0 } as const;
  await story({ ...PLAIN_DAY, rebalance, longHistory: 6, remedy })
    .given({ service: { readMs: 2_000 }, policy: { startsAt: 'before the date' }, secondAfterMs: 30 })
    .play();
});

test('given lists that lag, when Temporal’s clock leaps right after a trade, then another policy does not trade the same once more', async () => {
  const rebalance = {
    startsWith: { USD: '5000', EUR: '2500', GBP: '0', MXN: '1000' },
    perTrade: null,
    perRun: null,
    perDay: null,
    maxTrades: null,
    other: 'policy',
  } as const;
  const end = await story({ ...PLAIN_DAY, rebalance })
    .given({ service: { lagMs: 3_000, settlesAfterMs: 5_000 }, secondAfterMs: 2_000 })
    .when(after('send trade'), { kind: 'Temporal’s clock', byMs: 2 * HOUR_MS })
    .play();
  assert.equal(end.trades.length, 1);
});

test('a batch that waits for money for days writes no more into its histories for twenty payments than for one', async () => {
  const pointsAfter = async (ms: number): Promise<readonly number[]> => {
    const end = await story()
      .given({ batch: { chunks: [1, 1, 20] }, policy: { shortfall: 'hold' }, service: { alsoMxn: '250' } })
      // Too little to pay anything, each time.
      .when(START, { kind: 'deposits', each: '0.01', everyMs: 20 * MINUTE_MS, times: ms / (20 * MINUTE_MS) })
      .when({ ...START, plusMs: ms }, { kind: 'money', currency: 'MXN', change: 'comes' })
      .play();
    assertDoneOnce(end);
    return end.points;
  };
  const [early, late] = [await pointsAfter(6 * HOUR_MS), await pointsAfter(18 * HOUR_MS)];
  const growths = late.map((points, index) => points - (early[index] ?? 0));
  const [run = 0, , one = 0, twenty = 0] = growths;
  // At most one look in five minutes, and a question for the go in ten: each is a timer and an answer. The one in the middle of
  // its look at the moment may have one more.
  const looks = (12 * HOUR_MS) / (5 * MINUTE_MS);
  for (const growth of [run, one, twenty]) assert.ok(growth <= 3 * looks + 2, growths.join());
});
