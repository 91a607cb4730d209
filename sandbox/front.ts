// The HTTP front of the service: from a received request to a delivered reply. It finds the route, has the
// caller authenticated, lets faults strike, and puts the headers on every reply.

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Caller } from './auth.ts';
import { authenticate, requireScope } from './auth.ts';
import { canonicalPath, parseQuery, sha256Hex, splitTarget } from './canonical.ts';
import type { Core } from './core.ts';
import { runDue } from './due.ts';
import type { FaultPlan, RequestFacts } from './faults.ts';
import type { Reply } from './records.ts';
import type { Operation, Route } from './operations.ts';
import { isWrite, matchRoute } from './operations.ts';
import { serveRead } from './reads.ts';
import { Refusal, refuseIssues } from './refusal.ts';
import { errorReply, htmlReply, reachesOperation, refusalReply, successReply } from './replies.ts';
import type { Delivery } from './writes.ts';
import { deliver, requireKey, serveWrite } from './writes.ts';

/** One request on its way through; fields fill up as more is known of it. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly at: string;
  readonly traceId: string;
  readonly requestId: string | null;
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly body: Buffer;
  route: Route | null;
  apiKey: string | null;
  facts: RequestFacts | null;
  faults: readonly string[];
}

const sunsetAt = Date.UTC(2026, 11, 31, 23, 59, 59);
const requestIdPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Serves one request; never throws. */
export async function serveRequest(
  core: Core,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const at = core.clock.iso();
  const body = await readBody(request, core.settings.maxBodyBytes);
  if (body === 'aborted') return;
  const target = request.url ?? '';
  const exchange: Exchange = {
    request,
    at,
    traceId: randomBytes(16).toString('hex'),
    requestId: headerOf(request, 'x-request-id') ?? null,
    method: (request.method ?? '').toUpperCase(),
    target,
    path: canonicalPath(splitTarget(target).path),
    body: body === 'too-large' ? Buffer.alloc(0) : body,
    route: null,
    apiKey: null,
    facts: null,
    faults: [],
  };
  let delivery: Delivery;
  try {
    if (body === 'too-large') throw new Refusal('VALIDATION_PAYLOAD_TOO_LARGE', {}, { headers: closing });
    delivery = await answer(core, exchange);
  } catch (error) {
    delivery = { reply: replyToError(error), manner: 'whole', replayed: false, resourceId: null };
  }
  core.flush();
  log(core, exchange, delivery);
  send(core, exchange, delivery, response);
}

const closing = { Connection: 'close' };

async function answer(core: Core, exchange: Exchange): Promise<Delivery> {
  const { request, path, requestId } = exchange;
  if (path === '/v1' || path.startsWith('/v1/')) refuseOldVersion(core, path);
  const match = matchRoute(exchange.method, path);
  if (match.kind === 'none') throw new Refusal('ROUTE_NOT_FOUND', { path });
  if (match.kind === 'wrong-method') {
    const details = { method: exchange.method, allowed: match.allowed };
    throw new Refusal('METHOD_NOT_ALLOWED', details, { headers: { Allow: match.allowed.join(', ') } });
  }
  const { route } = match;
  exchange.route = route;
  if (requestId !== null && !requestIdPattern.test(requestId)) {
    refuseIssues('VALIDATION_HEADER_FAILED', [{ path: 'X-Request-Id', message: 'malformed' }]);
  }

  const caller = await authenticate(
    {
      method: exchange.method,
      target: exchange.target,
      body: exchange.body,
      remoteAddress: plainAddress(request.socket.remoteAddress ?? ''),
      authorization: headerOf(request, 'authorization'),
      signature: headerOf(request, 'x-request-signature'),
      appMode: headerOf(request, 'x-app-mode'),
    },
    { keys: core.store.tables.keys, nonces: core.nonces, clock: core.clock, settings: core.settings },
  );
  exchange.apiKey = caller.key.name;
  takeRate(core, caller);
  requireScope(caller, route.access);
  if (core.settings.operationsNotEnabled.includes(route.operation)) throw new Refusal('FEATURE_NOT_ENABLED');
  core.openBook(caller.book);
  runDue(core);

  exchange.facts = factsOf(core, route.operation, exchange.body);
  const plan = core.faults.plan(exchange.facts);
  exchange.faults = plan.ids;
  core.flush(); // so that a fault that has struck is not new again after a kill
  const early = earlyDelivery(plan, isWrite(route.operation));
  if (early !== null) {
    await core.faults.wait(plan, 'before');
    return early;
  }

  if (isWrite(route.operation)) {
    checkContentType(core, request);
    const idempotencyKey = requireKey(route.operation, headerOf(request, 'idempotency-key'));
    return serveWrite(
      core,
      { operation: route.operation, caller, idempotencyKey, body: exchange.body },
      plan,
    );
  }
  await core.faults.wait(plan, 'before');
  runDue(core);
  const query = parseQuery(splitTarget(exchange.target).query, core.settings.plusInQuery);
  let reply: Reply;
  try {
    reply = successReply(serveRead(core, { operation: route.operation, caller, id: match.id, query }));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    reply = refusalReply(error);
  }
  await core.faults.wait(plan, 'after');
  return { ...deliver(plan, reply, match.id ?? ''), replayed: false, resourceId: match.id };
}

