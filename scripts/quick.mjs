// `npm run quick`: after each small change, what takes seconds: the types, every test that starts nothing, and 500
// schedules of the model. It builds nothing and asks for no server. `npm test` is for the rest.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { CommandFailed, run, say } from './lib/steps.mjs';
import { testEnvironment } from './lib/test-files.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** On two cores with nothing else to do. */
const GOAL_SECONDS = 30;
/** Of the schedules: as in `npm test`, so that a change is what breaks them. */
const SEED = 20_261_121;
const SCHEDULES = 500;
const BATCHES = 20;

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'dependencies' });
  const startedAt = performance.now();
  const tests = ['--import', 'tsx', '--test-reporter=spec', join(ROOT, 'scripts', 'lib', 'unit-tests.mjs')];
  const typeChecker = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const schedules = [
    '--schedules',
    `${SCHEDULES}`,
    '--batches',
    `${BATCHES}`,
    '--seed',
    `${SEED}`,
    '--processes',
    '1',
  ];
  const fine = await Promise.all([
    part('tests that start nothing', async () => {
      const printed = await node(tests);
      return `${/^ℹ pass (\d+)$/m.exec(printed)?.[1] ?? 'all'} passed`;
    }),
    part('types', async () => {
      await node([typeChecker, '-p', 'tsconfig.json']);
      await node([typeChecker, '-p', 'tsconfig.workflow.json']);
      return 'ok';
    }).then(async (isFine) => {
      const areFine = await part(`${SCHEDULES} schedules of the model`, async () => {
        await node([join(ROOT, 'scripts', 'fuzz.mjs'), ...schedules]);
        return 'ok';
      });
      return isFine && areFine;
    }),
  ]);
  const seconds = (performance.now() - startedAt) / 1_000;
  say(`quick: ${seconds.toFixed(1)} s (goal: under ${GOAL_SECONDS} s on two quiet cores)`);
  if (!fine.every(Boolean)) throw new ScriptFailed('Something failed; it stands above.');
  return 0;
});

/**
 * Does one part and says how it went.
 *
 * @param {string} name
 * @param {() => Promise<string>} work resolves with what is said of it
 */
async function part(name, work) {
  const startedAt = performance.now();
  try {
    const found = await work();
    say(`${name}: ${found} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    say(`${name}: FAILED\n${error.output || error.message}`);
    return false;
  }
}

/**
 * What a program of Node printed; of one that failed, without the tests that passed.
 *
 * @param {string[]} args
 */
async function node(args) {
  /** @type {string[]} */
  const told = [];
  const onLine = (/** @type {string} */ line) => {
    if (!/^\s*✔ /.test(line)) told.push(line);
  };
  try {
    return await run(process.execPath, args, { cwd: ROOT, env: testEnvironment(process.env), onLine });
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new CommandFailed(error.message, told.join('\n'), error.exitCode);
  }
}
