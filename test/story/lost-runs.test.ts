/** Runs that Temporal has lost whole, while the service keeps their records: what was done is adopted, and nobody does it again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN_DAY, TWO_LEGS } from '../machines/model/schedule.ts';
import { after, before, assertDoneOnce, at, story, type Glimpse } from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const VANISH = { kind: 'vanish', againAfterMs: 20 * MINUTE_MS } as const;

for (const moment of [after('send trade'), after('send withdrawal'), at('end')])
  test(`given a run that Temporal loses at "${moment.at}", when somebody starts it again, then it has traded and paid once`, async () => {
    assertDoneOnce(await story().when(moment, VANISH).play());
  });

test('given a rebalancing that Temporal has lost, when another run of the policy begins beside it, then that one waits until it is back', async () => {
  const rebalance = { ...TWO_LEGS, other: 'run' } as const;
  const end = await story({ ...PLAIN_DAY, rebalance })
    .given({ secondAfterMs: 2 * MINUTE_MS })
    .when(after('send trade'), VANISH)
    .play();
  const [first, second] = end.runs;
  const pairsOf = (glimpse: Glimpse | undefined): readonly string[] =>
    (glimpse?.trades ?? []).map(({ sellCurrency, buyCurrency }) => `${sellCurrency} ${buyCurrency}`);
  // What was found is adopted, and nothing is computed a second time: the other run buys what is still missing.
  assert.deepEqual([pairsOf(first), pairsOf(second)], [['MXN USD'], ['USD EUR']]);
  const [lost, bought] = [first, second].map((each) => Date.parse(each?.trades[0]?.createdAt ?? ''));
  assert.ok((bought ?? 0) - (lost ?? 0) >= VANISH.againAfterMs, `${lost} ${bought}`);
});

test('given a batch that Temporal has lost, when another batch has the same payments, then each is paid once', async () => {
  const end = await story()
    .given({
      batch: { chunks: [2, 2], otherChunks: [2] },
      service: { alsoMxn: '5000' },
      secondAfterMs: 2 * MINUTE_MS,
    })
    .when(after('send withdrawal', { nth: 2 }), VANISH)
    .play();
  const paid = end.runs.flatMap(({ withdrawals }) => withdrawals.map(({ tag }) => tag ?? ''));
  const ids = paid.map((tag) => tag.split('.').at(-1));
  assert.equal(new Set(ids).size, ids.length, paid.join());
});

for (const [however, dedupeMs] of [
  ['', 30 * 24 * 60 * MINUTE_MS],
  [', however short `dedupe` is', 60 * MINUTE_MS],
] as const)
  test(`given a batch that Temporal has lost, lists without tags and a payment that was returned, when somebody submits the batch again under another API key, then a person decides whether it is paid again${however}`, async () => {
    const end = await story()
      .given({
        batch: { chunks: [1], dedupeMs },
        service: {
          keysBelongTo: 'api key',
          metadataInLists: 'never',
          returnsAfterMs: 120 * MINUTE_MS,
          alsoMxn: '5000',
        },
      })
      .when(before('send withdrawal'), { ...VANISH, againAfterMs: 24 * 60 * MINUTE_MS })
      .when(before('send withdrawal', { plusMs: 180 * MINUTE_MS }), {
        kind: 'credentials',
        use: 'another key',
      })
      .play();
    assert.deepEqual(
      end.withdrawals.map(({ status }) => status),
      ['RETURNED'],
    );
  });
