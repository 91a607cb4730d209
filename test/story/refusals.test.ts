/**
 * Everything that the service may answer to a trade or a withdrawal, class by class: what is sent again and under which
 * key, what waits and for what, what ends and how it is reported. The service's own ledger is the judge.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WriteFault } from '../machines/model/schedule.ts';
import type { Sent } from '../machines/model/world.ts';
import {
  GO_ON,
  START,
  after,
  assertDoneOnce,
  at,
  assertNothingMoved,
  failed,
  heldBy,
  refused,
  reset,
  story,
  type Glimpse,
  type Given,
} from '../machines/model/story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Step = 'trade' | 'withdrawal';
const STEPS = ['trade', 'withdrawal'] as const;
/** Nothing is kept under the key of what was refused. */
const FORGETS = { stores: 'nothing else' } as const;
/** What the first trade or withdrawal meets. */
const meets = (step: Step, fault: WriteFault): Given => ({ service: FORGETS, [step]: [fault] });

function sendsOf(end: Glimpse, step: Step): readonly Sent[] {
  return end.writes.filter(({ write }) => write.step === step);
}

function keysOf(end: Glimpse, step: Step): ReadonlySet<string> {
  return new Set(sendsOf(end, step).flatMap(({ write }) => ('key' in write ? write.key : [])));
}

function referenceOf({ write }: Sent): string {
  return write.step === 'withdrawal'
    ? write.request.reference
    : write.step === 'trade'
      ? write.reference
      : '';
}

/** The same request again: key, body and reference are the same. */
function assertSameAgain(end: Glimpse, step: Step, times: number): void {
  const sends = sendsOf(end, step);
  assert.equal(sends.length, times);
  const bodies = sends.map(({ write }) =>
    JSON.stringify(write.step === 'withdrawal' ? write.request : write.step === 'trade' ? write.quoteId : ''),
  );
  assert.equal(new Set(bodies).size, 1);
  assert.equal(keysOf(end, step).size, 1);
  assert.equal(new Set(sends.map(referenceOf)).size, 1);
}

function assertNothingPaid(end: Glimpse, code: string): void {
  const { legs, payments, status, problems } = end.report;
  assert.deepEqual(
    legs.map(({ outcome }) => outcome),
    ['NOT_TRADED'],
  );
  assert.deepEqual(
    payments.map(({ outcome }) => outcome),
    ['NOT_PAID'],
  );
  assert.equal(status, 'FAILED');
  assert.equal(problems[0]?.code, code);
  assertNothingMoved(end);
}

/** Replies after which the same request goes out again, and what the run is held by first; null: it waits in silence. */
const SAME_AGAIN: readonly (readonly [string, WriteFault, string | null])[] = [
  ['a rate limit with Retry-After', { kind: '429', retryAfterMs: 2_000 }, null],
  ['"in flight"', refused('IDEMPOTENCY_IN_FLIGHT'), null],
  ['an unreachable idempotency store', { kind: '503' }, null],
  ['an unknown code that asks for the same key', { kind: 'same key, please' }, null],
  ['a server error', failed({ resourceId: false }), 'INTERNAL_ERROR'],
  ['an unknown code with a 4xx', { kind: 'unknown code', status: 400, committed: false }, 'SOMETHING_NEW'],
  ['an unknown code with a 5xx', { kind: 'unknown code', status: 500, committed: false }, 'SOMETHING_BROKE'],
  ['a code of another surface', refused('KYC_REQUIRED'), 'KYC_REQUIRED'],
  ['a nonce that was used before', { kind: 'nonce replay', committed: false }, 'AUTH_TOKEN_INVALID'],
  ['an expired token', refused('AUTH_TOKEN_EXPIRED'), 'AUTH_TOKEN_EXPIRED'],
  ['a forbidden address', refused('AUTH_FORBIDDEN_IP'), 'AUTH_FORBIDDEN_IP'],
  ['a missing scope', refused('AUTH_INSUFFICIENT_SCOPE'), 'AUTH_INSUFFICIENT_SCOPE'],
  ['a feature that is switched off', refused('FEATURE_NOT_ENABLED'), 'FEATURE_NOT_ENABLED'],
  ['a page that is no answer of the service', { kind: 'html', committed: false }, 'NO_ANSWER'],
];

