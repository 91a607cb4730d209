// The admin interface over HTTP: every route, and what it refuses.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { adminRoutes } from '../../sandbox/admin.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Answer } from '../support/sandbox-signer.ts';
import { send } from '../support/sandbox-signer.ts';
import { acmeKey, assertDone, assertRefused, keyOf, stage } from '../support/sandbox-stage.ts';

type Ask = (route: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

const asker =
  (sandbox: Sandbox): Ask =>
  (route, body, headers = {}) => {
    const [method = '', target = ''] = route.split(' ');
    return send(
      new URL(sandbox.adminUrl),
      method,
      target,
      headers,
      body === undefined ? '' : JSON.stringify(body),
    );
  };

test('money, rates, accounts and settings are set and shown', async (t) => {
  const { sandbox, client, withdraw } = await stage(t);
  const ask = asker(sandbox);
  assert.equal((await ask('PUT /balances', { balances: { MXN: '5' } })).at('MXN.withdrawable'), '5');
  assert.match((await ask('POST /deposits', { currency: 'MXN', amount: '10' })).textAt('id'), /^dep_/);
  const stranger = { organization: 'else', mode: 'LIVE', balances: { JPY: '7' } };
  assert.equal((await ask('PUT /balances', stranger)).at('JPY.total'), '7');
  assert.equal((await ask('GET /ledger?organization=else&mode=LIVE')).at('balances.JPY.total'), '7');
  assert.equal((await ask('GET /ledger')).at('balances.MXN.total'), '15');
  assert.equal((await ask('GET /ledger')).at('balances.JPY'), undefined);

  assertDone(await ask('PUT /rates', { rates: { 'USD/MXN': '17' } }));
  const quote = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '2' };
  assert.equal((await client.post('/fx/quotes', quote)).at('data.quoteAmount'), '34');

  const account = { id: 'wac_new', currency: 'MXN', assetType: 'FIAT', status: 'LIVE' };
  assertDone(await ask('PUT /accounts', { accounts: [account] }));
  assertDone(await withdraw({ withdrawalAmount: '1', withdrawalAccountId: 'wac_new' }));
  assertDone(await ask('PUT /accounts', { accounts: [{ ...account, status: 'CLOSED' }] }));
  assertRefused(
    await withdraw({ withdrawalAmount: '1', withdrawalAccountId: 'wac_new' }),
    403,
    'WITHDRAWAL_ACCOUNT_NOT_LIVE',
  );

  assert.equal((await ask('PUT /settings', { settlementMs: { T2: 9 } })).at('settlementMs.T2'), 9);
  assert.equal((await ask('GET /settings')).at('settlementMs.T0'), 2_000);
  assertDone(await ask('PUT /keys', keyOf(acmeKey, { active: false })));
  assertRefused(await client.get('/fx/pairs'), 401, 'AUTH_API_KEY_INVALID');
  const state = await ask('GET /state');
  assert.deepEqual(Object.keys(JSON.parse(state.text) as object), [
    'clock',
    'settings',
    'rates',
    'keys',
    'books',
    'faults',
  ]);
  assert.ok(!state.text.includes('PUBLIC KEY'));
});

test('the clock is moved, frozen and let go', async (t) => {
  const { sandbox } = await stage(t);
  const ask = asker(sandbox);
  assert.equal(
    (await ask('PUT /clock', { frozen: true, at: 1_800_000_000_000 })).at('now'),
    '2027-01-15T08:00:00.000Z',
  );
  assert.equal((await ask('POST /clock/advance', { ms: 1_000 })).at('now'), '2027-01-15T08:00:01.000Z');
  assert.equal((await ask('GET /clock')).at('frozen'), true);
  assert.equal((await ask('PUT /clock', { frozen: false })).at('frozen'), false);
  const moved = await ask('PUT /clock', { offsetMs: 60_000 });
  assert.ok(Math.abs(Number(moved.at('offsetMs')) - 60_000) < 100);
});

test('faults are added, listed, released and removed', async (t) => {
  const { sandbox, withdraw } = await stage(t);
  const ask = asker(sandbox);
  const added = await ask('POST /faults', [
    { id: 'hold', operation: 'createWithdrawal', nth: 1, effect: { kind: 'hold' } },
    { operation: 'listPairs', effect: { kind: 'html' } },
  ]);
  assert.equal(added.at('ids.0'), 'hold');
  const held = withdraw();
  await sandbox.faultHit('hold');
  assert.deepEqual((await ask('GET /faults')).at('faults.0.hits'), 1);
  assert.equal((await ask('POST /faults/hold/release')).at('released'), 1);
  assertDone(await held);
  assert.equal((await ask('POST /faults/release')).at('released'), 0);
  assert.equal(((await ask('DELETE /faults/hold')).at('faults') as unknown[]).length, 1);
  assert.deepEqual((await ask('DELETE /faults')).at('faults'), []);
  assert.deepEqual(sandbox.faults(), []);
});

