/** How stories are told: what they show on the way, and that none says more than it plays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  END,
  GO_ON,
  LOST_REPLY,
  LOST_REQUEST,
  assertDoneOnce,
  assertNothingMoved,
  heldBy,
  refused,
  story,
} from '../machines/model/story.ts';

test('a story shows how things stood when the run was held, and how they end once somebody has mended it', async () => {
  const end = await story()
    .given({ policy: { shortfall: 'hold' }, service: { startsWith: '900' } })
    .when(heldBy('SHORTFALL', { plusMs: 3_600_000 }), { kind: 'money', currency: 'USD', change: 'comes' })
    .play();
  const held = end.heldBy('SHORTFALL');
  assert.equal(held.report.status, 'HELD');
  assertNothingMoved(held);
  assert.deepEqual(held.writes, []);
  assertDoneOnce(end);
  assert.throws(() => end.heldBy('SOMETHING_ELSE'), /was never held by SOMETHING_ELSE/);
});

test('a story ends before the faults do, and shows what an operator made of it afterwards', async () => {
  const end = await story()
    .given({ withdrawal: [refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')] })
    .play();
  assert.deepEqual(
    end.report.payments.map(({ outcome }) => outcome),
    ['NOT_PAID'],
  );
  assert.deepEqual(
    end.afterwards.map(({ report }) => report.status),
    ['COMPLETED'],
  );
});

test('a run that has ended goes on when somebody says so', async () => {
  const end = await story()
    .given({ withdrawal: [refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')] })
    .when({ ...END, plusMs: 60_000 }, GO_ON)
    .play();
  assertDoneOnce(end);
});

test('a batch is told like a run', async () => {
  const end = await story()
    .given({ batch: { chunks: [2, 1] }, service: { alsoMxn: '5000' }, withdrawal: [LOST_REQUEST] })
    .play();
  assertDoneOnce(end);
  assert.equal(end.writes.length, 4);
});

test('where something that a story is given never happens, no assertion fails: it proves nothing', async () => {
  const neverHeld = story().when(heldBy('SHORTFALL'), GO_ON);
  await assert.rejects(neverHeld.play(), {
    name: 'Error',
    message: /^It never happened: go on at "held by SHORTFALL" #1/,
  });
  const neverMet = story().given({ trade: [LOST_REPLY, LOST_REPLY] });
  await assert.rejects(neverMet.play(), { name: 'Error', message: /^It never happened: a fault of trade/ });
});

test('a story that never ends fails an assertion', async () => {
  const neverThere = story().until(({ status }) => status === 'PARTIAL');
  await assert.rejects(neverThere.play(), {
    name: 'AssertionError',
    message: /^The story never came to its end/,
  });
});
