/**
 * The request signature (interface heading "Request signature"), and `signRequest`, which makes both credentials of one wire
 * attempt. What it returns is secret until it is used, and useless afterwards; it must never be kept, logged or thrown.
 */
import { createHash, randomUUID, sign } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type ApiKey, signingKeys } from './key.ts';
import { mintToken } from './token.ts';

/** What both credentials are made from. Path and query are canonical (`canonical.ts`); `body` is exactly what is sent. */
export type Signable = {
  readonly key: ApiKey;
  readonly issuer: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query: string;
  /** Null: no body. */
  readonly body: Uint8Array | null;
  /** Epoch milliseconds. */
  readonly nowMs: number;
};

/** The two credentials of one wire attempt, bound by a fresh nonce. */
export type Credentials = { readonly token: string; readonly signature: string };

/** Signs one wire attempt: a fresh nonce, a token, and the signature that binds the request to it. */
export async function signRequest(request: Signable): Promise<Credentials> {
  const nonce = randomUUID();
  const [token, signature] = await Promise.all([
    mintToken({ key: request.key, issuer: request.issuer, nonce, nowMs: request.nowMs }),
    // By the next turn of the loop jose has handed the token to the thread pool: both are signed side by side.
    setImmediate().then(() => signText(request.key, signatureText({ ...request, nonce }))),
  ]);
  return { token, signature };
}

/** The five components, joined by line feeds. */
export function signatureText(request: {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly nonce: string;
  readonly body: Uint8Array | null;
}): string {
  const bodyHash = createHash('sha256')
    .update(request.body ?? new Uint8Array(0))
    .digest('hex');
  return [request.method.toUpperCase(), request.path, request.query, request.nonce, bodyHash].join('\n');
}

/** ES256 over the UTF-8 of `text`: 64 bytes, r then s (IEEE P-1363, never DER), base64url without padding. */
export function signText(key: ApiKey, text: string): string {
  return sign('sha256', Buffer.from(text, 'utf8'), {
    key: signingKeys(key).forRequest,
    dsaEncoding: 'ieee-p1363',
  }).toString('base64url');
}
