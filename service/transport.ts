/**
 * One HTTP/1.1 exchange on a kept-alive connection: the bytes given are sent once, or not at all. It must never follow a
 * redirect, send anything twice, or say "not sent" when a byte may have left.
 *
 * How it knows: undici calls `onRequestStart` after the connection (and TLS) stands, immediately before it writes the first
 * byte, and a handler that throws there is dropped without a byte written. So all that ends before that call (name lookup,
 * refused connection, TLS failure, time limit while queued, closed client) was not sent; all that ends after it may have been.
 * `Pool.request` cannot be used for this: it holds back an abort until the queue moves.
 */
import { type Dispatcher, Pool } from 'undici';
import type { ServiceAddress } from './address.ts';

/** What is sent, as it stands on the wire. */
export type WireRequest = {
  readonly method: 'GET' | 'POST';
  /** Canonical path with its canonical query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** It does not leave later. */
  readonly leavesUntil: Deadline;
  /** The end of its exchange, monotonic milliseconds; not before `leavesUntil`. */
  readonly endsAtMs: number;
  /** Asked last, before its first byte: null, or why it must not leave. */
  readonly whyNotNow: () => string | null;
};

/** The last moment at which a request may leave, on both clocks: one may stand still. */
export type Deadline = { readonly monotonicMs: number; readonly wallMs: number };

/** Status and headers; a header that came several times is a list. */
export type ResponseHead = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

/** How the exchange ended. `broken`: something may have been sent, and no whole response came back. */
export type WireResult =
  | { readonly kind: 'not-sent'; readonly reason: string }
  | {
      readonly kind: 'broken';
      readonly reason: string;
      readonly head: ResponseHead | null;
      /** The response was too large or took too long. */
      readonly isTooMuch: boolean;
    }
  | { readonly kind: 'answered'; readonly head: ResponseHead; readonly body: Buffer };

/** A pool of connections to one origin. */
export type Transport = {
  send(request: WireRequest): Promise<WireResult>;
  /** Waits for exchanges under way, then closes; later ones are not sent. */
  close(): Promise<void>;
};

/** A reply may weigh this much; the largest real ones are pages of 100 records, far below. */
const REPLY_MAX_BYTES = 1_048_576;

/**
 * @param connections most connections at a time; further requests queue
 * @param connectTimeoutMs limit for building one connection
 * @param clock wall clock, epoch milliseconds
 */
export function createTransport(options: {
  readonly address: ServiceAddress;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly clock: { now(): number };
}): Transport {
  const pool = new Pool(options.address.origin, {
    connections: options.connections,
    // One request at a time on a connection: what one reply breaks cannot touch another request.
    pipelining: 1,
    allowH2: false,
    // Below the idle limits that servers use (5 s is the shortest common one): a connection that the server is about to
    // close would turn a write into an unknown one.
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
    // The exchange has its own end.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.connectTimeoutMs },
  });
  return {
    send: (request) => exchange(pool, request, options.clock),
    close: async () => {
      if (!pool.closed) await pool.close();
    },
  };
}

function exchange(pool: Pool, request: WireRequest, clock: { now(): number }): Promise<WireResult> {
  return new Promise((resolve) => begin(pool, request, clock, resolve));
}

function begin(
  pool: Pool,
  request: WireRequest,
  clock: { now(): number },
  resolve: (result: WireResult) => void,
): void {
  let started = false;
  let ended = false;
  let head: ResponseHead | null = null;
  let abort: (() => void) | null = null;
  const chunks: Buffer[] = [];
  let receivedBytes = 0;

  const end = (result: WireResult): void => {
    ended = true;
    clearTimeout(timer);
    resolve(result);
  };
  /** Without an answer: which of the two it is depends on one thing only. */
  const fail = (reason: string, isTooMuch = false): void => {
    if (!ended) end(started ? { kind: 'broken', reason, head, isTooMuch } : { kind: 'not-sent', reason });
  };
  const isLate = (): boolean =>
    performance.now() >= request.leavesUntil.monotonicMs || clock.now() >= request.leavesUntil.wallMs;

  const onceAt = (atMs: number, callback: () => void): NodeJS.Timeout =>
    setTimeout(callback, Math.max(0, atMs - performance.now()));
  let timer = onceAt(request.leavesUntil.monotonicMs, () => {
    if (!started) return fail('the time limit passed before it could be sent', true);
    timer = onceAt(request.endsAtMs, () => {
      fail('no whole reply within the time limit', true);
      abort?.();
    });
  });

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      // A second start would be a second send; a late one comes from a machine that slept.
      if (ended || started || isLate()) throw new Error('not to be sent any more');
      const reason = request.whyNotNow();
      if (reason !== null) {
        fail(reason);
        throw new Error('not to be sent now');
      }
      started = true;
      abort = () => controller.abort(new Error('ended by the client'));
    },
    onResponseStart(_controller, status, headers) {
      // 1xx heads precede the real one.
      if (status >= 200) head = { status, headers };
    },
    onResponseData(controller, chunk) {
      receivedBytes += chunk.length;
      if (receivedBytes <= REPLY_MAX_BYTES) chunks.push(chunk);
      else {
        fail('the reply is larger than 1 MiB', true);
        controller.abort(new Error('reply too large'));
      }
    },
    onResponseEnd() {
      if (ended) return;
      if (head === null) fail('the reply has no head');
      else end({ kind: 'answered', head, body: Buffer.concat(chunks) });
    },
    onResponseError(_controller, error) {
      const code = errorCode(error);
      if (!started && isLate()) fail('the time limit passed before it could be sent');
      else if (!started) fail(pool.closed ? 'the client is closed' : `no connection (${code})`);
      else if (head === null) fail(`the connection broke before a reply (${code})`);
      else fail(`the connection broke within the reply (${code})`);
    },
  };

  // `dispatch` gives every failure to the handler.
  pool.dispatch(
    { method: request.method, path: request.target, headers: request.headers, body: request.body },
    handler,
  );
}

/** A code such as ECONNREFUSED; never a message, which might quote what was sent. */
function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
