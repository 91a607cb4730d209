/** The changes that the tests of the tests plant: each of them still fits the sources. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planted, readDefects, type Change } from '../../scripts/lib/defects.mjs';
import { readEdits } from '../../scripts/replays.mjs';
import { ROOT } from '../support/root.ts';

test('every planted defect fits the sources as they are, and changes them', async () => {
  const defects = await readDefects(ROOT);
  assert.deepEqual(defects.flatMap(misfitOf), []);
  const promises = new Set(defects.map(({ breaks }) => breaks));
  assert.deepEqual([...promises].toSorted(), ['M1', 'M2', 'M3', 'M4', 'M5', 'M6', 'M7', 'M8']);
});

test('there are twenty incompatible edits and more, each with a name, a sentence, and a change that fits', async () => {
  const edits = await readEdits();
  assert.ok(edits.length >= 20, `${edits.length}`);
  assert.equal(new Set(edits.map(({ name }) => name)).size, edits.length);
  assert.deepEqual(edits.flatMap(misfitOf), []);
  for (const edit of edits) {
    assert.match(edit.name, /^[a-z-]+$/);
    assert.match(edit.what, /^[A-Z].*\.$/);
  }
});

/** What is wrong with a planted change, in words. */
function misfitOf(change: Change): readonly string[] {
  try {
    const idle = planted(change, ROOT).filter(({ before, after }) => before === after);
    return idle.map(({ path }) => `${change.name} changes nothing in ${path}`);
  } catch (error) {
    return [String(error)];
  }
}
