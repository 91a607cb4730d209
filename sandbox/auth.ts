// "Authentication": the single-use token, the request signature, the nonce, the address, the mode and the scope
// of a request, each with the refusal the interface names.

import { webcrypto } from 'node:crypto';

import { compactVerify, decodeProtectedHeader } from 'jose';

import { canonicalRequest } from './canonical.ts';
import type { SandboxClock } from './clock.ts';
import { isoOf } from './clock.ts';
import { allowsAddress, organizationOf, verifyingKey } from './keys.ts';
import type { BookId, Mode, StoredKey } from './records.ts';
import { Refusal } from './refusal.ts';
import type { SandboxSettings } from './settings.ts';
import type { Table } from './store.ts';

export interface SignedRequest {
  readonly method: string;
  readonly target: string;
  readonly body: Uint8Array;
  readonly remoteAddress: string;
  readonly authorization: string | undefined;
  readonly signature: string | undefined;
  readonly appMode: string | undefined;
}

export interface Caller {
  readonly key: StoredKey;
  readonly mode: Mode;
  readonly book: BookId;
}

const audience = 'developer-api:v3';
const longestLifeSeconds = 60;
const nonceWindowMs = 80_000;
const noncePattern = /^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})$/i;
/** 64 bytes in base64url without padding. */
const signaturePattern = /^[A-Za-z0-9_-]{86}$/;

/** Nonces in use, each until 80 seconds after its request was verified. */
export class NonceRegister {
  readonly #until = new Map<string, number>();

