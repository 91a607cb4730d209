/** A second run of one date: what it would do again, and that live money needs to be asked for by name. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../operations/failure.ts';
import { repeated, sayAgain } from '../../operations/start/same-date.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Report } from '../../domain/run/report.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { makeReportOf } from '../support/cli-reports.ts';

function policyOf(withdraw: string): Policy {
  const text = `policy: 1
kind: convert
name: mxn-supplier
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "2000.00" } }
guard: { worst_rate: "16.90 MXN per USD" }
withdraw:
  - ${withdraw}
`;
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.policy;
}
const SAME = policyOf('{ id: supplier, account: wac_7Hk2mQ9vT4xR, amount: proceeds, rounding: down }');
const EQUAL = policyOf('{ id: rent, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "18500.00" } }');
const OTHER = policyOf('{ id: rent, account: wac_7Hk2mQ9vT4xR, amount: { fixed: "18500.01" } }');
const NAMESAKE = policyOf('{ id: supplier, account: wac_EuR5epaLive1, amount: { fixed: "1.00" } }');

const TRADE = /^mxn-supplier\.2026-11-21 traded 1,000\.00 USD for 18,500\.00 MXN \(trade tde_/;
const PAYMENT =
  /^mxn-supplier\.2026-11-21 paid supplier: 18,500\.00 MXN to wac_7Hk2mQ9vT4xR \(withdrawal wtd_/;
const DONE = makeReportOf({ status: 'COMPLETED' });

const CASES: readonly (readonly [name: string, report: Report, policy: Policy, lines: readonly RegExp[]])[] =
  [
    ['a trade and a payment of the same item', DONE, SAME, [TRADE, PAYMENT]],
    ['a payment to the same account, of the same amount', DONE, EQUAL, [TRADE, PAYMENT]],
    ['a payment of another amount to the same account', DONE, OTHER, [TRADE]],
    ['a payment of the same name to another account', DONE, NAMESAKE, [TRADE, PAYMENT]],
    [
      'a run that moved nothing',
      makeReportOf({ status: 'FAILED', leg: 'NOT_TRADED', payment: 'NOT_PAID' }),
      SAME,
      [],
    ],
    [
      'an open run that may still move everything',
      makeReportOf({ status: 'HELD', leg: 'PENDING', payment: 'PENDING' }),
      SAME,
      [/may trade \(PENDING\)/, /may pay \(PENDING\) supplier: the proceeds in MXN/],
    ],
    [
      'an item that needs a person',
      makeReportOf({ status: 'PARTIAL', payment: 'NEEDS_HUMAN' }),
      SAME,
      [TRADE, /may pay \(NEEDS_HUMAN\)/],
    ],
  ];
for (const [name, report, policy, lines] of CASES) {
  test(`${name}: ${lines.length} of it would be done again`, () => {
    const said = repeated(report, policy);
    assert.equal(said.length, lines.length, said.join('\n'));
    for (const [index, line] of lines.entries()) assert.match(said[index] ?? '', line);
  });
}

const RUN = { policy: 'mxn-supplier', id: '2026-11-21-second' };
const many = Array.from({ length: 60 }, (_, index) => `line ${index}`);

test('the first run of a date is asked nothing', () => {
  assert.deepEqual(sayAgain([], { run: RUN, kind: 'convert', mode: 'LIVE', again: false }), []);
});

test('in the sandbox it is said, the first fifty; in live it needs --again', () => {
  const said = sayAgain(many, { run: RUN, kind: 'convert', mode: 'SANDBOX', again: false });
  assert.equal(said.length, 52);
  assert.match(said[0] ?? '', /It would do again what is done already/);
  const batch = sayAgain(many, { run: RUN, kind: 'payout', mode: 'SANDBOX', again: false });
  assert.match(
    batch[0] ?? '',
    /one more batch of this date\. A payment id that was paid is not paid again\. The other batches have traded/,
  );
  assert.equal(said.at(-1), '  … and 10 more');
  assert.deepEqual(sayAgain(many, { run: RUN, kind: 'convert', mode: 'LIVE', again: true }), said);
  assert.throws(
    () => sayAgain(many, { run: RUN, kind: 'convert', mode: 'LIVE', again: false }),
    (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.ending, 'refused by us');
      const [first, ...others] = error.problems;
      assert.equal(first?.code, 'DATE_TRADED');
      assert.match(first?.fix ?? '', /--again \(--yes is not enough\)/);
      assert.equal(others.length, 51);
      return true;
    },
  );
});
