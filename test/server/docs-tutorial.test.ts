/** The README, and the tutorial that goes on from it, do what they show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../support/docs-tables.ts';
import { typePage } from '../support/typed-page.ts';

test('every command of the README and of the tutorial prints what the page shows', async (t) => {
  // What sets up and tests this folder is under way already.
  const readme = readPage('README.md').text.replace(/^```sh\nnpm run demo [^]*?^```$/m, '');
  const typed = await typePage(t, `${readme}\n${readPage('docs/tutorial.md').text}`);
  assert.ok(typed >= 30, `Only ${typed} commands were found.`);
});
