/** The histories of releases: kept once, and never changed again. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  changedReleases,
  historiesIn,
  historyFolders,
  keepHistories,
} from '../../scripts/lib/kept-histories.mjs';

/** A folder of two histories. */
function twoHistories(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-histories-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['happy', 'held'])
    writeFileSync(join(folder, `${name}.json`), `{"events":[{"workflowId":"sandbox/${name}.1"}]}\n`);
  return folder;
}

test('a release keeps the histories of now, and what is recorded later stands beside them', (t) => {
  const folder = twoHistories(t);
  keepHistories('0.9.0', folder);
  writeFileSync(join(folder, 'happy.json'), '{"events":[]}\n');
  keepHistories('0.10.0', folder);
  const [newest, first, second] = historyFolders(folder);
  assert.deepEqual([newest?.version, first?.version, second?.version], [null, '0.9.0', '0.10.0']);
  const idsIn = (of: string) => [...historiesIn(of)].map(({ workflowId }) => workflowId);
  assert.deepEqual(idsIn(first?.folder ?? ''), ['sandbox/happy.1', 'sandbox/held.1']);
  assert.deepEqual(idsIn(second?.folder ?? ''), ['happy.json', 'sandbox/held.1']);
  assert.deepEqual(idsIn(folder), idsIn(second?.folder ?? ''));
  assert.deepEqual(changedReleases(folder), []);
});

test('a release keeps its histories only once', (t) => {
  const folder = twoHistories(t);
  keepHistories('0.9.0', folder);
  assert.throws(() => keepHistories('0.9.0', folder), /of release 0\.9\.0 are kept already/);
});

const CHANGES: readonly (readonly [what: string, change: (release: string) => void])[] = [
  ['of which one is changed', (release) => writeFileSync(join(release, 'held.json'), '{"events":[]}\n')],
  ['of which one is taken away', (release) => rmSync(join(release, 'held.json'))],
  ['to which one is added', (release) => writeFileSync(join(release, 'late.json'), '{"events":[]}\n')],
];

for (const [what, change] of CHANGES)
  test(`a release ${what} is named`, (t) => {
    const folder = twoHistories(t);
    keepHistories('0.9.0', folder);
    change(join(folder, 'releases', '0.9.0'));
    assert.deepEqual(changedReleases(folder), ['The histories of release 0.9.0 are not as they were kept.']);
  });

test('a release that is gone is named, and so is one that nobody has kept', (t) => {
  const folder = twoHistories(t);
  keepHistories('0.9.0', folder);
  keepHistories('0.10.0', folder);
  rmSync(join(folder, 'releases', '0.9.0'), { recursive: true });
  writeFileSync(join(folder, 'releases', 'digests.json'), '{"0.9.0":"x"}\n');
  assert.deepEqual(readdirSync(join(folder, 'releases')).toSorted(), ['0.10.0', 'digests.json']);
  assert.deepEqual(changedReleases(folder), [
    'The histories of release 0.10.0 are not as they were kept.',
    'The histories of release 0.9.0 are gone.',
  ]);
});
