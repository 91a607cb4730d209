/**
 * What stands between two programs of a test, and lets through, changes or stops what they say. It reads as deep as its
 * faults need: bytes (`openWire`), requests to the service (`openServiceProxy`), or calls to Temporal
 * (`openTemporalProxy`). Whatever it does not have a fault for passes unchanged.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, request, type IncomingMessage } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';

/** What every one of them can do. Addresses are `host:port`. */
export type Proxy = {
  readonly address: string;
  /** Drops whoever is connected, and listens no more. */
  close(): Promise<void>;
};

/** One with a trap: at one point everything stands still, so that a program can be killed with exactly this much said. */
export type Trap = Proxy & { readonly sprung: Promise<void> };

/** `up`: towards the address behind the proxy. */
type Direction = 'up' | 'down';

/** What happens to every connection, open or new, until the weather changes. */
export type Weather =
  | { readonly kind: 'clear' }
  /** Open connections are reset, new ones closed at once. */
  | { readonly kind: 'refusing' }
  /** Half-open: bytes of one direction vanish, and nobody is told. Such a connection is reset when the weather changes. */
  | { readonly kind: 'silent'; readonly direction: Direction }
  /** Nothing passes in either direction; only when one end goes, the other one sees it. */
  | { readonly kind: 'still' }
  /** Every chunk comes later, in order. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** A connection carries so many more bytes of one direction, and is reset in the middle of what follows. */
  | { readonly kind: 'truncating'; readonly direction: Direction; readonly afterBytes: number };

export type Wire = Trap & {
  /** Connections that were reset so far. */
  readonly resets: () => number;
  setWeather(weather: Weather): void;
  /** Resets whatever is open now. */
  cut(): void;
};

type Connection = {
  readonly near: Socket;
  readonly far: Socket;
  /** What went up so far, one character a byte; kept only for a trap. */
  said: string;
  /** Bytes of the direction that is being truncated, since the weather changed. */
  carried: number;
  /** Bytes were lost in the middle: what follows them cannot be understood. */
  hasGap: boolean;
};

const HOST = '127.0.0.1';

/**
 * A wire of bytes to `target`, whose weather can be changed while connections are open. It knows nothing of what it
 * carries, so that what it does could happen to anybody. `stopAt` is a trap: where in all that went up on one connection
 * everything comes to a standstill; null: not yet.
 */
