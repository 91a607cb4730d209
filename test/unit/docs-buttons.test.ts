/** docs/operations/buttons.md says what each button does, and each of its rows is pressed by a test. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MACHINES } from '../../scripts/proof.mjs';
import { BESIDE, ELSEWHERE, ON_DEV_SERVER, ON_REAL_SERVER, ON_RUNS } from '../support/button-rows.ts';
import { readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

const rows = readPage('docs/operations/buttons.md').rows('Every button of Temporal');
const named = rows.map(([buttons = '', on = '']) => `${buttons} | ${on.replaceAll('`', '')}`);

/** What the UI and the command line offer for any workflow. */
const BUTTONS = [
  'Reset',
  'Reset many to the first event',
  'Reset many to the last event',
  'Cancel',
  'Terminate',
  'Delete',
  'Start like this one',
  'Signal',
  'Update',
  'Pause',
  'Start under another id',
  'Signal with start',
  'Update with start',
  'Update options',
];
const KINDS = ['run', 'plan', 'instructions', 'chunk', 'turn', 'halt', 'scheduled'];

test('each row of the page is pressed by a test, and each test has its row', () => {
  assert.deepEqual(
    named.toSorted(),
    [...ON_DEV_SERVER, ...ON_RUNS, ...ON_REAL_SERVER, ...BESIDE, ...Object.keys(ELSEWHERE)].toSorted(),
  );
});

test('the tests of other files that press a row are there', () => {
  for (const [row, shown] of Object.entries(ELSEWHERE))
    for (const { file, title } of shown)
      assert.ok(readFileSync(join(ROOT, 'test', file), 'utf8').includes(title), `${row}: ${file}: ${title}`);
});

test('the page says by which machine each row is pressed: those of Pause of a workflow on the server that has it', () => {
  const filesOf = (machine: string): readonly string[] =>
    MACHINES.find(({ name }) => name === machine)?.files ?? [];
  const pauses = named.filter((row) => /^Pause, Unpause \| (?!schedule$)/.test(row));
  assert.deepEqual(pauses.toSorted(), [...ON_REAL_SERVER].toSorted());
  assert.ok(filesOf('server').includes('machines/temporal-server.test.ts'));
  const pressing = ['buttons', 'buttons-of-runs', 'buttons-beside'].map((file) => `machines/${file}.test.ts`);
  const others = Object.values(ELSEWHERE).flatMap((shown) => shown.map(({ file }) => file));
  for (const file of [...pressing, ...others]) assert.ok(filesOf('buttons').includes(file), file);
});

test('each button stands once for each kind of workflow', () => {
  const ofWorkflows = rows.filter(([, on = '']) => !on.startsWith('activity'));
  const cells = ofWorkflows.flatMap(([buttons = '', on = '']) =>
    buttons
      .split(', ')
      .flatMap((button) => on.split(', ').map((kind) => `${button} ${kind.replaceAll('`', '')}`)),
  );
  assert.deepEqual(
    cells.filter((cell, index) => cells.indexOf(cell) !== index),
    [],
  );
  const missing = BUTTONS.flatMap((button) => KINDS.map((kind) => `${button} ${kind}`)).filter(
    (cell) => !cells.includes(cell),
  );
  assert.deepEqual(missing, []);
});

test('each row says what happens to money, what people see, and how it is undone', () => {
  for (const row of rows) {
    assert.equal(row.length, 5, row.join(' | '));
    for (const cell of row) assert.notEqual(cell, '', row.join(' | '));
  }
});
