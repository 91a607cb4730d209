/** From the end of an exchange to a reply: tables of what proves something, and of all that proves nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Reply, ServiceError } from '../../domain/service/reply.ts';
import { readAnswer } from '../../service/answer.ts';
import { decodeUtf8, parseJson } from '../../service/json.ts';
import { tradeReply } from '../../service/schemas.ts';
import type { WireResult } from '../../service/transport.ts';
import { isDefinitive, WIRE_TRADE } from '../support/service-fixture.ts';

const NOW_MS = Date.parse('2026-11-21T09:00:00Z');

type Answered = {
  readonly status?: number;
  readonly body?: unknown;
  readonly raw?: string | Uint8Array;
  readonly headers?: Record<string, string | string[]>;
};

function read(answered: Answered): Reply<unknown> {
  const raw = answered.raw ?? JSON.stringify(answered.body ?? { data: WIRE_TRADE });
  return readResult({
    kind: 'answered',
    head: {
      status: answered.status ?? 200,
      headers: { 'content-type': 'application/json', ...answered.headers },
    },
    body: Buffer.from(raw),
  });
}

function readResult(result: WireResult): Reply<unknown> {
  return readAnswer(result, {
    schema: tradeReply,
    requestId: 'request-1',
    secrets: ['secret-token'],
    isDefinitive,
    nowMs: NOW_MS,
  });
}

const error = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  code: 'TRADE_INSUFFICIENT_BALANCE',
  type: 'CONFLICT',
  message: 'not enough',
  retryStrategy: 'FIX_AND_RESUBMIT',
  details: { requiredAmount: '2', availableAmount: '1', currency: 'USD', side: 'sell' },
  ...change,
});

test('status 200 with the whole record is done', () => {
  for (const headers of [
    {},
    { 'content-type': 'application/json; charset=utf-8' },
    { 'content-type': 'Application/JSON' },
    { 'x-request-id': 'request-1' },
  ])
    assert.equal(read({ headers }).kind, 'DONE', JSON.stringify(headers));
  assert.equal(
    read({ body: { data: { ...WIRE_TRADE, later: 1 }, meta: {} } }).kind,
    'DONE',
    'unknown fields',
  );
});

test('whatever is not exactly a success or a whole error is unknown', () => {
  const whole = JSON.stringify({ data: WIRE_TRADE });
  const cases: readonly (readonly [name: string, answered: Answered, reason: RegExp])[] = [
    ['201', { status: 201 }, /status 201/],
    ['202', { status: 202 }, /status 202/],
    ['204', { status: 204, raw: '' }, /status 204/],
    ['206', { status: 206 }, /status 206/],
    ['307', { status: 307, body: { error: error() } }, /redirect/],
    ['304', { status: 304, raw: '' }, /redirect/],
    ['no content type', { headers: { 'content-type': [] } }, /content type/],
    ['HTML', { raw: '<html>', headers: { 'content-type': 'text/html' } }, /content type/],
    ['text that is JSON', { headers: { 'content-type': 'text/plain' } }, /content type/],
    ['two content types', { headers: { 'content-type': ['application/json', 'text/html'] } }, /content type/],
    [
      'a foreign charset',
      { headers: { 'content-type': 'application/json; charset=utf-16' } },
      /content type/,
    ],
    ['empty', { raw: '' }, /whole JSON/],
    ['cut', { raw: whole.slice(0, -1) }, /whole JSON/],
    ['two documents', { raw: whole + whole }, /whole JSON/],
    ['byte order mark', { raw: `\uFEFF${whole}` }, /whole JSON/],
    ['invalid UTF-8', { raw: Uint8Array.of(0x22, 0xff, 0x22) }, /UTF-8/],
    ['repeated key', { raw: `${whole.slice(0, -1)},"data":null}` }, /repeated/],
    ['repeated equal key', { raw: whole.replace('"id"', '"id":"tde_9Lm2","id"') }, /repeated/],
    ['not an object', { body: [] }, /not the expected record/],
    ['null', { body: null, raw: 'null' }, /not the expected record/],
    ['no data', { body: {} }, /not the expected record/],
    ['data and error', { body: { data: WIRE_TRADE, error: error() } }, /both/],
    ['an error with status 200', { body: { error: error() } }, /not the expected record/],
    ['the reply to another request', { headers: { 'x-request-id': 'request-2' } }, /another request/],
    [
      'a refusal to another request',
      { status: 409, body: { error: error() }, headers: { 'x-request-id': 'x' } },
      /another/,
    ],
    ['a refusal with data', { status: 409, body: { data: null, error: error() } }, /both/],
    ['502 HTML', { status: 502, raw: '<html>', headers: { 'content-type': 'text/html' } }, /status 502/],
    ['504 empty', { status: 504, raw: '', headers: { 'content-type': [] } }, /status 504/],
    ['422 without envelope', { status: 422, body: {} }, /envelope/],
    ['422 with a record', { status: 422, body: { data: WIRE_TRADE } }, /envelope/],
  ];
  for (const [name, answered, reason] of cases) {
    const reply = read(answered);
    assert.ok(reply.kind === 'UNKNOWN', name);
    assert.match(reply.reason, reason, name);
    assert.equal(reply.error, null, name);
  }
});

test('a reply that does not fit is never quoted: it may hold a beneficiary', () => {
  const beneficiary = 'Ana Ruiz, Calle 5';
  const bodies: readonly Answered[] = [
    { body: { data: { ...WIRE_TRADE, executedAmount: beneficiary } } },
    { body: { data: { beneficiary } } },
    { raw: `{"data":"${beneficiary}` },
    { status: 400, body: { error: beneficiary } },
    { status: 500, headers: { 'content-type': 'text/html' }, raw: `<p>${beneficiary}</p>` },
    { raw: `{"${beneficiary}":1,"${beneficiary}":2}` },
  ];
  for (const answered of bodies) {
    const reply = read(answered);
    assert.equal(reply.kind, 'UNKNOWN');
    assert.ok(!JSON.stringify(reply).includes('Ruiz'), JSON.stringify(reply));
  }
});

test('the end of an API version says since when and where to go', () => {
  const reply = read({
    status: 410,
    body: { error: error({ code: 'ENDPOINT_SUNSET', type: 'NOT_FOUND', details: {} }) },
    headers: {
      sunset: 'Thu, 31 Dec 2026 23:59:59 GMT',
      link: '<https://example.com/v3>; rel="successor-version"',
    },
  });
  assert.ok(reply.kind === 'UNKNOWN');
  assert.equal(reply.error?.code, 'ENDPOINT_SUNSET');
  assert.match(reply.reason, /has ended \(Sunset: Thu, 31 Dec 2026 23:59:59 GMT, Link: <https:/);
  const hostile = read({ status: 410, body: {}, headers: { sunset: 'now\u009b2J\u001b[1m' } });
  assert.match(Reflect.get(hostile, 'reason') as string, /Sunset: now\?2J\?\[1m, /);
});

test('an envelope counts only with all five fields', () => {
  const changes: readonly Record<string, unknown>[] = [
    ...['code', 'type', 'message', 'retryStrategy', 'details'].flatMap((field) => [
      { [field]: undefined },
      { [field]: null },
      { [field]: 7 },
    ]),
    ...['code', 'type', 'retryStrategy'].map((field) => ({ [field]: '' })),
    { details: [] },
    { details: '{}' },
    { code: 'X'.repeat(201) },
  ];
  for (const change of changes) {
    const reply = read({ status: 409, body: { error: error(change) } });
    assert.ok(reply.kind === 'UNKNOWN', JSON.stringify(change));
    assert.match(reply.reason, /without a whole error envelope/);
  }
  assert.equal(read({ status: 409, body: { error: null } }).kind, 'UNKNOWN');
  assert.equal(read({ status: 409, body: { error: 'x' } }).kind, 'UNKNOWN');
});

test('the code decides, not the status, the type or the strategy', () => {
  const cases: readonly (readonly [status: number, change: Record<string, unknown>, kind: string])[] = [
    [409, {}, 'REFUSED'],
    [400, {}, 'REFUSED'],
    [500, {}, 'REFUSED'],
    [409, { type: 'SOMETHING_NEW', retryStrategy: 'SOMETHING_NEW' }, 'REFUSED'],
    [409, { message: '' }, 'REFUSED'],
    [409, { code: 'TRADE_DUPLICATE_CLIENT_REFERENCE' }, 'UNKNOWN'],
    [400, { code: 'NEVER_HEARD_OF' }, 'UNKNOWN'],
    [500, { code: 'TRADE_EXECUTION_FAILED', details: { resourceId: 'tde_1' } }, 'UNKNOWN'],
    [410, { code: 'ENDPOINT_SUNSET', type: 'NOT_FOUND', details: {} }, 'UNKNOWN'],
    [401, { code: 'AUTH_TOKEN_EXPIRED' }, 'REFUSED'],
    [401, { code: 'AUTH_TOKEN_INVALID', details: {} }, 'REFUSED'],
    [401, { code: 'AUTH_TOKEN_INVALID', details: { reason: 'bad_signature' } }, 'REFUSED'],
    [401, { code: 'AUTH_TOKEN_INVALID', details: { reason: 'nonce_replay' } }, 'UNKNOWN'],
    [401, { code: 'AUTH_TOKEN_INVALID', details: { reason: 'a replay of the nonce' } }, 'UNKNOWN'],
  ];
  for (const [status, change, kind] of cases) {
    const reply = read({ status, body: { error: error(change) } });
    assert.equal(reply.kind, kind, JSON.stringify(change));
    assert.ok(
      reply.kind === 'REFUSED' || (reply.kind === 'UNKNOWN' && reply.error !== null),
      'the error is shown',
    );
  }
});

test('a code that is no plain word proves nothing, and is not repeated', () => {
  for (const code of [
    'trade_insufficient_balance',
    'TRADE INSUFFICIENT BALANCE',
    'TRADE_INSUFFICIENT_BALANCE\n12:00:00 payment supplier: PAID',
    'TRADE_INSUFFICIENT_BALANCE\n',
    '\u001b[2J\u001b[1;1Hpayment supplier: PAID',
    'CODE\u009b31m',
    'CODE\u202e',
    '7_LIVES',
    'X'.repeat(65),
  ]) {
    const reply = read({ status: 409, body: { error: error({ code }) } });
    assert.deepEqual(
      [reply.kind, Reflect.get(reply, 'error'), Reflect.get(reply, 'reason')],
      ['UNKNOWN', null, 'status 409 with a code that is no plain word'],
    );
  }
});

test('an error keeps the details that the catalogue names, as single plain words', () => {
  const shown = errorOf({
    code: 'WITHDRAWAL_ADDRESS_CHECKSUM_FAILED',
    message: `checksum of 0xCANARY failed: 0xCANARY`,
    details: { address: '0xCANARY', network: 'ETHEREUM', accountName: 'CANARY Ltd', issues: [{ path: 'a' }] },
  });
  assert.deepEqual(shown.details, { network: 'ETHEREUM' });
  assert.equal(shown.message, 'checksum of (address) failed: (address)');
  assert.equal(JSON.stringify(shown).includes('CANARY'), false);

  const long = errorOf({ message: 'm'.repeat(9_000), details: { rail: 'r'.repeat(9_000), timeoutMs: 5 } });
  assert.equal(long.message.length, 501);
  assert.deepEqual(long.details, { timeoutMs: 5 });
  assert.deepEqual(errorOf({ message: 'your secret-token is bad' }).message, 'your (removed) is bad');

  const hostile = ['two words', 'a\nb', 'a\u001b[0m', 'a\u009b', '', 'Ana\u202ezuR'];
  for (const rail of hostile) assert.deepEqual(errorOf({ details: { rail } }).details, {}, rail);
});

test('a detail that may be about a person is shown only where its words are known', () => {
  const cases: readonly (readonly [details: Record<string, unknown>, shown: Record<string, unknown>])[] = [
    [{ reason: 'nonce_replay' }, { reason: 'nonce_replay' }],
    [{ reason: 'signature_invalid' }, { reason: 'signature_invalid' }],
    [{ reason: 'CANARY' }, {}],
    [{ reason: 'account of CANARY is closed' }, {}],
    [
      { status: 'SUSPENDED', accountId: 'wac_1' },
      { status: 'SUSPENDED', accountId: 'wac_1' },
    ],
    [{ status: 'CANARY' }, {}],
    [{ status: { name: 'CANARY' }, reason: ['CANARY'] }, {}],
    [{ constructor: 'CANARY', toString: 'CANARY' }, {}],
  ];
  for (const [details, shown] of cases)
    assert.deepEqual(errorOf({ details }).details, shown, JSON.stringify(details));
});

test('an error that is nested beyond measure does no harm', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const envelope = JSON.stringify({ error: error({ details: { issues: 'HERE' } }) }).replace('"HERE"', deep);
  const reply = read({ status: 409, raw: envelope });
  assert.ok(reply.kind === 'REFUSED' || reply.kind === 'UNKNOWN');
  if (reply.kind === 'REFUSED') assert.deepEqual(reply.error.details, {});
});

test('headers become facts, and a header that is ill-formed or repeated says nothing', () => {
  const cases: readonly (readonly [
    headers: Record<string, string | string[]>,
    facts: Record<string, unknown>,
  ])[] = [
    [{}, { status: 200, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null }],
    [{ 'x-trace-id': 'trace-1' }, { traceId: 'trace-1' }],
    [{ 'x-trace-id': ['a', 'b'] }, { traceId: null }],
    [{ 'x-trace-id': '' }, { traceId: null }],
    [{ 'idempotency-replayed': 'true' }, { replayed: true }],
    [{ 'idempotency-replayed': 'False' }, { replayed: false }],
    [{ 'idempotency-replayed': 'yes' }, { replayed: null }],
    [{ 'idempotency-replayed': ['true', 'true'] }, { replayed: null }],
    [{ 'retry-after': '0' }, { retryAfterMs: 0 }],
    [{ 'retry-after': '7' }, { retryAfterMs: 7_000 }],
    [{ 'retry-after': '999999999' }, { retryAfterMs: 999_999_999_000 }],
    [{ 'retry-after': '9'.repeat(40) }, { retryAfterMs: Number.MAX_SAFE_INTEGER }],
    [{ 'retry-after': '-1' }, { retryAfterMs: null }],
    [{ 'retry-after': '1.5' }, { retryAfterMs: null }],
    [{ 'retry-after': 'soon' }, { retryAfterMs: null }],
    [{ 'retry-after': '' }, { retryAfterMs: null }],
    [{ 'retry-after': 'Sat, 21 Nov 2026 09:00:30 GMT' }, { retryAfterMs: 30_000 }],
    [{ 'retry-after': 'Sat, 21 Nov 2026 08:00:00 GMT' }, { retryAfterMs: 0 }],
    [
      { 'retry-after': 'Sat, 21 Nov 2026 09:10:30 GMT', date: 'Sat, 21 Nov 2026 09:10:00 GMT' },
      { retryAfterMs: 30_000, serviceTimeMs: NOW_MS + 600_000 },
    ],
    [{ date: 'Sat, 21 Nov 2026 09:00:00 GMT' }, { serviceTimeMs: NOW_MS }],
    [{ date: 'yesterday' }, { serviceTimeMs: null }],
    [{ date: 'Sat, 99 Nov 2026 09:00:00 GMT' }, { serviceTimeMs: null }],
  ];
  for (const [headers, facts] of cases) {
    const reply = read({ headers });
    assert.ok(reply.kind === 'DONE');
    for (const [name, value] of Object.entries(facts))
      assert.deepEqual(Reflect.get(reply.facts, name), value, `${name} of ${JSON.stringify(headers)}`);
  }
});

test('an exchange without an answer keeps what is known', () => {
  assert.deepEqual(readResult({ kind: 'not-sent', reason: 'no connection (X)' }), {
    kind: 'NOT_SENT',
    reason: 'no connection (X)',
  });
  assert.deepEqual(readResult({ kind: 'broken', reason: 'gone', head: null, isTooMuch: false }), {
    kind: 'UNKNOWN',
    reason: 'gone',
    error: null,
    facts: { status: null, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null },
  });
});

test('an answer without an envelope that something on the way calls too large or too slow asks for less', () => {
  for (const [status, isTooMuch] of [
    [413, true],
    [504, true],
    [502, false],
    [500, false],
  ] as const) {
    const reply = read({ status, body: '<html>' });
    assert.equal(reply.kind === 'UNKNOWN' && reply.isTooMuch === true, isTooMuch, `${status}`);
  }
});

test('a repeated JSON key is found wherever it stands and however it is written', () => {
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":1}',
    '{"a" :1,"b":2, "a"\n:1}',
    '[{"a":{"b":[{"c":1,"c":1}]}}]',
    '{"a":{"x":1},"b":{"x":1},"a":{}}',
    '{"":1,"":1}',
    '{"\\"":1,"\\"":1}',
    '{"__proto__":1,"__proto__":1}',
  ])
    assert.deepEqual(parseJson(text), { ok: false, reason: 'a repeated JSON key' }, text);
  for (const text of [
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a"],"b":"a"}',
    '{"a":"}{\\"a\\":","b":"\\\\","c":"{"}',
    '{"a":"\\"a\\":1","b":"a:"}',
    '"a"',
    '{}',
    ' [1,true,null,-0.5e3] ',
  ])
    assert.deepEqual(parseJson(text), { ok: true, value: JSON.parse(text) as unknown }, text);
});

test('any JSON value comes through as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parseJson(text), { ok: true, value: JSON.parse(text) as unknown });
    }),
  );
});

test('a text of 1 MiB is parsed without trouble', () => {
  const long = JSON.stringify({ a: `${'\\"{'.repeat(200_000)}x`, b: 'y'.repeat(500_000) });
  assert.equal(parseJson(long).ok, true);
  assert.equal(parseJson('['.repeat(1_000_000)).ok, false);
  assert.equal(decodeUtf8(Uint8Array.of(0xed, 0xa0, 0x80)), null, 'a surrogate is not UTF-8');
});

function errorOf(change: Record<string, unknown>): ServiceError {
  const reply = read({ status: 409, body: { error: error(change) } });
  assert.ok((reply.kind === 'REFUSED' || reply.kind === 'UNKNOWN') && reply.error !== null);
  return reply.error;
}