export async function openWire(
  target: string,
  stopAt: ((said: string) => number | null) | null = null,
): Promise<Wire> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const { promise: sprung, resolve: spring } = standstill();
  let weather: Weather = { kind: 'clear' };
  let resets = 0;
  const connections = new Set<Connection>();

  const reset = (connection: Connection): void => {
    if (!connections.delete(connection)) return;
    resets += 1;
    connection.near.resetAndDestroy();
    connection.far.resetAndDestroy();
  };
  const resetAll = (which: (connection: Connection) => boolean = () => true): void => {
    for (const connection of [...connections]) if (which(connection)) reset(connection);
  };

  /** Springs the trap if this chunk, on its way up, holds its byte; whether it did. */
  const isTrapped = (connection: Connection, chunk: Buffer): boolean => {
    if (stopAt === null) return false;
    const before = connection.said.length;
    connection.said += chunk.toString('latin1');
    const cut = stopAt(connection.said);
    if (cut === null || cut > connection.said.length) return false;
    weather = { kind: 'still' };
    connection.far.write(chunk.subarray(0, Math.max(0, cut - before)), spring);
    return true;
  };
  /** Passes a chunk on as the weather of this moment has it. */
  const carry = async (connection: Connection, direction: Direction, chunk: Buffer): Promise<void> => {
    const to = direction === 'up' ? connection.far : connection.near;
    if (weather.kind === 'slow') await sleep(weather.delayMs);
    if (to.destroyed) return;
    if (weather.kind === 'still' || (weather.kind === 'silent' && weather.direction === direction)) {
      connection.hasGap = true;
      return;
    }
    // What follows a gap would be read as something else.
    if (connection.hasGap) return;
    if (direction === 'up' && isTrapped(connection, chunk)) return;
    if (weather.kind !== 'truncating' || weather.direction !== direction) {
      to.write(chunk);
      return;
    }
    const left = weather.afterBytes - connection.carried;
    connection.carried += chunk.length;
    to.write(chunk.subarray(0, Math.max(left, 0)));
    if (chunk.length <= left) return;
    // Gives what was let through the time to arrive: a reset throws away what has not been read.
    await sleep(5);
    reset(connection);
  };
  const join = (connection: Connection, direction: Direction): void => {
    const from = direction === 'up' ? connection.near : connection.far;
    const to = direction === 'up' ? connection.far : connection.near;
    let inOrder = Promise.resolve();
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      inOrder = inOrder.then(() => carry(connection, direction, chunk));
    });
    from.on('end', () => {
      inOrder = inOrder.then(() => {
        if (weather.kind !== 'silent') to.end();
        return undefined;
      });
    });
    from.on('error', () => reset(connection));
    from.on('close', () => {
      if (weather.kind === 'silent') connection.hasGap = true;
      else if (connections.delete(connection)) to.destroySoon();
    });
  };

  const proxy = await listen(
    createServer((near) => {
      if (weather.kind === 'refusing') {
        near.destroy();
        return;
      }
      const far = createConnection(Number(port), hostname);
      const connection: Connection = { near, far, said: '', carried: 0, hasGap: false };
      connections.add(connection);
      join(connection, 'up');
      join(connection, 'down');
    }),
  );
  return {
    address: proxy.address,
    sprung,
    resets: () => resets,
    setWeather: (next) => {
      weather = next;
      for (const connection of connections) connection.carried = 0;
      resetAll(next.kind === 'refusing' ? undefined : ({ hasGap }) => hasGap);
    },
    cut: () => resetAll(),
    close: async () => {
      resetAll();
      await proxy.close();
    },
  };
}

/** Token and signature of one request. */
export type Credentials = { readonly token: string; readonly signature: string };

export type ServiceProxy = Proxy & {
  /** Those of every request so far: what no history, log or report may ever show. */
  readonly credentials: readonly Credentials[];
  /** The next `POST` to a path that ends like this gets this answer instead of the service's. */
  answerNext(pathEnd: string, answer: Answer): void;
};

type Answer = (seen: Credentials) => { readonly status: number; readonly body: string };

/** Stands in front of the service at `target`; it can answer in its place, with the credentials in its mouth. */
export async function openServiceProxy(target: string): Promise<ServiceProxy> {
  const { hostname: host, port } = new URL(`tcp://${target}`);
  const credentials: Credentials[] = [];
  const answers: { readonly pathEnd: string; readonly answer: Answer }[] = [];
  const proxy = await listen(
    createHttpServer((incoming, outgoing) => {
      const seen: Credentials = {
        token: headerOf(incoming, 'authorization').replace(/^Bearer /, ''),
        signature: headerOf(incoming, 'x-request-signature'),
      };
      credentials.push(seen);
      const { method, url: path = '', headers } = incoming;
      const [next] = answers;
      if (method === 'POST' && next !== undefined && path.endsWith(next.pathEnd)) {
        answers.shift();
        const { status, body } = next.answer(seen);
        incoming.resume();
        outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
        return;
      }
      const passed = request({ host, port, method, path, headers });
      passed.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on('error', () => outgoing.destroy());
      incoming.pipe(passed);
    }),
  );
  return {
    ...proxy,
    credentials,
    answerNext: (pathEnd, answer) => {
      answers.push({ pathEnd, answer });
    },
  };
}

function headerOf(incoming: IncomingMessage, name: string): string {
  const value = incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}

