/** The service's address and the API key record: what is accepted, and what each refusal says. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { parseAddress } from '../../service/address.ts';
import type { Mode } from '../../domain/service/records.ts';
import {
  type ConfigurationCode,
  type ConfigurationProblem,
  ServiceConfigurationError,
} from '../../service/errors.ts';
import { parseKey, readKeyFile } from '../../service/key.ts';
import { KEY_NAME } from '../support/service-fixture.ts';

test('an address ends in /v3 and is https, or http on this machine', () => {
  const good: readonly (readonly [text: string, origin: string, basePath: string])[] = [
    ['https://api.example.com/v3', 'https://api.example.com', '/v3'],
    ['https://API.example.com:8443/v3', 'https://api.example.com:8443', '/v3'],
    ['https://api.example.com/gateway/v3', 'https://api.example.com', '/gateway/v3'],
    ['http://127.0.0.1:9000/v3', 'http://127.0.0.1:9000', '/v3'],
    ['http://localhost:9000/v3', 'http://localhost:9000', '/v3'],
    ['http://[::1]:9000/v3', 'http://[::1]:9000', '/v3'],
  ];
  for (const [text, origin, basePath] of good) assert.deepEqual(parseAddress(text), { origin, basePath });
});

test('an address that cannot be used is refused with its code, the place and the fix', () => {
  const bad: readonly (readonly [text: string, code: ConfigurationCode])[] = [
    ['', 'ADDRESS_MISSING'],
    ['  ', 'ADDRESS_MISSING'],
    ['api.example.com/v3', 'ADDRESS_NOT_URL'],
    ['https://', 'ADDRESS_NOT_URL'],
    [' https://api.example.com/v3', 'ADDRESS_NOT_URL'],
    ['https://api.example.com/v3\n', 'ADDRESS_NOT_URL'],
    ['https://api.example.com\\v3', 'ADDRESS_NOT_URL'],
    ['https://api example.com/v3', 'ADDRESS_NOT_URL'],
    ['https://api.example.com:99999/v3', 'ADDRESS_NOT_URL'],
    ['ftp://api.example.com/v3', 'ADDRESS_SCHEME'],
    ['https://me:canary-secret@api.example.com/v3', 'ADDRESS_CREDENTIALS'],
    ['https://api.example.com/v3?canary-secret=1', 'ADDRESS_QUERY'],
    ['https://api.example.com/v3#x', 'ADDRESS_QUERY'],
    ['https://api.example.com/v1', 'ADDRESS_SUNSET'],
    ['https://api.example.com/v1/', 'ADDRESS_SUNSET'],
    ['https://api.example.com/v3/', 'ADDRESS_TRAILING_SLASH'],
    ['https://api.example.com', 'ADDRESS_VERSION'],
    ['https://api.example.com/', 'ADDRESS_VERSION'],
    ['https://api.example.com/V3', 'ADDRESS_VERSION'],
    ['https://api.example.com/v3/fx', 'ADDRESS_VERSION'],
    ['https://api.example.com/v33', 'ADDRESS_VERSION'],
    ['https://api.example.com//v3', 'ADDRESS_PATH'],
    ['https://api.example.com/a/../v3', 'ADDRESS_PATH'],
    ['https://api.example.com/%61/v3', 'ADDRESS_PATH'],
    ['https://api.example.com/é/v3', 'ADDRESS_PATH'],
    ['http://api.example.com/v3', 'ADDRESS_PLAIN_HTTP'],
    ['http://127.0.0.1.example.com/v3', 'ADDRESS_PLAIN_HTTP'],
    ['http://10.0.0.1/v3', 'ADDRESS_PLAIN_HTTP'],
  ];
  for (const [text, code] of bad) {
    const error = refusal(() => parseAddress(text));
    assert.equal(error.code, code, text);
    assert.equal(error.place, 'CAMBIST_BASE_URL');
    assert.ok(error.problem.endsWith('.') && error.fix.endsWith('.'), text);
    assert.equal(inspect(error).includes('canary-secret'), false);
  }
});

test('a key record with PKCS#8 P-256 is read; further fields do not matter', async () => {
  const text = JSON.stringify({
    name: KEY_NAME,
    privateKey: P256_PEM,
    createdAt: '2026-01-01',
    scope: 'write',
  });
  assert.deepEqual(await parseKey(text, 'test'), { name: KEY_NAME, organisation: 'org_7Hk2mQ9vT4xR' });
});

test('each wrong key record is refused with its code, and none of its text is quoted', async () => {
  const record = (privateKey: unknown, name: unknown = KEY_NAME): string =>
    JSON.stringify({ name, privateKey });
  const bad: readonly (readonly [text: string, code: ConfigurationCode])[] = [
    ['', 'KEY_NOT_JSON'],
    [P256_PEM, 'KEY_NOT_JSON'],
    [record(P256_PEM).slice(0, -1), 'KEY_NOT_JSON'],
    [`{"name":"${KEY_NAME}","name":"${KEY_NAME}","privateKey":"x"}`, 'KEY_NOT_JSON'],
    ['[]', 'KEY_FIELD_MISSING'],
    ['null', 'KEY_FIELD_MISSING'],
    [JSON.stringify({ privateKey: P256_PEM }), 'KEY_FIELD_MISSING'],
    [JSON.stringify({ name: KEY_NAME }), 'KEY_FIELD_MISSING'],
    [record(7), 'KEY_FIELD_MISSING'],
    [record(''), 'KEY_FIELD_MISSING'],
    [record(P256_PEM, 'org/a/apikey/b'), 'KEY_NAME_FORMAT'],
    [record(P256_PEM, 'org//apiKey/b'), 'KEY_NAME_FORMAT'],
    [record(P256_PEM, 'org/a/apiKey/b/c'), 'KEY_NAME_FORMAT'],
    [record(P256_PEM, 'org/a/apiKey/b\n'), 'KEY_NAME_FORMAT'],
    [record('canary-secret'), 'KEY_NOT_PEM'],
    [record(P256_PEM.replaceAll('\n', '\\n')), 'KEY_NOT_PEM'],
    [record(P256_PEM.replace(/\n.{20}/, '\n')), 'KEY_NOT_PEM'],
    [record('-----BEGIN OPENSSH PRIVATE KEY-----\ncanary-secret\n'), 'KEY_NOT_PEM'],
    [record(ec('P-384')), 'KEY_WRONG_CURVE'],
    [record(ec('secp256k1')), 'KEY_WRONG_CURVE'],
    [record(pkcs8(generateKeyPairSync('ed25519').privateKey)), 'KEY_WRONG_CURVE'],
    [record(pkcs8(RSA.privateKey)), 'KEY_RSA'],
    [record(RSA.privateKey.export({ type: 'pkcs1', format: 'pem' })), 'KEY_RSA'],
    [record(P256.publicKey.export({ type: 'spki', format: 'pem' })), 'KEY_PUBLIC'],
    [
      record(
        P256.privateKey.export({
          type: 'pkcs8',
          format: 'pem',
          cipher: 'aes-256-cbc',
          passphrase: 'canary-secret',
        }),
      ),
      'KEY_ENCRYPTED',
    ],
    [
      record(
        P256.privateKey.export({
          type: 'sec1',
          format: 'pem',
          cipher: 'aes-256-cbc',
          passphrase: 'canary-secret',
        }),
      ),
      'KEY_ENCRYPTED',
    ],
    [record(P256.privateKey.export({ type: 'sec1', format: 'pem' })), 'KEY_SEC1'],
  ];
  const secretLine = P256_PEM.split('\n')[1] ?? 'none';
  await Promise.all(
    bad.map(async ([text, code]) => {
      const error = await rejection(parseKey(text, 'CAMBIST_KEY_FILE "k.json"'));
      assert.equal(error.code, code, error.message);
      assert.ok(error.place.startsWith('CAMBIST_KEY_FILE "k.json"'));
      assert.ok(error.problem !== '' && error.fix !== '');
      const shown = inspect(error, { depth: 20, showHidden: true });
      assert.equal(shown.includes(secretLine.slice(0, 12)) || shown.includes('canary-secret'), false, code);
    }),
  );
});

test('a key file that others may read, or its group may write, is a warning in sandbox and an error in live', async (t) => {
  const path = keyFile(t, 'key.json');
  const closed = await readKeyFile({ path, mode: 'LIVE' });
  assert.deepEqual(closed, { key: { name: KEY_NAME, organisation: 'org_7Hk2mQ9vT4xR' }, warnings: [] });
  const cases: readonly (readonly [mode: number, who: string])[] = [
    [0o604, 'other users of this machine may use the file'],
    [0o601, 'other users of this machine may use the file'],
    [0o602, 'other users of this machine may use the file'],
    [0o777, 'other users of this machine may use the file'],
    [0o620, 'the group of the file may write it'],
    [0o660, 'the group of the file may write it'],
  ];
  for (const [mode, who] of cases) {
    chmodSync(path, mode);
    assert.deepEqual(await warningsIn('SANDBOX', path), [tooOpen(path, who, mode)]);
    assert.equal((await rejection(readKeyFile({ path, mode: 'LIVE' }))).code, 'KEY_FILE_TOO_OPEN');
  }
});

test('a key file that its group may read is a warning in sandbox and in live', async (t) => {
  const path = keyFile(t, 'key.json');
  for (const mode of [0o640, 0o440, 0o650]) {
    chmodSync(path, mode);
    for (const appMode of ['SANDBOX', 'LIVE'] as const)
      assert.deepEqual(await warningsIn(appMode, path), [
        tooOpen(path, 'the group of the file may read it', mode),
      ]);
  }
});

test('a key file that is not there, a folder, a pipe or huge is refused', { timeout: 10_000 }, async (t) => {
  const path = keyFile(t, 'key.json');
  execFileSync('sh', ['-c', 'mkfifo "$0"', `${path}.pipe`]);
  assert.equal(
    (await rejection(readKeyFile({ path: `${path}.pipe`, mode: 'SANDBOX' }))).code,
    'KEY_FILE_UNREADABLE',
  );
  assert.equal(
    (await rejection(readKeyFile({ path: `${path}.none`, mode: 'SANDBOX' }))).code,
    'KEY_FILE_NOT_FOUND',
  );
  assert.equal(
    (await rejection(readKeyFile({ path: tmpdir(), mode: 'SANDBOX' }))).code,
    'KEY_FILE_UNREADABLE',
  );
  writeFileSync(path, ' '.repeat(70_000));
  const error = await rejection(readKeyFile({ path, mode: 'SANDBOX', place: 'CAMBIST_READ_KEY_FILE' }));
  assert.equal(error.code, 'KEY_NOT_JSON');
  assert.equal(error.place, `CAMBIST_READ_KEY_FILE "${path}"`);
});

const P256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const P256_PEM = pkcs8(P256.privateKey);

function pkcs8(key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function ec(namedCurve: string): string {
  return pkcs8(generateKeyPairSync('ec', { namedCurve }).privateKey);
}

async function warningsIn(mode: Mode, path: string): Promise<readonly ConfigurationProblem[]> {
  return (await readKeyFile({ path, mode })).warnings;
}

function tooOpen(path: string, who: string, mode: number): ConfigurationProblem {
  return {
    code: 'KEY_FILE_TOO_OPEN',
    place: `CAMBIST_KEY_FILE "${path}"`,
    problem: `${who} (mode 0${mode.toString(8)}).`,
    fix: `Run: chmod 600 "${path}".`,
  };
}

function keyFile(t: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-key-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ name: KEY_NAME, privateKey: P256_PEM }), { mode: 0o600 });
  return path;
}

function refusal(run: () => unknown): ServiceConfigurationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceConfigurationError) return error;
    throw error;
  }
  return assert.fail('it was accepted');
}

async function rejection(promise: Promise<unknown>): Promise<ServiceConfigurationError> {
  const [result] = await Promise.allSettled([promise]);
  assert.equal(result.status, 'rejected');
  assert.ok(result.reason instanceof ServiceConfigurationError, String(result.reason));
  return result.reason;
}
