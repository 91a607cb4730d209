/** Two rebalancings over the same account: what one does while nobody can tell what the other still takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN_DAY, TWO_LEGS, type Misfortune, type RebalanceSettings } from '../machines/model/schedule.ts';
import {
  LOST_REQUEST,
  START,
  after,
  before,
  late,
  story,
  type Ending,
  type Glimpse,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The first run sells pesos, gets no reply, and is paused in Temporal for so long; another one begins beside it. */
function beside(of: {
  readonly pausedMs: number;
  readonly secondAfterMs: number;
  readonly other?: 'policy' | 'run';
}) {
  const rebalance = { ...TWO_LEGS, other: of.other ?? 'policy' } as const;
  return story({ ...PLAIN_DAY, rebalance })
    .given({ trade: [LOST_REQUEST], secondAfterMs: of.secondAfterMs })
    .when(after('send trade'), { kind: 'pause', ms: of.pausedMs });
}

for (const other of ['policy', 'run'] as const)
  test(`given a rebalancing in doubt about its sale, when another ${other} rebalances beside it, then that one plans once the doubt is over`, async () => {
    const end = await beside({ pausedMs: 10 * MINUTE_MS, secondAfterMs: 5_000, other }).play();
    const [first, second] = end.runs;
    assert.equal(first?.trades.length, 2);
    assert.equal(second?.report.status, 'COMPLETED');
    // The first has sold the pesos by then, so that nothing is left to do, and nothing is held back.
    assert.deepEqual(
      second.report.positions.flatMap(({ restraint, wanted }) => restraint ?? wanted ?? []),
      [],
    );
    assert.deepEqual(second.trades, []);
  });

test('given a rebalancing that is in doubt until nothing more may be traded, when another one is beside it, then that one says in the end which currencies it has left', async () => {
  const end = await beside({ pausedMs: 30 * HOUR_MS, secondAfterMs: 17 * HOUR_MS - 10 * MINUTE_MS }).play();
  const [, second] = end.runs;
  assert.equal(second?.report.status, 'PARTIAL');
  assert.deepEqual(
    second.report.problems.map(({ code, item }) => [code, item]),
    [
      ['TARGET_NOT_REACHED', 'EUR'],
      ['TARGET_NOT_REACHED', 'MXN'],
    ],
  );
  assert.match(second.report.problems[0]?.message ?? '', /another run may still take or bring some of it/);
});

test('given a rebalancing that begins anew, when another one has bought with its dollars and its sale is held up for a moment, then its purchase waits for that sale', async () => {
  const startsWith = { USD: '5000', EUR: '9000', GBP: '0', MXN: '60000' };
  const end = await story({ ...PLAIN_DAY, rebalance: { ...TWO_LEGS, startsWith, other: 'policy' } })
    .given({ policy: { startsAt: 'in the day' }, secondAfterMs: 3 * MINUTE_MS })
    .when(START, { kind: 'slow readings', takesMs: 700, ms: 10 * MINUTE_MS })
    .when(before('read instructions'), [
      // The other run plans to buy euros, and a run that was ended reserves nothing.
      { kind: 'money', currency: 'EUR', change: 'goes' },
      { kind: 'terminate', againAfterMs: 0, plan: 'kept' },
      // From now on the workers read before each write what is halted.
      { kind: 'halt', policy: null, currency: null, forMs: 500 },
    ])
    .play();
  const [first, second] = end.runs;
  assert.deepEqual(
    [second, first].map((run) =>
      run?.trades.map(({ sellCurrency, buyCurrency }) => sellCurrency + buyCurrency),
    ),
    [['USDEUR'], ['MXNUSD', 'USDGBP']],
  );
});

/** The first run waits for a halt before it sells pesos; another one of the policy buys euros meanwhile, beside a limit of the day. */
function besideOnOneDay(price: string) {
  const startsWith = { USD: '5000', EUR: '1000', GBP: '400', MXN: '60000' };
  const rebalance = { ...TWO_LEGS, startsWith, perDay: '5000', maxTrades: 1, other: 'run' } as const;
  return story({ ...PLAIN_DAY, rebalance })
    .given({ service: { prices: ['17.25', price] }, secondAfterMs: MINUTE_MS })
    .when(START, { kind: 'halt', policy: null, currency: 'MXN', forMs: 10 * MINUTE_MS })
    .play();
}

test('given a limit of the day, when a sale that waited for a halt brings more than another run of the policy has counted for it, then it is not made', async () => {
  const { runs } = await besideOnOneDay('18');
  const [first, second] = runs;
  assert.equal(second?.report.status, 'COMPLETED');
  assert.equal(second.trades.length, 1);
  assert.deepEqual(first?.trades, []);
  assert.deepEqual(
    first.report.problems.map(({ code }) => code),
    ['OVER_LIMIT'],
  );
});

test('given a limit of the day, when a sale that waited for a halt brings a little more than the reference rate, then another run of the policy has left it room', async () => {
  const { runs } = await besideOnOneDay('17.26');
  assert.deepEqual(
    runs.map(({ report, trades }) => [report.status, trades.length]),
    [
      ['COMPLETED', 1],
      ['COMPLETED', 1],
    ],
  );
});

