/** The test of the replays: it tells by name what replay does not notice. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HISTORIES, keepHistories } from '../../scripts/lib/kept-histories.mjs';
import { readEdits, replays } from '../../scripts/replays.mjs';
import { test } from '../support/sliced.ts';

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

test('an edit that only the history of a release does not survive is noticed by that one', async () => {
  const edit = (await readEdits()).find(({ name }) => name === 'plan-observes-twice');
  assert.ok(edit !== undefined);
  const folder = await mkdtemp(join(tmpdir(), 'cambist-histories-'));
  try {
    await copyFile(join(HISTORIES, 'happy-plan.json'), join(folder, 'happy-plan.json'));
    keepHistories('0.1.0', folder);
    // The newest ones were recorded anew after the edit.
    await rm(join(folder, 'happy-plan.json'));
    assert.deepEqual(await replays({ edits: [edit], histories: folder }), {
      edits: 1,
      detected: 1,
      failures: [],
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
