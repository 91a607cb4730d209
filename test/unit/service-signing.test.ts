/** Token and request signature, checked by other means than they were made with. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { jwtVerify } from 'jose';
import type { ApiKey } from '../../service/key.ts';
import { signatureText, signRequest, signText } from '../../service/signature.ts';
import { mintToken } from '../../service/token.ts';
import { KEY_NAME, makeKey } from '../support/service-fixture.ts';

const NOW_MS = Date.parse('2026-11-21T09:00:00.999Z');
const NOW = 1_795_251_600;
const OPENSSL = 'openssl';

test('a token has exactly the claims and header of the interface', async () => {
  const { key } = await makeKey();
  const token = await mintToken({ key, issuer: 'service', nonce: 'nonce-1', nowMs: NOW_MS });
  const [header = '', claims = '', signature = '', ...rest] = token.split('.');
  assert.deepEqual(rest, []);
  const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  assert.deepEqual(decode(header), { alg: 'ES256', typ: 'JWT', kid: KEY_NAME, nonce: 'nonce-1' });
  assert.deepEqual(decode(claims), {
    aud: ['developer-api:v3'],
    iss: 'service',
    sub: KEY_NAME,
    // Ten seconds ago: a service whose clock is behind ours by what agreeing clocks may differ takes it too.
    iat: NOW - 10,
    nbf: NOW - 10,
    exp: NOW + 45,
  });
  assert.equal(Buffer.from(signature, 'base64url').length, 64);
});

test('a token verifies with jose and with WebCrypto by hand, and not after a change', async () => {
  const { key, publicKey } = await makeKey();
  const token = await mintToken({ key, issuer: 'service', nonce: 'n', nowMs: NOW_MS });
  const verified = await jwtVerify(token, publicKey, {
    algorithms: ['ES256'],
    audience: 'developer-api:v3',
    issuer: 'service',
    subject: KEY_NAME,
    typ: 'JWT',
    currentDate: new Date(NOW_MS),
    maxTokenAge: 60,
  });
  assert.equal(verified.protectedHeader['nonce'], 'n');

  const [header = '', claims = '', signature = ''] = token.split('.');
  const verify = await verifier(publicKey);
  assert.equal(await verify(`${header}.${claims}`, signature), true);
  assert.equal(await verify(`${header}.${claims}A`, signature), false);
});

test('the signed text is the five components joined by line feeds', () => {
  const empty = createHash('sha256').digest('hex');
  assert.equal(
    signatureText({ method: 'get', path: '/v3/fx/trades', query: 'limit=2', nonce: 'n', body: null }),
    `GET\n/v3/fx/trades\nlimit=2\nn\n${empty}`,
  );
  assert.equal(
    signatureText({ method: 'POST', path: '/v3/fx/quotes', query: '', nonce: 'n', body: Buffer.from('abc') }),
    'POST\n/v3/fx/quotes\n\nn\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});

test('openssl and WebCrypto verify a request signature, over many keys', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-signing-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = (name: string): string => join(folder, name);
  for (let i = 0; i < 12; i++) {
    const { key, publicKey } = await makeKey();
    const text = `POST\n/v3/fx/trades\nq=é\nnonce-${i}\nabc`;
    const signature = signText(key, text);
    assert.match(signature, /^[A-Za-z0-9_-]{86}$/, '64 bytes, base64url, no padding');
    writeFileSync(path('text'), text);
    writeFileSync(path('public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    writeFileSync(path('signature.der'), derOf(Buffer.from(signature, 'base64url')));
    const said = execFileSync(
      OPENSSL,
      ['dgst', '-sha256', '-verify', path('public.pem'), '-signature', path('signature.der'), path('text')],
      { encoding: 'utf8' },
    );
    assert.equal(said.trim(), 'Verified OK');
    assert.equal(await (await verifier(publicKey))(text, signature), true);
  }
});

test('a signature is always 64 bytes, also when r or s begins with zeros', async () => {
  const { key } = await makeKey();
  for (let i = 0; i < 600; i++) assert.equal(Buffer.from(signText(key, String(i)), 'base64url').length, 64);
});

test('both credentials of a request carry one nonce, fresh every time', async () => {
  const { key, publicKey } = await makeKey();
  const request = {
    key,
    issuer: 'service',
    method: 'POST',
    path: '/v3/fx/trades',
    query: '',
    nowMs: NOW_MS,
  } as const;
  const body = Buffer.from('{}');
  const verify = await verifier(publicKey);
  const nonces = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const { token, signature } = await signRequest({ ...request, body });
      const header = Buffer.from(token.split('.')[0] ?? '', 'base64url').toString();
      const nonce = /"nonce":"([0-9a-f-]{36})"/.exec(header)?.[1] ?? '';
      assert.equal(await verify(signatureText({ ...request, body, nonce }), signature), true);
      assert.equal(await verify(signatureText({ ...request, body: null, nonce }), signature), false);
      return nonce;
    }),
  );
  assert.equal(new Set(nonces).size, 20);
});

test('an API key shows its name and nothing else', async () => {
  const { key, pem } = await makeKey();
  const secret = pem.split('\n')[1] ?? 'none';
  const shown = inspect(key, { depth: 20, showHidden: true }) + JSON.stringify(key);
  assert.equal(shown.includes(secret), false);
  assert.deepEqual(Object.keys(key), ['name', 'organisation']);
});

test('a key object that was not read from a record cannot sign', async () => {
  const forged: ApiKey = { name: KEY_NAME, organisation: 'org_7Hk2mQ9vT4xR' };
  assert.throws(() => signText(forged, 'text'), { code: 'BAD_KEY' });
  await assert.rejects(mintToken({ key: forged, issuer: 'service', nonce: 'n', nowMs: NOW_MS }), {
    code: 'BAD_KEY',
  });
});

type Verify = (text: string, signature: string) => Promise<boolean>;

async function verifier(publicKey: {
  export(options: { format: 'jwk' }): webcrypto.JsonWebKey;
}): Promise<Verify> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const key = await webcrypto.subtle.importKey('jwk', publicKey.export({ format: 'jwk' }), algorithm, false, [
    'verify',
  ]);
  return (text, signature) =>
    webcrypto.subtle.verify(algorithm, key, Buffer.from(signature, 'base64url'), Buffer.from(text));
}

/** SEQUENCE { INTEGER r, INTEGER s } of r followed by s. */
function derOf(p1363: Buffer): Buffer {
  const integer = (half: Buffer): Buffer => {
    let start = 0;
    while (start < half.length - 1 && half[start] === 0) start++;
    const digits = half.subarray(start);
    const padded = (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits;
    return Buffer.concat([Buffer.of(0x02, padded.length), padded]);
  };
  const content = Buffer.concat([integer(p1363.subarray(0, 32)), integer(p1363.subarray(32))]);
  return Buffer.concat([Buffer.of(0x30, content.length), content]);
}
