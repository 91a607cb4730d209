/**
 * What `npm run proof` plays: slices that together are the whole, the options, the files, what each machine must have done
 * at least, and the table that it keeps.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { test } from 'node:test';
import { chosen } from '../../scripts/bugs.mjs';
import { readDefects, type Defect } from '../../scripts/lib/defects.mjs';
import { refreshed } from '../../scripts/lib/proof-table.mjs';
import { countOf, slicedFiles } from '../../scripts/lib/sliced-files.mjs';
import { isInSlice, numbersIn, readSlice } from '../../scripts/lib/slice.mjs';
import { listTestFiles } from '../../scripts/lib/test-files.mjs';
import { partsOf } from '../../scripts/lib/test-parts.mjs';
import { MACHINES, commandOf, partOfSlice, play, readAsked, rowsOf } from '../../scripts/proof.mjs';
import { SERVICES, oneService } from '../machines/resets/services.ts';
import { ROOT } from '../support/root.ts';

const slices = (of: number) => Array.from({ length: of }, (_, index) => ({ number: index + 1, of }));
const NAMES = Array.from({ length: 1_400 }, (_, index) => `cell ${index}, before it is sent`);

test('every name is in exactly one slice of seven, and the slices are about as long as each other', () => {
  const lengths = slices(7).map((slice) => NAMES.filter((name) => isInSlice(name, slice)).length);
  assert.equal(
    lengths.reduce((sum, length) => sum + length, 0),
    NAMES.length,
  );
  for (const name of NAMES) assert.equal(slices(7).filter((slice) => isInSlice(name, slice)).length, 1);
  for (const length of lengths) assert.ok(150 < length && length < 250, lengths.join(', '));
});

test('a name stays in its slice, whatever else there is', () => {
  const numbers = ['wakes-early', 'trade, before it is sent', 'usd'].map(
    (name) => slices(7).find((slice) => isInSlice(name, slice))?.number,
  );
  assert.deepEqual(numbers, [4, 7, 2]);
});

test('what is numbered takes turns', () => {
  assert.deepEqual(
    slices(3).map((slice) => numbersIn(7, slice)),
    [
      [1, 4, 7],
      [2, 5],
      [3, 6],
    ],
  );
  assert.deepEqual(numbersIn(2, { number: 1, of: 1 }), [1, 2]);
});

test('a slice is a number of how many', () => {
  assert.deepEqual(readSlice('2/7'), { number: 2, of: 7 });
  assert.deepEqual(readSlice(undefined), { number: 1, of: 1 });
  for (const text of ['0/7', '8/7', '2', '2/', '1/0', 'a/b', '-1/7', '1.5/7'])
    assert.throws(() => readSlice(text), /is no slice\. '2\/7' is the second of seven\.$/);
});

test('without names all machines are played, whole, by a new seed', () => {
  const asked = readAsked([]);
  assert.deepEqual(asked.machines, MACHINES);
  assert.deepEqual(asked.part.slice, { number: 1, of: 1 });
  assert.ok(Number.isSafeInteger(asked.part.seed));
});

test('machines, slice and seed can be said, and the command that is told repeats them', () => {
  const { machines, part } = readAsked(['kills', 'chaos', '--slice', '3/7', '--seed', '11']);
  assert.deepEqual(
    machines.map((machine) => commandOf(machine, part)),
    ['npm run proof -- kills --slice 3/7 --seed 11', 'npm run proof -- chaos --slice 3/7 --seed 11'],
  );
  assert.equal(
    commandOf({ name: 'fuzz' }, readAsked(['--seed', '4']).part),
    'npm run proof -- fuzz --seed 4',
  );
  assert.throws(() => readAsked(['chess']), /^ScriptFailed: There is no machine 'chess'\. There are: fuzz, /);
  assert.throws(() => readAsked(['--seed', 'x']), /'x' is no number for '--seed'/);
});

const defect = (name: string): Defect => ({
  name,
  what: 'Something else.',
  breaks: 'M1',
  caught_by: ['domain-pay'],
  change: [{ file: 'domain/pay.ts', inside: 'pay', replace: 'a', by: 'b' }],
});

test('those defects are planted that are named, or else those of the slice', () => {
  const all = NAMES.slice(0, 70).map(defect);
  const slice = { number: 2, of: 7 };
  assert.deepEqual(
    chosen(all, { slice }),
    all.filter(({ name }) => isInSlice(name, slice)),
  );
  assert.deepEqual(chosen(all, {}), all);
  assert.deepEqual(chosen(all, { names: ['cell 5, before it is sent'] }), [all[5]]);
  assert.throws(() => chosen(all, { names: ['none'] }), /^ScriptFailed: No defect .* is called 'none'\.$/);
});

test('each planted defect is in one of seven slices', async () => {
  const all = await readDefects(ROOT);
  const planted = slices(7).flatMap((slice) => chosen(all, { slice }));
  assert.deepEqual(planted.map(({ name }) => name).toSorted(), all.map(({ name }) => name).toSorted());
});

test('five seeds walk all of each slice of the walk, and seven slices all of it', () => {
  const parts = slices(7).flatMap((slice) => [5, 6, 7, 8, 9].map((seed) => partOfSlice(slice, seed)));
  assert.ok(parts.every(({ of }) => of === 35));
  assert.equal(new Set(parts.map(({ number }) => number)).size, 35);
  assert.ok(parts.every(({ number }) => number >= 1 && number <= 35));
});

test('the files whose tests fall into slices are found by what they import', () => {
  const files = slicedFiles();
  assert.ok(files.includes('machines/run-kill.test.ts') && files.includes('machines/run-rebalance.test.ts'));
  assert.ok(!files.includes('machines/planted-defects.test.ts'));
});

test('runs are reset on one kind of service, and nine seeds in a row reach all nine', () => {
  const reached = Array.from({ length: 9 }, (_, index) => oneService(772_828_689 + index));
  assert.deepEqual(
    reached.toSorted((one, other) => one - other),
    [...SERVICES.keys()],
  );
});

test('every file of tests is in a part of `npm test`, or a machine of the proof runs it', () => {
  const all = readdirSync(join(ROOT, 'test'), { recursive: true })
    .map((name) => String(name).replaceAll(sep, '/'))
    .filter((name) => name.endsWith('.test.ts'));
  const played = [
    ...partsOf(listTestFiles()).parts.flatMap(({ files }) => files),
    ...MACHINES.flatMap(({ files = [] }) => files),
  ];
  assert.ok(all.length > 100);
  assert.deepEqual(
    all.filter((file) => !played.includes(file)),
    [],
  );
});

test('tests that told nothing failed, and so did those of which none has passed', () => {
  const found = { passed: 0, failed: [], skipped: [], notAsked: 0, tests: [] };
  assert.deepEqual(countOf({ exitCode: 0, found: null }).failures, [
    'The tests ended with 0, and told nothing.',
  ]);
  assert.deepEqual(countOf({ exitCode: 1, found }).failures, ['The tests ended with 1: none has passed.']);
  assert.deepEqual(countOf({ exitCode: 0, found: { ...found, notAsked: 14 } }).failures, []);
  const kill = { where: 'machines/run-kill.test.ts', title: 'before the trade', ms: 1 };
  const failed = { ...kill, reason: ['AssertionError: paid twice'] };
  const skipped = { ...kill, why: 'no browser' };
  assert.deepEqual(
    countOf({ exitCode: 1, found: { ...found, passed: 3, failed: [failed], skipped: [skipped] } }),
    {
      passed: 3,
      failures: ['machines/run-kill.test.ts: before the trade\nAssertionError: paid twice'],
      skipped: ['machines/run-kill.test.ts: before the trade (no browser)'],
    },
  );
});

const WHOLE = { number: 1, of: 1 };
const SLICE = { number: 2, of: 7 };

/** What a machine fails by when the programs that it drives answer so. */
async function failuresOf(name: string, slice: typeof WHOLE, programs: Readonly<Record<string, unknown>>) {
  const machine = MACHINES.find((one) => one.name === name);
  assert.ok(machine !== undefined);
  const load = (file: string) => Promise.resolve(programs[file]);
  const { failures } = await play(machine, { seed: 1, slice }, load);
  return failures;
}

