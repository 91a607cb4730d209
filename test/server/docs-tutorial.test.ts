/** The tutorial of the README does what it shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../support/docs-tables.ts';
import { typePage } from '../support/typed-page.ts';

test('every command of the tutorial prints what the README shows', async (t) => {
  const [, tutorial = ''] = /^## Tutorial$([^]*?)^## /m.exec(readPage('README.md').text) ?? [];
  const typed = await typePage(t, tutorial);
  assert.ok(typed >= 15, `Only ${typed} commands were found in the tutorial.`);
});
