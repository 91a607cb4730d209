// The stage of the sandbox's own tests: a sandbox with one key that may write, and the ways tests speak to it.
// When a test ends, every journal entry must be in balance and the balances must be its sums.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { Decimal } from 'decimal.js';

import type { GeneratedKey } from '../../sandbox/keys.ts';
import { generateKey } from '../../sandbox/keys.ts';
import type { LedgerView, Sandbox, SandboxKey, SandboxOptions } from '../../sandbox/server.ts';
import { startSandbox } from '../../sandbox/server.ts';
import type { Answer, Signer } from './sandbox-signer.ts';
import { signerFor } from './sandbox-signer.ts';

export const acmeKey: GeneratedKey = generateKey('org/acme/apiKey/writer1');

export interface Stage {
  readonly sandbox: Sandbox;
  readonly client: Signer;
  readonly quote: (more?: Readonly<Record<string, unknown>>) => Promise<string>;
  readonly trade: (quoteId: string, reference?: string, key?: string) => Promise<Answer>;
  readonly withdraw: (more?: Readonly<Record<string, unknown>>, key?: string) => Promise<Answer>;
}

export function keyOf(key: GeneratedKey, more: Partial<SandboxKey> = {}): SandboxKey {
  return { name: key.name, publicKeyPem: key.publicKeyPem, scope: 'write', mode: 'SANDBOX', ...more };
}

export async function stage(t: TestContext, options: SandboxOptions = {}): Promise<Stage> {
  const sandbox = await startSandbox({
    seed: 'stage',
    keys: [keyOf(acmeKey)],
    balances: { USD: '10000', EUR: '5000', MXN: '100000', USDC: '1000' },
    ...options,
  });
  t.after(async () => {
    assertBalanced(sandbox.ledger());
    await sandbox.close();
  });
  const client = signerFor(sandbox.baseUrl, acmeKey);
  return {
    sandbox,
    client,
    quote: async (more = {}) => {
      const answer = await client.post('/fx/quotes', {
        buyCurrency: 'MXN',
        sellCurrency: 'USD',
        quoteForSeconds: 60,
        ...('buyAmount' in more ? {} : { sellAmount: '100' }),
        ...more,
      });
      return answer.textAt('data.id');
    },
    trade: (quoteId, reference, key) =>
      client.post(
        '/fx/trades',
        { quoteId, ...(reference === undefined ? {} : { clientReferenceId: reference }) },
        key,
      ),
    withdraw: (more = {}, key) =>
      client.post(
        '/fx/withdrawals',
        { currency: 'MXN', withdrawalAmount: '1000', withdrawalAccountId: 'wac_7Hk2mQ9vT4xR', ...more },
        key,
      ),
  };
}

/** Asserts status and code, and that the envelope is whole and closed. */
export function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${String(answer.at('error.code'))}`, `${status} ${code}`, answer.text);
  assert.deepEqual(Object.keys(JSON.parse(answer.text) as object), ['error']);
  assert.deepEqual(Object.keys(answer.at('error') as object).toSorted(), [
    'code',
    'details',
    'message',
    'retryStrategy',
    'type',
  ]);
}

export function assertDone(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
}

/** Sums over the journal, independent of the sandbox's own running sums. */
function assertBalanced(ledger: LedgerView): void {
  const sums = new Map<string, Decimal>();
  for (const entry of ledger.journal) {
    const perCurrency = new Map<string, Decimal>();
    for (const { account, currency, amount } of entry.lines) {
      perCurrency.set(currency, (perCurrency.get(currency) ?? new Decimal(0)).plus(amount));
      const name = `${currency} ${account}`;
      sums.set(name, (sums.get(name) ?? new Decimal(0)).plus(amount));
    }
    for (const [currency, sum] of perCurrency)
      assert.ok(sum.isZero(), `${entry.what}: ${currency} ${sum.toFixed()}`);
  }
  for (const [currency, { accounts, total }] of Object.entries(ledger.balances)) {
    for (const [account, amount] of Object.entries(accounts)) {
      assert.equal(amount, (sums.get(`${currency} ${account}`) ?? new Decimal(0)).toFixed());
    }
    const own = new Decimal(accounts.withdrawable).plus(accounts.reserved).plus(accounts.sold);
    assert.equal(total, own.toFixed());
  }
}
