/** `cambist keys`: a file of keys is made once, and the next key comes into use in two steps. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { keysInFile } from '../../config/seal/key-file.ts';
import { typeCommand } from '../support/typed-command.ts';

type Keys = { readonly keys: readonly { readonly id: string; readonly seals: boolean }[] };

function inFolder(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-keys-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'seal.json');
  const keys = (...argv: readonly string[]) => typeCommand(['keys', ...argv], { cwd: folder });
  const listed = async () => (JSON.parse((await keys('list', file, '--json')).stdout) as Keys).keys;
  return { file, keys, listed };
}

test('new makes a file that only its owner may use, and never writes over one', async (t) => {
  const { file, keys, listed } = inFolder(t);
  assert.equal((await keys('new', 'seal.json')).exitCode, 0);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const text = readFileSync(file, 'utf8');
  const again = await keys('new', file);
  assert.equal(again.exitCode, 2);
  assert.match(again.stderr, /SEAL_KEYS_THERE/);
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.deepEqual(
    (await listed()).map(({ seals }) => seals),
    [true],
  );
});

test('the next key reads before it seals, and each step comes once', async (t) => {
  const { file, keys, listed } = inFolder(t);
  await keys('new', file);
  assert.match((await keys('rotate', file, '--activate')).stderr, /SEAL_KEYS_STEP/);
  assert.equal((await keys('rotate', file)).exitCode, 0);
  const seals = async () => (await listed()).map((key) => key.seals);
  assert.deepEqual(await seals(), [true, false]);
  assert.match((await keys('rotate', file)).stderr, /SEAL_KEYS_STEP/);
  assert.equal((await keys('rotate', file, '--activate')).exitCode, 0);
  assert.deepEqual(await seals(), [false, true]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('no command shows a secret', async (t) => {
  const { file, keys } = inFolder(t);
  const shown = [await keys('new', file), await keys('rotate', file), await keys('list', file)];
  const known = keysInFile(file).now();
  const secrets = [known.family, ...known.keys.map(({ secret }) => secret)].map((bytes) =>
    bytes.toString('base64url'),
  );
  for (const { stdout, stderr } of shown)
    for (const secret of secrets) assert.ok(!`${stdout}${stderr}`.includes(secret));
});

test('without a name, the file is that of CAMBIST_SEAL_KEYS; with neither, the command says so', async (t) => {
  const { file, keys } = inFolder(t);
  assert.match((await keys('list')).stderr, /SEAL_KEYS_UNNAMED/);
  await keys('new', file);
  const { stdout, exitCode } = await typeCommand(['keys', 'list'], {
    cwd: tmpdir(),
    env: { CAMBIST_SEAL_KEYS: file },
  });
  assert.equal(exitCode, 0);
  assert.match(stdout, /seals and reads/);
  writeFileSync(file, '{}');
  const broken = await keys('list', file);
  assert.equal(broken.exitCode, 3);
  assert.match(broken.stderr, /SEAL_KEYS_UNREADABLE/);
});
