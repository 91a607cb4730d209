/** What people read: nothing is cut off, and everything fits 80 and 60 columns. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference } from '../cli/difference.ts';
import { listText } from '../cli/list.ts';
import { movesOf } from '../domain/plan-moves.ts';
import { drawProgress, stepLines } from '../cli/progress-text.ts';
import { reportText, statusSentence } from '../cli/report-text.ts';
import { progressOfEnded } from '../cli/runs.ts';
import { clockTime, paragraphOf, span, table, wrap, zonedTime, type Paint } from '../cli/text.ts';
import type { Waiting } from '../domain/report.ts';
import type { Progress } from '../workflows/names.ts';
import { makeReportOf } from './support/cli-reports.ts';
import { LEG, PAYMENT } from './support/scripts.ts';

const same = (text: string): string => text;
const PLAIN: Paint = { good: same, bad: same, warn: same, strong: same, faint: same };
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

test('words go on in the next line, indented, and a long word is never cut', () => {
  assert.equal(wrap('one two three', 8), 'one two\nthree');
  assert.equal(wrap('  one two three', 10, '    '), '  one two\n    three');
  assert.equal(wrap('a-very-long-identifier x', 10), 'a-very-long-identifier\nx');
  assert.equal(wrap('one\n\ntwo', 80), 'one\n\ntwo');
});

test('what a person says yes to names every leg and payment of the plan, and the totals', () => {
  const proceeds = { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 } as const;
  const rent = { ...PAYMENT, id: 'rent', amount: { kind: 'fixed', value: '0.50' } as const };
  const plan = {
    guard: null,
    legs: [LEG],
    payments: [PAYMENT, rent, { ...PAYMENT, id: 'rest', amount: proceeds }],
  };
  assert.deepEqual(movesOf(plan), [
    'usd-mxn-1: sell 1000.00 USD for MXN, at any price',
    `supplier: pay 17250.00 MXN to ${PAYMENT.account}`,
    `rent: pay 0.50 MXN to ${PAYMENT.account}`,
    `rest: pay what usd-mxn-1 brings, in MXN, to ${PAYMENT.account}`,
    'In total: sell 1000 USD; pay 17250.5 MXN; 1 of proceeds.',
  ]);
  assert.deepEqual(movesOf({ ...plan, legs: [], payments: [] }), ['There is nothing to do.']);
});

const COLUMNS = [{ title: 'NAME' }, { title: 'AMOUNT', right: true }];

test('a table has columns where they fit and blocks where they do not', () => {
  const rows = [
    ['first', '1.00'],
    ['second-name', '20000.00'],
  ];
  assert.equal(
    table(COLUMNS, rows, 30),
    ['NAME           AMOUNT', 'first            1.00', 'second-name  20000.00'].join('\n'),
  );
  assert.equal(
    table(COLUMNS, rows, 20),
    ['NAME    first', 'AMOUNT  1.00', '', 'NAME    second-name', 'AMOUNT  20000.00'].join('\n'),
  );
});

const held: Waiting = {
  hold: 'settlement',
  problem: {
    code: 'AWAITING_SETTLEMENT',
    item: 'usd-mxn-1',
    message: 'Leg "usd-mxn-1" is traded; its MXN is not withdrawable yet.',
    fix: 'Nothing to do: it looks again by itself.',
  },
  wakeAtMs: NOW_MS + 65_000,
};
const PROGRESS: Progress = {
  status: 'HELD',
  items: [
    { id: 'plan', kind: 'plan', step: 'pinned', waiting: null },
    { id: 'usd-mxn-1', kind: 'leg', step: 'TRADED', waiting: held },
    { id: 'supplier', kind: 'payment', step: 'to be sent', waiting: null },
  ],
};
const REPORTS = [
  makeReportOf({ status: 'COMPLETED' }),
  makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [held.problem] }),
  makeReportOf({ status: 'FAILED', items: false }),
];

for (const width of [80, 60]) {
  test(`reports, lists and progress fit ${width} columns`, () => {
    const facts = {
      run: { policy: 'mxn-supplier', id: '2026-11-21' },
      workflowId: 'sandbox/mxn-supplier.2026-11-21',
      temporalRunId: 'r',
      temporalStatus: 'RUNNING',
      isOpen: true,
      startedAtMs: NOW_MS - 100_000_000,
      closedAtMs: null,
      state: 'HELD',
      isUntaken: false,
    } as const;
    const texts = [
      ...REPORTS.map((report) => reportText({ report, uiUrl: null, width, paint: PLAIN })),
      listText([facts], NOW_MS, width),
      drawProgress({
        name: 'mxn-supplier.2026-11-21',
        progress: PROGRESS,
        startedAtMs: NOW_MS - 5_000,
        nowMs: NOW_MS,
        silence: null,
        width,
        paint: PLAIN,
      }),
      paragraphOf(
        { code: 'SOME_CODE', place: 'here', message: held.problem.message, fix: 'Do this.' },
        width,
      ),
    ];
    for (const line of texts.join('\n').split('\n'))
      assert.ok(line.length <= width, `${line.length}: ${line}`);
  });
}

test('a report says everything that it knows', () => {
  const text = reportText({
    report: makeReportOf({ status: 'COMPLETED' }),
    uiUrl: 'http://127.0.0.1:8233/x',
    width: 60,
    paint: PLAIN,
  });
  for (const part of [
    'mxn-supplier.2026-11-21: COMPLETED',
    'Started by ana.',
    '1000.00 USD',
    '18500 MXN',
    '18.5',
    'tde_BhQh2Nqoq3ZLr1vFGEXEey',
    'wtd_3GVKK9mcGadvqjq8TViDA5',
    'wac_7Hk2mQ9vT4xR',
    'http://127.0.0.1:8233/x',
  ])
    assert.ok(text.includes(part), part);
});

test('a run that is held says by what, until when, and what would unblock it', () => {
  const report = makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [held.problem] });
  assert.equal(
    statusSentence(report, PROGRESS, NOW_MS),
    'mxn-supplier.2026-11-21 is held (1 of 2 items done) by AWAITING_SETTLEMENT: Leg "usd-mxn-1" is traded; its MXN ' +
      `is not withdrawable yet; it looks again by itself at ${clockTime(held.wakeAtMs, NOW_MS)}. ` +
      'Nothing to do: it looks again by itself.',
  );
});

test('a person comes before a settlement in what a run waits for', () => {
  const person: Waiting = {
    hold: 'person',
    problem: { ...held.problem, code: 'RECORD_DIFFERS' },
    wakeAtMs: 0,
  };
  const items = [
    ...PROGRESS.items,
    { id: 'x', kind: 'payment' as const, step: 'NEEDS_HUMAN', waiting: person },
  ];
  const report = makeReportOf({ status: 'HELD', payment: 'NEEDS_HUMAN' });
  assert.match(statusSentence(report, { ...PROGRESS, items }, NOW_MS), /by RECORD_DIFFERS/);
});

test('a run that ended says so, with the first reason', () => {
  const ended = makeReportOf({ status: 'PARTIAL', payment: 'NOT_PAID', problems: [held.problem] });
  assert.match(
    statusSentence(ended, progressOfEnded(ended), NOW_MS),
    /^mxn-supplier\.2026-11-21 ended PARTIAL \(1 of 2 items done\)\. AWAITING_SETTLEMENT: /,
  );
});

test('each step makes one line, once', () => {
  const seen = new Map<string, string>();
  assert.equal(stepLines(PROGRESS, seen, NOW_MS).length, 3);
  assert.deepEqual(stepLines(PROGRESS, seen, NOW_MS + 1_000), []);
  const [plan, leg, payment] = PROGRESS.items;
  assert.ok(plan && leg && payment);
  const next: Progress = {
    status: 'RUNNING',
    items: [plan, { ...leg, step: 'TRADED, settled', waiting: null }, payment],
  };
  assert.match(stepLines(next, seen, NOW_MS).join('\n'), /^\d\d:\d\d:\d\d leg usd-mxn-1: TRADED, settled$/);
});

test('a difference shows what was and what is, with lines around it', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
  const after = before.toSpliced(4, 1, 'E', 'EE');
  assert.equal(
    difference({ label: 'plan', text: before.join('\n') }, { label: 'file', text: after.join('\n') }),
    ['--- plan', '+++ file', '@@ -2 +2 @@', ' b', ' c', ' d', '-e', '+E', '+EE', ' f', ' g', ' h'].join('\n'),
  );
});

test('times are told in their zone and in UTC, and without a date only today', () => {
  assert.equal(zonedTime(NOW_MS, 'America/Mexico_City'), '2026-11-21 06:00 America/Mexico_City (12:00 UTC)');
  assert.equal(
    zonedTime(NOW_MS + 10 * 3_600_000, 'Asia/Tokyo'),
    '2026-11-22 07:00 Asia/Tokyo (2026-11-21 22:00 UTC)',
  );
  assert.equal(zonedTime(NOW_MS, 'UTC'), '2026-11-21 12:00 UTC');
  assert.equal(clockTime(NOW_MS, NOW_MS, 'utc'), '12:00:00');
  assert.equal(clockTime(NOW_MS + 86_400_000, NOW_MS, 'utc'), '2026-11-22 12:00');
});

test('spans of time are told in one or two units', () => {
  const cases: [number, string][] = [
    [-5, '0 s'],
    [4_400, '4 s'],
    [120_000, '2 min'],
    [7_500_000, '2 h 5 min'],
    [7_200_000, '2 h'],
    [300_000_000, '3 d'],
  ];
  for (const [ms, text] of cases) assert.equal(span(ms), text);
});
