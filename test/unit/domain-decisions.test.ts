/**
 * The decision table, row by row against the interface's own catalogue (a copy of its tables) and against the classes
 * as the design states them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DECISIONS,
  FOLLOW_UPS,
  STORED_FOLLOW_UPS,
  backoffMs,
  classOf,
  classOfReply,
  followUp,
  isDefinitive,
  waitMs,
  type ReplyClass,
  type RetryStrategy,
} from '../../domain/service/reply-rules.ts';
import type { Reply, ReplyFacts, ServiceError } from '../../domain/service/reply.ts';
import { readCatalogue, type CatalogueRow } from '../support/interface-catalogue.ts';

/** The classes of replies, in patterns of their own; what is in no row is unknown on a write. */
const CLASSES: readonly (readonly [ReplyClass, string])[] = [
  ['wait, same key', 'RATE_LIMIT_EXCEEDED IDEMPOTENCY_IN_FLIGHT IDEMPOTENCY_UNAVAILABLE'],
  ['check state, then retry', 'TRADE_EXECUTION_FAILED WITHDRAWAL_INITIATION_FAILED INTERNAL_ERROR'],
  ['look up, then a new quote', 'QUOTE_EXPIRED QUOTE_NOT_FOUND'],
  ['ours, probably', 'TRADE_DUPLICATE_CLIENT_REFERENCE QUOTE_ALREADY_CONSUMED IDEMPOTENCY_MISMATCH'],
  [
    'wait for money',
    'TRADE_INSUFFICIENT_BALANCE WITHDRAWAL_INSUFFICIENT_BALANCE WITHDRAWAL_PENDING_DEPOSIT_REQUIRED ' +
      'TRADE_CREDIT_LIMIT_EXCEEDED TRADE_PAIR_VOLUME_LIMIT_REACHED',
  ],
  [
    'the item is wrong',
    'WITHDRAWAL_ADDRESS_* WITHDRAWAL_ACCOUNT_NOT_LIVE WITHDRAWAL_INVALID_AMOUNT_PRECISION *_NOT_SUPPORTED ' +
      'TRADE_AMOUNT_* VALIDATION_BODY_FAILED VALIDATION_PATH_FAILED VALIDATION_QUERY_FAILED VALIDATION_PAYLOAD_TOO_LARGE',
  ],
  [
    'pause the policy',
    'TRADE_DISABLED *_NOT_ENABLED_FOR_ACCOUNT WITHDRAWAL_DISABLED_FOR_ACCOUNT FEATURE_NOT_ENABLED',
  ],
  [
    'pause everything',
    'AUTH_* SANDBOX_MODE_REQUIRED INVALID_APP_MODE INVALID_ORGANIZATION MISSING_REQUEST_CONTEXT ROUTE_NOT_FOUND ' +
      'METHOD_NOT_ALLOWED UNSUPPORTED_MEDIA_TYPE IDEMPOTENCY_KEY_* VALIDATION_HEADER_* VALIDATION_CONTENT_TYPE',
  ],
];

function designed(code: string): ReplyClass {
  const row = CLASSES.find(([, patterns]) =>
    patterns.split(' ').some((pattern) => new RegExp(`^${pattern.replaceAll('*', '[A-Z_]+')}$`).test(code)),
  );
  return row?.[0] ?? 'unknown';
}

/** Heading "Envelope", "Retry strategy assignment". */
function advised({ code, type }: CatalogueRow): RetryStrategy {
  if (['RATE_LIMIT_EXCEEDED', 'IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_UNAVAILABLE'].includes(code))
    return 'WAIT_THEN_RETRY_SAME_KEY';
  if (type === 'INTERNAL_ERROR') return 'CHECK_STATE_THEN_RETRY';
  return ['AUTHENTICATION_ERROR', 'AUTHORIZATION_ERROR', 'NOT_FOUND'].includes(type)
    ? 'TERMINAL'
    : 'FIX_AND_RESUBMIT';
}

const FACTS: ReplyFacts = {
  status: 200,
  traceId: null,
  replayed: null,
  retryAfterMs: null,
  serviceTimeMs: null,
};

