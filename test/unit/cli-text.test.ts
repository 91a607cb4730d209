/** What people read: nothing is cut off, and everything fits 80 and 60 columns. */
import { totalsOf } from '../../domain/plan/amounts.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notHaltedText } from '../../cli/commands/resume.ts';
import { difference } from '../../cli/views/difference.ts';
import { listText } from '../../cli/commands/list.ts';
import { movesOf } from '../../domain/plan/moves.ts';
import { drawProgress, stepLines } from '../../cli/views/progress-text.ts';
import { schedulesText } from '../../cli/views/schedules-text.ts';
import type { ScheduleView } from '../../operations/schedules/starts.ts';
import { openAgainLine, pastLines, reportText, statusSentence } from '../../cli/views/report-text.ts';
import { progressOfEnded } from '../../domain/run/progress.ts';
import { clockOf, momentText } from '../../domain/clock.ts';
import { paragraphOf, span, table, wrap, type Paint } from '../../cli/terminal/text.ts';
import { isSafetyWait } from '../../operations/follow/until-it-ends.ts';
import { SENT_SOONER, needsSomebody, safetyWaitText, type Waiting } from '../../domain/waits.ts';
import { makeProblem, type Problem } from '../../domain/problems.ts';
import type { Report } from '../../domain/run/report.ts';
import type { Evidence } from '../../domain/run/state.ts';
import type { Progress } from '../../domain/run/progress.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { LEG, PAYMENT } from '../support/scripts.ts';

const same = (text: string): string => text;
const PLAIN: Paint = { good: same, bad: same, warn: same, strong: same, faint: same };
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const COLUMNS = [{ title: 'NAME' }, { title: 'AMOUNT', right: true }];

test('words go on in the next line, indented, and a long word is never cut', () => {
  assert.equal(wrap('one two three', 8), 'one two\nthree');
  assert.equal(wrap('  one two three', 12, '    '), '  one two\n    three');
  assert.equal(wrap('a-very-long-identifier x', 10), 'a-very-long-identifier\nx');
  assert.equal(wrap('one\n\ntwo', 80), 'one\n\ntwo');
});

test('a command is never broken, since people paste it', () => {
  const command = 'npx cambist run policies/contractors.yaml --batch november.csv';
  assert.equal(wrap(`Type \`${command}\` then.`, 40), `Type\n\`${command}\`\nthen.`);
  assert.equal(wrap(`To run it: ${command}`, 40), `To run it:\n${command}`);
  assert.equal(wrap(`  ${command}`, 40), `  ${command}`);
  assert.equal(
    wrap('Two: `npx cambist list` and `shortfall: hold`.', 40),
    'Two: `npx cambist list` and `shortfall:\nhold`.',
  );
});

test('what counts is the columns that a text takes: colours take none, wide characters two', () => {
  const red = (text: string): string => `\u001B[31m${text}\u001B[39m`;
  assert.equal(wrap(`${red('one')} two`, 7), `${red('one')} two`);
  // A colour ends with its line and begins again on the next one.
  assert.equal(wrap(red('one two'), 5), `${red('one')}\n${red('two')}`);
  assert.equal(wrap('名前 値', 5), '名前\n値');
  assert.equal(
    table(
      COLUMNS,
      [
        ['名前', '1'],
        ['e\u0301e', '10.00'],
      ],
      20,
    ),
    ['NAME  AMOUNT', '名前       1', 'e\u0301e     10.00'].join('\n'),
  );
});

