/**
 * What can never have been sent waits for nothing: no plan, no go and no quote came before it. What another Temporal run, a
 * crash or a restored backup may hide waits as long as ever.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Misfortune } from '../machines/model/schedule.ts';
import {
  END,
  GO_ON,
  START,
  after,
  assertDoneOnce,
  assertNothingMoved,
  at,
  heldBy,
  late,
  reset,
  story,
  type Ending,
} from '../machines/model/story.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

function account(name: string, status: 'VERIFIED' | 'UNVERIFIED'): Misfortune {
  return { kind: 'account', account: name, status };
}

function isInDoubt(end: Ending): boolean {
  return end.held.includes('IN_DOUBT');
}

describe('a run whose plan was refused, and that is reset once its cause is mended,', () => {
  const MENDED = { ...END, plusMs: HOUR_MS };
  const RESET = { ...END, plusMs: HOUR_MS + MINUTE_MS };
  const refused = story()
    .when(START, account('wac_supplier', 'UNVERIFIED'))
    .when(MENDED, account('wac_supplier', 'VERIFIED'));

  for (const [where, back] of [
    ['its end', 0],
    ['its beginning', 99],
  ] as const)
    test(`to ${where} trades at once`, async () => {
      const end = await refused.when(RESET, reset(back)).play();
      assertDoneOnce(end);
      assert.ok(!isInDoubt(end));
    });

  test('waits after a second reset, which may hide a trade of the first one', async () => {
    const end = await refused
      .given({ trade: [late(10 * MINUTE_MS)] })
      .when(RESET, reset(99))
      .when(after('send trade', { plusMs: 10 }), reset(99))
      .play();
    assertDoneOnce(end);
    assert.ok(isInDoubt(end));
    assert.equal(end.asked('send quote'), 1);
  });

  test('waits when its plan is lost meanwhile, since that one may have been made', async () => {
    const end = await refused
      .given({ trade: [late(10 * MINUTE_MS)], isKeyKnown: true })
      .when(RESET, reset(99))
      .when(after('send trade', { plusMs: 10 }), { kind: 'terminate', againAfterMs: 0, plan: 'lost' })
      .when(at('start', { nth: 3, plusMs: 100 }), reset(99))
      .play();
    assertDoneOnce(end);
    assert.equal(end.asked('send quote'), 1);
  });
});

describe('a leg that waits for money, and has asked for no quote,', () => {
  const SHORT = 'SHORTFALL';
  const CANCEL = { kind: 'cancel', how: 'both' } as const;
  const WAKE = { kind: 'cause gone', item: 0, promptMs: 0 } as const;
  const MONEY = { kind: 'money', currency: 'USD', change: 'comes' } as const;
  const waits = story().given({ policy: { shortfall: 'hold' }, service: { startsWith: '100' } });
  /** Much money is there for the first time; its quote is asked for at the next look. */
  const paidIn = waits.when(heldBy(SHORT, { plusMs: 20 * MINUTE_MS }), MONEY);

  for (const minutes of [1, 4, 20, 60])
    test(`ends at once when the run is cancelled after ${minutes} minutes`, async () => {
      const end = await waits.when(heldBy(SHORT, { plusMs: minutes * MINUTE_MS }), CANCEL).play();
      assert.equal(end.report.status, 'CANCELLED');
      assert.ok(!isInDoubt(end));
      assertNothingMoved(end);
    });

  test('trades as soon as it sees the money', async () => {
    const end = await paidIn.play();
    assertDoneOnce(end);
    assert.ok(!isInDoubt(end));
  });

  test('asks for no quote before its next look when somebody wakes it', async () => {
    const end = await paidIn.when(heldBy(SHORT, { plusMs: 20 * MINUTE_MS + SECOND_MS }), WAKE).play();
    assertDoneOnce(end);
    const [problem] = end.heldBy('IN_DOUBT').report.problems;
    assert.match(problem?.message ?? '', /restored from a backup/);
    assert.match(problem?.fix ?? '', /safety wait until 09:2\d:\d\d UTC/);
  });

  test('says why where nobody looked for it in between, so that a restored backup could hide a trade', async () => {
    const end = await waits
      .when(heldBy(SHORT, { plusMs: 10 * MINUTE_MS }), { kind: 'away', ms: 10 * MINUTE_MS })
      .when(heldBy(SHORT, { plusMs: 20 * MINUTE_MS }), CANCEL)
      .play();
    assert.equal(end.report.status, 'CANCELLED');
    assert.match(end.heldBy('IN_DOUBT').report.problems[0]?.message ?? '', /restored from a backup/);
    assertNothingMoved(end);
  });

  test('says that the run was reset where that may hide a trade', async () => {
    const end = await waits
      .when(heldBy(SHORT, { plusMs: 10 * MINUTE_MS }), reset(99))
      .when(heldBy(SHORT, { plusMs: 10 * MINUTE_MS + SECOND_MS }), CANCEL)
      .play();
    assert.match(
      end.heldBy('IN_DOUBT').report.problems[0]?.message ?? '',
      /the run was reset or started again/,
    );
  });

  for (const [how, wokenAfterMs] of [
    ['looks as it has said', null],
    ['is woken', SECOND_MS],
  ] as const)
    for (const back of [1, 2, 4])
      test(`is found traded when it ${how}, and Temporal then goes ${back} steps back, and the run is cancelled`, async () => {
        const traded = paidIn.given({ trade: [late(10 * MINUTE_MS)] });
        const woken =
          wokenAfterMs === null
            ? traded
            : traded.when(heldBy(SHORT, { plusMs: 20 * MINUTE_MS + wokenAfterMs }), WAKE);
        const end = await woken
          .when(after('send trade', { plusMs: 10 }), { kind: 'restore', back, takesMs: MINUTE_MS })
          .when(after('send trade', { plusMs: 62 * SECOND_MS }), CANCEL)
          .play();
        assert.equal(end.report.legs[0]?.outcome, 'TRADED', JSON.stringify(end.report));
        assert.equal(end.trades.length, 1);
      });
});

