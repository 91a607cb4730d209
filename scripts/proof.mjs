// `npm run proof`: every machine that tries to move money twice, one after the other; fails when any of them does.
// `-- NAME …` plays only these, `--slice K/N` one of N parts of each, `--seed S` what that seed gives (default: a new one).
// `--changed-since REF` adds the defects whose sources have changed since; `--write` puts the figures into docs/proof.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bugs } from './bugs.mjs';
import { changedSince } from './lib/changes.mjs';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { refreshed } from './lib/proof-table.mjs';
import { isInSlice, numbersIn, readSlice, textOfSlice, WHOLE } from './lib/slice.mjs';
import { runSliced, slicedFiles } from './lib/sliced-files.mjs';
import { say } from './lib/steps.mjs';
import { importTest } from './lib/test-build.mjs';
import { readEdits, replays } from './replays.mjs';
import { setup } from './setup.mjs';

const PAGE = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'proof.md');
/** So many ranges of seeds, of so many schedules each. */
const RANGES = 7;
const SCHEDULES_IN_RANGE = 3_000;
const REBALANCES_IN_RANGE = 600;
const BATCHES_IN_RANGE = 70;
/** More than one range takes, which has a seed for each of its processes. */
const SEEDS_IN_RANGE = 10;
/** Of a slice of the walk one of so many parts is walked. */
const WALK_PARTS = 5;
const STORMS = 7;
const STORM_MS = 25_000;
const PAYMENTS = 10_000;
const REAL_SERVER = 'machines/temporal-server.test.ts';
const KILLS = ['machines/run-kill.test.ts', 'machines/run-rebalance.test.ts'];

/**
 * One machine: the names of its figures, and how it comes to them.
 *
 * @typedef {{ readonly name: string, readonly figures: readonly string[], readonly run: (part: Part) => Promise<Result> }} Machine
 * @typedef {object} Part what is played of it
 * @property {number} seed
 * @property {import('./lib/slice.mjs').Slice} slice
 * @property {readonly string[]} changed files that have changed
 * @typedef {object} Result
 * @property {number} passed
 * @property {readonly string[]} failures
 * @property {readonly (string | number)[]} values of the figures; none: nothing of it falls into the slice
 */

/** @type {Result} */
const NOTHING = { passed: 0, failures: [], values: [] };

