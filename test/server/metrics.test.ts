/** The metrics of a real worker process, from the endpoint of Temporal's SDK: ours beside its own. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { freePort, startDevServer } from '../../worker/dev-server.ts';
import { startBuiltWorker } from '../support/built-worker.ts';
import { startCommand } from '../support/commands.ts';
import { scrape } from '../support/metrics.ts';
import { eventually } from '../support/patience.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage } from '../support/stage.ts';

// A server of its own: a worker shows the figures of all runs, and of many policies only some.
const server = await startDevServer({ port: 0, headless: true, shortTimers: true });
const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '5000', EUR: '0' },
  temporalAddress: server.address,
});
const metricsAt = `127.0.0.1:${await freePort()}`;
const worker = startBuiltWorker({ env: stage.env, metricsAt });
await worker.ready;
after(async () => {
  await worker.kill();
  await stage.close();
  await server.stop();
});

test('a worker process shows what it sends, what waits and for how long, and names no account, run or amount', async () => {
  const poor = await stage.start(convertPolicy({ sell: 'EUR', shortfall: 'hold' }));
  await poor.heldBy('SHORTFALL');
  const run = await stage.start(convertPolicy({ withdraw: [{ id: 'canary-item', account: MXN_ACCOUNT }] }));
  assertDoneOnce(run, await run.report());
  const { value, text } = await eventually('the figures of both runs', async () => {
    const shown = await scrape(metricsAt);
    // What a search attribute tells may come later than the answer of the run itself.
    const isHeld =
      shown.value('cambist_attention_runs', { reason: 'money' }) === 1 &&
      shown.value('cambist_runs', { policy: poor.name.policy, state: 'HELD' }) === 1;
    return isHeld && shown.value('cambist_runs', { state: 'COMPLETED' }) === 1 ? shown : null;
  });
  assert.ok((value('cambist_attention_oldest_seconds', { reason: 'money' }) ?? 0) > 0);
  assert.equal(value('cambist_build_info', { build: 'none', mode: 'SANDBOX' }), 1);
  assert.equal(value('cambist_halts', { of: 'everything' }), 0);
  assert.equal(value('cambist_requests_total', { operation: 'createTrade', class: 'done', code: 'none' }), 1);
  assert.equal(value('cambist_items_total', { item: 'payment', outcome: 'PAID' }), 1);
  for (const histogram of ['quote_to_trade', 'trade_to_settled', 'accepted_to_paid'])
    assert.equal(value(`cambist_${histogram}_seconds_count`), 1, histogram);
  assert.ok((value('temporal_workflow_completed_total') ?? 0) >= 1);
  for (const canary of ['canary-item', 'wac_', 'wtd_', 'tde_', 'qte_', run.name.id, '17250', 'org_'])
    assert.ok(!text.includes(canary), canary);
});

test('a second worker cannot show its metrics at the same address, and says so', async () => {
  const second = startCommand(stage, ['worker', '--json'], { env: { CAMBIST_METRICS: metricsAt } });
  const { exitCode, stdout } = await second.ended;
  assert.equal(exitCode, 3);
  assert.match(stdout, /METRICS_UNSERVED/);
});
