// `npm run bugs`: the test of the tests. Each defect of test/machines/bugs/ is planted in a copy of the sources, one at a
// time, and the tests that it names must catch it by a failed assertion. A defect that survives, or that keeps a test
// from running at all, fails the bench. `-- NAME …` plants only these, `-- --tests-only` those that no model is needed
// for. `npm run proof` calls `bugs()`.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FUZZ, FUZZ_BATCHES, plant, readDefects } from './lib/defects.mjs';
import { killGroup, OWN_GROUP } from './lib/group.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { testFileOf } from './lib/test-files.mjs';
import { setup } from './setup.mjs';

/** @typedef {import('./lib/defects.mjs').Defect} Defect */

/**
 * What one catcher came to. `caught`: an assertion failed. `passed`: all is well, it says. `broken`: it could not judge.
 *
 * @typedef {{ kind: 'caught' | 'passed' | 'broken', why: string }} Verdict
 */

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const AT_ONCE = 2;
/** @type {NodeJS.Signals[]} */
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Nobody's sources, or nothing that a test reads. */
const NOT_COPIED = new Set(['node_modules', 'dist', 'dist.next', 'dist.old', '.git', '.cambist']);
/** Seed and share of the first process in test/machines/fuzz-schedules.test.ts: whatever is caught here, `npm test` catches. */
const SEED = 20_261_121;
/** @type {Record<string, { of: 'runs' | 'batches', schedules: number }>} */
const SHARES = {
  [FUZZ]: { of: 'runs', schedules: 10_000 },
  [FUZZ_BATCHES]: { of: 'batches', schedules: 250 },
};
const isModel = (/** @type {string} */ catcher) => Object.hasOwn(SHARES, catcher);
/** @type {Set<import('node:child_process').ChildProcess>} */
const atWork = new Set();
/** A catcher that takes longer hangs, which proves nothing. */
const LIMIT_MS = 6 * 60_000;
const TOO_LONG = `it was still at work after ${LIMIT_MS / 60_000} minutes`;