  /** False when the nonce is taken. One step, so of two equal requests only one can win. */
  reserve(keyName: string, nonce: string, now: number): boolean {
    for (const [taken, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(taken);
    }
    const name = `${keyName} ${nonce.toLowerCase()}`;
    const until = this.#until.get(name);
    if (until !== undefined && until > now) return false;
    this.#until.delete(name);
    this.#until.set(name, now + nonceWindowMs);
    return true;
  }
}

/** "`SANDBOX` or `LIVE`, case-insensitive; default `SANDBOX` when omitted". */
function modeOf(header: string | undefined): Mode {
  if (header === undefined) return 'SANDBOX';
  const mode = header.toUpperCase();
  if (mode === 'SANDBOX' || mode === 'LIVE') return mode;
  throw new Refusal('INVALID_APP_MODE', { received: header, allowed: ['SANDBOX', 'LIVE'] });
}

export interface AuthContext {
  readonly keys: Table<StoredKey>;
  readonly nonces: NonceRegister;
  readonly clock: SandboxClock;
  readonly settings: SandboxSettings;
}

/** Verifies a request in the order of the interface; throws the `Refusal` to answer with. */
export async function authenticate(request: SignedRequest, context: AuthContext): Promise<Caller> {
  const { settings, clock } = context;
  const mode = modeOf(request.appMode);
  if (request.authorization === undefined) throw new Refusal('AUTH_TOKEN_MISSING');
  const token = /^Bearer ([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)$/i.exec(request.authorization)?.[1];
  if (token === undefined) return refuseToken('malformed_token');

  const { kid, nonce } = readHeader(token);
  const key = context.keys.get(kid);
  if (key === undefined || !key.active) throw new Refusal('AUTH_API_KEY_INVALID');
  const publicKey = await verifyingKey(key.publicKeyPem);
  checkClaims(await readClaims(token, publicKey), kid, settings, tokenTimeMs(settings, clock));

  if (request.signature === undefined) return refuseToken('signature_missing');
  if (!signaturePattern.test(request.signature)) return refuseToken('signature_malformed');
  const signed = canonicalRequest({ ...request, nonce }, settings.plusInQuery);
  const verified = await webcrypto.subtle.verify(
    { name: 'ECDSA', hash: 'SHA-256' },
    publicKey,
    Buffer.from(request.signature, 'base64url'),
    Buffer.from(signed, 'utf8'),
  );
  if (!verified) return refuseToken('signature_invalid');
  if (!context.nonces.reserve(kid, nonce, clock.now())) return refuseToken('nonce_replay');

  if (key.ipAllowlist !== null && !allowsAddress(key.ipAllowlist, request.remoteAddress)) {
    throw new Refusal('AUTH_FORBIDDEN_IP', { ip: request.remoteAddress });
  }
  if (settings.environment === 'sandbox-only' && mode !== 'SANDBOX')
    throw new Refusal('SANDBOX_MODE_REQUIRED');
  if (mode === 'SANDBOX' && key.mode === 'LIVE') throw new Refusal('AUTH_API_KEY_SANDBOX_REQUIRED');
  if (mode === 'LIVE' && key.mode === 'SANDBOX') throw new Refusal('AUTH_API_KEY_LIVE_REQUIRED');
  return { key, mode, book: `${key.organization}/${mode}` };
}

/** "A key lacking the scope gets 403". Write includes read. */
export function requireScope(caller: Caller, needed: 'read' | 'write'): void {
  if (needed === 'write' && caller.key.scope !== 'write') throw new Refusal('AUTH_INSUFFICIENT_SCOPE');
}

function tokenTimeMs(settings: SandboxSettings, clock: SandboxClock): number {
  return settings.tokenClock === 'sandbox' ? clock.now() : Date.now();
}

function readHeader(token: string): { readonly kid: string; readonly nonce: string } {
  let header: Record<string, unknown>;
  try {
    header = decodeProtectedHeader(token);
  } catch {
    return refuseToken('malformed_token');
  }
  const { alg, typ, kid, nonce } = header;
  if (alg !== 'ES256') return refuseToken('alg_not_allowed');
  if (typ !== 'JWT') return refuseToken('typ_not_allowed');
  if (kid === undefined || kid === '') throw new Refusal('AUTH_API_KEY_MISSING');
  if (typeof kid !== 'string') return refuseToken('kid_malformed');
  if (typeof nonce !== 'string' || !noncePattern.test(nonce)) return refuseToken('nonce_malformed');
  return { kid, nonce };
}

async function readClaims(token: string, publicKey: webcrypto.CryptoKey): Promise<Record<string, unknown>> {
  try {
    const { payload } = await compactVerify(token, publicKey, { algorithms: ['ES256'] });
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'));
    if (typeof claims === 'object' && claims !== null) return claims as Record<string, unknown>;
  } catch {
    return refuseToken('token_signature_invalid');
  }
  return refuseToken('malformed_token');
}

function checkClaims(
  claims: Record<string, unknown>,
  kid: string,
  settings: SandboxSettings,
  nowMs: number,
): void {
  const { aud, iss, sub, iat, nbf, exp } = claims;
  if (sub !== kid || organizationOf(kid) === null) refuseToken('sub_mismatch');
  if (!Array.isArray(aud) || !aud.includes(audience)) refuseToken('aud_mismatch');
  if (iss !== settings.issuer) refuseToken('iss_mismatch');
  if (!isSeconds(iat)) refuseToken('iat_malformed');
  if (!isSeconds(nbf)) refuseToken('nbf_malformed');
  if (!isSeconds(exp)) refuseToken('exp_malformed');
  if (exp - iat > longestLifeSeconds) {
    throw new Refusal('AUTH_TOKEN_INVALID_CONFIG', {
      reason: 'lifetime_too_long',
      maxSeconds: longestLifeSeconds,
    });
  }
  if (exp <= iat) {
    throw new Refusal('AUTH_TOKEN_INVALID_CONFIG', {
      reason: 'lifetime_not_positive',
      maxSeconds: longestLifeSeconds,
    });
  }
  const now = nowMs / 1_000;
  if (exp + settings.clockToleranceSeconds <= now) {
    throw new Refusal('AUTH_TOKEN_EXPIRED', { expiredAt: isoOf(exp * 1_000) });
  }
  if (nbf - settings.clockToleranceSeconds > now) refuseToken('not_yet_valid');
  if (iat - settings.clockToleranceSeconds > now) refuseToken('issued_in_future');
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 8_000_000_000_000;
}

function refuseToken(reason: string): never {
  throw new Refusal('AUTH_TOKEN_INVALID', { reason });
}
