/**
 * The same run again: started again, ended, reset, cancelled. What was done is found, what is missing is done, and the report says
 * the same. What a real Temporal does then is played in `test/machines/run-again.test.ts`.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  PLAIN_DAY,
  TWO_LEGS,
  type Misfortune,
  type Moment,
  type WriteFault,
} from '../machines/model/schedule.ts';
import {
  END,
  GO_ON,
  LOST_REPLY,
  LOST_REQUEST,
  after,
  assertDoneOnce,
  assertNothingMoved,
  before,
  heldBy,
  refused,
  reset,
  story,
  type Ending,
  type Story,
} from '../machines/model/story.ts';
import { lasting } from '../support/lasting.ts';

const MINUTE_MS = 60_000;
const TERMINATED: Misfortune = { kind: 'terminate', againAfterMs: 0, plan: 'kept' };

/** So many minutes after the run has ended for the first time. */
function minutesAfterEnd(minutes: number): Moment {
  return { ...END, plusMs: minutes * MINUTE_MS };
}

/** Whatever happens after its end, the run says what it said then, and sends nothing more. */
async function assertUnchanged(
  told: Story,
  ...events: readonly (readonly [Moment, Misfortune])[]
): Promise<Ending> {
  const first = await told.play();
  const again = await events.reduce((so, [moment, what]) => so.when(moment, what), told).play();
  assert.deepEqual(lasting(again.report), lasting(first.report));
  assert.equal(again.writes.length, first.writes.length);
  return again;
}

