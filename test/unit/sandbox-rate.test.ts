// The rate limit of the sandbox: whom it counts, whom it refuses, and what it says.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { generateKey } from '../../sandbox/keys.ts';
import { signerFor } from '../support/sandbox-signer.ts';
import { acmeKey, assertDone, assertRefused, keyOf, stage } from '../support/sandbox-stage.ts';

const otherKey = generateKey('org/acme/apiKey/reader1');

for (const scope of ['org', 'apiKey'] as const)
  test(`so many requests pass in a window, counted by ${scope}`, async (t) => {
    const rateLimit = { requests: 3, windowMs: 10_000, scope };
    const { client, sandbox } = await stage(t, {
      settings: { rateLimit },
      keys: [keyOf(acmeKey), keyOf(otherKey)],
    });
    sandbox.clock.freeze(Math.floor(sandbox.clock.now() / 10_000) * 10_000 + 2_500);
    const other = signerFor(sandbox.baseUrl, otherKey);
    // What is not authentic takes nothing from anybody.
    assertRefused(await client.get('/fx/pairs', { nonce: 'no' }), 401, 'AUTH_TOKEN_INVALID');
    for (let request = 0; request < 3; request += 1) assertDone(await client.get('/fx/pairs'));
    for (let request = 0; request < 2; request += 1) {
      const refused = await client.get('/fx/pairs');
      assertRefused(refused, 429, 'RATE_LIMIT_EXCEEDED');
      assert.equal(refused.headers['retry-after'], '8');
    }
    if (scope === 'org') assertRefused(await other.get('/fx/pairs'), 429, 'RATE_LIMIT_EXCEEDED');
    else assertDone(await other.get('/fx/pairs'));
    sandbox.clock.advance(7_500);
    assertDone(await client.get('/fx/pairs'));
    sandbox.setSettings({ rateLimit: null });
    for (let request = 0; request < 5; request += 1) assertDone(await client.get('/fx/pairs'));
  });

test('a write that was too fast was not looked at: its key is free, and nothing is booked', async (t) => {
  const rateLimit = { requests: 1, windowMs: 60_000, scope: 'org' } as const;
  const { client, sandbox, withdraw } = await stage(t, { settings: { rateLimit } });
  sandbox.clock.freeze(Math.floor(sandbox.clock.now() / 60_000) * 60_000);
  assertDone(await client.get('/fx/pairs'));
  assertRefused(await withdraw({}, 'k'), 429, 'RATE_LIMIT_EXCEEDED');
  assert.equal(sandbox.ledger().withdrawals.length, 0);
  sandbox.clock.advance(60_000);
  const answer = await withdraw({}, 'k');
  assertDone(answer);
  assert.equal(answer.headers['idempotency-replayed'], 'false');
});
