/** How a command ends: one table, and one function that reads a report. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT_CODES, endingOf, endingOfCode, firstOf } from '../../operations/exit-codes.ts';
import type { Report } from '../../domain/run/report.ts';
import type { Ending } from '../../domain/endings.ts';
import { serviceCode, type Problem, type ProblemCode } from '../../domain/problems.ts';
import type { WaitReason } from '../../domain/waits.ts';
import { ABANDONED, makeReportOf } from '../support/cli-reports.ts';

test('exit codes are as published', () => {
  assert.deepEqual(EXIT_CODES, {
    done: 0,
    'bad input': 2,
    configuration: 3,
    'refused by us': 4,
    'refused by the service': 5,
    'needs a human': 6,
    infrastructure: 7,
    waiting: 8,
    detached: 130,
  });
});

test('where several endings apply, the first of 7, 6, 3, 5, 4, 8 counts', () => {
  const order: Ending[] = [
    'infrastructure',
    'needs a human',
    'configuration',
    'refused by the service',
    'refused by us',
    'waiting',
  ];
  order.forEach((ending, index) => assert.equal(firstOf(order.slice(index).toReversed()), ending));
  assert.equal(firstOf([]), 'done');
});

const problem = (code: ProblemCode, item: string | null = 'supplier'): Problem => ({
  code,
  item,
  message: 'm',
  fix: 'f',
});

const CASES: readonly {
  readonly name: string;
  readonly report: Report;
  readonly holds?: readonly WaitReason[];
  readonly ending: Ending;
}[] = [
  { name: 'everything is done', report: makeReportOf({ status: 'COMPLETED' }), ending: 'done' },
  {
    name: 'the guard refused the price',
    report: makeReportOf({
      status: 'FAILED',
      leg: 'NOT_TRADED',
      payment: 'NOT_PAID',
      problems: [problem('OUTSIDE_GUARD', 'usd-mxn-1'), problem('LEG_NOT_TRADED')],
    }),
    ending: 'refused by us',
  },
  {
    name: 'money was missing by the service’s word',
    report: makeReportOf({
      status: 'PARTIAL',
      payment: 'NOT_PAID',
      problems: [problem('WITHDRAWAL_INSUFFICIENT_BALANCE')],
    }),
    ending: 'refused by us',
  },
  {
    name: 'the service refused the account',
    report: makeReportOf({
      status: 'PARTIAL',
      payment: 'NOT_PAID',
      problems: [problem('WITHDRAWAL_ACCOUNT_NOT_LIVE')],
    }),
    ending: 'refused by the service',
  },
  {
    name: 'a withdrawal failed after it was accepted',
    report: makeReportOf({
      status: 'PARTIAL',
      payment: 'NOT_PAID',
      problems: [problem('WITHDRAWAL_FAILED')],
    }),
    ending: 'refused by the service',
  },
  {
    name: 'the service refused one and a rule of ours another',
    report: makeReportOf({
      status: 'FAILED',
      leg: 'NOT_TRADED',
      payment: 'NOT_PAID',
      problems: [problem('TRADE_AMOUNT_ABOVE_LIMIT', 'usd-mxn-1'), problem('LEG_NOT_TRADED')],
    }),
    ending: 'refused by the service',
  },
  {
    name: 'the run was cancelled',
    report: makeReportOf({ status: 'CANCELLED', payment: 'NOT_PAID', problems: [problem('CANCELLED')] }),
    ending: 'refused by us',
  },
  {
    name: 'the plan names an account that does not exist',
    report: makeReportOf({ status: 'FAILED', problems: [problem('PLAN_ACCOUNT_MISSING')], items: false }),
    ending: 'bad input',
  },
  {
    name: 'the policy is of another environment',
    report: makeReportOf({ status: 'FAILED', problems: [problem('PLAN_ENVIRONMENT', null)], items: false }),
    ending: 'configuration',
  },
  {
    name: 'the policy was changed',
    report: makeReportOf({ status: 'FAILED', problems: [problem('POLICY_CHANGED', null)], items: false }),
    ending: 'refused by us',
  },
  {
    name: 'a run goes on',
    report: makeReportOf({ status: 'RUNNING', payment: 'PENDING' }),
    ending: 'waiting',
  },
  {
    name: 'a run waits for money, which is no refusal yet',
    report: makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [problem('SHORTFALL')] }),
    holds: ['money'],
    ending: 'waiting',
  },
  {
    name: 'a run is held by its configuration',
    report: makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [problem('AUTH_TOKEN_INVALID')] }),
    holds: ['configuration'],
    ending: 'configuration',
  },
  {
    name: 'the same, when only the report is known',
    report: makeReportOf({ status: 'HELD', payment: 'PENDING', problems: [problem('CLOCK_SKEW', null)] }),
    ending: 'configuration',
  },
  {
    name: 'a person is needed, whatever else there is',
    report: makeReportOf({
      status: 'HELD',
      leg: 'NOT_TRADED',
      payment: 'NEEDS_HUMAN',
      problems: [problem('OUTSIDE_GUARD', 'usd-mxn-1'), problem('RECORD_DIFFERS')],
    }),
    holds: ['person', 'configuration'],
    ending: 'needs a human',
  },
  {
    name: 'an item is refused for good while another waits',
    report: makeReportOf({
      status: 'HELD',
      leg: 'NOT_TRADED',
      payment: 'PENDING',
      problems: [problem('TRADE_PAIR_NOT_SUPPORTED', 'usd-mxn-1'), problem('IN_DOUBT')],
    }),
    holds: ['doubt'],
    ending: 'refused by the service',
  },
  {
    name: 'the run was terminated from outside',
    report: makeReportOf({ status: 'PARTIAL', payment: 'PENDING', problems: [ABANDONED] }),
    ending: 'needs a human',
  },
  {
    name: 'a run failed without a reason that we know',
    report: makeReportOf({ status: 'FAILED', items: false }),
    ending: 'needs a human',
  },
];

for (const { name, report, holds, ending } of CASES) {
  test(`${name}: ${EXIT_CODES[ending]}`, () => assert.equal(endingOf(report, holds ?? []), ending));
}

test('a code that nobody knows ends as refused by the service', () => {
  assert.equal(endingOfCode('SOMETHING_NEW'), 'refused by the service');
});

test('mistakes of a policy that only the worker finds are bad input', () => {
  assert.equal(endingOfCode('POLICY_UNKNOWN_FIELD'), 'bad input');
  assert.equal(endingOfCode('RATES_RATE_TWICE'), 'bad input');
});

test('a code of the service that reads like one of ours does not pass for it', () => {
  assert.equal(serviceCode('CANCELLED'), 'SERVICE_CANCELLED');
  assert.equal(serviceCode('POLICY_EXPIRED'), 'SERVICE_POLICY_EXPIRED');
  assert.equal(serviceCode('TRADE_DISABLED'), 'TRADE_DISABLED');
  assert.equal(serviceCode('SOMETHING_NEW'), 'SOMETHING_NEW');
  assert.equal(endingOfCode(serviceCode('CANCELLED')), 'refused by the service');
});
