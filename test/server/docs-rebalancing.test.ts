/** The guide to rebalancing does what it shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../support/docs-tables.ts';
import { typePage } from '../support/typed-page.ts';

test('every command of the rebalancing guide prints what the page shows', async (t) => {
  const typed = await typePage(t, readPage('docs/rebalancing.md').text);
  assert.ok(typed >= 10, `Only ${typed} commands were found in the guide.`);
});
