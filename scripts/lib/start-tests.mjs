// Starts the runner of the tests (`run-tests.mjs`) in a process of its own, and ends with it whatever the tests have started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killGroup, OWN_GROUP } from './group.mjs';
import { BUILT_TESTS } from './test-build.mjs';
import { testEnvironment } from './test-files.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * @param {object} asked
 * @param {import('./test-parts.mjs').Part[]} asked.parts
 * @param {string} asked.folder of the tests: `BUILT_TESTS` when they are compiled, else their sources
 * @param {{ name: string, ms: number }[]} [asked.before] what took how long until now
 * @param {NodeJS.ProcessEnv} [asked.environment] besides what all tests get
 * @param {'inherit' | 'ignore' | 2} [asked.output] where it prints
 * @returns {Promise<{ exitCode: number, found: import('./run-tests.mjs').Found | null }>} found: null when it ended too early to tell
 */
export async function startTests({ parts, folder, before = [], environment = {}, output = 'inherit' }) {
  const loader = folder === BUILT_TESTS ? ['--enable-source-maps'] : ['--import', 'tsx'];
  // Whatever the runner is started with its processes are started with too.
  const preloaded = [...loader, '--import', './scripts/lib/end-tests.mjs'];
  const runner = join('scripts', 'lib', 'run-tests.mjs');
  const plan = JSON.stringify({ parts, folder, before });
  const child = spawn(process.execPath, [...preloaded, runner, plan], {
    cwd: ROOT,
    env: { ...testEnvironment(process.env), ...environment },
    stdio: ['ignore', output, 'inherit', 'ipc'],
    ...OWN_GROUP,
  });
  /** @type {import('./run-tests.mjs').Found | null} */
  let found = null;
  child.once('message', (message) => {
    found = /** @type {import('./run-tests.mjs').Found} */ (message);
  });
  // Whatever a test started and left behind, most of all when the run was interrupted.
  child.once('exit', () => killGroup(child));
  const pass = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  const [exitCode] = await once(child, 'close');
  for (const signal of SIGNALS) process.removeListener(signal, pass);
  return { exitCode: exitCode ?? 130, found };
}
