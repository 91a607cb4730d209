/**
 * The bug bench itself (`scripts/bugs.mjs`): the defects still fit the sources, and the bench tells one that is caught
 * from one that survives or that nobody could judge. Running them all is for `npm run bugs`.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bugs } from '../scripts/bugs.mjs';
import { planted, readDefects, type Defect } from '../scripts/lib/defects.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

test('every planted defect fits the sources as they are, and changes them', async () => {
  const defects = await readDefects(ROOT);
  assert.deepEqual(defects.flatMap(misfitOf), []);
  const promises = new Set(defects.map(({ breaks }) => breaks));
  assert.deepEqual([...promises].toSorted(), ['M1', 'M2', 'M3', 'M4', 'M5', 'M6', 'M7', 'M8']);
});

/** What is wrong with a defect's change, in words. */
function misfitOf(defect: Defect): readonly string[] {
  try {
    const idle = planted(defect, ROOT).filter(({ before, after }) => before === after);
    return idle.map(({ path }) => `${defect.name} changes nothing in ${path}`);
  } catch (error) {
    return [String(error)];
  }
}

const DEFECT: Defect = {
  name: 'less',
  what: 'Takes away.',
  breaks: 'M5',
  caught_by: ['sum'],
  change: '--- sum.ts\n- return a + b;\n+ return a - b;\n',
};

test('a change that fits nowhere or twice is refused by the name of its defect', (t) => {
  const root = treeOf(t, { 'sum.ts': 'return a + b;\n  return a + b;\nend\n' });
  assert.throws(() => planted(DEFECT, root), /^ScriptFailed: Defect 'less' does not fit sum\.ts .* 2 times/);
  const other = { ...DEFECT, change: '--- sum.ts\n- return a * b;\n' };
  assert.throws(() => planted(other, root), /^ScriptFailed: Defect 'less' does not fit sum\.ts .* 0 times/);
  const next = { ...DEFECT, change: '--- sum.ts\n- return a + b;\n  end\n+ // over\n' };
  assert.deepEqual(
    planted(next, root).map(({ after }) => after),
    ['return a + b;\nend\n// over\n'],
  );
});

const SOURCES = {
  'package.json': '{ "type": "module" }',
  'sum.ts': 'export const sum = (a: number, b: number) => {\nreturn a + b;\n};\n',
  'test/sum.test.ts': `
    import assert from 'node:assert/strict';
    import { test } from 'node:test';
    import { sum } from '../sum.ts';
    test('two and one are three', () => assert.equal(sum(2, 1), 3));
  `,
};
const yamlOf = (change: string) =>
  `- { name: less, what: Takes away., breaks: M5, caught_by: [sum], change: ${JSON.stringify(change)} }`;

test('a defect counts as caught only by a failed assertion', async (t) => {
  const verdictOn = async (change: string) =>
    bugs({ root: treeOf(t, { ...SOURCES, 'test/bugs/some.yaml': yamlOf(change) }) });
  assert.deepEqual(await verdictOn(DEFECT.change), { planted: 1, caught: 1, failures: [] });
  const survivor = await verdictOn('--- sum.ts\n- return a + b;\n+ return b + a;\n');
  assert.equal(survivor.caught, 0);
  assert.match(survivor.failures.join(), /^less SURVIVES sum: Takes away\.$/);
  const unread = await verdictOn('--- sum.ts\n- return a + b;\n+ return a +;\n');
  assert.equal(unread.caught, 0);
  assert.match(unread.failures.join(), /^less is PLANTED BADLY, sum cannot judge it/);
  const thrown = await verdictOn('--- sum.ts\n- return a + b;\n+ throw new Error("no sum");\n');
  assert.equal(thrown.caught, 0);
  assert.match(thrown.failures.join(), /^less is PLANTED BADLY, sum cannot judge it: .*no sum/);
});

test('a test that fails by itself catches nothing', async (t) => {
  const failing = SOURCES['test/sum.test.ts'].replace('3)', '4)');
  const root = treeOf(t, {
    ...SOURCES,
    'test/sum.test.ts': failing,
    'test/bugs/some.yaml': yamlOf(DEFECT.change),
  });
  const { caught, failures } = await bugs({ root });
  assert.equal(caught, 0);
  assert.match(failures.join(), /^sum fails without any defect/);
});

/** A folder with these files. */
function treeOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'cambist-planted-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}