function error(code: string, more: Partial<ServiceError> = {}): ServiceError {
  return { code, type: 'CONFLICT', message: '', retryStrategy: 'TERMINAL', details: {}, ...more };
}

const SAME_KEY = 'look up, then same key again';

test('every code of the interface has a row, and no row is unknown to the interface', () => {
  const codes = readCatalogue().map((row) => row.code);
  assert.deepEqual(Object.keys(DECISIONS).toSorted(), [...new Set(codes)].toSorted());
});

test('every row is in the class that the design gives it', () => {
  for (const [code, row] of Object.entries(DECISIONS)) assert.equal(row.class, designed(code), code);
});

test('a row that does not follow the service’s advice says why, and one that follows it does not', () => {
  const followed: Readonly<Partial<Record<ReplyClass, RetryStrategy>>> = {
    'wait, same key': 'WAIT_THEN_RETRY_SAME_KEY',
    'check state, then retry': 'CHECK_STATE_THEN_RETRY',
  };
  for (const listed of readCatalogue()) {
    const row = DECISIONS[listed.code as keyof typeof DECISIONS];
    const follows = followed[row.class] === advised(listed);
    assert.equal('departs' in row ? row.departs.length > 20 : false, !follows, listed.code);
  }
});

test('only codes that prove their send executed nothing are definitive', () => {
  const definitive: readonly ReplyClass[] = [
    'look up, then a new quote',
    'wait for money',
    'the item is wrong',
    'pause the policy',
    'pause everything',
  ];
  for (const [code, row] of Object.entries(DECISIONS))
    assert.equal(isDefinitive(code), definitive.includes(row.class), code);
  for (const code of ['SOMETHING_NEW', '', 'constructor', '__proto__', 'toString'])
    assert.equal(isDefinitive(code), false, code);
});

test('what follows on a write never is an end, a new quote or an end of waiting without a look', () => {
  for (const [replyClass, fresh] of Object.entries(FOLLOW_UPS)) {
    const stored = { ...fresh, ...STORED_FOLLOW_UPS[replyClass as ReplyClass] };
    for (const after of [fresh.trade, fresh.withdrawal, stored.trade, stored.withdrawal])
      assert.match(after, /^(adopt|same key again|shortfall rule|hold|look up, then .+)$/, replyClass);
  }
});

test('open vocabularies prove nothing, whatever their status, type or strategy says', () => {
  const rows: readonly (readonly [ServiceError, ReplyClass])[] = [
    [error('TRADE_SOMETHING_NEW'), 'unknown'],
    [error('TRADE_SOMETHING_NEW', { type: 'NEW_TYPE', retryStrategy: 'NEW_STRATEGY' }), 'unknown'],
    [error('TRADE_SOMETHING_NEW', { retryStrategy: 'FIX_AND_RESUBMIT' }), 'unknown'],
    [error('TRADE_SOMETHING_NEW', { retryStrategy: 'RETRY_SAME_KEY' }), 'wait, same key'],
    // A known code stands above its strategy.
    [error('IDEMPOTENCY_MISMATCH', { retryStrategy: 'RETRY_SAME_KEY' }), 'ours, probably'],
    [
      error('QUOTE_EXPIRED', { type: 'NEW_TYPE', retryStrategy: 'NEW_STRATEGY' }),
      'look up, then a new quote',
    ],
    [error('AUTH_TOKEN_INVALID', { details: { reason: 'nonce_replay' } }), 'check state, then retry'],
    [error('AUTH_TOKEN_INVALID', { details: { reason: 'bad_signature' } }), 'pause everything'],
    [error('AUTH_TOKEN_INVALID', { details: {} }), 'pause everything'],
  ];
  for (const [given, expected] of rows) assert.equal(classOf(given), expected, JSON.stringify(given));
});

