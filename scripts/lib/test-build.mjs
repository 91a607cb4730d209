// The tests, compiled once for all processes that run them: everything that tsconfig.json names, in .cambist/tests/.
// It is the check of the types at the same time: whatever does not compile is never swapped in.

import { copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { BUNDLE, compileTo, hashFiles, listFiles, readIfThere, swapIn } from '../build.mjs';
import { withLock } from './lock.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const BUILT = join(ROOT, '.cambist', 'tests');
const NEXT = `${BUILT}.next`;
const STAMP = '.built-from';
const PROJECT = 'tsconfig.tests.json';
/** The program reads its version there. */
const PACKAGE = 'package.json';

/** Folders of programs that are started from their sources, wherever a test stands that starts them. */
const NOT_COMPILED = ['bin', 'scripts'];

/** Where compiled tests are, as `unit/money.test.js`. */
export const BUILT_TESTS = join(BUILT, 'test');

/** Whether all is compiled as it stands now. */
export function areTestsBuilt() {
  return readIfThere(join(BUILT, STAMP)) === hashAll();
}

/** Compiles what has changed since; waits for another process that does so already. */
export async function buildTests() {
  await withLock(join(ROOT, '.cambist', 'tests.lock'), 'compiling the tests', async () => {
    if (areTestsBuilt()) return;
    const stamp = hashAll();
    rmSync(NEXT, { recursive: true, force: true });
    try {
      await compileTo(NEXT, PROJECT);
      copyFileSync(join(ROOT, PACKAGE), join(NEXT, PACKAGE));
      for (const folder of NOT_COMPILED) {
        rmSync(join(NEXT, folder), { recursive: true, force: true });
        symlinkSync(join(ROOT, folder), join(NEXT, folder), 'junction');
      }
      writeFileSync(join(NEXT, STAMP), stamp);
      swapIn(NEXT, BUILT);
    } finally {
      rmSync(NEXT, { recursive: true, force: true });
    }
  });
}

/**
 * A module of the tests, compiled: the model plays faster by it than from its sources.
 *
 * @param {string} file as `machines/model/walk.ts`
 */
export async function importTest(file) {
  await buildTests();
  process.setSourceMapsEnabled(true);
  return import(pathToFileURL(join(BUILT_TESTS, file.replace(/ts$/, 'js'))).href);
}

/** Workers of compiled tests carry out the workflows of dist/. */
export function takeBundle() {
  copyFileSync(join(ROOT, 'dist', BUNDLE), join(BUILT, BUNDLE));
}

function hashAll() {
  /** @type {{ include: string[] }} */
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  const sources = include.flatMap((folder) => listFiles(join(ROOT, folder)));
  const settings = ['tsconfig.json', PROJECT, PACKAGE, 'package-lock.json'].map((name) => join(ROOT, name));
  return hashFiles([...sources.filter((file) => /\.(ts|mjs)$/.test(file)), ...settings]);
}
