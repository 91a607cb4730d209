/**
 * Canaries: the key, every token and signature, and what the service knows of beneficiaries appear in no history, log,
 * report or error, whatever goes wrong (M6).
 */
import { loggedLines } from '../support/logs.ts';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import type { WorkflowHandle } from '@temporalio/client';
import { planIdOf, instructionsIdOf } from '../../workflows/names.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { openServiceProxy, type Credentials } from '../support/proxy.ts';
import { assertDoneOnce, openStage, type Run } from '../support/stage.ts';

const BENEFICIARY = {
  accountName: 'Canary Beneficiary',
  accountNumber: '0321800001CANARY',
  bankName: 'Banco Canario',
};
const WALLET = '0xCa9aryCa9aryCa9aryCa9aryCa9aryCa9aryCa9a';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  accounts: [
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
  ],
});
const service = new URL(stage.sandbox.baseUrl);
const proxy = await openServiceProxy(service.host);
await stage.startWorker({ env: { CAMBIST_BASE_URL: `http://${proxy.address}${service.pathname}` } });
after(async () => {
  await stage.close();
  await proxy.close();
});

/** An error of the service that quotes what it was sent. */
function quoting(code: string) {
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
function textsIn(value: unknown): string {
  if (value instanceof Uint8Array) return `${Buffer.from(value).toString('utf8')}\n`;
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${textsIn(inner)}`)
      .join('');
  return `${String(value)}\n`;
}

/** Everything that Temporal keeps of a workflow: its history, its state, and how it failed. */
async function keptOf(handle: WorkflowHandle): Promise<string> {
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

test('the key, tokens, signatures and beneficiaries are in no history, log, report or error', async () => {
  const happy = await stage.start(convertPolicy({ settle: '{ until: funds }' }));
  assertDoneOnce(happy, await happy.report());

  // Every write once answered with its own credentials, in every place that an error has.
  proxy.answerNext('/fx/quotes', quoting('INTERNAL_ERROR'));
  proxy.answerNext('/fx/trades', quoting('TRADE_EXECUTION_FAILED'));
  proxy.answerNext('/fx/withdrawals', quoting('SOMETHING_NEW'));
  const quoted = await stage.start(convertPolicy());
  await quoted.heldBy('TRADE_EXECUTION_FAILED');
  await quoted.wake();
  await quoted.heldBy('SOMETHING_NEW');
  await quoted.wake();
  assertDoneOnce(quoted, await quoted.report());

  const closed = await stage.start(
    convertPolicy({ withdraw: [{ id: 'supplier', account: 'wac_ShutAccount' }] }),
  );
  const broken = await stage.start(
    convertPolicy({ buy: 'USDC', withdraw: [{ id: 'supplier', account: 'wac_BrokenWa99et' }] }),
  );
  const unplanned = await stage.start(
    convertPolicy({ withdraw: [{ id: 'supplier', account: 'wac_Nobody' }] }),
  );
  const cancelled = await stage.start(
    convertPolicy({ sell: 'EUR', amount: '{ sell: "900000000.00" }', shortfall: 'hold' }),
  );
  await cancelled.heldBy('SHORTFALL');
  await cancelled.handle.cancel();

  const runs: readonly Run[] = [happy, quoted, closed, broken, unplanned, cancelled];
  const reports = await Promise.all(runs.map((run) => run.report()));
  assert.deepEqual(
    reports.map((report) => report.status),
    ['COMPLETED', 'COMPLETED', 'PARTIAL', 'PARTIAL', 'FAILED', 'CANCELLED'],
  );
  const { client } = stage.temporal;
  const words = client.workflow.getHandle(instructionsIdOf('SANDBOX', cancelled.name));
  const handles = [
    ...runs.flatMap((run) => [run.handle, client.workflow.getHandle(planIdOf('SANDBOX', run.name))]),
    words,
  ];
  const kept = (await Promise.all(handles.map(keptOf))).join('\n');
  const logged = loggedLines().join('\n');
  const told = textsIn(reports);

  const record = JSON.parse(await readFile(stage.env['CAMBIST_KEY_FILE'] ?? '', 'utf8')) as {
    privateKey: string;
  };
  const canaries = [
    ...record.privateKey.split('\n').filter((line) => line.length > 20 && !line.startsWith('-----')),
    ...proxy.credentials.flatMap(({ token, signature }) => [...token.split('.'), signature]),
    ...Object.values(BENEFICIARY),
    WALLET,
    // The service's free text, which may name anybody, stays behind as a whole.
    'broke it in passing',
  ];
  // What is looked for was really there, and what is searched really holds what it should.
  assert.ok(proxy.credentials.length > 20);
  assert.ok(canaries.every((canary) => canary.length > 10));
  const reference = happy.movements().trades[0]?.['clientReferenceId'];
  assert.ok(typeof reference === 'string' && kept.includes(reference) && told.includes(reference));
  assert.ok(logged.includes('Worker state changed'));
  assert.ok(kept.includes('The service answered TRADE_EXECUTION_FAILED'));
  for (const [place, text] of Object.entries({ kept, logged, told }))
    for (const canary of canaries) assert.ok(!text.includes(canary), `${place}: ${around(text, canary)}`);
});

/** Where a canary was found, for whoever has to find the leak. */
function around(text: string, canary: string): string {
  const at = text.indexOf(canary);
  return text.slice(Math.max(0, at - 200), at + canary.length + 50);
}
