// Who is let in: token, signature, nonce, key, address, mode and scope, and the plain rules of a request.

import assert from 'node:assert/strict';
import { createHash, createPrivateKey, randomUUID, sign } from 'node:crypto';
import { test } from 'node:test';

import { generateKey } from '../../sandbox/keys.ts';
import type { Call } from '../support/sandbox-signer.ts';
import { send, signerFor } from '../support/sandbox-signer.ts';
import { acmeKey, assertDone, assertRefused, keyOf, stage } from '../support/sandbox-stage.ts';

const now = (): number => Math.floor(Date.now() / 1_000);

/** Each bends one thing of an otherwise good request. */
const bent: readonly {
  readonly title: string;
  readonly bend: () => Partial<Call>;
  readonly status: number;
  readonly code: string;
  readonly reason?: string;
}[] = [
  {
    title: 'no token',
    bend: () => ({ headers: { authorization: undefined } }),
    status: 401,
    code: 'AUTH_TOKEN_MISSING',
  },
  ...[
    ['a token of another scheme', { headers: { authorization: 'Basic abc' } }, 'malformed_token'],
    ['a token that is no token', { headers: { authorization: 'Bearer a.b.c' } }, 'malformed_token'],
    ['another algorithm', { tokenHeader: { alg: 'ES384' } }, 'alg_not_allowed'],
    ['no algorithm', { tokenHeader: { alg: 'none' } }, 'alg_not_allowed'],
    ['another type', { tokenHeader: { typ: 'at+jwt' } }, 'typ_not_allowed'],
    ['no nonce', { tokenHeader: { nonce: undefined } }, 'nonce_malformed'],
    ['a nonce of another form', { tokenHeader: { nonce: 'abc' } }, 'nonce_malformed'],
    ['another subject', { claims: { sub: 'org/acme/apiKey/other' } }, 'sub_mismatch'],
    ['another audience', { claims: { aud: ['developer-api:v2'] } }, 'aud_mismatch'],
    ['an audience that is no list', { claims: { aud: 'developer-api:v3' } }, 'aud_mismatch'],
    ['another issuer', { claims: { iss: 'else' } }, 'iss_mismatch'],
    ['no iat', { claims: { iat: undefined } }, 'iat_malformed'],
    ['an exp that is no number', { claims: { exp: '2030' } }, 'exp_malformed'],
    ['no signature', { headers: { 'x-request-signature': undefined } }, 'signature_missing'],
    ['a DER signature', { signature: () => derSignature() }, 'signature_malformed'],
    ['a padded signature', { signature: (b: Buffer) => b.toString('base64') }, 'signature_malformed'],
    ['a signature of something else', { signedPath: '/v3/fx/balances' }, 'signature_invalid'],
    ['a signature of another body', { signedBody: 'x' }, 'signature_invalid'],
    ['a signature with another query', { signedQuery: 'a=1' }, 'signature_invalid'],
  ].map(([title, bend, reason]) => ({
    title: title as string,
    bend: () => bend as Partial<Call>,
    status: 401,
    code: 'AUTH_TOKEN_INVALID',
    reason: reason as string,
  })),
  {
    title: 'a token that is not valid yet',
    bend: () => ({ claims: { iat: now(), nbf: now() + 30, exp: now() + 60 } }),
    status: 401,
    code: 'AUTH_TOKEN_INVALID',
    reason: 'not_yet_valid',
  },
  {
    title: 'a token issued in the future',
    bend: () => ({ claims: { iat: now() + 30, nbf: now(), exp: now() + 60 } }),
    status: 401,
    code: 'AUTH_TOKEN_INVALID',
    reason: 'issued_in_future',
  },
  {
    title: 'a token of two minutes',
    bend: () => ({ claims: { iat: now(), exp: now() + 120 } }),
    status: 401,
    code: 'AUTH_TOKEN_INVALID_CONFIG',
    reason: 'lifetime_too_long',
  },
  {
    title: 'a token of 61 seconds',
    bend: () => ({ claims: { iat: now(), exp: now() + 61 } }),
    status: 401,
    code: 'AUTH_TOKEN_INVALID_CONFIG',
    reason: 'lifetime_too_long',
  },
  {
    title: 'an expired token',
    bend: () => ({ claims: { iat: now() - 60, nbf: now() - 60, exp: now() - 1 } }),
    status: 401,
    code: 'AUTH_TOKEN_EXPIRED',
  },
  {
    title: 'a token without a key',
    bend: () => ({ tokenHeader: { kid: undefined } }),
    status: 401,
    code: 'AUTH_API_KEY_MISSING',
  },
  {
    title: 'an unknown key',
    bend: () => ({ tokenHeader: { kid: 'org/acme/apiKey/none' } }),
    status: 401,
    code: 'AUTH_API_KEY_INVALID',
  },
  {
    title: 'another mode than there is',
    bend: () => ({ headers: { 'x-app-mode': 'test' } }),
    status: 400,
    code: 'INVALID_APP_MODE',
  },
  {
    title: 'an empty mode',
    bend: () => ({ headers: { 'x-app-mode': '' } }),
    status: 400,
    code: 'INVALID_APP_MODE',
  },
  {
    title: 'live traffic with a sandbox key',
    bend: () => ({ headers: { 'x-app-mode': 'LIVE' } }),
    status: 403,
    code: 'AUTH_API_KEY_LIVE_REQUIRED',
  },
  {
    title: 'a malformed request id',
    bend: () => ({ headers: { 'x-request-id': 'a b' } }),
    status: 400,
    code: 'VALIDATION_HEADER_FAILED',
  },
];