describe('a payment of a batch that the plan has ended', () => {
  const RICH = { alsoMxn: '1000000' } as const;
  /** The third payment of the first chunk, and the second one of the other, go to accounts that are not verified. */
  const planned = story()
    .given({ service: RICH, batch: { chunks: [3, 3] } })
    .when(START, account('wac_2', 'UNVERIFIED'))
    .when(START, account('wac_4', 'UNVERIFIED'));
  const oneMended = planned.when({ ...END, plusMs: HOUR_MS }, account('wac_4', 'VERIFIED'));
  const AGAIN = { ...END, plusMs: HOUR_MS + MINUTE_MS };
  const unpaid = ({ report }: Ending): readonly (readonly [string | null, string])[] =>
    report.problems.map(({ item, code }) => [item, code]);

  for (const [how, what, of] of [
    ['the run is reset to its end', reset(0), 0],
    ['the run is reset to its beginning', reset(99), 0],
    ['its chunk is reset', reset(99), 1],
    ['a person says --go-on', GO_ON, 0],
  ] as const)
    test(`ends at once when ${how}, and whatever is mended is paid at once`, async () => {
      const end = await oneMended.when(AGAIN, what, of).play();
      assert.deepEqual(unpaid(end), [['payee-2', 'ACCOUNT_UNUSABLE']]);
      assert.equal(end.withdrawals.length, 5);
      assert.ok(!isInDoubt(end));
    });

  test('ends at once when the run is reset again and again, and is paid once it is mended', async () => {
    const end = await oneMended
      .when(AGAIN, reset(99))
      .when({ ...END, plusMs: 2 * HOUR_MS }, reset(99))
      .when({ ...END, plusMs: 3 * HOUR_MS }, account('wac_2', 'VERIFIED'))
      .when({ ...END, plusMs: 3 * HOUR_MS + MINUTE_MS }, reset(99))
      .play();
    assertDoneOnce(end);
    assert.ok(!isInDoubt(end));
  });

  test('ends at once when the run is cancelled after a reset', async () => {
    const end = await oneMended
      .when(AGAIN, reset(99))
      .when({ ...AGAIN, plusMs: AGAIN.plusMs + MINUTE_MS }, { kind: 'cancel', how: 'both' })
      .play();
    assert.equal(end.withdrawals.length, 5);
    assert.ok(!isInDoubt(end));
  });

  /** It is let go by a reset, and the service is at work on it for long. Then its account is not good any more. */
  const LET_GO = after('send withdrawal', { nth: 3, plusMs: 10 });
  const LATER = after('send withdrawal', { nth: 3, plusMs: 2 * MINUTE_MS });
  const letGo = story()
    .given({
      service: RICH,
      batch: { chunks: [3] },
      withdrawal: [{ kind: 'none' }, { kind: 'none' }, late(20 * MINUTE_MS)],
    })
    .when(START, account('wac_2', 'UNVERIFIED'))
    .when({ ...END, plusMs: HOUR_MS }, account('wac_2', 'VERIFIED'))
    .when(AGAIN, reset(99))
    .when(LET_GO, account('wac_2', 'UNVERIFIED'));

  for (const [how, what, of] of [
    ['the run is reset', reset(99), 0],
    ['its chunk is reset', reset(99), 1],
    [
      'its chunk is ended, and started again by the run',
      { kind: 'terminate', againAfterMs: 0, plan: 'kept' },
      1,
    ],
    ['the run is ended and started again', { kind: 'terminate', againAfterMs: 0, plan: 'kept' }, 0],
  ] as const)
    for (const [then, blow] of [
      ['', null],
      [' after a crash', { kind: 'crash' }],
      [' after Temporal has gone a step back', { kind: 'restore', back: 1, takesMs: 0 }],
    ] as const)
      test(`is in doubt once it was let go, when ${how}${then}`, async () => {
        const told = blow === null ? letGo : letGo.when(LET_GO, blow);
        const end = await told.when(LATER, what, of).play();
        assertDoneOnce(end);
      });
});

describe('a payment of a conversion whose leg is proven not traded', () => {
  const CANCEL = { kind: 'cancel', how: 'both' } as const;
  const dear = story().given({ policy: { pays: 'both', guard: true }, service: { prices: ['16'] } });
  const AGAIN = { ...END, plusMs: HOUR_MS };

  test('ends with its leg after a reset', async () => {
    const end = await dear.when(AGAIN, reset(99)).play();
    assert.deepEqual(
      end.report.problems.map(({ item, code }) => [item, code]),
      [
        ['usd-mxn-1', 'OUTSIDE_GUARD'],
        ['supplier', 'LEG_NOT_TRADED'],
        ['second', 'LEG_NOT_TRADED'],
      ],
    );
    assertNothingMoved(end);
    assert.ok(end.tookMs < HOUR_MS + 5 * MINUTE_MS);
  });

  test('ends with its leg when the run is cancelled after a reset', async () => {
    const end = await dear
      .when(AGAIN, reset(99))
      .when({ ...END, plusMs: HOUR_MS + SECOND_MS }, CANCEL)
      .play();
    assert.equal(end.report.status, 'CANCELLED');
    assertNothingMoved(end);
    assert.ok(end.tookMs < HOUR_MS + 5 * MINUTE_MS);
  });
});
