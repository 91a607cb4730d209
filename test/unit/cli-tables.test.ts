/** `balances`, `accounts` and `ledger` against a sandbox: what they show, what they never show, and how they end. */
import { amountText } from '../../domain/currencies.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { typeCommand } from '../support/typed-command.ts';
import { accountsText } from '../../cli/commands/accounts.ts';
import { journalText, referencesText } from '../../cli/commands/ledger.ts';
import type { Sandbox, SandboxOptions } from '../../sandbox/server.ts';
import { acmeKey, stage } from '../support/sandbox-stage.ts';

type Place = { readonly sandbox: Sandbox; readonly env: NodeJS.ProcessEnv; readonly cwd: string };
type Ended = { readonly exitCode: number; readonly stdout: string; readonly stderr: string };

/** A sandbox with one key, and the environment of somebody who uses it. */
async function openPlace(t: TestContext, options: SandboxOptions = {}) {
  const { client, sandbox, quote, trade, withdraw } = await stage(t, options);
  const cwd = mkdtempSync(join(tmpdir(), 'cambist-tables-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const keyFile = join(cwd, 'key.json');
  const record = { name: acmeKey.name, privateKey: acmeKey.privateKeyPem };
  writeFileSync(keyFile, JSON.stringify(record), { mode: 0o600 });
  const env = {
    CAMBIST_BASE_URL: sandbox.baseUrl,
    CAMBIST_KEY_FILE: keyFile,
    CAMBIST_APP_MODE: 'SANDBOX',
    CAMBIST_SANDBOX_ADMIN_URL: sandbox.adminUrl,
  };
  return { client, sandbox, quote, trade, withdraw, env, cwd };
}

const cambist = ({ env, cwd }: Pick<Place, 'env' | 'cwd'>, argv: readonly string[], columns = 80) =>
  typeCommand(argv, { env, cwd, columns, now: () => Date.now() });

/** The rows of a table that was printed, each with its cells. */
function rowsOf(text: string): string[][] {
  return text.split('\n').map((line) => line.trim().split(/ {2,}/));
}

function documentOf({ stdout }: Ended): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('an amount has the decimals of its currency, and keeps those that it has beyond them', () => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['9900', 2, '9,900.00'],
    ['9900.5', 2, '9,900.50'],
    ['9900.505', 2, '9,900.505'],
    ['-0.10', 2, '-0.10'],
    ['12', 0, '12'],
    ['0', 6, '0.000000'],
  ];
  for (const [value, decimals, expected] of cases) assert.equal(amountText(value, decimals), expected);
});

test('balances shows each currency with its decimals, the ceiling and the credit line', async (t) => {
  const place = await openPlace(t, { balances: { USD: '10000', JPY: '500', USDC: '1.5' } });
  const { exitCode, stdout, stderr } = await cambist(place, ['balances']);
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(rowsOf(stdout).slice(0, 4), [
    ['CURRENCY', 'WITHDRAWABLE', 'TOTAL'],
    ['USD', '10,000.00', '10,000.00'],
    ['JPY', '500', '500'],
    ['USDC', '1.500000', '1.500000'],
  ]);
  assert.match(stdout, /In all currencies together, at most [0-9,.]+ USD can be withdrawn\./);
  assert.match(stdout, /There is no credit line\./);
  const document = documentOf(await cambist(place, ['balances', '--json']));
  assert.deepEqual(document['balances'], [
    { currency: 'USD', withdrawable: '10000', total: '10000' },
    { currency: 'JPY', withdrawable: '500', total: '500' },
    { currency: 'USDC', withdrawable: '1.5', total: '1.5' },
  ]);
  assert.deepEqual(document['creditLine'], { kind: 'none' });
  assert.equal(document['exitCode'], 0);
});

test('a credit line is told with what is used of it, and one that cannot be read is not called none', async (t) => {
  const place = await openPlace(t, { settings: { creditLimitUsd: '50000' } });
  const open = await cambist(place, ['balances']);
  assert.match(open.stdout, /Credit line: 0\.00 USD of 50,000\.00 USD are used, 50,000\.00 USD are left\./);
  place.sandbox.addFault({ operation: 'getExposures', effect: { kind: 'html', status: 502 } });
  const unread = await cambist(place, ['balances']);
  assert.equal(unread.exitCode, 0);
  assert.match(unread.stdout, /The credit line could not be read\. The service/);
});