test('a fuzz that played fewer schedules than it was asked for fails, in a slice too', async () => {
  const programs = (share: number) => ({
    'model/coverage.ts': { expectedCells: () => ['trade: lost after'] },
    'model/fuzz.ts': {
      fuzz: ({ schedules, rebalances, batches }: Readonly<Record<string, number>>) => ({
        schedules: share * ((schedules ?? 0) + (rebalances ?? 0) + (batches ?? 0)),
        counts: [['trade: lost after', 1]],
        failure: null,
      }),
    },
  });
  assert.deepEqual(await failuresOf('fuzz', SLICE, programs(1)), []);
  assert.deepEqual(await failuresOf('fuzz', WHOLE, programs(1)), []);
  assert.match((await failuresOf('fuzz', SLICE, programs(0.9))).join(), /^Too few schedules: 3,303, /);
});

test('a walk of few schedules, or of few courses, fails, in a slice too', async () => {
  const programs = (schedules: number, states: number) => ({
    'model/walk.ts': { walk: () => ({ schedules, states, failure: null }) },
  });
  assert.deepEqual(await failuresOf('walk', WHOLE, programs(1_000_000, 10_000)), []);
  assert.match((await failuresOf('walk', WHOLE, programs(100, 10_000))).join(), /^Too few schedules: 100, /);
  assert.match((await failuresOf('walk', SLICE, programs(100, 10_000))).join(), /^Too few schedules: 100, /);
  assert.match((await failuresOf('walk', SLICE, programs(1_000_000, 3))).join(), /^Too few courses: 3, /);
});

