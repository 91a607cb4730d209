/** What npm packs: all that the program imports, and nothing of what only a checkout needs; and the licences of what npm installs with it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { licencesPage, packagesIn } from '../../scripts/lib/licences.mjs';
import { linkedWithin, packedFiles, shrinkwrapOf } from '../../scripts/package.mjs';
import { ROOT, urlOf } from '../support/root.ts';

const packed = await packedFiles();
const FACTS: {
  readonly bin: { readonly cambist: string };
  readonly imports: Readonly<Record<string, string>>;
} = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
const LOCK: Parameters<typeof shrinkwrapOf>[0] = JSON.parse(readFileSync(urlOf('package-lock.json'), 'utf8'));

test('everything that the command and the program import from outside dist/ is packed', () => {
  const files = new Set([
    FACTS.bin.cambist,
    ...Object.values(FACTS.imports).map((file) => posix.normalize(file)),
  ]);
  for (const file of files) for (const next of importedBy(file)) files.add(next);
  assert.ok(files.size > 5);
  assert.deepEqual(
    [...files].filter((file) => !packed.includes(file)),
    [],
  );
});

test('samples, their schemas, the pages and the licences are packed', () => {
  for (const file of [
    'package.json',
    'README.md',
    'CHANGELOG.md',
    'LICENSE',
    'LICENCES.md',
    'docs/tutorial.md',
    'docs/operations/held.md',
    'deploy/systemd/cambist-worker@.service',
    'policies/mxn-supplier.yaml',
    'policies/batches/contractors.csv',
    'policies/policy.schema.json',
  ])
    assert.ok(packed.includes(file), file);
});

test('nothing is packed that only a checkout needs', () => {
  const allowed =
    /^(?:bin\/cambist\.mjs|dist\/[^.].*(?<!\.map)|deploy\/.*|docs\/.*|policies\/[^.].*|sandbox\/README\.md|scripts\/(?:lib\/)?[\w-]+\.mjs|[A-Z]+(?:\.md)?|package\.json)$/;
  assert.deepEqual(
    packed.filter((file) => !allowed.test(file) || /\.(?:test|spec)\.|\.(?:pem|key|jsonl|db)$/.test(file)),
    [],
  );
  const scripts = packed.filter((file) => file.startsWith('scripts/'));
  assert.ok(!scripts.some((file) => /setup|build|proof|bugs|release/.test(file)), scripts.join(' '));
  // What says that this is a checkout.
  assert.ok(!packed.includes('cli/main.ts') && existsSync(join(ROOT, 'cli/main.ts')));
});

test('every link of a page that is packed leads to a file that is packed; a link to a source is its words', () => {
  const pages = packed.filter((file) => file.endsWith('.md'));
  assert.ok(pages.length > 20);
  const lost = pages.flatMap((file) => {
    const text = linkedWithin(file, readFileSync(urlOf(file), 'utf8'), packed);
    return [...text.matchAll(/\]\(([^)\s:#]+)[^)\s:]*\)/g)]
      .map(([, target = '']) => posix.join(posix.dirname(file), target))
      .filter((path) => !packed.some((each) => each === path || each.startsWith(path)))
      .map((path) => `${file}: ${path}`);
  });
  assert.deepEqual(lost, []);
  assert.equal(
    linkedWithin('docs/a.md', '[`a`](../src/a.ts) [b](b.md#c) [d](https://d.e/f) [g](#h) [i](../deploy/)', [
      'docs/b.md',
      'deploy/j',
    ]),
    '`a` [b](b.md#c) [d](https://d.e/f) [g](#h) [i](../deploy/)',
  );
});

test('the versions that are packed are those of the lock file, without what is for development', () => {
  const { packages } = shrinkwrapOf(LOCK);
  assert.equal(packages['']?.['devDependencies'], undefined);
  assert.ok('node_modules/@temporalio/worker' in packages);
  assert.ok(!('node_modules/typescript' in packages));
});

test('the page of licences is what `npm run docs:licences` writes', () => {
  const page = readFileSync(urlOf('LICENCES.md'), 'utf8');
  assert.equal(page, licencesPage(LOCK.packages, ROOT), 'renew it: npm run docs:licences');
});

test('a licence that nobody has looked at is refused, and of two that one may choose from one must be known', () => {
  const of =
    (license: string | undefined, dev = false) =>
    () =>
      packagesIn({ 'node_modules/a': { version: '1.0.0', dev, ...(license !== undefined && { license }) } });
  for (const license of ['MIT', '(MIT AND ISC)', '(GPL-2.0 OR MIT)']) assert.equal(of(license)().length, 1);
  for (const license of [undefined, 'GPL-2.0', '(MIT AND GPL-2.0)', 'UNLICENSED'])
    assert.throws(of(license), /Look at these licences.*: a \(/);
  assert.deepEqual(of(undefined, true)(), []);
});

/** The files of ours that a script imports at once. What it imports on the way is for a checkout: the set-up. */
function importedBy(file: string): string[] {
  const text = readFileSync(urlOf(file), 'utf8');
  return [...text.matchAll(/^import\s[^'"]*['"](\.[^'"]+)['"]/gm)].map(([, specifier = '']) =>
    posix.join(posix.dirname(file), specifier),
  );
}