/** What faults do to a request that then never reaches its operation. */
function earlyDelivery(plan: FaultPlan, write: boolean): Delivery | null {
  const { reply: effect } = plan;
  const whole = (reply: Reply): Delivery => ({ reply, manner: 'whole', replayed: false, resourceId: null });
  if (effect?.kind === 'close-before') return { ...whole(htmlReply()), manner: 'lost' };
  if (effect?.kind === 'rate-limit') return whole(refusalReply(tooFast(effect.retryAfter ?? 1)));
  if (!write) return null;
  if (effect?.kind === 'html' && effect.committed !== true) return whole(htmlReply(effect.status));
  if (effect?.kind !== 'error' || effect.committed === true || effect.stored === true) return null;
  return effect.code === undefined || reachesOperation(effect.code) ? null : whole(errorReply(effect, ''));
}

/** "429, per-organization or per-key limit". */
function takeRate(core: Core, { key, book }: Caller): void {
  const { rateLimit } = core.settings;
  if (rateLimit === null) return;
  const who = rateLimit.scope === 'apiKey' ? key.name : book;
  const seconds = core.requestRate.take(who, rateLimit, core.clock.now());
  if (seconds !== null) throw tooFast(seconds);
}

function tooFast(retryAfterSeconds: number): Refusal {
  return new Refusal('RATE_LIMIT_EXCEEDED', {}, { headers: { 'Retry-After': `${retryAfterSeconds}` } });
}

function refuseOldVersion(core: Core, path: string): never {
  if (core.settings.v1Sunset === 'by-date' && core.clock.now() <= sunsetAt) {
    throw new Refusal('ROUTE_NOT_FOUND', { path });
  }
  throw new Refusal(
    'ENDPOINT_SUNSET',
    {},
    { headers: { Sunset: new Date(sunsetAt).toUTCString(), Link: '</v3>; rel="successor-version"' } },
  );
}

