/**
 * Everything that the service may answer to a trade or a withdrawal, class by class: what is sent again and under which
 * key, what waits and for what, what ends and how it is reported. The service's own ledger is the judge.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Report } from '../../domain/run/report.ts';
import type { FaultEffect, SandboxFault } from '../../sandbox/server.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import { uniqueName } from '../support/dev-server.ts';
import { said } from '../support/instructions.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from '../support/policies.ts';
import {
  assertDoneOnce,
  assertNothingMoved,
  openStage,
  type Logged,
  type Run,
  type Stage,
} from '../support/stage.ts';

/** Many runs at once: nearly all of the time is waiting. */
const AT_ONCE = { concurrency: 10 };
/** Bought and settled at once: the runs of this file are about replies. */
const AT_ONCE_SETTLED = '{ valid_for: 45s, settlement: IMMEDIATE }';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '100000000', GBP: '1000000', EUR: '1000000', CHF: '1000000', MXN: '100000000' },
  settings: {
    withdrawalSteps: [{ status: 'PENDING', forMs: 0 }],
    pairLimits: { 'GBP/MXN': { min: '1', max: '500' }, 'GBP/EUR': { min: '5000', max: '10000' } },
    pairsNotSupported: ['CHF/MXN'],
    pairsAtVolumeLimit: ['EUR/MXN'],
    decimals: { ZAR: 0 },
  },
});
stage.sandbox.putAccounts([
  { id: 'wac_ZarEftLive', currency: 'ZAR', assetType: 'FIAT', status: 'LIVE' },
  { id: 'wac_Canada', currency: 'CAD', assetType: 'FIAT', status: 'LIVE' },
  { id: 'wac_Frozen', currency: 'MXN', assetType: 'FIAT', status: 'FROZEN' },
  { id: 'wac_Hangs', currency: 'MXN', assetType: 'FIAT', status: 'LIVE', outcome: 'stuck' },
]);
/** For runs that wait in doubt: time passes there. */
const inDoubt = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '100000000', MXN: '100000000' },
  settings: { withdrawalSteps: [{ status: 'PENDING', forMs: 0 }] },
  timePasses: true,
});
await Promise.all([stage.startWorker(), inDoubt.startWorker()]);
after(() => Promise.all([stage.close(), inDoubt.close()]));

type Fault = Omit<SandboxFault, 'when' | 'effect'> & { readonly effect: FaultEffect };

/** Starts a run whose writes meet these faults. */
async function startWith(faults: readonly Fault[], parts: PolicyParts = {}, on: Stage = stage): Promise<Run> {
  const name = uniqueName('p');
  for (const fault of faults) on.sandbox.addFault({ ...fault, when: { reference: `${name}.*` } });
  return on.start(convertPolicy({ quote: AT_ONCE_SETTLED, ...parts }), { name });
}

/** Starts a run all of whose writes of one kind meet a fault, until `mend` takes it away and wakes the run. */
async function startUntilMended(
  operation: NonNullable<Logged['operation']>,
  effect: FaultEffect,
): Promise<{ readonly run: Run; readonly mend: () => Promise<void> }> {
  const name = uniqueName('p');
  const id = stage.sandbox.addFault({ operation, effect, when: { reference: `${name}.*` } });
  const run = await stage.start(convertPolicy({ quote: AT_ONCE_SETTLED }), { name });
  const mend = (): Promise<void> => {
    stage.sandbox.clearFaults(id);
    return run.wake();
  };
  return { run, mend };
}

/** An error envelope with this code, once; the write is not executed, nothing is kept under its key. */
function once(code: string, more: Partial<Extract<FaultEffect, { kind: 'error' }>> = {}): FaultEffect {
  return { kind: 'error', code, stored: false, ...more };
}

const trade = (effect: FaultEffect, times = 1): Fault => ({ operation: 'createTrade', times, effect });
const withdrawal = (effect: FaultEffect, times = 1): Fault => ({
  operation: 'createWithdrawal',
  times,
  effect,
});

