// `npm run proof`: every machine that tries to move money twice, one after the other, and what they came to in one table.
// Fails when any of them does. `-- --write` puts the table into docs/proof.md, with its date; `-- NAME …` runs only these.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bugs } from './bugs.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { testFileOf } from './lib/test-files.mjs';
import { replays } from './replays.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PAGE = join(ROOT, 'docs', 'proof.md');
/** Fixed, so that a change is what changes the figures; other seeds are for the machines' own commands. */
const SEED = 20_261_121;
const SCHEDULES = 20_000;
const BATCHES = 500;
const STORM_MS = 60_000;
const PAYMENTS = 10_000;

/**
 * One machine: the names of its figures, and how it comes to them.
 *
 * @typedef {{ readonly name: string, readonly figures: readonly string[], readonly run: () => Promise<Result> }} Machine
 * @typedef {{ readonly values: readonly (string | number)[], readonly failures: readonly string[] }} Result
 */

/** @type {readonly Machine[]} */
export const MACHINES = [
  {
    name: 'fuzz',
    figures: [
      'schedules of faults, crashes, resets and people’s instructions against a model',
      'cells of them hit',
    ],
    run: async () => {
      const { fuzz, textOfFailure } = await load('model/fuzz.ts');
      const { expectedCells } = await load('model/coverage.ts');
      const { schedules, counts, failure } = await fuzz({
        schedules: SCHEDULES,
        batches: BATCHES,
        seed: SEED,
        processes: 2,
      });
      const hit = new Set(counts.map((/** @type {[string, number]} */ [cell]) => cell));
      /** @type {string[]} */
      const expected = expectedCells();
      const missed = expected.filter((cell) => !hit.has(cell));
      return {
        values: [schedules, outOf(expected.length - missed.length, expected.length)],
        failures: [
          ...(failure === null ? [] : [textOfFailure(failure)]),
          ...missed.map((cell) => `Never hit: ${cell}.`),
        ],
      };
    },
  },
  {
    name: 'resets',
    figures: [
      'resets of runs on a real server',
      'ledger unchanged after them',
      'exactly what was missing done after them',
    ],
    run: async () => {
      const { SOME_SERVICES, resetRuns } = await load('resets/resets.ts');
      const { sum } = await load('resets/table.ts');
      const { rows, failures } = await resetRuns({ seed: SEED, services: SOME_SERVICES, extent: 'some' });
      const { resets, unchanged, completed } = sum(rows);
      return { values: [resets, unchanged, completed], failures };
    },
  },
  {
    name: 'kills',
    figures: ['workers killed at a named moment, and the run ended as if nothing had happened'],
    run: async () => {
      const { passed, failed } = await runTests('run-kill', /: the run ends as if nothing had happened$/);
      return { values: [outOf(passed.length, passed.length + failed.length)], failures: failed };
    },
  },
  {
    name: 'batch',
    figures: ['payments of one batch made once, though two workers were killed and one reply of fifty lost'],
    run: async () => {
      const { payThroughKills } = await load('../support/killed-batch.ts');
      return { values: [outOf(await payThroughKills(PAYMENTS), PAYMENTS)], failures: [] };
    },
  },
  {
    name: 'chaos',
    figures: [
      'runs through the chaos of real processes',
      'workers and servers killed, workers frozen',
      'wires made bad or cut',
      'faults of the service',
    ],
    run: async () => {
      const { chaos } = await load('chaos/chaos.ts');
      const { figures, failures } = await chaos({ seed: SEED, stormMs: STORM_MS });
      const of = (/** @type {string[]} */ ...names) =>
        names.reduce((sum, name) => sum + Number(figures[name] ?? 0), 0);
      return {
        values: [
          of('runs'),
          of('worker kills', 'server kills', 'worker freezes'),
          of('bad wires', 'cut wires'),
          of('service faults'),
        ],
        failures,
      };
    },
  },
  {
    name: 'replays',
    figures: ['recorded histories that replay', 'incompatible edits that replay notices'],
    run: async () => {
      const { passed, failed } = await runTests('run-replay', /\.json replays$/);
      const { edits, detected, failures } = await replays();
      return {
        values: [outOf(passed.length, passed.length + failed.length), outOf(detected, edits)],
        failures: [...failed, ...failures],
      };
    },
  },
  {
    name: 'bugs',
    figures: ['planted defects caught'],
    run: async () => {
      const { planted, caught, failures } = await bugs();
      return { values: [outOf(caught, planted)], failures };
    },
  },
];