test('what a person says yes to names every leg and payment of the plan, and the totals', () => {
  const proceeds = { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 } as const;
  const rent = { ...PAYMENT, id: 'rent', amount: { kind: 'fixed', value: '0.50' } as const };
  const payments = [PAYMENT, rent, { ...PAYMENT, id: 'rest', amount: proceeds }];
  const totals = totalsOf({ legs: [LEG], payments, batch: null });
  const plan = { legs: [LEG], payments, batch: null, totals };
  assert.deepEqual(movesOf(plan), [
    'usd-mxn-1: sell 1,000.00 USD for MXN, at any price',
    `supplier: pay 17,250.00 MXN to ${PAYMENT.account}`,
    `rent: pay 0.50 MXN to ${PAYMENT.account}`,
    `rest: pay what usd-mxn-1 brings, in MXN, to ${PAYMENT.account}`,
    'In total: sell 1,000.00 USD; pay 17,250.50 MXN; 1 of proceeds.',
  ]);
  const nothing = { legs: [], payments: [], batch: null, totals: [] };
  assert.deepEqual(movesOf(nothing), ['There is nothing to do.']);
  const chunk = { payments: 3, hash: 'f0', unpayable: null };
  const eur = [{ currency: 'EUR', value: '12.5' }];
  const batch = {
    payments: 6,
    totals: eur,
    payable: eur,
    heldBy: [],
    chunks: [chunk, { ...chunk, unpayable: 'm.u' }],
    rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 1 },
  };
  const ofBatch = { ...nothing, batch, totals: totalsOf({ ...nothing, batch }) };
  assert.deepEqual(movesOf(ofBatch), [
    'the batch: pay 4 of 6 payments; the service already says that 2 cannot be paid',
    'In total: pay 12.50 EUR.',
  ]);
});

test('payments that a person has had paid again, and that no start has paid yet, are named with their amounts', () => {
  const payment = (id: string, amount: string | null) => ({ id, amount, currency: 'EUR' });
  assert.equal(
    openAgainLine([payment('bbb', '2000.00')]),
    'Also open: bbb, 2,000.00 EUR. A person has said that it is paid again: the next start of the run does that.',
  );
  const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => payment(id, null));
  assert.match(
    openAgainLine(many),
    /^Also open: a; b; c; d; e; and 2 more\. A person has said that they are paid again/,
  );
});

test('a table has columns where they fit, closer together where only that fits, and blocks where nothing does', () => {
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
    ['NAME          AMOUNT', 'first           1.00', 'second-name 20000.00'].join('\n'),
  );
  assert.equal(
    table(COLUMNS, rows, 19),
    ['NAME    first', 'AMOUNT  1.00', '', 'NAME    second-name', 'AMOUNT  20000.00'].join('\n'),
  );
});

const held: Waiting = {
  reason: 'settlement',
  problem: {
    code: 'AWAITING_SETTLEMENT',
    item: 'usd-mxn-1',
    message: 'Leg "usd-mxn-1" is traded; its MXN is not withdrawable yet.',
    fix: 'Nothing to do: it looks again by itself.',
  },
  wakeAtMs: NOW_MS + 65_000,
  sinceMs: NOW_MS - 3_000,
};
const PROGRESS: Progress = {
  status: 'HELD',
  items: [
    { id: 'plan', kind: 'plan', step: 'made', waiting: null },
    { id: 'usd-mxn-1', kind: 'leg', step: 'TRADED', waiting: held },
    { id: 'supplier', kind: 'payment', step: 'to be sent', waiting: null },
  ],
  batch: null,
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
      taskQueue: 'cambist',
      temporalStatus: 'RUNNING',
      isOpen: true,
      startedAtMs: NOW_MS - 100_000_000,
      closedAtMs: null,
      state: 'HELD',
      isUntaken: false,
      hasOddMemo: false,
      missingKey: null,
    } as const;
    const texts = [
      ...REPORTS.map((report) => reportText({ report, uiUrl: null, nowMs: NOW_MS, width, paint: PLAIN })),
      listText([{ facts, why: null, needs: [], reasons: [], isStuck: false }], {
        nowMs: NOW_MS,
        zone: 'UTC',
        width,
        pausedIds: new Set(),
      }),
      drawProgress({
        name: 'mxn-supplier.2026-11-21',
        progress: PROGRESS,
        startedAtMs: NOW_MS - 5_000,
        nowMs: NOW_MS,
        pace: '',
        zone: 'UTC',
        silence: null,
        width,
        paint: PLAIN,
      }),
      paragraphOf(
        { code: 'RECORD_DIFFERS', place: 'here', message: held.problem.message, fix: 'Do this.' },
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
    nowMs: NOW_MS,
    width: 60,
    paint: PLAIN,
  });
  for (const part of [
    'mxn-supplier.2026-11-21: COMPLETED',
    'Started by ana at 09:30:00',
    'America/Mexico_City',
    '1,000.00 USD',
    '18,500.00 MXN',
    '18.5',
    'tde_BhQh2Nqoq3ZLr1vFGEXEey',
    'wtd_3GVKK9mcGadvqjq8TViDA5',
    'wac_7Hk2mQ9vT4xR',
    'http://127.0.0.1:8233/x',
  ])
    assert.ok(text.includes(part), part);
});

