/** Which run is meant: names on the command line, and the id of a new run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../cli/failure.ts';
import {
  idOfRun,
  parseRun,
  refusedFor,
  runInTheWay,
  runOfWorkflowId,
  type OtherRun,
} from '../cli/run-names.ts';

const TODAY = '2026-11-21';
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const HOUR_MS = 3_600_000;

test('a run is named by policy and id, or by its workflow id with the mode', () => {
  const run = { policy: 'mxn-supplier', id: '2026-11-21' };
  assert.deepEqual(parseRun('mxn-supplier.2026-11-21'), { run, mode: null });
  assert.deepEqual(parseRun('sandbox/mxn-supplier.2026-11-21'), { run, mode: 'SANDBOX' });
  assert.deepEqual(parseRun('live/mxn-supplier.2026-11-21'), { run, mode: 'LIVE' });
});

for (const text of [
  '',
  'mxn-supplier',
  '.2026-11-21',
  'a.b.c',
  'a b.c',
  'test/a.b',
  'sandbox/a.b/pin',
  'a.b\n',
  '/a.b',
]) {
  test(`${JSON.stringify(text)} names no run`, () => {
    assert.throws(
      () => parseRun(text),
      (error) => endsAs(error, 'bad input', 'RUN_NAME'),
    );
  });
}

test('the workflow ids of pins and words are no runs', () => {
  assert.deepEqual(runOfWorkflowId('live/p.2026-11-21'), { policy: 'p', id: '2026-11-21' });
  assert.equal(runOfWorkflowId('sandbox/p.2026-11-21/pin'), null);
  assert.equal(runOfWorkflowId('something-else'), null);
});

test('a run without --id is of today', () => {
  assert.equal(idOfRun(undefined, TODAY), TODAY);
});

test('an id begins with a date that is not to come', () => {
  for (const id of ['2026-11-21', '2026-11-20', '2026-11-21-weekly', '2026-11-21-a_b'])
    assert.equal(idOfRun(id, TODAY), id);
  for (const id of [
    'weekly',
    '2026-11-31',
    '2026-11-21.x',
    '2026-11-21x',
    '',
    `2026-11-21-${'x'.repeat(60)}`,
  ])
    assert.throws(
      () => idOfRun(id, TODAY),
      (error) => endsAs(error, 'bad input', 'RUN_ID'),
      id,
    );
  assert.throws(
    () => idOfRun('2026-11-22', TODAY),
    (error) => endsAs(error, 'bad input', 'RUN_ID_FUTURE'),
  );
});

const open = (id: string): OtherRun => ({
  run: { policy: 'p', id },
  isOpen: true,
  isCompleted: false,
  closedAtMs: null,
});
const closed = (id: string, hoursAgo: number, isCompleted: boolean): OtherRun => ({
  run: { policy: 'p', id },
  isOpen: false,
  isCompleted,
  closedAtMs: NOW_MS - hoursAgo * HOUR_MS,
});

const IN_THE_WAY: readonly {
  readonly name: string;
  readonly others: readonly OtherRun[];
  readonly id: string | null;
}[] = [
  { name: 'no other run', others: [], id: null },
  { name: 'yesterday’s is open', others: [open('2026-11-20')], id: '2026-11-20' },
  { name: 'one of last week is open', others: [open('2026-11-13')], id: '2026-11-13' },
  { name: 'yesterday’s failed an hour ago', others: [closed('2026-11-20', 1, false)], id: '2026-11-20' },
  { name: 'yesterday’s failed 24 h ago', others: [closed('2026-11-20', 24, false)], id: null },
  { name: 'yesterday’s completed an hour ago', others: [closed('2026-11-20', 1, true)], id: null },
  { name: 'today’s own run is open', others: [open(TODAY)], id: null },
  { name: 'another run of today is open', others: [open('2026-11-21-second')], id: null },
  {
    name: 'the latest completed, an older one is open: only the latest counts',
    others: [open('2026-11-18'), closed('2026-11-20', 3, true)],
    id: null,
  },
  {
    name: 'of two runs of one date the open one counts',
    others: [closed('2026-11-20', 1, true), open('2026-11-20-second')],
    id: '2026-11-20-second',
  },
  { name: 'a run whose id has no date is none of ours', others: [open('manual')], id: null },
];

for (const { name, others, id } of IN_THE_WAY) {
  test(`${name}: ${id === null ? 'nothing is in the way' : `${id} is in the way`}`, () => {
    assert.equal(runInTheWay(others, TODAY, NOW_MS)?.run.id ?? null, id);
  });
}

test('the refusal names the run and both ways on', () => {
  const [problem] = refusedFor(open('2026-11-20'), TODAY).problems;
  assert.match(problem?.message ?? '', /p\.2026-11-20, is still open; nothing was sent/);
  assert.match(problem?.fix ?? '', /--id 2026-11-20\..*--id 2026-11-21\./);
});

function endsAs(error: unknown, ending: string, code: string): boolean {
  assert.ok(error instanceof CommandFailure);
  assert.equal(error.ending, ending);
  assert.equal(error.problems[0]?.code, code);
  return true;
}
