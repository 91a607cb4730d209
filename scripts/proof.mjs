// `npm run proof` plays every machine that tries to move money twice, one after the other. It fails when one of them moves it, and
// when one of them has done less than it must. `-- NAME …` plays only these machines, `--slice K/N` one of N parts of
// each, `--seed S` what follows from that seed (default: a new one). `--write` puts the figures into docs/proof.md.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bugs } from './bugs.mjs';
import { cluster, PAYMENTS as CLUSTER_PAYMENTS, REAL_SERVER } from './cluster.mjs';
import { numberOf, runIfMain, ScriptFailed, textOfCounts } from './lib/main.mjs';
import { refreshed } from './lib/proof-table.mjs';
import { isInSlice, numbersIn, readSlice, textOfSlice, WHOLE } from './lib/slice.mjs';
import { runSliced, slicedFiles } from './lib/sliced-files.mjs';
import { say } from './lib/steps.mjs';
import { importTest } from './lib/test-build.mjs';
import { readEdits, replays } from './replays.mjs';
import { setup } from './setup.mjs';
import { sayWorlds } from './walk.mjs';
import { ensureTemporalServer } from './temporal-server-binary.mjs';

const PAGE = join(dirname(dirname(fileURLToPath(import.meta.url))), 'docs', 'proof.md');
/** The fuzz plays so many ranges of seeds, and so many schedules of each. */
const RANGES = 7;
const SCHEDULES_IN_RANGE = 3_000;
const REBALANCES_IN_RANGE = 600;
const BATCHES_IN_RANGE = 70;
/** The next range begins so many seeds later. A range has fewer processes, each of which takes a seed of its own. */
const SEEDS_IN_RANGE = 10;
/** A slice of the walk is long, and so one of so many parts of it is walked. */
const WALK_PARTS = 5;
/** Every walk finds at least so many different courses with one fault, whatever its slice. */
const COURSES = 1_000;
/** All slices together walk at least so many schedules. */
const WALKED = 400_000;
/** All slices together reset at least so often. */
const RESETS = 900;
const STORMS = 7;
const STORM_MS = 25_000;
/** A storm without these proves nothing. */
const IN_EVERY_STORM = [
  'worker kills',
  'worker freezes',
  'server kills',
  'cut wires',
  'bad wires',
  'trades',
  'withdrawals',
];
const PAYMENTS = 10_000;
const ALERTS = ['machines/alerts.test.ts'];
const DEPLOY = ['machines/deploy-files.test.ts'];
/** Four workers, two processes of the server, and the database. */
const CLUSTER_HARMS = 7;
const KILLS = ['machines/run-kill.test.ts', 'machines/run-rebalance.test.ts'];
const REPLAYS = ['machines/run-replay.test.ts', 'machines/replays.test.ts'];
const STRANGERS = ['machines/strangers.test.ts'];
const UPGRADE = ['machines/upgrade.test.ts', 'machines/deploy.test.ts'];
const PACKAGE = ['machines/package.test.ts'];
const BUTTONS = slicedFiles().filter((file) => /^machines\/(?:run-)?buttons/.test(file));
const MATRICES = slicedFiles().filter(
  (file) => ![...KILLS, ...REPLAYS, ...STRANGERS, ...UPGRADE, ...PACKAGE, ...BUTTONS].includes(file),
);