test('a report and the status tell each reset: when, to which event, after what, and why', () => {
  const clock = clockOf('America/Mexico_City', NOW_MS);
  const resets = [
    { at: '2026-11-20T16:00:00.000Z', eventId: 9, why: 'the account is verified', before: 'PARTIAL' },
    { at: '2026-11-21T11:58:00.000Z', eventId: 45, why: null, before: 'HELD' },
    { at: '2026-11-21T11:59:00.000Z', eventId: 4, why: 'again', before: null },
  ];
  const report = { ...makeReportOf({ status: 'COMPLETED' }), resets };
  const started = { ...report, startedAt: '2026-11-20T15:30:00.000Z', endedAt: '2026-11-21T12:00:00.000Z' };
  const told = [
    'Started by ana at 2026-11-20 09:30 America/Mexico_City, ended at 06:00:00.',
    'Reset at 2026-11-20 10:00 to event 9, after it had ended PARTIAL; the reason given is "the account is verified".',
    'Reset at 05:58:00 to event 45, while it was HELD; no reason was given.',
    'Reset at 05:59:00 to event 4; the reason given is "again".',
  ];
  assert.deepEqual(pastLines(started, clock), told);
  const text = reportText({ report: started, uiUrl: null, nowMs: NOW_MS, width: 200, paint: PLAIN });
  for (const line of told) assert.ok(text.includes(line), text);
  const unknown = { startedBy: null, startedAt: null, endedAt: null, resets: [] };
  assert.deepEqual(pastLines(unknown, clock), []);
});

test('what may have been executed is not called unsent: somebody could do it by hand', () => {
  const textOf = (items: readonly string[]): string => {
    const problems = items.map((item) => ({ ...held.problem, code: 'IN_DOUBT' as const, item }));
    const report = makeReportOf({ status: 'HELD', leg: 'PENDING', payment: 'PENDING', problems });
    return reportText({ report, uiUrl: null, nowMs: NOW_MS, width: 200, paint: PLAIN });
  };
  assert.match(textOf([]), /Not traded yet: USD for MXN[^]*Not sent yet: /);
  const doubtful = textOf(['usd-mxn-1', 'supplier']);
  assert.match(doubtful, /In doubt whether it was traded: USD[^]*In doubt whether it was sent: /);
  assert.doesNotMatch(doubtful, /Not (traded|sent) yet/);
});

test('a run that is held says by what, since when, until when, and what would unblock it', () => {
  const report = makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [held.problem] });
  assert.equal(
    statusSentence(report, PROGRESS, NOW_MS),
    'mxn-supplier.2026-11-21 is held (1 of 2 items done) by AWAITING_SETTLEMENT since ' +
      `${momentText(NOW_MS - 3_000, NOW_MS, 'America/Mexico_City')} America/Mexico_City: Leg "usd-mxn-1" is traded; its MXN is not withdrawable yet; it looks again by itself at ${momentText(held.wakeAtMs, NOW_MS, 'America/Mexico_City')}, nothing to do.`,
  );
});

