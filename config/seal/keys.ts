/**
 * The keys by which payloads in Temporal are sealed: one that seals, and any number that only read, in one file of JSON
 * (CAMBIST_SEAL_KEYS). A key must be readable at every worker and command before it seals anything. The keys themselves must
 * never appear in an error, a log or JSON of another kind.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isRecord, listOf, misshapen } from '../../domain/shape.ts';

/** One key, and when it was made. */
export type SealKey = {
  /** By it a payload names its key. It is signed by the family, so that nobody else can make one. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Buffer;
  /** The day in UTC on which it was made, `2026-11-21`. */
  readonly made: string;
};

/** The keys of a file. */
export type SealKeys = {
  /** The key that seals. */
  readonly active: SealKey;
  /** Those that read, the active one among them, oldest first. */
  readonly keys: readonly SealKey[];
  /** A secret of 32 bytes that never changes: by it, an id is known to be of these keys. */
  readonly family: Buffer;
};

const SECRET_BYTES = 32;
const RANDOM_BYTES = 6;
const SIGNED_BYTES = 9;

/** New keys, with one of them. @param nowMs epoch milliseconds */
export function newSealKeys(nowMs: number): SealKeys {
  const family = randomBytes(SECRET_BYTES);
  const active = newKey(family, nowMs);
  return { active, keys: [active], family };
}

/** The same keys and a new one, which reads and does not seal yet. */
export function withNextKey(known: SealKeys, nowMs: number): SealKeys {
  return { ...known, keys: [...known.keys, newKey(known.family, nowMs)] };
}

/** The same keys, of which the newest one seals. */
export function withNewestActive(known: SealKeys): SealKeys {
  return { ...known, active: known.keys.at(-1) ?? known.active };
}

function newKey(family: Buffer, nowMs: number): SealKey {
  const random = randomBytes(RANDOM_BYTES);
  const id = Buffer.concat([random, signatureOf(family, random)]).toString('base64url');
  return { id, secret: randomBytes(SECRET_BYTES), made: new Date(nowMs).toISOString().slice(0, 10) };
}

/** True for an id that was made with these keys, even where its key is not among them: that key may come. */
export function isOfFamily({ family }: Pick<SealKeys, 'family'>, id: string): boolean {
  const bytes = Buffer.from(id, 'base64url');
  // What decodes to an id is none: no key is found by it, so that it would be waited for without end.
  if (bytes.length !== RANDOM_BYTES + SIGNED_BYTES || bytes.toString('base64url') !== id) return false;
  const [random, signature] = [bytes.subarray(0, RANDOM_BYTES), bytes.subarray(RANDOM_BYTES)];
  return timingSafeEqual(signature, signatureOf(family, random));
}

function signatureOf(family: Buffer, random: Uint8Array): Buffer {
  return createHmac('sha256', family).update('cambist key').update(random).digest().subarray(0, SIGNED_BYTES);
}

/** The text of the file. */
export function sealKeysText({ active, keys, family }: SealKeys): string {
  const file = {
    family: family.toString('base64url'),
    active: active.id,
    keys: keys.map(({ id, secret, made }) => ({ id, made, secret: secret.toString('base64url') })),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const FIELDS = { family: isText, active: isText, keys: listOf(isRecord) };
const KEY_FIELDS = { id: isText, made: isText, secret: isText };

/** The keys in the text of a file; a text: why it is none, without a word of its secrets. */
export function parseSealKeys(text: string): SealKeys | string {
  const file = jsonOf(text);
  const wrong = misshapen(file, FIELDS);
  if (wrong !== null || !isRecord(file)) return wrong ?? 'it is no JSON.';
  const family = secretOf(file['family']);
  if (family === null) return 'its field "family" is no secret of 32 bytes.';
  const keys: SealKey[] = [];
  for (const [index, row] of (file['keys'] as readonly unknown[]).entries()) {
    const key = keyOf(row);
    if (key === null) return `its key ${index + 1} is not one of "id", "made" and a "secret" of 32 bytes.`;
    if (!isOfFamily({ family }, key.id)) return `its key ${index + 1} has an id of another file.`;
    if (keys.some(({ id }) => id === key.id)) return `its key ${index + 1} is there twice.`;
    keys.push(key);
  }
  const active = keys.find(({ id }) => id === file['active']);
  return active === undefined ? 'its field "active" names none of its keys.' : { active, keys, family };
}

function keyOf(row: unknown): SealKey | null {
  if (misshapen(row, KEY_FIELDS) !== null || !isRecord(row)) return null;
  const { id, made } = row;
  const secret = secretOf(row['secret']);
  return secret === null || !isText(id) || !isText(made) ? null : { id, made, secret };
}

function secretOf(text: unknown): Buffer | null {
  if (!isText(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === SECRET_BYTES && bytes.toString('base64url') === text ? bytes : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
