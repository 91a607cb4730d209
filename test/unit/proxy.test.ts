/** What stands between two programs in other tests does to them what it says, and else nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openServiceProxy, openTemporalProxy, openWire, type Proxy } from '../support/proxy.ts';

async function addressOf(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that answers all bytes with themselves, in capitals, and keeps what it heard. */
async function openEcho(t: TestContext): Promise<{ address: string; heard: () => string }> {
  let heard = '';
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      socket.write(chunk.toString().toUpperCase());
    });
  });
  return { address: await addressOf(t, server), heard: () => heard };
}

function dial(t: TestContext, { address }: Proxy): Socket {
  const { hostname, port } = new URL(`tcp://${address}`);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  return socket;
}

async function answerTo(socket: Socket, said: string): Promise<string> {
  socket.write(said);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString();
}

/** Resolves when the socket is closed, by a reset too. */
function endOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
  });
}

test('a wire passes bytes both ways while the weather is clear', async (t) => {
  const echo = await openEcho(t);
  const wire = await openWire(echo.address);
  t.after(() => wire.close());
  assert.equal(await answerTo(dial(t, wire), 'hello'), 'HELLO');
  assert.equal(wire.resets(), 0);
});

test('a wire that refuses resets what is open and lets nobody in, until the weather clears', async (t) => {
  const echo = await openEcho(t);
  const wire = await openWire(echo.address);
  t.after(() => wire.close());
  const open = dial(t, wire);
  await answerTo(open, 'a');
  const end = endOf(open);
  wire.setWeather({ kind: 'refusing' });
  await end;
  assert.equal(wire.resets(), 1);
  await endOf(dial(t, wire));
  wire.setWeather({ kind: 'clear' });
  assert.equal(await answerTo(dial(t, wire), 'b'), 'B');
});

test('a wire that truncates carries so many bytes and resets', async (t) => {
  const echo = await openEcho(t);
  const wire = await openWire(echo.address);
  t.after(() => wire.close());
  wire.setWeather({ kind: 'truncating', direction: 'up', afterBytes: 3 });
  const socket = dial(t, wire);
  const end = endOf(socket);
  socket.write('abcdef');
  await end;
  assert.equal(echo.heard(), 'abc');
});

test('a trap stops a wire at its byte, and whoever goes is seen to go', async (t) => {
  const echo = await openEcho(t);
  const wire = await openWire(echo.address, (said) => {
    const at = said.indexOf('stop');
    return at < 0 ? null : at + 2;
  });
  t.after(() => wire.close());
  const socket = dial(t, wire);
  assert.equal(await answerTo(socket, 'go '), 'GO ');
  socket.on('data', () => assert.fail('Something came back after the standstill.'));
  socket.write('on and stop now');
  await wire.sprung;
  socket.write(' and more');
  socket.end();
  await once(socket, 'close');
  assert.equal(echo.heard(), 'go on and st');
});

test('a proxy of the service keeps the credentials that it sees, and answers in its place when told to', async (t) => {
  const service = createHttpServer((incoming, outgoing) => {
    void text(incoming).then((body) => outgoing.writeHead(201).end(`${incoming.url}: ${body}`));
  });
  const proxy = await openServiceProxy(await addressOf(t, service));
  t.after(() => proxy.close());
  const post = async (): Promise<{ status: number; body: string }> => {
    const reply = await fetch(`http://${proxy.address}/v3/fx/trades`, {
      method: 'POST',
      body: 'x',
      headers: { Authorization: 'Bearer t', 'X-Request-Signature': 's' },
    });
    return { status: reply.status, body: await reply.text() };
  };
  proxy.answerNext('/fx/trades', ({ token, signature }) => ({ status: 500, body: `${token}.${signature}` }));
  assert.deepEqual(await post(), { status: 500, body: 't.s' });
  assert.deepEqual(await post(), { status: 201, body: '/v3/fx/trades: x' });
  assert.deepEqual(proxy.credentials, [
    { token: 't', signature: 's' },
    { token: 't', signature: 's' },
  ]);
});

for (const arrives of [true, false])
  test(`a call to Temporal at which all stands still ${arrives ? 'arrives, and is not answered' : 'does not arrive'}`, async (t) => {
    const heard: string[] = [];
    const temporal = createHttp2Server();
    temporal.on('stream', (stream, headers) => {
      heard.push(headers[':path'] ?? '');
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end('answer');
    });
    const address = await addressOf(t, temporal);
    const proxy = await openTemporalProxy(address, { call: 'Respond', saying: 'the result', arrives });
    const session = connectHttp2(`http://${proxy.address}`);
    t.after(async () => {
      session.destroy();
      await proxy.close();
    });
    const call = (path: string, said: string) => {
      const packed = gzipSync(said);
      const head = Buffer.from([1, 0, 0, 0, 0]);
      head.writeUInt32BE(packed.length, 1);
      const stream = session.request({ ':method': 'POST', ':path': path });
      stream.on('error', () => {});
      stream.end(Buffer.concat([head, packed]));
      return stream;
    };
    const first = call('/temporal/Poll', 'the result');
    const trailers = once(first, 'trailers');
    assert.equal(await text(first), 'answer');
    assert.equal(((await trailers) as [Record<string, string>])[0]['grpc-status'], '0');
    const second = call('/temporal/Respond', 'here is the result');
    second.on('response', () => assert.fail('It was answered.'));
    await proxy.sprung;
    const wanted = arrives ? ['/temporal/Poll', '/temporal/Respond'] : ['/temporal/Poll'];
    if (arrives) while (heard.length < wanted.length) await once(temporal, 'stream');
    assert.deepEqual(heard, wanted);
  });
