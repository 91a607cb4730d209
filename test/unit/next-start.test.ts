/** What the next start of a run does with each item, and what `--go-on` says of it before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextStart, type Next } from '../../domain/run/next-start.ts';
import { openUntilMs, spelledOut, type Recorded } from '../../domain/people/instructions.ts';
import { triedAgainDocument, triedAgainLines } from '../../cli/views/next-start-text.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import type { Problem } from '../../domain/problems.ts';
import { toBring, toBringLines } from '../../cli/views/to-bring-text.ts';
import { LIST_HASH, recorded } from '../support/instructions.ts';
import { makeReportOf } from '../support/cli-reports.ts';

const [SAMPLE] = makeReportOf({ status: 'PARTIAL' }).payments;

function paymentOf(id: string, of: Partial<ReportPayment>): ReportPayment {
  assert.ok(SAMPLE);
  return { ...SAMPLE, id, withdrawalId: null, status: null, reason: null, amount: '10.5', ...of };
}

function reportWith(
  payments: readonly ReportPayment[],
  problems: readonly (readonly [item: string, code: Problem['code']])[] = [],
): Report {
  return {
    ...makeReportOf({ status: 'PARTIAL' }),
    payments,
    problems: problems.map(([item, code]) => ({
      code,
      item,
      message: 'm',
      fix: 'f',
    })),
  };
}

/** What a start by `--go-on` does. */
function goOn(report: Report) {
  return nextStart(report, [], { takesCancelBack: true, nowMs: 1 });
}

/** What a reset does with one payment. */
function nextOf(
  payment: Partial<ReportPayment>,
  instructions: readonly Recorded[] = [],
  how: { readonly takesCancelBack: boolean; readonly nowMs?: number } = { takesCancelBack: false },
): Next | undefined {
  const report = { ...reportWith([paymentOf('p', payment)]), legs: [] };
  return nextStart(report, instructions, { nowMs: 1, ...how })[0]?.next;
}

test('a payment that a person has opened again is paid again, until the service has a record of it', () => {
  const failed = { outcome: 'NOT_PAID', withdrawalId: 'wtd_1', reference: 'r.d.p' } as const;
  const opened = recorded({ kind: 'pay again', item: 'p', follows: 1, recordId: 'wtd_1' });
  const { instructions: ofBatch } = spelledOut({
    instructions: [recorded({ kind: 'pay these again', id: 'these', chunks: [[1, 2, LIST_HASH]] })],
    facts: [
      {
        kind: 'to pay again',
        said: 'these',
        items: [
          ['q', 1, null],
          ['p', 1, 'wtd_1'],
        ],
      },
    ],
  });
  assert.equal(nextOf(failed), 'left to --pay-again');
  assert.equal(nextOf(failed, [opened]), 'paid again');
  assert.equal(nextOf(failed, ofBatch), 'paid again');
  assert.equal(
    nextOf({ ...failed, reference: 'r.d.p~9' }, [opened]),
    'left to --pay-again',
    'that one failed too',
  );
  assert.equal(nextOf({ ...failed, outcome: 'PAID' }, [opened]), 'paid again', 'it came back after the end');
  assert.equal(nextOf({ ...failed, outcome: 'PAID', reference: 'r.d.p~9' }, [opened]), 'done');
});

test('a cancel stops what is not sent until --go-on takes it back, and a successor stops it for good', () => {
  const refused = { outcome: 'NOT_PAID' } as const;
  const cancel = recorded({ kind: 'cancel' });
  const superseded = recorded({ kind: 'superseded', instead: '2026-11-21-b' });
  const takesCancelBack = { takesCancelBack: true };
  assert.equal(nextOf(refused, [cancel]), 'cancelled');
  assert.equal(
    nextOf(refused, [cancel, recorded({ kind: 'go-on', item: null, takesBack: cancel.id })]),
    'tried again',
  );
  assert.equal(nextOf(refused, [cancel], takesCancelBack), 'tried again');
  assert.equal(nextOf(refused, [superseded], takesCancelBack), 'left to another run');
  assert.equal(nextOf({ outcome: 'PENDING', withdrawalId: 'wtd_1' }, [cancel]), 'followed');
  const opened = recorded({ kind: 'pay again', item: 'p', follows: 1, recordId: 'wtd_1' });
  assert.equal(nextOf({ outcome: 'NOT_PAID', withdrawalId: 'wtd_1' }, [opened, cancel]), 'cancelled');
});

test('a leg whose amount comes from balances is traded only while they ask for it', () => {
  const report = makeReportOf({ status: 'FAILED', leg: 'NOT_TRADED', payment: 'NOT_PAID' });
  const nextOfLeg = (why: 'fixed' | 'all above' | 'target') =>
    goOn({ ...report, legs: report.legs.map((leg) => ({ ...leg, why })) })[0]?.next;
  assert.equal(nextOfLeg('fixed'), 'tried again');
  assert.equal(nextOfLeg('all above'), 'tried again while the balances ask for it');
  assert.equal(nextOfLeg('target'), 'tried again while the balances ask for it');
});

test('what a person has opened is paid again by the next start only while its window is open', () => {
  const opened = recorded({ kind: 'pay again', item: 'p', follows: 1, recordId: 'wtd_1' });
  const payment = { outcome: 'NOT_PAID', withdrawalId: 'wtd_1' } as const;
  const at = (nowMs: number) => nextOf(payment, [opened], { takesCancelBack: true, nowMs });
  const untilMs = openUntilMs(opened.atMs);
  assert.deepEqual([at(untilMs), at(untilMs + 1)], ['paid again', 'left to --pay-again']);
});