test('each of the four ends of a wire attempt has a class', () => {
  const rows: readonly (readonly [Reply<null>, ReplyClass])[] = [
    [{ kind: 'DONE', value: null, facts: FACTS }, 'done'],
    [{ kind: 'NOT_SENT', reason: 'no connection' }, 'wait, same key'],
    [{ kind: 'REFUSED', error: error('TRADE_DISABLED'), facts: FACTS }, 'pause the policy'],
    [{ kind: 'UNKNOWN', reason: 'time limit', error: null, facts: FACTS }, 'unknown'],
    [
      { kind: 'UNKNOWN', reason: 'not definitive', error: error('IDEMPOTENCY_IN_FLIGHT'), facts: FACTS },
      'wait, same key',
    ],
    [{ kind: 'UNKNOWN', reason: 'gone', error: null, facts: { ...FACTS, status: 410 } }, 'pause everything'],
    [{ kind: 'UNKNOWN', reason: 'html', error: null, facts: { ...FACTS, status: 502 } }, 'unknown'],
  ];
  for (const [reply, expected] of rows) assert.equal(classOfReply(reply), expected, JSON.stringify(reply));
});

test('a stored reply is the last of its key: nothing that could be sent under it follows, but a success is adopted', () => {
  const kept = (code: string, more: Partial<ReplyFacts> = {}): Reply<null> => {
    const facts = { ...FACTS, replayed: true, ...more };
    return isDefinitive(code)
      ? { kind: 'REFUSED', error: error(code), facts }
      : { kind: 'UNKNOWN', reason: code, error: error(code), facts };
  };
  const rows: readonly (readonly [Reply<null>, trade: string, withdrawal: string])[] = [
    [{ kind: 'DONE', value: null, facts: { ...FACTS, replayed: true } }, 'adopt', 'adopt'],
    [kept('INTERNAL_ERROR'), 'look up, then doubt, then new quote', 'look up, then doubt'],
    [kept('SOMETHING_NEW'), 'look up, then doubt, then new quote', 'look up, then doubt'],
    [kept('TRADE_NOT_FOUND'), 'look up, then doubt, then new quote', 'look up, then doubt'],
    [kept('IDEMPOTENCY_MISMATCH'), 'look up, then doubt', 'look up, then doubt'],
    [kept('WITHDRAWAL_INSUFFICIENT_BALANCE'), 'shortfall rule', 'look up, then next generation'],
    [kept('WITHDRAWAL_ADDRESS_NOT_FOUND'), 'look up, then end', 'look up, then next generation'],
    [kept('WITHDRAWAL_DISABLED_FOR_ACCOUNT'), 'hold', 'look up, then next generation'],
    [kept('AUTH_API_KEY_INVALID'), 'hold', 'look up, then next generation'],
    // What cannot be trusted as a reply cannot be trusted as a stored one.
    [
      { kind: 'UNKNOWN', reason: 'html', error: null, facts: { ...FACTS, replayed: true } },
      SAME_KEY,
      SAME_KEY,
    ],
    [kept('SOMETHING_NEW', { status: 410 }), 'hold', 'hold'],
  ];
  for (const [reply, trade, withdrawal] of rows) {
    const follow = followUp(reply);
    assert.deepEqual([follow.trade, follow.withdrawal], [trade, withdrawal], JSON.stringify(reply));
  }
});

test('a fresh reply never opens a later generation', () => {
  for (const [replyClass, { withdrawal }] of Object.entries(FOLLOW_UPS))
    assert.notEqual(withdrawal, 'look up, then next generation', replyClass);
});

test('a wait is what the service asks, between a second and ten minutes, else a capped doubling', () => {
  const asking = (retryAfterMs: number | null): Reply<null> => ({
    kind: 'UNKNOWN',
    reason: '',
    error: null,
    facts: { ...FACTS, retryAfterMs },
  });
  const rows: readonly (readonly [Reply<null>, number, number])[] = [
    [asking(2_000), 9, 2_000],
    [asking(0), 0, 1_000],
    [asking(Number.MAX_SAFE_INTEGER), 0, 600_000],
    [asking(null), 0, 1_000],
    [asking(null), 3, 8_000],
    [asking(null), 1_000, 600_000],
    [{ kind: 'NOT_SENT', reason: '' }, 1, 2_000],
  ];
  for (const [reply, tries, expected] of rows) assert.equal(waitMs(reply, tries), expected);
  assert.equal(backoffMs(-1), 1_000);
});