/** The call to Temporal at which everything stands still. */
export type CallToStopAt = {
  /** Its name: `RespondActivityTaskCompleted`. */
  readonly call: string;
  /** What its message says. */
  readonly saying: string;
  /** Temporal gets the call, and only the answer stays away; else it gets nothing. */
  readonly arrives: boolean;
  /** Nothing stands still: the answer of the first such call is lost, and its connection with it. */
  readonly goesOn?: true;
};

/** `calls`: how many such calls have come. */
export type TemporalProxy = Trap & { readonly calls: () => number };

/**
 * Stands in front of the Temporal server at `target`. What a call says can be packed, and its name is short for what was
 * said before, so that a trap in the bytes would not see it: calls are taken in whole and made again. `stop`: null: nowhere.
 * `onCall` hears the name of each call.
 */
export async function openTemporalProxy(
  target: string,
  stop: CallToStopAt | null,
  onCall: (name: string) => void = () => {},
): Promise<TemporalProxy> {
  const { promise: sprung, resolve: spring } = standstill();
  let stands = false;
  let calls = 0;
  const server = createHttp2Server();
  server.on('session', (session) => {
    const upstream = connectHttp2(`http://${target}`);
    // Whichever end goes, the other one sees it go: a poll of a dead worker takes no task.
    for (const [one, other] of [
      [session, upstream],
      [upstream, session],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => other.destroy());
    }
    session.on('stream', (stream, headers) => {
      whenWhole(stream, (message) => {
        if (stands || upstream.destroyed) return;
        const name = (headers[':path'] ?? '').split('/').at(-1) ?? '';
        onCall(name);
        if (stop === null) {
          passOn(upstream.request(headers), message, stream, () => stands);
          return;
        }
        const isIt = name === stop.call && textOf(message).includes(stop.saying);
        if (isIt) calls += 1;
        if (isIt && stop.goesOn === true && calls === 1) {
          const passed = upstream.request(headers);
          passed.on('error', () => {});
          passed.on('end', () => session.destroy());
          passed.resume().end(message);
          return;
        }
        stands = isIt && stop.goesOn !== true;
        if (!stands || stop.arrives) passOn(upstream.request(headers), message, stream, () => stands);
        if (stands) spring();
      });
    });
  });
  return { ...(await listen(server)), sprung, calls: () => calls };
}

/** One call, whole. What comes when everything stands still is for nobody. */
function passOn(
  passed: ClientHttp2Stream,
  message: Buffer,
  stream: ServerHttp2Stream,
  stands: () => boolean,
): void {
  let trailers: IncomingHttpHeaders = {};
  passed.on('error', () => {});
  passed.on('response', (headers, flags) => {
    if (stands() || stream.destroyed) return;
    // A failed call has no body: all that it says stands in the headers.
    const endsHere = (flags & 1) !== 0;
    stream.respond(headers, endsHere ? { endStream: true } : { waitForTrailers: true });
  });
  passed.on('data', (bytes) => {
    if (!stands() && !stream.destroyed) stream.write(bytes);
  });
  passed.on('trailers', (last) => {
    trailers = last;
  });
  passed.on('end', () => {
    if (!stands() && !stream.destroyed && !stream.writableEnded) stream.end();
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => passed.close());
  passed.end(message);
}

/** All that the worker says in one call; nothing when it goes away in the middle. */
function whenWhole(stream: ServerHttp2Stream, use: (message: Buffer) => void): void {
  const chunks: Buffer[] = [];
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => use(Buffer.concat(chunks)));
}

/** The message of a unary call: a flag (compressed), four bytes of length, and what it says. */
function textOf(message: Buffer): string {
  const said = message.subarray(5);
  return (message[0] === 1 ? gunzipSync(said) : said).toString('latin1');
}

/** A promise that a trap keeps when it springs. */
function standstill(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((keep) => {
    resolve = keep;
  });
  return { promise, resolve };
}

/** Listens on a free port, and knows who is connected, so that closing waits for nobody. */
async function listen(server: Server): Promise<Proxy> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return {
    address: `${HOST}:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
