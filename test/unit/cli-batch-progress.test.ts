/** What a person sees of a large batch: counts and sums, a line now and then, and the first payments that are not paid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standingWith, withStanding, type BatchStanding, type Progress } from '../../domain/run/progress.ts';
import type { ChunkState } from '../../domain/run/chunk-state.ts';
import type { Problem } from '../../domain/problems.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { drawProgress, stepLines } from '../../cli/views/progress-text.ts';
import { reportText, statusSentence } from '../../cli/views/report-text.ts';
import { Pace } from '../../cli/views/pace.ts';
import { makeReportOf } from '../support/cli-reports.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const same = (text: string): string => text;
const PLAIN = { strong: same, good: same, warn: same, bad: same, faint: same };

const NONE = { planned: 0, accepted: 0, paid: 0, notPaid: 0, needsHuman: 0, open: 0, sent: 0, waiting: 0 };
const EUR = {
  currency: 'EUR',
  planned: '2000',
  accepted: '500',
  paid: '500',
  notPaid: '0',
  needsHuman: '0',
};
const OTHERS: BatchStanding = {
  counts: { ...NONE, planned: 1_000, accepted: 500, paid: 500, open: 500, sent: 500 },
  totals: [EUR],
  unpaid: [],
  held: [],
  unseen: 0,
  waiting: null,
};
const HEARD: BatchStanding = { ...OTHERS, counts: { ...OTHERS.counts, planned: 1_500, open: 1_000 } };

/** A chunk of 500 payments of 1 EUR each; `found`: of those that are accepted, `waiting`: of those that are not. */
function chunk(
  number: number,
  accepted: number,
  paid: number,
  { found = 0, waiting = 0 }: { readonly found?: number; readonly waiting?: number } = {},
): ChunkState {
  const sent = accepted - found;
  return {
    number,
    heard: null,
    isSending: true,
    counts: { ...NONE, planned: 500, accepted, paid, open: 500 - paid, sent, waiting },
    totals: [{ ...EUR, planned: '500', accepted: `${accepted}`, paid: `${paid}` }],
    waits: [],
    refusals: { refused: 0, sent: 0, inARow: null },
    unpaid: [],
  };
}

function progressOf(standing: BatchStanding): Progress {
  const batch = { id: 'payments', kind: 'batch' as const, step: '', waiting: null };
  const progress: Progress = {
    status: 'RUNNING',
    items: [{ id: 'plan', kind: 'plan', step: 'made', waiting: null }, batch],
    batch: { ...HEARD, open: [2], others: OTHERS, leftOut: [] },
  };
  return withStanding(progress, standing);
}

const standing = standingWith({ others: OTHERS }, [chunk(2, 300, 100)]);

test('open chunks tell how they stand themselves, the others as the run has heard', () => {
  assert.deepEqual(standing.counts, {
    planned: 1_500,
    accepted: 800,
    paid: 600,
    notPaid: 0,
    needsHuman: 0,
    open: 900,
    sent: 800,
    waiting: 0,
  });
  assert.deepEqual(standing.totals, [{ ...EUR, accepted: '800', paid: '600' }]);
  assert.equal(progressOf(standing).items[1]?.step, '800 of 1500 accepted, 600 paid');
});

test('on a terminal a batch is one item with its counts and sums, how fast it goes, and how long it will take', () => {
  const pace = new Pace();
  pace.take(standingWith({ others: OTHERS }, [chunk(2, 200, 0)]), NOW_MS - 10_000);
  pace.take(standing, NOW_MS);
  assert.equal(pace.text, '600 a minute, about 70 s until all are sent');
  const drawn = drawProgress({
    name: 'p.2026-11-21',
    progress: progressOf(standing),
    startedAtMs: NOW_MS - 60_000,
    nowMs: NOW_MS,
    zone: 'UTC',
    silence: null,
    pace: pace.text,
    width: 80,
    paint: PLAIN,
  });
  assert.equal(
    drawn,
    `p.2026-11-21  RUNNING  60 s
  + plan      made
  | payments  800 of 1500 accepted, 600 paid
      600 a minute, about 70 s until all are sent
                 PLANNED  ACCEPTED    PAID  NOT PAID  NEEDS A PERSON
      payments      1500       800     600         0               0
      EUR       2,000.00    800.00  600.00      0.00            0.00`,
  );
});

