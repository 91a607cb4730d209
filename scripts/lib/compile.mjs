// Puts the JavaScript of a tree of TypeScript beside it. What is started hundreds of times starts faster without a
// compiler in its process.

import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandFailed, run } from './steps.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Compiles every TypeScript file under the folder, as it is: types are not checked, and what cannot be read stays as unreadable.
 *
 * @param {string} folder
 */
export async function compileUnder(folder) {
  const project = join(folder, 'tsconfig.compile.json');
  const compilerOptions = { noEmit: false, noCheck: true, noResolve: true, allowJs: false, checkJs: false };
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { ...compilerOptions, types: [], rootDir: '.' },
      include: ['**/*'],
      exclude: ['node_modules'],
    }),
  );
  try {
    await run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project]);
  } catch (error) {
    // It has written everything all the same.
    if (!(error instanceof CommandFailed) || error.exitCode !== 2) throw error;
  } finally {
    rmSync(project);
  }
}

/** The JavaScript beside a TypeScript file. */
export function compiledOf(/** @type {string} */ path) {
  return path.replace(/\.ts$/, '.js');
}
