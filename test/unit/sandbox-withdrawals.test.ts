// Withdrawals: refusals, the life cycle, the two shapes and the money.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { SettingsPatch } from '../../sandbox/server.ts';
import type { Answer } from '../support/sandbox-signer.ts';
import { assertDone, assertRefused, stage } from '../support/sandbox-stage.ts';

const first = (answer: Answer): Record<string, unknown> => answer.at('data.0') as Record<string, unknown>;

test('the create response has its shape, for bank and chain', async (t) => {
  const { withdraw, sandbox } = await stage(t);
  sandbox.clock.freeze();
  const now = new Date(sandbox.clock.now()).toISOString();
  const bank = await withdraw({ metadata: { tag: 'run-1' } });
  const { id, ...rest } = bank.at('data') as Record<string, unknown>;
  assert.match(String(id), /^wtd_[1-9A-HJ-NP-Za-km-z]{1,22}$/);
  assert.deepEqual(rest, {
    object: 'withdrawal',
    currency: 'MXN',
    assetType: 'FIAT',
    withdrawalAmount: '1000',
    status: 'PENDING',
    network: null,
    withdrawalAccountId: 'wac_7Hk2mQ9vT4xR',
    paymentDetails: null,
    actorId: 'usr_writer1',
    actorEmail: 'writer1@acme.example',
    createdAt: now,
    estimatedCompletionAt: new Date(sandbox.clock.now() + 1_500).toISOString(),
    metadata: { tag: 'run-1' },
  });
  sandbox.setSettings({ maskActors: true });
  const chain = await withdraw({
    currency: 'USDC',
    withdrawalAmount: '0.000001',
    withdrawalAccountId: 'wac_UsdcWa99et4',
  });
  assert.equal(chain.at('data.network'), 'ETHEREUM');
  assert.ok(!Object.hasOwn(chain.at('data') as object, 'paymentDetails'));
  assert.equal(chain.at('data.metadata'), null);
  assert.equal(chain.at('data.actorId'), 'usr_internal');
});

test('each thing wrong with a withdrawal has its refusal', async (t) => {
  const { withdraw, sandbox } = await stage(t, {
    accounts: [
      { id: 'wac_7Hk2mQ9vT4xR', currency: 'MXN', assetType: 'FIAT', status: 'LIVE', rail: 'SPEI' },
      { id: 'wac_unverified', currency: 'MXN', assetType: 'FIAT', status: 'UNVERIFIED' },
      { id: 'wac_suspended', currency: 'MXN', assetType: 'FIAT', status: 'SUSPENDED' },
      {
        id: '123e4567-e89b-12d3-a456-426614174000',
        currency: null,
        assetType: 'CRYPTO',
        status: 'LIVE',
        network: 'SOLANA',
        checksumFails: true,
        destination: { address: 'bad' },
      },
    ],
  });
  const wallet = '123e4567-e89b-12d3-a456-426614174000';
  const manyKeys = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v']));
  const bigValues = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`k${index}`, 'é'.repeat(400)]),
  );
  const cases: readonly (readonly [
    more: Readonly<Record<string, unknown>>,
    status: number,
    code: string,
    details?: object,
  ])[] = [
    [{ currency: 'mxn' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ currency: 'JPY' }, 400, 'WITHDRAWAL_CURRENCY_NOT_SUPPORTED', {}],
    [{ withdrawalAmount: '-1' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAmount: '0' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAmount: 1 }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAmount: '1.123456789' }, 400, 'VALIDATION_BODY_FAILED'],
    [
      { withdrawalAmount: '1.123' },
      422,
      'WITHDRAWAL_INVALID_AMOUNT_PRECISION',
      { maxDecimals: 2, currency: 'MXN' },
    ],
    [{ withdrawalAccountId: 'WAC_1' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAccountId: 'wac_0' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAccountId: undefined }, 400, 'VALIDATION_BODY_FAILED'],
    [{ withdrawalAccountId: 'wac_none' }, 404, 'WITHDRAWAL_ADDRESS_NOT_FOUND', { accountId: 'wac_none' }],
    [
      { withdrawalAccountId: 'wac_unverified' },
      409,
      'WITHDRAWAL_ADDRESS_NOT_VERIFIED',
      { accountId: 'wac_unverified' },
    ],
    [
      { withdrawalAccountId: 'wac_suspended' },
      403,
      'WITHDRAWAL_ACCOUNT_NOT_LIVE',
      { accountId: 'wac_suspended', status: 'SUSPENDED' },
    ],
    [{ currency: 'EUR' }, 422, 'WITHDRAWAL_ADDRESS_CURRENCY_MISMATCH', { expected: 'MXN', received: 'EUR' }],
    [{ withdrawalAccountId: wallet }, 422, 'WITHDRAWAL_ADDRESS_CURRENCY_MISMATCH'],
    [
      { currency: 'USDC', withdrawalAccountId: wallet },
      422,
      'WITHDRAWAL_ADDRESS_CHECKSUM_FAILED',
      { address: 'bad', network: 'SOLANA' },
    ],
    [
      { withdrawalAmount: '100000.01' },
      409,
      'WITHDRAWAL_INSUFFICIENT_BALANCE',
      { requiredAmount: '100000.01', availableAmount: '100000', currency: 'MXN' },
    ],
    [{ more: 1 }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: null }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: { a: 1 } }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: { '': 'a' } }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: { ['k'.repeat(41)]: 'a' } }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: { a: 'v'.repeat(501) } }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: manyKeys }, 400, 'VALIDATION_BODY_FAILED'],
    [{ metadata: bigValues }, 400, 'VALIDATION_BODY_FAILED'],
  ];
  for (const [more, status, code, details] of cases) {
    const refused = await withdraw(more);
    assertRefused(refused, status, code);
    if (details !== undefined) assert.deepEqual(refused.at('error.details'), details);
  }
  const switches: readonly (readonly [settings: SettingsPatch, status: number, code: string])[] = [
    [{ pendingDeposit: { currency: 'USD', amount: '50' } }, 409, 'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED'],
    [{ withdrawalsDisabled: true }, 403, 'WITHDRAWAL_DISABLED_FOR_ACCOUNT'],
  ];
  for (const [settings, status, code] of switches) {
    sandbox.setSettings(settings);
    assertRefused(await withdraw(), status, code);
  }
  assert.equal(sandbox.ledger().withdrawals.length, 0);
});

