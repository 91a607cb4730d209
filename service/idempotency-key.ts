/**
 * Idempotency keys (interface heading "Common request headers"). This file only hashes and checks; what goes into a key is
 * decided by the caller, and it must never be a clock, a random value or a run id.
 */
import { createHash } from 'node:crypto';
import { ServiceInputError } from './errors.ts';

/**
 * The key for `material`: 64 lower-case hex characters, the SHA-256 of its UTF-8 bytes. Hex because the pattern has no
 * `.`, `:` or `/`, which references contain.
 */
export function hashKey(material: string): string {
  return createHash('sha256').update(material, 'utf8').digest('hex');
}

/** Returns `key` when it has the pattern that the service accepts. @throws ServiceInputError `BAD_IDEMPOTENCY_KEY` */
export function checkIdempotencyKey(key: string): string {
  if (/^[a-zA-Z0-9_-]{1,255}$/.test(key)) return key;
  throw new ServiceInputError(
    'BAD_IDEMPOTENCY_KEY',
    `idempotency key "${key.slice(0, 40)}" is not 1 to 255 of a-z, A-Z, 0-9, _ and -; derive it with hashKey.`,
  );
}
