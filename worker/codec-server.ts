/**
 * The server through which the Temporal UI and Temporal's own command line show people what is sealed. It only opens: nobody
 * can have it seal anything. It listens on this machine, answers what is asked of it by its own names, with the token, and in
 * a browser only for a page that was named. What the workers would not read it does not show either.
 */
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Payload } from '@temporalio/common';
import { shownPayload, type ReadableKeys } from '../config/seal/codec.ts';

export type CodecServerOptions = {
  readonly keys: ReadableKeys;
  /** 0: any free one. */
  readonly port: number;
  /** What a caller must know. */
  readonly token: string;
  /** The origins of the pages that may ask, such as `http://127.0.0.1:8233`. */
  readonly origins: readonly string[];
};

export type CodecServer = {
  /** `http://127.0.0.1:8234` */
  readonly url: string;
  readonly close: () => Promise<void>;
};

const HOST = '127.0.0.1';
/** A page of a history in the UI has less. */
const MOST_BYTES = 32 * 1024 * 1024;

export async function openCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const server = createServer((asked, answer) => {
    const port = (server.address() as AddressInfo).port;
    answerTo(asked, answer, { ...options, port }).catch(() => answer.destroy());
  });
  server.listen(options.port, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answerTo(
  asked: IncomingMessage,
  answer: ServerResponse,
  { keys, port, token, origins }: CodecServerOptions,
): Promise<void> {
  const { host, origin } = asked.headers;
  if (host !== `${HOST}:${port}` && host !== `localhost:${port}`) return refuse(answer, 403);
  if (origin !== undefined && !origins.includes(origin)) return refuse(answer, 403);
  if (origin !== undefined)
    answer.setHeader('access-control-allow-origin', origin).setHeader('vary', 'origin');
  // A browser asks first whether the page may ask at all. It does not send the token with that.
  if (asked.method === 'OPTIONS' && origin !== undefined) return allow(answer);
  if (!isKnown(asked, token)) return refuse(answer, 401);
  if (asked.method !== 'POST' || !/^(\/[^/]*)?\/decode$/.test(asked.url ?? '')) return refuse(answer, 404);
  const payloads = payloadsIn(await bodyOf(asked));
  if (payloads === null) return refuse(answer, 400);
  const shown = payloads.map((payload) => toJson(shownPayload(keys, payload)));
  answer.setHeader('content-type', 'application/json').end(JSON.stringify({ payloads: shown }));
}

/** The token stands in `Authorization: Bearer TOKEN`, or before the path, for a UI that can send no header of ours. */
function isKnown({ headers, url = '' }: IncomingMessage, token: string): boolean {
  const inPath = /^\/([^/]*)\/decode$/.exec(url)?.[1];
  const inHeader = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1];
  return [inPath, inHeader].some((said) => said !== undefined && isSame(said, token));
}

function isSame(said: string, token: string): boolean {
  const [one, other] = [Buffer.from(said), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function allow(answer: ServerResponse): void {
  answer
    .setHeader('access-control-allow-methods', 'POST')
    .setHeader('access-control-allow-headers', 'authorization, content-type, x-namespace')
    .setHeader('access-control-allow-private-network', 'true')
    .writeHead(204)
    .end();
}

function refuse(answer: ServerResponse, status: number): void {
  answer.writeHead(status, { 'content-type': 'text/plain' }).end('Refused.\n');
}

async function bodyOf(asked: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of asked as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new Error('too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

type JsonPayload = { readonly metadata?: Readonly<Record<string, string>>; readonly data?: string };

/** Null: it is no request of Temporal's. Temporal's command line leaves out an empty list, as for a signal without input. */
function payloadsIn(text: string): readonly Payload[] | null {
  try {
    const { payloads = [] } = JSON.parse(text) as { readonly payloads?: readonly JsonPayload[] };
    return payloads.map(({ metadata = {}, data = '' }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
      ),
      data: Buffer.from(data, 'base64'),
    }));
  } catch {
    return null;
  }
}

function toJson({ metadata, data }: Payload): JsonPayload {
  const names = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)] as const);
  return { metadata: Object.fromEntries(names), data: base64(data ?? new Uint8Array()) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
