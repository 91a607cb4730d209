// `npm run bugs`: the test of the tests. Each defect of test/machines/bugs/ is planted in a compiled copy of the sources,
// one at a time, and the tests that it names must catch it by a failed assertion. It fails when a defect does not compile,
// when a test passes with it, and when a test breaks with it in any other way, such as a story whose faults never happen.
// `-- NAME …` plants only these, `-- --slice K/N` a part of them. `npm run proof` calls `bugs()`.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileChecked, compiledOf, compileUnder, exportsOf } from './lib/compile.mjs';
import { planted, putIn, readDefects, SHARES } from './lib/defects.mjs';
import { killGroup, OWN_GROUP } from './lib/group.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { isInSlice, readSlice, WHOLE } from './lib/slice.mjs';
import { say } from './lib/steps.mjs';
import { testFileOf } from './lib/test-files.mjs';
import { setup } from './setup.mjs';

/** @typedef {import('./lib/defects.mjs').Defect} Defect */
/** @typedef {import('./lib/defects.mjs').Share} Share */
/** @typedef {{ path: string, before: string, after: string }} File its path from the top of a copy */

/**
 * What one catcher says. `caught`: an assertion failed. `passed`: all its tests passed. `broken`: it failed in another way.
 *
 * @typedef {{ kind: 'caught' | 'passed' | 'broken', why: string, schedules?: number }} Verdict schedules: that the model played
 */

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const AT_ONCE = 2;
/** @type {NodeJS.Signals[]} */
const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** No test reads them, or a copy gets a link to them. */
const NOT_COPIED = new Set(['node_modules', 'dist', 'dist.next', 'dist.old', '.git', '.cambist']);
/** Fixed, so that the model finds a rare defect each time or never. */
const SEED = 20_261_121;
const isModel = (/** @type {string} */ catcher) => Object.hasOwn(SHARES, catcher);
/** @type {Set<import('node:child_process').ChildProcess>} */
const atWork = new Set();
/** Against hanging alone, many times what a catcher takes. What a catcher that is given up would have said is not known. */
const LIMIT_MS = 30 * 60_000;
const TOO_LONG = `it was given up after ${LIMIT_MS / 60_000} minutes: it hangs, or this machine is far too slow for it`;

await runIfMain(import.meta.url, async () => {
  const { values, positionals: names } = parseArgs({
    options: { slice: { type: 'string' } },
    allowPositionals: true,
  });
  const slice = readSlice(values.slice);
  await setup({ upTo: 'dependencies' });
  const startedAt = performance.now();
  const { planted: count, caught, failures } = await bugs({ names, slice });
  say(`Planted defects caught: ${caught} of ${count}, in ${seconds(startedAt)}.`);
  if (failures.length > 0) throw new ScriptFailed(failures.join('\n'));
  return 0;
});

/**
 * Plants defects, one at a time, and sees that each is caught.
 *
 * @param {Choice & { root?: string }} [options] root: of the sources that are copied
 * @returns {Promise<{ planted: number, caught: number, failures: string[] }>} failures: a line for each that was not
 */
export async function bugs({ root = ROOT, ...choice } = {}) {
  const all = await readDefects(root);
  const defects = chosen(all, choice);
  if (defects.length === 0) return { planted: 0, caught: 0, failures: [] };
  /** @type {string[]} */
  const folders = [];
  const tidy = () => {
    for (const catcher of atWork) killGroup(catcher);
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  };
  const endNow = (/** @type {NodeJS.Signals} */ signal) => {
    tidy();
    process.kill(process.pid, signal);
  };
  for (const signal of ENDINGS) process.once(signal, endNow);
  try {
    // Without names all are checked: a change of a type may break a defect of any slice.
    const { files, refused } = await compilePlanted(choice.names?.length ? defects : all, root, folders);
    if (refused.length > 0) return { planted: defects.length, caught: 0, failures: refused };
    const first = copyOf(root, folders);
    await compileUnder(first);
    const others = Array.from({ length: AT_ONCE - 1 }, () => copyOf(first, folders));
    return await carryOut(defects, files, [first, ...others]);
  } finally {
    for (const signal of ENDINGS) process.removeListener(signal, endNow);
    tidy();
  }
}

/**
 * Those that are named, or else those of the slice.
 *
 * @typedef {{ names?: readonly string[], slice?: import('./lib/slice.mjs').Slice }} Choice
 * @param {readonly Defect[]} all
 * @param {Choice} choice
 */
