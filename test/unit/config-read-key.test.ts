/** Least privilege: where there is a key that only reads, every read is signed by it, and the other one signs what is sent. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient, loadSettings } from '../../config/config.ts';
import { generateKey, organizationOf } from '../../sandbox/keys.ts';
import { startSandbox } from '../../sandbox/server.ts';

test('a client that reads signs by the read key, and one that writes by the other', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-read-key-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const writer = generateKey();
  const reader = generateKey(`org/${organizationOf(writer.name)}/apiKey/reader`);
  const keys = [
    { name: writer.name, publicKeyPem: writer.publicKeyPem, scope: 'write', mode: 'SANDBOX' },
    { name: reader.name, publicKeyPem: reader.publicKeyPem, scope: 'read', mode: 'SANDBOX' },
  ] as const;
  const sandbox = await startSandbox({ keys });
  t.after(() => sandbox.close());
  const fileOf = ({ name, privateKeyPem: privateKey }: typeof writer): string => {
    const file = join(folder, `${name.replaceAll('/', '-')}.json`);
    writeFileSync(file, JSON.stringify({ name, privateKey }), { mode: 0o600 });
    return file;
  };
  const env = {
    CAMBIST_APP_MODE: 'SANDBOX',
    CAMBIST_BASE_URL: sandbox.baseUrl,
    CAMBIST_KEY_FILE: fileOf(writer),
    CAMBIST_READ_KEY_FILE: fileOf(reader),
  };
  const settings = await loadSettings(env, folder);
  for (const use of ['read', 'write'] as const) {
    const client = createClient(settings, use);
    await client.balances();
    await client.close();
  }
  assert.deepEqual(
    sandbox.requests().map(({ apiKey }) => apiKey),
    [reader.name, writer.name],
  );
});
