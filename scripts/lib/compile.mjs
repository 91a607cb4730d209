// Compiles trees of TypeScript. It does so with no check for what is started hundreds of times, and starts faster without a
// compiler in its process; and with all checks for files into which a defect was planted.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandFailed, run } from './steps.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Puts the JavaScript of every TypeScript file under the folder beside it. Types are not checked.
 *
 * @param {string} folder
 */
export async function compileUnder(folder) {
  const compilerOptions = { noCheck: true, noResolve: true, allowJs: false, checkJs: false, types: [] };
  await compile(folder, { compilerOptions, include: ['**/*'], exclude: ['node_modules'] });
}

/**
 * Compiles some of the files under the folder, and checks their types as strictly as those of the product. What a file does
 * not use any more is no mistake.
 *
 * @param {string} folder
 * @param {readonly string[]} files paths from there
 * @param {string} outDir where their JavaScript and their declarations go
 * @returns {Promise<ReadonlyMap<string, string>>} the first mistake in each file that has one: its line, and what the compiler says
 */
export async function compileChecked(folder, files, outDir) {
  // Dependencies are linked: declarations are to name them by where the link stands.
  const unused = { noUnusedLocals: false, noUnusedParameters: false };
  const compilerOptions = { ...unused, checkJs: false, declaration: true, preserveSymlinks: true, outDir };
  /** @type {Map<string, string>} */
  const mistakes = new Map();
  for (const line of await compile(folder, { compilerOptions, files, include: [] })) {
    const [, file, number, message] = /^(\S.*)\((\d+),\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
    if (file !== undefined && !mistakes.has(file)) mistakes.set(file, `line ${number}: ${message}`);
  }
  return mistakes;
}

/**
 * @param {string} folder the root of the sources
 * @param {{ compilerOptions: object, files?: readonly string[], include: string[], exclude?: string[] }} project
 * @returns {Promise<string[]>} what the compiler says, line by line
 */
async function compile(folder, { compilerOptions, ...sources }) {
  const project = join(folder, 'tsconfig.compile.json');
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { noEmit: false, rootDir: '.', ...compilerOptions },
      ...sources,
    }),
  );
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  /** @type {string[]} */
  const lines = [];
  try {
    await run(process.execPath, [tsc, '-p', project, '--pretty', 'false'], {
      cwd: folder,
      onLine: (line) => lines.push(line),
    });
  } catch (error) {
    // It has written everything all the same.
    if (!(error instanceof CommandFailed) || error.exitCode !== 2) throw error;
  } finally {
    rmSync(project);
  }
  return lines;
}

/** The JavaScript beside a TypeScript file. */
export function compiledOf(/** @type {string} */ path) {
  return path.replace(/\.ts$/, '.js');
}

/**
 * What a file shows to those that import it, from its compiled declarations. The value of a constant is no part of it.
 *
 * @param {string} folder where its declarations are
 * @param {string} path of the TypeScript file
 */
export function exportsOf(folder, path) {
  const declarations = readFileSync(join(folder, path.replace(/\.ts$/, '.d.ts')), 'utf8');
  return declarations.replaceAll(/^(export declare const \w+) = .*;$/gm, '$1;');
}