test('each thing wrong with a token or a signature has its refusal', async (t) => {
  const { client } = await stage(t);
  for (const { title, bend, status, code, reason } of bent) {
    await t.test(title, async () => {
      const answer = await client.get('/fx/pairs', bend());
      assertRefused(answer, status, code);
      if (reason !== undefined) assert.equal(answer.at('error.details.reason'), reason);
      assert.match(String(answer.headers['x-trace-id']), /^[0-9a-f]{32}$/);
    });
  }
});

test('a token of exactly 60 seconds is accepted, and so are both forms of nonce', async (t) => {
  const { client } = await stage(t);
  assertDone(await client.get('/fx/pairs', { claims: { iat: now(), exp: now() + 60 } }));
  assertDone(await client.get('/fx/pairs', { nonce: 'a'.repeat(32) }));
});

test('a nonce serves once in 80 seconds, and a bad signature does not use it up', async (t) => {
  const { client, sandbox } = await stage(t);
  const nonce = randomUUID();
  assertRefused(await client.get('/fx/pairs', { nonce, signedPath: '/else' }), 401, 'AUTH_TOKEN_INVALID');
  assertDone(await client.get('/fx/pairs', { nonce }));
  const replay = await client.get('/fx/pairs', { nonce });
  assertRefused(replay, 401, 'AUTH_TOKEN_INVALID');
  assert.deepEqual(replay.at('error.details'), { reason: 'nonce_replay' });
  sandbox.clock.advance(80_001);
  assertDone(await client.get('/fx/pairs', { nonce }));
});

test('of many requests with one nonce at once exactly one is served', async (t) => {
  const { client } = await stage(t);
  const nonce = randomUUID();
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.get('/fx/pairs', { nonce })));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
});

test('the sandbox clock judges tokens when it is told to', async (t) => {
  const { client, sandbox } = await stage(t, { settings: { tokenClock: 'sandbox' } });
  sandbox.clock.setOffset(50_000);
  assertRefused(await client.get('/fx/pairs'), 401, 'AUTH_TOKEN_EXPIRED');
  sandbox.clock.setOffset(-10_000);
  assertRefused(await client.get('/fx/pairs'), 401, 'AUTH_TOKEN_INVALID');
});

