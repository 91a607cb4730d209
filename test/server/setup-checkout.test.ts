// A fresh checkout sets itself up: installed and built once, redone when half of it is missing, at once otherwise.
// The scripts are the real ones; npm and the compiler are stand-ins that note each call, and so is the bundler, which notes none.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ROOT } from '../support/root.ts';

const LOCK = JSON.stringify({ packages: { '': {}, 'node_modules/typescript': { version: '1.0.0' } } });

const FAKE_NPM = `
  const fs = require('node:fs');
  fs.appendFileSync('calls.log', 'npm ' + process.argv.slice(2).join(' ') + '\\n');
  fs.mkdirSync('node_modules/typescript/bin', { recursive: true });
  fs.cpSync('fake/rolldown', 'node_modules/rolldown', { recursive: true });
  setTimeout(() => {
    fs.copyFileSync('fake/tsc.cjs', 'node_modules/typescript/bin/tsc');
    fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json');
  }, 300);`;

const FAKE_TSC = `
  const fs = require('node:fs');
  fs.appendFileSync('calls.log', 'tsc\\n');
  const source = fs.readFileSync('cli/main.ts', 'utf8');
  if (source.includes('mistake')) { console.log('cli/main.ts(1,1): error TS1: a mistake'); process.exit(2); }
  const out = process.argv[process.argv.indexOf('--outDir') + 1];
  fs.mkdirSync(out + '/cli', { recursive: true });
  fs.writeFileSync(out + '/cli/main.js', source);`;

const FAKE_ROLLDOWN = `
  import fs from 'node:fs';
  import { IN_THE_COMMAND_LINE } from '../../scripts/lib/licences.mjs';
  const moduleIds = IN_THE_COMMAND_LINE.map((name) => '/node_modules/' + name + '/index.js');
  export const rolldown = async ({ input }) => ({
    write: async ({ dir }) => {
      const main = fs.readFileSync(input, 'utf8').replace('export const main', 'exports.main');
      fs.writeFileSync(dir + '/main.cjs', main);
      return { output: [{ type: 'chunk', moduleIds }] };
    },
  });`;

test('a fresh checkout is installed and built by the first command, and by that alone', (t) => {
  const checkout = freshCheckout(t);
  const first = checkout.cambist('one', '--json');
  assert.deepEqual(
    { status: first.status, stdout: first.stdout },
    { status: 4, stdout: '["one","--json"]\n' },
  );
  assert.match(first.stderr, /Installing the dependencies \(npm ci\): done/);
  assert.match(first.stderr, /Building: done/);
  const second = checkout.cambist('two');
  assert.deepEqual({ stdout: second.stdout, stderr: second.stderr }, { stdout: '["two"]\n', stderr: '' });
  assert.deepEqual(checkout.calls(), ['npm ci --ignore-scripts --no-audit --no-fund', 'tsc']);
});

test('a changed source is built again before the command runs', (t) => {
  const checkout = freshCheckout(t);
  checkout.cambist();
  appendFileSync(join(checkout.folder, 'cli/main.ts'), '// changed\n');
  assert.match(checkout.cambist().stderr, /Building: done/);
  assert.deepEqual(checkout.calls().slice(1), ['tsc', 'tsc']);
});

test('a source that does not compile ends the command with the words of the compiler, and stays unbuilt', (t) => {
  const checkout = freshCheckout(t);
  checkout.cambist();
  appendFileSync(join(checkout.folder, 'cli/main.ts'), '// mistake\n');
  for (const _ of ['first', 'again']) {
    const { status, stdout, stderr } = checkout.cambist();
    assert.deepEqual({ status, stdout }, { status: 7, stdout: '' });
    assert.match(stderr, /The sources do not compile\.\ncli\/main\.ts\(1,1\): error TS1: a mistake\n$/);
  }
});

