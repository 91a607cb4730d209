// Runs the parts of a plan, each in a process of its own, and prints what came of their tests; `start-tests.mjs` starts it.
// Parts begin in the order of the plan. At most two of those that need a server run at a time, and beside them one that needs
// none, or mostly waits. It is red when a test fails, when a file has no test or ends before its tests do, when a test is
// skipped without a reason, and when nothing passes. The last line has the counts.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import pLimit from 'p-limit';
import { textOfCounts } from './main.mjs';
import { NOT_ASKED } from './slice.mjs';

/**
 * @typedef {import('./test-parts.mjs').Part} Part
 * @typedef {{ name: string, ms: number }} Took
 * @typedef {{ parts: Part[], folder: string, before: Took[] }} Plan
 *   folder: where the tests are, compiled or as sources · before: what took how long until now
 * @typedef {{ where: string, title: string, ms: number }} Told where: its file
 * @typedef {Told & { reason: string[] }} Failed
 * @typedef {Told & { why: string }} Skipped
 * @typedef {{ passed: number, failed: Failed[], skipped: Skipped[], notAsked: number, tests: Told[] }} Found
 *   notAsked: tests that another slice plays, or the proof
 * @typedef {{ name: string, nesting: number, skip?: string | boolean, todo?: string | boolean, message?: string,
 *   details: { duration_ms: number, type?: string, error?: Error & { failureType?: string } } }} Data
 */

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const ENTRIES = join(ROOT, '.cambist', 'parts', String(process.pid));
const RUN_PART = new URL('./run-part.mjs', import.meta.url).href;
/** One for each core of a small machine: with more of them, workers stand still for seconds. */
const PROCESSES = 2;
const SLOWEST = 10;
const REASON_LINES = 30;
/** Longer than any wait of a test: a part in which nothing begins or ends for so long has come to a stand. */
const STANDS_STILL_MS = 15 * 60_000;

/** @type {Found} */
const found = { passed: 0, failed: [], skipped: [], notAsked: 0, tests: [] };

const startedAt = performance.now();
/** @type {Plan} */
const plan = JSON.parse(process.argv[2] ?? '');
const withServer = pLimit(PROCESSES);
// Tests of a server wait half of their time, which one more process fills.
const isAlone = plan.parts.every(({ startsNothing }) => startsNothing);
const beside = pLimit(isAlone ? PROCESSES : 1);
mkdirSync(ENTRIES, { recursive: true });
try {
  const took = await Promise.all(
    plan.parts.map((part) =>
      (part.startsNothing || part.mostlyWaits ? beside : withServer)(() => timed(part)),
    ),
  );
  tell([...plan.before, ...took]);
} finally {
  rmSync(ENTRIES, { recursive: true, force: true });
}

/**
 * @param {Part} part
 * @returns {Promise<Took>}
 */
async function timed(part) {
  const beganAt = performance.now();
  await runPart(part);
  return { name: part.name, ms: performance.now() - beganAt };
}

/**
 * Runs a part to its end, and tells of each file when it has ended.
 *
 * @param {Part} part
 * @returns {Promise<void>}
 */
function runPart(part) {
  const entry = entryOf(part);
  /** What has begun and not ended, how often. @type {Map<string, number>} */
  const atWork = new Map();
  /** The names of the suites around the test that is being told. @type {string[]} */
  const path = [];
  /** @type {string[]} */
  let lines = [];
  /** How many tests of the file that is being told another slice plays, or the proof. */
  let notAsked = 0;
  /** Files whose end was told. @type {Set<string>} */
  const told = new Set();
  /** Files of which at least one test was told. @type {Set<string>} */
  const withTests = new Set();
  return new Promise((resolve) => {
    const still = setTimeout(() => {
      giveUp(part, [...atWork.keys()]);
    }, STANDS_STILL_MS);
    run({ files: [entry], concurrency: 1 })
      .on('test:dequeue', ({ name, nesting }) => {
        still.refresh();
        if (nesting > 1) atWork.set(name, (atWork.get(name) ?? 0) + 1);
      })
      .on('test:complete', ({ name }) => {
        still.refresh();
        const left = (atWork.get(name) ?? 1) - 1;
        if (left > 0) atWork.set(name, left);
        else atWork.delete(name);
      })
      .on('test:stdout', ({ message }) => process.stdout.write(message))
      .on('test:stderr', ({ message }) => process.stderr.write(message))
      .on('test:start', ({ name, nesting }) => {
        path.length = nesting;
        path.push(name);
      })
      .on('test:pass', (data) => hear(data, true))
      .on('test:fail', (data) => hear(data, false))
      .on('end', () => {
        clearTimeout(still);
        for (const file of part.files) {
          if (!told.has(file)) fail(file, 'its process ended before it did');
          else if (!withTests.has(file)) fail(file, 'it has no test');
        }
        resolve();
      })
      .resume();
  });

  /**
   * @param {Data} data
   * @param {boolean} isPassed
   */
  function hear(data, isPassed) {
    const { name, nesting, details } = data;
    const isSuite = details.type === 'suite' || nesting === 0;
    const title = [...path.slice(2, nesting), name].join(' › ');
    const test = { where: path[1] ?? part.name, title, ms: details.duration_ms };
    const isOwnFailure = !isPassed && details.error?.failureType !== 'subtestsFailed';
    const why = data.skip ?? data.todo;
    const indent = '  '.repeat(nesting);
    if (!isSuite || isOwnFailure || why !== undefined) withTests.add(test.where);
    if (isOwnFailure) {
      const reason = reasonOf(details.error);
      found.failed.push({ ...test, reason });
      lines.push(`${indent}✖ ${name} (${seconds(details.duration_ms)})`, ...reason);
    } else if (why === NOT_ASKED) {
      found.notAsked += 1;
      notAsked += 1;
      return;
    } else if (typeof why === 'string' && why !== '') {
      found.skipped.push({ ...test, why });
      lines.push(`${indent}﹣ ${name} (skipped: ${why})`);
    } else if (why !== undefined) {
      fail(test.where, `${title} (is skipped, and does not say why)`);
      lines.push(`${indent}✖ ${name} (is skipped, and does not say why)`);
    } else if (!isSuite) {
      found.passed += 1;
      lines.push(`${indent}✔ ${name} (${seconds(details.duration_ms)})`);
    }
    if (!isSuite) found.tests.push(test);
    if (nesting === 1) told.add(name);
    if (nesting === 1 && notAsked > 0) lines.push(`${indent}${notAsked} ${NOT_ASKED}`);
    if (nesting > 1 || (nesting === 0 && lines.length === 0)) return;
    process.stdout.write(`${[nesting === 1 ? name : part.name, ...lines].join('\n')}\n`);
    lines = [];
    notAsked = 0;
  }
}

