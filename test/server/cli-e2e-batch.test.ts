/** A large batch from the command line, through everything that goes wrong on the way; ten thousand: `npm run proof -- batch`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { payThroughKills } from '../support/killed-batch.ts';

const PAYMENTS = 1_000;

test('of a batch of 1,000 everybody is paid once though two workers are killed and one reply of fifty is lost', async () => {
  assert.equal(await payThroughKills(PAYMENTS), PAYMENTS);
});