test('accounts lists every account over all pages, and never whose it is', async (t) => {
  const many = Array.from({ length: 130 }, (_, index) => ({
    id: `wac_Many${index + 111}`.replaceAll('0', 'z'),
    currency: 'MXN',
    assetType: 'FIAT' as const,
    status: index === 0 ? 'UNVERIFIED' : 'LIVE',
    destination: { accountName: 'Canary Beneficiary', accountNumber: '0321800001CANARY' },
  }));
  const place = await openPlace(t, { accounts: many });
  const text = await cambist(place, ['accounts']);
  assert.equal(text.exitCode, 0, text.stderr);
  const rows = rowsOf(text.stdout);
  assert.deepEqual(rows[0], ['ACCOUNT', 'CURRENCY', 'STATUS']);
  const wanted = many.map(({ id, status }) => [id, 'MXN', status]);
  assert.deepEqual(new Set(rows.slice(1, 131).map(String)), new Set(wanted.map(String)));
  assert.match(text.stdout, /130 accounts of acme\./);
  const json = await cambist(place, ['accounts', '--json']);
  const { accounts } = documentOf(json) as { accounts: Record<string, unknown>[] };
  assert.equal(accounts.length, 130);
  assert.deepEqual(Object.keys(accounts[0] ?? {}), ['id', 'currency', 'status']);
  for (const { stdout, stderr } of [text, json]) assert.doesNotMatch(stdout + stderr, /canary/i);
});

test('a list of accounts that cannot be read to its end is not shown', async (t) => {
  const place = await openPlace(t);
  place.sandbox.addFault({
    operation: 'listWithdrawalAccounts',
    nth: 1,
    effect: { kind: 'html', status: 502 },
  });
  const { exitCode, stdout } = await cambist(place, ['accounts']);
  assert.equal(exitCode, 7);
  assert.equal(stdout, '');
});

test('the ledger shows what stands on each account, and each entry with the record that moved the money', async (t) => {
  const place = await openPlace(t, {
    balances: { USD: '10000', MXN: '0' },
    rates: { 'USD/MXN': '18.50' },
    settings: { settlementMs: { T0: 0 } },
  });
  const quoteId = await place.quote({ sellAmount: '100.00' });
  const tradeId = (await place.trade(quoteId, 'a.b.c')).textAt('data.id');
  const { exitCode, stdout, stderr } = await cambist(place, ['ledger']);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^Ledger of acme \(sandbox\)$/m);
  const rows = rowsOf(stdout);
  assert.deepEqual(rows.slice(2, 4), [
    ['CURRENCY', 'WITHDRAWABLE', 'RESERVED', 'SOLD', 'INCOMING', 'TOTAL'],
    ['USD', '9,900.00', '0.00', '0.00', '0.00', '9,900.00'],
  ]);
  const executed = rows.findIndex((row) => row[1] === 'trade executed');
  assert.deepEqual(rows[executed]?.slice(1), ['trade executed', 'withdrawable', '-100.00', 'USD']);
  assert.deepEqual(rows[executed + 1], [tradeId, 'sold', '+100.00', 'USD']);
  assert.deepEqual(rows.slice(-3, -1), [
    ['RECORD', 'REFERENCE'],
    [tradeId, 'a.b.c'],
  ]);
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  const document = documentOf(await cambist(place, ['ledger', '--json']));
  assert.deepEqual(document['references'], { [tradeId]: 'a.b.c' });
  assert.deepEqual(
    document['journal'],
    JSON.parse(JSON.stringify(place.sandbox.ledger().journal.map(({ book: _book, ...entry }) => entry))),
  );
});

