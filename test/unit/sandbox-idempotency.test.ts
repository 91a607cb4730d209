// The idempotency cache: replays, mismatches, keys in flight, retention, and what is kept of errors.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import { generateKey } from '../../sandbox/keys.ts';
import type { SettingsPatch } from '../../sandbox/server.ts';
import { signerFor } from '../support/sandbox-signer.ts';
import { acmeKey, assertDone, assertRefused, keyOf, stage } from '../support/sandbox-stage.ts';

const quoteBody = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '10', quoteForSeconds: 60 };

test('a write needs a key of the right form', async (t) => {
  const { client } = await stage(t);
  const missing = await client.call({ method: 'POST', path: '/fx/trades', body: {} });
  assertRefused(missing, 428, 'IDEMPOTENCY_KEY_MISSING');
  assert.deepEqual(missing.at('error.details'), { endpoint: 'POST /fx/trades' });
  assert.equal(missing.headers['idempotency-replayed'], 'false');
  for (const key of ['a b', 'a:b', 'a/b', 'é', 'x'.repeat(256)]) {
    const headers = { 'idempotency-key': Buffer.from(key, 'utf8').toString('latin1') };
    const refused = await client.call({ method: 'POST', path: '/fx/quotes', body: quoteBody, headers });
    assertRefused(refused, 400, 'IDEMPOTENCY_KEY_INVALID');
  }
  assertDone(await client.post('/fx/quotes', quoteBody, 'A-z_0'.repeat(51)));
});

test('the same key with the same bytes replays, with other bytes it is a mismatch', async (t) => {
  const { client, sandbox } = await stage(t);
  sandbox.clock.freeze();
  const first = await client.post('/fx/quotes', quoteBody, 'key-1');
  assert.equal(first.headers['idempotency-replayed'], 'false');
  const second = await client.post('/fx/quotes', quoteBody, 'key-1');
  assert.equal(second.headers['idempotency-replayed'], 'true');
  assert.equal(second.text, first.text);
  assert.notEqual(second.headers['x-trace-id'], first.headers['x-trace-id']);
  const reordered = JSON.stringify(Object.fromEntries(Object.entries(quoteBody).toReversed()));
  const mismatch = await client.post('/fx/quotes', reordered, 'key-1');
  assertRefused(mismatch, 422, 'IDEMPOTENCY_MISMATCH');
  assert.equal(mismatch.at('error.type'), 'CONFLICT');
  const hash = createHash('sha256').update(JSON.stringify(quoteBody)).digest('hex');
  assert.equal(mismatch.at('error.details.originalRequestHash'), hash);
  assert.equal(mismatch.at('error.details.firstSeenAt'), first.at('data.createdAt'));
  assert.equal(sandbox.ledger().quotes.length, 1);
});

test('keys are kept for 30 minutes, 24 hours and 7 days', async (t) => {
  const { client, sandbox, quote, withdraw } = await stage(t);
  const tradeBody = { quoteId: await quote() };
  const retentions: readonly (readonly [ms: number, send: () => ReturnType<typeof withdraw>])[] = [
    [1_800_000, () => client.post('/fx/quotes', quoteBody, 'kept')],
    [86_400_000, () => client.post('/fx/trades', tradeBody, 'kept')],
    [604_800_000, () => withdraw({}, 'kept')],
  ];
  for (const [ms, send] of retentions) {
    sandbox.clock.freeze();
    const first = await send();
    assertDone(first);
    sandbox.clock.advance(ms - 1);
    const replayed = await send();
    assert.equal(replayed.headers['idempotency-replayed'], 'true');
    assert.equal(replayed.text, first.text);
    sandbox.clock.advance(1);
    const after = await send();
    assert.equal(after.headers['idempotency-replayed'], 'false');
    sandbox.clock.setOffset(0);
  }
  assert.equal(sandbox.ledger().withdrawals.length, 2, 'after seven days the same key pays again');
});

test('while the first request is served, the same key is in flight', async (t) => {
  const { sandbox, withdraw } = await stage(t);
  for (const when of ['before', 'after'] as const) {
    const fault = sandbox.addFault({ operation: 'createWithdrawal', nth: 1, effect: { kind: 'hold', when } });
    const first = withdraw({}, `held-${when}`);
    await sandbox.faultHit(fault);
    const meanwhile = await withdraw({}, `held-${when}`);
    assertRefused(meanwhile, 409, 'IDEMPOTENCY_IN_FLIGHT');
    assert.equal(meanwhile.headers['retry-after'], '1');
    assert.equal(meanwhile.at('error.retryStrategy'), 'WAIT_THEN_RETRY_SAME_KEY');
    assertRefused(await withdraw({ withdrawalAmount: '1' }, `held-${when}`), 422, 'IDEMPOTENCY_MISMATCH');
    assert.equal(sandbox.releaseFaults(fault), 1);
    assertDone(await first);
    assert.equal((await withdraw({}, `held-${when}`)).headers['idempotency-replayed'], 'true');
    sandbox.clearFaults();
  }
  assert.equal(sandbox.ledger().withdrawals.length, 2);
});

