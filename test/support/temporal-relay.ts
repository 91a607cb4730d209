/**
 * A relay of calls between a worker and Temporal, with a trap: at one call everything stands still, so that the worker
 * can be killed with this call on its way, or carried out and not answered.
 */
import { once } from 'node:events';
import {
  connect,
  createServer,
  type ClientHttp2Stream,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { Relay } from './relay.ts';

export type TemporalTrap = {
  /** Name of the call: `RespondActivityTaskCompleted`. */
  readonly call: string;
  /** What the message of the call says. */
  readonly saying: string;
  /** Temporal gets the call, and only the answer stays away; else it gets nothing. */
  readonly arrives: boolean;
};

/** Stands in front of `server` (`host:port`). */
export async function startTemporalRelay(server: string, trap: TemporalTrap): Promise<Relay> {
  const sessions = new Set<Http2Session>();
  let stands = false;
  let standStill = (): void => {};
  const sprung = new Promise<void>((resolve) => {
    standStill = resolve;
  });
  const listener = createServer();
  listener.on('session', (session) => {
    const upstream = connect(`http://${server}`);
    // Whichever end goes, the other one sees it go: a poll of a dead worker takes no task.
    for (const [one, other] of [
      [session, upstream],
      [upstream, session],
    ] as const) {
      sessions.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sessions.delete(one);
        other.destroy();
      });
    }
    session.on('stream', (stream, headers) => {
      whenWhole(stream, (message) => {
        if (stands || upstream.destroyed) return;
        stands = (headers[':path'] ?? '').endsWith(`/${trap.call}`) && textOf(message).includes(trap.saying);
        if (!stands || trap.arrives) passOn(upstream.request(headers), message, stream, () => stands);
        if (stands) standStill();
      });
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    sprung,
    close: async () => {
      for (const session of sessions) session.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
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
