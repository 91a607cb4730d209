/**
 * What OpenSSH writes: a file `allowed_signers`, and a signature of `ssh-keygen -Y sign`. Here is only told who has which key, and by
 * which key a signature claims to be. `ssh-keygen` itself proves it (`config/ssh-keygen.ts`).
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Signer } from '../domain/writes/approval-rules.ts';

export type LoadedSigners =
  | { readonly ok: true; readonly signers: readonly Signer[] }
  /** Parts of a sentence. */
  | { readonly ok: false; readonly mistake: string };

const NAME = '[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}';
const NAMES = new RegExp(`^${NAME}(?:,${NAME})*$`);
const OPTION = '(?:namespaces|valid-after|valid-before)="[^\\s"]*"';
const LINE = new RegExp(
  `^(\\S+)[ \\t]+(?:${OPTION}(?:,${OPTION})*[ \\t]+)?([a-z][a-z0-9@.-]{2,60})[ \\t]+([A-Za-z0-9+/]{20,8000}={0,2})(?:[ \\t].*)?$`,
  'i',
);

/**
 * The names and keys of such a file. Names are taken as they are: a pattern, or a key that signs keys, would say who is allowed, and not
 * who it is. A file with a line that is not understood is refused whole.
 */
export function loadSigners(text: string): LoadedSigners {
  const signers: Signer[] = [];
  for (const [index, written] of text.split('\n').entries()) {
    const line = written.trim();
    if (line === '' || line.startsWith('#')) continue;
    const [, names = '', , key] = LINE.exec(line) ?? [];
    if (key === undefined || !NAMES.test(names))
      return {
        ok: false,
        mistake: `line ${index + 1} is not "name key", with names as they are, and at most the options namespaces, valid-after and valid-before`,
      };
    for (const name of names.split(',')) signers.push({ name, key: canonicalKey(key) });
  }
  return { ok: true, signers };
}

/** The longest signature that is looked at, base64: that of an RSA key of 16,384 bits. */
const SIGNATURE_CHARS = 6_000;

/**
 * The types of signature that each type of key makes, and the hashes, of all that `ssh-keygen -Y` verifies. Of another type or hash it only
 * tells the name, as who has written the signature chose it.
 */
const SIGNED_BY: Readonly<Record<string, readonly string[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ssh-rsa': ['rsa-sha2-256', 'rsa-sha2-512'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'sk-ssh-ed25519@openssh.com': ['sk-ssh-ed25519@openssh.com'],
  'sk-ecdsa-sha2-nistp256@openssh.com': [
    'sk-ecdsa-sha2-nistp256@openssh.com',
    'webauthn-sk-ecdsa-sha2-nistp256@openssh.com',
  ],
};
const HASHES: readonly string[] = ['sha256', 'sha512'];

/** The key of a signature of `ssh-keygen -Y sign -n cambist-plan`, base64; null: it is no such signature. */
export function keyOfSignature(signature: string): string | null {
  if (signature.length > SIGNATURE_CHARS || !/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return null;
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.subarray(0, 6).toString('latin1') !== 'SSHSIG' || bytes.length < 10) return null;
  if (bytes.readUInt32BE(6) !== 1) return null;
  const [key, namespace, reserved, hash, signed, ...others] = fieldsFrom(bytes, 10);
  if (key === undefined || reserved === undefined || signed === undefined || others.length > 0) return null;
  const type = textAt(key);
  const types = Object.hasOwn(SIGNED_BY, type) ? SIGNED_BY[type] : undefined;
  const isKnown = types?.includes(textAt(signed)) === true && HASHES.includes(textOf(hash));
  return isKnown && textOf(namespace) === SIGNED_NAMESPACE ? key.toString('base64') : null;
}

/** The fingerprint of that key, as `ssh-keygen -l` writes it; null: it is no such signature. */
export function fingerprintOf(signature: string): string | null {
  const key = keyOfSignature(signature);
  if (key === null) return null;
  const digest = createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64');
  return `SHA256:${digest.replace(/=+$/, '')}`;
}

/** Signatures for other purposes, such as of git, are none for a plan. */
export const SIGNED_NAMESPACE = 'cambist-plan';

function canonicalKey(base64: string): string {
  return Buffer.from(base64, 'base64').toString('base64');
}

/** The fields from there to the end; none where the bytes do not end with a field. */
function fieldsFrom(bytes: Buffer, from: number): readonly Buffer[] {
  const fields: Buffer[] = [];
  for (let at = from; at < bytes.length;) {
    const field = fieldAt(bytes, at);
    if (field === null) return [];
    fields.push(field);
    at += 4 + field.length;
  }
  return fields;
}

function fieldAt(bytes: Buffer, offset: number): Buffer | null {
  if (bytes.length < offset + 4) return null;
  const end = offset + 4 + bytes.readUInt32BE(offset);
  return end > bytes.length ? null : bytes.subarray(offset + 4, end);
}

function textOf(field: Buffer | undefined): string {
  return field?.toString('latin1') ?? '';
}

/** The text that a field begins with, such as its type. */
function textAt(field: Buffer): string {
  return textOf(fieldAt(field, 0) ?? undefined);
}
