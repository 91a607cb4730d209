/** What a person sees of a large batch: counts and sums, a line now and then, and the first payments that are not paid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standingWith, withStanding, type BatchStanding, type Progress } from '../../domain/run/progress.ts';
import type { ChunkState } from '../../domain/run/chunk-state.ts';
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
  codes: [],
  waits: [],
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
    batch: { ...HEARD, open: [2], others: OTHERS },
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
      payments     1500       800     600         0               0
      EUR       2000.00    800.00  600.00      0.00            0.00`,
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
      NOW_MS + afterMs,
      '',
    ).map((line) => line.slice(9));
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

const shown = (report: Report): string => reportText({ report, uiUrl: null, width: 80, paint: PLAIN });

test('of a large batch the first fifty that are not paid are told, and what to do about all of them', () => {
  const text = shown(longReport(1_000, 70));
  assert.match(text, /^1000 of 1070 payments are paid, 70 are not paid\.$/m);
  assert.match(text, /^Not paid, the first 50 of 70 \(--json has them all\):$/m);
  assert.equal(text.match(/NOT_PAID/g)?.length, 50);
  assert.match(text, /^ {2}inv-1000: NOT_PAID, 18500\.00 MXN to wac_7Hk2mQ9vT4xR\. Withdrawal account/m);
  assert.match(text, /^70 payments, ACCOUNT_MISSING: Correct the account\.$/m);
  assert.ok(text.split('\n').length < 130, text);
  assert.match(text, /^LEG /m);
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
