/** Sends whose fate nobody knows: what may still be done is never done a second time, and nothing ends before it is known. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  LOST_REPLY,
  LOST_REQUEST,
  after,
  assertDoneOnce,
  before,
  failed,
  late,
  refused,
  story,
} from '../machines/model/story.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CANCEL = { kind: 'cancel', how: 'both' } as const;

describe('a trade in doubt', () => {
  test('given a trade that is booked minutes later, when its quote dies, then no other quote is asked for', async () => {
    const end = await story()
      .given({ trade: [late(10 * MINUTE_MS)] })
      .play();
    assertDoneOnce(end);
    assert.equal(end.asked('send quote'), 1);
  });

  test('given a code that nobody knows, when the lists do not show the trade before its quote is dead, then no other quote is asked for', async () => {
    const end = await story()
      .given({
        policy: { validForSeconds: 3 },
        service: { lagMs: MINUTE_MS },
        trade: [{ kind: 'unknown code', status: 400, committed: true }],
      })
      .play();
    assertDoneOnce(end);
    assert.equal(end.asked('send quote'), 1);
  });
});

describe('a payment in doubt', () => {
  test('given a request that is slow on its way, when the same one is refused meanwhile, then the payment does not end', async () => {
    const end = await story()
      .given({
        service: { stores: 'nothing else' },
        withdrawal: [{ kind: 'slow network', ms: 30_000 }, refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')],
      })
      .play();
    assertDoneOnce(end);
  });

  test('given a failure that is kept under its key, when it is booked an hour later, then no other key is used', async () => {
    const end = await story()
      .given({ withdrawal: [late(HOUR_MS, { key: 'stored' })] })
      .play();
    assertDoneOnce(end);
  });

  test('given a failure of what was executed, when its id cannot be read yet, then the payment does not end', async () => {
    const end = await story()
      .given({ service: { lagMs: MINUTE_MS, lagById: true }, withdrawal: [failed({ committed: true })] })
      .play();
    assertDoneOnce(end);
  });

  test('given a first send that is lost and one that is booked most of a day later, when the run is cancelled, then the last one counts', async () => {
    const end = await story()
      .given({ withdrawal: [LOST_REQUEST, late(23 * HOUR_MS)] })
      .when(after('send withdrawal'), { kind: 'service away', ms: 6 * HOUR_MS })
      .when(after('send withdrawal', { plusMs: 8 * HOUR_MS }), CANCEL)
      .play();
    assertDoneOnce(end);
  });

  test('given a lost reply and a cancelled run, when the lists cannot be read for two days, then the payment is found afterwards', async () => {
    const end = await story()
      .given({ withdrawal: [LOST_REPLY] })
      .when(before('send withdrawal', { plusMs: 500 }), [
        { kind: 'lists unreadable', ms: 2 * DAY_MS },
        CANCEL,
      ])
      .play();
    assertDoneOnce(end);
  });
});

describe('where lists show no tags', () => {
  const SILENT = { metadataInLists: 'never' } as const;

  test('given a lost request and somebody else’s equal payment, then that one is not taken for ours', async () => {
    const end = await story()
      .given({ service: { ...SILENT, twins: true }, withdrawal: [LOST_REQUEST] })
      .play();
    assertDoneOnce(end);
  });

  test('given a lost reply, when the run is cancelled, then a person is asked whether the record is the payment', async () => {
    const end = await story()
      .given({ service: SILENT, withdrawal: [LOST_REPLY] })
      .when(before('send withdrawal', { plusMs: 500 }), CANCEL)
      .until(({ payments }) => payments[0]?.outcome === 'NEEDS_HUMAN')
      .play();
    assert.equal(end.withdrawals.length, 1);
  });

  const NOT_THIS = { kind: 'not this', item: 1 } as const;
  test('given a lost request and somebody else’s equal payment, when the run is cancelled and a person says that it is not ours, then ours ends unpaid', async () => {
    const alone = story().given({ service: { ...SILENT, twins: true }, withdrawal: [LOST_REQUEST] });
    const end = await alone
      .when(before('send withdrawal', { plusMs: 500 }), [CANCEL, { kind: 'away', ms: 2 * DAY_MS }])
      .when(before('send withdrawal', { plusMs: 3 * DAY_MS }), NOT_THIS)
      .until(({ payments }) => payments[0]?.outcome === 'NOT_PAID')
      .play();
    assert.equal(end.withdrawals.length, 0);
    // It ends because nothing of it is there, and not because somebody decided so.
    const { problems } = end.report;
    assert.deepEqual([...new Set(problems.map(({ code }) => code))], ['CANCELLED']);
  });

  test('given a lost reply and somebody else’s equal payment, when a person says that ours is neither, then the same key finds it all the same', async () => {
    const end = await story()
      .given({ service: { ...SILENT, twins: true }, withdrawal: [LOST_REPLY] })
      .when(before('send withdrawal', { plusMs: 500 }), NOT_THIS)
      .play();
    assertDoneOnce(end);
  });

  test('given a lost reply, when nobody is there until the window has passed, then a person is asked', async () => {
    const end = await story()
      .given({ service: SILENT, withdrawal: [LOST_REPLY] })
      .when(before('send withdrawal', { plusMs: 500 }), { kind: 'away', ms: 5.5 * DAY_MS })
      .until(({ payments }) => payments[0]?.outcome === 'NEEDS_HUMAN')
      .play();
    assert.equal(end.withdrawals.length, 1);
  });
});
