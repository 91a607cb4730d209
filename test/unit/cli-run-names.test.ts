/** Which run is meant: names on the command line, and the id of a new run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Waiting } from '../../domain/waits.ts';
import { CommandFailure } from '../../operations/failure.ts';
import {
  earlierDates,
  idOfRun,
  refusePast,
  refusedFor,
  restOf,
  runInTheWay,
  type OtherRun,
  type Rest,
} from '../../operations/start/run-ids.ts';
import { parseRun } from '../../operations/named-run.ts';
import { runOfWorkflowId } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { makeReportOf } from '../support/cli-reports.ts';

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
  'a.2026-11-21-Weekly',
  'A.b',
  'a b.c',
  'test/a.b',
  'sandbox/a.b/plan',
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

test('the workflow ids of plans and instructions are no runs', () => {
  assert.deepEqual(runOfWorkflowId('live/p.2026-11-21'), { policy: 'p', id: '2026-11-21' });
  assert.equal(runOfWorkflowId('sandbox/p.2026-11-21/plan'), null);
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
    '2026-11-21-Weekly',
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

test('a date that is over is a mistake of typing where there is no run of it', () => {
  const of = (id: string) => ({ policy: 'p', id });
  assert.throws(
    () => refusePast(of('2026-11-12'), TODAY),
    (error) => endsAs(error, 'bad input', 'RUN_ID_PAST'),
  );
  refusePast(of(TODAY), TODAY);
  refusePast(of(`${TODAY}-second`), TODAY);
});

const open = (id: string, rest: Rest = 'something'): OtherRun => ({
  run: { policy: 'p', id },
  closedAtMs: null,
  rest,
});
const closed = (id: string, hoursAgo: number, rest: Rest = 'something'): OtherRun => ({
  run: { policy: 'p', id },
  closedAtMs: NOW_MS - hoursAgo * HOUR_MS,
  rest,
});

const IN_THE_WAY: readonly {
  readonly name: string;
  readonly others: readonly OtherRun[];
  readonly id: string | null;
}[] = [
  { name: 'no other run', others: [], id: null },
  { name: 'yesterday’s has something unsent', others: [open('2026-11-20')], id: '2026-11-20' },
  { name: 'yesterday’s only follows what was accepted', others: [open('2026-11-20', 'nothing')], id: null },
  { name: 'one of last week has something unsent', others: [open('2026-11-13')], id: '2026-11-13' },
  { name: 'yesterday’s failed an hour ago', others: [closed('2026-11-20', 1)], id: '2026-11-20' },
  { name: 'yesterday’s failed 24 h ago', others: [closed('2026-11-20', 24)], id: null },
  { name: 'yesterday’s completed an hour ago', others: [closed('2026-11-20', 1, 'nothing')], id: null },
  { name: 'yesterday’s never had a plan', others: [closed('2026-11-20', 1, 'no plan')], id: null },
  {
    name: 'yesterday’s never had a plan, the one before has something unsent',
    others: [closed('2026-11-20', 1, 'no plan'), open('2026-11-19')],
    id: '2026-11-19',
  },
  { name: 'today’s own run is open', others: [open(TODAY)], id: null },
  { name: 'another run of today is open', others: [open('2026-11-21-second')], id: null },
  {
    name: 'the latest completed, an older one is open: only the latest counts',
    others: [open('2026-11-18'), closed('2026-11-20', 3, 'nothing')],
    id: null,
  },
  {
    name: 'of two runs of one date the open one counts',
    others: [closed('2026-11-20', 1), open('2026-11-20-second')],
    id: '2026-11-20-second',
  },
  {
    name: 'of two open runs of one date the one with something unsent counts',
    others: [open('2026-11-20', 'nothing'), open('2026-11-20-second')],
    id: '2026-11-20-second',
  },
  { name: 'a run whose id has no date is none of ours', others: [open('manual')], id: null },
];

for (const { name, others, id } of IN_THE_WAY) {
  test(`${name}: ${id === null ? 'nothing is in the way' : `${id} is in the way`}`, () => {
    const judged = earlierDates(others, TODAY).map((runs) => runInTheWay(runs, NOW_MS));
    const first = judged.find((verdict) => verdict !== undefined);
    assert.equal(first?.run.id ?? null, id);
  });
}

test('the refusal names the run and both ways on', () => {
  const [problem] = refusedFor(open('2026-11-20'), TODAY).problems;
  assert.match(problem?.message ?? '', /p\.2026-11-20, is open, and something of it is still to be sent/);
  assert.match(problem?.fix ?? '', /--id 2026-11-20\..*--id 2026-11-21\./);
});

const RESTS: readonly (readonly [name: string, report: Report, waiting: Waiting | null, rest: Rest])[] = [
  ['all done', makeReportOf({ status: 'COMPLETED' }), null, 'nothing'],
  [
    'traded, the payment not sent yet',
    makeReportOf({ status: 'RUNNING', payment: 'PENDING' }),
    null,
    'something',
  ],
  ['an accepted payment that is followed', accepted(), null, 'nothing'],
  ['an accepted payment that a person must look at', accepted(), waitFor('person'), 'something'],
  ['an accepted payment whose status is late', accepted(), waitFor('service'), 'nothing'],
  ['something in doubt', accepted(), waitFor('doubt'), 'something'],
  [
    'an item that needs a person',
    makeReportOf({ status: 'HELD', payment: 'NEEDS_HUMAN' }),
    null,
    'something',
  ],
  [
    'an open run that ended an item unpaid',
    makeReportOf({ status: 'RUNNING', payment: 'NOT_PAID' }),
    null,
    'something',
  ],
  ['an open run that has no items yet', makeReportOf({ status: 'RUNNING', items: false }), null, 'something'],
  [
    'a completed run that had nothing to do',
    makeReportOf({ status: 'COMPLETED', items: false }),
    null,
    'nothing',
  ],
];
for (const [name, report, waiting, rest] of RESTS) {
  test(`${name}: ${rest} is left to do`, () => {
    const items = [{ id: 'supplier', kind: 'payment' as const, step: 's', waiting }];
    assert.equal(restOf(report, { status: report.status, items, batch: null }), rest);
  });
}

/** A report whose payment the service has accepted. */
function accepted(): Report {
  const report = makeReportOf({ status: 'RUNNING', payment: 'PENDING' });
  return { ...report, payments: report.payments.map((each) => ({ ...each, withdrawalId: 'wtd_1' })) };
}

function waitFor(reason: Waiting['reason']): Waiting {
  return { reason, problem: { code: 'IN_DOUBT', item: 'supplier', message: 'm', fix: 'f' }, wakeAtMs: 0 };
}

function endsAs(error: unknown, ending: string, code: string): boolean {
  assert.ok(error instanceof CommandFailure);
  assert.equal(error.ending, ending);
  assert.equal(error.problems[0]?.code, code);
  return true;
}
