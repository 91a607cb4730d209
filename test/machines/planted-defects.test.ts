/**
 * How defects are planted (`scripts/bugs.mjs`): it tells a defect that is caught from one that survives, that does not compile,
 * or that no test could judge. Only `npm run bugs` plants all of them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { bugs } from '../../scripts/bugs.mjs';
import { planted, type Defect } from '../../scripts/lib/defects.mjs';
import { ROOT } from '../support/root.ts';

const edit = (replace: string, by: string) => ({ file: 'sum.ts', inside: 'sum', replace, by });
const DEFECT: Defect = {
  name: 'less',
  what: 'Takes away.',
  breaks: 'M5',
  caught_by: ['sum'],
  change: [edit('a + b', 'a - b')],
};
const SUM = 'export const sum = (a: number, b: number) => {\nreturn a + b;\n};\n';

test('a change that fits nowhere or twice is refused by the name of its defect', (t) => {
  const refuses = (sum: string, why: RegExp) =>
    assert.throws(() => planted(DEFECT, treeOf(t, { 'domain/sum.ts': sum, 'sum.ts': sum })), why);
  refuses(
    'const sum = () => a - b;',
    /^ScriptFailed: Defect 'less' does not fit sum\.ts .* in 'sum' 0 times/,
  );
  refuses('const sum = () => a + b * (a + b);', /Defect 'less' does not fit sum\.ts .* in 'sum' 2 times/);
  refuses(
    'const total = () => a + b;',
    /Defect 'less' does not fit .* declared there 0 times, and in 0 other/,
  );
  refuses('class A { sum() {} } class B { sum() {} }', /Defect 'less' .* 'sum' is declared there 2 times/);
});

test('a change is anchored by names: moves, another layout, comments and edits elsewhere do not cut it', (t) => {
  const plantedIn = (file: string, source: string) =>
    planted(DEFECT, treeOf(t, { [file]: source })).map(({ path, after }) => ({
      name: basename(path),
      after,
    }));
  assert.deepEqual(plantedIn('sum.ts', `const other = a + b;\n${SUM}`), [
    { name: 'sum.ts', after: `const other = a + b;\n${SUM.replace('a + b', 'a - b')}` },
  ]);
  const laidOut = 'class Till {\n sum() { return (\n a + // one\n b\n); } }';
  assert.deepEqual(plantedIn('sum.ts', laidOut), [
    { name: 'sum.ts', after: 'class Till {\n sum() { return (\n a - b\n); } }' },
  ]);
  assert.deepEqual(plantedIn('domain/money/total.ts', SUM), [
    { name: 'total.ts', after: SUM.replace('a + b', 'a - b') },
  ]);
  // A word is not found in a longer one.
  assert.throws(() => plantedIn('sum.ts', 'const sum = () => a + bc'), /in 'sum' 0 times/);
});

const SOURCES = {
  'package.json': '{ "type": "module" }',
  'sum.ts': SUM,
  'test/unit/sum.test.ts': `
    import assert from 'node:assert/strict';
    import { test } from 'node:test';
    import { sum } from '../../sum.ts';
    test('two and one are three', () => assert.equal(sum(2, 1), 3));
  `,
};
const defectBy = (by: string): Defect => ({
  ...DEFECT,
  change: [{ file: 'sum.ts', inside: 'sum', replace: 'return a + b', by }],
});
const yamlOf = (by: string) => JSON.stringify([defectBy(by)]);
const verdictOn = (t: TestContext, by: string, sources: Readonly<Record<string, string>> = SOURCES) =>
  bugs({ root: treeOf(t, { ...sources, 'test/machines/bugs/some.yaml': yamlOf(by) }) });

test('a defect counts as caught only by a failed assertion', async (t) => {
  assert.deepEqual(await verdictOn(t, 'return a - b'), { planted: 1, caught: 1, failures: [] });
  const survivor = await verdictOn(t, 'return b + a');
  assert.equal(survivor.caught, 0);
  assert.match(survivor.failures.join(), /^less SURVIVES sum: Takes away\.$/);
  const thrown = await verdictOn(t, 'if (a > b) throw new Error("no sum"); return a + b');
  assert.equal(thrown.caught, 0);
  assert.match(thrown.failures.join(), /^less is PLANTED BADLY, sum cannot judge it: .*no sum/);
});

test('a defect that does not compile is refused before anything runs, and says why in one line', async (t) => {
  const noTests = { ...SOURCES, 'test/unit/sum.test.ts': 'throw new Error("It runs.");' };
  const refusal = async (by: string) => {
    const { caught, failures } = await verdictOn(t, by, noTests);
    assert.equal(caught, 0);
    return failures;
  };
  assert.deepEqual(await refusal('return a +'), [
    'less does not compile: sum.ts, line 2: Expression expected.',
  ]);
  assert.deepEqual(await refusal('return a + b.length'), [
    "less does not compile: sum.ts, line 2: Property 'length' does not exist on type 'number'.",
  ]);
  assert.deepEqual(await refusal('return `${a + b}`'), [
    'less changes the types of what sum.ts exports: the files that import it are not checked against that.',
  ]);
});

test('what a defect leaves unused is no mistake, nor is another value of a constant', async (t) => {
  assert.equal((await verdictOn(t, 'return a')).caught, 1);
  const constant = {
    ...DEFECT,
    change: [{ file: 'sum.ts', inside: 'ZERO', replace: '0', by: '1' }],
  };
  const root = treeOf(t, {
    ...SOURCES,
    'sum.ts': `export const ZERO = 0;\n${SUM.replace('a + b', 'a + b + ZERO')}`,
    'test/machines/bugs/some.yaml': JSON.stringify([constant]),
  });
  assert.equal((await bugs({ root })).caught, 1);
});

test('a test that fails by itself catches nothing', async (t) => {
  const failing = SOURCES['test/unit/sum.test.ts'].replace('3)', '4)');
  const { caught, failures } = await verdictOn(t, 'return a - b', {
    ...SOURCES,
    'test/unit/sum.test.ts': failing,
  });
  assert.equal(caught, 0);
  assert.match(failures.join(), /^sum fails without any defect/);
});

test('what a catcher has started ends with it, caught or not', async (t) => {
  const { port, begun } = await strays(t);
  const root = treeOf(t, withStray(port, 'stray.unref();'));
  assert.equal((await bugs({ root })).caught, 1);
  // Without the defect, and with it.
  assert.equal(begun.length, 2);
  await Promise.all(begun);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  test(`${signal} ends what a catcher has started, and takes the copies away`, async (t) => {
    const { port, begun, next } = await strays(t);
    const root = treeOf(t, withStray(port, 'await once(stray, "exit");'));
    const copies = treeOf(t, {});
    const script = `import { bugs } from ${JSON.stringify(pathToFileURL(join(ROOT, 'scripts', 'bugs.mjs')))};
      await bugs({ root: ${JSON.stringify(root)} });`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      env: { ...process.env, TMPDIR: copies },
      stdio: 'ignore',
    });
    await next;
    child.kill(signal);
    assert.deepEqual(await once(child, 'exit'), [null, signal]);
    await Promise.all(begun);
    assert.deepEqual(
      readdirSync(copies).filter((name) => name.startsWith('cambist-')),
      [],
    );
  });

/** Where processes connect that a test leaves behind; each of `begun` resolves when that one has ended. */
async function strays(t: TestContext) {
  const begun: Promise<unknown>[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    begun.push(once(socket, 'close'));
    socket.on('error', () => {}).resume();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // A stray that is still there ends with its connection.
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, begun, next: once(server, 'connection') };
}

/** Sources whose test starts a process, as others a Temporal server, and never ends it. */
function withStray(port: number, before: string): Readonly<Record<string, string>> {
  const connect = `require("net").connect(${port}, "127.0.0.1", () => console.log("connected"))`;
  const start = `
    import { spawn } from 'node:child_process';
    import { once } from 'node:events';
    const stray = spawn(process.execPath, ['-e', '${connect}'], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(stray.stdout, 'data');
    stray.stdout.unref();
    ${before}`;
  return {
    ...SOURCES,
    'test/unit/sum.test.ts': `${start}${SOURCES['test/unit/sum.test.ts']}`,
    'test/machines/bugs/some.yaml': yamlOf('return a - b'),
  };
}

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
