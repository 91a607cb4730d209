/**
 * What can never have been sent waits for nothing: no plan, no go and no quote came before it. What another Temporal run, a
 * crash or a restored backup may hide waits as long as ever.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Misfortune } from '../machines/model/schedule.ts';
import {
  END,
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