test('of many equal requests at once one is booked', async (t) => {
  const { sandbox, withdraw } = await stage(t);
  const answers = await Promise.all(Array.from({ length: 10 }, () => withdraw({}, 'at-once')));
  assert.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'false').length, 1);
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal(sandbox.ledger().withdrawals.length, 1);
});

/** Whether a refusal and a 500 of the operation stay under the key, per setting. */
const modes: readonly (readonly [
  storeErrors: 'all' | 'refusals' | 'none',
  refusal: boolean,
  failure: boolean,
])[] = [
  ['all', true, true],
  ['refusals', true, false],
  ['none', false, false],
];

for (const [storeErrors, refusalStays, failureStays] of modes) {
  test(`storeErrors "${storeErrors}" keeps refusals: ${refusalStays}, failures: ${failureStays}`, async (t) => {
    const { sandbox, withdraw } = await stage(t, { settings: { storeErrors }, balances: { MXN: '500' } });
    assertRefused(await withdraw({}, 'poor'), 409, 'WITHDRAWAL_INSUFFICIENT_BALANCE');
    sandbox.setBalances({ MXN: '5000' });
    const again = await withdraw({}, 'poor');
    assert.equal(again.status, refusalStays ? 409 : 200);
    assert.equal(again.headers['idempotency-replayed'], `${refusalStays}`);

    const effect = { kind: 'error', code: 'WITHDRAWAL_INITIATION_FAILED' } as const;
    sandbox.addFault({ operation: 'createWithdrawal', nth: 1, effect });
    assertRefused(await withdraw({}, 'broken'), 500, 'WITHDRAWAL_INITIATION_FAILED');
    const resent = await withdraw({}, 'broken');
    assert.equal(resent.status, failureStays ? 500 : 200);

    const schema = await withdraw({ withdrawalAmount: '-1' }, 'schema');
    assertRefused(schema, 400, 'VALIDATION_BODY_FAILED');
    assertDone(await withdraw({ withdrawalAmount: '1' }, 'schema'));
  });
}

test('keys belong to the organisation or to the API key, and to the operation or to all', async (t) => {
  const second = generateKey('org/acme/apiKey/writer2');
  const cases: readonly (readonly [settings: SettingsPatch, status: number, replayed: string])[] = [
    [{ keyScope: 'org' }, 200, 'true'],
    [{ keyScope: 'apiKey' }, 200, 'false'],
  ];
  for (const [settings, status, replayed] of cases) {
    const { sandbox, client } = await stage(t, { settings, keys: [keyOf(acmeKey), keyOf(second)] });
    assertDone(await client.post('/fx/quotes', quoteBody, 'shared'));
    const other = await signerFor(sandbox.baseUrl, second).post('/fx/quotes', quoteBody, 'shared');
    assert.deepEqual([other.status, other.headers['idempotency-replayed']], [status, replayed]);
  }
  const { client, sandbox, withdraw } = await stage(t);
  assertDone(await client.post('/fx/quotes', quoteBody, 'same'));
  assertDone(await withdraw({}, 'same'));
  sandbox.setSettings({ keyPerOperation: false });
  assertDone(await client.post('/fx/quotes', quoteBody, 'one-space'));
  assertRefused(await withdraw({}, 'one-space'), 422, 'IDEMPOTENCY_MISMATCH');
});

test('the store being out of reach is a 503 without Retry-After, and nothing is done', async (t) => {
  const { sandbox, withdraw } = await stage(t);
  sandbox.addFault({
    operation: 'createWithdrawal',
    nth: 1,
    effect: { kind: 'error', code: 'IDEMPOTENCY_UNAVAILABLE' },
  });
  const refused = await withdraw({}, 'out');
  assertRefused(refused, 503, 'IDEMPOTENCY_UNAVAILABLE');
  assert.equal(refused.headers['retry-after'], undefined);
  assert.equal((await withdraw({}, 'out')).headers['idempotency-replayed'], 'false');
});
