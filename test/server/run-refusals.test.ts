/**
 * Refusals as they come over the wire, one for each seam: a header, an envelope, a page, what the service keeps under a key, a
 * policy's text. What follows from each of them is told in `test/story/refusals.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { FaultEffect } from '../../sandbox/server.ts';
import { uniqueName } from '../support/dev-server.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from '../support/policies.ts';
import { assertDoneOnce, openStage, type Run, type Write } from '../support/stage.ts';

/** Many runs at once: nearly all of the time is waiting. */
const AT_ONCE = { concurrency: 10 };

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '100000000', MXN: '100000000' },
  settings: { withdrawalSteps: [{ status: 'PENDING', forMs: 0 }] },
});
await stage.startWorker();
after(() => stage.close());

/** Starts a run whose first write of a kind meets a fault. */
async function startWith(
  parts: PolicyParts,
  fault?: { readonly operation: Write; readonly effect: FaultEffect },
): Promise<Run> {
  const name = uniqueName('p');
  if (fault !== undefined) stage.sandbox.addFault({ ...fault, times: 1, when: { reference: `${name}.*` } });
  return stage.start(convertPolicy({ quote: '{ valid_for: 45s, settlement: IMMEDIATE }', ...parts }), {
    name,
  });
}

/** Key, bytes and reference are the same, the request itself is a new one. */
function assertSameAgain(run: Run, operation: Write): void {
  const sends = run.writes().filter((entry) => entry.operation === operation);
  // Once more may follow where a busy machine has lost an answer.
  assert.ok(sends.length >= 2);
  for (const same of ['idempotencyKey', 'bodyHash', 'reference'] as const)
    assert.equal(new Set(sends.map((entry) => entry[same])).size, 1, same);
  // Each a request of its own, with its own nonce: one that is used twice is never served.
  assert.equal(new Set(sends.map((entry) => entry.requestId)).size, sends.length);
}

const SAME_AGAIN: readonly (readonly [string, FaultEffect, { readonly held: boolean }])[] = [
  ['a rate limit with Retry-After', { kind: 'rate-limit', retryAfter: 2 }, { held: false }],
  ['a server error', { kind: 'error', code: 'INTERNAL_ERROR', stored: false }, { held: true }],
  [
    'a nonce that was used before',
    { kind: 'error', code: 'AUTH_TOKEN_INVALID', details: { reason: 'nonce_replay' }, stored: false },
    { held: true },
  ],
  ['a version that has ended', { kind: 'error', status: 410, body: 'gone', stored: false }, { held: true }],
];

describe('a refusal is read from the wire as it stands there', AT_ONCE, () => {
  for (const [what, effect, { held }] of SAME_AGAIN)
    for (const [operation, item] of [
      ['createTrade', 'usd-mxn-1'],
      ['createWithdrawal', 'supplier'],
    ] as const)
      test(`after ${what} to ${operation} the same request goes out again, with a new nonce`, async () => {
        const run = await startWith({}, { operation, effect });
        if (held) {
          await run.until((report) => report.problems.some((problem) => problem.item === item));
          await run.wake();
        }
        assertDoneOnce(run, await run.report());
        assertSameAgain(run, operation);
      });

  test('a quote that was answered with a rate limit is asked for again and counts once', async () => {
    stage.sandbox.addFault({
      operation: 'createQuote',
      times: 1,
      when: { currency: 'NOK' },
      effect: { kind: 'rate-limit', retryAfter: 1 },
    });
    const run = await startWith({
      buy: 'NOK',
      quote: '{ valid_for: 45s, settlement: IMMEDIATE, max_quotes: 1 }',
      withdraw: [],
    });
    assertDoneOnce(run, await run.report());
  });

  test('a refusal of a payment that the service keeps is passed by the next generation once there is money', async () => {
    const run = await startWith({
      buy: 'SGD',
      shortfall: 'hold',
      withdraw: [{ id: 'supplier', account: 'wac_SgdFast8Live', fixed: '5000.00' }],
    });
    await run.heldBy('WITHDRAWAL_INSUFFICIENT_BALANCE');
    stage.sandbox.deposit({ currency: 'SGD', amount: '4000.00' });
    await run.wake();
    const report = await run.report();
    assertDoneOnce(run, report);
    assert.match(report.payments[0]?.reference ?? '', /\.supplier~2$/);
  });

  test('a failed execution of what was executed is adopted by the id that it names', async () => {
    const code = 'TRADE_EXECUTION_FAILED';
    const run = await startWith(
      {},
      {
        operation: 'createTrade',
        effect: { kind: 'error', code, stored: false, committed: true },
      },
    );
    const report = await run.report();
    assertDoneOnce(run, report);
    assert.equal(run.writes().filter(({ operation }) => operation === 'createTrade').length, 1);
    assert.equal(report.evidence.filter(({ call }) => call === 'fetch trade').length, 1);
  });

  for (const limit of ['per_payment', 'paid_per_run'])
    test(`proceeds above the limit ${limit} are not paid, and stay as a balance`, async () => {
      const run = await startWith({
        limits: `{ ${limit}: ["17249.99 MXN"] }`,
      });
      const report = await run.report();
      assert.equal(report.status, 'PARTIAL');
      assert.equal(report.legs[0]?.outcome, 'TRADED');
      assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
      assert.deepEqual(
        report.problems.map((problem) => problem.code),
        ['OVER_LIMIT'],
      );
      assert.deepEqual(run.movements().withdrawals, []);
    });

  /** What stands against any plan; what else does is told of the plan alone, in `test/unit/domain-plan.test.ts`. */
  const NO_PLAN: readonly (readonly [string, (text: string) => string, string | null])[] = [
    [
      'an account that is not registered',
      (text) => text.replace(MXN_ACCOUNT, 'wac_NobodyKnows'),
      'PLAN_ACCOUNT_MISSING',
    ],
    [
      'reference rates that were not given',
      (text) => `${text}guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }\n`,
      'PLAN_REFERENCE_MISSING',
    ],
    [
      'another environment than the worker’s',
      (text) => text.replace('environment: sandbox', 'environment: live'),
      null,
    ],
    ['a policy that cannot be read', (text) => text.replace('kind: convert', 'kind: convret'), null],
  ];
  for (const [what, change, code] of NO_PLAN)
    test(`a run that cannot be planned for ${what} ends with the reason, and nothing is sent`, async () => {
      const run = await stage.start(change(convertPolicy()));
      const report = await run.report();
      assert.equal(report.status, 'FAILED');
      assert.ok(report.problems.length > 0);
      if (code !== null) assert.equal(report.problems[0]?.code, code);
      assert.deepEqual(run.writes(), []);
      assert.deepEqual(
        report.evidence.filter(({ quote }) => quote !== null),
        [],
      );
    });
});
