// Which test files there are, which of them start nothing, and the environment that all of them get.

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What starts nothing; whole runs in virtual time; what starts a server, other processes or a build; what plays chance, defects and whole tables. */
const FOLDERS = ['unit', 'story', 'server', 'machines'];

/**
 * All files that hold tests, as `unit/money.test.ts`.
 *
 * @param {string} root
 */
export function listTestFiles(root = ROOT) {
  return FOLDERS.flatMap((folder) => filesIn(root, folder));
}

/** Those that need nothing but this process. */
export function listUnitTests() {
  return ['unit', 'story'].flatMap((folder) => filesIn(ROOT, folder));
}

/**
 * The file of the tests that are called so, as `unit/money.test.ts` of `money`.
 *
 * @param {string} name
 * @param {string} root
 */
export function testFileOf(name, root = ROOT) {
  return listTestFiles(root).find((file) => file.endsWith(`/${name}.test.ts`));
}

/**
 * @param {string} root
 * @param {string} folder
 */
function filesIn(root, folder) {
  const path = join(root, 'test', folder);
  const names = existsSync(path) ? readdirSync(path) : [];
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .toSorted()
    .map((name) => `${folder}/${name}`);
}

/**
 * Tests state what they need: the addresses, keys and profiles of the person who runs them are none of their business, and no more is
 * the test that may have started them.
 *
 * @param {NodeJS.ProcessEnv} environment
 */
export function testEnvironment(environment) {
  const kept = Object.entries(environment).filter(([name]) => !/^(CAMBIST_|TEMPORAL_|NODE_TEST)/.test(name));
  const profile = join(ROOT, '.cambist', 'no-profile.toml');
  return { ...Object.fromEntries(kept), TEMPORAL_CONFIG_FILE: profile, TZ: 'UTC' };
}