/** What is said of the pace once the chunk has gone from one state to the other within 10 s. */
function paceBetween(before: ChunkState, after: ChunkState): string {
  const pace = new Pace();
  const others = { ...OTHERS, counts: NONE };
  pace.take(standingWith({ others }, [before]), NOW_MS);
  assert.equal(pace.text, '', 'it is too soon to tell');
  pace.take(standingWith({ others }, [after]), NOW_MS + 10_000);
  return pace.text;
}

test('the pace is that of what is sent, and the time left that of what is still to be sent', () => {
  const cases: readonly (readonly [why: string, before: ChunkState, after: ChunkState, text: string])[] = [
    ['nothing moves', chunk(2, 100, 0), chunk(2, 100, 0), ''],
    [
      'one of two is sent, some are paid besides',
      chunk(2, 0, 0),
      chunk(2, 100, 50),
      '600 a minute, about 40 s until all are sent',
    ],
    ['all are sent: only the service knows when they are paid', chunk(2, 500, 0), chunk(2, 500, 400), ''],
    ['what is only found again is not sent', chunk(2, 0, 0), chunk(2, 400, 400, { found: 400 }), ''],
    [
      'some are found, then others are sent',
      chunk(2, 0, 0),
      chunk(2, 400, 400, { found: 350 }),
      '300 a minute, about 20 s until all are sent',
    ],
    ['the rest waits', chunk(2, 400, 400, { waiting: 20 }), chunk(2, 480, 480, { waiting: 20 }), ''],
    [
      'some wait',
      chunk(2, 200, 0, { waiting: 50 }),
      chunk(2, 300, 0, { waiting: 50 }),
      '600 a minute, about 15 s until all but the 50 payments that wait are sent',
    ],
    ['hardly any is left', chunk(2, 0, 0), chunk(2, 499, 0), '2994 a minute, about 1 s until all are sent'],
  ];
  for (const [why, before, after, text] of cases) assert.equal(paceBetween(before, after), text, why);
});

test('without a terminal a batch makes a line now and then, and one at its end', () => {
  const seen = new Map<string, string>();
  const at = (paid: number, afterMs: number): readonly string[] =>
    stepLines(
      progressOf(standingWith({ others: OTHERS }, [chunk(2, 500, paid)])),
      seen,
      { nowMs: NOW_MS + afterMs, zone: 'UTC' },
      '',
    ).map((line) => line.replace(/^[\d:]+( UTC)? /, ''));
  assert.deepEqual(at(0, 0), ['plan: made', 'batch payments: 1000 of 1500 accepted, 500 paid']);
  assert.deepEqual(at(100, 2_000), []);
  assert.deepEqual(at(200, 4_000), []);
  assert.deepEqual(at(300, 16_000), ['batch payments: 1000 of 1500 accepted, 800 paid']);
  assert.deepEqual(at(300, 60_000), []);
});

function paymentOf(index: number, outcome: ReportPayment['outcome']): ReportPayment {
  const [payment] = makeReportOf({ status: 'COMPLETED' }).payments;
  assert.ok(payment);
  const isPaid = outcome === 'PAID';
  return {
    ...payment,
    id: `inv-${index}`,
    outcome,
    withdrawalId: isPaid ? `wtd_${index}` : null,
    status: isPaid ? 'COMPLETED' : null,
    reason: isPaid ? null : 'Withdrawal account "wac_x" is not in the list.',
  };
}

function longReport(paid: number, unpaid: number): Report {
  const payments = Array.from({ length: paid + unpaid }, (_, index) =>
    paymentOf(index, index < paid ? 'PAID' : 'NOT_PAID'),
  );
  return {
    ...makeReportOf({ status: 'PARTIAL' }),
    payments,
    problems: payments.flatMap(({ id, outcome }) =>
      outcome === 'PAID'
        ? []
        : [{ code: 'ACCOUNT_MISSING' as const, item: id, message: 'm', fix: 'Correct the account.' }],
    ),
  };
}

const shown = (report: Report): string =>
  reportText({ report, uiUrl: null, nowMs: NOW_MS, width: 80, paint: PLAIN });