/**
 * A file that runs the part: of a process of tests nothing but its file can be chosen.
 *
 * @param {Part} part
 */
function entryOf({ name, filesAtOnce, files }) {
  const urlOf = (/** @type {string} */ file) => pathToFileURL(join(plan.folder, file)).href;
  const isCompiled = !plan.folder.endsWith(join(ROOT, 'test'));
  const listed = files.map((file) => ({
    name: file,
    url: urlOf(isCompiled ? file.replace(/ts$/, 'js') : file),
  }));
  const path = join(ENTRIES, `${name.replaceAll('/', '-')}.mjs`);
  writeFileSync(
    path,
    `import { runPart } from '${RUN_PART}';\nrunPart(${JSON.stringify({ name, filesAtOnce, files: listed })});\n`,
  );
  return path;
}

/**
 * @param {Part} part
 * @param {string[]} atWork
 * @returns {never}
 */
function giveUp({ name }, atWork) {
  console.log(`\nNothing has happened in '${name}' for ${STANDS_STILL_MS / 60_000} minutes. At work:`);
  for (const title of atWork) {
    console.log(`  ${title}`);
    fail(name, `${title} (has come to a stand)`);
  }
  // Where it stands still as it loads, nothing is at work.
  if (atWork.length === 0) fail(name, 'has come to a stand');
  rmSync(ENTRIES, { recursive: true, force: true });
  tell(plan.before);
  // The program that started this process ends what is left.
  process.exit(1);
}

/** @param {string} where @param {string} title of what told no reason */
function fail(where, title) {
  found.failed.push({ where, title, ms: 0, reason: [] });
}

/** @param {Error | undefined} error as the runner has it, with what the test threw as its cause */
function reasonOf(error) {
  const reason = error?.cause ?? error;
  return inspect(reason, { depth: 8 })
    .split('\n')
    .map((line) => `      ${line}`);
}

/** @param {Took[]} took */
function tell(took) {
  const { passed, failed, skipped, notAsked, tests } = found;
  const slowest = tests.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  const total = plan.before.reduce((sum, { ms }) => sum + ms, performance.now() - startedAt);
  const rows = [...took, { name: 'all', ms: total }];
  const lines = [
    '',
    'The slowest tests:',
    ...slowest.map(({ where, title, ms }) => `${seconds(ms).padStart(9)}  ${where}: ${title}`),
    '',
    'How long it took, without setting up:',
    ...rows.map(({ name, ms }) => `${seconds(ms).padStart(9)}  ${name}`),
    ...(skipped.length === 0 ? [] : ['', 'Skipped:']),
    ...skipped.map(({ where, title, why }) => `  ﹣ ${where}: ${title} (${why})`),
    ...(failed.length === 0 ? [] : ['', 'Failed:']),
    // Once more with the reason: a person who has only the end of a long output reads it here.
    ...failed.flatMap(({ where, title, reason }) => [
      `  ✖ ${where}: ${title}`,
      ...reason.slice(0, REASON_LINES),
    ]),
    '',
    `ℹ tests ${passed + failed.length + skipped.length}`,
    `ℹ pass ${passed}`,
    `ℹ fail ${failed.length}`,
    `ℹ skipped ${skipped.length}`,
    textOfCounts({ passed, failed: failed.length, skipped: skipped.length }),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  // A slice may hold nothing of these files: then nothing can pass.
  process.exitCode = failed.length === 0 && (passed > 0 || notAsked > 0) ? 0 : 1;
  process.send?.(found);
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1_000).toFixed(ms < 100 ? 3 : 1)} s`;
}