test('a run that waits for its settlement in good time is waiting, and not held', () => {
  const report = makeReportOf({ status: 'RUNNING', payment: 'PENDING', problems: [held.problem] });
  const told = (cancel?: Progress['cancel']): string =>
    statusSentence({ ...report, zone: 'UTC' }, { ...PROGRESS, ...(cancel && { cancel }) }, NOW_MS);
  assert.match(
    told(),
    /^\S+ is waiting \(1 of 2 items done\) since 11:59:57 UTC: Leg "usd-mxn-1" is traded; its MXN is not withdrawable yet; .*nothing to do\.$/,
  );
  assert.match(told({ by: 'ana' }), /^\S+ is being cancelled by ana, and is waiting \(/);
});

test('a run that is being cancelled says so, by whom, and that what is under way ends first', () => {
  const items = PROGRESS.items.map((item) => ({ ...item, waiting: null }));
  const running: Progress = { status: 'RUNNING', items, batch: null, cancel: { by: 'ana' } };
  const report = makeReportOf({ status: 'RUNNING', payment: 'PENDING' });
  const name = 'mxn-supplier.2026-11-21';
  assert.equal(
    statusSentence(report, running, NOW_MS),
    `${name} is being cancelled by ana (1 of 2 items done): what is under way ends first; now supplier: to be sent.`,
  );
  const heldReport = makeReportOf({ status: 'HELD', payment: 'PENDING' });
  assert.match(
    statusSentence(heldReport, { ...PROGRESS, cancel: { by: null } }, NOW_MS),
    /^\S+ is being cancelled, and is held \(1 of 2 items done\) by AWAITING_SETTLEMENT since /,
  );
  const seen = new Map<string, string>();
  const lines = (): readonly string[] =>
    stepLines(running, seen, { nowMs: NOW_MS, zone: 'UTC' }, '').filter((line) => line.includes('cancelled'));
  assert.match(lines().join('\n'), /^\S+ UTC run: being cancelled: what is under way ends first$/);
  assert.deepEqual(lines(), [], 'it is said once');
});

test('a run without a plan says so, and of a batch how many payments were submitted', () => {
  const report = makeReportOf({ status: 'RUNNING', items: false });
  const plan = { id: 'plan', kind: 'plan', step: 'reading', waiting: null } as const;
  const progress: Progress = { status: 'RUNNING', items: [plan], batch: null };
  const name = 'mxn-supplier.2026-11-21';
  assert.equal(
    statusSentence(report, progress, NOW_MS),
    `${name} is running (no plan yet); now plan: reading.`,
  );
  assert.equal(
    statusSentence(report, { ...progress, submitted: 1200 }, NOW_MS),
    `${name} is running (no plan yet, 1200 payments submitted); now plan: reading.`,
  );
});

test('doubt is a safety wait: until when, and that nothing is to do', () => {
  const safeAtMs = NOW_MS + 160_000;
  const doubt: Waiting = {
    ...held,
    reason: 'doubt',
    problem: { ...held.problem, code: 'IN_DOUBT', message: 'Not known yet.' },
    safeAtMs,
  };
  const waitsFor = (waiting: Waiting) =>
    PROGRESS.items.map((item) => (item.kind === 'leg' ? { ...item, waiting } : item));
  const items = waitsFor(doubt);
  assert.match(
    statusSentence(
      { ...makeReportOf({ status: 'HELD', payment: 'PENDING' }), zone: 'UTC' },
      { ...PROGRESS, items },
      NOW_MS,
    ),
    new RegExp(`: Not known yet; ${safetyWaitText(safeAtMs, NOW_MS).replace(' UTC', '')}\\.$`),
  );
  const mendable = { ...doubt, problem: { ...doubt.problem, fix: `It waits. ${SENT_SOONER}` } };
  assert.ok(
    statusSentence(
      makeReportOf({ status: 'HELD', payment: 'PENDING' }),
      { ...PROGRESS, items: waitsFor(mendable) },
      NOW_MS,
    ).endsWith(`nothing for you to do. ${SENT_SOONER}`),
  );
  const drawn = (nowMs: number): string =>
    drawProgress({
      name: 'mxn-supplier.2026-11-21',
      progress: { ...PROGRESS, items },
      startedAtMs: NOW_MS,
      nowMs,
      zone: 'UTC',
      silence: null,
      pace: '',
      width: 200,
      paint: PLAIN,
    });
  const words = safetyWaitText(safeAtMs, NOW_MS).replace('safety', 'Safety');
  assert.ok(drawn(NOW_MS).includes(`IN_DOUBT: Not known yet. ${words} (2 min 40 s left).`), drawn(NOW_MS));
  assert.ok(drawn(NOW_MS + 100_000).includes(`${words} (1 min 0 s left).`));
  assert.ok(drawn(safeAtMs).includes(`${words}.`));
  // Whoever follows the run waits it out, but not a day, and not while something else is wanted.
  const progress = { ...PROGRESS, items };
  assert.ok(isSafetyWait(progress, NOW_MS));
  assert.ok(!isSafetyWait(progress, NOW_MS - 86_400_000));
  assert.ok(!isSafetyWait(PROGRESS, NOW_MS));
});

test('a safety wait names its end in UTC, and the day where it is another one', () => {
  const at = (text: string): number => Date.parse(text);
  assert.equal(
    safetyWaitText(at('2026-11-21T20:37:36.004Z'), at('2026-11-21T20:34:00Z')),
    'safety wait until 20:37:37 UTC, to be sure that nothing was sent before; nothing for you to do',
  );
  assert.equal(
    safetyWaitText(at('2026-11-22T00:01:00Z'), at('2026-11-21T23:58:00Z')),
    'safety wait until 2026-11-22 00:01:00 UTC, to be sure that nothing was sent before; nothing for you to do',
  );
});

const shown = (report: Report): string =>
  reportText({ report, uiUrl: null, nowMs: NOW_MS, width: 300, paint: PLAIN });

test('the report of a run without a plan says that nothing was sent', () => {
  const problems = [makeProblem('PLAN_ACCOUNT_MISSING', 'supplier')];
  const text = shown(makeReportOf({ status: 'FAILED', items: false, problems }));
  assert.match(text, /Not started: no plan could be made\. Nothing was sent\./);
});

test('a lost reply that was found, and a later generation, are told', () => {
  const report = makeReportOf({ status: 'COMPLETED' });
  const [payment] = report.payments;
  assert.ok(payment);
  const sent = (result: string): Evidence => ({
    at: '2026-11-21T12:00:00Z',
    item: 'supplier',
    call: 'send withdrawal',
    result,
    traceId: null,
    replayed: null,
    quote: null,
  });
  const told = (evidence: readonly Evidence[], reference = payment.reference): string =>
    shown({
      ...report,
      evidence: [...report.evidence, ...evidence],
      payments: [{ ...payment, reference }],
    });
  assert.doesNotMatch(told([sent('success')]), /lost|generation/);
  assert.match(
    told([sent('NO_ANSWER')]),
    /COMPLETED\), sent at 09:31:07, seen paid at 09:32:10\. A reply was lost. The run found at the service/,
  );
  assert.match(
    told([sent('NO_ANSWER'), sent('success')]),
    /A reply was lost. The service gave it again for the same request/,
  );
  assert.match(
    told([], `${payment.reference}~2`),
    /It is generation 2 of this payment: mxn-supplier\.2026-11-21\.supplier~2\./,
  );
});