await runIfMain(import.meta.url, async () => {
  const { values, positionals: names } = parseArgs({
    options: { 'tests-only': { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  await setup({ upTo: 'dependencies' });
  const startedAt = performance.now();
  const { planted, caught, failures } = await bugs({ names, testsOnly: values['tests-only'] });
  say(`Planted defects caught: ${caught} of ${planted}, in ${seconds(startedAt)}.`);
  if (failures.length > 0) throw new ScriptFailed(failures.join('\n'));
  return 0;
});

/**
 * Plants defects, one at a time, and sees that each is caught.
 *
 * @param {{ names?: string[], testsOnly?: boolean, root?: string }} [options] names: of the defects; none: all of them ·
 *   testsOnly: those that test files catch in seconds; the model plays up to 10,000 schedules for each of the others ·
 *   root: of the sources that are copied
 * @returns {Promise<{ planted: number, caught: number, failures: string[] }>} failures: a line for each that was not
 */
export async function bugs({ names = [], testsOnly = false, root = ROOT } = {}) {
  if (testsOnly && names.length > 0)
    throw new ScriptFailed(`Name defects, or say '--tests-only', which chooses them by itself: not both.`);
  const all = await readDefects(root);
  const unknown = names.find((name) => !all.some((defect) => defect.name === name));
  if (unknown !== undefined)
    throw new ScriptFailed(`No defect in test/machines/bugs/ is called '${unknown}'.`);
  const isWanted = (/** @type {Defect} */ { name, caught_by: catchers }) =>
    testsOnly ? !catchers.some((catcher) => isModel(catcher)) : names.length === 0 || names.includes(name);
  const defects = all.filter(isWanted);
  const copies = Array.from({ length: AT_ONCE }, () => copyOf(root));
  const tidy = () => {
    for (const catcher of atWork) killGroup(catcher);
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  };
  const endNow = (/** @type {NodeJS.Signals} */ signal) => {
    tidy();
    process.kill(process.pid, signal);
  };
  for (const signal of ENDINGS) process.once(signal, endNow);
  try {
    /** @type {string[]} */
    const failures = [];
    const catchers = [...new Set(defects.flatMap((defect) => defect.caught_by))];
    await share(copies, catchers, async (catcher, copy) => {
      const { kind, why } = await judge(catcher, copy, null);
      if (kind !== 'passed') failures.push(`${catcher} fails without any defect: ${why}`);
    });
    // By such a catcher nothing is proven.
    if (failures.length > 0) return { planted: defects.length, caught: 0, failures };
    let caught = 0;
    await share(copies, defects, async (defect, copy) => {
      const startedAt = performance.now();
      const found = await missedBy(defect, copy);
      if (found.missed === null) {
        caught += 1;
        say(`${defect.name} (${defect.breaks}): caught in ${seconds(startedAt)} by ${found.by.join(', ')}`);
      } else {
        failures.push(found.missed);
        say(`${found.missed} (${seconds(startedAt)})`);
      }
    });
    return { planted: defects.length, caught, failures };
  } finally {
    for (const signal of ENDINGS) process.removeListener(signal, endNow);
    tidy();
  }
}

/**
 * However a catcher ends, what it has started ends with it: a test that is killed stops no server of its own.
 *
 * @param {import('node:child_process').ChildProcess} child started with `OWN_GROUP`
 */
function endWithItsGroup(child) {
  atWork.add(child);
  child.once('exit', () => {
    atWork.delete(child);
    killGroup(child);
  });
}

/**
 * Plants one defect in a copy and asks everyone who must catch it.
 *
 * @param {Defect} defect
 * @param {string} copy
 * @returns {Promise<{ missed: string | null, by: string[] }>}
 */
async function missedBy(defect, copy) {
  const takeOut = plant(defect, copy);
  const by = [];
  try {
    for (const catcher of defect.caught_by) {
      // As many at a time as there are copies.
      const { kind, why } = await judge(catcher, copy, defect);
      if (kind === 'passed') return { missed: `${defect.name} SURVIVES ${catcher}: ${defect.what}`, by };
      if (kind === 'broken')
        return { missed: `${defect.name} is PLANTED BADLY, ${catcher} cannot judge it: ${why}`, by };
      by.push(`${catcher} (${why})`);
    }
    return { missed: null, by };
  } finally {
    takeOut();
  }
}

/**
 * @param {string} catcher
 * @param {string} copy
 * @param {Defect | null} defect what is planted there; null: nothing
 */
function judge(catcher, copy, defect) {
  return isModel(catcher) ? judgeByFuzz(catcher, copy, defect) : judgeByTest(catcher, copy);
}

/**
 * Runs one test file up to its first failed assertion.
 *
 * @param {string} name
 * @param {string} copy
 * @returns {Promise<Verdict>}
 */
async function judgeByTest(name, copy) {
  const options = ['--import', 'tsx', '--test-reporter=tap', '--test-reporter-destination=stdout'];
  const child = spawn(process.execPath, [...options, join('test', testFileOf(name, copy) ?? name)], {
    cwd: copy,
    env: { ...ownEnvironment(), TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...OWN_GROUP,
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  endWithItsGroup(child);
  const exited = once(child, 'close');
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaint = `${complaint}${text}`.slice(-2_000);
  });
  let title = '';
  for await (const line of createInterface(child.stdout)) {
    title = /^\s*not ok \d+ - (.*)$/.exec(line)?.[1] ?? title;
    complaint = /^\s+error: .*$/.exec(line)?.[0].trim() ?? complaint;
    if (!/^\s+code: 'ERR_ASSERTION'$/.test(line)) continue;
    child.kill('SIGKILL');
    await exited;
    return { kind: 'caught', why: `"${title}"` };
  }
  const [exitCode, signal] = await exited;
  if (exitCode === 0) return { kind: 'passed', why: '' };
  return { kind: 'broken', why: signal === null ? `${title} ${errorIn(complaint)}` : TOO_LONG };
}

/**
 * Plays schedules up to the first that breaks a promise.
 *
 * @param {string} catcher
 * @param {string} copy
 * @param {Defect | null} defect
 * @returns {Promise<Verdict>}
 */
async function judgeByFuzz(catcher, copy, defect) {
  const child = fork(join(copy, 'test', 'machines', 'model', 'fuzz-process.ts'), {
    cwd: copy,
    env: ownEnvironment(),
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    ...OWN_GROUP,
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  endWithItsGroup(child);
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    complaint = `${complaint}${text}`.slice(-2_000);
  });
  /** @type {import('../test/machines/model/fuzz.ts').Outcome | null} */
  let outcome = null;
  child.once('message', (message) => {
    outcome = /** @type {import('../test/machines/model/fuzz.ts').Outcome} */ (message);
  });
  child.send({ ...SHARES[catcher], seed: SEED, path: null, shrinks: false });
  const [, signal] = await once(child, 'close');
  if (outcome === null) return { kind: 'broken', why: signal === null ? errorIn(complaint) : TOO_LONG };
  return verdictOf(outcome, defect);
}

/**
 * @param {import('../test/machines/model/fuzz.ts').Outcome} outcome
 * @param {Defect | null} defect
 * @returns {Verdict}
 */
function verdictOf({ failure, schedules }, defect) {
  if (failure === null) return { kind: 'passed', why: '' };
  const why = `schedule ${schedules}: ${failure.broken.join('; ')}`;
  // Whatever spins or stands still breaks M8: it does not tell that the promise in question is watched.
  const onlyNeverEnds = failure.broken.every((broken) => broken.startsWith('M8'));
  return { kind: onlyNeverEnds && defect?.breaks !== 'M8' ? 'broken' : 'caught', why };
}

/** Of what a process complained about, the line that says it. */
function errorIn(/** @type {string} */ complaint) {
  const lines = complaint.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /error:|Error\b/.test(line)) ?? lines.at(-1) ?? 'it says nothing').trim();
}

/**
 * Does `work` with every item, as many at a time as there are copies.
 *
 * @template Item
 * @param {string[]} copies
 * @param {Item[]} items
 * @param {(item: Item, copy: string) => Promise<void>} work
 */
async function share(copies, items, work) {
  const waiting = [...items];
  await Promise.all(
    copies.map(async (copy) => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift())
        // One at a time in each copy.
        await work(item, copy);
    }),
  );
}

/** A copy of the sources in a folder of its own, with the dependencies linked. */
function copyOf(/** @type {string} */ root) {
  const copy = mkdtempSync(join(tmpdir(), 'cambist-bugs-'));
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
  return copy;
}

/** Tests state what they need; whose test this may be a part of is none of their business. */
function ownEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CAMBIST_|TEMPORAL_|NODE_TEST)/.test(name));
  return Object.fromEntries(kept);
}

function seconds(/** @type {number} */ startedAt) {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}