/** A sale of pesos is sent and booked two and a half minutes later; meanwhile its run goes, and another one begins beside it. */
function besideGone(
  what: Misfortune,
  more: Partial<RebalanceSettings>,
  bookedAfterMs = 2.5 * MINUTE_MS,
): Promise<Ending> {
  return story({ ...PLAIN_DAY, rebalance: { ...TWO_LEGS, ...more } })
    .given({ trade: [late(bookedAfterMs, { key: 'free' })], secondAfterMs: 30_000 })
    .when(after('send trade'), what)
    .play();
}

const TERMINATED: Misfortune = { kind: 'terminate', againAfterMs: HOUR_MS, plan: 'kept' };
for (const [how, what] of [
  ['terminated', TERMINATED],
  ['lost by Temporal', { kind: 'vanish', againAfterMs: HOUR_MS }],
] as const) {
  test(`given a rebalancing that is ${how} in the middle of a sale, when another policy rebalances beside it, then it waits for the sale and does not make it once more`, async () => {
    const { runs } = await besideGone(what, {});
    const [first, second] = runs;
    assert.deepEqual(
      [first?.trades.filter(({ sellCurrency }) => sellCurrency === 'MXN').length, second?.report.status],
      [1, 'COMPLETED'],
    );
    assert.deepEqual(
      second?.trades.filter(({ sellCurrency }) => sellCurrency === 'MXN'),
      [],
    );
  });

  test(`given a limit of the day and a rebalancing that is ${how} in the middle of a sale, when another run of the policy begins, then what it may have sold counts`, async () => {
    const startsWith = { USD: '5000', EUR: '1000', GBP: '400', MXN: '60000' };
    const { runs } = await besideGone(what, { startsWith, perDay: '4000', maxTrades: 1, other: 'run' });
    const [[sale], [purchase]] = [runs[0]?.trades ?? [], runs[1]?.trades ?? []];
    const dollars =
      Number(sale?.buyAmount ?? sale?.executedAmount) +
      Number(purchase?.sellAmount ?? purchase?.executedAmount);
    assert.ok(dollars > 3_900 && dollars <= 4_000, String(dollars));
  });
}

test('given a rebalancing that is terminated in the middle of a sale which the service never makes, when another policy rebalances beside it, then that one makes it once the doubt is over', async () => {
  const end = await story({ ...PLAIN_DAY, rebalance: TWO_LEGS })
    .given({ trade: [LOST_REQUEST], secondAfterMs: 30_000 })
    .when(after('send trade'), TERMINATED)
    .play();
  const [first, second] = end.runs;
  assert.deepEqual(
    second?.trades.map(({ sellCurrency, buyCurrency }) => sellCurrency + buyCurrency),
    ['MXNUSD', 'USDEUR'],
  );
  assert.deepEqual(first?.trades, []);
  const [sold] = second?.writes ?? [];
  const [lost] = first?.writes ?? [];
  assert.ok(sold !== undefined && lost !== undefined);
  // As long as the first run would have been in doubt, and hardly longer.
  const waitedMs = sold.sentAtMs - lost.sentAtMs;
  assert.ok(waitedMs > 3 * MINUTE_MS && waitedMs < 6 * MINUTE_MS, String(waitedMs));
});

// Somebody ends or deletes the workflow that says whose turn it is: the next run that takes the turn finds the others by their plans.

const TURN_LOST: Misfortune = { kind: 'turn lost' };

for (const perDay of [null, '4000'] as const)
  test(`given a rebalancing that is terminated in the middle of a sale, when somebody ends the turn too and another run begins${perDay === null ? '' : ' beside a limit of the day'}, then it waits for that sale all the same`, async () => {
    const startsWith = { USD: '5000', EUR: '1000', GBP: '400', MXN: '60000' };
    const limited = perDay === null ? {} : ({ startsWith, perDay, maxTrades: 1 } as const);
    const end = await story({ ...PLAIN_DAY, rebalance: { ...TWO_LEGS, ...limited, other: 'run' } })
      .given({ trade: [late(2.5 * MINUTE_MS, { key: 'free' })], secondAfterMs: 30_000 })
      .when(after('send trade'), TERMINATED)
      .when(after('send trade', { plusMs: 1_000 }), TURN_LOST)
      .play();
    const [first, second] = end.runs;
    const salesOf = (run: Glimpse | undefined) =>
      run?.trades.filter(({ sellCurrency }) => sellCurrency === 'MXN');
    assert.deepEqual([salesOf(first)?.length, salesOf(second)?.length], [1, 0]);
  });

test('given a rebalancing in doubt about its sale, when somebody ends the turn and another one begins beside it, then that one plans once the doubt is over', async () => {
  const end = await beside({ pausedMs: 10 * MINUTE_MS, secondAfterMs: 5_000 })
    .when(after('send trade', { plusMs: 1_000 }), TURN_LOST)
    .play();
  assert.deepEqual(end.runs[1]?.trades, []);
});

test('given lists that show a trade a minute later, when somebody ends the turn just after a rebalancing and another one begins, then it does not buy the same once more', async () => {
  const startsWith = { USD: '9000', EUR: '1000', GBP: '400', MXN: '0' };
  const end = await story({ ...PLAIN_DAY, rebalance: { ...TWO_LEGS, startsWith } })
    .given({ service: { lagMs: MINUTE_MS, settlesAfterMs: 20 * MINUTE_MS }, secondAfterMs: 10_000 })
    .when(after('send trade', { plusMs: 1_000 }), TURN_LOST)
    .play();
  assert.deepEqual(
    end.runs.map(({ trades }) => trades.length),
    [1, 0],
  );
});