/**
 * One machine: the names of its figures, and how it comes to them. `load` reads what it shares with the tests.
 *
 * @typedef {object} Machine
 * @property {string} name
 * @property {readonly string[]} figures
 * @property {readonly string[]} [files] the files of tests that it runs
 * @property {(part: Part, load: Load) => Promise<Result>} run
 *
 * @typedef {(file: string) => Promise<any>} Load
 * @typedef {object} Part what is played of it
 * @property {number} seed
 * @property {import('./lib/slice.mjs').Slice} slice
 * @typedef {object} Result
 * @property {number} passed
 * @property {readonly string[]} failures
 * @property {readonly string[]} [skipped] tests, each with its reason
 * @property {readonly Value[]} values of the figures; none: nothing of it falls into the slice
 * @typedef {number | { part: number, of: number }} Value
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
    run: async ({ seed, slice }, load) => {
      const { fuzz, textOfFailure } = await load('model/fuzz.ts');
      const { expectedCells } = await load('model/coverage.ts');
      const ranges = numbersIn(RANGES, slice);
      if (ranges.length === 0) return NOTHING;
      const asked = {
        schedules: SCHEDULES_IN_RANGE,
        rebalances: REBALANCES_IN_RANGE,
        batches: BATCHES_IN_RANGE,
      };
      const hit = new Set();
      let passed = 0;
      for (const range of ranges) {
        // One after the other: each uses all processors.
        const { schedules, counts, failure } = await fuzz({
          ...asked,
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
      const inRange = asked.schedules + asked.rebalances + asked.batches;
      return {
        passed,
        failures: [
          ...atLeast(ranges.length * inRange, passed, 'schedules'),
          // A slice is too short to hit the rare ones.
          ...(isWhole(slice) ? missed.map((cell) => `Never hit: ${cell}.`) : []),
        ],
        values: [passed, { part: expected.length - missed.length, of: expected.length }],
      };
    },
  },
  {
    name: 'walk',
    figures: [
      'schedules walked: every one of a small world with at most two faults, once',
      'courses that a first fault leads to, summed over the worlds',
    ],
    run: async ({ seed, slice }, load) => {
      const { walk, textOfWalk } = await load('model/walk.ts');
      const part = isWhole(slice) ? WHOLE : partOfSlice(slice, seed);
      const { schedules, states, failure } = await walk({
        world: 'all',
        slice: part,
        processes: 2,
        onWorld: sayWorlds(),
      });
      if (failure !== null) return { ...NOTHING, failures: [textOfWalk(failure)] };
      return {
        passed: schedules,
        failures: [
          ...atLeast(Math.floor(WALKED / part.of), schedules, 'schedules'),
          ...atLeast(COURSES, states, 'courses'),
        ],
        values: [schedules, states],
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
    run: async ({ seed, slice }, load) => {
      const { SERVICES, oneService } = await load('resets/services.ts');
      const { resetRuns } = await load('resets/resets.ts');
      const { sum } = await load('resets/table.ts');
      const { rows, failures } = await resetRuns({
        seed,
        services: SERVICES,
        extent: 'all',
        slice,
        // Every one of them at every event would take hours.
        only: { services: [oneService(seed)] },
        tell: say,
      });
      const { resets, unchanged, completed, signalsAgain, signalsLeftOut } = sum(rows);
      // Where a run that falls into a slice was not reset, `resetRuns` says so itself.
      const tooFew = isWhole(slice)
        ? [
            ...atLeast(RESETS, resets, 'resets'),
            ...atLeast(1, signalsAgain, 'signals that came again after a reset'),
            ...atLeast(1, signalsLeftOut, 'signals that a reset left out'),
          ]
        : [];
      return {
        passed: unchanged + completed,
        failures: [...failures, ...tooFew],
        values: [resets, unchanged, completed],
      };
    },
  },
  machineOfTests('kills', KILLS, [
    'tests of workers killed, and rebalancings reset: the run ended as if nothing had happened',
  ]),
  machineOfTests('buttons', BUTTONS, ['tests of the buttons of Temporal, each pressed on a real server']),
  machineOfTests('strangers', STRANGERS, [
    'attacks of a stranger with the namespace of Temporal, each without an entry in the ledger',
  ]),
  machineOfTests('upgrade', UPGRADE, [
    'tests of upgrades in the middle of a batch, by a share and back again, and of what the image starts',
  ]),
  machineOfTests('matrices', MATRICES, ['tests of whole tables, each cell on a real server']),
  {
    name: 'batch',
    figures: ['payments of one batch made once, though two workers were killed and one reply of fifty lost'],
    run: async ({ slice }, load) => {
      if (!isInSlice('a batch through kills', slice)) return NOTHING;
      const { payThroughKills } = await load('../support/killed-batch.ts');
      const passed = await payThroughKills(PAYMENTS);
      return {
        passed,
        failures: atLeast(PAYMENTS, passed, 'payments'),
        values: [{ part: passed, of: PAYMENTS }],
      };
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
    run: async ({ seed, slice }, load) => {
      const { chaos } = await load('chaos/chaos.ts');
      const storms = numbersIn(STORMS, slice);
      if (storms.length === 0) return NOTHING;
      const failures = [];
      /** @type {Record<string, number>} */
      const figures = {};
      for (const storm of storms) {
        // One after the other: side by side they would slow each other down.
        const end = await chaos({ seed: seed + storm, stormMs: STORM_MS });
        // A storm that failed may have no figures.
        const missing =
          end.failures.length > 0
            ? []
            : IN_EVERY_STORM.flatMap((what) => atLeast(1, end.figures[what] ?? 0, what));
        const wrong = [...end.failures, ...missing];
        if (wrong.length > 0) {
          const again = `npm run chaos -- --minutes ${(STORM_MS / 60_000).toFixed(2)} --seed ${seed + storm}`;
          failures.push(`${wrong.join('\n')}\nLogs: ${end.folder ?? 'none'}\nAgain: ${again}`);
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
    files: REPLAYS,
    run: async (part) => {
      const recorded = await runSliced(REPLAYS, part);
      const edits = (await readEdits()).filter(({ name }) => isInSlice(name, part.slice));
      const { detected, failures } =
        edits.length === 0 ? { detected: 0, failures: [] } : await replays({ edits });
      return {
        passed: recorded.passed + detected,
        failures: [...recorded.failures, ...failures],
        skipped: recorded.skipped,
        values: [figureOf(recorded), { part: detected, of: edits.length }],
      };
    },
  },
  {
    ...machineOfTests(
      'server',
      [REAL_SERVER],
      ['tests on the real Temporal server, which is newer than the dev server'],
    ),
    run: async (part) => {
      // The first time the server is built, which takes longer than a slice may.
      if (!isWhole(part.slice)) return NOTHING;
      await ensureTemporalServer();
      return resultOfTests([REAL_SERVER], part);
    },
  },
  machineOfTests('package', PACKAGE, [
    'tests of the package, installed from its tarball on Node 20, 22 and 24',
  ]),
  machineOfPrograms('alerts', ALERTS, [
    'alerts fired and solved on the real Prometheus, each by what it is about',
  ]),
  machineOfPrograms('deploy', DEPLOY, [
    'tests of what Kubernetes, Compose, BuildKit, systemd and Prometheus say of the files of deploy/',
  ]),
  {
    name: 'cluster',
    figures: [
      'payments of two batches on a real server over PostgreSQL, each made once',
      'conversions and a rebalancing beside them, each made once',
      'workers, processes of the server and connections to the database killed meanwhile',
      'tests of Pause on that server',
    ],
    run: async ({ slice, seed }, load) => {
      // It is long, and needs what not every machine has.
      if (!isWhole(slice)) return NOTHING;
      const played = await cluster({ payments: CLUSTER_PAYMENTS, seed }, load);
      const { failures, paid, smallRuns, harms, pressed } = played;
      return {
        passed: paid + smallRuns + pressed,
        failures: [
          ...failures,
          ...atLeast(CLUSTER_HARMS, harms, 'kills while payments were still to be made'),
        ],
        values: [{ part: paid, of: 2 * CLUSTER_PAYMENTS }, smallRuns, harms, pressed],
      };
    },
  },
  {
    name: 'bugs',
    figures: ['planted defects caught'],
    run: async ({ slice }) => {
      const { planted, caught, failures } = await bugs({ slice });
      if (planted === 0) return NOTHING;
      return { passed: caught, failures, values: [{ part: caught, of: planted }] };
    },
  },
];