function writesTo(run: Run, operation: Logged['operation']): readonly Logged[] {
  return run.writes().filter((entry) => entry.operation === operation);
}

/** One for each request; one whose answer was lost on a busy machine may have left more than once. */
function keysOf(run: Run, operation: Logged['operation']): ReadonlySet<unknown> {
  return new Set(writesTo(run, operation).map((entry) => entry.idempotencyKey));
}

function isKnown(id: string | null | undefined): boolean {
  return typeof id === 'string';
}

/** The item that each write is for. */
const ITEMS = { createTrade: 'usd-mxn-1', createWithdrawal: 'supplier' } as const;

/**
 * The same request again: key, bytes and reference are the same, the request itself is a new one. Once more may follow where
 * a busy machine has lost an answer.
 */
function assertSameAgain(sends: readonly Logged[], times: number): void {
  assert.ok(sends.length >= times, `${sends.length} of ${times} were sent`);
  for (const same of ['idempotencyKey', 'bodyHash', 'reference'] as const)
    assert.equal(new Set(sends.map((entry) => entry[same])).size, 1, same);
  // Each a request of its own, with its own nonce: one that is used twice is never served.
  assert.equal(new Set(sends.map((entry) => entry.requestId)).size, sends.length);
}

/** How many quotes the run was answered; one whose answer was lost on a busy machine is asked for again, and is none. */
function quotes(report: Report): number {
  return new Set(report.evidence.flatMap(({ quote }) => (quote === null ? [] : [quote.id]))).size;
}

/** How often the report's evidence names a call for an item. */
function calls(report: Report, call: string): number {
  return report.evidence.filter((entry) => entry.call === call).length;
}

function assertNothingPaid(run: Run, report: Report, code: string): void {
  assert.deepEqual(
    report.legs.map((leg) => leg.outcome),
    ['NOT_TRADED'],
  );
  assert.deepEqual(
    report.payments.map((payment) => payment.outcome),
    ['NOT_PAID'],
  );
  assert.equal(report.status, 'FAILED');
  assert.equal(report.problems[0]?.code, code);
  assertNothingMoved(run);
}

/** Replies after which the same request goes out again; those that hold the run first are woken. */
const SAME_AGAIN: readonly (readonly [string, FaultEffect, { readonly held: boolean }])[] = [
  ['a rate limit with Retry-After', { kind: 'rate-limit', retryAfter: 2 }, { held: false }],
  ['"in flight"', once('IDEMPOTENCY_IN_FLIGHT'), { held: false }],
  ['an unreachable idempotency store', once('IDEMPOTENCY_UNAVAILABLE'), { held: false }],
  [
    'an unknown code that asks for the same key',
    {
      kind: 'error',
      status: 409,
      stored: false,
      body: {
        error: {
          code: 'NEW_ONE',
          type: 'CONFLICT',
          message: '',
          retryStrategy: 'RETRY_SAME_KEY',
          details: {},
        },
      },
    },
    { held: false },
  ],
  ['a server error', once('INTERNAL_ERROR'), { held: true }],
  ['an unknown code with a 4xx', once('SOMETHING_NEW', { status: 409 }), { held: true }],
  ['an unknown code with a 5xx', once('SOMETHING_NEW', { status: 503 }), { held: true }],
  ['a code of another surface', once('KYC_REQUIRED'), { held: true }],
  [
    'a nonce that was used before',
    once('AUTH_TOKEN_INVALID', { details: { reason: 'nonce_replay' } }),
    { held: true },
  ],
  ['an expired token', once('AUTH_TOKEN_EXPIRED'), { held: true }],
  ['a forbidden address', once('AUTH_FORBIDDEN_IP'), { held: true }],
  ['a missing scope', once('AUTH_INSUFFICIENT_SCOPE'), { held: true }],
  ['a feature that is switched off', once('FEATURE_NOT_ENABLED'), { held: true }],
  ['a version that has ended', { kind: 'error', status: 410, body: 'gone', stored: false }, { held: true }],
];

