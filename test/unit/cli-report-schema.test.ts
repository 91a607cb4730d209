/** The report's published shape: the committed schema is fresh, and reports keep it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { ReportSchema, reportJsonSchema } from '../../cli/views/report-schema.ts';
import { makeReport } from '../../domain/run/report.ts';
import { newRunState } from '../../domain/run/state.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { urlOf } from '../support/root.ts';

const committed: Record<string, unknown> = JSON.parse(
  readFileSync(urlOf('policies/report.schema.json'), 'utf8'),
);

test('policies/report.schema.json is made from the schema (npm run schemas)', () => {
  assert.deepEqual(committed, reportJsonSchema());
});

const reports = [
  makeReportOf({ status: 'COMPLETED' }),
  makeReportOf({ status: 'HELD', payment: 'NEEDS_HUMAN' }),
  makeReport(
    newRunState({ policy: 'p', id: '2026-11-21' }, 'sandbox/p.2026-11-21', { name: 'p', hash: 'h' }),
  ),
];

test('reports keep the schema, as zod and as JSON Schema', () => {
  const validate = new Ajv({ strict: false }).compile(committed);
  for (const report of reports) {
    assert.deepEqual(ReportSchema.parse(report), report);
    assert.equal(validate(JSON.parse(JSON.stringify(report))), true, JSON.stringify(validate.errors));
  }
});

test('a report with a number for an amount, or with a field too many, does not', () => {
  const [report] = reports;
  assert.equal(ReportSchema.safeParse({ ...report, extra: 1 }).success, false);
  const totals = [{ currency: 'MXN', planned: 18_500, paid: '0', notPaid: '0', needsHuman: '0' }];
  assert.equal(ReportSchema.safeParse({ ...report, totals }).success, false);
});
