/**
 * Replies that never come, come odd, or come before the deed: whatever the service did by then, it has done it once when the run
 * is over, and the run is over without anybody's help.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WriteFault } from '../machines/model/schedule.ts';
import {
  LOST_REPLY,
  LOST_REQUEST,
  assertDoneOnce,
  late,
  story,
  type Ending,
  type Given,
} from '../machines/model/story.ts';

const STEPS = ['trade', 'withdrawal'] as const;
type Step = (typeof STEPS)[number];

/** What happens to a reply, and how often the request then goes out. */
const LOST: readonly (readonly [string, WriteFault, number, Given['service']?])[] = [
  ['is lost', LOST_REPLY, 1],
  ['is lost, and the lists lag behind', LOST_REPLY, 2, { lagMs: 12_000 }],
  ['is a gateway’s page although it was executed', { kind: 'html', committed: true }, 1],
  ['is a gateway’s page and nothing was executed', { kind: 'html', committed: false }, 2],
  ['never comes because the request did not arrive', LOST_REQUEST, 2],
  ['is about something else, although it was executed', { kind: 'odd success', committed: true }, 1],
  ['is about something else, and nothing was executed', { kind: 'odd success', committed: false }, 2],
  ['comes after the time limit', { kind: 'slow network', ms: 16_000 }, 1],
  ['is lost, and it is booked seconds later', late(3_000), 1],
  ['is lost, the key stays free, and it is booked seconds later', late(3_000, { key: 'free' }), 1],
  [
    'is a failure that is kept, and it is booked seconds later',
    late(3_000, { key: 'stored', reply: '500' }),
    1,
  ],
  ['is a failure, and it is booked while the same is being sent again', late(11_000, { reply: '500' }), 2],
];

function keysOf(end: Ending, step: Step): readonly string[] {
  return end.writes.flatMap(({ write }) => (write.step === step && 'key' in write ? write.key : []));
}

describe('whatever happens to a reply, each movement happens once', () => {
  for (const step of STEPS)
    describe(`the reply to a ${step}`, () => {
      for (const [what, fault, sends, service = {}] of LOST)
        test(`${what}: one movement, one key, and the run completes`, async () => {
          const end = await story()
            .given({ service, [step]: [fault] })
            .play();
          assertDoneOnce(end);
          const keys = keysOf(end, step);
          assert.equal(keys.length, sends);
          assert.equal(new Set(keys).size, 1);
          assert.equal(end.asked('send quote'), 1);
        });
    });

  describe('everything that can be lost is lost at once', () => {
    test('every first reply of a run', async () => {
      const end = await story()
        .given({ quote: [LOST_REPLY], trade: [LOST_REPLY], withdrawal: [LOST_REPLY] })
        .play();
      assertDoneOnce(end);
    });

    test('the reply to a trade, and to the look after it', async () => {
      const end = await story()
        // The first look is the plan's, which is made once it can be read.
        .given({ trade: [LOST_REPLY], reads: { trades: ['none', 'html'] } })
        .play();
      assertDoneOnce(end);
    });

    test('twins to one account: the lost one is told from the other by its tag', async () => {
      const end = await story()
        .given({ policy: { pays: 'twins' }, service: { alsoMxn: '50000' }, withdrawal: [LOST_REPLY] })
        .play();
      assertDoneOnce(end);
      assert.equal(keysOf(end, 'withdrawal').length, 2);
    });
  });

  describe('where lists show no tags, the same key again is the look', () => {
    const SILENT = { metadataInLists: 'never', stores: 'every error' } as const;
    for (const [what, fault] of [
      ['a lost reply', LOST_REPLY],
      ['a late booking', late(3_000)],
    ] as const)
      test(`${what} of a withdrawal`, async () => {
        const end = await story()
          .given({ service: SILENT, withdrawal: [fault] })
          .play();
        assertDoneOnce(end);
        const keys = keysOf(end, 'withdrawal');
        assert.ok(keys.length >= 2);
        assert.equal(new Set(keys).size, 1);
      });

    test('twins whose replies are both lost are both paid, once each', async () => {
      const end = await story()
        .given({
          policy: { pays: 'twins' },
          service: { ...SILENT, alsoMxn: '50000' },
          withdrawal: [LOST_REPLY, LOST_REPLY],
        })
        .play();
      assertDoneOnce(end);
      assert.equal(new Set(keysOf(end, 'withdrawal')).size, 2);
    });
  });
});
