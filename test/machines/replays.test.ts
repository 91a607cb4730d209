/** The test of the replays: its edits fit the sources, and it tells by name what replay does not notice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { planted } from '../../scripts/lib/defects.mjs';
import { readEdits, replays } from '../../scripts/replays.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('there are twenty incompatible edits and more, each with a name, a sentence, and what it replaces', async () => {
  const edits = await readEdits();
  assert.ok(edits.length >= 20, `${edits.length}`);
  assert.equal(new Set(edits.map(({ name }) => name)).size, edits.length);
  for (const edit of edits) {
    assert.match(edit.name, /^[a-z-]+$/);
    assert.match(edit.what, /^[A-Z].*\.$/);
    for (const { before, after } of planted(edit, ROOT)) assert.notEqual(before, after, edit.name);
  }
});

test('an edit counts only when replay notices it: others are told by name, as is one that fits nothing', async () => {
  const incompatible = (await readEdits()).find(({ name }) => name === 'plan-observes-twice');
  assert.ok(incompatible !== undefined);
  const kept = (replace: string, by: string) => [
    { file: 'workflows/instructions.ts', inside: 'KEPT_MS', replace, by },
  ];
  const harmless = {
    name: 'instructions-kept-longer',
    what: 'A timer of another length.',
    change: kept('90', '91'),
  };
  const broken = { name: 'instructions-unreadable', what: 'Half a line.', change: kept('90', '(') };
  const stale = { name: 'instructions-gone', what: 'What is not there.', change: kept('no such thing', '') };
  const outcome = await replays({ edits: [incompatible, harmless, broken, stale] });
  assert.deepEqual([outcome.edits, outcome.detected], [4, 1]);
  const told = outcome.failures.toSorted().map((line) => line.split(':')[0]);
  assert.equal(told.length, 3);
  assert.match(told[0] ?? '', /^Defect 'instructions-gone' does not fit workflows\/instructions\.ts/);
  assert.match(told[1] ?? '', /^instructions-kept-longer is NOT NOTICED/);
  assert.match(told[2] ?? '', /^instructions-unreadable cannot be judged/);
});
