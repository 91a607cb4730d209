/** What people say while something is on its way: it is heeded, and never hides what was done. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  LOST_REPLY,
  LOST_REQUEST,
  after,
  assertDoneOnce,
  before,
  late,
  story,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const CANCEL = { kind: 'cancel', how: 'both' } as const;

test('when a run is cancelled after its trade, then nothing is paid', async () => {
  const end = await story().when(after('send trade'), CANCEL).play();
  assert.equal(end.report.legs[0]?.outcome, 'TRADED');
  assert.equal(end.report.payments[0]?.outcome, 'NOT_PAID');
  assert.deepEqual(
    end.writes.filter(({ write }) => write.step === 'withdrawal'),
    [],
  );
});

test('given a payment that is booked minutes later, when the run is cancelled meanwhile, then it is reported as paid', async () => {
  const end = await story()
    .given({ withdrawal: [late(10 * MINUTE_MS)] })
    .when(after('send withdrawal'), CANCEL)
    .play();
  assertDoneOnce(end);
});

test('given a trade that is booked a minute later, when the run is cancelled meanwhile, then it is reported as traded', async () => {
  const end = await story()
    .given({ trade: [late(MINUTE_MS)] })
    .when(after('send trade'), CANCEL)
    .play();
  assert.equal(end.report.legs[0]?.outcome, 'TRADED');
  assert.equal(end.report.payments[0]?.outcome, 'NOT_PAID');
});

test('given a request that is slow on its way, when a person says "not executed" and the worker dies, then it is found', async () => {
  const end = await story()
    .given({ withdrawal: [{ kind: 'slow network', ms: 30_000 }] })
    .when(before('send withdrawal', { plusMs: 90 }), [
      { kind: 'not executed', item: 1, promptMs: 0 },
      { kind: 'crash' },
    ])
    .play();
  assertDoneOnce(end);
});

test('given two runs that pay the same to the same account, when two people name one record for both at the same moment, then it pays at most one of them', async () => {
  const named = (claim: 'true' | 'other') => ({ kind: 'executed', item: 1, claim, promptMs: 0 }) as const;
  const end = await story()
    .given({
      service: { metadataInLists: 'never' },
      policy: { pays: 'fixed' },
      withdrawal: [LOST_REPLY, LOST_REQUEST],
      secondAfterMs: 0,
    })
    .when(after('send withdrawal', { nth: 1 }), named('true'))
    .when(after('send withdrawal', { nth: 1 }), named('other'), 1)
    .play();
  const ids = end.runs.flatMap(({ report }) => report.payments.map(({ withdrawalId }) => withdrawalId));
  assert.equal(new Set(ids).size, 2, ids.join());
});