test('removing a fault lets go what it holds', async (t) => {
  const { sandbox, withdraw } = await stage(t);
  const fault = sandbox.addFault({ operation: 'createWithdrawal', effect: { kind: 'hold' } });
  const held = withdraw();
  await sandbox.faultHit(fault);
  sandbox.clearFaults(fault);
  assertDone(await held);
});

test('requests are logged without tokens, signatures and bodies, and can be awaited', async (t) => {
  const { sandbox, withdraw, client } = await stage(t);
  const ask = asker(sandbox);
  const awaited = sandbox.nextRequest(({ operation }) => operation === 'createWithdrawal');
  await client.get('/fx/pairs');
  await withdraw({ metadata: { ref: 'item-1' } }, 'key-1');
  const entry = await awaited;
  assert.deepEqual(
    [entry.reference, entry.idempotencyKey, entry.status, entry.replayed, entry.apiKey],
    ['item-1', 'key-1', 200, false, acmeKey.name],
  );
  const log = await ask('GET /requests');
  assert.equal((log.at('requests') as unknown[]).length, 2);
  assert.ok(!log.text.includes('Bearer') && !log.text.includes('eyJ'));
  assert.equal(((await ask('GET /requests?after=1')).at('requests') as unknown[]).length, 1);
});

test('a record can be given another status, and its money back', async (t) => {
  const { sandbox, withdraw, client, quote, trade } = await stage(t);
  const ask = asker(sandbox);
  const before = sandbox.ledger().balances;
  const withdrawalId = (await withdraw()).textAt('data.id');
  const tradeId = (await trade(await quote())).textAt('data.id');
  const back = { status: 'CANCELLED', money: 'returned' };
  for (const id of [withdrawalId, tradeId]) assertDone(await ask(`PUT /records/${id}/status`, back));
  sandbox.clock.advance(60_000);
  assert.equal((await client.get(`/fx/withdrawals/${withdrawalId}`)).at('data.status'), 'CANCELLED');
  assert.equal((await client.get(`/fx/trades/${tradeId}`)).at('data.status'), 'CANCELLED');
  assert.deepEqual(sandbox.ledger().balances, before);
});

test('what is not known or not well formed is refused with a clear message', async (t) => {
  const { sandbox } = await stage(t);
  const ask = asker(sandbox);
  const cases: readonly (readonly [route: string, body: unknown, status: number, message: RegExp])[] = [
    ['GET /nothing', undefined, 404, /no GET \/nothing; there is .*GET \/state/],
    ['PUT /balances', { balance: { USD: '1' } }, 400, /body has no field "balance"; its fields are balances/],
    ['PUT /balances', { balances: { USD: 1 } }, 400, /balances.USD is 1; it must be a decimal string/],
    ['PUT /balances', { balances: { usd: '1' } }, 400, /"usd"/],
    ['PUT /rates', { rates: { USDMXN: '1' } }, 400, /a pair like "USD\/MXN"/],
    ['PUT /rates', { rates: { 'USD/MXN': '0' } }, 400, /above zero/],
    ['PUT /settings', { storeError: 'all' }, 400, /no field "storeError"/],
    ['PUT /settings', { storeErrors: 'some' }, 400, /one of "all", "refusals", "none"/],
    ['PUT /settings', { withdrawalSteps: [] }, 400, /withdrawalSteps\[0\]/],
    ['POST /clock/advance', { ms: '1' }, 400, /whole number/],
    ['PUT /clock', { at: 1 }, 400, /frozen/],
    ['PUT /accounts', { accounts: [{ id: 'x' }] }, 400, /accounts\[0\].id is "x"/],
    ['PUT /keys', { name: 'a', publicKeyPem: 'b', scope: 'write', mode: 'LIVE' }, 400, /public key in PEM/],
    ['PUT /keys', { ...keyOf(acmeKey), name: 'a' }, 400, /org\/<organisation>/],
    ['PUT /keys', { ...keyOf(acmeKey), ipAllowlist: ['10.0.0.0/99'] }, 400, /range/],
    ['PUT /records/tde_1/status', { status: 'X' }, 400, /no trade or withdrawal "tde_1"/],
    ['GET /ledger?mode=TEST', undefined, 400, /one of "SANDBOX", "LIVE"/],
  ];
  for (const [route, body, status, message] of cases) {
    const answer = await ask(route, body);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.textAt('error.message'), message);
  }
  const base = new URL(sandbox.adminUrl);
  assert.equal((await send(base, 'PUT', '/settings', {}, '{')).status, 400);
  assert.equal((await ask('GET /state', undefined, { host: 'evil.example' })).status, 400);
  assert.equal((await ask('GET /state', undefined, { origin: 'http://evil.example' })).status, 400);
});

test('both ports listen on this machine only', async (t) => {
  const { sandbox } = await stage(t);
  for (const url of [sandbox.baseUrl, sandbox.adminUrl]) assert.equal(new URL(url).hostname, '127.0.0.1');
  assert.match(sandbox.baseUrl, /^http:\/\/127\.0\.0\.1:\d+\/v3$/);
  assert.ok(Object.keys(adminRoutes).length > 15);
});
