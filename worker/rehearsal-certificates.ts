/**
 * The certificates of `cambist temporal --tls`, for a rehearsal of live on one machine: an authority, and a certificate of
 * it for each end. They are kept in a folder, so that a worker finds the same authority after the server was started
 * again. The authority's own key is never written: nobody can sign anything more with it.
 */
import { X509Certificate, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import forge from 'node-forge';

export type Certificates = {
  /** Paths of what a client needs: the authority, its own certificate, and the key of that. */
  readonly authorityFile: string;
  readonly clientFile: string;
  readonly clientKeyFile: string;
  /** What the server needs, in PEM. */
  readonly authority: string;
  readonly server: string;
  readonly serverKey: string;
};

const DAY_MS = 24 * 60 * 60_000;
const VALID_MS = 90 * DAY_MS;
/** Certificates that end within this time are made anew. */
const LEFT_MS = 7 * DAY_MS;
/** They begin a little earlier, since their times have no parts of a second. */
const EARLIER_MS = 60_000;
const KEY_BITS = 2_048;

const NAMES = ['authority', 'server', 'server-key', 'client', 'client-key'] as const;
type Name = (typeof NAMES)[number];
type Texts = Readonly<Record<Name, string>>;

/** Those in the folder, or new ones where one is missing or ends soon. */
export async function certificatesIn(folder: string): Promise<Certificates> {
  const fileOf = (name: Name): string => join(folder, `${name}.pem`);
  const texts = (await readTexts(fileOf)) ?? (await writeTexts(folder, fileOf));
  return {
    authorityFile: fileOf('authority'),
    clientFile: fileOf('client'),
    clientKeyFile: fileOf('client-key'),
    authority: texts.authority,
    server: texts.server,
    serverKey: texts['server-key'],
  };
}

/** Null where they cannot be used any more, or where there are none. */
async function readTexts(fileOf: (name: Name) => string): Promise<Texts | null> {
  try {
    const read = NAMES.map(async (name) => [name, await readFile(fileOf(name), 'utf8')] as const);
    const texts = Object.fromEntries(await Promise.all(read)) as Texts;
    const authority = new X509Certificate(texts.authority);
    const areGood = [texts.server, texts.client].every((text) => {
      const certificate = new X509Certificate(text);
      const isLasting = Date.parse(certificate.validTo) > Date.now() + LEFT_MS;
      return isLasting && certificate.verify(authority.publicKey);
    });
    return areGood ? texts : null;
  } catch {
    return null;
  }
}

async function writeTexts(folder: string, fileOf: (name: Name) => string): Promise<Texts> {
  const texts = makeTexts(Date.now());
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await Promise.all(NAMES.map((name) => writeFile(fileOf(name), texts[name], { mode: 0o600 })));
  return texts;
}

/** As strict libraries of TLS want them: each says what it is for, and the server's has its names. */
function makeTexts(nowMs: number): Texts {
  const authorityName = 'Cambist rehearsal authority';
  const authorityKeys = makeKeys();
  const by = { name: authorityName, key: authorityKeys.key };
  const authority = signed(by, nowMs, {
    name: authorityName,
    keys: authorityKeys,
    extensions: [
      { name: 'basicConstraints', critical: true, cA: true },
      { name: 'keyUsage', critical: true, keyCertSign: true },
    ],
  });
  const end = (name: string, extensions: readonly object[]): readonly [string, string] => {
    const keys = makeKeys();
    const usual = [
      { name: 'basicConstraints', critical: true, cA: false },
      { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    ];
    return [signed(by, nowMs, { name, keys, extensions: [...usual, ...extensions] }), keys.keyText];
  };
  const names = [
    { type: ALTERNATIVE.dns, value: 'localhost' },
    { type: ALTERNATIVE.ip, ip: '127.0.0.1' },
  ];
  const [server, serverKey] = end('localhost', [
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: names },
  ]);
  const [client, clientKey] = end('Cambist rehearsal', [{ name: 'extKeyUsage', clientAuth: true }]);
  return { authority, server, 'server-key': serverKey, client, 'client-key': clientKey };
}

/** Kinds of a name in `subjectAltName`, by the numbers of RFC 5280. */
const ALTERNATIVE = { dns: 2, ip: 7 };

type Keys = {
  readonly key: forge.pki.rsa.PrivateKey;
  readonly publicKey: forge.pki.rsa.PublicKey;
  /** The private key in PEM. */
  readonly keyText: string;
};

/** Node makes the keys, which takes the library in JavaScript many times as long. */
function makeKeys(): Keys {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: KEY_BITS,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return {
    key: forge.pki.privateKeyFromPem(privateKey),
    publicKey: forge.pki.publicKeyFromPem(publicKey),
    keyText: privateKey,
  };
}

/** A certificate in PEM. `by`: who signs it. */
function signed(
  by: { readonly name: string; readonly key: forge.pki.rsa.PrivateKey },
  nowMs: number,
  what: { readonly name: string; readonly keys: Keys; readonly extensions: readonly object[] },
): string {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = what.keys.publicKey;
  // A serial number is a positive number, so its first bit is none.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(nowMs - EARLIER_MS);
  certificate.validity.notAfter = new Date(nowMs + VALID_MS);
  certificate.setSubject([{ name: 'commonName', value: what.name }]);
  certificate.setIssuer([{ name: 'commonName', value: by.name }]);
  certificate.setExtensions([...what.extensions]);
  certificate.sign(by.key, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}
