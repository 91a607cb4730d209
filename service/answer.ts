/**
 * From the end of an exchange to a `Reply` (interface headings "Common request headers", "Errors"). Pure. A whole success is
 * `DONE`, a whole error whose code proves that nothing ran is `REFUSED`, and everything odd is `UNKNOWN`: nothing here may ever
 * guess in favour of "refused".
 */
import { isNonceReplay } from '../domain/service/reply-rules.ts';
import type * as z from 'zod';
import type { Reply, ReplyFacts, ServiceError } from '../domain/service/reply.ts';
import { decodeUtf8, parseJson } from './json.ts';
import { PLAIN_CODE, plainStatus, shownDetails } from './plain.ts';
import { errorEnvelope } from './schemas.ts';
import type { ResponseHead, WireResult } from './transport.ts';

/** What a reply is read against. */
export type Expected<T> = {
  readonly schema: z.ZodType<T>;
  readonly requestId: string;
  /** The credentials of this attempt; cut out of whatever the service says. */
  readonly secrets: readonly string[];
  /** True when the code proves that this send executed nothing. */
  readonly isDefinitive: (code: string) => boolean;
  /** Epoch milliseconds. */
  readonly nowMs: number;
};

/** Reads the end of one exchange. */
export function readAnswer<T>(result: WireResult, expected: Expected<T>): Reply<T> {
  if (result.kind === 'not-sent') return { kind: 'NOT_SENT', reason: result.reason };
  const facts = factsOf(result.head, expected.nowMs);
  const isTooMuch = isTooMuchOf(result);
  const unknown = (reason: string, error: ServiceError | null = null): Reply<T> => ({
    kind: 'UNKNOWN',
    reason: facts.status === 410 ? `${reason}; ${sunsetOf(result.head)}` : reason,
    error,
    facts,
    ...(isTooMuch && error === null && { isTooMuch }),
  });
  if (result.kind === 'broken') return unknown(result.reason);

  const { head, body } = result;
  // The service echoes our id unchanged; another id means that this is the reply to another request.
  const echo = head.headers['x-request-id'];
  if (echo !== undefined && echo !== expected.requestId)
    return unknown('the reply belongs to another request (X-Request-Id)');
  if (head.status >= 300 && head.status < 400)
    return unknown(`status ${head.status}: a redirect, which is not followed`);
  if (!isJson(head.headers['content-type']))
    return unknown(`status ${head.status} without JSON (content type)`);
  const text = decodeUtf8(body);
  if (text === null) return unknown(`status ${head.status} with a body that is not valid UTF-8`);
  const parsed = parseJson(withoutSecrets(text, expected.secrets));
  if (!parsed.ok) return unknown(`status ${head.status} with a body that is ${parsed.reason}`);
  if (has(parsed.value, 'data') && has(parsed.value, 'error'))
    return unknown(`status ${head.status} with both "data" and "error"`);

  if (head.status === 200) {
    const success = expected.schema.safeParse(parsed.value);
    return success.success
      ? { kind: 'DONE', value: success.data, facts }
      : unknown(`status 200 with a body that is not the expected record: ${placesOf(success.error)}`);
  }
  if (head.status < 300) return unknown(`status ${head.status}, which no operation is known to give`);

  const envelope = errorEnvelope.safeParse(parsed.value);
  if (!envelope.success) return unknown(`status ${head.status} without a whole error envelope`);
  if (!PLAIN_CODE.test(envelope.data.error.code))
    return unknown(`status ${head.status} with a code that is no plain word`);
  const error = toServiceError(envelope.data.error);
  if (isNonceReplay(error))
    return unknown(
      'the nonce was used before: an earlier copy of this request may have been accepted',
      error,
    );
  if (expected.isDefinitive(error.code)) return { kind: 'REFUSED', error, facts };
  return unknown(`code ${error.code} does not prove that nothing was executed`, error);
}

/** Too large or too slow, by what we saw or by what something on the way says (413, 504). */
function isTooMuchOf(result: Exclude<WireResult, { kind: 'not-sent' }>): boolean {
  return result.kind === 'broken' ? result.isTooMuch : [413, 504].includes(result.head.status);
}

/** Header facts; a header that came twice says nothing. */
function factsOf(head: ResponseHead | null, nowMs: number): ReplyFacts {
  const header = (name: string): string | null => headerOf(head, name);
  const serviceTimeMs = httpDateMs(header('date'));
  const traceId = header('x-trace-id');
  const replayed = header('idempotency-replayed')?.toLowerCase();
  return {
    status: head?.status ?? null,
    traceId: traceId !== null && /^[\x21-\x7e]{1,200}$/.test(traceId) ? traceId : null,
    replayed: replayed === 'true' ? true : replayed === 'false' ? false : null,
    retryAfterMs: retryAfterMs(header('retry-after'), serviceTimeMs ?? nowMs),
    serviceTimeMs,
  };
}

function headerOf(head: ResponseHead | null, name: string): string | null {
  const value = head?.headers[name];
  return typeof value === 'string' ? value.trim() : null;
}

/** Heading "Status mapping", 410: `Sunset` and `Link` say since when, and where to go. */
function sunsetOf(head: ResponseHead | null): string {
  const [sunset, link] = ['sunset', 'link'].map((name) =>
    headerOf(head, name)
      ?.slice(0, 300)
      .replaceAll(/[^\x20-\x7e]/g, '?'),
  );
  return `this version of the service has ended (Sunset: ${sunset ?? 'not said'}, Link: ${link ?? 'not said'})`;
}

/** Seconds or an HTTP date, the latter counted from the service's own clock. */
function retryAfterMs(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
  const atMs = httpDateMs(value);
  return atMs === null ? null : Math.max(0, atMs - nowMs);
}

/** RFC 9110 section 5.6.7, the one form that may still be sent. */
function httpDateMs(value: string | null): number | null {
  if (value === null || !/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(value))
    return null;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : atMs;
}

function isJson(contentType: string | string[] | undefined): boolean {
  return (
    typeof contentType === 'string' &&
    /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType.trim())
  );
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '(removed)'), text);
}

function has(value: unknown, field: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, field);
}

/** Where a body departs from its shape; never what stands there. */
function placesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) => `"${issue.path.map(String).join('.')}" (${issue.code})`)
    .join(', ');
}

/** Longest message that is kept. */
const MESSAGE_MAX_LENGTH = 500;

function toServiceError(wire: z.output<typeof errorEnvelope>['error']): ServiceError {
  const address = wire.details['address'];
  const message =
    typeof address === 'string' && address !== ''
      ? wire.message.replaceAll(address, '(address)')
      : wire.message;
  return {
    code: wire.code,
    type: plainStatus(wire.type),
    message: message.length > MESSAGE_MAX_LENGTH ? `${message.slice(0, MESSAGE_MAX_LENGTH)}…` : message,
    retryStrategy: plainStatus(wire.retryStrategy),
    details: shownDetails(wire.details),
  };
}