test('a read key reads and quotes, and may not trade or withdraw', async (t) => {
  const reader = generateKey('org/acme/apiKey/reader1');
  const { sandbox } = await stage(t, { keys: [keyOf(reader, { scope: 'read' })] });
  const client = signerFor(sandbox.baseUrl, reader);
  assertDone(await client.get('/fx/balances'));
  const quote = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '10' };
  assertDone(await client.post('/fx/quotes', quote));
  assertRefused(await client.post('/fx/trades', { quoteId: 'x' }), 403, 'AUTH_INSUFFICIENT_SCOPE');
  assertRefused(await client.post('/fx/withdrawals', {}), 403, 'AUTH_INSUFFICIENT_SCOPE');
});

test('a live key belongs to live traffic, which a sandbox-only environment refuses', async (t) => {
  const live = generateKey('org/acme/apiKey/live1');
  const { sandbox } = await stage(t, { keys: [keyOf(live, { mode: 'LIVE' })] });
  const client = signerFor(sandbox.baseUrl, live);
  assertRefused(await client.get('/fx/pairs'), 403, 'AUTH_API_KEY_SANDBOX_REQUIRED');
  assertDone(await client.get('/fx/pairs', { headers: { 'x-app-mode': 'live' } }));
  sandbox.setSettings({ environment: 'sandbox-only' });
  assertRefused(
    await client.get('/fx/pairs', { headers: { 'x-app-mode': 'LIVE' } }),
    403,
    'SANDBOX_MODE_REQUIRED',
  );
});

test('an inactive key is unknown, and a key may be bound to addresses', async (t) => {
  const { client, sandbox } = await stage(t);
  sandbox.putKey(keyOf(acmeKey, { ipAllowlist: ['10.0.0.0/8', '192.168.1.7'] }));
  const refused = await client.get('/fx/pairs');
  assertRefused(refused, 403, 'AUTH_FORBIDDEN_IP');
  assert.deepEqual(refused.at('error.details'), { ip: '127.0.0.1' });
  sandbox.putKey(keyOf(acmeKey, { ipAllowlist: ['127.0.0.0/8'] }));
  assertDone(await client.get('/fx/pairs'));
  sandbox.putKey(keyOf(acmeKey, { active: false }));
  assertRefused(await client.get('/fx/pairs'), 401, 'AUTH_API_KEY_INVALID');
});

test('an organisation sees only its own records', async (t) => {
  const other = generateKey('org/other/apiKey/k2');
  const { quote, trade, withdraw, sandbox } = await stage(t, { keys: [keyOf(acmeKey), keyOf(other)] });
  const stranger = signerFor(sandbox.baseUrl, other);
  const quoteId = await quote();
  assertRefused(await stranger.post('/fx/trades', { quoteId }), 404, 'QUOTE_NOT_FOUND');
  const tradeId = (await trade(quoteId)).textAt('data.id');
  const refused = await stranger.get(`/fx/trades/${tradeId}`);
  assertRefused(refused, 404, 'TRADE_NOT_FOUND');
  assert.deepEqual(refused.at('error.details'), { tradeId });
  const withdrawalId = (await withdraw()).textAt('data.id');
  assertRefused(await stranger.get(`/fx/withdrawals/${withdrawalId}`), 404, 'WITHDRAWAL_NOT_FOUND');
  assert.deepEqual((await stranger.get('/fx/trades')).at('data'), []);
});

test('replies carry trace id, date and the request id that came', async (t) => {
  const { client, sandbox } = await stage(t);
  sandbox.clock.setOffset(86_400_000);
  const answer = await client.get('/fx/pairs', { headers: { 'x-request-id': 'run-1.a:b' } });
  assert.equal(answer.headers['x-request-id'], 'run-1.a:b');
  assert.equal(answer.headers['content-type'], 'application/json');
  const ahead = Date.parse(String(answer.headers.date)) - Date.now();
  assert.ok(Math.abs(ahead - 86_400_000) < 5_000);
  assert.equal((await client.get('/fx/pairs')).headers['x-request-id'], undefined);
});