test('half an install, and a changed lock file, are installed again', (t) => {
  const checkout = freshCheckout(t);
  checkout.cambist();
  rmSync(join(checkout.folder, 'node_modules/.package-lock.json'));
  checkout.cambist();
  assert.equal(checkout.calls().filter((call) => call.startsWith('npm')).length, 2);
  writeFileSync(join(checkout.folder, 'package-lock.json'), LOCK.replace('1.0.0', '1.0.1'));
  checkout.cambist();
  assert.equal(checkout.calls().filter((call) => call.startsWith('npm')).length, 3);
});

test('dependencies that are a link to another checkout’s are used when they fit, and never installed into', (t) => {
  const checkout = freshCheckout(t);
  checkout.cambist();
  const calls = checkout.calls();
  const other = join(checkout.folder, 'other');
  const link = join(checkout.folder, 'node_modules');
  renameSync(link, other);
  symlinkSync(other, link, 'dir');
  assert.equal(checkout.cambist().stderr, '');
  writeFileSync(join(checkout.folder, 'package-lock.json'), LOCK.replace('1.0.0', '1.0.1'));
  const { status, stdout, stderr } = checkout.cambist();
  assert.deepEqual({ status, stdout }, { status: 7, stdout: '' });
  assert.match(
    stderr,
    /^The dependencies cannot be installed: \S+node_modules is a symbolic link to \S+other\. npm would empty that folder, which may belong to another checkout\. Remove the link and run this again\.\n$/,
  );
  assert.deepEqual(checkout.calls(), calls);
});

test('of two set-ups at the same time one works and the other waits for it', async (t) => {
  const checkout = freshCheckout(t);
  const ends = await Promise.all([once(checkout.start(), 'exit'), once(checkout.start(), 'exit')]);
  assert.deepEqual(ends, [
    [4, null],
    [4, null],
  ]);
  assert.deepEqual(checkout.calls(), ['npm ci --ignore-scripts --no-audit --no-fund', 'tsc']);
});

test('a set-up that was killed is taken over by the next', async (t) => {
  const checkout = freshCheckout(t);
  const child = checkout.start();
  while (!checkout.calls().includes('npm ci --ignore-scripts --no-audit --no-fund'))
    await once(child.stderr, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(checkout.cambist().status, 4);
});

test('npm runs no install script of any package in the checkout', () => {
  const { stdout } = spawnSync('npm', ['config', 'get', 'ignore-scripts'], { cwd: ROOT, encoding: 'utf8' });
  assert.equal(stdout, 'true\n');
});

test('a Node that is too old is told so', (t) => {
  const checkout = freshCheckout(t);
  const settings = readFileSync(join(checkout.folder, 'package.json'), 'utf8');
  writeFileSync(
    join(checkout.folder, 'package.json'),
    settings.replace(/"node": ">=.*"/, '"node": ">=99.1"'),
  );
  assert.match(checkout.cambist().stderr, /^Cambist needs Node >=99\.1; this is Node \d+/);
});

function freshCheckout(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-checkout-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['bin', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  for (const name of ['cli', 'fake', 'fake/rolldown']) mkdirSync(join(folder, name));
  write('package-lock.json', LOCK);
  write('fake/npm-cli.js', FAKE_NPM);
  write('fake/package.json', '{}');
  write('fake/tsc.cjs', FAKE_TSC);
  write('fake/rolldown/package.json', '{ "type": "module", "exports": "./index.js" }');
  write('fake/rolldown/index.js', FAKE_ROLLDOWN);
  write('cli/main.ts', 'export const main = async (argv) => (console.log(JSON.stringify(argv)), 4);\n');
  const command = join(folder, 'bin/cambist.mjs');
  const env = { ...process.env, npm_execpath: join(folder, 'fake/npm-cli.js') };
  return {
    folder,
    cambist: (...args: string[]) =>
      spawnSync(process.execPath, [command, ...args], { env, encoding: 'utf8' }),
    start: () => spawn(process.execPath, [command], { env, stdio: ['ignore', 'ignore', 'pipe'] }),
    calls: () =>
      readFileSync(join(folder, 'calls.log'), { encoding: 'utf8', flag: 'a+' }).split('\n').slice(0, -1),
  };

  function write(name: string, content: string): void {
    writeFileSync(join(folder, name), content);
  }
}