describe('whatever the service answers, the table says what follows', () => {
  describe('the same request goes out again, under the same key', () => {
    for (const [what, fault, code] of SAME_AGAIN)
      for (const step of STEPS)
        test(`after ${what} to a ${step}`, async () => {
          const end = await story().given(meets(step, fault)).play();
          if (code !== null) {
            const [problem] = end.heldBy(code).report.problems;
            assert.equal(problem?.item, step === 'trade' ? 'usd-mxn-1' : 'supplier');
          }
          assertDoneOnce(end);
          assertSameAgain(end, step, 2);
        });

    test('not before the time that Retry-After names', async () => {
      const end = await story()
        .given({ trade: [{ kind: '429', retryAfterMs: 2_000 }] })
        .play();
      assertDoneOnce(end);
      const [first, second] = sendsOf(end, 'trade').map(({ sentAtMs }) => sentAtMs);
      assert.ok(first !== undefined && second !== undefined && second - first >= 2_000);
    });

    test('a quote that was answered with a rate limit is asked for again and counts once', async () => {
      // Five quotes may be used up.
      const limits = Array.from({ length: 5 }, (): WriteFault => ({ kind: '429', retryAfterMs: 1_000 }));
      const end = await story().given({ quote: limits }).play();
      assertDoneOnce(end);
      assert.equal(end.asked('send quote'), 6);
    });
  });

  describe('a dead quote is replaced under the same reference, with a new key', () => {
    for (const code of ['QUOTE_EXPIRED', 'QUOTE_NOT_FOUND'])
      test(`after ${code}`, async () => {
        const end = await story()
          .given({ trade: [refused(code)] })
          .play();
        assertDoneOnce(end);
        assert.equal(new Set(sendsOf(end, 'trade').map(referenceOf)).size, 1);
        assert.equal(keysOf(end, 'trade').size, 2);
        assert.equal(end.asked('send quote'), 2);
      });

    test('a quote whose life ended while a rate limit was waited out is not sent again', async () => {
      const end = await story()
        .given({ policy: { validForSeconds: 3 }, trade: [{ kind: '429', retryAfterMs: 4_000 }] })
        .play();
      assertDoneOnce(end);
      assert.equal(sendsOf(end, 'trade').length, 2);
      assert.equal(keysOf(end, 'trade').size, 2);
    });

    test('until max_quotes are used up: then the leg ends, and its payment with it', async () => {
      const expired = Array.from({ length: 5 }, () => refused('QUOTE_EXPIRED'));
      const end = await story().given({ trade: expired }).play();
      assertNothingPaid(end, 'QUOTES_USED_UP');
      assert.equal(end.asked('send quote'), 5);
      assert.equal(keysOf(end, 'trade').size, 5);
    });

    for (const [where, back] of [
      ['the last trade', 3],
      ['the quote that was one too many', 2],
    ] as const)
      test(`and a reset to before ${where} has all of max_quotes to use`, async () => {
        const expired = Array.from({ length: 5 }, () => refused('QUOTE_EXPIRED'));
        const end = await story()
          .given({ trade: expired })
          .when(at('end', { plusMs: MINUTE_MS }), reset(back))
          .play();
        assertDoneOnce(end);
      });
  });

  /** What ends a leg before or at its trade, and the code of the problem. */
  const LEG_ENDS: readonly (readonly [string, Given, string])[] = [
    [
      'a quote outside the guard',
      { policy: { guard: true }, service: { prices: ['16.9999'] } },
      'OUTSIDE_GUARD',
    ],
    ['a quote over a limit', { policy: { limit: true }, service: { prices: ['17.3001'] } }, 'OVER_LIMIT'],
    ['too little money, found before any quote', { service: { startsWith: '999.99' } }, 'SHORTFALL'],
    [
      'too little money, found by the service',
      { policy: { amount: 'buy' }, service: { startsWith: '900' } },
      'TRADE_INSUFFICIENT_BALANCE',
    ],
    [
      'an amount above the pair’s limit, which only a quote shows',
      { quote: [refused('TRADE_AMOUNT_ABOVE_LIMIT')] },
      'TRADE_AMOUNT_ABOVE_LIMIT',
    ],
    [
      'an amount below the pair’s minimum',
      { quote: [refused('TRADE_AMOUNT_BELOW_MINIMUM')] },
      'TRADE_AMOUNT_BELOW_MINIMUM',
    ],
    [
      'a pair that is listed and not supported all the same',
      meets('trade', refused('TRADE_PAIR_NOT_SUPPORTED')),
      'TRADE_PAIR_NOT_SUPPORTED',
    ],
    [
      'a pair at its volume limit',
      { quote: [refused('TRADE_PAIR_VOLUME_LIMIT_REACHED')] },
      'TRADE_PAIR_VOLUME_LIMIT_REACHED',
    ],
    [
      'a used up credit line',
      meets('trade', refused('TRADE_CREDIT_LIMIT_EXCEEDED')),
      'TRADE_CREDIT_LIMIT_EXCEEDED',
    ],
  ];

  describe('a leg that cannot be traded ends, with its payment, and nothing moves', () => {
    for (const [what, given, code] of LEG_ENDS)
      test(`for ${what}`, async () => {
        assertNothingPaid(await story().given(given).play(), code);
      });

    test('exactly the worst rate of the guard passes', async () => {
      const end = await story()
        .given({ policy: { guard: true }, service: { prices: ['17'] } })
        .play();
      assertDoneOnce(end);
    });
  });

  /** What ends a payment whose leg was traded. */
  const PAYMENT_ENDS: readonly (readonly [string, Given, string])[] = [
    ...(
      [
        ['an account that is not verified any more', 'WITHDRAWAL_ADDRESS_NOT_VERIFIED'],
        ['an account that is not live', 'WITHDRAWAL_ACCOUNT_NOT_LIVE'],
        ['more decimals than the service takes', 'WITHDRAWAL_INVALID_AMOUNT_PRECISION'],
        ['an account that the service does not know any more', 'WITHDRAWAL_ADDRESS_NOT_FOUND'],
      ] as const
    ).map(([what, code]) => [what, meets('withdrawal', refused(code)), code] as const),
    [
      'more than there is, where the policy skips',
      { policy: { pays: 'fixed', settle: 'status' }, service: { prices: ['16.5'] } },
      'WITHDRAWAL_INSUFFICIENT_BALANCE',
    ],
    [
      'a withdrawal that fails after it was accepted',
      { service: { paymentWord: 'FAILED' } },
      'WITHDRAWAL_FAILED',
    ],
  ];

  describe('a payment that cannot be made ends NOT_PAID with the reason, and is sent once', () => {
    for (const [what, given, code] of PAYMENT_ENDS)
      test(`for ${what}`, async () => {
        const end = await story().given(given).play();
        const { report } = end;
        assert.equal(report.status, 'PARTIAL', JSON.stringify(report, null, 2));
        assert.equal(report.legs[0]?.outcome, 'TRADED');
        assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
        assert.deepEqual(
          report.problems.map((problem) => problem.code),
          [code],
        );
        assert.equal(keysOf(end, 'withdrawal').size, 1);
        assert.ok(end.withdrawals.every(({ status }) => status === 'FAILED'));
        const [total] = report.totals;
        assert.equal(total?.notPaid, total?.planned);
      });

    test('a payment that hangs does not hide that another was paid', async () => {
      const end = await story()
        .given({ policy: { pays: 'twins' }, service: { alsoMxn: '50000', paysAfterMs: 20 * HOUR_MS } })
        .when(after('send withdrawal', { nth: 2, plusMs: MINUTE_MS }), {
          kind: 'word',
          item: 2,
          word: 'COMPLETED',
        })
        // A word that nobody knows ends nothing, and is told.
        .when(after('send withdrawal', { nth: 2, plusMs: 2 * MINUTE_MS }), {
          kind: 'word',
          item: 1,
          word: 'IN_REVIEW',
        })
        .when(heldBy('STATUS_UNKNOWN', { plusMs: HOUR_MS }), { kind: 'word', item: 1, word: 'COMPLETED' })
        .play();
      assert.deepEqual(
        end.heldBy('STATUS_UNKNOWN').report.payments.map(({ outcome, status }) => [outcome, status]),
        [
          ['PENDING', 'IN_REVIEW'],
          ['PAID', 'COMPLETED'],
        ],
      );
      assertDoneOnce(end);
    });

    test('a fixed payment of a run that finds nothing to sell ends as not paid', async () => {
      const end = await story()
        .given({ policy: { amount: 'sell all', pays: 'fixed' }, service: { startsWith: '400' } })
        .play();
      const { report } = end;
      assert.equal(report.status, 'FAILED');
      assert.deepEqual(report.legs, []);
      assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
      assert.equal(report.payments[0].amount, '17000.00');
      assert.deepEqual(
        report.problems.map((problem) => problem.code),
        ['LEG_NOT_TRADED'],
      );
      assertNothingMoved(end);
    });

    test('the other payments of the run go on', async () => {
      const end = await story()
        .given({
          policy: { pays: 'twins' },
          service: { alsoMxn: '50000' },
          withdrawal: [refused('WITHDRAWAL_ACCOUNT_NOT_LIVE')],
        })
        .play();
      assert.deepEqual(
        end.report.payments.map(({ id, outcome }) => [id, outcome]),
        [
          ['supplier', 'NOT_PAID'],
          ['second', 'PAID'],
        ],
      );
      assert.deepEqual(end.report.totals, [
        { currency: 'MXN', planned: '34000', paid: '17000', notPaid: '17000', needsHuman: '0' },
      ]);
      assert.equal(end.withdrawals.length, 1);
    });
  });

  describe('lack of money is waited out where the policy holds', () => {
    const HOLDS = { shortfall: 'hold' } as const;
    const USD_COMES = { kind: 'money', currency: 'USD', change: 'comes' } as const;
    const MXN_COMES = { kind: 'money', currency: 'MXN', change: 'comes' } as const;

    test('a leg goes on when a deposit arrives, and has asked for no quote before', async () => {
      const end = await story()
        .given({ policy: HOLDS, service: { startsWith: '900' } })
        .when(heldBy('SHORTFALL', { plusMs: MINUTE_MS }), USD_COMES)
        .play();
      assertNothingMoved(end.heldBy('SHORTFALL'));
      assertDoneOnce(end);
      assert.equal(end.asked('send quote'), 1);
    });

    test('a leg that the service refused for money goes on with a new quote', async () => {
      const end = await story()
        .given({ policy: { ...HOLDS, amount: 'buy' }, service: { startsWith: '900' } })
        .when(heldBy('TRADE_INSUFFICIENT_BALANCE', { plusMs: MINUTE_MS }), USD_COMES)
        .play();
      assertDoneOnce(end);
      assert.equal(keysOf(end, 'trade').size, 2);
    });

    test('a payment goes on when a deposit arrives; its refusal is kept, so it is paid as the next generation', async () => {
      const end = await story()
        .given({
          policy: { ...HOLDS, pays: 'fixed', settle: 'status' },
          service: { prices: ['16.5'] },
        })
        .when(heldBy('WITHDRAWAL_INSUFFICIENT_BALANCE', { plusMs: MINUTE_MS }), MXN_COMES)
        .play();
      assertDoneOnce(end);
      const tag = end.report.payments[0]?.reference ?? '';
      assert.match(tag, /\.supplier~2$/);
      assert.deepEqual(
        sendsOf(end, 'withdrawal').map((sent) => [referenceOf(sent), sent.reply?.kind]),
        [
          [tag.slice(0, -2), 'REFUSED'],
          [tag.slice(0, -2), 'REFUSED'],
          [tag, 'DONE'],
        ],
      );
    });

    test('a payment that no read can show to be possible is tried again under the same key', async () => {
      const end = await story()
        .given({ policy: HOLDS, ...meets('withdrawal', refused('WITHDRAWAL_PENDING_DEPOSIT_REQUIRED')) })
        .play();
      end.heldBy('WITHDRAWAL_PENDING_DEPOSIT_REQUIRED');
      assertDoneOnce(end);
      assertSameAgain(end, 'withdrawal', 2);
    });
  });

  /** Switched off at the service, for the trade and for the withdrawal. */
  const PAUSES = [
    ['trade', 'TRADE_DISABLED'],
    ['trade', 'TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT'],
    ['trade', 'TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT'],
    ['withdrawal', 'WITHDRAWAL_DISABLED_FOR_ACCOUNT'],
  ] as const;

  describe('what is switched off holds the run, which goes on when it is switched on', () => {
    for (const [step, code] of PAUSES)
      test(`${code}, not kept by the service: the same key again`, async () => {
        const end = await story()
          .given({ service: FORGETS })
          .when(START, { kind: 'refuses', step, code, ms: 10_000 })
          // While the quote still lives.
          .when(heldBy(code, { plusMs: 11_000 }), GO_ON)
          .play();
        end.heldBy(code);
        assertDoneOnce(end);
        const sends = sendsOf(end, step);
        assert.ok(sends.length >= 2);
        assertSameAgain(end, step, sends.length);
      });

    for (const [step, code] of PAUSES)
      test(`${code} ends nothing: the run goes on by itself`, async () => {
        const end = await story()
          .given({ service: FORGETS })
          .when(START, { kind: 'refuses', step, code, ms: 10_000 })
          .play();
        assert.ok(end.asked(`send ${step}`) >= 2);
        assertDoneOnce(end);
      });

    test('a refusal of a payment that the service keeps is passed by the next generation once a person says that its cause is gone', async () => {
      const code = 'WITHDRAWAL_DISABLED_FOR_ACCOUNT';
      const end = await story()
        .given({ withdrawal: [refused(code)] })
        .when(heldBy(code, { plusMs: 5_000 }), { kind: 'cause gone', item: 1, promptMs: 0 })
        .play();
      assertDoneOnce(end);
      assert.match(end.report.payments[0]?.reference ?? '', /\.supplier~2$/);
    });

    test('given a refusal that the service keeps, and more resets than there are generations while it lasts, once it is mended a person’s word pays it, and no reset before', async () => {
      const code = 'WITHDRAWAL_ACCOUNT_NOT_LIVE';
      const resets = [1, 2, 3, 4, 5, 6, 7, 8, 9];
      const end = await resets
        .reduce(
          (told, nth) => told.when(at('end', { nth, plusMs: MINUTE_MS }), reset()),
          story().when(START, { kind: 'refuses', step: 'withdrawal', code, ms: 30 * MINUTE_MS }),
        )
        .when(at('end', { nth: 10, plusMs: HOUR_MS }), { kind: 'cause gone', item: 1, promptMs: 0 })
        .play();
      assertDoneOnce(end);
      assert.match(end.report.payments[0]?.reference ?? '', /\.supplier~8$/);
    });

    for (const step of STEPS)
      test(`a malformed first ${step} is our bug: it holds instead of ending the item`, async () => {
        const code = 'VALIDATION_BODY_FAILED';
        const end = await story()
          .given({ service: FORGETS })
          .when(START, { kind: 'refuses', step, code, ms: MINUTE_MS })
          .play();
        end.heldBy(code);
        assertDoneOnce(end);
        assert.ok(sendsOf(end, step).length >= 2);
      });
  });

  describe('a failed execution is looked up by its id, then sent again under the same key', () => {
    const CODES = { trade: 'TRADE_EXECUTION_FAILED', withdrawal: 'WITHDRAWAL_INITIATION_FAILED' } as const;
    for (const step of STEPS) {
      test(`${CODES[step]} of what was executed is adopted without another send`, async () => {
        const end = await story()
          .given(meets(step, failed({ committed: true })))
          .play();
        assertDoneOnce(end);
        assert.equal(sendsOf(end, step).length, 1);
        assert.equal(end.asked(`fetch ${step}`), 1);
      });

      test(`${CODES[step]} of what was not executed is sent again after the time that it names`, async () => {
        const end = await story()
          .given(meets(step, failed({ timeoutMs: 20_000 })))
          .play();
        assertDoneOnce(end);
        assertSameAgain(end, step, 2);
        const [first, second] = sendsOf(end, step).map(({ sentAtMs }) => sentAtMs);
        assert.ok(first !== undefined && second !== undefined && second - first >= 20_000);
      });

      test(`${CODES[step]} whose record shows late is adopted by its id`, async () => {
        const end = await story()
          .given({ service: { lagMs: MINUTE_MS }, [step]: [failed({ committed: true })] })
          .play();
        assertDoneOnce(end);
        assert.equal(sendsOf(end, step).length, 1);
        assert.equal(end.asked(step === 'trade' ? 'scan trades' : 'scan withdrawals'), 0);
      });
    }
  });

  describe('"ours, probably" is found, or waits for a person, and never gets a new key', () => {
    const OURS = [
      ['trade', 'TRADE_DUPLICATE_CLIENT_REFERENCE'],
      ['trade', 'QUOTE_ALREADY_CONSUMED'],
      ['trade', 'IDEMPOTENCY_MISMATCH'],
      ['withdrawal', 'IDEMPOTENCY_MISMATCH'],
    ] as const;

    for (const [step, code] of OURS)
      test(`${code} of a ${step} that was executed is found in the list`, async () => {
        const end = await story()
          .given({ [step]: [{ kind: 'ours, probably', code, committed: true }] })
          .play();
        assertDoneOnce(end);
        assert.equal(keysOf(end, step).size, 1);
        assert.equal(end.asked('send quote'), 1);
      });

    const UNFOUND: readonly (readonly [Step, string, WriteFault])[] = [
      ...OURS.map(([step, code]) => [step, code, { kind: 'ours, probably', code }] as const),
      ['withdrawal', 'WITHDRAWAL_INITIATION_FAILED', failed({ stored: true })],
    ];
    for (const [step, code, fault] of UNFOUND)
      test(`${code} of a ${step} that is found nowhere needs a person`, async () => {
        const end = await story()
          .given({ [step]: [fault] })
          .until(({ status, legs, payments }) => {
            const outcomes = [...legs, ...payments].map(({ outcome }) => outcome);
            return status === 'HELD' && outcomes.includes('NEEDS_HUMAN');
          })
          .play();
        assert.equal(end.report.problems[0]?.code, code);
        const isTrade = step === 'trade';
        assert.deepEqual([end.trades.length, end.withdrawals.length], isTrade ? [0, 0] : [1, 0]);
        assert.equal(keysOf(end, step).size, 1);
        assert.equal(new Set(sendsOf(end, step).map(referenceOf)).size, 1);
        assert.equal(end.asked('send quote'), 1);
      });

    test('a trade whose failure is kept under its key gets a new quote once nothing is in doubt', async () => {
      const end = await story()
        .given({ trade: [failed({ stored: true, timeoutMs: 1_000 })] })
        .play();
      assertDoneOnce(end);
      assert.equal(end.asked('send quote'), 2);
      assert.equal(new Set(sendsOf(end, 'trade').map(referenceOf)).size, 1);
    });
  });
});
