/** The client over real HTTP: what stands on the wire, what comes back, and what never shows. */
import assert from 'node:assert/strict';
import { createHash, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { jwtVerify } from 'jose';
import type { Page, Trade } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { parseAddress } from '../../service/address.ts';
import { createServiceClient } from '../../service/client.ts';
import { type PageRequest, pages } from '../../service/pages.ts';
import {
  answer,
  isDefinitive,
  KEY_NAME,
  LAST_PAGE,
  makeClient,
  makeKey,
  readBody,
  serveHttp,
  type TestKey,
  WIRE_CREATED_WITHDRAWAL,
  WIRE_LISTED_WITHDRAWAL,
  WIRE_QUOTE,
  WIRE_TRADE,
} from '../support/service-fixture.ts';

const QUOTE = {
  buyCurrency: 'MXN',
  sellCurrency: 'USD',
  amount: { side: 'sell', value: '1000.00' },
  validForSeconds: 45,
  settlement: 'T0',
  idempotencyKey: 'quote-key',
} as const;
const TRADE = { quoteId: 'qte_4Kd8', reference: 'a.b.c', idempotencyKey: 'trade-key' };
const WITHDRAWAL = {
  account: 'wac_7Hk2mQ9vT4xR',
  currency: 'MXN',
  amount: '16500.00',
  tag: 'a.b.d',
  idempotencyKey: 'withdrawal-key',
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

type Seen = { method: string; url: string; headers: NodeJS.Dict<string | string[]>; body: Buffer };

test('every operation is one signed request to its path, which a server can verify from what it received', async (t) => {
  const testKey = await makeKey();
  const seen: Seen[] = [];
  const port = await serveHttp(t, async (request, response) => {
    const body = await readBody(request);
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    answer(request, response, 200, {});
  });
  const client = await makeClient(t, port, { key: testKey.key });
  const calls: readonly (readonly [call: () => Promise<Reply<unknown>>, line: string, key?: string])[] = [
    [() => client.balances(), 'GET /v3/fx/balances'],
    [() => client.exposure(), 'GET /v3/fx/exposures'],
    [() => client.pairs(), 'GET /v3/fx/pairs'],
    [() => client.createQuote(QUOTE), 'POST /v3/fx/quotes', 'quote-key'],
    [() => client.createTrade(TRADE), 'POST /v3/fx/trades', 'trade-key'],
    [() => client.createWithdrawal(WITHDRAWAL), 'POST /v3/fx/withdrawals', 'withdrawal-key'],
    [() => client.trade('tde_9Lm2'), 'GET /v3/fx/trades/tde_9Lm2'],
    [() => client.withdrawal('wtd_5Qr7'), 'GET /v3/fx/withdrawals/wtd_5Qr7'],
    [() => client.listTrades(), 'GET /v3/fx/trades'],
    [
      () => client.listTrades({ startingAfter: "a+b/c= d!~*'()é", limit: 2 }),
      "GET /v3/fx/trades?limit=2&startingAfter=a%2Bb%2Fc%3D%20d!~*'()%C3%A9",
    ],
    [
      () => client.listWithdrawals({ endingBefore: 'x', limit: 100 }),
      'GET /v3/fx/withdrawals?endingBefore=x&limit=100',
    ],
    [() => client.listDeposits(), 'GET /v3/fx/deposits'],
    [() => client.listWithdrawalAccounts(), 'GET /v3/fx/withdrawal-accounts'],
    [() => client.listAccounts(), 'GET /v3/common/accounts'],
    [() => client.listPayoutAddresses(), 'GET /v3/payments/payout-addresses'],
    [() => client.listPayouts(), 'GET /v3/payments/payouts'],
  ];
  for (const [call, line, key] of calls) {
    seen.length = 0;
    assert.equal((await call()).kind, 'UNKNOWN', 'an empty object is no record');
    const [request, ...more] = seen;
    assert.deepEqual(more, []);
    assert.ok(request);
    assert.equal(`${request.method} ${request.url}`, line);
    assert.equal(request.headers['idempotency-key'], key);
    assert.equal(request.headers['x-app-mode'], 'SANDBOX');
    assert.equal(request.headers['content-type'], key === undefined ? undefined : 'application/json');
    assert.equal(request.headers['transfer-encoding'], undefined);
    assert.equal(
      request.headers['content-length'],
      key === undefined ? undefined : String(request.body.length),
    );
    assert.match(String(request.headers['x-request-id']), UUID);
    await verifyAsServer(request, testKey);
  }
});

test('nothing that must be fresh is used twice', async (t) => {
  const seen: Record<'authorization' | 'x-request-signature' | 'x-request-id', Set<unknown>> = {
    authorization: new Set(),
    'x-request-signature': new Set(),
    'x-request-id': new Set(),
  };
  const bodies = new Set<string>();
  const port = await serveHttp(t, async (request, response) => {
    for (const name of ['authorization', 'x-request-signature', 'x-request-id'] as const)
      seen[name].add(request.headers[name]);
    bodies.add((await readBody(request)).toString());
    answer(request, response, 200, { data: WIRE_CREATED_WITHDRAWAL });
  });
  const client = await makeClient(t, port, { connections: 4 });
  const replies = await Promise.all(Array.from({ length: 30 }, () => client.createWithdrawal(WITHDRAWAL)));
  assert.ok(replies.every((reply) => reply.kind === 'DONE'));
  for (const values of Object.values(seen)) assert.equal(values.size, 30);
  assert.equal(bodies.size, 1, 'a resend is the same bytes');
});

test('the mode is always sent', async (t) => {
  const modes: unknown[] = [];
  const port = await serveHttp(t, (request, response) => {
    modes.push(request.headers['x-app-mode']);
    answer(request, response, 200, {});
  });
  await (await makeClient(t, port, { mode: 'LIVE' })).pairs();
  await (await makeClient(t, port, { mode: 'SANDBOX' })).pairs();
  assert.deepEqual(modes, ['LIVE', 'SANDBOX']);
});

test('successes become records', async (t) => {
  const replies: Record<string, unknown> = {
    'POST /v3/fx/quotes': WIRE_QUOTE,
    'POST /v3/fx/trades': WIRE_TRADE,
    'POST /v3/fx/withdrawals': WIRE_CREATED_WITHDRAWAL,
  };
  const port = await serveHttp(t, (request, response) => {
    answer(
      request,
      response,
      200,
      { data: replies[`${request.method} ${request.url}`] },
      { 'idempotency-replayed': 'false' },
    );
  });
  const client = await makeClient(t, port);
  assert.deepEqual(valueOf(await client.createQuote(QUOTE)), {
    id: 'qte_4Kd8',
    buyCurrency: 'MXN',
    sellCurrency: 'USD',
    buyAmount: null,
    sellAmount: '1000.00',
    quoteAmount: '17012.345678901234',
    createdAt: '2026-11-21T09:00:00.000Z',
    expiresAt: '2026-11-21T09:00:45.000Z',
    settlementWindow: 'T0',
  });
  assert.deepEqual(valueOf(await client.createTrade(TRADE)), {
    id: 'tde_9Lm2',
    quoteId: 'qte_4Kd8',
    buyCurrency: 'MXN',
    sellCurrency: 'USD',
    buyAmount: null,
    sellAmount: '1000.00',
    executedAmount: '17012.35',
    status: 'EXECUTED',
    clientReferenceId: 'mxn-supplier.2026-11-21.usd-mxn-1',
    createdAt: '2026-11-21T09:00:01.000Z',
    settlementWindow: 'T0',
  });
  const withdrawal = await client.createWithdrawal(WITHDRAWAL);
  assert.deepEqual(valueOf(withdrawal), {
    id: 'wtd_5Qr7',
    currency: 'MXN',
    withdrawalAmount: '16500.00',
    status: 'PENDING',
    withdrawalAccountId: 'wac_7Hk2mQ9vT4xR',
    createdAt: '2026-11-21T09:05:00.000Z',
    tag: 'mxn-supplier.2026-11-21.supplier',
  });
  assert.ok(withdrawal.kind === 'DONE');
  const { serviceTimeMs, ...facts } = withdrawal.facts;
  assert.ok(serviceTimeMs !== null && Math.abs(serviceTimeMs - Date.now()) < 5_000);
  assert.deepEqual(facts, { status: 200, traceId: 'trace-1', replayed: false, retryAfterMs: null });
});

test('a record by its id is whole or partial, and must be the one that was asked for', async (t) => {
  let data: unknown;
  const port = await serveHttp(t, (request, response) => answer(request, response, 200, { data }));
  const client = await makeClient(t, port);

  data = WIRE_TRADE;
  const whole = valueOf(await client.trade('tde_9Lm2'));
  assert.deepEqual([whole.kind, whole.record.id, whole.record.status], ['WHOLE', 'tde_9Lm2', 'EXECUTED']);
  for (const shape of [
    WIRE_CREATED_WITHDRAWAL,
    WIRE_LISTED_WITHDRAWAL,
    { ...WIRE_LISTED_WITHDRAWAL, actorId: undefined },
  ]) {
    data = shape;
    assert.equal(valueOf(await client.withdrawal('wtd_5Qr7')).kind, 'WHOLE');
  }
  data = { id: 'wtd_5Qr7', status: 'COMPLETED', currency: 'MXN' };
  assert.deepEqual(valueOf(await client.withdrawal('wtd_5Qr7')), {
    kind: 'PARTIAL',
    record: { id: 'wtd_5Qr7', status: 'COMPLETED', currency: 'MXN' },
  });
  data = { id: 'tde_9Lm2', status: 'LOCKED' };
  assert.deepEqual(valueOf(await client.trade('tde_9Lm2')), {
    kind: 'PARTIAL',
    record: { id: 'tde_9Lm2', status: 'LOCKED', currency: null },
  });
  for (const odd of [
    { ...WIRE_TRADE, id: 'tde_other' },
    { id: 'tde_other', status: 'LOCKED' },
    { id: 'tde_9Lm2' },
    { status: 'LOCKED' },
    { id: 'tde_9Lm2', status: 'LOCKED', object: 'withdrawal' },
    [],
    null,
  ]) {
    data = odd;
    assert.equal((await client.trade('tde_9Lm2')).kind, 'UNKNOWN', JSON.stringify(odd));
  }
});

test('what a caller gets wrong is refused before anything is sent', async (t) => {
  const port = await serveHttp(t, () => assert.fail('a request arrived'));
  const client = await makeClient(t, port);
  const bad: readonly (readonly [() => Promise<unknown>, string])[] = [
    ...[
      '',
      'tde_',
      'wtd_1',
      'tde_1/../x',
      'tde_1?x',
      'tde_1%2e',
      'tde_11111111111111111111111',
      'tde_1\n',
    ].map((id) => [() => client.trade(id), 'BAD_ID'] as const),
    [() => client.withdrawal('tde_1'), 'BAD_ID'],
    [() => client.createTrade({ ...TRADE, idempotencyKey: 'a.b' }), 'BAD_IDEMPOTENCY_KEY'],
    [() => client.createQuote({ ...QUOTE, idempotencyKey: '' }), 'BAD_IDEMPOTENCY_KEY'],
    [() => client.createWithdrawal({ ...WITHDRAWAL, amount: '1e3' }), 'BAD_AMOUNT'],
    [() => client.listTrades({ limit: 0 }), 'BAD_PAGE'],
    [() => client.listTrades({ limit: 101 }), 'BAD_PAGE'],
    [() => client.listTrades({ limit: 1.5 }), 'BAD_PAGE'],
    [() => client.listTrades({ startingAfter: 'a', endingBefore: 'b' }), 'BAD_PAGE'],
    [() => client.listTrades({ startingAfter: '' }), 'BAD_PAGE'],
    [() => client.listTrades({ startingAfter: '\uD800' }), 'BAD_PAGE'],
  ];
  await Promise.all(
    bad.map(async ([call, code]) => {
      await assert.rejects(call(), { name: 'ServiceInputError', code });
    }),
  );
});

test('a client without issuer, with a strange key or a time limit beyond the token is not made', async () => {
  const { key } = await makeKey();
  const config = {
    baseUrl: parseAddress('http://127.0.0.1:1/v3'),
    key,
    mode: 'SANDBOX',
    issuer: 'service',
    isDefinitive,
  } as const;
  for (const timeoutMs of [0, -1, 45_000, Number.NaN, Infinity])
    assert.throws(() => createServiceClient({ ...config, timeoutMs }), { code: 'BAD_TIME_LIMIT' });
  assert.throws(() => createServiceClient({ ...config, issuer: '' }), { code: 'BAD_KEY' });
  assert.throws(() => createServiceClient({ ...config, key: { ...key } }), { code: 'BAD_KEY' });
});

test('no key, token or signature shows in the client, in a reply, or in an error, even if the service quotes them', async (t) => {
  const { key, pem } = await makeKey();
  const secrets = pem.split('\n').filter((line) => line.length > 20 && !line.startsWith('-'));
  assert.ok(secrets.length > 0);
  const port = await serveHttp(t, (request, response) => {
    const token = String(request.headers.authorization).slice('Bearer '.length);
    const signature = String(request.headers['x-request-signature']);
    secrets.push(token, ...token.split('.'), signature);
    const quoted = `you sent ${token} and ${signature}`;
    const error = {
      code: 'AUTH_TOKEN_INVALID',
      type: 'AUTHENTICATION_ERROR',
      message: quoted,
      retryStrategy: 'TERMINAL',
      details: { reason: quoted, issues: [{ message: quoted }] },
    };
    if (request.url === '/v3/fx/pairs') answer(request, response, 401, { error });
    else if (request.url === '/v3/fx/balances')
      answer(request, response, 200, { data: quoted, error: quoted });
    else request.socket.destroy();
  });
  const client = await makeClient(t, port, { key });
  const shown = [client, await client.pairs(), await client.balances(), await client.exposure()]
    .map((value) => inspect(value, { depth: 20, showHidden: true }) + JSON.stringify(value))
    .join('\n');
  assert.ok(secrets.length > 12);
  for (const secret of secrets) assert.equal(shown.includes(secret), false, secret);
  assert.equal(client.keyName, KEY_NAME);
  assert.equal(client.organisation, 'org_7Hk2mQ9vT4xR');
});

/** A list of `count` trades whose cursors are positions; `perPage` may be below what was asked for. */
function tradeList(count: number, perPage: number) {
  const asked: PageRequest[] = [];
  const list = (request: PageRequest): Promise<Reply<Page<{ id: number }>>> => {
    asked.push(request);
    const start =
      request.startingAfter !== undefined
        ? Number(request.startingAfter) + 1
        : request.endingBefore !== undefined
          ? Math.max(0, Number(request.endingBefore) - perPage)
          : 0;
    const end = Math.min(
      count,
      request.endingBefore === undefined ? start + perPage : Number(request.endingBefore),
    );
    const items = Array.from({ length: Math.max(0, end - start) }, (_, i) => ({ id: start + i }));
    return Promise.resolve({
      kind: 'DONE',
      value: {
        items,
        nextCursor: end < count ? String(end - 1) : null,
        prevCursor: start > 0 ? String(start) : null,
      },
      facts: FACTS,
    });
  };
  return { list, asked };
}
const FACTS = { status: 200, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null };

test('pages are walked to the end in both directions', async () => {
  const { list, asked } = tradeList(7, 3);
  assert.deepEqual(await idsOf(pages(list, { direction: 'older', limit: 50 })), [[0, 1, 2], [3, 4, 5], [6]]);
  assert.deepEqual(asked, [
    { limit: 50 },
    { limit: 50, startingAfter: '2' },
    { limit: 50, startingAfter: '5' },
  ]);
  asked.length = 0;
  assert.deepEqual(await idsOf(pages(list, { direction: 'newer', from: '6' })), [
    [3, 4, 5],
    [0, 1, 2],
  ]);
  assert.deepEqual(asked, [
    { limit: 100, endingBefore: '6' },
    { limit: 100, endingBefore: '3' },
  ]);
  assert.deepEqual(await idsOf(pages(list, { direction: 'older', from: '5' })), [[6]]);
});

test('a short or empty page with a next one is not the end', async () => {
  const replies = [page([1], 'a'), page([], 'b'), page([2], null)];
  const list = (): Promise<Reply<Page<{ id: number }>>> => Promise.resolve(replies.shift() ?? page([], null));
  assert.deepEqual(await idsOf(pages(list, { direction: 'older' })), [[1], [], [2]]);
});

test('a page that fails is the last reply, and a cursor that comes again is unknown', async () => {
  const failed: Reply<never> = { kind: 'UNKNOWN', reason: 'timeout', error: null, facts: FACTS };
  const broken = [page([1], 'a'), failed, page([2], null)];
  const kinds = await kindsOf(pages(() => Promise.resolve(broken.shift() ?? failed), { direction: 'older' }));
  assert.deepEqual(kinds, ['DONE', 'UNKNOWN']);

  for (const cursors of [['a', 'a'], ['a', 'b', 'a'], ['from']]) {
    const circle = cursors.map((cursor) => page([1], cursor));
    const seen = await kindsOf(
      pages(() => Promise.resolve(circle.shift() ?? assert.fail('asked again')), {
        direction: 'older',
        from: 'from',
      }),
    );
    assert.deepEqual(seen, [...cursors.map(() => 'DONE'), 'UNKNOWN']);
  }
});

test('pages of trades come over HTTP with their cursors as they were', async (t) => {
  const cursor = 'eyJ+/==\u00e9';
  const port = await serveHttp(t, (request, response) => {
    const after = new URL(request.url ?? '', 'http://x').searchParams.get('startingAfter');
    answer(request, response, 200, {
      data: [{ ...WIRE_TRADE, id: after === null ? 'tde_1' : after === cursor ? 'tde_2' : 'tde_wrong' }],
      pagination: after === null ? { ...LAST_PAGE, hasNext: true, nextCursor: cursor } : LAST_PAGE,
    });
  });
  const client = await makeClient(t, port);
  const ids: string[] = [];
  for await (const reply of pages<Trade>(client.listTrades, { direction: 'older' }))
    ids.push(...valueOf(reply).items.map((trade) => trade.id));
  assert.deepEqual(ids, ['tde_1', 'tde_2']);
});

function page(ids: readonly number[], nextCursor: string | null): Reply<Page<{ id: number }>> {
  return {
    kind: 'DONE',
    value: { items: ids.map((id) => ({ id })), nextCursor, prevCursor: null },
    facts: FACTS,
  };
}

async function idsOf(replies: AsyncIterable<Reply<Page<{ id: number }>>>): Promise<number[][]> {
  const ids: number[][] = [];
  for await (const reply of replies) ids.push(valueOf(reply).items.map((item) => item.id));
  return ids;
}

async function kindsOf(replies: AsyncIterable<Reply<unknown>>): Promise<string[]> {
  const kinds: string[] = [];
  for await (const reply of replies) kinds.push(reply.kind);
  return kinds;
}

function valueOf<T>(reply: Reply<T>): T {
  assert.ok(reply.kind === 'DONE', JSON.stringify(reply));
  return reply.value;
}

/** As a server does it: nothing but what arrived, and the public key. */
async function verifyAsServer(request: Seen, { publicKey }: TestKey): Promise<void> {
  const token = /^Bearer (\S+)$/.exec(String(request.headers['authorization']))?.[1] ?? '';
  const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
    algorithms: ['ES256'],
    audience: 'developer-api:v3',
    issuer: 'service',
    subject: KEY_NAME,
  });
  assert.deepEqual(payload.aud, ['developer-api:v3']);
  assert.equal(protectedHeader.kid, KEY_NAME);
  const [path, query = ''] = request.url.split('?');
  const hash = createHash('sha256').update(request.body).digest('hex');
  const text = `${request.method}\n${path}\n${query}\n${String(protectedHeader['nonce'])}\n${hash}`;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const key = await webcrypto.subtle.importKey('jwk', publicKey.export({ format: 'jwk' }), algorithm, false, [
    'verify',
  ]);
  const signature = Buffer.from(String(request.headers['x-request-signature']), 'base64url');
  assert.equal(await webcrypto.subtle.verify(algorithm, key, signature, Buffer.from(text)), true, text);
}
