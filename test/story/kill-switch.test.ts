/** The kill switch: what people have halted does not leave, and goes on by itself once they have resumed it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Misfortune, WriteFault } from '../machines/model/schedule.ts';
import {
  LOST_REPLY,
  START,
  after,
  assertDoneOnce,
  before,
  heldBy,
  story,
  type Ending,
} from '../machines/model/story.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

type Scope = Pick<Extract<Misfortune, { kind: 'halt' }>, 'policy' | 'currency'>;

function halt(forMs: number, { policy, currency }: Scope = { policy: null, currency: null }): Misfortune {
  return { kind: 'halt', policy, currency, forMs };
}

/** The payment has left so long after the trade. */
function assertPaidAfter({ writes }: Ending, ms: number): void {
  const [traded = 0, paid = 0] = writes.map(({ sentAtMs }) => sentAtMs);
  assert.ok(paid - traded > ms, `paid after ${paid - traded} ms`);
}

test('given a run that is about to pay, when people halt its currency, then nothing leaves until they resume it', async () => {
  const end = await story()
    .given({ service: { settlesAfterMs: 5 * SECOND_MS } })
    .when(after('send trade'), halt(HOUR_MS, { policy: null, currency: 'MXN' }))
    .play();
  assertDoneOnce(end);
  assert.deepEqual(end.heldBy('HALTED').withdrawals, []);
  assertPaidAfter(end, HOUR_MS);
});

test('when people halt another currency and another policy, then nothing waits', async () => {
  const end = await story()
    .when(START, [
      halt(HOUR_MS, { policy: null, currency: 'EUR' }),
      halt(HOUR_MS, { policy: 'q', currency: null }),
      halt(HOUR_MS, { policy: 'q', currency: 'MXN' }),
    ])
    .play();
  assertDoneOnce(end);
  assert.throws(() => end.heldBy('HALTED'));
});

test('given a lost reply to the trade, when everything is halted before it is looked for, then it is found, and paid after the resume', async () => {
  const end = await story()
    .given({ trade: [LOST_REPLY] })
    .when(after('send trade'), halt(HOUR_MS))
    .play();
  assertDoneOnce(end);
});

test('given quotes that die while their leg is halted again and again, then it is traded all the same', async () => {
  const times = [1, 2, 3, 4, 5];
  const slow: WriteFault = { kind: 'slow network', ms: 2 * SECOND_MS };
  const end = await times
    .reduce(
      (told, nth) => told.when(before('send quote', { nth, plusMs: 200 }), halt(25 * SECOND_MS)),
      story().given({ quote: times.map(() => slow) }),
    )
    .play();
  assertDoneOnce(end);
});

test('given readings that take most of a second, when people halt everything, then nothing leaves a second later', async () => {
  for (const plusMs of [0, 300, 600]) {
    // One story after the other.
    const end = await story()
      .given({ trade: [{ kind: 'slow network', ms: 500 }] })
      .when(START, { kind: 'slow readings', takesMs: 850, ms: HOUR_MS })
      .when(before('send quote', { plusMs }), halt(MINUTE_MS))
      .play();
    assertDoneOnce(end);
  }
});

test('given a worker that stands still while its payment leaves, when people halt it meanwhile, then it sends nothing as it wakes', async () => {
  const end = await story()
    .when(before('send withdrawal', { plusMs: 50 }), [{ kind: 'freeze', ms: 15_000 }, halt(HOUR_MS)])
    .play();
  assertDoneOnce(end);
  assertPaidAfter(end, HOUR_MS);
});

test('given a worker that cannot read what is halted, then nothing leaves, and it goes on by itself', async () => {
  const end = await story()
    .given({ service: { settlesAfterMs: 5 * SECOND_MS } })
    .when(after('send trade'), { kind: 'halts unreadable', ms: 10 * MINUTE_MS })
    .play();
  assertDoneOnce(end);
  assert.deepEqual(end.heldBy('HALT_UNREADABLE').withdrawals, []);
});

for (const isBegunAnew of [false, true])
  test(`given a run that a halt holds, when somebody deletes the record of halts${isBegunAnew ? ' and starts it again empty' : ''}, then nothing leaves until a person resumes what a worker has put back`, async () => {
    const end = await story()
      .given({ service: { settlesAfterMs: 5 * SECOND_MS } })
      .when(after('send trade'), halt(HOUR_MS))
      .when(heldBy('HALTED', { plusMs: MINUTE_MS }), { kind: 'halt record lost', isBegunAnew })
      .play();
    assertDoneOnce(end);
    assert.deepEqual(end.heldBy('HALTED').withdrawals, []);
    assertPaidAfter(end, 10 * MINUTE_MS);
  });

test('given a run that is about to pay, when somebody deletes the record of halts, in which a halt may have stood, then nothing leaves until a person resumes', async () => {
  const end = await story()
    .given({ service: { settlesAfterMs: 5 * SECOND_MS } })
    .when(before('send quote'), halt(SECOND_MS, { policy: 'q', currency: null }))
    .when(after('send trade'), { kind: 'halt record lost', isBegunAnew: false })
    .play();
  assertDoneOnce(end);
  assert.deepEqual(end.heldBy('HALTED').withdrawals, []);
  assertPaidAfter(end, 10 * MINUTE_MS);
});