await runIfMain(import.meta.url, async () => {
  const { machines, part, writes } = readAsked(process.argv.slice(2));
  await setup({ ownServer: true });
  const { startDevServer } = await loadShared('../../worker/dev-server.ts');
  const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
  process.env['CAMBIST_TEST_TEMPORAL'] = server.address;
  say(`Seed ${part.seed}, slice ${textOfSlice(part.slice)}.`);
  const all = { passed: 0, failed: 0, skipped: 0 };
  try {
    for (const machine of machines) {
      // One after the other: side by side they would slow each other down.
      const result = await runMachine(machine, part);
      all.passed += result.passed;
      all.failed += result.failures.length;
      all.skipped += result.skipped?.length ?? 0;
      if (writes) write(rowsOf(machine, result, part));
    }
  } finally {
    await server.kill();
  }
  process.stdout.write(`proof: ${textOfCounts(all)}\n`);
  if (all.passed === 0) say('Nothing was proven: nothing passed.');
  return all.failed === 0 && all.passed > 0 ? 0 : 1;
});

/**
 * A machine that is tests.
 *
 * @param {string} name
 * @param {readonly string[]} files
 * @param {readonly [string]} figures
 * @returns {Machine}
 */
function machineOfTests(name, files, figures) {
  return { name, figures, files, run: (part) => resultOfTests(files, part) };
}

/**
 * A machine that is tests, which need programs that are not on every machine that plays a slice.
 *
 * @param {string} name
 * @param {readonly string[]} files
 * @param {readonly [string]} figures
 * @returns {Machine}
 */
function machineOfPrograms(name, files, figures) {
  const run = async (/** @type {Part} */ part) =>
    isWhole(part.slice) ? resultOfTests(files, part) : NOTHING;
  return { name, figures, files, run };
}

/**
 * @param {readonly string[]} files
 * @param {Part} part
 * @returns {Promise<Result>}
 */
async function resultOfTests(files, part) {
  const count = await runSliced(files, part);
  const figure = figureOf(count);
  return { ...count, values: figure.of === 0 ? [] : [figure] };
}

