/**
 * Canaries: what M6 keeps from every history, log and report (the key, tokens, signatures, what the service knows of
 * beneficiaries), a service that says it wherever it can, and what Temporal keeps as one text to look through.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { SandboxAccount } from '../../sandbox/default-accounts.ts';
import { MXN_ACCOUNT } from './policies.ts';
import type { Credentials, ServiceProxy } from './proxy.ts';
import type { Stage } from './stage.ts';

const BENEFICIARY = {
  accountName: 'Canary Beneficiary',
  accountNumber: '0321800001CANARY',
  bankName: 'Banco Canario',
};
const WALLET = '0xCa9aryCa9aryCa9aryCa9aryCa9aryCa9aryCa9a';

/** One that is paid, and two that are refused when they are. */
export const ACCOUNTS: readonly SandboxAccount[] = [
  { id: MXN_ACCOUNT, currency: 'MXN', assetType: 'FIAT', status: 'LIVE', destination: BENEFICIARY },
  {
    id: 'wac_ShutAccount',
    currency: 'MXN',
    assetType: 'FIAT',
    status: 'CLOSED',
    destination: BENEFICIARY,
  },
  {
    id: 'wac_BrokenWa99et',
    currency: 'USDC',
    assetType: 'CRYPTO',
    status: 'LIVE',
    checksumFails: true,
    destination: { address: WALLET },
  },
];

/** An error of the service that quotes what it was sent. */
export function quoting(code: string) {
  return ({ token, signature }: Credentials) => ({
    status: 500,
    body: JSON.stringify({
      error: {
        code,
        type: 'INTERNAL_ERROR',
        message: `Bearer ${token} with ${signature} broke it in passing`,
        retryStrategy: 'CHECK_STATE_THEN_RETRY',
        details: { reason: token, path: signature, resourceId: token.split('.')[2] },
      },
    }),
  });
}

/** Every text and every payload of a value, however deep, one after the other. */
export function textsIn(value: unknown): string {
  if (value instanceof Uint8Array) return `${Buffer.from(value).toString('utf8')}\n`;
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${textsIn(inner)}`)
      .join('');
  return `${String(value)}\n`;
}

/** Everything that Temporal keeps of a workflow: its history, its state, and how it failed. */
export async function keptOf(handle: WorkflowHandle): Promise<string> {
  const failure: unknown = await handle.result().catch((error: unknown) => error);
  const chain: unknown[] = [];
  for (let error: unknown = failure; error instanceof Error; error = error.cause)
    chain.push(
      error.message,
      error.stack,
      Object.entries(error).filter(([name]) => name !== 'cause'),
    );
  return textsIn([await handle.fetchHistory(), (await handle.describe()).raw, chain]);
}

/** What is looked for: every token and signature that the proxy has seen is among it. */
export async function canariesOf({ env }: Stage, { credentials }: ServiceProxy): Promise<readonly string[]> {
  const record = JSON.parse(await readFile(env['CAMBIST_KEY_FILE'] ?? '', 'utf8')) as {
    privateKey: string;
  };
  return [
    ...record.privateKey.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----')),
    ...credentials.flatMap(({ token, signature }) => [...token.split('.'), signature]),
    ...Object.values(BENEFICIARY),
    WALLET,
    // The service's free text, which may name anybody, stays behind as a whole.
    'broke it in passing',
  ];
}

export function assertNone(canaries: readonly string[], places: Readonly<Record<string, string>>): void {
  for (const [place, text] of Object.entries(places))
    for (const canary of canaries) assert.ok(!text.includes(canary), `${place}: ${around(text, canary)}`);
}

/** Where a canary was found, for whoever has to find the leak. */
function around(text: string, canary: string): string {
  const at = text.indexOf(canary);
  return text.slice(Math.max(0, at - 200), at + canary.length + 50);
}
