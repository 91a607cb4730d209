/**
 * Somebody completes a pending activity in its place, by the button of Temporal's UI or by its command line, with an answer of
 * the right shape. No such answer becomes the end of an item (M1, M3).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN_DAY, TWO_LEGS } from '../machines/model/schedule.ts';
import {
  END,
  START,
  after,
  assertDoneOnce,
  at,
  before,
  story,
  type Ending,
} from '../machines/model/story.ts';

const OTHERS = { kind: 'answered', claim: 'another’s' } as const;
const NOBODYS = { kind: 'answered', claim: 'nobody’s' } as const;
/** What happens to the second run: another policy has paid the same account before. */
const SECOND = 1;
const BESIDE = story().given({
  secondAfterMs: 1_200_000,
  service: { alsoMxn: '50000' },
  policy: { pays: 'fixed' },
});
/** The same, with other amounts. */
const BESIDE_PROCEEDS = BESIDE.given({ policy: { pays: 'proceeds' } });

function assertAllDoneOnce({ runs }: Ending): void {
  for (const run of runs) assertDoneOnce(run);
}

for (const claim of [OTHERS, NOBODYS]) {
  const record = `${claim.claim} record`;
  for (const [lists, metadataInLists] of [
    ['with tags', 'always'],
    ['with some tags', 'mixed'],
    ['without tags', 'never'],
  ] as const)
    test(`${record} is typed in place of a payment, where lists are ${lists}: it is paid once, under its own`, async () => {
      // A record without a tag tells by its amount alone whose it is not.
      const day = metadataInLists === 'always' ? BESIDE : BESIDE_PROCEEDS;
      const end = await day
        .given({ service: { metadataInLists } })
        .when(before('send withdrawal', { nth: 2 }), claim, SECOND)
        .play();
      assertAllDoneOnce(end);
    });

  test(`${record} is typed once the payment has left: it is paid once, under its own`, async () => {
    const end = await BESIDE.when(before('send withdrawal', { nth: 2, plusMs: 1 }), claim, SECOND).play();
    assertAllDoneOnce(end);
  });
}

for (const moment of ['send quote', 'send trade'] as const)
  test(`another’s record is typed in place of a trade, before ${moment}: it is traded once, and its own proceeds are paid`, async () => {
    const end = await BESIDE.when(before(moment, { nth: 2 }), OTHERS, SECOND).play();
    assertAllDoneOnce(end);
  });

test('nobody’s record is typed in place of a trade, before its quote: a person is told, and nothing is traded', async () => {
  const end = await story().when(before('send quote'), NOBODYS).play();
  assert.equal(end.heldBy('RECORD_DIFFERS').trades.length, 0);
  // Once a person has said that it was not made, it is so.
  assert.deepEqual(
    end.report.legs.map(({ outcome }) => outcome),
    ['NOT_TRADED'],
  );
});

test('nobody’s record is typed in place of a trade, which has left: the trade is found, and its proceeds are paid', async () => {
  assertDoneOnce(await story().when(before('send trade'), NOBODYS).play());
});

for (const write of ['trade', 'withdrawal'] as const)
  test(`that nothing was done is typed in place of a ${write}, which the service lists: it is found before the run ends`, async () => {
    const typed = { kind: 'answered', claim: 'undone' } as const;
    assertDoneOnce(
      await story()
        .when(before(`send ${write}`, { plusMs: 100 }), typed)
        .play(),
    );
  });

const UNDONE = { kind: 'answered', claim: 'undone' } as const;
const SLOW = [{ kind: 'slow network', ms: 15_000 }] as const;

for (const [write, given] of [
  ['trade', { trade: SLOW }],
  ['withdrawal', { withdrawal: SLOW }],
] as const)
  test(`that nothing was done is typed in place of a ${write} which is still on its way: the run does not end before it is found`, async () => {
    const end = await story()
      .given(given)
      .when(before(`send ${write}`, { plusMs: 100 }), UNDONE)
      .play();
    assertDoneOnce(end);
    assert.ok(end.held.includes('COMPLETED_BESIDE'), end.held.join());
  });

test('that nothing was done is typed twice in place of one payment of a batch: it is found again', async () => {
  const end = await story()
    .given({ batch: { chunks: [2], parallel: 2 }, service: { alsoMxn: '50000' } })
    .when(at('before result'), UNDONE, 1)
    .when(before('scan withdrawals'), UNDONE, 1)
    .play();
  assertDoneOnce(end);
});

test('that nothing was done is handed on while a payment is still on its way: the run does not end before it is found', async () => {
  const end = await story()
    .given({ withdrawal: SLOW })
    .when(before('send withdrawal', { plusMs: 100 }), { kind: 'handed on', what: 'undone' })
    .play();
  assertDoneOnce(end);
});

