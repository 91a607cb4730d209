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
  at,
  late,
  reset,
  story,
  type Ending,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
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
