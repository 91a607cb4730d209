/** The walk of every schedule with at most two faults (`npm run walk`): that it finds what is there to be found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOfWalk, walkHere } from './model/walk.ts';

test('no promise breaks in a small part of the walk, and from one fault many courses go on', async () => {
  const { schedules, states, failure } = await walkHere({
    world: 'one payment',
    slice: { number: 1, of: 2_000 },
  });
  assert.equal(failure, null, failure === null ? '' : textOfWalk(failure));
  assert.ok(states > 200, `${states} courses`);
  assert.ok(schedules > 10, `${schedules} schedules`);
});
