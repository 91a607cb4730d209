/** Which of the runs that ended undone `replay --attention` leaves as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeProblem, type RunCode } from '../../domain/problems.ts';
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