test('proceeds that nobody knows are not told as 0, and rates have six digits', () => {
  const untraded = makeReportOf({ status: 'FAILED', leg: 'NOT_TRADED', payment: 'NOT_PAID' });
  const totals = [{ currency: 'MXN', planned: '0', paid: '0', notPaid: '0', needsHuman: '0' }];
  assert.match(shown({ ...untraded, totals }), /^MXN +proceeds +0\.00 +proceeds +0\.00$/m);
  const [payment] = untraded.payments;
  assert.ok(payment);
  const fixed = { ...payment, id: 'rent', amount: '5' };
  assert.match(
    shown({
      ...untraded,
      payments: [payment, fixed],
      totals: [{ currency: 'MXN', planned: '5', paid: '0', notPaid: '5', needsHuman: '0' }],
    }),
    /^MXN +5\.00 \+ proceeds +0\.00 +5\.00 \+ proceeds +0\.00$/m,
  );
  const traded = makeReportOf({ status: 'COMPLETED' });
  const [leg] = traded.legs;
  assert.ok(leg);
  assert.match(shown({ ...traded, legs: [{ ...leg, rate: '0.0540540540541' }] }), / at 0\.0540541 \(/);
});

test('what waits in good time needs nobody; what is late, or waits for somebody, does', () => {
  const waits = (reason: Waiting['reason'], code: Problem['code'] = 'IN_DOUBT'): boolean =>
    needsSomebody({ ...held, reason, problem: { ...held.problem, code } }, NOW_MS);
  assert.deepEqual(
    [waits('settlement', 'AWAITING_SETTLEMENT'), waits('opening'), waits('service')],
    [false, false, false],
  );
  assert.deepEqual(
    [waits('settlement', 'SETTLEMENT_LATE'), waits('person'), waits('configuration'), waits('money')],
    [true, true, true, true],
  );
});

test('a doubt that is over within ten minutes needs nobody; one that lasts longer does', () => {
  const { sinceMs: _, ...doubt } = { ...held, reason: 'doubt' as const };
  const needs = (more: Partial<Waiting>): boolean => needsSomebody({ ...doubt, ...more }, NOW_MS);
  const minutes = (number: number): number => NOW_MS + number * 60_000;
  // A safety wait says its end.
  assert.deepEqual(
    [3, 9, 10, 24 * 60].map((number) => needs({ safeAtMs: minutes(number), sinceMs: NOW_MS })),
    [false, false, true, true],
  );
  assert.deepEqual(
    [-9, -10].map((number) => needs({ safeAtMs: minutes(number) })),
    [false, true],
  );
  // Of any other the beginning is known, or it began in an earlier history.
  assert.deepEqual(
    [-9, -10].map((number) => needs({ sinceMs: minutes(number) })),
    [false, true],
  );
  assert.equal(needs({}), true);
});

test('a person comes before a settlement in what a run waits for', () => {
  const person: Waiting = {
    reason: 'person',
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
    statusSentence(ended, progressOfEnded(ended, { isBatch: false }), NOW_MS),
    /^mxn-supplier\.2026-11-21 ended PARTIAL \(1 of 2 items done\)\. AWAITING_SETTLEMENT: /,
  );
});

test('each step makes one line, once', () => {
  const seen = new Map<string, string>();
  assert.equal(stepLines(PROGRESS, seen, { nowMs: NOW_MS, zone: 'UTC' }, '').length, 3);
  assert.deepEqual(stepLines(PROGRESS, seen, { nowMs: NOW_MS + 1_000, zone: 'UTC' }, ''), []);
  const [plan, leg, payment] = PROGRESS.items;
  assert.ok(plan && leg && payment);
  const next: Progress = {
    status: 'RUNNING',
    items: [plan, { ...leg, step: 'TRADED, settled', waiting: null }, payment],
    batch: null,
  };
  assert.match(
    stepLines(next, seen, { nowMs: NOW_MS, zone: 'UTC' }, '').join('\n'),
    /^\d\d:\d\d:\d\d leg usd-mxn-1: TRADED, settled$/,
  );
});

test('a difference shows what was and what is, with lines around it', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
  const after = before.toSpliced(4, 1, 'E', 'EE');
  assert.equal(
    difference({ label: 'plan', text: before.join('\n') }, { label: 'file', text: after.join('\n') }),
    ['--- plan', '+++ file', '@@ -2,7 +2,8 @@', ' b', ' c', ' d', '-e', '+E', '+EE', ' f', ' g', ' h'].join(
      '\n',
    ),
  );
});