test('of a batch that ended in every way, what was never accepted is tried again, with why it was not', () => {
  const report = reportWith(
    [
      paymentOf('paid', { outcome: 'PAID', withdrawalId: 'wtd_1' }),
      paymentOf('refused', { outcome: 'NOT_PAID', reason: 'The account was closed.' }),
      paymentOf('unsent', { outcome: 'PENDING', currency: 'EUR', amount: '3' }),
      paymentOf('on-its-way', { outcome: 'PENDING', withdrawalId: 'wtd_2' }),
      paymentOf('failed', { outcome: 'NOT_PAID', withdrawalId: 'wtd_3' }),
      paymentOf('late', { outcome: 'NOT_PAID' }),
      paymentOf('decided', { outcome: 'NOT_PAID' }),
      paymentOf('doubt', { outcome: 'NEEDS_HUMAN' }),
    ],
    [
      ['late', 'WINDOW_PASSED'],
      ['decided', 'DECIDED_NOT_EXECUTED'],
    ],
  );
  assert.deepEqual(triedAgainLines(goOn(report)), [
    'Tries again, each under its own key first: 2 payments, 3.00 EUR, 10.50 MXN.',
    '  refused: 10.50 MXN to wac_7Hk2mQ9vT4xR. The account was closed.',
    '  unsent: 3.00 EUR to wac_7Hk2mQ9vT4xR. It was not sent yet.',
    'Only --pay-again pays these again, since they failed later, their send window is over, or a person has said that they were not sent: 3 payments.',
    'For these a person must decide: 1 payment.',
  ]);
});

test('fifty are shown and the others counted, and --json has them all', () => {
  const report = reportWith(
    Array.from({ length: 60 }, (_, index) => paymentOf(`p-${index}`, { outcome: 'NOT_PAID' })),
  );
  const lines = triedAgainLines(goOn(report));
  assert.equal(lines.length, 52);
  assert.equal(lines.at(-1), '  and 10 more; --json has them all');
  const { triesAgain } = triedAgainDocument(goOn(report));
  assert.deepEqual(
    [triesAgain.payments.length, triesAgain.totals],
    [60, [{ currency: 'MXN', value: '630' }]],
  );
});

test('where nothing can be tried again it says so', () => {
  const report = reportWith([paymentOf('failed', { outcome: 'NOT_PAID', withdrawalId: 'wtd_1' })]);
  assert.equal(triedAgainLines(goOn(report))[0], 'No payment is tried again.');
});

test('before payments come back that the plan had left out, it says what sum must be brought, in each currency', () => {
  const unpaid = { outcome: 'NOT_PAID' } as const;
  const report = reportWith(
    [
      paymentOf('mended', { ...unpaid, amount: '100', currency: 'GBP' }),
      paymentOf('also', { ...unpaid, amount: '20.5', currency: 'GBP' }),
      paymentOf('gone', { ...unpaid, amount: '7', currency: 'EUR' }),
      paymentOf('elsewhere', { ...unpaid, amount: '1000', currency: 'EUR' }),
      paymentOf('poor', { ...unpaid, amount: '9', currency: 'USD' }),
      paymentOf('refused', { ...unpaid, amount: '8', currency: 'USD' }),
      paymentOf('failed', { ...unpaid, amount: '6', currency: 'USD', withdrawalId: 'wtd_1' }),
    ],
    [
      ['mended', 'ACCOUNT_UNUSABLE'],
      ['also', 'ACCOUNT_UNUSABLE'],
      ['gone', 'ACCOUNT_MISSING'],
      ['elsewhere', 'PAID_BY_ANOTHER_BATCH'],
      ['poor', 'WITHDRAWAL_INSUFFICIENT_BALANCE'],
      ['refused', 'WITHDRAWAL_ADDRESS_NOT_VERIFIED'],
      ['failed', 'WITHDRAWAL_FAILED'],
    ],
  );
  const lines = toBringLines(goOn(report));
  assert.deepEqual(lines, [
    'First bring in up to 7.00 EUR, 120.50 GBP, as far as it is missing: the plan left out 3 payments, and its trades buy no money for those that you have mended since.',
    'First bring in what is missing of 9.00 USD: money was missing for 1 payment, and no trade of the plan buys more.',
  ]);
  assert.deepEqual(toBring(goOn(report)).missing, {
    payments: 1,
    sums: [{ currency: 'USD', value: '9' }],
  });
  assert.deepEqual(triedAgainLines(goOn(report)).slice(1, 3), lines);
  assert.deepEqual(triedAgainDocument(goOn(report)).triesAgain.toBring, toBring(goOn(report)));
  const cancelled = nextStart(report, [recorded({ kind: 'cancel' })], { takesCancelBack: false, nowMs: 1 });
  assert.deepEqual(toBringLines(cancelled), [], 'nothing is sent');
});

test('where a trade of the plan may still bring the money, nobody is asked to bring it', () => {
  const report = reportWith(
    [paymentOf('poor', { outcome: 'NOT_PAID', currency: 'MXN' }), paymentOf('paid', { outcome: 'PAID' })],
    [['poor', 'WITHDRAWAL_INSUFFICIENT_BALANCE']],
  );
  const [leg] = report.legs;
  assert.ok(leg);
  const legs = [{ ...leg, outcome: 'NOT_TRADED' as const }];
  assert.deepEqual(toBringLines(goOn({ ...report, legs })), []);
  assert.equal(toBringLines(goOn(report)).length, 1);
});