test('two refusals are 409 or 400, with the type that goes with it', async (t) => {
  const { withdraw, sandbox } = await stage(t, { settings: { withdrawalStateRefusalStatus: 400 } });
  const poor = await withdraw({ withdrawalAmount: '100001' });
  assertRefused(poor, 400, 'WITHDRAWAL_INSUFFICIENT_BALANCE');
  assert.equal(poor.at('error.type'), 'VALIDATION_ERROR');
  assertRefused(
    await withdraw({ withdrawalAccountId: 'wac_Unver1fied22' }),
    400,
    'WITHDRAWAL_ADDRESS_NOT_VERIFIED',
  );
  sandbox.setSettings({ withdrawalStateRefusalStatus: 409 });
  const conflict = await withdraw({ withdrawalAmount: '100001' });
  assert.deepEqual([conflict.status, conflict.at('error.type')], [409, 'CONFLICT']);
});

test('the net equity over all currencies is a ceiling of its own', async (t) => {
  const { withdraw, client, sandbox, quote, trade } = await stage(t, {
    balances: { USD: '0', MXN: '20000' },
    rates: { 'USD/MXN': '20' },
    settings: { creditLimitUsd: '100000' },
  });
  assertDone(await trade(await quote({ sellAmount: '900', buyCurrency: 'EUR' })));
  sandbox.clock.advance(10_000);
  sandbox.setBalances({ EUR: '0' });
  const balances = await client.get('/fx/balances');
  assert.equal(balances.at('data.aggregate.withdrawableBalance'), '100');
  const refused = await withdraw({ withdrawalAmount: '2000.01' });
  assertRefused(refused, 409, 'WITHDRAWAL_INSUFFICIENT_BALANCE');
  assert.equal(refused.at('error.details.availableAmount'), '2000');
  assertDone(await withdraw({ withdrawalAmount: '2000' }));
});

test('a withdrawal passes its states, and paymentDetails and transactionHash come when they come', async (t) => {
  const { withdraw, client, sandbox } = await stage(t);
  sandbox.clock.freeze();
  const bankId = (await withdraw()).textAt('data.id');
  const chain = { currency: 'USDC', withdrawalAmount: '10', withdrawalAccountId: 'wac_UsdcWa99et4' };
  const chainId = (await withdraw(chain)).textAt('data.id');
  const states: readonly (readonly [advanceMs: number, status: string, details: boolean, hash: boolean])[] = [
    [499, 'PENDING', false, false],
    [1, 'PROCESSING', false, true],
    [999, 'PROCESSING', false, true],
    [1, 'COMPLETED', true, true],
  ];
  for (const [ms, status, details, hash] of states) {
    sandbox.clock.advance(ms);
    const bank = await client.get(`/fx/withdrawals/${bankId}`);
    assert.equal(bank.at('data.status'), status);
    assert.equal(bank.at('data.paymentDetails') !== null, details);
    assert.equal(bank.at('data.transactionHash'), null);
    const onChain = await client.get(`/fx/withdrawals/${chainId}`);
    assert.ok(!Object.hasOwn(onChain.at('data') as object, 'paymentDetails'));
    assert.equal(onChain.at('data.transactionHash') !== null, hash);
  }
  assert.deepEqual(
    Object.keys((await client.get(`/fx/withdrawals/${bankId}`)).at('data.paymentDetails') as object),
    ['SPEI'],
  );
});

