// API keys: making a pair, and the keys the sandbox accepts with what each may do.

import { createPublicKey, generateKeyPairSync, randomBytes, webcrypto } from 'node:crypto';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

import type { Check } from './checks.ts';
import { BadInput, filledText, flag, listOf, oneOf, orNull, shape } from './checks.ts';
import type { StoredKey } from './records.ts';
import type { Store } from './store.ts';

export interface GeneratedKey {
  readonly name: string;
  readonly privateKeyPem: string;
  readonly publicKeyPem: string;
}

const namePattern = /^org\/([^/\s]+)\/apiKey\/([^/\s]+)$/;

/** Makes a P-256 pair: PKCS#8 and SPKI, as PEM. The name is drawn unless given. */
export function generateKey(name?: string): GeneratedKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    name: name ?? `org/org_${randomBytes(6).toString('hex')}/apiKey/key_${randomBytes(6).toString('hex')}`,
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** The organisation of a key's name, or null when the name has another form. */
export function organizationOf(keyName: string): string | null {
  return namePattern.exec(keyName)?.[1] ?? null;
}

const pem: Check<string> = (value, at) => {
  const given = filledText(value, at);
  let curve: string | undefined;
  try {
    curve = createPublicKey(given).asymmetricKeyDetails?.namedCurve;
  } catch {
    throw new BadInput(`${at} is not a public key in PEM form.`);
  }
  if (curve !== 'prime256v1') throw new BadInput(`${at} is not a P-256 key; ES256 needs one.`);
  if (given.includes('PRIVATE KEY')) throw new BadInput(`${at} is a private key; give the public one.`);
  return given;
};

const range: Check<string> = (value, at) => {
  const given = filledText(value, at);
  const [address = '', prefix, ...more] = given.split('/');
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  if (
    more.length > 0 ||
    bits < 0 ||
    (prefix !== undefined && !(Number(prefix) >= 0 && Number(prefix) <= bits))
  ) {
    throw new BadInput(`${at} is "${given}"; it must be an address or a range like "10.0.0.0/8".`);
  }
  return given;
};

const keyCheck = shape(
  { name: filledText, publicKeyPem: pem, scope: oneOf('read', 'write'), mode: oneOf('SANDBOX', 'LIVE') },
  { ipAllowlist: orNull(listOf(range)), active: flag },
);

/** Adds a key, or replaces the one of the same name. */
export function putKey(store: Store, value: unknown): StoredKey {
  const key = keyCheck(value, 'key');
  const organization = organizationOf(key.name);
  if (organization === null) {
    throw new BadInput(`key.name is "${key.name}"; it must be like "org/<organisation>/apiKey/<id>".`);
  }
  const id = key.name.slice(key.name.lastIndexOf('/') + 1);
  const plain = id.replaceAll(/[^1-9A-HJ-NP-Za-km-z]/g, '').slice(0, 22);
  return store.tables.keys.put({
    id: key.name,
    name: key.name,
    publicKeyPem: key.publicKeyPem,
    scope: key.scope,
    mode: key.mode,
    ipAllowlist: key.ipAllowlist ?? null,
    active: key.active ?? true,
    organization,
    actorId: `usr_${plain === '' ? '1' : plain}`,
    actorEmail: `${plain === '' ? 'user' : plain}@${organization.toLowerCase()}.example`,
  });
}

const imported = new Map<string, Promise<webcrypto.CryptoKey>>();

/** The key for WebCrypto; imported once per PEM. */
export function verifyingKey(publicKeyPem: string): Promise<webcrypto.CryptoKey> {
  const known = imported.get(publicKeyPem);
  if (known !== undefined) return known;
  const der = createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' });
  const key = webcrypto.subtle.importKey('spki', der, { name: 'ECDSA', namedCurve: 'P-256' }, false, [
    'verify',
  ]);
  imported.set(publicKeyPem, key);
  return key;
}

export function allowsAddress(allowlist: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const entry of allowlist) {
    const [from = '', prefix] = entry.split('/');
    const family = isIPv6(from) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(from, family);
    else list.addSubnet(from, Number(prefix), family);
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