test('unknown paths, wrong methods and the old version are told apart', async (t) => {
  const { client, sandbox } = await stage(t);
  const unknown = await client.get('/fx/else');
  assertRefused(unknown, 404, 'ROUTE_NOT_FOUND');
  assert.deepEqual(unknown.at('error.details'), { path: '/v3/fx/else' });
  const wrong = await client.call({ method: 'DELETE', path: '/fx/trades' });
  assertRefused(wrong, 405, 'METHOD_NOT_ALLOWED');
  assert.deepEqual(wrong.at('error.details'), { method: 'DELETE', allowed: ['GET', 'POST'] });
  const base = new URL(sandbox.baseUrl);
  const old = await send(base, 'GET', '/v1/fx/balances', {}, '');
  assert.equal(old.status, 410);
  assert.equal(old.at('error.type'), 'NOT_FOUND');
  assert.equal(old.headers['sunset'], 'Thu, 31 Dec 2026 23:59:59 GMT');
  assert.match(String(old.headers['link']), /\/v3/);
  sandbox.setSettings({ v1Sunset: 'by-date' });
  sandbox.clock.setOffset(Date.UTC(2026, 5, 1) - Date.now());
  assert.equal((await send(base, 'GET', '/v1/fx/balances', {}, '')).status, 404);
  sandbox.clock.setOffset(Date.UTC(2027, 0, 1) - Date.now());
  assert.equal((await send(base, 'GET', '/v1/fx/balances', {}, '')).status, 410);
});

test('bodies must be JSON of the right type, closed, without duplicate keys, and not too large', async (t) => {
  const { client, sandbox } = await stage(t);
  const good = '{"buyCurrency":"MXN","sellCurrency":"USD","sellAmount":"10"}';
  const cases: readonly (readonly [
    body: string,
    contentType: string | undefined,
    status: number,
    code: string,
  ])[] = [
    [good, 'text/plain', 400, 'VALIDATION_CONTENT_TYPE'],
    [good, undefined, 400, 'VALIDATION_CONTENT_TYPE'],
    [good, 'application/json; charset=latin1', 400, 'VALIDATION_CONTENT_TYPE'],
    ['{"buyCurrency":"MXN"', 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    ['[]', 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [good.replace('{', '{"more":1,'), 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [good.replace('{', '{"buyCurrency":"EUR",'), 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [good.replace('{', '{"\\u0062uyCurrency":"EUR",'), 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [good.replace('"10"', '10'), 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [`\uFEFF${good}`, 'application/json', 400, 'VALIDATION_BODY_FAILED'],
    [`${good}${' '.repeat(65_536)}`, 'application/json', 413, 'VALIDATION_PAYLOAD_TOO_LARGE'],
  ];
  for (const [body, contentType, status, code] of cases) {
    const headers = { 'content-type': contentType };
    assertRefused(await client.post('/fx/quotes', body, randomUUID(), { headers }), status, code);
  }
  const gzip = { headers: { 'content-encoding': 'gzip' } };
  assertRefused(await client.post('/fx/quotes', good, randomUUID(), gzip), 415, 'UNSUPPORTED_MEDIA_TYPE');
  const utf8 = { headers: { 'content-type': 'application/json; charset=UTF-8' } };
  assertDone(await client.post('/fx/quotes', good, randomUUID(), utf8));
  sandbox.setSettings({ contentTypeRefusal: 'UNSUPPORTED_MEDIA_TYPE' });
  const text = { headers: { 'content-type': 'text/plain' } };
  assertRefused(await client.post('/fx/quotes', good, randomUUID(), text), 415, 'UNSUPPORTED_MEDIA_TYPE');
});

function derSignature(): string {
  const digest = createHash('sha256').update('x').digest();
  return sign('sha256', digest, createPrivateKey(acmeKey.privateKeyPem)).toString('base64url');
}
