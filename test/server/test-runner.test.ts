/**
 * The runner of the tests itself, as processes: what keeps a file from being green without its tests. `npm test` and the
 * machines of the proof that are tests run their files by it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { NOT_ASKED } from '../../scripts/lib/slice.mjs';
import { startTests } from '../../scripts/lib/start-tests.mjs';

const PASSES = `test('two and one', () => {});`;

/** What comes of files of tests that hold this; those of one part share a process. */
async function run(t: TestContext, ...parts: readonly Readonly<Record<string, string>>[]) {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-runner-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'unit'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of parts.flatMap((part) => Object.entries(part))) {
    const file = join(folder, 'unit', `${name}.test.js`);
    writeFileSync(file, `import { describe, test } from 'node:test';\n${text}\n`);
  }
  return startTests({
    parts: parts.map((part, index) => {
      const files = Object.keys(part).map((name) => `unit/${name}.test.ts`);
      return { name: `part ${index}`, filesAtOnce: 1, files, startsNothing: true };
    }),
    folder,
    output: 'ignore',
  });
}

test('a process that ends before its tests do, a file without a test and a skip without a reason are failures', async (t) => {
  const endsEarly = `${PASSES}\ntest('the end', () => process.exit(0));\ntest('after it', () => {});`;
  const { exitCode, found } = await run(
    t,
    { 'ends-early': endsEarly },
    {
      passes: PASSES,
      'has-no-test': '',
      'has-an-empty-suite': `describe('nothing', () => {});`,
      'skips-in-silence': `${PASSES}\ntest('left out', { skip: true }, () => {});`,
      'skips-for-a-reason': `test('left out', { skip: 'there is no browser' }, () => {});`,
    },
  );
  assert.ok(found !== null);
  assert.equal(exitCode, 1);
  const failed = found.failed.map(({ where, title }) => `${where}: ${title}`);
  assert.deepEqual(failed.toSorted(), [
    'unit/ends-early.test.ts: its process ended before it did',
    'unit/has-an-empty-suite.test.ts: it has no test',
    'unit/has-no-test.test.ts: it has no test',
    'unit/skips-in-silence.test.ts: left out (is skipped, and does not say why)',
  ]);
  assert.deepEqual(
    found.skipped.map(({ where, title, why }) => [where, title, why]),
    [['unit/skips-for-a-reason.test.ts', 'left out', 'there is no browser']],
  );
});

test('what another slice plays is neither passed nor skipped, and nothing that is skipped makes a run green', async (t) => {
  const elsewhere = `test('elsewhere', { skip: ${JSON.stringify(NOT_ASKED)} }, () => {});`;
  const ofSlice = await run(t, { elsewhere });
  assert.deepEqual(
    [ofSlice.exitCode, ofSlice.found?.passed, ofSlice.found?.skipped, ofSlice.found?.notAsked],
    [0, 0, [], 1],
  );
  const skipped = await run(t, { skipped: `test('left out', { skip: 'there is no browser' }, () => {});` });
  assert.deepEqual([skipped.exitCode, skipped.found?.failed], [1, []]);
});

test('a runner that is killed has told nothing', async (t) => {
  const { exitCode, found } = await run(t, {
    kills: `test('kill', () => process.kill(process.ppid, 'SIGKILL'));`,
  });
  assert.deepEqual([exitCode, found], [130, null]);
});