test('money is reserved, then paid or given back, as the withdrawal ends', async (t) => {
  const { withdraw, client, sandbox } = await stage(t, {
    settings: { withdrawalWords: { failed: 'REJECTED' } },
  });
  const ends: readonly (readonly [
    outcome: 'completed' | 'failed' | 'returned' | 'returned-after-completed' | 'stuck',
    afterEnd: string,
    later: string,
    totalLater: string,
  ])[] = [
    ['completed', 'COMPLETED', 'COMPLETED', '99000'],
    ['failed', 'REJECTED', 'REJECTED', '99000'],
    ['returned', 'RETURNED', 'RETURNED', '99000'],
    ['returned-after-completed', 'COMPLETED', 'RETURNED', '99000'],
    ['stuck', 'PROCESSING', 'PROCESSING', '99000'],
  ];
  for (const [outcome, afterEnd, later, total] of ends) {
    const fault = sandbox.addFault({
      operation: 'createWithdrawal',
      nth: 1,
      effect: { kind: 'outcome', outcome },
    });
    const id = (await withdraw()).textAt('data.id');
    const { MXN: reserved } = sandbox.ledger().balances;
    assert.equal(reserved?.accounts.reserved, '1000', outcome);
    sandbox.clock.advance(1_600);
    assert.equal((await client.get(`/fx/withdrawals/${id}`)).at('data.status'), afterEnd, outcome);
    sandbox.clock.advance(1_000);
    assert.equal((await client.get(`/fx/withdrawals/${id}`)).at('data.status'), later, outcome);
    assert.equal(sandbox.ledger().balances['MXN']?.total, outcome === 'stuck' ? '99000' : total, outcome);
    sandbox.clearFaults(fault);
  }
});

test('an account may decide how its withdrawals end', async (t) => {
  const { withdraw, sandbox } = await stage(t);
  const before = sandbox.ledger().balances['MXN'];
  assertDone(await withdraw({ withdrawalAccountId: 'wac_Fai1edPayout6' }));
  sandbox.clock.advance(2_000);
  assert.equal(sandbox.ledger().withdrawals[0]?.['status'], 'FAILED');
  assert.deepEqual(sandbox.ledger().balances['MXN'], before);
});

test('states and their lengths are settings', async (t) => {
  const { withdraw, client, sandbox } = await stage(t, {
    settings: {
      withdrawalSteps: [
        { status: 'NEW', forMs: 10_000 },
        { status: 'SENT', forMs: 10_000 },
        { status: 'ALMOST', forMs: 10_000 },
      ],
      withdrawalWords: { completed: 'PAID' },
    },
  });
  sandbox.clock.freeze();
  assert.equal((await withdraw()).at('data.status'), 'NEW');
  const seen: unknown[] = [];
  for (let step = 0; step < 3; step += 1) {
    sandbox.clock.advance(10_000);
    seen.push(first(await client.get('/fx/withdrawals'))['status']);
  }
  assert.deepEqual(seen, ['SENT', 'ALMOST', 'PAID']);
});

test('lists show metadata always, never, or only for some', async (t) => {
  const { withdraw, client, sandbox } = await stage(t);
  for (let item = 0; item < 6; item += 1)
    assertDone(await withdraw({ withdrawalAmount: '1', metadata: { tag: `${item}` } }));
  const shown = async (): Promise<number> =>
    ((await client.get('/fx/withdrawals')).at('data') as object[]).filter((row) =>
      Object.hasOwn(row, 'metadata'),
    ).length;
  assert.equal(await shown(), 6);
  sandbox.setSettings({ metadataInLists: 'never' });
  assert.equal(await shown(), 0);
  sandbox.setSettings({ metadataInLists: 'mixed' });
  const some = await shown();
  assert.ok(some > 0 && some < 6, `${some} of 6`);
});

test('list items have every field the interface requires', async (t) => {
  const { withdraw, client } = await stage(t);
  assertDone(await withdraw());
  const required =
    'object id currency assetType withdrawalAmount status network withdrawalAccountId transactionHash';
  const item = first(await client.get('/fx/withdrawals'));
  for (const field of [...required.split(' '), 'actorId', 'actorEmail', 'createdAt']) {
    assert.ok(Object.hasOwn(item, field), field);
  }
  assert.ok(!Object.hasOwn(item, 'estimatedCompletionAt'));
});