test('of a large batch the first fifty that are not paid are told, and what to do about all of them once', () => {
  const text = shown(longReport(1_000, 70));
  assert.match(text, /^1000 of 1070 payments are paid, 70 are not paid \(70 account not registered\)\.$/m);
  assert.equal(text.match(/NOT_PAID/g)?.length, 50);
  assert.match(
    text,
    /^70 payments, ACCOUNT_MISSING: Correct the account\.\n {2}inv-1000: NOT_PAID, 18,500\.00 MXN to wac_7Hk2mQ9vT4xR\. m\.$/m,
  );
  assert.match(text, /^ {2}and 20 more \(--json has them all\)$/m);
  assert.ok(text.split('\n').length < 130, text);
  assert.match(text, /^LEG /m);
});

test('a batch tells what is not paid by its reason, the rarest first, and each advice once', () => {
  for (const paid of [5, 1_000]) {
    const report = longReport(paid, 6);
    const [rare, ...others] = report.problems.slice(-6);
    assert.ok(rare !== undefined);
    const mixed = [
      { ...rare, code: 'ACCOUNT_CURRENCY' as const, fix: 'Pay it by another batch.' },
      ...others,
    ];
    const text = shown({ ...report, problems: mixed });
    assert.equal(text.match(/Correct the account\./g)?.length, 1);
    assert.equal(text.match(/Pay it by another batch\./g)?.length, 1);
    const [first = 0, second = 0] = ['ACCOUNT_CURRENCY', '5 payments, ACCOUNT_MISSING'].map((part) =>
      text.indexOf(part),
    );
    assert.ok(first > 0 && second > first, text);
    if (paid === 1_000)
      assert.match(text, /6 are not paid \(5 account not registered, 1\s+wrong\s+currency\)\./);
  }
});

test('a batch of which everything is paid is told in a few lines', () => {
  const text = shown(longReport(10_000, 0));
  assert.match(text, /^10000 of 10000 payments are paid\.$/m);
  assert.ok(text.split('\n').length < 20, text);
});

test('the sentence about a batch counts its payments, which nobody has read', () => {
  const report: Report = { ...makeReportOf({ status: 'RUNNING' }), payments: [] };
  assert.equal(
    statusSentence(report, progressOf(standing), NOW_MS),
    'mxn-supplier.2026-11-21 is running (601 of 1501 items done); now payments: 800 of 1500 accepted, 600 paid.',
  );
});

/** The sentence about a batch that stands so. */
function sentenceOf(
  status: Report['status'],
  more: Partial<BatchStanding>,
  problems: Report['problems'] = [],
): string {
  const report: Report = { ...makeReportOf({ status }), payments: [], problems };
  return statusSentence(report, { ...progressOf({ ...standing, ...more }), status }, NOW_MS);
}

test('a batch that is not paid whole says how many are not paid for which reason, and each once', () => {
  const counts = { ...standing.counts, notPaid: 137 };
  const unpaid = [
    { code: 'ACCOUNT_UNUSABLE', payments: 134 },
    { code: 'ACCOUNT_CURRENCY', payments: 2 },
  ];
  const problem = (code: Problem['code'], message: string): Problem => {
    return { code, item: 'payments', message, fix: 'See `npx cambist report r` for each' };
  };
  const why = '137 not paid: 134 account not verified or closed, 2 wrong currency, 1 for other reasons.';
  assert.equal(
    sentenceOf('PARTIAL', { counts, unpaid }, [problem('ACCOUNT_UNUSABLE', '134 of 137 payments.')]),
    `mxn-supplier.2026-11-21 ended PARTIAL (601 of 1501 items done). ${why} See \`npx cambist report r\` for each.`,
  );
  const stopped = problem('BATCH_STOPPED', 'A rule has stopped it.');
  assert.match(
    sentenceOf('PARTIAL', { counts, unpaid }, [stopped]),
    /done\)\. BATCH_STOPPED: A rule has stopped it\. 137 not paid: /,
  );
  const leg: Problem = { code: 'OUTSIDE_GUARD', item: 'usd-mxn-1', message: 'Too dear.', fix: 'Wait.' };
  assert.match(
    sentenceOf('PARTIAL', { counts, unpaid }, [leg]),
    /done\)\. OUTSIDE_GUARD: Too dear\. Wait\. 137 not paid: /,
  );
});