describe('whatever the service answers, the table says what follows', AT_ONCE, () => {
  describe('the same request goes out again, under the same key, with a new nonce', AT_ONCE, () => {
    for (const [what, effect, { held }] of SAME_AGAIN)
      for (const operation of ['createTrade', 'createWithdrawal'] as const)
        test(`after ${what} to ${operation}`, async () => {
          const run = await startWith([{ operation, times: 1, effect }]);
          if (held) {
            await run.until((report) => report.problems.some((problem) => problem.item === ITEMS[operation]));
            await run.wake();
          }
          assertDoneOnce(run, await run.report());
          assertSameAgain(writesTo(run, operation), 2);
        });

    test('not before the time that Retry-After names', async () => {
      const run = await startWith([trade({ kind: 'rate-limit', retryAfter: 2 })]);
      assertDoneOnce(run, await run.report());
      const [first, second] = writesTo(run, 'createTrade').map((entry) => Date.parse(entry.at));
      assert.ok(first !== undefined && second !== undefined && second - first >= 2_000);
    });

    test('a quote that was answered with a rate limit is asked for again and counts once', async () => {
      stage.sandbox.addFault({
        operation: 'createQuote',
        times: 1,
        when: { currency: 'NOK' },
        effect: { kind: 'rate-limit', retryAfter: 1 },
      });
      const run = await startWith([], {
        buy: 'NOK',
        quote: '{ valid_for: 45s, settlement: IMMEDIATE, max_quotes: 1 }',
        withdraw: [],
      });
      assertDoneOnce(run, await run.report());
    });
  });

  describe('a dead quote is replaced under the same reference, with a new key', AT_ONCE, () => {
    for (const code of ['QUOTE_EXPIRED', 'QUOTE_NOT_FOUND'])
      test(`after ${code}`, async () => {
        const run = await startWith([trade({ kind: 'error', code })]);
        const report = await run.report();
        assertDoneOnce(run, report);
        const sends = writesTo(run, 'createTrade');
        assert.equal(new Set(sends.map((entry) => entry.reference)).size, 1);
        assert.equal(keysOf(run, 'createTrade').size, 2);
        assert.equal(quotes(report), 2);
      });

    test('a quote whose life ended while a rate limit was waited out is not sent again', async () => {
      const run = await startWith([trade({ kind: 'rate-limit', retryAfter: 4 })], {
        quote: '{ valid_for: 3s, settlement: IMMEDIATE, max_quotes: 20 }',
      });
      const report = await run.report();
      assertDoneOnce(run, report);
      const sends = writesTo(run, 'createTrade');
      // Three seconds are short: more quotes than one may die on a slow machine, but none is sent twice.
      assert.ok(sends.length >= 2);
      assert.equal(keysOf(run, 'createTrade').size, sends.length);
    });

    test('until max_quotes are used up: then the leg ends, and its payment with it', async () => {
      const run = await startWith([trade({ kind: 'error', code: 'QUOTE_EXPIRED' }, 9)], {
        quote: '{ valid_for: 45s, settlement: IMMEDIATE, max_quotes: 2 }',
      });
      const report = await run.report();
      assertNothingPaid(run, report, 'QUOTES_USED_UP');
      assert.equal(quotes(report), 2);
      assert.equal(keysOf(run, 'createTrade').size, 2);
    });
  });

  /** What ends a leg before or at its trade: the policy, and the code of the problem. */
  const LEG_ENDS: readonly (readonly [string, PolicyParts, readonly Fault[], string])[] = [
    ['a quote outside the guard', { guard: '{ worst_rate: "17.2501 MXN per USD" }' }, [], 'OUTSIDE_GUARD'],
    [
      'a quote outside a guard that is written the other way round',
      { guard: '{ worst_rate: "0.0579 USD per MXN" }' },
      [],
      'OUTSIDE_GUARD',
    ],
    ['a quote over a limit', { limits: '{ per_trade: "17249.99 MXN" }' }, [], 'OVER_LIMIT'],
    ['too little money, found before any quote', { amount: '{ sell: "100000000000.00" }' }, [], 'SHORTFALL'],
    [
      'too little money, found by the service',
      { sell: 'DKK', amount: '{ buy: "1000.00" }' },
      [],
      'TRADE_INSUFFICIENT_BALANCE',
    ],
    [
      'a bought amount above the pair’s limit, which only a quote shows',
      { sell: 'GBP', amount: '{ buy: "20000.00" }' },
      [],
      'TRADE_AMOUNT_ABOVE_LIMIT',
    ],
    [
      'a bought amount below the pair’s minimum',
      { sell: 'GBP', buy: 'EUR', amount: '{ buy: "100.00" }' },
      [],
      'TRADE_AMOUNT_BELOW_MINIMUM',
    ],
    [
      'a pair that is listed and not supported all the same',
      {},
      [trade(once('TRADE_PAIR_NOT_SUPPORTED'))],
      'TRADE_PAIR_NOT_SUPPORTED',
    ],
    ['a pair at its volume limit', { sell: 'EUR' }, [], 'TRADE_PAIR_VOLUME_LIMIT_REACHED'],
    [
      'a used up credit line',
      {},
      [trade(once('TRADE_CREDIT_LIMIT_EXCEEDED'))],
      'TRADE_CREDIT_LIMIT_EXCEEDED',
    ],
  ];

  describe('a leg that cannot be traded ends, with its payment, and nothing moves', AT_ONCE, () => {
    for (const [what, parts, faults, code] of LEG_ENDS)
      test(`for ${what}`, async () => {
        const withdraw = [
          { id: 'supplier', account: parts.buy === 'EUR' ? 'wac_EuR5epaLive1' : MXN_ACCOUNT },
        ];
        const run = await startWith(faults, { withdraw, ...parts });
        assertNothingPaid(run, await run.report(), code);
      });

    test('exactly the worst rate of the guard passes', async () => {
      const run = await startWith([], { guard: '{ worst_rate: "17.25 MXN per USD" }' });
      assertDoneOnce(run, await run.report());
    });
  });

  /** What ends a payment whose leg was traded. */
  const PAYMENT_ENDS: readonly (readonly [string, PolicyParts, readonly Fault[], string])[] = [
    [
      'an account that is not verified any more',
      {},
      [withdrawal(once('WITHDRAWAL_ADDRESS_NOT_VERIFIED'))],
      'WITHDRAWAL_ADDRESS_NOT_VERIFIED',
    ],
    [
      'an account that is not live, in a status that proves nothing before',
      { sell: 'USD', buy: 'EUR', withdraw: [{ id: 'supplier', account: 'wac_Suspended33' }] },
      [],
      'WITHDRAWAL_ACCOUNT_NOT_LIVE',
    ],
    [
      'more decimals than the service takes',
      { buy: 'ZAR', withdraw: [{ id: 'supplier', account: 'wac_ZarEftLive', fixed: '100.50' }] },
      [],
      'WITHDRAWAL_INVALID_AMOUNT_PRECISION',
    ],
    [
      'more than there is, where the policy skips',
      { buy: 'BRL', withdraw: [{ id: 'supplier', account: 'wac_BrLPixLive3', fixed: '100000000.00' }] },
      [],
      'WITHDRAWAL_INSUFFICIENT_BALANCE',
    ],
    [
      'an account that the service does not know any more',
      {},
      [withdrawal(once('WITHDRAWAL_ADDRESS_NOT_FOUND'))],
      'WITHDRAWAL_ADDRESS_NOT_FOUND',
    ],
    [
      'a withdrawal that fails after it was accepted',
      { withdraw: [{ id: 'supplier', account: 'wac_Fai1edPayout6' }] },
      [],
      'WITHDRAWAL_FAILED',
    ],
  ];

  describe('a payment that cannot be made ends NOT_PAID with the reason, and is sent once', AT_ONCE, () => {
    for (const [what, parts, faults, code] of PAYMENT_ENDS)
      test(`for ${what}`, async () => {
        const run = await startWith(faults, parts);
        const report = await run.report();
        assert.equal(report.status, 'PARTIAL', JSON.stringify(report, null, 2));
        assert.equal(report.legs[0]?.outcome, 'TRADED');
        assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
        assert.deepEqual(
          report.problems.map((problem) => problem.code),
          [code],
        );
        assert.equal(keysOf(run, 'createWithdrawal').size, 1);
        assert.ok(run.movements().withdrawals.every((record) => record['money'] === 'returned'));
        const [total] = report.totals;
        assert.equal(total?.notPaid, total?.planned);
      });

    test('a payment that hangs does not hide that another was paid', async () => {
      const run = await startWith([], {
        withdraw: [
          { id: 'hangs', account: 'wac_Hangs', fixed: '100.00' },
          { id: 'paid', account: MXN_ACCOUNT, fixed: '200.00' },
        ],
      });
      const report = await run.until((now) => now.payments[1]?.outcome === 'PAID');
      assert.equal(report.payments[0]?.outcome, 'PENDING');
      // A word that nobody knows ends nothing, and is told.
      const id = report.payments[0]?.withdrawalId ?? '';
      stage.sandbox.setStatus({ id, status: 'IN_REVIEW' });
      const told = await run.until((now) => now.payments[0]?.status === 'IN_REVIEW');
      assert.equal(told.payments[0]?.outcome, 'PENDING');
      stage.sandbox.setStatus({ id, status: 'COMPLETED' });
      assertDoneOnce(run, await run.report());
    });

    for (const limit of ['per_payment', 'paid_per_run'])
      test(`proceeds above the limit ${limit} are not paid, and stay as a balance`, async () => {
        const run = await startWith([], { limits: `{ ${limit}: ["17249.99 MXN"] }` });
        const report = await run.report();
        assert.equal(report.status, 'PARTIAL');
        assert.equal(report.legs[0]?.outcome, 'TRADED');
        assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
        assert.deepEqual(
          report.problems.map((problem) => problem.code),
          ['OVER_LIMIT'],
        );
        assert.equal(writesTo(run, 'createWithdrawal').length, 0);
      });

    test('a fixed payment of a run that finds nothing to sell ends as not paid', async () => {
      // A currency that no other run of this file buys or sells.
      const run = await startWith([], {
        sell: 'DKK',
        amount: '{ sell: all, keep: "0.00" }',
        withdraw: [{ id: 'supplier', account: MXN_ACCOUNT, fixed: '100.00' }],
      });
      const report = await run.report();
      assert.equal(report.status, 'FAILED');
      assert.deepEqual(report.legs, []);
      assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
      assert.equal(report.payments[0].amount, '100.00');
      assert.deepEqual(
        report.problems.map((problem) => problem.code),
        ['LEG_NOT_TRADED'],
      );
      assertNothingMoved(run);
    });

    test('the other payments of the run go on', async () => {
      const run = await startWith([], {
        withdraw: [
          { id: 'wrong', account: 'wac_Frozen', fixed: '100.00' },
          { id: 'right', account: MXN_ACCOUNT, fixed: '200.00' },
        ],
      });
      const report = await run.report();
      assert.deepEqual(
        report.payments.map((payment) => [payment.id, payment.outcome]),
        [
          ['wrong', 'NOT_PAID'],
          ['right', 'PAID'],
        ],
      );
      assert.deepEqual(report.totals, [
        { currency: 'MXN', planned: '300', paid: '200', notPaid: '100', needsHuman: '0' },
      ]);
      assert.equal(run.movements().withdrawals.length, 1);
    });
  });

  describe('lack of money is waited out where the policy holds', AT_ONCE, () => {
    test('a leg goes on when a deposit arrives, and has asked for no quote before', async () => {
      const run = await startWith([], { sell: 'SEK', shortfall: 'hold' });
      await run.heldBy('SHORTFALL');
      assertNothingMoved(run);
      stage.sandbox.deposit({ currency: 'SEK', amount: '1000.00' });
      await run.wake();
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.equal(quotes(report), 1);
    });

    test('a leg that the service refused for money goes on with a new quote', async () => {
      const run = await startWith([], { sell: 'PLN', amount: '{ buy: "1000.00" }', shortfall: 'hold' });
      await run.heldBy('TRADE_INSUFFICIENT_BALANCE');
      stage.sandbox.deposit({ currency: 'PLN', amount: '1000.00' });
      await run.wake();
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.equal(new Set(writesTo(run, 'createTrade').map((entry) => entry.idempotencyKey)).size, 2);
    });

    test('a payment goes on when a deposit arrives; its refusal is kept, so it is paid as the next generation', async () => {
      const run = await startWith([], {
        buy: 'SGD',
        shortfall: 'hold',
        withdraw: [{ id: 'supplier', account: 'wac_SgdFast8Live', fixed: '5000.00' }],
      });
      await run.heldBy('WITHDRAWAL_INSUFFICIENT_BALANCE');
      stage.sandbox.deposit({ currency: 'SGD', amount: '4000.00' });
      await run.wake();
      const report = await run.report();
      assertDoneOnce(run, report);
      const tag = report.payments[0]?.reference ?? '';
      assert.match(tag, /\.supplier~2$/);
      assert.deepEqual(
        writesTo(run, 'createWithdrawal').map((entry) => [entry.reference, entry.code]),
        [
          [tag.slice(0, -2), 'WITHDRAWAL_INSUFFICIENT_BALANCE'],
          [tag.slice(0, -2), 'WITHDRAWAL_INSUFFICIENT_BALANCE'],
          [tag, null],
        ],
      );
    });

    test('a payment that no read can show to be possible is tried again under the same key when it is woken', async () => {
      const run = await startWith([withdrawal(once('WITHDRAWAL_PENDING_DEPOSIT_REQUIRED'))], {
        shortfall: 'hold',
      });
      await run.heldBy('WITHDRAWAL_PENDING_DEPOSIT_REQUIRED');
      await run.wake();
      assertDoneOnce(run, await run.report());
      assertSameAgain(writesTo(run, 'createWithdrawal'), 2);
    });
  });

  /** Switched off at the service, for the trade and for the withdrawal. */
  const PAUSES: readonly (readonly ['createTrade' | 'createWithdrawal', string])[] = [
    ['createTrade', 'TRADE_DISABLED'],
    ['createTrade', 'TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT'],
    ['createTrade', 'TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT'],
    ['createWithdrawal', 'WITHDRAWAL_DISABLED_FOR_ACCOUNT'],
  ];

  describe('what is switched off holds the run, which goes on when it is switched on', AT_ONCE, () => {
    for (const [operation, code] of PAUSES) {
      test(`${code}, not kept by the service: the same key again`, async () => {
        const { run, mend } = await startUntilMended(operation, once(code));
        await run.heldBy(code);
        await mend();
        assertDoneOnce(run, await run.report());
        const sends = writesTo(run, operation);
        assert.ok(sends.length >= 2);
        assertSameAgain(sends, sends.length);
      });
    }

    test('a refusal of a payment that the service keeps is passed by the next generation once a person says that its cause is gone', async () => {
      const code = 'WITHDRAWAL_DISABLED_FOR_ACCOUNT';
      const run = await startWith([withdrawal({ kind: 'error', code })]);
      await run.heldBy(code);
      const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
      await recordInstruction(
        { client: stage.temporal.client, taskQueue, mode: 'SANDBOX', run: run.name },
        said({ kind: 'go-on', item: 'supplier' }),
      );
      await run.wake();
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.match(report.payments[0]?.reference ?? '', /\.supplier~2$/);
    });

    for (const operation of ['createTrade', 'createWithdrawal'] as const)
      test(`a malformed first ${operation} is our bug: it holds instead of ending the item`, async () => {
        const { run, mend } = await startUntilMended(operation, once('VALIDATION_BODY_FAILED'));
        await run.heldBy('VALIDATION_BODY_FAILED');
        await mend();
        assertDoneOnce(run, await run.report());
        assert.ok(writesTo(run, operation).length >= 2);
      });
  });

  describe('a failed execution is looked up by its id, then sent again under the same key', AT_ONCE, () => {
    const codes = {
      createTrade: 'TRADE_EXECUTION_FAILED',
      createWithdrawal: 'WITHDRAWAL_INITIATION_FAILED',
    } as const;
    for (const operation of ['createTrade', 'createWithdrawal'] as const) {
      test(`${codes[operation]} of what was executed is adopted without another send`, async () => {
        const run = await startWith([
          { operation, times: 1, effect: once(codes[operation], { committed: true }) },
        ]);
        const report = await run.report();
        assertDoneOnce(run, report);
        assert.equal(writesTo(run, operation).length, 1);
        assert.equal(calls(report, operation === 'createTrade' ? 'fetch trade' : 'fetch withdrawal'), 1);
      });

      test(`${codes[operation]} of what was not executed is sent again after the time that it names`, async () => {
        const effect = once(codes[operation], { details: { timeoutMs: 1_500 } });
        const run = await startWith([{ operation, times: 1, effect }]);
        assertDoneOnce(run, await run.report());
        const sends = writesTo(run, operation);
        assertSameAgain(sends, 2);
        const [first, second] = sends.map((entry) => Date.parse(entry.at));
        assert.ok(first !== undefined && second !== undefined && second - first >= 1_500);
      });

      test(`${codes[operation]} whose record shows late is adopted by its id`, async () => {
        const run = await startWith([
          { operation, times: 1, effect: once(codes[operation], { committed: true }) },
          { operation, times: 1, effect: { kind: 'list-lag', ms: 60_000 } },
        ]);
        await run.until(({ legs, payments }) =>
          isKnown(operation === 'createTrade' ? legs[0]?.tradeId : payments[0]?.withdrawalId),
        );
        assert.equal(writesTo(run, operation).length, 1);
        assert.equal(run.movements()[operation === 'createTrade' ? 'trades' : 'withdrawals'].length, 1);
      });
    }
  });

  describe('"ours, probably" is found, or waits for a person, and never gets a new key', AT_ONCE, () => {
    const startInDoubt = (faults: readonly Fault[]): Promise<Run> => startWith(faults, {}, inDoubt);

    for (const code of ['TRADE_DUPLICATE_CLIENT_REFERENCE', 'QUOTE_ALREADY_CONSUMED', 'IDEMPOTENCY_MISMATCH'])
      test(`${code} of a trade that was executed is found in the list`, async () => {
        const run = await startInDoubt([trade(once(code, { committed: true }))]);
        const report = await run.report();
        assertDoneOnce(run, report);
        assert.equal(keysOf(run, 'createTrade').size, 1);
        assert.equal(quotes(report), 1);
      });

    test('IDEMPOTENCY_MISMATCH of a withdrawal that was executed is found in the list', async () => {
      const run = await startInDoubt([withdrawal(once('IDEMPOTENCY_MISMATCH', { committed: true }))]);
      assertDoneOnce(run, await run.report());
      assert.equal(keysOf(run, 'createWithdrawal').size, 1);
    });

    /** A token must have died before a look counts as absence. */
    const unfound: readonly (readonly [Fault, string])[] = [
      [trade(once('TRADE_DUPLICATE_CLIENT_REFERENCE')), 'TRADE_DUPLICATE_CLIENT_REFERENCE'],
      [trade(once('QUOTE_ALREADY_CONSUMED')), 'QUOTE_ALREADY_CONSUMED'],
      [trade(once('IDEMPOTENCY_MISMATCH')), 'IDEMPOTENCY_MISMATCH'],
      [withdrawal(once('IDEMPOTENCY_MISMATCH')), 'IDEMPOTENCY_MISMATCH'],
      [withdrawal({ kind: 'stored-failure' }), 'WITHDRAWAL_INITIATION_FAILED'],
    ];
    for (const [fault, code] of unfound)
      test(`${code} of a ${fault.operation === 'createTrade' ? 'trade' : 'withdrawal'} that is found nowhere needs a person`, async () => {
        const run = await startInDoubt([fault]);
        // It looks again when it is woken, and is held again.
        const report = await run.until(
          (now) =>
            now.status === 'HELD' &&
            [...now.legs, ...now.payments].some((item) => item.outcome === 'NEEDS_HUMAN'),
        );
        assert.equal(report.status, 'HELD');
        assert.equal(report.problems[0]?.code, code);
        const { trades, withdrawals } = run.movements();
        const isTrade = fault.operation === 'createTrade';
        assert.deepEqual([trades.length, withdrawals.length], isTrade ? [0, 0] : [1, 0]);
        const sends = writesTo(run, isTrade ? 'createTrade' : 'createWithdrawal');
        assert.equal(new Set(sends.map((entry) => entry.idempotencyKey)).size, 1);
        assert.equal(new Set(sends.map((entry) => entry.reference)).size, 1);
        assert.equal(quotes(report), 1);
        await run.handle.terminate();
      });

    test('a trade whose failure is kept under its key gets a new quote once nothing is in doubt', async () => {
      const run = await startInDoubt([trade({ kind: 'stored-failure', timeoutMs: 1_000 })]);
      const report = await run.report();
      assertDoneOnce(run, report);
      assert.equal(quotes(report), 2);
      assert.equal(new Set(writesTo(run, 'createTrade').map((entry) => entry.reference)).size, 1);
    });
  });

  /** What stands against any plan; a run of it sends nothing, not even a request for a quote. */
  const NO_PLAN: readonly (readonly [string, (text: string) => string, string])[] = [
    [
      'an account that is not registered',
      (text) => text.replace(MXN_ACCOUNT, 'wac_NobodyKnows'),
      'PLAN_ACCOUNT_MISSING',
    ],
    [
      'an account that takes another currency',
      (text) => text.replace(MXN_ACCOUNT, 'wac_EuR5epaLive1'),
      'PLAN_ACCOUNT_CURRENCY',
    ],
    [
      'an account that is not verified',
      (text) => text.replace(MXN_ACCOUNT, 'wac_Unver1fied22'),
      'PLAN_ACCOUNT_UNUSABLE',
    ],
    ['a pair that is not offered', (text) => text.replace('sell: USD', 'sell: CHF'), 'PLAN_PAIR_NOT_OFFERED'],
    [
      'an amount above the pair’s maximum',
      (text) => text.replace('sell: USD', 'sell: GBP'),
      'PLAN_AMOUNT_OUTSIDE_PAIR',
    ],
    [
      'a currency that cannot be withdrawn',
      (text) => text.replace('buy: MXN', 'buy: CAD').replace(MXN_ACCOUNT, 'wac_Canada'),
      'PLAN_CURRENCY_NOT_WITHDRAWABLE',
    ],
    ['an amount over a limit', (text) => `${text}limits: { per_trade: "999.99 USD" }\n`, 'PLAN_OVER_LIMIT'],
    [
      'reference rates that were not given',
      (text) => `${text}guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }\n`,
      'PLAN_REFERENCE_MISSING',
    ],
    [
      'another environment than the worker’s',
      (text) => text.replace('environment: sandbox', 'environment: live'),
      '',
    ],
    ['a policy that cannot be read', (text) => text.replace('kind: convert', 'kind: convret'), ''],
  ];

  describe('a run that cannot be planned ends with all reasons, and nothing is sent', AT_ONCE, () => {
    for (const [what, change, code] of NO_PLAN)
      test(`for ${what}`, async () => {
        const run = await stage.start(change(convertPolicy()));
        const report = await run.report();
        assert.equal(report.status, 'FAILED');
        assert.ok(report.problems.length > 0);
        if (code !== '') assert.equal(report.problems[0]?.code, code);
        assert.deepEqual(run.writes(), []);
        assert.equal(quotes(report), 0);
      });
  });
});
