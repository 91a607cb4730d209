// `npm test`: the checks (types, lint, format, dead code), then the tests; sets up what each needs. The long machines are
// for `npm run proof`. `npm test -- money sandbox` runs only the files whose name contains one of the words, without the
// checks. `npm run quick` is for after each small change: the types, and every test that starts nothing. `npm run verify`
// runs only the checks.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt as isProductBuilt } from './build.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { startTests } from './lib/start-tests.mjs';
import { CommandFailed, run, say } from './lib/steps.mjs';
import { BUILT_TESTS, areTestsBuilt, buildTests, takeBundle } from './lib/test-build.mjs';
import { listTestFiles } from './lib/test-files.mjs';
import { partsOf } from './lib/test-parts.mjs';
import { setup } from './setup.mjs';

/** @typedef {import('./lib/test-parts.mjs').Part} Part */

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** @typedef {{ name: string, check: () => Promise<unknown> }} Check */
/** Which compile the tests as well. @type {Check[]} */
const TYPES = [
  { name: 'types', check: buildTests },
  { name: 'types of the workflows', check: tool('typescript/bin/tsc', '-p', 'tsconfig.workflow.json') },
];
/** In this order, two at a time. @type {Check[]} */
const CHECKS = [
  ...TYPES,
  { name: 'lint', check: tool('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--format=unix') },
  { name: 'format', check: tool('prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.') },
  { name: 'dead code', check: tool('knip/bin/knip.js', '--no-config-hints') },
];

/** @type {Record<string, () => Promise<number>>} */
const MODES = { '--only-verify': verifyOnly, '--quick': testQuickly };

await runIfMain(import.meta.url, async () => {
  const asked = process.argv.slice(2);
  const words = asked.filter((word) => !word.startsWith('--'));
  const [option, ...more] = asked.filter((word) => word.startsWith('--'));
  const mode = option === undefined ? testAll : MODES[option];
  if (mode === undefined || more.length > 0 || (option !== undefined && words.length > 0))
    throw new ScriptFailed(
      `'${asked.join(' ')}' is not known. There is ${Object.keys(MODES).join(' or ')}, or words that choose test files.`,
    );
  return words.length > 0 ? testSome(words) : mode();
});

async function verifyOnly() {
  await setup({ upTo: 'dependencies' });
  await verify(CHECKS);
  return 0;
}

/** Builds nothing but the tests, and asks for no server. */
async function testQuickly() {
  await setup({ upTo: 'dependencies' });
  const before = [await verify(TYPES)];
  const { parts } = partsOf(listTestFiles());
  return runTests({ parts: parts.filter(({ startsNothing }) => startsNothing), isBuilt: true, before }, {});
}

async function testAll() {
  await setup({ upTo: 'dependencies' });
  const before = [await verify(CHECKS)];
  await setup({ ownServer: true });
  takeBundle();
  // One server in memory for all files; a test that needs one of its own starts it.
  const { tsImport } = await import('tsx/esm/api');
  const { startDevServer } = await tsImport('../worker/dev-server.ts', import.meta.url);
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  try {
    const { parts } = partsOf(listTestFiles());
    return await runTests(
      { parts, isBuilt: true, before },
      {
        CAMBIST_TEST_TEMPORAL: server.address,
        CAMBIST_TEST_CELLS: '1',
      },
    );
  } finally {
    await server.kill();
  }
}

/** For work in progress: a build that fails elsewhere in the tree is told, and only the chosen files count. */
async function testSome(/** @type {string[]} */ words) {
  const all = listTestFiles();
  const idle = words.find((word) => !all.some((file) => file.includes(word)));
  if (idle !== undefined) throw new ScriptFailed(`No file of test/ has '${idle}' in its name.`);
  const { parts, others } = partsOf(all.filter((file) => words.some((word) => file.includes(word))));
  await setup({ upTo: 'build' }).catch((/** @type {unknown} */ error) => {
    if (!(error instanceof ScriptFailed)) throw error;
    say(`${error.message}\nGoing on without a fresh build: tests that start a built command may fail.`);
  });
  const alone = others.map((file) => ({ name: file, filesAtOnce: 1, files: [file] }));
  const isBuilt = areTestsBuilt() && isProductBuilt();
  if (isBuilt) takeBundle();
  return runTests({ parts: [...parts, ...alone], isBuilt, before: [] }, {});
}

/**
 * A check by a program of a package.
 *
 * @param {string} script
 * @param {string[]} args
 */
function tool(script, ...args) {
  return () => run(process.execPath, [join(ROOT, 'node_modules', script), ...args], { cwd: ROOT });
}

/**
 * @param {Check[]} checks
 * @returns {Promise<{ name: string, ms: number }>} how long they took
 */
async function verify(checks) {
  const beganAt = performance.now();
  const waiting = [...checks];
  /** @type {string[]} */
  const failed = [];
  const checkInTurn = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { name, check } = next;
      const startedAt = performance.now();
      try {
        await check();
        say(`${name}: ok (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`);
      } catch (error) {
        if (!(error instanceof CommandFailed || error instanceof ScriptFailed)) throw error;
        say(`${name}: FAILED\n${('output' in error && error.output) || error.message}`);
        failed.push(name);
      }
    }
  };
  await Promise.all([checkInTurn(), checkInTurn()]);
  if (failed.length > 0) throw new ScriptFailed(`Failed: ${failed.join(', ')}. No test was run.`);
  return { name: 'checks', ms: performance.now() - beganAt };
}

/**
 * @param {{ parts: Part[], isBuilt: boolean, before: { name: string, ms: number }[] }} plan
 *   isBuilt: whether the tests are compiled; else they run from their sources · before: what took how long until now
 * @param {Record<string, string>} environment
 */
async function runTests({ parts, isBuilt, before }, environment) {
  const folder = isBuilt ? BUILT_TESTS : join(ROOT, 'test');
  const { exitCode, found } = await startTests({ parts, folder, before, environment });
  return found === null ? exitCode || 1 : exitCode;
}