export function chosen(all, { names = [], slice = WHOLE }) {
  const unknown = names.find((name) => !all.some((defect) => defect.name === name));
  if (unknown !== undefined)
    throw new ScriptFailed(`No defect in test/machines/bugs/ is called '${unknown}'.`);
  return all.filter(({ name }) => (names.length > 0 ? names.includes(name) : isInSlice(name, slice)));
}

/**
 * @param {readonly Defect[]} defects
 * @param {ReadonlyMap<string, File[]>} files what each of them changes
 * @param {string[]} copies
 */
async function carryOut(defects, files, copies) {
  /** @type {string[]} */
  const failures = [];
  const accuse = (/** @type {string} */ catcher, /** @type {Verdict} */ { kind, why }) => {
    if (kind !== 'passed') failures.push(`${catcher} fails without any defect: ${why}`);
  };
  const catchers = [...new Set(defects.flatMap((defect) => defect.caught_by))];
  const tests = catchers.filter((catcher) => !isModel(catcher));
  await share(copies, tests, async (test, copy) => accuse(test, await judgeByTest(test, copy)));
  // A test that fails without any defect proves nothing.
  if (failures.length > 0) return { planted: defects.length, caught: 0, failures };
  let caught = 0;
  /** @type {Map<string, number>} */
  const furthest = new Map();
  // What the model has to find takes the longest, and so it comes first.
  const inOrder = defects.toSorted(
    (a, b) => Number(b.caught_by.some(isModel)) - Number(a.caught_by.some(isModel)),
  );
  await share(copies, inOrder, async (defect, copy) => {
    const startedAt = performance.now();
    const found = await missedBy(defect, files.get(defect.name) ?? [], copy);
    for (const [catcher, schedules] of found.played)
      furthest.set(catcher, Math.max(schedules, furthest.get(catcher) ?? 0));
    if (found.missed === null) {
      caught += 1;
      say(`${defect.name} (${defect.breaks}): caught in ${seconds(startedAt)} by ${found.by.join(', ')}`);
    } else {
      failures.push(found.missed);
      say(`${found.missed} (${seconds(startedAt)})`);
    }
  });
  // Without a defect the model must find nothing in the schedules that it has played with one.
  await share(copies, [...furthest], async ([catcher, schedules], copy) => {
    const most = SHARES[catcher];
    if (most !== undefined) accuse(catcher, await judgeByFuzz({ ...most, schedules }, copy, null));
  });
  return { planted: defects.length, caught, failures };
}

/**
 * Compiles all defects at once: each file that one of them changes stands beside the file that it is made from, under a name
 * of its own, and imports what that one imports. No other file imports it, and so a defect may not change what a file exports.
 *
 * @param {readonly Defect[]} defects
 * @param {string} root of the sources
 * @param {string[]} folders to be taken away at the end
 * @returns {Promise<{ files: ReadonlyMap<string, File[]>, refused: string[] }>} files: what each defect changes, in TypeScript
 *   and in JavaScript; refused: a line for each defect that does not compile
 */
async function compilePlanted(defects, root, folders) {
  const copy = copyOf(root, folders);
  const built = newFolder(folders);
  const sources = defects.flatMap((defect) =>
    planted(defect, copy).map((file) => {
      const path = relative(copy, file.path);
      return { ...file, defect: defect.name, path, beside: path.replace(/\.ts$/, `~${defect.name}.ts`) };
    }),
  );
  for (const { beside, after } of sources) writeFileSync(join(copy, beside), after);
  const paths = new Set(sources.flatMap(({ path, beside }) => [path, beside]));
  const mistakes = await compileChecked(copy, [...paths], built);
  const textOf = (/** @type {string} */ path) => readFileSync(join(built, compiledOf(path)), 'utf8');
  /** @type {Map<string, File[]>} */
  const files = new Map();
  const refused = [];
  for (const { defect, path, beside, before, after } of sources) {
    const mistake = mistakes.get(beside);
    if (mistake !== undefined) refused.push(`${defect} does not compile: ${path}, ${mistake}`);
    else if (exportsOf(built, path) !== exportsOf(built, beside))
      refused.push(
        `${defect} changes the types of what ${path} exports: the files that import it are not checked against that.`,
      );
    const compiled = { path: compiledOf(path), before: textOf(path), after: textOf(beside) };
    files.set(defect, [...(files.get(defect) ?? []), { path, before, after }, compiled]);
  }
  return { files, refused };
}

