/** Batches: what their runs and their chunks make of a day, each alone and two of one policy. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  END,
  GO_ON,
  LOST_REQUEST,
  START,
  after,
  assertDoneOnce,
  at,
  before,
  late,
  refused,
  reset,
  story,
  type Given,
} from '../machines/model/story.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const code = 'WITHDRAWAL_ADDRESS_NOT_VERIFIED';
const RICH = { alsoMxn: '5000' } as const;
const BATCH: Given = { batch: { chunks: [2, 1] }, service: RICH };

describe('a batch', () => {
  test('sums up what all of its chunks have paid', async () => {
    const end = await story().given(BATCH).play();
    assertDoneOnce(end);
    assert.deepEqual(end.report.totals, [
      { currency: 'MXN', planned: '602', paid: '602', notPaid: '0', needsHuman: '0' },
    ]);
  });

  test('ends when its last chunk is done', async () => {
    const end = await story()
      .given({ ...BATCH, batch: { chunks: [1, 4] } })
      .play();
    assertDoneOnce(end);
  });

  test('given histories that grow long at once, then nothing is forgotten', async () => {
    const end = await story()
      .given({ ...BATCH, longHistory: 4 })
      .play();
    // The last chunk goes on in a new history as the run ends.
    const [run = assert.fail('There is a run.')] = end.afterwards;
    assertDoneOnce(run);
  });

  for (const [what, happens] of [
    ['', []],
    [', and was reset a moment before', [[reset(2), 1]]],
    [', and its payment has come back', [[{ kind: 'word', item: 1, word: 'RETURNED' }, 0]]],
  ] as const)
    test(`when a chunk that is done goes on in a new history as the other one is paid and the run ends${what}, then nothing is told as pending`, async () => {
      // Ten minutes after its go the chunk asks for it once more, and its history is long by then.
      for (let atMs = 10 * MINUTE_MS - SECOND_MS; atMs < 10 * MINUTE_MS - 500; atMs += 50) {
        const paid = (item: 1 | 2, plusMs: number) =>
          [
            { ...START, plusMs },
            { kind: 'word', item, word: 'COMPLETED' },
          ] as const;
        let day = story()
          .given({
            batch: { chunks: [1, 1] },
            service: { ...RICH, paysAfterMs: 20 * HOUR_MS },
            longHistory: 8,
          })
          .when(...paid(1, MINUTE_MS))
          .when(...paid(2, atMs));
        for (const [misfortune, of] of happens)
          day = day.when({ ...START, plusMs: atMs + 1_075 }, misfortune, of);
        const { report } = await day.play();
        const outcomes = report.payments.map(({ outcome }) => outcome);
        assert.deepEqual(
          outcomes.filter((outcome) => outcome === 'PENDING'),
          [],
        );
        assert.equal(report.status, outcomes.includes('NOT_PAID') ? 'PARTIAL' : 'COMPLETED');
      }
    });

  test('given payments whose requests were lost, when somebody pauses the run of their batch, then its chunks send nothing until it is unpaused', async () => {
    const end = await story()
      .given({ ...BATCH, withdrawal: [LOST_REQUEST, LOST_REQUEST, LOST_REQUEST] })
      .when(before('send withdrawal', { plusMs: 10 }), { kind: 'pause', ms: HOUR_MS })
      .play();
    assertDoneOnce(end);
    const [first = 0] = end.writes.map(({ sentAtMs }) => sentAtMs);
    const later = end.writes.map(({ sentAtMs }) => sentAtMs - first).filter((ms) => ms > 11 * SECOND_MS);
    assert.ok(later.length > 0 && later.every((ms) => ms > HOUR_MS - MINUTE_MS));
  });

  test('given one whose chunk is paused, then the other chunk goes on, and each is paid once', async () => {
    const end = await story()
      .given({ ...BATCH, batch: { chunks: [4, 3] }, service: { alsoMxn: '50000' } })
      .when(before('send withdrawal', { plusMs: 10 }), { kind: 'pause', ms: HOUR_MS }, 1)
      .play();
    assertDoneOnce(end);
  });

  test('given one that stopped at a refusal, when it is reset at its very end, then all is paid', async () => {
    const end = await story()
      .given({ batch: { chunks: [2, 1], stopAfter: 1 }, service: RICH, withdrawal: [refused(code)] })
      .when({ ...END, plusMs: MINUTE_MS }, reset())
      .play();
    assertDoneOnce(end);
  });

  test('given a service that keeps keys for each API key, when everything is lost and submitted again under another one, then each is paid once', async () => {
    const end = await story()
      .given({ ...BATCH, service: { ...RICH, keysBelongTo: 'api key' } })
      .when(after('send withdrawal'), { kind: 'terminate', againAfterMs: 5 * MINUTE_MS, plan: 'lost' })
      .when(after('send withdrawal', { plusMs: SECOND_MS }), { kind: 'credentials', use: 'another key' })
      .play();
    assertDoneOnce(end);
  });
});

describe('of two batches of one policy, which share a payment', () => {
  test('the later one leaves it to the one before', async () => {
    const end = await story()
      .given({ ...BATCH, secondAfterMs: 2 * HOUR_MS })
      .play();
    assertDoneOnce(end);
    assert.deepEqual(
      end.runs[1]?.report.payments.map(({ outcome }) => outcome),
      ['NOT_PAID'],
    );
  });

  test('given lists without tags, the later one leaves it to the one before all the same', async () => {
    const end = await story()
      .given({ ...BATCH, service: { ...RICH, metadataInLists: 'never' }, secondAfterMs: 2 * HOUR_MS })
      .play();
    assertDoneOnce(end);
    assert.deepEqual(end.runs[1]?.withdrawals, []);
  });

  test('given lists without tags, when the earlier one learns which record is its own, then the later one no longer waits for a person', async () => {
    const end = await story()
      .given({
        batch: { chunks: [2], otherChunks: [1] },
        service: { alsoMxn: '50000', metadataInLists: 'never' },
        // The first of the two plans waits, and the other batch pays before it.
        reads: { withdrawals: ['500'] },
        withdrawal: [late(5 * SECOND_MS)],
        secondAfterMs: 0,
      })
      .when(before('send withdrawal'), { kind: 'halt', policy: null, currency: null, forMs: 500 })
      .play();
    assert.deepEqual(
      end.report.payments.map(({ outcome }) => outcome),
      ['NOT_PAID', 'PAID'],
    );
  });

  test('given that neither could be paid, when the later one goes on before the other, then only one pays it', async () => {
    const end = await story()
      .given({
        batch: { chunks: [1], otherChunks: [1] },
        service: { ...RICH, stores: 'nothing else' },
        secondAfterMs: 30,
      })
      .when(START, { kind: 'refuses', step: 'withdrawal', code, ms: 5 * MINUTE_MS })
      .when(at('end', { nth: 2, plusMs: 10 * MINUTE_MS }), GO_ON, 2)
      .when(at('end', { nth: 2, plusMs: 20 * MINUTE_MS }), GO_ON)
      .play();
    assert.deepEqual(
      end.runs.map(({ withdrawals }) => withdrawals.length),
      [0, 1],
    );
  });
});
