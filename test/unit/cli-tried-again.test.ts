/** What `--go-on` says of a batch before it goes on: what is tried again, and what is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { triedAgain } from '../../operations/start/tried-again.ts';
import { triedAgainDocument, triedAgainLines } from '../../cli/views/tried-again-text.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { makeReportOf } from '../support/cli-reports.ts';

const [SAMPLE] = makeReportOf({ status: 'PARTIAL' }).payments;

function paymentOf(id: string, of: Partial<ReportPayment>): ReportPayment {
  assert.ok(SAMPLE);
  return { ...SAMPLE, id, withdrawalId: null, status: null, reason: null, amount: '10.5', ...of };
}

function reportWith(
  payments: readonly ReportPayment[],
  problems: readonly (readonly [item: string, code: 'WINDOW_PASSED' | 'DECIDED_NOT_EXECUTED'])[] = [],
): Report {
  return {
    ...makeReportOf({ status: 'PARTIAL' }),
    payments,
    problems: problems.map(([item, code]) => ({ code, item, message: 'm', fix: 'f' })),
  };
}

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
  assert.deepEqual(triedAgainLines(triedAgain(report)), [
    'Tries again, each under its own key first: 2 payments, 3.00 EUR, 10.50 MXN.',
    '  refused: 10.50 MXN to wac_7Hk2mQ9vT4xR. The account was closed.',
    '  unsent: 3.00 EUR to wac_7Hk2mQ9vT4xR. It was not sent yet.',
    'Only --pay-again pays payments that failed later, whose window has passed, or of which a person has said that they were not sent: 3 payments.',
    'A person decides: 1 payment.',
  ]);
});

test('fifty are shown and the others counted, and --json has them all', () => {
  const report = reportWith(
    Array.from({ length: 60 }, (_, index) => paymentOf(`p-${index}`, { outcome: 'NOT_PAID' })),
  );
  const lines = triedAgainLines(triedAgain(report));
  assert.equal(lines.length, 52);
  assert.equal(lines.at(-1), '  and 10 more; --json has them all');
  const { triesAgain } = triedAgainDocument(triedAgain(report));
  assert.deepEqual(
    [triesAgain.payments.length, triesAgain.totals],
    [60, [{ currency: 'MXN', value: '630' }]],
  );
});

test('where nothing can be tried again it says so', () => {
  const report = reportWith([paymentOf('failed', { outcome: 'NOT_PAID', withdrawalId: 'wtd_1' })]);
  assert.equal(triedAgainLines(triedAgain(report))[0], 'No payment is tried again.');
});
