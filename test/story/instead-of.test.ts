/**
 * Another run takes the place of this one: whatever is reset, started or said afterwards, nothing more of it is sent, and what
 * was on its way is told as it was (M1, M3).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  END,
  GO_ON,
  START,
  after,
  assertNothingMoved,
  before,
  late,
  reset,
  story,
  type Ending,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const GIVEN_UP = { kind: 'superseded' } as const;

function assertTradedAlone({ report, withdrawals }: Ending): void {
  assert.equal(report.legs[0]?.outcome, 'TRADED');
  assert.deepEqual([report.payments[0]?.outcome, withdrawals], ['NOT_PAID', []]);
}

test('given a run that has only a quote, when another one takes its place, then no reset, go-on or start sends anything of it', async () => {
  for (const again of [reset(), reset(99), reset(0, 99), GO_ON, { kind: 'start', times: 2 }] as const) {
    const end = await story().when(after('send quote'), GIVEN_UP).when(END, again).play();
    assertNothingMoved(end);
    assert.equal(end.report.status, 'CANCELLED', JSON.stringify(again));
  }
});

test('given a run that has just begun, when another one takes its place and somebody says go-on, then nothing is sent', async () => {
  const end = await story().when(START, [GIVEN_UP, GO_ON]).play();
  assertNothingMoved(end);
});

test('given a trade that is on its way, when another run takes its place, then it is told as traded, and nothing is paid', async () => {
  const end = await story()
    .given({ trade: [late(MINUTE_MS)] })
    .when(after('send trade'), [GIVEN_UP, GO_ON])
    .play();
  assertTradedAlone(end);
});

test('given a worker that stands still before it trades, when another run takes its place meanwhile, then it sends nothing', async () => {
  const end = await story()
    .when(before('send trade'), [{ kind: 'freeze', ms: 5 * MINUTE_MS }, GIVEN_UP, GO_ON])
    .play();
  assertNothingMoved(end);
});
