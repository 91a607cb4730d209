/**
 * The model-based test of the promise "money never moves twice": schedules of faults, crashes, resets and people's instructions
 * against the real course and steps, in virtual time (see `test/machines/model/world.ts`). Longer: `npm run fuzz`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedCells } from './model/coverage.ts';
import { fuzz, textOfFailure } from './model/fuzz.ts';

const SCHEDULES = 20_000;
const REBALANCES = 4_000;
/** Each takes many times as long as one without. */
const BATCHES = 500;
/** Fixed, so that a change is what breaks the test; other seeds are for `npm run fuzz`. */
const SEED = 20_261_121;

test(`no promise breaks in ${SCHEDULES} schedules, ${REBALANCES} of rebalancings and ${BATCHES} of batches, and no fault is left out`, async () => {
  const { counts, failure } = await fuzz({
    schedules: SCHEDULES,
    rebalances: REBALANCES,
    batches: BATCHES,
    seed: SEED,
    processes: 2,
  });
  assert.equal(failure, null, failure === null ? '' : textOfFailure(failure));
  const hit = new Set(counts.map(([cell]) => cell));
  assert.deepEqual(
    expectedCells().filter((cell) => !hit.has(cell)),
    [],
  );
});
