/**
 * Canaries: the key, every token and signature, and what the service knows of beneficiaries appear in no history, log,
 * report or error, whatever goes wrong (M6).
 */
import { loggedLines } from '../support/logs.ts';
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { planIdOf, instructionsIdOf } from '../../workflows/names.ts';
import { ACCOUNTS, assertNone, canariesOf, keptOf, quoting, textsIn } from '../support/canaries.ts';
import { convertPolicy } from '../support/policies.ts';
import { openServiceProxy } from '../support/proxy.ts';
import { assertDoneOnce, openStage, type Run } from '../support/stage.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  accounts: ACCOUNTS,
});
const service = new URL(stage.sandbox.baseUrl);
const proxy = await openServiceProxy(service.host);
await stage.startWorker({ env: { CAMBIST_BASE_URL: `http://${proxy.address}${service.pathname}` } });
after(async () => {
  await stage.close();
  await proxy.close();
});

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

  const canaries = await canariesOf(stage, proxy);
  // What is looked for was really there, and what is searched really holds what it should.
  assert.ok(proxy.credentials.length > 20);
  assert.ok(canaries.every((canary) => canary.length > 10));
  const reference = happy.movements().trades[0]?.['clientReferenceId'];
  assert.ok(typeof reference === 'string' && kept.includes(reference) && told.includes(reference));
  assert.ok(logged.includes('Worker state changed'));
  assert.ok(kept.includes('The service could not make the trade'));
  assertNone(canaries, { kept, logged, told });
});