test('the times of a message are in one zone, which the first one names, with the date only where it is not today', () => {
  const { at, atText } = clockOf('America/Mexico_City', NOW_MS);
  assert.deepEqual(
    [at(NOW_MS), atText('2026-11-21T12:00:01.500Z'), at(NOW_MS + 86_400_000)],
    ['06:00:00 America/Mexico_City', '06:00:01', '2026-11-22 06:00'],
  );
  // It is tomorrow there already.
  assert.equal(clockOf('Asia/Tokyo', NOW_MS + 10 * 3_600_000).at(NOW_MS), '2026-11-21 21:00 Asia/Tokyo');
  for (const zone of [null, 'no zone']) assert.equal(clockOf(zone, NOW_MS).at(NOW_MS), '12:00:00 UTC');
  assert.equal(clockOf(null, NOW_MS, true).atText('no moment'), 'an unknown time');
});

test('a sentence of ours is told in the zone of its message, and what it quotes stays', () => {
  const told = (text: string): string => clockOf('Europe/Paris', NOW_MS).retold(text);
  assert.equal(
    told('Not sent by 2026-11-26T12:00:00.000Z; too old since 2026-11-21 10:00 UTC.'),
    'Not sent by 2026-11-26 13:00 Europe/Paris; too old since 11:00:00.',
  );
  assert.equal(told('safety wait until 20:37:37 UTC'), 'safety wait until 21:37:37 Europe/Paris');
  for (const text of [
    'It says "late since 2026-11-20T10:00:00Z".',
    'The run p.2026-11-21 ended.',
    '12:00:00',
  ])
    assert.equal(told(text), text);
  // The name of a workflow that a schedule has started has the moment in it.
  const named = 'sandbox/schedule/usd-mxn-2026-11-21T12:00:00Z is paused';
  assert.equal(told(named), named);
});