function checkContentType(core: Core, request: IncomingMessage): void {
  const encoding = headerOf(request, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new Refusal('UNSUPPORTED_MEDIA_TYPE');
  const [type = '', ...parameters] = (headerOf(request, 'content-type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='));
  const readable = charsets.every((charset) => /^charset="?utf-?8"?$/.test(charset));
  if (type !== 'application/json' || !readable) throw new Refusal(core.settings.contentTypeRefusal);
}

/** What a request is about, read leniently: faults may strike requests that will be refused. */
function factsOf(core: Core, operation: Operation, body: Buffer): RequestFacts {
  const facts = { operation, currencies: [], account: null, references: [] };
  if (!isWrite(operation)) return facts;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch {
    return facts;
  }
  if (typeof parsed !== 'object' || parsed === null) return facts;
  const fields = parsed as Readonly<Record<string, unknown>>;
  const texts = (...values: unknown[]): string[] => values.filter((value) => typeof value === 'string');
  const quote = core.store.tables.quotes.get(texts(fields['quoteId'])[0] ?? '');
  const { metadata } = fields;
  return {
    operation,
    currencies: texts(
      fields['currency'],
      fields['buyCurrency'],
      fields['sellCurrency'],
      quote?.buyCurrency,
      quote?.sellCurrency,
    ),
    account: texts(fields['withdrawalAccountId'])[0] ?? null,
    references: [
      ...texts(fields['clientReferenceId']).map((reference) => reference.trim()),
      ...(typeof metadata === 'object' && metadata !== null ? texts(...Object.values(metadata)) : []),
    ],
  };
}

function replyToError(error: unknown): Reply {
  if (error instanceof Refusal) return refusalReply(error);
  process.stderr.write(
    `sandbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return refusalReply(new Refusal('INTERNAL_ERROR'));
}

function send(
  core: Core,
  exchange: Exchange,
  { reply, manner, replayed }: Delivery,
  response: ServerResponse,
): void {
  const { socket } = exchange.request;
  if (manner === 'lost') {
    socket.destroy();
    return;
  }
  const body = Buffer.from(reply.body, 'utf8');
  response.sendDate = false;
  response.statusCode = reply.status;
  response.setHeader('Date', new Date(core.clock.now()).toUTCString());
  response.setHeader('Content-Length', body.length);
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  if (!isGatewayPage(reply)) {
    response.setHeader('X-Trace-Id', exchange.traceId);
    if (exchange.requestId !== null && /^[\x20-\x7e]*$/.test(exchange.requestId)) {
      response.setHeader('X-Request-Id', exchange.requestId);
    }
    if (exchange.route !== null && isWrite(exchange.route.operation)) {
      response.setHeader('Idempotency-Replayed', `${replayed}`);
    }
  }
  if (manner === 'cut') {
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => socket.destroySoon());
    return;
  }
  response.end(exchange.method === 'HEAD' ? undefined : body);
}

/** A page of a gateway in front of the service carries none of the service's headers. */
function isGatewayPage(reply: Reply): boolean {
  return reply.headers['Content-Type'] === 'text/html';
}

function log(core: Core, exchange: Exchange, { reply, manner, replayed, resourceId }: Delivery): void {
  const sent = manner !== 'lost';
  core.requests.add({
    at: exchange.at,
    method: exchange.method,
    path: exchange.target,
    operation: exchange.route?.operation ?? null,
    apiKey: exchange.apiKey,
    idempotencyKey: headerOf(exchange.request, 'idempotency-key') ?? null,
    reference: referenceIn(exchange.facts),
    bodyHash: sha256Hex(exchange.body),
    status: sent ? reply.status : null,
    code: sent ? codeIn(reply) : null,
    replayed,
    resourceId,
    requestId: exchange.requestId,
    traceId: exchange.traceId,
    outcome: manner === 'whole' ? 'replied' : manner,
    faults: exchange.faults,
  });
}

function referenceIn(facts: RequestFacts | null): string | null {
  return facts === null || facts.references.length === 0 ? null : facts.references.join(' ');
}

function codeIn(reply: Reply): string | null {
  if (reply.status < 400) return null;
  return /^\{"error":\{"code":"([^"]+)"/.exec(reply.body)?.[1] ?? null;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** An IPv4 address that came in over IPv6. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}

function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer | 'too-large' | 'aborted'> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // What is too much is still read, so that the refusal reaches a client that sends before it listens.
      if (bytes <= mostBytes) chunks.push(chunk);
    });
    request.on('end', () => resolve(bytes > mostBytes ? 'too-large' : Buffer.concat(chunks)));
    request.on('close', () => resolve('aborted'));
    request.on('error', () => resolve('aborted'));
  });
}
