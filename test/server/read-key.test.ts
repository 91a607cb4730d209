/** Least privilege: a worker reads with its read key and writes with the other, and commands need no key that may write. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateKey, organizationOf } from '../../sandbox/keys.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

test('only what a worker sends is signed by the key with write scope; commands need read scope alone', async () => {
  const stage = await openStage({ balances: { USD: '100000' }, rates: { 'USD/MXN': '17.25' } });
  try {
    const keyFile = stage.env['CAMBIST_KEY_FILE'] ?? '';
    const { name: writer } = JSON.parse(await readFile(keyFile, 'utf8')) as { readonly name: string };
    const reader = generateKey(`org/${organizationOf(writer)}/apiKey/reader`);
    const { name, privateKeyPem: privateKey, publicKeyPem } = reader;
    stage.sandbox.putKey({ name, publicKeyPem, scope: 'read', mode: 'SANDBOX' });
    const readKey = join(stage.folder, 'read-key.json');
    await writeFile(readKey, JSON.stringify({ name, privateKey }), { mode: 0o600 });
    await stage.startWorker({ env: { CAMBIST_READ_KEY_FILE: readKey } });

    const policy = uniqueName('p');
    const run = stage.find(convertPolicy(), { name: policy });
    await writeFile(
      join(stage.folder, 'p.yaml'),
      convertPolicy().replace('name: replaced', `name: ${policy}`),
    );
    const env = { CAMBIST_KEY_FILE: readKey };
    const type = async (...argv: readonly string[]): Promise<void> =>
      assertExit(await command(stage, argv, { env }), 0);
    const { id } = run.name;
    const runText = `${policy}.${id}`;
    await type('plan', 'p.yaml', '--quote');
    await type('halt', '--policy', policy, '--reason', 'not yet');
    await type('resume', '--policy', policy, '--yes');
    await type('run', 'p.yaml', '--id', id, '--wait');
    assertDoneOnce(run, await run.report());
    await type('status', runText);
    await type('report', runText);
    await type('balances');
    await type('accounts');
    await type('doctor');

    const signedBy = (key: string): readonly string[] => {
      const requests = stage.sandbox.requests().filter(({ apiKey }) => apiKey === key);
      return [...new Set(requests.map(({ operation }) => operation ?? ''))].toSorted((one, other) =>
        one.localeCompare(other),
      );
    };
    assert.deepEqual(signedBy(writer), ['createQuote', 'createTrade', 'createWithdrawal']);
    assert.deepEqual(
      signedBy(name).filter((operation) => operation.startsWith('create')),
      ['createQuote'],
    );
  } finally {
    await stage.close();
  }
});