test('of all resets there are many, and signals among them that come again and that are left out', async () => {
  const enough = { resets: 1_000, unchanged: 900, completed: 100, signalsAgain: 1, signalsLeftOut: 1 };
  const programs = (sums: Readonly<Record<string, number>>) => ({
    'resets/services.ts': { SERVICES: [], oneService: () => 0 },
    'resets/resets.ts': { resetRuns: () => ({ rows: [], failures: [] }) },
    'resets/table.ts': { sum: () => ({ ...enough, ...sums }) },
  });
  assert.deepEqual(await failuresOf('resets', WHOLE, programs({})), []);
  for (const figure of ['resets', 'signalsAgain', 'signalsLeftOut'])
    assert.match((await failuresOf('resets', WHOLE, programs({ [figure]: 0 }))).join(), /^Too few .*: 0, /);
  // A machine that did nothing has not passed, however small its slice.
  const nothing = { resets: 0, unchanged: 0, completed: 0 };
  assert.deepEqual(await failuresOf('resets', SLICE, programs(nothing)), ['Nothing of it passed.']);
});

test('a storm in which some kind of harm was not done, or no money moved, fails', async () => {
  const IN_EVERY_STORM = ['worker kills', 'worker freezes', 'server kills', 'cut wires', 'bad wires'];
  const all = [...IN_EVERY_STORM, 'trades', 'withdrawals'];
  const programs = (missing: string) => ({
    'chaos/chaos.ts': {
      chaos: () => ({
        figures: Object.fromEntries(
          [...all, 'runs', 'service faults'].map((name) => [name, name === missing ? 0 : 1]),
        ),
        failures: [],
        folder: null,
      }),
    },
  });
  assert.deepEqual(await failuresOf('chaos', SLICE, programs('')), []);
  for (const name of all) {
    const failures = await failuresOf('chaos', SLICE, programs(name));
    assert.equal(failures.length, 1, name);
    assert.match(failures.join(), new RegExp(`^Too few ${name}: 0, and there must be 1\\.`));
  }
});

test('the whole of a machine has something of every figure, and a slice may have nothing', async () => {
  const machine = { name: 'dice', figures: ['throws', 'sixes'] };
  const failures = async (slice: typeof WHOLE, passed: number, ...values: readonly number[]) =>
    (
      await play(
        { ...machine, run: async () => ({ passed, failures: [], values }) },
        { seed: 1, slice },
        async () => null,
      )
    ).failures;
  assert.deepEqual(await failures(WHOLE, 0), ['Nothing of it was played.']);
  assert.deepEqual(await failures(SLICE, 0), []);
  assert.deepEqual(await failures(WHOLE, 4, 4, 0), ['There are no sixes.']);
  assert.deepEqual(await failures(SLICE, 4, 4, 0), []);
  assert.deepEqual(await failures(SLICE, 0, 4, 0), ['Nothing of it passed.']);
});

test('new figures take the place of those of the same slice, others stay, and what is not counted any more goes', () => {
  const page = `# Proof

<!-- npm run proof -->

| date       | seed | slice | what    | figure |
| ---------- | ---- | ----- | ------- | ------ |
| 2026-11-22 | 1    | whole | resets  | 10     |
| 2026-11-22 | 1    | 2/7   | resets  | 3      |
| 2026-11-22 | 1    | whole | knights | 4      |

<!-- end -->
after`;
  const rows = [
    ['2026-11-26', '22', 'whole', 'resets', '1,000'],
    ['2026-11-26', '22', 'whole', 'kills', '49 of 49'],
  ];
  const expected = `# Proof

<!-- npm run proof -->

| date       | seed | slice | what   | figure   |
| ---------- | ---- | ----- | ------ | -------- |
| 2026-11-26 | 22   | whole | kills  | 49 of 49 |
| 2026-11-22 | 1    | 2/7   | resets | 3        |
| 2026-11-26 | 22   | whole | resets | 1,000    |

<!-- end -->
after`;
  assert.equal(refreshed(page, rows, ['kills', 'resets']), expected);
  assert.equal(refreshed(expected, [], ['kills', 'resets']), expected);
  assert.throws(() => refreshed('# Proof', rows, ['kills']), /docs\/proof\.md has no place for the table/);
});

test('a machine that failed has no figures in the table: its rows say that it failed', () => {
  const machine = { figures: ['kills', 'resets'] };
  const part = { seed: 22, slice: { number: 2, of: 7 } };
  const values = [{ part: 4, of: 5 }, 1_000];
  const cells = (failures: readonly string[]) =>
    rowsOf(machine, { passed: 4, failures, values }, part).map((row) => row.slice(1));
  assert.deepEqual(cells([]), [
    ['22', '2/7', 'kills', '4 of 5'],
    ['22', '2/7', 'resets', '1,000'],
  ]);
  assert.deepEqual(cells(['paid twice']), [
    ['22', '2/7', 'kills', 'FAILED'],
    ['22', '2/7', 'resets', 'FAILED'],
  ]);
});
