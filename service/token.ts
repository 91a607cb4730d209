/**
 * The single-use access token (interface heading "JWT"). One token is for one wire attempt: it must never be kept, logged
 * or used again.
 */
import { SignJWT } from 'jose';
import { type ApiKey, signingKeys } from './key.ts';

/** How long a token lives. */
export const TOKEN_LIFE_SECONDS = 45;

/** How far the service's clock may be behind ours. With the life it stays under the 60 s that the service allows. */
const SERVICE_BEHIND_SECONDS = 10;

/**
 * Mints the ES256 token for one request.
 * @param issuer the service operator's name in `iss`
 * @param nonce random UUID, also signed by the request signature
 * @param nowMs epoch milliseconds; the claims are whole seconds, rounded down
 */
export async function mintToken(options: {
  readonly key: ApiKey;
  readonly issuer: string;
  readonly nonce: string;
  readonly nowMs: number;
}): Promise<string> {
  const { key, issuer, nonce } = options;
  const now = Math.floor(options.nowMs / 1000);
  const issuedAt = now - SERVICE_BEHIND_SECONDS;
  return new SignJWT({
    aud: ['developer-api:v3'],
    iss: issuer,
    sub: key.name,
    iat: issuedAt,
    nbf: issuedAt,
    exp: now + TOKEN_LIFE_SECONDS,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: key.name, nonce })
    .sign(signingKeys(key).forToken);
}
