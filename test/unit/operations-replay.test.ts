/** Which of the runs that ended undone `replay --attention` leaves as they are, and the reason that a reset is told with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeProblem, type RunCode } from '../../domain/problems.ts';
import { reasonGiven } from '../../operations/replay/past.ts';
import { isPaidElsewhere } from '../../operations/replay/verdict.ts';
import { makeReportOf } from '../support/cli-reports.ts';

const withCodes = (...codes: readonly RunCode[]) =>
  makeReportOf({ status: 'PARTIAL', problems: codes.map((code) => makeProblem(code, 'inv-1')) });

test('a batch of which other batches have paid all that is not paid is not reset: it would only wait', () => {
  assert.equal(isPaidElsewhere(withCodes('PAID_BY_ANOTHER_BATCH', 'PAID_BY_ANOTHER_BATCH')), true);
  assert.equal(isPaidElsewhere(withCodes('PAID_BY_ANOTHER_BATCH', 'ACCOUNT_MISSING')), false);
  assert.equal(isPaidElsewhere(withCodes('BATCH_STOPPED')), false);
  assert.equal(isPaidElsewhere(withCodes()), false);
});

test('the reason of a reset is what its person gave, without what the Temporal UI adds', () => {
  for (const [kept, told] of [
    ['the account is verified now Reset from the Web UI', 'the account is verified now'],
    [
      'the account is verified now Reset from the Web UI by ana@acme.example',
      'the account is verified now (Temporal UI, by ana@acme.example)',
    ],
    ['Reset from the Web UI', null],
    ['Reset from the Web UI by ana@acme.example', '(Temporal UI, by ana@acme.example)'],
    ['', null],
    ['the price is better (cambist replay, by ana)', 'the price is better (cambist replay, by ana)'],
  ] as const)
    assert.equal(reasonGiven(kept), told);
});