/**
 * Ends what a catcher has started when the catcher ends: a test that is killed does not stop its own server.
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
 * @param {readonly File[]} files
 * @param {string} copy
 * @returns {Promise<{ missed: string | null, by: string[], played: [string, number][] }>}
 */
async function missedBy(defect, files, copy) {
  const takeOut = putIn(files.map((file) => ({ ...file, path: join(copy, file.path) })));
  const by = [];
  /** @type {[string, number][]} */
  const played = [];
  try {
    for (const catcher of defect.caught_by) {
      // As many at a time as there are copies.
      const { kind, why, schedules } = await judge(catcher, copy, defect);
      if (kind === 'passed')
        return { missed: `${defect.name} SURVIVES ${catcher}: ${defect.what}`, by, played };
      if (kind === 'broken')
        return { missed: `${defect.name} is PLANTED BADLY, ${catcher} cannot judge it: ${why}`, by, played };
      by.push(`${catcher} (${why})`);
      if (schedules !== undefined) played.push([catcher, schedules]);
    }
    return { missed: null, by, played };
  } finally {
    takeOut();
  }
}

/**
 * @param {string} catcher
 * @param {string} copy
 * @param {Defect} defect what is planted there
 */
function judge(catcher, copy, defect) {
  const most = SHARES[catcher];
  return most === undefined ? judgeByTest(catcher, copy) : judgeByFuzz(most, copy, defect);
}

/**
 * Runs one test file up to its first failed assertion.
 *
 * @param {string} name
 * @param {string} copy
 * @returns {Promise<Verdict>}
 */
async function judgeByTest(name, copy) {
  const options = ['--test-reporter=tap', '--test-reporter-destination=stdout'];
  const file = compiledOf(join('test', testFileOf(name, copy) ?? name));
  const child = spawn(process.execPath, [...options, file], {
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
  /** The last test that failed in another way, and its error. */
  let failed = '';
  for await (const line of createInterface(child.stdout)) {
    title = /^\s*not ok \d+ - (.*)$/.exec(line)?.[1] ?? title;
    // A long text begins on the next line.
    failed = failed.replace(/\|-$/, line.trim());
    const error = /^\s+error: (?!'\d+ subtests? failed)(.*)$/.exec(line)?.[1];
    if (error !== undefined) failed = `"${title}": ${error}`;
    if (!/^\s+code: 'ERR_ASSERTION'$/.test(line)) continue;
    child.kill('SIGKILL');
    await exited;
    return { kind: 'caught', why: `"${title}"` };
  }
  const [exitCode, signal] = await exited;
  if (exitCode === 0) return { kind: 'passed', why: '' };
  return { kind: 'broken', why: signal === null ? failed || errorIn(complaint) : TOO_LONG };
}

/**
 * Plays schedules up to the first that breaks a promise.
 *
 * @param {Share} most
 * @param {string} copy
 * @param {Defect | null} defect what is planted there; null: nothing
 * @returns {Promise<Verdict>}
 */
async function judgeByFuzz(most, copy, defect) {
  const child = fork(join(copy, 'test', 'machines', 'model', 'fuzz-process.js'), {
    cwd: copy,
    env: ownEnvironment(),
    execArgv: [],
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
  child.send({ ...most, seed: SEED, path: null, shrinks: false });
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
  // A run that never ends breaks M8, whatever the defect is: that does not show that its own promise is watched.
  const onlyNeverEnds = failure.broken.every((broken) => broken.startsWith('M8'));
  return { kind: onlyNeverEnds && defect?.breaks !== 'M8' ? 'broken' : 'caught', why, schedules };
}

/** The line that names the error in what a process has written. */
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

/**
 * A copy of the sources in a folder of its own, with the dependencies linked.
 *
 * @param {string} root
 * @param {string[]} folders to be taken away at the end
 */
function copyOf(root, folders) {
  const copy = newFolder(folders);
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
  return copy;
}

function newFolder(/** @type {string[]} */ folders) {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-bugs-'));
  folders.push(folder);
  return folder;
}

/** Without the settings of the person who runs this, or of the test that this is a part of. */
function ownEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CAMBIST_|TEMPORAL_|NODE_TEST)/.test(name));
  return Object.fromEntries(kept);
}

function seconds(/** @type {number} */ startedAt) {
  return `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`;
}
