/**
 * The model-based test of the promise "money never moves twice": schedules of faults, crashes, resets and people's instructions
 * against the real run and steps, in virtual time (see `test/machines/model/world.ts`). Many more, and that none of
 * their faults is left out: `npm run proof -- fuzz`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runShare, textOfFailure, type Share } from './model/fuzz.ts';

/** Each batch takes many times as long as a run without one. */
const PLAYED: readonly Pick<Share, 'of' | 'schedules'>[] = [
  { of: 'runs', schedules: 300 },
  { of: 'rebalances', schedules: 75 },
  { of: 'batches', schedules: 12 },
];
/** Fixed, so that a change is what breaks the test; other seeds are for `npm run fuzz`. */
const SEED = 20_261_121;

for (const { of, schedules } of PLAYED)
  test(`no promise breaks in ${schedules} schedules of ${of}`, async () => {
    const { failure } = await runShare({ of, schedules, seed: SEED, path: null, shrinks: true });
    assert.equal(failure, null, failure === null ? '' : textOfFailure(failure));
  });
