/** Days, windows and clocks: nothing leaves before its day, after its window, or by a clock that is wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { START, after, assertDoneOnce, assertNothingMoved, before, story } from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

test('a run that is started before its day waits for it', async () => {
  const end = await story()
    .given({ policy: { startsAt: 'before the date' } })
    .play();
  assertDoneOnce(end);
});

test('given a clock that is a minute ahead of the service’s, then nothing leaves until it is set', async () => {
  const end = await story()
    .when(START, { kind: 'our clock', byMs: MINUTE_MS })
    .when({ ...START, plusMs: HOUR_MS }, { kind: 'our clock', byMs: -MINUTE_MS })
    .play();
  assertDoneOnce(end);
});

test('when no worker is there until trades have stopped, then nothing is traded', async () => {
  const end = await story()
    .when(before('read instructions'), { kind: 'away', ms: 20 * HOUR_MS })
    .play();
  assert.equal(end.report.legs[0]?.outcome, 'NOT_TRADED');
  assertNothingMoved(end);
});

test('when no worker is there between the trade and the end of the send window, then nothing is paid', async () => {
  const end = await story()
    .when(after('send trade'), { kind: 'away', ms: 5.5 * DAY_MS })
    .play();
  assert.equal(end.report.payments[0]?.outcome, 'NOT_PAID');
  assert.deepEqual(end.withdrawals, []);
});
