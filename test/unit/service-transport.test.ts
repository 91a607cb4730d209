/** One wire attempt against servers that misbehave: what may be called not sent, and what must be called unknown. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import type { Reply } from '../../domain/service/reply.ts';
import { parseAddress } from '../../service/address.ts';
import { createTransport } from '../../service/transport.ts';
import {
  answer,
  closedPort,
  makeClient,
  makeKey,
  serveHttp,
  serveTcp,
  WIRE_TRADE,
} from '../support/service-fixture.ts';

const TRADE = { quoteId: 'qte_4Kd8', reference: 'a.b.c', idempotencyKey: 'k' };
const BALANCES = '{"data":{"aggregate":{"currency":"USD","withdrawableBalance":"0"},"balances":[]}}';

/** The answer's bytes, with the usual headers and a right length unless given. */
function http(
  status: string,
  body: string,
  headers = 'content-type: application/json\r\n',
  length?: number,
): string {
  return `HTTP/1.1 ${status}\r\n${headers}content-length: ${length ?? Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Calls `then` once the head of a request and its body (by content-length) have arrived; again for each further one. */
function onRequest(socket: Socket, then: (text: string) => void): void {
  let received = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    received += chunk;
    const head = received.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
    if (head === -1 || received.length < head + 4 + length) return;
    const text = received;
    received = '';
    then(text);
  });
}

const unknownReason = <T>(reply: Reply<T>): string => {
  assert.equal(reply.kind, 'UNKNOWN', JSON.stringify(reply));
  return reply.kind === 'UNKNOWN' ? reply.reason : '';
};

test('a refused connection is not sent', async (t) => {
  const client = await makeClient(t, await closedPort());
  assert.deepEqual(await client.createTrade(TRADE), {
    kind: 'NOT_SENT',
    reason: 'no connection (ECONNREFUSED)',
  });
});

test('a name that does not resolve is not sent', async (t) => {
  const client = await makeClient(t, 0, { baseUrl: parseAddress('https://no-such-host.invalid/v3') });
  const reply = await client.createTrade(TRADE);
  assert.equal(reply.kind, 'NOT_SENT');
  // Without any name server the time limit may come first.
  assert.match(reply.reason, /^no connection \((ENOTFOUND|EAI_AGAIN)\)$|^the time limit passed/);
});

test('a TLS failure is not sent: a certificate that is not trusted, or a server that speaks no TLS', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // A server without any certificate fails every handshake.
  const server = createTlsServer({ key: privateKey.export({ type: 'pkcs8', format: 'pem' }) });
  server.on('tlsClientError', () => undefined);
  t.after(() => server.close());
  const tlsPort = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
  const plainPort = await serveHttp(t, () => assert.fail('a request arrived'));
  const replies = await Promise.all(
    [tlsPort, plainPort].map(async (port) => {
      const client = await makeClient(t, 0, { baseUrl: parseAddress(`https://127.0.0.1:${port}/v3`) });
      return client.createTrade(TRADE);
    }),
  );
  assert.deepEqual(
    replies.map((reply) => reply.kind),
    ['NOT_SENT', 'NOT_SENT'],
  );
});

test('a connection that is never accepted ends at the time limit, not sent', async (t) => {
  // TLS to a server that accepts and stays silent: the handshake never ends.
  const port = await serveTcp(t, () => undefined);
  const client = await makeClient(t, 0, {
    baseUrl: parseAddress(`https://127.0.0.1:${port}/v3`),
    timeoutMs: 150,
  });
  const reply = await client.createTrade(TRADE);
  assert.equal(reply.kind, 'NOT_SENT');
  assert.equal(reply.reason, 'the time limit passed before it could be sent');
});

