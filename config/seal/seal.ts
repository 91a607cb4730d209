/**
 * Seals bytes for one owner, and opens them again: AES-256-GCM by Node's crypto. The owner is part of what is proven, so that
 * what was sealed for one workflow opens for no other. Pure but for its random numbers.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import type { SealKey } from './keys.ts';

/** Whose a sealed value is: what is sealed for one owner opens for no other. */
export type Owner = {
  readonly namespace: string;
  /** The workflow itself, or one of its activities. Null: Temporal's SDK does not tell. */
  readonly kind: 'workflow' | 'activity' | null;
  /** Empty: not known. */
  readonly workflowId: string;
};

const CIPHER = 'aes-256-gcm';
const OWNER_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The owner in 16 bytes. They stand before what is sealed, so that a reader who is not told the owner can open it too. */
export function ownerBytes({ namespace, kind, workflowId }: Owner): Buffer {
  const text = JSON.stringify([namespace, kind, workflowId]);
  return createHash('sha256').update('cambist owner').update(text).digest().subarray(0, OWNER_BYTES);
}

export function seal(key: SealKey, owner: Buffer, plain: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, ownerKey(key, owner), nonce).setAAD(owner);
  const sealed = [cipher.update(plain), cipher.final()];
  return Buffer.concat([owner, nonce, ...sealed, cipher.getAuthTag()]);
}

/**
 * What was sealed; null: it was not sealed by this key, for one of these owners, or not as it is now.
 * @param owners null: any owner, for a reader who only shows
 */
export function unseal(key: SealKey, owners: readonly Buffer[] | null, sealed: Uint8Array): Buffer | null {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < OWNER_BYTES + NONCE_BYTES + TAG_BYTES) return null;
  const owner = bytes.subarray(0, OWNER_BYTES);
  if (owners !== null && !owners.some((known) => known.equals(owner))) return null;
  const nonce = bytes.subarray(OWNER_BYTES, OWNER_BYTES + NONCE_BYTES);
  const opened = createDecipheriv(CIPHER, ownerKey(key, owner), nonce)
    .setAAD(owner)
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([
      opened.update(bytes.subarray(OWNER_BYTES + NONCE_BYTES, -TAG_BYTES)),
      opened.final(),
    ]);
  } catch {
    return null;
  }
}

/** Each owner has a key of its own. So random nonces cannot repeat, however many payloads all runs have. */
function ownerKey({ secret }: SealKey, owner: Buffer): Buffer {
  return createHmac('sha256', secret).update('cambist seal').update(owner).digest();
}
