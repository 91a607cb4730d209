// `npm run package`: builds, then makes in .cambist/package/ what a release is: the tarball, its SBOM (CycloneDX) and the
// SHA-256 of both. The tarball has what `npm pack` puts into it, the man page, and npm-shrinkwrap.json: the version of every
// dependency that it was tested with. Who installs from a registry gets these, and so does `npm ci` in the unpacked tarball;
// from a tarball on a disk `npm install` does not read them. It publishes nothing.

import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importBuilt } from './build.mjs';
import { runIfMain } from './lib/main.mjs';
import { manPage } from './lib/man-page.mjs';
import { npm } from './lib/npm.mjs';
import { say, step } from './lib/steps.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDER = join(ROOT, '.cambist', 'package');
const MAN_PAGE = 'man/cambist.1';
/** Fields of package.json that mean nothing to whoever installs it. */
const OF_A_CHECKOUT = ['devDependencies', 'scripts', 'overrides', 'files'];

/**
 * @typedef {Record<string, unknown> & { packages: Record<string, Record<string, unknown>> }} Lock
 */

/** The files that `npm pack` puts into the tarball, as it lists them. @returns {Promise<string[]>} */
export async function packedFiles() {
  const printed = await npm(['pack', '--dry-run', '--json', '--loglevel=error'], ROOT);
  /** @type {[{ files: { path: string }[] }]} */
  const [{ files }] = JSON.parse(printed);
  return files.map(({ path }) => path);
}

/**
 * A page as it stands in the package: a link to a file that is not there, such as a source, is only its words.
 *
 * @param {string} file
 * @param {string} text
 * @param {readonly string[]} files all that are there
 */
export function linkedWithin(file, text, files) {
  const isThere = (/** @type {string} */ path) =>
    files.some((each) => each === path || each.startsWith(`${path.replace(/\/$/, '')}/`));
  return text.replaceAll(/(?<!!)\[([^\]\n]*)\]\(([^)\s:#]+)(?:#[^)\s]*)?\)/g, (link, words, target) =>
    isThere(posix.join(posix.dirname(file), target)) ? link : words,
  );
}

/**
 * What a lock file says of everything that is not for development.
 *
 * @param {Lock} lock
 * @returns {Lock}
 */
export function shrinkwrapOf({ packages, ...rest }) {
  const kept = Object.entries(packages).filter(([, { dev }]) => dev !== true);
  return {
    ...rest,
    packages: Object.fromEntries(kept.map(([path, facts]) => [path, withoutDevelopment(facts)])),
  };
}

/**
 * The facts of our package without what only a checkout needs. The files are those that are there.
 *
 * @param {Record<string, unknown>} facts
 */
function withoutDevelopment(facts) {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !OF_A_CHECKOUT.includes(name)));
}

/**
 * Makes the tarball, its SBOM and their digests.
 *
 * @returns {Promise<{ folder: string, tarball: string, sbom: string, sums: string }>} their names in the folder
 */
export async function makePackage() {
  await setup({ upTo: 'build' });
  const facts = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const name = `${facts.name}-${facts.version}`;
  const [tarball, sbom, sums] = [`${name}.tgz`, `${name}.cdx.json`, `${name}.sha256`];
  await step(`Packing ${tarball}`, async () => {
    rmSync(FOLDER, { recursive: true, force: true });
    const staged = join(FOLDER, facts.name);
    const files = await packedFiles();
    for (const file of files) {
      mkdirSync(dirname(join(staged, file)), { recursive: true });
      cpSync(join(ROOT, file), join(staged, file));
      if (file.endsWith('.md'))
        writeFileSync(join(staged, file), linkedWithin(file, readFileSync(join(ROOT, file), 'utf8'), files));
    }
    mkdirSync(join(staged, dirname(MAN_PAGE)));
    const { buildProgram } = await importBuilt('cli/main.js');
    writeFileSync(join(staged, MAN_PAGE), await manPage(buildProgram));
    write(join(staged, 'package.json'), { ...withoutDevelopment(facts), man: [MAN_PAGE] });
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    write(join(staged, 'npm-shrinkwrap.json'), shrinkwrapOf(lock));
    await npm(['pack', '--pack-destination', FOLDER, '--loglevel=error'], staged);
    const listed = await npm(
      [
        'sbom',
        '--sbom-format=cyclonedx',
        '--sbom-type=application',
        '--package-lock-only',
        '--loglevel=error',
      ],
      staged,
    );
    writeFileSync(join(FOLDER, sbom), `${listed}\n`);
    rmSync(staged, { recursive: true });
    writeFileSync(
      join(FOLDER, sums),
      [tarball, sbom].map((file) => `${sha256Of(join(FOLDER, file))}  ${file}\n`).join(''),
    );
  });
  return { folder: FOLDER, tarball, sbom, sums };
}

/**
 * @param {string} file
 * @param {unknown} document
 */
function write(file, document) {
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
}

/** @param {string} file */
function sha256Of(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

await runIfMain(import.meta.url, async () => {
  const { folder, tarball, sums } = await makePackage();
  say(readFileSync(join(folder, sums), 'utf8').trimEnd());
  say(`In ${folder}. To install it: npm install --global ${join(folder, tarball)}`);
  return 0;
});