test('a request that waits in the queue beyond its time limit is not sent, and is not sent later', async (t) => {
  const seen: string[] = [];
  let release: () => void = () => undefined;
  const port = await serveHttp(t, (request, response) => {
    seen.push(request.headers['idempotency-key']?.toString() ?? '');
    release = () => answer(request, response, 200, { data: WIRE_TRADE });
  });
  const { key } = await makeKey();
  const transport = createTransport({
    address: parseAddress(`http://127.0.0.1:${port}/v3`),
    connections: 1,
    connectTimeoutMs: 1_000,
    clock: { now: () => Date.now() },
  });
  t.after(() => transport.close());
  assert.ok(key);
  const send = (name: string, leavesWithinMs: number) =>
    transport.send({
      method: 'GET',
      target: '/v3/x',
      headers: { 'idempotency-key': name },
      body: null,
      leavesUntil: { monotonicMs: performance.now() + leavesWithinMs, wallMs: Date.now() + leavesWithinMs },
      endsAtMs: performance.now() + 5_000,
      whyNotNow: () => null,
    });
  const first = send('first', 5_000);
  const second = await send('second', 100);
  assert.deepEqual(second, { kind: 'not-sent', reason: 'the time limit passed before it could be sent' });
  release();
  assert.equal((await first).kind, 'answered');
  const third = send('third', 5_000);
  await sleep(50);
  release();
  assert.equal((await third).kind, 'answered');
  assert.deepEqual(seen, ['first', 'third']);
});

test('a request whose deadline passed on either clock, as after a sleep, is not sent', async (t) => {
  const port = await serveHttp(t, () => assert.fail('a request arrived'));
  const transport = createTransport({
    address: parseAddress(`http://127.0.0.1:${port}/v3`),
    connections: 1,
    connectTimeoutMs: 1_000,
    clock: { now: () => Date.now() },
  });
  t.after(() => transport.close());
  const later = { monotonicMs: performance.now() + 5_000, wallMs: Date.now() + 5_000 };
  for (const past of [{ monotonicMs: performance.now() - 1 }, { wallMs: Date.now() - 1 }]) {
    const result = await transport.send({
      method: 'GET',
      target: '/v3/x',
      headers: {},
      body: null,
      leavesUntil: { ...later, ...past },
      endsAtMs: later.monotonicMs,
      whyNotNow: () => null,
    });
    assert.equal(result.kind, 'not-sent');
  }
});

test('a closed client sends nothing', async (t) => {
  const port = await serveHttp(t, () => assert.fail('a request arrived'));
  const client = await makeClient(t, port);
  await client.close();
  assert.deepEqual(await client.createTrade(TRADE), {
    kind: 'NOT_SENT',
    reason: 'the client is closed',
  });
});

test('a connection that breaks after the request may have left is unknown', async (t) => {
  const cases: readonly (readonly [name: string, behave: (socket: Socket) => void, status: number | null])[] =
    [
      ['closed before reading', (socket) => socket.destroy(), null],
      ['reset before reading', (socket) => socket.resetAndDestroy(), null],
      ['closed after reading', (socket) => onRequest(socket, () => socket.end()), null],
      ['reset after reading', (socket) => onRequest(socket, () => socket.resetAndDestroy()), null],
      ['half a status line', (socket) => onRequest(socket, () => socket.end('HTTP/1.1 20')), null],
      ['half a head', (socket) => onRequest(socket, () => socket.end('HTTP/1.1 200 OK\r\ncontent-')), null],
      [
        'half a body',
        (socket) => onRequest(socket, () => socket.end(http('200 OK', '{"data":', undefined, 500))),
        200,
      ],
      [
        'half a chunked body',
        (socket) =>
          onRequest(socket, () =>
            socket.end(
              'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"data":\r\n',
            ),
          ),
        200,
      ],
      ['no HTTP at all', (socket) => onRequest(socket, () => socket.end('hello\r\n\r\n')), null],
      [
        'an answer before the request, then closed',
        (socket) =>
          socket.end(http('200 OK', BALANCES, 'content-type: application/json\r\nconnection: close\r\n')),
        null,
      ],
    ];
  await Promise.all(
    cases.map(async ([name, behave, status]) => {
      const client = await makeClient(t, await serveTcp(t, behave));
      const reply = await client.createTrade(TRADE);
      if (name.startsWith('an answer before')) return assert.notEqual(reply.kind, 'DONE', name);
      // A connection that ends while it is being set up may also be known as not used.
      if (name.endsWith('before reading') && reply.kind === 'NOT_SENT') return;
      assert.match(unknownReason(reply), /^the connection broke/, name);
      assert.equal(reply.kind === 'UNKNOWN' ? reply.facts.status : undefined, status, name);
    }),
  );
});

