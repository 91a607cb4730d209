// `npm run build`: compiles the sources to dist/, bundles the workflows and the command line, when anything has changed since.
// Built beside dist/ and swapped in at the end, so that no command ever starts from half a build.
// Only Node's own modules at the top: node_modules may not be whole when it is loaded.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SETTINGS, glimpse, keepGlimpse, sourceFolders } from './lib/glimpse.mjs';
import { IN_THE_COMMAND_LINE } from './lib/licences.mjs';
import { withLock } from './lib/lock.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { CommandFailed, run, say, step } from './lib/steps.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(ROOT, 'dist');
const NEXT = join(ROOT, 'dist.next');
const STAMP = '.built-from';
export const BUNDLE = 'workflow-bundle.js';
const BUNDLE_STAMP = '.bundled-from';

/** Whether dist/ was built from the sources as they are now. Some ten milliseconds, no writes. */
export function isBuilt() {
  return readIfThere(join(DIST, STAMP)) === hashSources();
}

/** What a file of dist/ exports, once it is built. @param {string} file below dist/ */
export async function importBuilt(file) {
  return import(new URL(`../dist/${file}`, import.meta.url).href);
}

/** Builds dist/ if it is not there or stale, and keeps what it has seen. Waits for a build that another process has begun. */
export async function build() {
  const line = glimpse(ROOT);
  await bringUpToDate();
  keepGlimpse(ROOT, line);
}

async function bringUpToDate() {
  if (isBuilt()) return;
  await withLock(join(ROOT, '.cambist', 'build.lock'), 'building', async () => {
    if (isBuilt()) return;
    const stamp = hashSources();
    await step('Building', async (phase) => {
      rmSync(NEXT, { recursive: true, force: true });
      try {
        phase('compiling');
        await compile();
        phase('bundling the workflows');
        await bundleWorkflows();
        phase('bundling the command line');
        await bundleCommandLine();
        writeFileSync(join(NEXT, STAMP), stamp);
        swapIn(NEXT, DIST);
      } finally {
        rmSync(NEXT, { recursive: true, force: true });
      }
    });
  });
}

async function compile() {
  await compileTo(NEXT, 'tsconfig.build.json');
  // Compiled along because `worker/` imports it as `#temporal-binary`, which always means the file in scripts/.
  rmSync(join(NEXT, 'scripts'), { recursive: true, force: true });
}

/**
 * Compiles what a project names into a folder.
 *
 * @param {string} folder
 * @param {string} project
 */
export async function compileTo(folder, project) {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    await run(process.execPath, [tsc, '-p', project, '--outDir', folder], { cwd: ROOT });
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new ScriptFailed(`The sources do not compile.\n${error.output || error.message}`);
  }
}

/** Bundling takes longer than compiling, so a bundle whose sources did not change is kept. */
async function bundleWorkflows() {
  const entry = join(NEXT, 'workflows', 'index.js');
  if (!existsSync(entry)) return say('There is no workflows/index.ts yet; nothing to bundle.');
  const stamp = hashFiles([
    ...listFiles(join(NEXT, 'domain')),
    ...listFiles(join(NEXT, 'workflows')),
    join(ROOT, 'package-lock.json'),
    join(ROOT, 'scripts', 'build.mjs'),
  ]);
  const kept = readIfThere(join(DIST, BUNDLE_STAMP)) === stamp ? readIfThere(join(DIST, BUNDLE)) : null;
  writeFileSync(join(NEXT, BUNDLE), kept ?? (await bundle(entry)));
  writeFileSync(join(NEXT, BUNDLE_STAMP), stamp);
}

/** @param {string} workflowsPath */
async function bundle(workflowsPath) {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  /** @type {string[]} */
  const complaints = [];
  const logger = new DefaultLogger('WARN', ({ message }) => complaints.push(message));
  try {
    // Names inside the bundle are relative to this folder, wherever the build was started from.
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      workflowInterceptorModules: [
        'never-ahead.js',
        'current-details.js',
        'sealed-failures.js',
        'traced.js',
      ].map((name) => join(dirname(workflowsPath), name)),
      preloadModules: [join(dirname(workflowsPath), 'short-stacks.js')],
      logger,
      // Our modules as one: each workflow that starts evaluates them anew.
      webpackConfigHook: (config) => ({
        ...config,
        context: ROOT,
        optimization: { ...config.optimization, usedExports: true, concatenateModules: true },
      }),
    });
    return code;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ScriptFailed(['The workflows do not bundle.', reason, ...complaints].join('\n'));
  }
}

/**
 * What a command loads is few files instead of hundreds, with the packages that it loads as well. They are CommonJS: of Node's
 * own modules an import makes everything at once, also what nobody asks for. A package that only some commands load, or of which
 * there must be one copy, stays outside; and so does the worker, which is loaded as it was compiled and tested.
 */
async function bundleCommandLine() {
  const { rolldown } = await import('rolldown');
  const folder = join(NEXT, 'cli');
  const commandLine = await rolldown({
    cwd: ROOT,
    input: join(folder, 'main.js'),
    platform: 'node',
    external: [
      /^@(?:temporalio|opentelemetry)\//,
      'date-holidays',
      'node-forge',
      'undici',
      /^#/,
      './commands/worker.js',
    ],
    onLog: (_, { message }) => {
      throw new ScriptFailed(`The command line does not bundle.\n${message}`);
    },
  });
  const { output } = await commandLine.write({
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] },
  });
  const packages = new Set(
    output
      .flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
      .flatMap((file) => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? []),
  );
  const found = [...packages].toSorted().join(', ');
  if (found !== IN_THE_COMMAND_LINE.join(', '))
    throw new ScriptFailed(
      `Name these packages in scripts/lib/licences.mjs, as those of the command line: ${found}.`,
    );
}

/**
 * Puts a whole build in the place of another one.
 *
 * @param {string} next
 * @param {string} folder
 */
export function swapIn(next, folder) {
  const old = `${folder}.old`;
  rmSync(old, { recursive: true, force: true });
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(next, folder);
  rmSync(old, { recursive: true, force: true });
}

function hashSources() {
  return hashFiles([...sourceFolders(ROOT), ...SETTINGS].flatMap((name) => listFiles(join(ROOT, name))));
}

/** @param {string[]} files */
export function hashFiles(files) {
  const hash = createHash('sha256');
  for (const file of files.toSorted()) {
    const content = readFileSync(file);
    hash.update(`${relative(ROOT, file)}\n${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/**
 * @param {string} path a file, a folder, or nothing
 * @returns {string[]}
 */
export function listFiles(path) {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.flatMap((entry) =>
      entry.isDirectory() ? listFiles(join(path, entry.name)) : [join(path, entry.name)],
    );
  } catch {
    return existsSync(path) ? [path] : [];
  }
}

/** @param {string} path */
export function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

await runIfMain(import.meta.url, async () => {
  if (isBuilt()) say('Up to date.');
  await build();
  return 0;
});
