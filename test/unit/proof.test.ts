/** What `npm run proof` plays: slices that together are the whole, the options, the files, and the table that it keeps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosen } from '../../scripts/bugs.mjs';
import { readDefects, type Defect } from '../../scripts/lib/defects.mjs';
import { refreshed } from '../../scripts/lib/proof-table.mjs';
import { countOf, slicedFiles } from '../../scripts/lib/sliced-files.mjs';
import { isInSlice, numbersIn, readSlice } from '../../scripts/lib/slice.mjs';
import { MACHINES, commandOf, partOfSlice, readAsked } from '../../scripts/proof.mjs';
import { SERVICES, threeServices } from '../machines/resets/services.ts';
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

const defect = (name: string, file: string, catcher: string): Defect => ({
  name,
  what: 'Something else.',
  breaks: 'M1',
  caught_by: [catcher],
  change: [{ file, inside: 'pay', replace: 'a', by: 'b' }],
});

test('of the defects those of the slice are planted, and those whose sources or tests have changed', () => {
  const all = NAMES.slice(0, 70).map((name) => defect(name, 'domain/pay.ts', 'domain-pay'));
  const slice = { number: 2, of: 7 };
  const ofSlice = all.filter(({ name }) => isInSlice(name, slice));
  assert.deepEqual(chosen(all, { slice }), ofSlice);
  const changedSource = defect('by-source', 'domain/sell.ts', 'domain-pay');
  const changedTest = defect('by-test', 'domain/pay.ts', 'domain-sell');
  const changed = ['domain/sell.ts', 'test/unit/domain-sell.test.ts'];
  const elsewhere = { number: 1, of: 1_000 };
  assert.deepEqual(chosen([...all, changedSource, changedTest], { slice: elsewhere, changed }), [
    changedSource,
    changedTest,
  ]);
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

test('runs are reset on three kinds of service, which together keep and show all there is, and three seeds reach all nine', () => {
  for (const seed of [7, 8, 9]) {
    const three = threeServices(seed).map((number) => SERVICES[number]);
    assert.equal(new Set(three.map((service) => service?.storeErrors)).size, 3);
    assert.equal(new Set(three.map((service) => service?.metadataInLists)).size, 3);
  }
  assert.equal(new Set([7, 8, 9].flatMap(threeServices)).size, SERVICES.length);
});

test('tests are counted without the suites around them, and one that fails is told with its reason', () => {
  const report = `TAP version 13
# Subtest: a worker killed
    # Subtest: before it is sent
    ok 1 - before it is sent
      ---
      duration_ms: 1
      ...
    # Subtest: after it is sent
    not ok 2 - after it is sent
      ---
      error: 'paid twice'
      ...
    1..2
not ok 1 - a worker killed
  ---
  type: 'suite'
  error: '1 subtest failed'
  ...
ok 2 - in the browser # SKIP there is none
  ---
  duration_ms: 1
  ...
1..2`;
  const { passed, failures } = countOf(report.split('\n'));
  assert.equal(passed, 1);
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /^after it is sent\n[^]*error: 'paid twice'/);
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