/** @type {readonly Machine[]} */
export const MACHINES = [
  {
    name: 'fuzz',
    figures: [
      'schedules of faults, crashes, resets and people’s instructions against a model',
      'cells of them hit',
    ],
    run: async ({ seed, slice }) => {
      const { fuzz, textOfFailure } = await importTest('machines/model/fuzz.ts');
      const { expectedCells } = await importTest('machines/model/coverage.ts');
      const hit = new Set();
      let passed = 0;
      for (const range of numbersIn(RANGES, slice)) {
        // Each of them takes all processors.
        const { schedules, counts, failure } = await fuzz({
          schedules: SCHEDULES_IN_RANGE,
          rebalances: REBALANCES_IN_RANGE,
          batches: BATCHES_IN_RANGE,
          seed: seed + SEEDS_IN_RANGE * range,
          processes: 2,
        });
        if (failure !== null) return { ...NOTHING, passed, failures: [textOfFailure(failure)] };
        passed += schedules;
        for (const [cell] of counts) hit.add(cell);
      }
      /** @type {string[]} */
      const expected = expectedCells();
      const missed = expected.filter((cell) => !hit.has(cell));
      return {
        passed,
        // A part has no time for the rare ones.
        failures: slice.of > 1 ? [] : missed.map((cell) => `Never hit: ${cell}.`),
        values: [passed, outOf(expected.length - missed.length, expected.length)],
      };
    },
  },
  {
    name: 'walk',
    figures: [
      'schedules walked: every one of a small world with at most two faults, once',
      'courses that a first fault leads to, summed over the worlds',
    ],
    run: async ({ seed, slice }) => {
      const { walk, textOfWalk } = await importTest('machines/model/walk.ts');
      const { schedules, states, failure } = await walk({
        world: 'all',
        slice: slice.of === WHOLE.of ? WHOLE : partOfSlice(slice, seed),
        processes: 2,
      });
      if (failure !== null) return { ...NOTHING, failures: [textOfWalk(failure)] };
      return { passed: schedules, failures: [], values: [schedules, states] };
    },
  },
  {
    name: 'resets',
    figures: [
      'resets of runs on a real server',
      'ledger unchanged after them',
      'exactly what was missing done after them',
    ],
    run: async ({ seed, slice }) => {
      const { SERVICES, threeServices } = await load('resets/services.ts');
      const { resetRuns } = await load('resets/resets.ts');
      const { sum } = await load('resets/table.ts');
      const { rows, failures } = await resetRuns({
        seed,
        services: SERVICES,
        extent: 'all',
        slice,
        only: { services: threeServices(seed) },
      });
      const { resets, unchanged, completed } = sum(rows);
      return { passed: unchanged + completed, failures, values: [resets, unchanged, completed] };
    },
  },
  {
    name: 'kills',
    figures: ['tests of workers killed, and rebalancings reset: the run ended as if nothing had happened'],
    run: async (part) => {
      const { passed, failures } = await runSliced(KILLS, part);
      return { passed, failures, values: [outOf(passed, passed + failures.length)] };
    },
  },
  {
    name: 'matrices',
    figures: ['tests of whole tables, each cell on a real server'],
    run: async (part) => {
      const files = slicedFiles().filter((file) => !KILLS.includes(file));
      const { passed, failures } = await runSliced(files, part);
      return { passed, failures, values: [outOf(passed, passed + failures.length)] };
    },
  },
  {
    name: 'batch',
    figures: ['payments of one batch made once, though two workers were killed and one reply of fifty lost'],
    run: async ({ slice }) => {
      if (!isInSlice('a batch through kills', slice)) return NOTHING;
      const { payThroughKills } = await load('../support/killed-batch.ts');
      const passed = await payThroughKills(PAYMENTS);
      return { passed, failures: [], values: [outOf(passed, PAYMENTS)] };
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
    run: async ({ seed, slice }) => {
      const { chaos } = await load('chaos/chaos.ts');
      const storms = numbersIn(STORMS, slice);
      if (storms.length === 0) return NOTHING;
      const failures = [];
      /** @type {Record<string, number>} */
      const figures = {};
      for (const storm of storms) {
        // They would make each other late.
        const end = await chaos({ seed: seed + storm, stormMs: STORM_MS });
        if (end.failures.length > 0) {
          const again = `npm run chaos -- --minutes ${(STORM_MS / 60_000).toFixed(2)} --seed ${seed + storm}`;
          failures.push(`${end.failures.join('\n')}\nLogs: ${end.folder}\nAgain: ${again}`);
        }
        for (const [name, figure] of Object.entries(end.figures))
          figures[name] = (figures[name] ?? 0) + Number(figure);
      }
      const of = (/** @type {string[]} */ ...names) =>
        names.reduce((sum, name) => sum + (figures[name] ?? 0), 0);
      return {
        passed: storms.length - failures.length,
        failures,
        values: [
          of('runs'),
          of('worker kills', 'server kills', 'worker freezes'),
          of('bad wires', 'cut wires'),
          of('service faults'),
        ],
      };
    },
  },
  {
    name: 'replays',
    figures: ['tests of recorded histories, which replay', 'incompatible edits that replay notices'],
    run: async (part) => {
      const recorded = await runSliced(['machines/run-replay.test.ts'], part);
      const edits = (await readEdits()).filter(({ name }) => isInSlice(name, part.slice));
      const { detected, failures } =
        edits.length === 0 ? { detected: 0, failures: [] } : await replays({ edits });
      return {
        passed: recorded.passed + detected,
        failures: [...recorded.failures, ...failures],
        values: [
          outOf(recorded.passed, recorded.passed + recorded.failures.length),
          outOf(detected, edits.length),
        ],
      };
    },
  },
  {
    name: 'server',
    figures: ['tests on the real Temporal server, which is newer than the dev server'],
    run: async (part) => {
      // It is built the first time, which takes longer than a slice may.
      if (part.slice.of > 1) return NOTHING;
      const { passed, failures } = await runSliced([REAL_SERVER], part);
      return { passed, failures, values: [outOf(passed, passed + failures.length)] };
    },
  },
  {
    name: 'bugs',
    figures: ['planted defects caught'],
    run: async ({ slice, changed }) => {
      const { planted, caught, failures } = await bugs({ slice, changed });
      return { passed: caught, failures, values: [outOf(caught, planted)] };
    },
  },
];

await runIfMain(import.meta.url, async () => {
  const { machines, part, since, writes } = readAsked(process.argv.slice(2));
  const changed = since === undefined ? [] : await changedSince(since);
  await setup({ ownServer: true });
  const { startDevServer } = await load('../../worker/dev-server.ts');
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  process.env['CAMBIST_TEST_TEMPORAL'] = server.address;
  say(`Seed ${part.seed}, slice ${textOfSlice(part.slice)}.`);
  let [passed, failed] = [0, 0];
  try {
    for (const machine of machines) {
      // They would make each other late.
      const result = await runMachine(machine, { ...part, changed });
      passed += result.passed;
      failed += result.failures.length;
      if (writes && result.failures.length === 0 && result.values.length > 0) write(machine, result, part);
    }
  } finally {
    await server.kill();
  }
  process.stdout.write(`proof: ${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
});

/**
 * A slice of the walk is long: of it one part is walked, another one by another seed.
 *
 * @param {import('./lib/slice.mjs').Slice} slice
 * @param {number} seed
 */
export function partOfSlice({ number, of }, seed) {
  return { number: (number - 1) * WALK_PARTS + (seed % WALK_PARTS) + 1, of: of * WALK_PARTS };
}

/**
 * What the command line asks for.
 *
 * @param {string[]} args
 */
export function readAsked(args) {
  const { values, positionals: names } = parseArgs({
    args,
    options: {
      slice: { type: 'string' },
      seed: { type: 'string' },
      'changed-since': { type: 'string' },
      write: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const unknown = names.find((name) => !MACHINES.some((machine) => machine.name === name));
  if (unknown !== undefined)
    throw new ScriptFailed(
      `There is no machine '${unknown}'. There are: ${MACHINES.map(({ name }) => name).join(', ')}.`,
    );
  const seed = numberOf(values.seed ?? String(Date.now() % 1_000_000_000), '--seed');
  return {
    machines: MACHINES.filter(({ name }) => names.length === 0 || names.includes(name)),
    part: { seed, slice: readSlice(values.slice) },
    since: values['changed-since'],
    writes: values.write,
  };
}

/**
 * @param {Machine} machine
 * @param {Part} part
 * @returns {Promise<Result>}
 */
async function runMachine(machine, part) {
  const startedAt = performance.now();
  say(`${machine.name} …`);
  const result = await machine.run(part).catch((/** @type {unknown} */ error) => ({
    ...NOTHING,
    failures: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
  }));
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  for (const failure of result.failures) say(`${machine.name}: ${failure}`);
  for (const [figure, value] of figuresOf(machine, result)) say(`${value} ${figure}`);
  if (result.failures.length > 0) say(`Again: ${commandOf(machine, part)}`);
  process.stdout.write(
    `${machine.name}: ${result.passed} passed, ${result.failures.length} failed (${minutes} min)\n`,
  );
  return result;
}

/**
 * What plays the same part of a machine again.
 *
 * @param {Pick<Machine, 'name'>} machine
 * @param {Pick<Part, 'seed' | 'slice'>} part
 */
export function commandOf({ name }, { seed, slice }) {
  const options = slice.of === WHOLE.of ? [] : [`--slice ${textOfSlice(slice)}`];
  return ['npm run proof --', name, ...options, `--seed ${seed}`].join(' ');
}

/**
 * @param {Machine} machine
 * @param {Result} result
 * @returns {[string, string][]}
 */
function figuresOf({ figures }, { values }) {
  return values.map((value, index) => [figures[index] ?? '', textOf(value)]);
}

/**
 * Its figures in docs/proof.md, in place of those that are there of the same slice.
 *
 * @param {Machine} machine
 * @param {Result} result
 * @param {Pick<Part, 'seed' | 'slice'>} part
 */
function write(machine, result, { seed, slice }) {
  const date = new Date().toISOString().slice(0, 10);
  const played = slice.of === WHOLE.of ? 'whole' : textOfSlice(slice);
  const rows = figuresOf(machine, result).map(([what, figure]) => [date, String(seed), played, what, figure]);
  const known = MACHINES.flatMap(({ figures }) => figures);
  writeFileSync(PAGE, refreshed(readFileSync(PAGE, 'utf8'), rows, known));
}

/** What the tests share with the scripts, read from its source. */
async function load(/** @type {string} */ file) {
  const { tsImport } = await import('tsx/esm/api');
  return tsImport(`../test/machines/${file}`, import.meta.url);
}

/**
 * @param {number} part
 * @param {number} whole
 */
function outOf(part, whole) {
  return `${textOf(part)} of ${textOf(whole)}`;
}

function textOf(/** @type {string | number} */ value) {
  return typeof value === 'number' ? value.toLocaleString('en-GB') : value;
}