test('a missed start is told at its time in the zone of its schedule, and a schedule whose key is missing is named', () => {
  const facts = { at: '09:30', zone: 'Europe/Paris' } as ScheduleView['kept']['facts'];
  const kept = {
    name: 'p',
    facts,
    missingKey: null as string | null,
    isPaused: false,
    note: null,
    nextMs: [] as readonly number[],
  };
  const run = { policy: 'p', id: '2026-11-20' };
  const why = { code: 'SCHEDULE_MISSED', message: 'No worker took it.' } as const;
  const missed = [{ run, nominalMs: Date.parse('2026-11-20T08:30:00Z'), why }];
  const text = schedulesText([{ kept, starts: [], missed } as unknown as ScheduleView], 200);
  assert.match(text, /^p\.2026-11-20 was to start at 2026-11-20 09:30 Europe\/Paris\. SCHEDULE_MISSED: No/m);
  const sealed = { kept: { ...kept, missingKey: 'its-id' }, starts: [], missed: [] };
  const named = schedulesText([sealed as unknown as ScheduleView], 200);
  assert.match(named, /^p: SEAL_KEY_MISSING: The key "its-id" that has sealed it/m);
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

test('a second resume says who has resumed it, and what workers may still wait for', () => {
  const scope = { policy: 'p', currency: null };
  assert.equal(notHaltedText('LIVE', scope, null), 'In LIVE, policy "p" was not halted.');
  const said = { scope, by: 'dan', why: 'seen', haltAtMs: 0 };
  const text = notHaltedText('LIVE', scope, { said, atMs: Date.parse('2026-11-23T06:12:03Z'), signed: [] });
  for (const part of [
    'In LIVE, policy "p" was resumed already, by dan at 2026-11-23 06:12:03 UTC: "seen".',
    'it stays halted until they have them',
    '`npx cambist resume --policy p --sign FILE`',
    '`npx cambist resume --policy p --approve FILE`',
  ])
    assert.ok(text.includes(part), text);
});