/**
 * @param {import('./lib/sliced-files.mjs').Count} count
 * @returns {{ part: number, of: number }}
 */
function figureOf({ passed, failures, skipped }) {
  return { part: passed, of: passed + failures.length + skipped.length };
}

/**
 * A failure where there is less than there must be.
 *
 * @param {number} least
 * @param {number} count
 * @param {string} what
 */
function atLeast(least, count, what) {
  return count >= least ? [] : [`Too few ${what}: ${textOf(count)}, and there must be ${textOf(least)}.`];
}

/** @param {import('./lib/slice.mjs').Slice} slice */
function isWhole({ of }) {
  return of === WHOLE.of;
}

/**
 * A slice of the walk is long: one part of it is walked, another one by another seed.
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
  const result = await play(machine, part, loadShared);
  const { passed, failures, skipped = [], values } = result;
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  for (const one of skipped) say(`${machine.name}: skipped: ${one}`);
  for (const failure of failures) say(`${machine.name}: ${failure}`);
  for (const [index, value] of values.entries()) say(`${textOf(value)} ${machine.figures[index]}`);
  if (failures.length > 0) say(`Again: ${commandOf(machine, part)}`);
  else if (values.length === 0) say(`Nothing of it falls into slice ${textOfSlice(part.slice)}.`);
  const counts = textOfCounts({ passed, failed: failures.length, skipped: skipped.length });
  process.stdout.write(`${machine.name}: ${counts} (${minutes} min)\n`);
  return result;
}

/**
 * Plays a machine. One that breaks off has failed, and so has one that did nothing.
 *
 * @param {Machine} machine
 * @param {Part} part
 * @param {Load} load
 * @returns {Promise<Result>}
 */
export async function play(machine, part, load) {
  try {
    const result = await machine.run(part, load);
    return result.failures.length > 0 ? result : { ...result, failures: idle(machine, result, part) };
  } catch (error) {
    return {
      ...NOTHING,
      failures: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
    };
  }
}

/**
 * What a machine has not done, though nothing failed. A slice may have nothing of it; the whole has something of each figure.
 *
 * @param {Machine} machine
 * @param {Result} result
 * @param {Pick<Part, 'slice'>} part
 */
function idle({ figures }, { passed, values }, { slice }) {
  if (values.length === 0) return isWhole(slice) ? ['Nothing of it was played.'] : [];
  if (passed === 0) return ['Nothing of it passed.'];
  const counts = values.map((value) => (typeof value === 'number' ? value : value.part));
  return isWhole(slice)
    ? figures.filter((_, index) => !counts[index]).map((figure) => `There are no ${figure}.`)
    : [];
}

/**
 * What plays the same part of a machine again.
 *
 * @param {Pick<Machine, 'name'>} machine
 * @param {Pick<Part, 'seed' | 'slice'>} part
 */
export function commandOf({ name }, { seed, slice }) {
  const options = isWhole(slice) ? [] : [`--slice ${textOfSlice(slice)}`];
  return ['npm run proof --', name, ...options, `--seed ${seed}`].join(' ');
}

/**
 * Its rows of docs/proof.md. A machine that failed has no figures there, also none of an earlier time: its rows say so.
 *
 * @param {Pick<Machine, 'figures'>} machine
 * @param {Result} result
 * @param {Pick<Part, 'seed' | 'slice'>} part
 */
export function rowsOf({ figures }, { failures, values }, { seed, slice }) {
  const date = new Date().toISOString().slice(0, 10);
  const played = isWhole(slice) ? 'whole' : textOfSlice(slice);
  const told = failures.length > 0 ? figures.map(() => 'FAILED') : values.map(textOf);
  return told.map((figure, index) => [date, String(seed), played, figures[index] ?? '', figure]);
}

/** Puts rows into docs/proof.md, in place of those about the same slice of the same thing. */
function write(/** @type {string[][]} */ rows) {
  const known = MACHINES.flatMap(({ figures }) => figures);
  writeFileSync(PAGE, refreshed(readFileSync(PAGE, 'utf8'), rows, known));
}

/** What the tests share with the scripts: the model compiled, because it plays faster so, and all else from its source. */
async function loadShared(/** @type {string} */ file) {
  if (file.startsWith('model/')) return importTest(`machines/${file}`);
  const { tsImport } = await import('tsx/esm/api');
  return tsImport(`../test/machines/${file}`, import.meta.url);
}

/**
 * @param {Value} value
 * @returns {string}
 */
function textOf(value) {
  if (typeof value === 'number') return value.toLocaleString('en-GB');
  return `${textOf(value.part)} of ${textOf(value.of)}`;
}
