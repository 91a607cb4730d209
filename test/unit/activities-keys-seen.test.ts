/** Another API key: from which moment a worker counts until nothing of the old key can appear any more (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { datingKeys } from '../../activities/keys-seen.ts';
import type { Fact } from '../../domain/people/instructions.ts';
import { instructionsOf } from '../support/activities.ts';
import { NOW, RUN } from '../support/scripts.ts';

const keyAt = (atMs: number): Fact => ({ kind: 'api key', keyName: 'org/org-1/apiKey/2', atMs });
const OPENED: Fact = { kind: 'opened', item: 'supplier', generation: 2, atMs: 1 };

function reader() {
  let [nowMs, facts]: [number, readonly Fact[]] = [NOW, []];
  const instructions = datingKeys(
    { ...instructionsOf(), read: async () => ({ instructions: [], facts }), note: async () => {} },
    { wallMs: () => nowMs },
  );
  return {
    notes: (fact: Fact) => instructions.note('SANDBOX', RUN, [fact]),
    reads: async (atMs: number, ...what: readonly Fact[]) => {
      [nowMs, facts] = [atMs, what];
      return (await instructions.read('SANDBOX', RUN)).facts;
    },
  };
}

test('an API key that somebody has noted with an old moment counts from when this worker first reads of it', async () => {
  const { reads } = reader();
  const forged = keyAt(NOW - 86_400_000);
  assert.deepEqual(await reads(NOW, OPENED, forged), [OPENED, keyAt(NOW)]);
  assert.deepEqual(await reads(NOW + 60_000, OPENED, forged), [OPENED, keyAt(NOW)]);
  // Noted once more, it may have been another key in between.
  assert.deepEqual(await reads(NOW + 60_000, keyAt(NOW - 1)), [keyAt(NOW + 60_000)]);
  assert.deepEqual(await reads(NOW, keyAt(NOW + 5_000)), [keyAt(NOW + 5_000)]);
});

test('one that this worker has noted itself counts from then, so that nothing waits twice', async () => {
  const { notes, reads } = reader();
  await notes(keyAt(NOW));
  assert.deepEqual(await reads(NOW + 135_000, keyAt(NOW)), [keyAt(NOW)]);
});
