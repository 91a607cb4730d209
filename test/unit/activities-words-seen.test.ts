/** What people said may be deleted in Temporal, and kept anew without some of it: a worker that has read more sends nothing (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { InstructionsFewer, type Deps } from '../../activities/deps.ts';
import { remembering } from '../../activities/words-seen.ts';
import type { Fact, Kept } from '../../domain/people/instructions.ts';
import { instructionsOf } from '../support/activities.ts';
import { kept } from '../support/instructions.ts';
import { RUN } from '../support/scripts.ts';

const CANCEL = { kind: 'cancel', id: 'first' } as const;
const GO_ON = { kind: 'go-on', item: null, id: 'second' } as const;
const OPENED: Fact = { kind: 'opened', item: 'supplier', generation: 2, atMs: 1 };
const withFacts = (said: Kept, ...facts: readonly Fact[]): Kept => ({ ...said, facts });

/** A worker that reads what `now` is at that moment, and knows this from journals. */
function reader(before: ReadonlyMap<string, ReadonlySet<string>> = new Map()) {
  let now: Kept = kept();
  const read: Deps['instructions']['read'] = async () => now;
  const instructions = remembering({ ...instructionsOf(), read }, before);
  return {
    reads: (what: Kept, chunk?: number, run = RUN): Promise<Kept> => {
      now = what;
      return instructions.read('SANDBOX', run, chunk);
    },
  };
}

const isFewer =
  (missing: number) =>
  (error: unknown): boolean =>
    error instanceof InstructionsFewer && error.missing === missing;

test('a record that grows is read; one that was deleted, cut or replaced by another one is not, until all is there again', async () => {
  const { reads } = reader();
  await reads(kept());
  await reads(kept(CANCEL));
  await reads(kept(CANCEL, GO_ON));
  for (const [less, missing] of [
    [kept(), 2],
    [kept(CANCEL), 1],
    [kept({ ...CANCEL, id: 'third' }, GO_ON), 1],
  ] as const)
    // One after the other.
    await assert.rejects(reads(less), isFewer(missing));
  assert.equal((await reads(kept(CANCEL, GO_ON))).instructions.length, 2);
});

test('facts about sends that are gone are missed as well', async () => {
  const { reads } = reader();
  await reads(withFacts(kept(), OPENED));
  await assert.rejects(reads(kept(CANCEL)), isFewer(0));
  await reads(withFacts(kept(CANCEL), OPENED));
});

test('each run, and each chunk of a batch, is missed for itself', async () => {
  const { reads } = reader();
  await reads(kept(CANCEL));
  await reads(kept(), 1);
  await reads(withFacts(kept(), OPENED), 2);
  await reads(kept(), undefined, { ...RUN, policy: 'other' });
  await assert.rejects(reads(kept(), 2), isFewer(0));
});

test('what workers before this one have read is missed too', async () => {
  const { reads } = reader(new Map([['p.2026-11-21', new Set(['first'])]]));
  await assert.rejects(reads(kept()), isFewer(1));
  await reads(kept(CANCEL));
});

test('a reading that began before a word was kept, and ends later than one that has it, misses nothing', async () => {
  const answers: ((what: Kept) => void)[] = [];
  const read: Deps['instructions']['read'] = () => new Promise((resolve) => answers.push(resolve));
  const instructions = remembering({ ...instructionsOf(), read }, new Map());
  const [early, late] = [instructions.read('SANDBOX', RUN), instructions.read('SANDBOX', RUN)];
  while (answers.length < 2) await setImmediate();
  answers[1]?.(kept(CANCEL));
  await late;
  answers[0]?.(kept());
  await assert.doesNotReject(early);
});