describe('the same run again', () => {
  test('a completed run that is started again finds everything and sends nothing', async () => {
    assertDoneOnce(await assertUnchanged(story(), [minutesAfterEnd(1), GO_ON]));
  });

  /** The request is under way when the run ends, and is booked before it is looked for, or after that. */
  const UNDER_WAY: readonly (readonly [string, WriteFault])[] = [
    ['before its booking', { kind: 'slow network', ms: 30_000 }],
    ['after its booking', LOST_REPLY],
  ];
  for (const step of ['trade', 'withdrawal'] as const)
    for (const [when, fault] of UNDER_WAY)
      for (const [again, what] of [
        ['started again', TERMINATED],
        ['reset', reset(99)],
      ] as const)
        test(`a run that is ended and ${again} while its ${step} is held ${when} moves once`, async () => {
          const end = await story()
            .given({ [step]: [fault] })
            .when(before(`send ${step}`, { plusMs: 500 }), what)
            .play();
          assertDoneOnce(end);
        });

  test('a reset of a reset, and two resets at once, move nothing', async () => {
    const end = await assertUnchanged(
      story(),
      [minutesAfterEnd(1), reset(99)],
      [minutesAfterEnd(2), { kind: 'two resets', back: 99 }],
    );
    assertDoneOnce(end);
  });

  for (const [again, what] of [
    ['reset', reset(99)],
    ['terminated and started again', TERMINATED],
  ] as const)
    test(`a run that waits for money, ${again}, goes on when the money comes, once`, async () => {
      const end = await story()
        .given({ policy: { shortfall: 'hold' }, service: { startsWith: '900' } })
        .when(heldBy('SHORTFALL'), what)
        .when(heldBy('SHORTFALL', { plusMs: 5 * MINUTE_MS }), {
          kind: 'money',
          currency: 'USD',
          change: 'comes',
        })
        .play();
      assertDoneOnce(end);
    });

  test('a run that failed, reset while the cause lasts, fails with the same report', async () => {
    const tooDear = story().given({ policy: { guard: true }, service: { prices: ['16.5'] } });
    const end = await assertUnchanged(tooDear, [minutesAfterEnd(1), reset(99)]);
    assert.equal(end.report.status, 'FAILED');
    assertNothingMoved(end);
  });

  test('a run whose payment was refused, reset when the cause is gone, pays only that', async () => {
    const end = await story()
      .given({
        policy: { pays: 'twins' },
        service: { alsoMxn: '50000' },
        withdrawal: [{ kind: 'none' }, refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')],
      })
      .when(minutesAfterEnd(1), reset(99))
      .play();
    assertDoneOnce(end);
    assert.deepEqual(
      end.withdrawals.map(({ tag }) => tag),
      ['p.2026-11-21.supplier', 'p.2026-11-21.second~2'],
    );
  });

  test('an amount that was taken from live balances is not taken again', async () => {
    const sellsAll = story().given({ policy: { amount: 'sell all' }, service: { startsWith: '4500' } });
    const end = await assertUnchanged(
      sellsAll,
      [minutesAfterEnd(1), { kind: 'money', currency: 'USD', change: 'comes' }],
      [minutesAfterEnd(2), GO_ON],
      [minutesAfterEnd(3), reset(99)],
    );
    assert.deepEqual(
      end.trades.map(({ sellAmount }) => sellAmount),
      ['4000'],
    );
  });

  test('a run that Temporal has lost completes by what the service shows, though its money has gone out', async () => {
    const known = story().given({ service: { startsWith: '1000', paysAfterMs: 20 * MINUTE_MS } });
    const end = await assertUnchanged(known, [
      after('send withdrawal', { plusMs: MINUTE_MS }),
      { kind: 'terminate', againAfterMs: 5 * MINUTE_MS, plan: 'lost' },
    ]);
    assertDoneOnce(end);
  });
});

test('a run that is cancelled while it waits for settlement pays nothing, also after a reset', async () => {
  const cancelled = story()
    .given({ service: { settlesAfterMs: 40 * MINUTE_MS } })
    .when(after('send trade', { plusMs: MINUTE_MS }), { kind: 'cancel', how: 'button' });
  const end = await assertUnchanged(cancelled, [minutesAfterEnd(1), reset(99)]);
  assert.equal(end.report.status, 'CANCELLED');
  assert.equal(end.report.legs[0]?.outcome, 'TRADED');
  assert.equal(end.report.payments[0]?.outcome, 'NOT_PAID');
  assert.deepEqual(
    end.writes.map(({ write }) => write.step),
    ['trade'],
  );
});

test('a conversion that is cancelled while it waits for settlement is not green, also after a reset', async () => {
  const cancelled = story()
    .given({ policy: { pays: 'nobody', settle: 'status' }, service: { settlesAfterMs: 40 * MINUTE_MS } })
    .when(after('send trade', { plusMs: MINUTE_MS }), { kind: 'cancel', how: 'button' });
  const end = await assertUnchanged(cancelled, [minutesAfterEnd(1), reset(99)]);
  assert.equal(end.report.status, 'CANCELLED');
  assert.equal(end.report.legs[0]?.outcome, 'TRADED');
  assert.deepEqual(
    end.report.problems.map(({ code, item }) => `${code} ${item ?? ''}`),
    ['CANCELLED usd-mxn-1'],
  );
  const { tradeId } = end.report.legs[0] ?? {};
  assert.equal(
    end.report.problems[0]?.message,
    `Trade ${tradeId} is made. The run was cancelled before the trade had settled, so it does not know whether the MXN has come in.`,
  );
  assert.match(end.report.problems[0].fix, /^Type `npx cambist report [^ ]+ --refresh` to see it\. /);
});

test('a run that was cancelled in its last trade, and is reset while a poll shows that trade, ends once more', async () => {
  const startsWith = { USD: '5000', EUR: '2500', GBP: '0', MXN: '60000' };
  const end = await story({ ...PLAIN_DAY, rebalance: { ...TWO_LEGS, startsWith } })
    .given({ trade: [refused('TRADE_INSUFFICIENT_BALANCE')] })
    .when(before('send trade', { nth: 2 }), { kind: 'cancel', how: 'both' })
    .when(END, reset(1))
    .play();
  assert.deepEqual(
    end.report.legs.map(({ outcome }) => outcome),
    ['NOT_TRADED', 'TRADED'],
  );
  assert.equal(end.trades.length, 1);
});

/** A sale of pesos pays for euros and pounds, and its dollars come forty minutes later. */
const ON_THE_WAY = story({
  ...PLAIN_DAY,
  rebalance: { ...TWO_LEGS, startsWith: { USD: '1200', EUR: '1000', GBP: '0', MXN: '60000' } },
}).given({ policy: { startsAt: 'in the day' }, service: { settlesAfterMs: 40 * MINUTE_MS } });

function assertAllTraded({ report, trades }: Ending): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assert.deepEqual(
    trades.map(({ id }) => id).toSorted(),
    report.legs.map(({ tradeId }) => tradeId ?? '').toSorted(),
  );
  assert.equal(trades.length, 3);
}

test('given a sale whose money is still on its way, when its rebalancing is reset, then the purchases wait for that money', async () => {
  const end = await ON_THE_WAY.when(after('send trade'), reset()).play();
  assertAllTraded(end);
  assert.ok(end.held.includes('AFTER_SALES'), end.held.join());
  const [sold, ...bought] = end.trades.map(({ createdAt }) => Date.parse(createdAt));
  for (const atMs of bought) assert.ok(atMs - (sold ?? 0) >= 40 * MINUTE_MS, String(atMs));
});

test('given lists that show a trade a minute later, when a rebalancing goes on in a new history, then its next purchase waits until they show it, and does not count it as still to be made', async () => {
  const end = await ON_THE_WAY.given({
    service: { lagMs: MINUTE_MS },
    trade: [LOST_REQUEST],
    longHistory: 6,
  }).play();
  assertAllTraded(end);
});