for (const [how, given] of [
  ['which the service lists', {}],
  ['which is still on its way', { withdrawal: SLOW }],
] as const)
  test(`that nothing was done is typed in place of a payment of a batch ${how}: the run does not end before it is found`, async () => {
    const end = await story()
      .given({ batch: { chunks: [1, 1] }, service: { alsoMxn: '5000' }, ...given })
      .when(before('send withdrawal', { plusMs: 100 }), UNDONE, 1)
      .play();
    assertDoneOnce(end);
  });

test('given a trade that the service accepts, and shows much later than it says: it is traded once', async () => {
  const end = await story()
    .given({
      service: { lagMs: 600_000, lagById: true, settlesAfterMs: 900_000 },
      policy: { settle: 'status' },
    })
    .play();
  assertDoneOnce(end);
});

test('another’s record is typed while the trade is still on its way: the leg is in doubt, and is traded once', async () => {
  const end = await BESIDE.given({ trade: [{ kind: 'none' }, { kind: 'slow network', ms: 20_000 }] })
    .when(before('send trade', { nth: 2, plusMs: 10 }), OTHERS, SECOND)
    .play();
  assertAllDoneOnce(end);
});

test('one of two equal payments is answered with the record of the other one: each is paid once, under its own', async () => {
  for (const metadataInLists of ['always', 'never'] as const) {
    // One after the other.
    const end = await story()
      .given({ policy: { pays: 'twins' }, service: { alsoMxn: '50000', metadataInLists } })
      .when(before('send withdrawal', { nth: 2 }), OTHERS)
      .play();
    assertDoneOnce(end);
  }
});

test('a poll is answered with another’s record: it ends nothing', async () => {
  for (const metadataInLists of ['always', 'never'] as const) {
    // One after the other.
    const end = await BESIDE.given({ service: { metadataInLists, paysAfterMs: 3_600_000 } })
      .when(after('send withdrawal', { nth: 2, plusMs: 60_000 }), OTHERS, SECOND)
      .play();
    assertAllDoneOnce(end);
    const settling = { settlesAfterMs: 600_000, metadataInLists };
    const settled = await BESIDE.given({ service: settling, policy: { settle: 'status' } })
      .when(after('send trade', { nth: 2, plusMs: 60_000 }), OTHERS, SECOND)
      .play();
    assertAllDoneOnce(settled);
  }
});

test('the sale of a rebalancing is answered with a trade that was not made: no purchase spends what it did not bring', async () => {
  for (const claim of [OTHERS, NOBODYS]) {
    // One after the other.
    const end = await story({ ...PLAIN_DAY, rebalance: TWO_LEGS })
      .when(before('take turn'), claim)
      .play();
    assert.equal(end.heldBy('RECORD_DIFFERS').trades.length, 0);
  }
});

test('a payment of a batch is answered with another’s record: it is paid once, under its own', async () => {
  for (const claim of [OTHERS, NOBODYS]) {
    // One after the other.
    const end = await story()
      .given({ batch: { chunks: [3] }, service: { alsoMxn: '50000' } })
      .when(before('send withdrawal', { nth: 2 }), claim, 1)
      .play();
    assertDoneOnce(end);
    assert.equal(end.withdrawals.length, 3);
  }
});

test('a call about the leg of a cancelled run is answered with a trade that was not made: the run tells of none', async () => {
  for (const claim of [OTHERS, NOBODYS]) {
    // One after the other.
    const end = await story()
      .when(START, { kind: 'cancel', how: 'both' })
      .when(before('read instructions'), claim)
      .play();
    assert.deepEqual(
      end.report.legs.map(({ outcome }) => outcome),
      ['NOT_TRADED'],
    );
  }
});

// A stranger's worker completes a workflow task: the run goes on in a new history, with what he hands on.

for (const [what, named] of [
  ['nobody’s', 'nobody’s records are'],
  ['nothing', 'nothing is'],
  ['undone', 'that nothing was done is'],
] as const) {
  for (const moment of [after('send trade'), before('send withdrawal'), after('send withdrawal')])
    test(`${named} handed on ${moment.at}: all is done once`, async () => {
      assertDoneOnce(await story().when(moment, { kind: 'handed on', what }).play());
    });

  for (const [when, moment] of [
    ['as its batch pays', after('send withdrawal')],
    ['as the run of its batch ends', END],
  ] as const)
    test(`${named} handed on to a chunk ${when}: each payment is made once, and told as paid`, async () => {
      const end = await story()
        .given({ batch: { chunks: [2, 1] }, service: { alsoMxn: '5000' } })
        .when(moment, { kind: 'handed on', what }, 1)
        .play();
      const [run = assert.fail('There is a run.')] = end.afterwards;
      assertDoneOnce(run);
    });
}