await runIfMain(import.meta.url, async () => {
  const { values: options, positionals: names } = parseArgs({
    options: { write: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const machines = names.length === 0 ? MACHINES : MACHINES.filter(({ name }) => names.includes(name));
  if (machines.length < Math.max(names.length, 1) || (options.write && names.length > 0))
    throw new ScriptFailed(
      `There are: ${MACHINES.map(({ name }) => name).join(', ')}; --write is for all of them.`,
    );
  const startedAt = performance.now();
  await setup({ ownServer: true });
  const readyAt = performance.now();
  const { startDevServer } = await load('../../worker/dev-server.ts');
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  process.env['CAMBIST_TEST_TEMPORAL'] = server.address;
  /** @type {[string, string][]} */
  const rows = [];
  /** @type {string[]} */
  const failures = [];
  try {
    for (const machine of machines) {
      // They would make each other late.
      const { values, failures: found } = await runMachine(machine);
      rows.push(
        ...machine.figures.map(
          (figure, index) => /** @type {[string, string]} */ ([figure, textOf(values[index])]),
        ),
      );
      failures.push(...found.map((failure) => `${machine.name}: ${failure}`));
    }
  } finally {
    await server.kill();
  }
  process.stdout.write(`${tableOf(rows)}\n`);
  say(`${minutesSince(readyAt)} after ${minutesSince(startedAt, readyAt)} of set-up.`);
  if (failures.length > 0) throw new ScriptFailed(`${failures.length} failed:\n${failures.join('\n')}`);
  if (options.write) writePage(rows, minutesSince(readyAt));
  return 0;
});

/**
 * @param {Machine} machine
 * @returns {Promise<Result>}
 */
async function runMachine({ name, figures, run }) {
  const startedAt = performance.now();
  say(`${name} …`);
  /** @type {Result} */
  let result;
  try {
    result = await run();
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    result = { values: figures.map(() => 'failed'), failures: [why] };
  }
  const verdict = result.failures.length === 0 ? 'ok' : 'FAILED';
  say(`${name}: ${verdict} (${minutesSince(startedAt)}): ${result.values.map(textOf).join(' · ')}`);
  return result;
}

/** What the tests share with the scripts, read from its source. */
async function load(/** @type {string} */ file) {
  const { tsImport } = await import('tsx/esm/api');
  return tsImport(`../test/machines/${file}`, import.meta.url);
}

/**
 * Runs one test file; the names of those of its tests that match, and why the others failed.
 *
 * @param {string} name
 * @param {RegExp} counted
 * @returns {Promise<{ passed: string[], failed: string[] }>}
 */
async function runTests(name, counted) {
  const options = ['--import', 'tsx', '--import', './scripts/lib/end-tests.mjs', '--test-reporter=tap'];
  const child = spawn(process.execPath, [...options, join('test', testFileOf(name) ?? name)], {
    cwd: ROOT,
    env: { ...process.env, TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  /** @type {string[]} */
  const passed = [];
  /** @type {string[]} */
  const failed = [];
  for await (const line of createInterface(child.stdout)) {
    const [, verdict, title = ''] = /^\s*(ok|not ok) \d+ - (.*)$/.exec(line) ?? [];
    if (verdict === 'ok' && counted.test(title)) passed.push(title);
    if (verdict === 'not ok') failed.push(title);
  }
  const [exitCode] = await exited;
  if (exitCode !== 0 && failed.length === 0) failed.push(`${name}.test.ts ended with ${exitCode}.`);
  return { passed, failed };
}

/**
 * @param {number} part
 * @param {number} whole
 */
function outOf(part, whole) {
  return `${textOf(part)} of ${textOf(whole)}`;
}

function textOf(/** @type {string | number | undefined} */ value) {
  return typeof value === 'number' ? value.toLocaleString('en-GB') : (value ?? '');
}

/**
 * @param {number} from
 * @param {number} [to]
 */
function minutesSince(from, to = performance.now()) {
  return `${((to - from) / 60_000).toFixed(1)} min`;
}

/** A table of Markdown. */
function tableOf(/** @type {[string, string][]} */ rows) {
  const lines = [['what', 'figure'], ...rows];
  const [left = 0, right = 0] = [0, 1].map((cell) =>
    Math.max(...lines.map((line) => (line[cell] ?? '').length)),
  );
  const [head = '', ...body] = lines.map(
    ([what = '', figure = '']) => `| ${what.padEnd(left)} | ${figure.padEnd(right)} |`,
  );
  return [head, `| ${'-'.repeat(left)} | ${'-'.repeat(right)} |`, ...body].join('\n');
}

/**
 * Puts the table where the page has the last one.
 *
 * @param {[string, string][]} rows
 * @param {string} took
 */
function writePage(rows, took) {
  const [begin, end] = ['<!-- npm run proof -->\n', '<!-- end -->'];
  const [before, rest = ''] = readFileSync(PAGE, 'utf8').split(begin);
  const [, after] = rest.split(end);
  if (before === undefined || after === undefined)
    throw new ScriptFailed('docs/proof.md has no place for the table.');
  const date = new Date().toISOString().slice(0, 10);
  const said = `(${date}: ${took} on ${availableParallelism()} cores, Node ${process.versions.node}, seed ${SEED}.)`;
  writeFileSync(PAGE, `${before}${begin}\n${tableOf(rows)}\n\n${said}\n\n${end}${after}`);
  say('The table is in docs/proof.md.');
}
