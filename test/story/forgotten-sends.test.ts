/**
 * Sends that a run has forgotten: its worker died, it was reset or started again, or Temporal went back to a backup. What was
 * done by then is found, and not done again.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Misfortune } from '../machines/model/schedule.ts';
import { END, after, assertDoneOnce, before, late, refused, reset, story } from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const CANCEL = { kind: 'cancel', how: 'both' } as const;

/** What makes a run forget that it has traded. */
const FORGETS: readonly (readonly [string, Misfortune])[] = [
  ['the worker dies', { kind: 'crash' }],
  ['the run is reset to its beginning', reset(99)],
  ['the run is ended and started again', { kind: 'terminate', againAfterMs: 0, plan: 'kept' }],
  ['everything is lost in Temporal', { kind: 'terminate', againAfterMs: 0, plan: 'lost' }],
  ['Temporal goes back to before the quote', { kind: 'restore', back: 1, takesMs: 5 * MINUTE_MS }],
];

describe('a trade that the run has forgotten is found', () => {
  for (const [what, misfortune] of FORGETS)
    test(`given a quote of three seconds, when ${what} in the middle of the trade, then it is the only one`, async () => {
      const end = await story()
        .given({ policy: { validForSeconds: 3 }, isKeyKnown: true })
        .when(after('send trade'), misfortune)
        .play();
      assertDoneOnce(end);
      assert.equal(end.asked('send quote'), 1);
    });

  test('given a trade that is booked minutes later, when the run is reset to its beginning, then no other quote is asked for', async () => {
    const end = await story()
      .given({ trade: [late(10 * MINUTE_MS)] })
      .when(after('send trade'), reset(99))
      .play();
    assertDoneOnce(end);
    assert.equal(end.asked('send quote'), 1);
  });

  test('given a trade that is booked minutes later, when a long history is left for a new one, then no other quote is asked for', async () => {
    const end = await story()
      .given({ trade: [late(10 * MINUTE_MS)], longHistory: 6 })
      .play();
    assertDoneOnce(end);
    assert.equal(end.asked('send quote'), 1);
  });
});

for (const [why, given, then] of [
  ['its trade has failed', { tradeWord: 'FAILED' }, null],
  ['the run is cancelled', {}, CANCEL],
] as const)
  test(`given a payment that the service books much later, when Temporal goes back to before the quote and ${why}, then the report tells of the payment`, async () => {
    const told = story()
      .given({
        service: { stores: 'nothing else', alsoMxn: '50000', settlesAfterMs: 5_000, ...given },
        withdrawal: [{ kind: 'late', ms: 20 * MINUTE_MS, reply: 'none', resourceId: false, key: 'in work' }],
      })
      .when(after('send trade', { plusMs: 150 }), { kind: 'mute' })
      .when(after('send withdrawal', { nth: 2 }), { kind: 'restore', back: 5, takesMs: MINUTE_MS });
    const cancelled =
      then === null ? told : told.when(after('send withdrawal', { plusMs: MINUTE_MS + 2_000 }), then);
    const end = await cancelled.play();
    assert.deepEqual(
      end.withdrawals.map(({ id }) => id),
      end.report.payments.map(({ withdrawalId }) => withdrawalId),
    );
  });

test('given a refusal that is not kept and lists without tags, when the run is reset after its end, then the payment is made once', async () => {
  const end = await story()
    .given({
      service: { metadataInLists: 'never', stores: 'nothing else', returnsAfterMs: 500 },
      withdrawal: [refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')],
    })
    .when({ ...END, plusMs: MINUTE_MS }, reset())
    .play();
  // It came back, which is no reason to make it again.
  assert.deepEqual(
    end.withdrawals.map(({ tag, status }) => [tag, status]),
    [[null, 'RETURNED']],
  );
});

test('given a payment that is booked minutes later, when the worker dies and the run is cancelled, then it is found', async () => {
  const end = await story()
    .given({ withdrawal: [late(10 * MINUTE_MS)] })
    .when(before('send withdrawal', { plusMs: 500 }), [{ kind: 'crash' }, CANCEL])
    .play();
  assertDoneOnce(end);
});

test('given a trade that failed after its payment was made, when the run is reset to its beginning, then the payment is found', async () => {
  const end = await story()
    .given({ service: { tradeWord: 'FAILED', settlesAfterMs: 5_000, alsoMxn: '50000' } })
    .when({ ...END, plusMs: MINUTE_MS }, reset(99))
    .play();
  assert.equal(end.report.payments[0]?.outcome, 'PAID');
  assert.equal(end.withdrawals.length, 1);
});
