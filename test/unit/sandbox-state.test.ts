// The sandbox as a program: its state file, its key file, and how it starts and stops.

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import { generateKey } from '../../sandbox/keys.ts';
import { runSandbox } from '../../sandbox/main.ts';
import type { Sandbox, SandboxOptions } from '../../sandbox/server.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { signerFor } from '../support/sandbox-signer.ts';
import { acmeKey, assertDone, keyOf } from '../support/sandbox-stage.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'sandbox-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('what was booked, answered and planned outlives a restart', async (t) => {
  const statePath = join(folder(t), 'state');
  const options: SandboxOptions = {
    statePath,
    seed: 1,
    keys: [keyOf(acmeKey)],
    balances: { USD: '1000', MXN: '5000' },
  };
  const withdrawal = { currency: 'MXN', withdrawalAmount: '10', withdrawalAccountId: 'wac_7Hk2mQ9vT4xR' };
  const before = await startSandbox(options);
  t.after(() => before.close());
  const client = signerFor(before.baseUrl, acmeKey);
  before.clock.freeze();
  before.setSettings({ settlementMs: { T0: 3_600_000 } });
  before.setRates({ 'USD/MXN': '20' });
  before.addFault({
    id: 'late',
    operation: 'createWithdrawal',
    nth: 2,
    effect: { kind: 'late-commit', ms: 7_200_000 },
  });
  before.addFault({ id: 'hold', operation: 'createWithdrawal', nth: 3, effect: { kind: 'hold' } });
  const quote = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '100', quoteForSeconds: 60 };
  const quoteId = (await client.post('/fx/quotes', quote)).textAt('data.id');
  const trade = await client.post('/fx/trades', { quoteId, clientReferenceId: 'ref' }, 'trade');
  const paid = await client.post('/fx/withdrawals', withdrawal, 'paid');
  await assert.rejects(client.post('/fx/withdrawals', withdrawal, 'late'));
  const held = client.post('/fx/withdrawals', withdrawal, 'held').catch((error: unknown) => error);
  await before.faultHit('hold');
  // As after a kill: the process is gone, the held request was never answered, the last line is cut short.
  const content = readFileSync(statePath, 'utf8');
  const ledger = before.ledger();
  before.clearFaults('hold');
  await held;
  await before.close();
  writeFileSync(statePath, content);
  appendFileSync(statePath, '["trades","tde_');

  const after = await startSandbox(options);
  t.after(() => after.close());
  const again = signerFor(after.baseUrl, acmeKey);
  assert.equal(after.settings().settlementMs.T0, 3_600_000);
  assert.equal(
    (await again.post('/fx/trades', { quoteId, clientReferenceId: 'ref' }, 'trade')).text,
    trade.text,
  );
  const replayed = await again.post('/fx/withdrawals', withdrawal, 'paid');
  assert.equal(replayed.headers['idempotency-replayed'], 'true');
  assert.equal(replayed.text, paid.text);
  assert.equal((await again.post('/fx/withdrawals', withdrawal, 'late')).status, 409, 'still in flight');
  assert.equal(
    (await again.post('/fx/withdrawals', withdrawal, 'held')).headers['idempotency-replayed'],
    'false',
  );
  assert.deepEqual(after.ledger().journal.slice(0, ledger.journal.length), ledger.journal);
  const refused = await again.post('/fx/quotes', quote);
  const retry = { quoteId: refused.textAt('data.id'), clientReferenceId: 'ref' };
  assert.equal((await again.post('/fx/trades', retry)).at('error.code'), 'TRADE_DUPLICATE_CLIENT_REFERENCE');

  after.clock.advance(3_600_000);
  assert.equal((await again.get('/fx/trades')).at('data.0.status'), 'SETTLED');
  assert.equal(after.ledger().withdrawals.length, 2);
  after.clock.advance(3_600_000);
  assert.equal(after.ledger().withdrawals.length, 3, 'the late booking came');
  const ids = after.ledger().journal.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test('a state file that is not one is refused', async (t) => {
  const statePath = join(folder(t), 'state');
  writeFileSync(statePath, 'hello\n\n');
  await assert.rejects(startSandbox({ statePath }), /line 1 is not a change/);
});

test('a missing key file is made, read back, and only for its owner', async (t) => {
  const keyFile = join(folder(t), 'keys', 'key.json');
  const said: string[] = [];
  const first = await runSandbox({ keyFile, json: true, write: (text) => said.push(text) });
  const record = JSON.parse(readFileSync(keyFile, 'utf8')) as { name: string; privateKey: string };
  assert.match(record.privateKey, /BEGIN PRIVATE KEY/);
  assert.equal(statSync(keyFile).mode & 0o777, 0o600);
  const line = JSON.parse(said.join('')) as Record<string, unknown>;
  assert.deepEqual(line, {
    baseUrl: first.sandbox.baseUrl,
    adminUrl: first.sandbox.adminUrl,
    keyFile,
    keys: [record.name],
    key: null,
  });
  await first.stop();
  await first.stopped;

  const second = await runSandbox({ keyFile, write: () => {} });
  t.after(second.stop);
  const key = { name: record.name, privateKeyPem: record.privateKey, publicKeyPem: '' };
  assertDone(await signerFor(second.sandbox.baseUrl, key).get('/fx/balances'));
});

test('a key file may hold several keys, private or public, with scope and mode', async (t) => {
  const keyFile = join(folder(t), 'keys.json');
  const [one, other] = [generateKey('org/a/apiKey/1'), generateKey('org/b/apiKey/2')];
  const records = [
    { name: one.name, privateKey: one.privateKeyPem, scope: 'read' },
    { name: other.name, publicKeyPem: other.publicKeyPem, mode: 'LIVE' },
  ];
  writeFileSync(keyFile, JSON.stringify(records));
  const running = await runSandbox({ keyFile, write: () => {} });
  t.after(running.stop);
  const { sandbox } = running;
  assertDone(await signerFor(sandbox.baseUrl, one).get('/fx/pairs'));
  assertDone(await signerFor(sandbox.baseUrl, other).get('/fx/pairs', { headers: { 'x-app-mode': 'LIVE' } }));
  writeFileSync(keyFile, JSON.stringify([{ name: 'org/a/apiKey/1' }]));
  await assert.rejects(runSandbox({ keyFile, write: () => {} }), /neither "privateKey" nor "publicKeyPem"/);
  writeFileSync(keyFile, '{');
  await assert.rejects(runSandbox({ keyFile, write: () => {} }), /is not JSON/);
});

test('without a key file the key is said, once', async (t) => {
  const said: string[] = [];
  const running = await runSandbox({ write: (text) => said.push(text) });
  t.after(running.stop);
  const record = /\{.*\}/.exec(said.join(''))?.[0] ?? '';
  const { name, privateKey } = JSON.parse(record) as { name: string; privateKey: string };
  const signer = signerFor(running.sandbox.baseUrl, { name, privateKeyPem: privateKey, publicKeyPem: '' });
  assertDone(await signer.get('/fx/withdrawal-accounts'));
});

test('options are checked, a taken port is said, and closing ends held requests', async () => {
  await assert.rejects(startSandbox({ settings: { storeErrors: 'some' as 'all' } }), /storeErrors/);
  await assert.rejects(startSandbox({ port: 70_000 }), /port/);
  const sandbox: Sandbox = await startSandbox({ keys: [keyOf(acmeKey)] });
  const port = Number(new URL(sandbox.baseUrl).port);
  await assert.rejects(startSandbox({ port }), { code: 'EADDRINUSE' });
  await assert.rejects(startSandbox({ adminPort: port }), { code: 'EADDRINUSE' });
  const fault = sandbox.addFault({ operation: 'listPairs', effect: { kind: 'hold' } });
  const held = signerFor(sandbox.baseUrl, acmeKey)
    .get('/fx/pairs')
    .then(
      ({ status }) => status,
      () => 0,
    );
  await sandbox.faultHit(fault);
  await sandbox.close();
  assert.ok([0, 200].includes(await held));
});