test('a body that ends with the connection counts only when it is whole', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n';
  const whole = await makeClient(
    t,
    await serveTcp(t, (socket) => onRequest(socket, () => socket.end(head + BALANCES))),
  );
  assert.equal((await whole.balances()).kind, 'DONE');
  const cut = await makeClient(
    t,
    await serveTcp(t, (socket) => onRequest(socket, () => socket.end(head + BALANCES.slice(0, -1)))),
  );
  assert.match(unknownReason(await cut.balances()), /not one whole JSON document/);
});

test('a write is sent once, whatever comes back', async (t) => {
  const answers: readonly (readonly [name: string, bytes: string])[] = [
    ['307', http('307 Temporary Redirect', '', 'location: /v3/fx/trades\r\n')],
    ['308', http('308 Permanent Redirect', '{}', 'location: /v3/x\r\ncontent-type: application/json\r\n')],
    ['421', http('421 Misdirected Request', '', '')],
    ['502 HTML', http('502 Bad Gateway', '<html>502</html>', 'content-type: text/html\r\n')],
    ['503 empty', http('503 Service Unavailable', '', 'retry-after: 1\r\n')],
    ['408', http('408 Request Timeout', '', 'connection: close\r\n')],
    ['425', http('425 Too Early', '', '')],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['100 only, then closed', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['101', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['nothing, then closed', ''],
  ];
  await Promise.all(
    answers.map(async ([name, bytes]) => {
      let requests = 0;
      const port = await serveTcp(t, (socket) =>
        onRequest(socket, () => {
          requests++;
          socket.end(bytes);
        }),
      );
      const client = await makeClient(t, port);
      unknownReason(await client.createTrade(TRADE));
      await sleep(60);
      assert.equal(requests, 1, name);
    }),
  );
});

test('a 100 that nobody asked for is unknown; other 1xx heads are passed over', async (t) => {
  const early = (bytes: string) =>
    serveTcp(t, (socket) => onRequest(socket, () => socket.write(bytes + http('200 OK', BALANCES))));
  const continued = await makeClient(t, await early('HTTP/1.1 100 Continue\r\n\r\n'));
  unknownReason(await continued.balances());
  const hinted = await makeClient(t, await early('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'));
  assert.equal((await hinted.balances()).kind, 'DONE');
});

test('a reply beyond 1 MiB is unknown, also when its length is not said', async (t) => {
  const large = Buffer.alloc(1_100_000, ' ').toString();
  const sized = await makeClient(
    t,
    await serveTcp(t, (socket) => onRequest(socket, () => socket.write(http('200 OK', large)))),
  );
  const unsized = await makeClient(
    t,
    await serveTcp(t, (socket) =>
      onRequest(socket, () =>
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${large}`,
        ),
      ),
    ),
  );
  for (const client of [sized, unsized]) {
    const reply = await client.balances();
    assert.equal(unknownReason(reply), 'the reply is larger than 1 MiB');
    assert.ok(reply.kind === 'UNKNOWN' && reply.isTooMuch, 'less may be asked for');
  }
});

test('a reply just below 1 MiB is read', async (t) => {
  const padding = ' '.repeat(1_048_576 - Buffer.byteLength(BALANCES));
  const port = await serveTcp(t, (socket) =>
    onRequest(socket, () => socket.write(http('200 OK', BALANCES + padding))),
  );
  assert.equal((await (await makeClient(t, port)).balances()).kind, 'DONE');
});

/** A busy machine sends within this. */
const SENT_WITHIN_MS = 1_500;

test('a slow or silent server is unknown at the time limit, and the head that came is kept', async (t) => {
  const silent = await makeClient(t, await serveTcp(t, (socket) => onRequest(socket, () => undefined)), {
    timeoutMs: SENT_WITHIN_MS,
  });
  const reply = await silent.createTrade(TRADE);
  assert.equal(unknownReason(reply), 'no whole reply within the time limit');
  assert.ok(reply.kind === 'UNKNOWN' && reply.isTooMuch, 'less may be asked for');

  const slow = await makeClient(
    t,
    await serveTcp(t, (socket) =>
      onRequest(socket, () => {
        socket.write(http('200 OK', '{', 'content-type: application/json\r\nx-trace-id: tr-9\r\n', 500));
        const drip = setInterval(() => socket.write(' '), 20);
        socket.on('close', () => clearInterval(drip));
      }),
    ),
    { timeoutMs: SENT_WITHIN_MS },
  );
  const dripped = await slow.createTrade(TRADE);
  assert.equal(unknownReason(dripped), 'no whole reply within the time limit');
  assert.deepEqual(dripped.kind === 'UNKNOWN' && [dripped.facts.status, dripped.facts.traceId], [
    200,
    'tr-9',
  ]);
});

test('connections are kept, and a request on one that the server closed in between still gets its answer', async (t) => {
  let connections = 0;
  const port = await serveTcp(t, (socket) => {
    connections++;
    onRequest(socket, () => {
      socket.write(http('200 OK', BALANCES));
      if (connections === 1) setTimeout(() => socket.end(), 150);
    });
  });
  const client = await makeClient(t, port);
  assert.equal((await client.balances()).kind, 'DONE');
  assert.equal((await client.balances()).kind, 'DONE');
  assert.equal(connections, 1, 'kept');
  await sleep(300);
  assert.equal((await client.balances()).kind, 'DONE');
  assert.equal(connections, 2, 'a new one after the close');
});

test('a kept connection that the server closes at the same moment never sends a request twice', async (t) => {
  const arrived = new Map<string, number>();
  const port = await serveTcp(t, (socket) =>
    onRequest(socket, (text) => {
      const id = /x-request-id: (\S+)/i.exec(text)?.[1] ?? '';
      arrived.set(id, (arrived.get(id) ?? 0) + 1);
      socket.write(http('200 OK', BALANCES));
      setImmediate(() => socket.destroy());
    }),
  );
  const client = await makeClient(t, port);
  let answered = 0;
  for (let i = 0; i < 60; i++) {
    const reply = await client.balances();
    if (reply.kind === 'DONE') answered++;
    else assert.equal(reply.kind, 'UNKNOWN');
  }
  assert.ok(answered > 0);
  for (const count of arrived.values()) assert.equal(count, 1);
});

test('a second answer on a connection is never taken for the next request', async (t) => {
  const other = BALANCES.replace('"0"', '"666"');
  const port = await serveTcp(t, (socket) =>
    onRequest(socket, (text) => {
      const id = /x-request-id: (\S+)/i.exec(text)?.[1] ?? '';
      const headers = `content-type: application/json\r\nx-request-id: ${id}\r\n`;
      socket.write(http('200 OK', BALANCES, headers) + http('200 OK', other, headers));
    }),
  );
  const client = await makeClient(t, port);
  for (let i = 0; i < 10; i++) {
    const reply = await client.balances();
    if (reply.kind === 'DONE') assert.equal(reply.value.aggregateUsd, '0');
  }
});

test('a process that stood still past the limit sends nothing when it goes on', async (t) => {
  let requests = 0;
  const port = await serveTcp(t, (socket) => onRequest(socket, () => requests++));
  const client = await makeClient(t, port, { timeoutMs: 100 });
  const pending = client.createTrade(TRADE);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  assert.equal((await pending).kind, 'NOT_SENT');
  await sleep(100);
  assert.equal(requests, 0);
});

test('a write is asked about once more in the moment in which its first byte is about to leave', async (t) => {
  const seen: string[] = [];
  const port = await serveHttp(t, (request, response) => {
    seen.push(request.url ?? '');
    answer(request, response, 200, { data: WIRE_TRADE });
  });
  const client = await makeClient(t, port);
  let isHalted = false;
  const trade = () =>
    client.createTrade(TRADE, {
      signal: new AbortController().signal,
      withinMs: 5_000,
      whyNotNow: () => (isHalted ? 'it is halted' : null),
      whyNot: async () => {
        // While it is signed.
        setImmediate(() => (isHalted = !isHalted));
        return null;
      },
    });
  assert.deepEqual(await trade(), { kind: 'NOT_SENT', reason: 'it is halted' });
  assert.deepEqual(seen, []);
  assert.equal((await trade()).kind, 'DONE', 'the connection is still good');
});

test('a write that has not left soon after it was found to be wanted is not sent', async (t) => {
  const port = await serveHttp(t, (request, response) =>
    answer(request, response, 200, { data: WIRE_TRADE }),
  );
  const client = await makeClient(t, port);
  const trade = (standsStillMs: number) =>
    client.createTrade(TRADE, {
      signal: new AbortController().signal,
      withinMs: 500,
      whyNotNow: () => null,
      whyNot: async () => {
        // While it is signed.
        setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standsStillMs));
        return null;
      },
    });
  assert.equal((await trade(0)).kind, 'DONE');
  assert.equal((await trade(600)).kind, 'NOT_SENT');
});

test('under every kind of fault, what is called not sent never arrived, and nothing arrived twice', async (t) => {
  const arrived = new Map<string, number>();
  let turn = 0;
  const port = await serveTcp(t, (socket, index) => {
    if (index % 7 === 3) {
      socket.destroy();
      return;
    }
    onRequest(socket, (text) => {
      const key = /idempotency-key: (\S+)/i.exec(text)?.[1] ?? '';
      arrived.set(key, (arrived.get(key) ?? 0) + 1);
      const body = JSON.stringify({ data: WIRE_TRADE });
      const acts: readonly (() => void)[] = [
        () => socket.write(http('200 OK', body)),
        () => socket.write(http('200 OK', body)),
        () => socket.end(http('200 OK', body)),
        () => socket.resetAndDestroy(),
        () => socket.write(http('200 OK', body) + http('200 OK', body)),
        () => socket.write(http('200 OK', body.slice(9), undefined, body.length)),
        () => setTimeout(() => socket.write(http('200 OK', body)), 120),
        () => socket.write(http('307 Temporary Redirect', '', 'location: /v3/fx/trades\r\n')),
        () => undefined,
      ];
      acts[turn++ % acts.length]?.();
    });
  });
  const { key } = await makeKey();
  const client = await makeClient(t, port, { key, connections: 5, timeoutMs: 400 });
  const outcomes = await Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const idempotencyKey = `k-${i}`;
      // Two waves: the second one meets the connections that the first one left behind.
      if (i >= 150) await sleep(500);
      return { idempotencyKey, kind: (await client.createTrade({ ...TRADE, idempotencyKey })).kind };
    }),
  );
  await sleep(100);
  const count: Record<string, number> = {};
  for (const { idempotencyKey, kind } of outcomes) {
    count[kind] = (count[kind] ?? 0) + 1;
    const times = arrived.get(idempotencyKey) ?? 0;
    assert.ok(times <= 1, `${idempotencyKey} arrived ${times} times`);
    if (kind === 'NOT_SENT') assert.equal(times, 0, `${idempotencyKey} was called not sent`);
    if (kind === 'DONE') assert.equal(times, 1, `${idempotencyKey} was called done`);
  }
  for (const kind of ['DONE', 'UNKNOWN', 'NOT_SENT'])
    assert.ok((count[kind] ?? 0) > 0, `no ${kind} among ${JSON.stringify(count)}`);
});
