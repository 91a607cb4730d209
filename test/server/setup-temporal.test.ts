// Where the executable of the dev server comes from, way by way, with stand-ins for what is on the machine.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, mock, test, type TestContext } from 'node:test';
import { ensureTemporal, findTemporal, TemporalUnavailable } from '../../scripts/temporal-binary.mjs';

const RECENT = 'temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)';
const OLD = 'temporal version 1.0.0 (Server 1.24.2, UI 2.28.0)';
/** Nothing listens there: the official download cannot be reached. */
const NOWHERE = 'http://127.0.0.1:1799';

const environment = { ...process.env };
let folder = '';
let bin = '';
let cached = '';
let said: string[] = [];

beforeEach(() => {
  // What it says it does would read as if it were done here.
  said = [];
  mock.method(process.stderr, 'write', (text: string) => said.push(text) > 0);
  folder = mkdtempSync(join(tmpdir(), 'cambist-setup-'));
  bin = join(folder, 'bin');
  mkdirSync(bin);
  cached = join(folder, 'cache', 'cambist', 'temporal-1.5.1', 'temporal');
  process.env['PATH'] = [bin, environment['PATH']].join(delimiter);
  process.env['XDG_CACHE_HOME'] = join(folder, 'cache');
  // In front of whatever this machine has.
  script(join(bin, 'temporal'), print(OLD));
  script(join(bin, 'go'), 'process.exit(1);');
});

afterEach(() => {
  mock.restoreAll();
  process.env['PATH'] = environment['PATH'];
  delete process.env['CAMBIST_TEMPORAL_SHA256'];
  if (environment['XDG_CACHE_HOME'] === undefined) delete process.env['XDG_CACHE_HOME'];
  else process.env['XDG_CACHE_HOME'] = environment['XDG_CACHE_HOME'];
  rmSync(folder, { recursive: true });
});

test('a recent executable on the PATH is taken', async () => {
  script(join(bin, 'temporal'), print(RECENT));
  assert.equal(await ensureTemporal({ downloadBase: NOWHERE }), join(bin, 'temporal'));
});

test('an old one on the PATH gives way to the one in the cache', async () => {
  assert.equal(await findTemporal(), null);
  mkdirSync(dirname(cached), { recursive: true });
  script(cached, print(RECENT));
  assert.equal(await findTemporal(), cached);
});

test('the official download is unpacked into the cache if its SHA-256 is the one that is known', async (t) => {
  const downloadBase = await serveArchive(t);
  process.env['CAMBIST_TEMPORAL_SHA256'] = createHash('sha256')
    .update(readFileSync(join(folder, 'archive.tar.gz')))
    .digest('hex')
    .toUpperCase();
  assert.equal(await ensureTemporal({ downloadBase }), cached);
  assert.match(asked[0] ?? '', /^\/v1\.5\.1\/temporal_cli_1\.5\.1_[a-z]+_[a-z0-9]+\.(tar\.gz|zip)$/);
  assert.match(execFileSync(cached, ['--version'], { encoding: 'utf8' }), /Server 1\.29\.1/);
});

test('a download with another SHA-256 is neither unpacked nor kept', async (t) => {
  const downloadBase = await serveArchive(t);
  await assert.rejects(
    ensureTemporal({ downloadBase }),
    /official download, http:\/\/127\.\S+\/v1\.5\.1\/\S+: its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}/,
  );
  assert.equal(existsSync(cached), false);
});

test('where no SHA-256 is known, nothing is downloaded', async (t) => {
  const downloadBase = await serveArchive(t);
  const { platform } = process;
  Object.defineProperty(process, 'platform', { value: 'win32' });
  t.after(() => Object.defineProperty(process, 'platform', { value: platform }));
  await assert.rejects(
    ensureTemporal({ downloadBase }),
    /no SHA-256 is known for windows .* CAMBIST_TEMPORAL_SHA256/,
  );
  assert.deepEqual(asked, []);
});

test('where the download cannot be reached, Go builds it, and only a finished build is kept', async () => {
  const build = `
    if (process.argv[2] === 'version') process.exit(0);
    console.error('go: downloading example.test/module v1.0.0');
    const file = process.env.GOBIN + '/temporal';
    require('node:fs').writeFileSync(file, '#!${process.execPath}\\nconsole.log(${JSON.stringify(RECENT)})');`;
  script(join(bin, 'go'), `${build}; process.exit(2);`);
  await assert.rejects(ensureTemporal({ downloadBase: NOWHERE }), TemporalUnavailable);
  assert.equal(existsSync(cached), false);
  script(join(bin, 'go'), build);
  assert.equal(await ensureTemporal({ downloadBase: NOWHERE }), cached);
});

test('when no way works, the error names each that was tried and three that mend it', async () => {
  await assert.rejects(ensureTemporal({ downloadBase: NOWHERE }), (error) => {
    assert.ok(error instanceof TemporalUnavailable);
    assert.match(error.message, /holds server 1\.24, older than 1\.29/);
    const [download = ''] = /official download, .*/.exec(error.message) ?? [];
    assert.match(
      download,
      /, http:\/\/127\.0\.0\.1:1799\/v1\.5\.1\/temporal_cli_\S+: fetch failed \(connect ECONNREFUSED 127\.0\.0\.1:1799\)$/,
    );
    // It is said at once, before the next way is tried, which may take minutes.
    assert.ok(said.includes(`${download}\n`));
    assert.match(error.message, /build by 'go install': no Go toolchain on the PATH/);
    assert.match(error.message, /1\. .*TEMPORAL_ADDRESS[^]*2\. .*PATH[^]*3\. .*Go/);
    return true;
  });
});

let asked: (string | undefined)[] = [];

/** A host that has one archive, with an executable in it, at every address. */
async function serveArchive(t: TestContext): Promise<string> {
  script(join(folder, 'temporal'), print(RECENT));
  execFileSync('tar', ['-czf', join(folder, 'archive.tar.gz'), '-C', folder, 'temporal']);
  asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.end(readFileSync(join(folder, 'archive.tar.gz')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

function script(path: string, code: string): void {
  writeFileSync(path, `#!${process.execPath}\n${code}\n`);
  chmodSync(path, 0o755);
}

function print(text: string): string {
  return `console.log(${JSON.stringify(text)});`;
}
