/** The README, and the tutorial that goes on from it, do what they show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readmeAndTutorial, typePage } from '../support/typed-page.ts';

test('every command of the README and of the tutorial prints what the page shows', async (t) => {
  const typed = await typePage(t, readmeAndTutorial());
  assert.ok(typed >= 30, `Only ${typed} commands were found.`);
});
