// Whether everything is as it was when the build was last found good: one comparison of one line, which names the version
// of Node and the size and time of each source, and reads none. `bin/cambist.mjs` asks at every start.
// Only Node's own modules: node_modules may not exist yet.

import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What decides how the sources are compiled, besides the sources. */
export const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'scripts/build.mjs'];

/** What else must be as it was: npm writes the second one when an install is complete. */
const AROUND = ['package.json', 'node_modules/.package-lock.json'];

/** In dist/. */
const SEEN = '.seen';

/**
 * What stands in the folder now, as one line. Some two milliseconds.
 *
 * @param {string} root
 */
export function glimpse(root) {
  return [
    process.version,
    ...[...sourceFolders(root), ...SETTINGS, ...AROUND].flatMap((name) => seen(join(root, name))),
  ].join(' ');
}

/**
 * Whether dist/ was found good for what stands there now. False says nothing: then contents are compared.
 *
 * @param {string} root
 */
export function isAsSeen(root) {
  try {
    return readFileSync(join(root, 'dist', SEEN), 'utf8') === glimpse(root);
  } catch {
    return false;
  }
}

/**
 * Keeps that dist/ is good for what a glimpse has seen.
 *
 * @param {string} root
 * @param {string} line taken before the contents were compared: what changes since is then noticed
 */
export function keepGlimpse(root, line) {
  try {
    writeFileSync(join(root, 'dist', SEEN), line);
  } catch {
    // A user who may not write here compares the contents each time.
  }
}

/**
 * The folders that tsconfig.build.json compiles: one list, in one place.
 *
 * @param {string} root
 * @returns {string[]}
 */
export function sourceFolders(root) {
  return JSON.parse(readFileSync(join(root, 'tsconfig.build.json'), 'utf8')).include;
}

/**
 * @param {string} path a file, a folder, or nothing
 * @returns {string[]}
 */
function seen(path) {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return [];
  if (facts.isDirectory())
    return readdirSync(path)
      .toSorted()
      .flatMap((name) => [name, ...seen(join(path, name))]);
  return [`${facts.size}@${facts.mtimeMs}`];
}