test('a batch that has left payments out says in its sentence what to bring before they are mended and tried again', () => {
  const counts = { ...standing.counts, notPaid: 2 };
  const unpaid = [{ code: 'ACCOUNT_UNUSABLE', payments: 2 }];
  const progress = progressOf({ ...standing, counts, unpaid });
  assert.ok(progress.batch !== null);
  const leftOut = [{ currency: 'GBP', value: '120.5' }];
  const report: Report = { ...makeReportOf({ status: 'PARTIAL' }), payments: [] };
  assert.match(
    statusSentence(report, { ...progress, batch: { ...progress.batch, leftOut } }, NOW_MS),
    / 2 not paid: 2 account not verified or closed\. The plan left some of these out, and its trades buy no money for them\. Bring in up to 120\.50 GBP for those that you mend, then reset the run\.$/,
  );
});

test('the report of such a batch says what to bring below its problems, and not while the run goes on', () => {
  const base = makeReportOf({ status: 'PARTIAL' });
  const [payment] = base.payments;
  assert.ok(payment !== undefined);
  const unpaid = { ...payment, id: 'inv-2', outcome: 'NOT_PAID', currency: 'GBP', amount: '120.5' } as const;
  const problems = [
    {
      code: 'ACCOUNT_UNUSABLE' as const,
      item: 'inv-2',
      message: 'It is not verified.',
      fix: 'Have it verified.',
    },
  ];
  const textOf = (status: Report['status']): string =>
    reportText({
      report: { ...base, status, payments: [payment, unpaid], problems },
      ...{ uiUrl: null, nowMs: NOW_MS, width: 200, paint: PLAIN },
    });
  const told =
    /buy no money for them\. Bring in up to 120\.50 GBP for those that you mend, then reset the run\.$/m;
  assert.match(textOf('PARTIAL'), told);
  assert.doesNotMatch(textOf('RUNNING'), told);
});

test('a held batch leads with the sums that are missing, and then tells what else payments wait for', () => {
  const poor = {
    code: 'WITHDRAWAL_INSUFFICIENT_BALANCE',
    reason: 'money',
    currency: 'GBP',
    payments: 54,
  } as const;
  const held = [
    { ...poor, value: '69334.71', there: '12' },
    { ...poor, code: 'IN_DOUBT', reason: 'doubt' as const, payments: 3, value: '8', there: null },
  ];
  const one = { code: poor.code, item: 'inv-7', message: 'One payment.', fix: 'f' } as const;
  const waiting = {
    reason: 'money' as const,
    problem: one,
    wakeAtMs: NOW_MS + 60_000,
    sinceMs: NOW_MS - 60_000,
  };
  assert.equal(
    sentenceOf('HELD', { held, waiting }),
    'mxn-supplier.2026-11-21 is held (601 of 1501 items done) by WITHDRAWAL_INSUFFICIENT_BALANCE since 05:59:00 America/Mexico_City: Short of 69,322.71 GBP (54 payments wait; 69,334.71 GBP are needed, 12.00 GBP are there); it looks again by itself at 06:01:00. Bring GBP in; the run then goes on by itself. 57 wait: 54 money missing, 3 in doubt.',
  );
});

test('until the service has been looked at, a batch says that it is looking, and never that nobody is paid', () => {
  const counts = { ...standing.counts, accepted: 20, paid: 20 };
  const seen = { ...standing, counts, unseen: 1_480 };
  assert.match(
    sentenceOf('RUNNING', seen),
    /is running \(looking: 21 of 1501 items done as far as seen, 1480 to be looked up\); now payments: looking, 1480 of 1500 to be looked up; 20 of 1500 accepted, 20 paid\.$/,
  );
  const drawn = drawProgress({
    name: 'p.2026-11-21',
    progress: progressOf(seen),
    startedAtMs: NOW_MS,
    nowMs: NOW_MS,
    zone: 'UTC',
    silence: null,
    pace: '',
    width: 90,
    paint: PLAIN,
  });
  assert.match(drawn, / NEEDS A PERSON {2}LOOKING\n {6}payments .* 1480\n/);
  const [line] = stepLines(
    progressOf(seen),
    new Map([['plan', 'made ']]),
    { nowMs: NOW_MS, zone: 'UTC' },
    '',
  );
  assert.match(line ?? '', / batch payments: looking, 1480 of 1500 to be looked up; 20 of 1500 accepted/);
});
