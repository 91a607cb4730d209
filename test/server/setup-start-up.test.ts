// What the built command really loads, counted in its process: few files, Temporal only where it is used, its native part only
// by a worker.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from '../support/root.ts';

/** Tells at the end what was loaded of CommonJS, as the bundled command line and all of Temporal are. */
const TELL = `import { createRequire } from 'node:module';
const { cache } = createRequire(import.meta.url.startsWith('file:') ? import.meta.url : 'file:///');
process.on('exit', () => process.stderr.write('LOADED ' + JSON.stringify(Object.keys(cache))));`;

async function loadedBy(...argv: readonly string[]): Promise<readonly string[]> {
  const tell = `data:text/javascript,${encodeURIComponent(TELL)}`;
  const { stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', tell, 'bin/cambist.mjs', ...argv],
    { cwd: ROOT },
  );
  const loaded: readonly string[] = JSON.parse(/LOADED (.*)$/s.exec(stderr)?.[1] ?? 'null');
  return loaded.map((file) => file.slice(ROOT.length));
}

const isOfPackage = (file: string): boolean => /^.?node_modules/.test(file);

const isTemporal = (file: string): boolean => /node_modules.@temporalio/.test(file);
const isNative = (file: string): boolean =>
  file.endsWith('.node') || /node_modules.@temporalio.(worker|core-bridge)/.test(file);

test('the version is read from one file, the overview takes four, and `check` some more and no file of a package', async () => {
  assert.deepEqual(
    (await loadedBy('--version')).map((file) => basename(file)),
    ['package.json'],
  );
  const overview = await loadedBy('--help');
  assert.ok(overview.length > 0 && overview.length <= 4, overview.join('\n'));
  const check = await loadedBy('check', 'policies/mxn-supplier.yaml');
  assert.ok(check.length <= 50, `${check.length} files`);
  assert.deepEqual([...overview, ...check].filter(isOfPackage), []);
});

const isOfTraces = (file: string): boolean => /opentelemetry/.test(file);

test('help and `check` load nothing of Temporal', async () => {
  for (const argv of [
    ['--help'],
    ['check', 'policies/mxn-supplier.yaml'],
    ['plan', '--help'],
    ['balances', '--help'],
  ])
    assert.deepEqual((await loadedBy(...argv)).filter(isTemporal), [], argv.join(' '));
});

test('no command but `worker` loads the native part of Temporal, and none loads OpenTelemetry where no collector is named', async () => {
  for (const name of ['run', 'status', 'resolve', 'up', 'temporal']) {
    const loaded = await loadedBy(name, '--help');
    assert.ok(loaded.some(isTemporal), name);
    assert.deepEqual(loaded.filter(isNative), [], name);
    assert.deepEqual(loaded.filter(isOfTraces), [], name);
  }
  const worker = await loadedBy('worker', '--help');
  assert.ok(worker.some(isNative));
  assert.deepEqual(worker.filter(isOfTraces), []);
});