test('a table makes no line of what the service or the sandbox says, and obeys none of it', () => {
  const hostile = 'LIVE\u001b[2J\nwac_Forged  MXN  LIVE\u202e';
  const accounts = accountsText([{ id: 'wac_1', currency: 'MXN', status: hostile }], 80);
  const line = { account: hostile, currency: 'MXN', amount: '1' };
  const entry = { id: 'e', at: '2026-11-21T12:00:00.000Z', what: hostile, recordId: null, lines: [line] };
  const references = referencesText([{ ...entry, recordId: 'tde_1' }], { tde_1: hostile }, 200);
  for (const text of [accounts, journalText([entry], 0, 200), references]) {
    assert.equal(text.split('\n').length, 2, text);
    // oxlint-disable-next-line no-control-regex -- these are what must not come out
    assert.doesNotMatch(text, /[\u001b\u202e]/);
  }
});

test('a long reference fits the terminal, and a withdrawal is told by its own', async (t) => {
  const place = await openPlace(t, { balances: { MXN: '1000' } });
  const tag = 'mxn-supplier-north-america.2026-11-21-third.supplier-of-machines~2';
  const id = (await place.withdraw({ metadata: { cambist: tag } })).textAt('data.id');
  const document = documentOf(await cambist(place, ['ledger', '--json']));
  assert.deepEqual(document['references'], { [id]: tag });
  const { stdout } = await cambist(place, ['ledger']);
  for (const line of stdout.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(stdout.replaceAll(/\s/g, '').includes(tag), stdout);
});

test('the ledger shows the newest 50 entries of a long journal, and says so', async (t) => {
  const place = await openPlace(t, { balances: {} });
  for (let index = 1; index <= 60; index += 1)
    place.sandbox.deposit({ currency: 'EUR', amount: String(index) });
  const { stdout } = await cambist(place, ['ledger']);
  assert.equal(stdout.match(/ deposit /g)?.length, 50);
  assert.match(stdout, /\+60\.00/);
  assert.doesNotMatch(stdout, /\+10\.00/);
  assert.match(stdout, /The newest 50 of 60 entries; --json has all\./);
});

for (const [name, address, exitCode, code] of [
  ['no admin address', undefined, 3, 'SANDBOX_ADMIN_MISSING'],
  ['an admin address on another machine', 'http://example.com:7301', 3, 'SANDBOX_ADMIN_FOREIGN'],
  ['an admin address that is none', 'sandbox', 3, 'SANDBOX_ADMIN_FOREIGN'],
  ['nobody at the admin address', 'http://127.0.0.1:1', 7, 'SANDBOX_UNREACHABLE'],
] as const) {
  test(`the ledger says what is wrong with ${name}`, async () => {
    const env = { CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3', CAMBIST_SANDBOX_ADMIN_URL: address };
    const ended = await cambist({ env, cwd: tmpdir() }, ['ledger', '--json']);
    const document = documentOf(ended);
    assert.deepEqual(
      (document['problems'] as { code: string }[]).map((problem) => problem.code),
      [code],
    );
    assert.equal(ended.exitCode, exitCode);
  });
}

test('what answers at the admin address and is no sandbox is not shown', async (t) => {
  const place = await openPlace(t);
  const env = { ...place.env, CAMBIST_SANDBOX_ADMIN_URL: place.sandbox.baseUrl };
  const { exitCode, stderr } = await cambist({ env, cwd: place.cwd }, ['ledger']);
  assert.equal(exitCode, 7);
  assert.match(stderr, /^SANDBOX_UNREACHABLE http:\/\/127\.0\.0\.1:\d+: /);
});

for (const command of ['balances', 'accounts', 'ledger']) {
  test(`${command} without any configuration says first what to type`, async () => {
    const { exitCode, stderr } = await cambist({ env: {}, cwd: tmpdir() }, [command]);
    assert.equal(exitCode, 3);
    assert.match(stderr, /^NOT_SET_UP: type `npx cambist up` in this folder/);
  });
}

for (const command of ['balances', 'accounts']) {
  test(`${command} with a key that the service does not know is configuration`, async (t) => {
    const place = await openPlace(t, { keys: [] });
    const { exitCode, stderr } = await cambist(place, [command]);
    assert.equal(exitCode, 3);
    assert.match(stderr, /^AUTH_API_KEY_INVALID/);
  });
}
