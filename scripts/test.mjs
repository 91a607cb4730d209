// `npm test`: the checks (types, lint, format, dead code), then all tests; sets up what each needs.
// `npm test -- money sandbox` runs only the files whose name contains one of the words, without the checks.
// `npm run verify` runs only the checks.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killGroup, OWN_GROUP } from './lib/group.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { CommandFailed, run, say } from './lib/steps.mjs';
import { listTestFiles, listUnitTests, testEnvironment } from './lib/test-files.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** One for each core of a small machine: with more of them, workers stand still for seconds. */
const FILES_AT_ONCE = 2;
/** They take the longest, and so they begin first. */
const LONG = [
  'machines/resets',
  'machines/fuzz-schedules',
  'machines/run-kill',
  'server/run-workers',
  'server/docs-tutorial',
  'server/cli-e2e-run',
  'server/cli-e2e-batch',
  'server/run-cancels',
  'server/cli-e2e-decisions',
  'server/run-refusals',
  'machines/chaos',
];
/** scripts/test-limit.mjs enforces it on those who do not listen. */
const TIMEOUT_PER_FILE_MS = 30 * 60_000;

/** At most two of them at a time. */
const CHECKS = [
  { name: 'types', script: 'typescript/bin/tsc', args: ['-p', 'tsconfig.json'] },
  { name: 'types of the workflows', script: 'typescript/bin/tsc', args: ['-p', 'tsconfig.workflow.json'] },
  { name: 'lint', script: 'oxlint/bin/oxlint', args: ['--type-aware', '--deny-warnings', '--format=unix'] },
  { name: 'format', script: 'prettier/bin/prettier.cjs', args: ['--check', '--log-level=warn', '.'] },
  { name: 'dead code', script: 'knip/bin/knip.js', args: ['--no-config-hints'] },
];

await runIfMain(import.meta.url, async () => {
  const asked = process.argv.slice(2);
  const words = asked.filter((word) => !word.startsWith('--'));
  const unknown = asked.find((word) => word.startsWith('--') && word !== '--only-verify');
  if (unknown)
    throw new ScriptFailed(`'${unknown}' is not known. There is '--only-verify'; words choose test files.`);
  return words.length > 0 ? testSome(words) : testAll({ onlyVerify: asked.includes('--only-verify') });
});

/** @param {{ onlyVerify: boolean }} options */
async function testAll({ onlyVerify }) {
  await setup({ upTo: 'dependencies' });
  await verify();
  if (onlyVerify) return 0;
  await setup({ ownServer: true });
  // One server in memory for all files; a test that needs one of its own starts it.
  const { tsImport } = await import('tsx/esm/api');
  const { startDevServer } = await tsImport('../worker/dev-server.ts', import.meta.url);
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  try {
    return await runTests(inOrder(), { CAMBIST_TEST_TEMPORAL: server.address });
  } finally {
    await server.kill();
  }
}

/** For work in progress: a build that fails elsewhere in the tree is told, and only the chosen files count. */
async function testSome(/** @type {string[]} */ words) {
  const all = listTestFiles();
  const idle = words.find((word) => !all.some((file) => file.includes(word)));
  if (idle !== undefined) throw new ScriptFailed(`No file of test/ has '${idle}' in its name.`);
  const files = all.filter((file) => words.some((word) => file.includes(word)));
  await setup({ upTo: 'build' }).catch((/** @type {unknown} */ error) => {
    if (!(error instanceof ScriptFailed)) throw error;
    say(`${error.message}\nGoing on without a fresh build: tests that start a built command may fail.`);
  });
  return runTests(
    files.map((name) => join('test', name)),
    {},
  );
}

/** All of them, the long ones first. Those that start nothing share one process. */
function inOrder() {
  const units = new Set(listUnitTests());
  const files = listTestFiles().filter((name) => !units.has(name));
  const long = LONG.map((name) => `${name}.test.ts`).filter((name) => files.includes(name));
  const others = files.filter((name) => !long.includes(name)).map((name) => join('test', name));
  return [...long.map((name) => join('test', name)), join('scripts', 'lib', 'unit-tests.mjs'), ...others];
}

async function verify() {
  const waiting = [...CHECKS];
  /** @type {string[]} */
  const failed = [];
  const checkInTurn = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const { name, script, args } = check;
      const startedAt = performance.now();
      try {
        await run(process.execPath, [join(ROOT, 'node_modules', script), ...args], { cwd: ROOT });
        say(`${name}: ok (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`);
      } catch (error) {
        if (!(error instanceof CommandFailed)) throw error;
        say(`${name}: FAILED\n${error.output || error.message}`);
        failed.push(name);
      }
    }
  };
  await Promise.all([checkInTurn(), checkInTurn()]);
  if (failed.length > 0) throw new ScriptFailed(`Failed: ${failed.join(', ')}. No test was run.`);
}

/**
 * @param {string[]} paths
 * @param {Record<string, string>} extraEnvironment
 */
async function runTests(paths, extraEnvironment) {
  const preloaded = ['--import', 'tsx', '--import', './scripts/test-limit.mjs'];
  const runner = join('scripts', 'lib', 'run-tests.mjs');
  const numbers = [FILES_AT_ONCE, TIMEOUT_PER_FILE_MS].map(String);
  const child = spawn(process.execPath, [...preloaded, runner, ...numbers, ...paths], {
    cwd: ROOT,
    env: { ...testEnvironment(process.env), ...extraEnvironment },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...OWN_GROUP,
  });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const pass = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, pass);
  const [exitCode] = await once(child, 'exit');
  for (const signal of signals) process.removeListener(signal, pass);
  // Whatever a test started and left behind, most of all when the run was interrupted.
  killGroup(child);
  return exitCode ?? 130;
}
