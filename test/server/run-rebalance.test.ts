/** A rebalancing against the sandbox: what is outside its band is traded once, each leg by itself, and the rest is left. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { openStage } from '../support/stage.ts';
import { RATES_FILES, REBALANCING_RATES, rebalancingPolicy, traded } from '../support/rebalancing.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { uniqueName } from '../support/dev-server.ts';
import { lasting } from '../support/lasting.ts';

const stage = await openStage({
  rates: REBALANCING_RATES,
  balances: { USD: '300000', EUR: '300000', GBP: '10000', MXN: '18500' },
  timePasses: true,
});
after(() => stage.close());
await stage.startWorker();

const POLICY = rebalancingPolicy('20000.00');

/** The activities that a workflow has asked for, once for each time. */
async function activitiesOf(workflowId: string): Promise<readonly string[]> {
  const { events } = await stage.temporal.client.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
  );
}

describe('a day of rebalancing', () => {
  test('sells what is above its band, buys what is below its minimum, once each, and leaves the rest; a day after that needs nothing', async () => {
    const run = await stage.start(POLICY, { files: RATES_FILES });
    const report = await run.report();
    assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
    assert.deepEqual(traded(run), ['buy 30000 GBP', 'sell 50000 EUR']);
    assert.deepEqual(
      report.legs.map(({ id, outcome }) => [id, outcome]),
      [
        ['eur-usd-1', 'TRADED'],
        ['usd-gbp-1', 'TRADED'],
      ],
    );

    assert.deepEqual(
      report.positions.map(
        (position) => `${position.currency} ${position.projected ?? '?'} ${position.traded}`,
      ),
      ['USD 300000 0', 'EUR 300000 50000', 'GBP 10000 30000', 'MXN 18500 0'],
    );

    for (const { id, cost, planned, quoteId } of report.legs) {
      assert.equal(cost?.currency, 'USD', id);
      assert.ok(planned !== null, id);
      const quotes = report.evidence.flatMap(({ item, quote }) => (item === id ? (quote ?? []) : []));
      assert.equal(quotes.at(-1)?.id, quoteId, id);
    }
    assert.deepEqual(
      report.positions
        .filter(({ currency }) => currency !== 'USD')
        .map(({ currency, after: left }) => `${currency} ${left.projected ?? '?'}`),
      ['EUR 250000', 'GBP 40000', 'MXN 18500'],
    );

    const [first] = await resetPoints(run.handle);
    assert.ok(first !== undefined);
    const { workflowId, runId } = await run.handle.describe();
    await resetTo(stage.temporal, { workflowId, runId }, first, { signals: true });
    assert.deepEqual(lasting(await run.report()), lasting(report));
    assert.equal(run.movements().trades.length, 2);

    const next = await stage.start(POLICY, { files: RATES_FILES });
    const quiet = await next.report();
    assert.deepEqual([quiet.status, quiet.legs, next.writes()], ['COMPLETED', [], []]);

    const workflows = [
      next.handle.workflowId,
      planIdOf('SANDBOX', next.name),
      instructionsIdOf('SANDBOX', next.name),
    ];
    const activities = await Promise.all(workflows.map(activitiesOf));
    // `observe` is asked once more while lists may lack what the first run has just traded.
    assert.deepEqual([...new Set(activities.flat())].toSorted(), [
      'observe',
      'readPlan',
      'takeOverInstructions',
    ]);
  });

  for (const [what, eur, outcome] of [
    ['still asks for it', '300000', 'TRADED'],
    ['asks for it no longer', '260000', 'NOT_TRADED'],
  ] as const)
    test(`a leg that was refused is ${outcome} after a reset when by the balances of then the policy ${what}`, async () => {
      stage.sandbox.setBalances({ USD: '300000', EUR: '300000', GBP: '40000' });
      const name = uniqueName('p');
      stage.sandbox.addFault({
        operation: 'createQuote',
        times: 1,
        when: { currency: 'EUR' },
        effect: { kind: 'error', code: 'TRADE_PAIR_NOT_SUPPORTED', stored: false },
      });
      const run = await stage.start(POLICY, { files: RATES_FILES, name });
      const failed = await run.report();
      assert.deepEqual(
        failed.legs.map(({ id, outcome: was }) => [id, was]),
        [['eur-usd-1', 'NOT_TRADED']],
      );
      stage.sandbox.setBalances({ EUR: eur });
      const last = (await resetPoints(run.handle)).at(-1);
      assert.ok(last !== undefined);
      const { workflowId, runId } = await run.handle.describe();
      await resetTo(stage.temporal, { workflowId, runId }, last, { signals: true });
      const report = await run.report();
      assert.deepEqual(
        report.legs.map(({ outcome: is }) => is),
        [outcome],
      );
      assert.deepEqual(traded(run), outcome === 'TRADED' ? ['sell 50000 EUR'] : []);
      if (outcome === 'NOT_TRADED') assert.equal(report.problems[0]?.code, 'BALANCES_CHANGED');
    });
});
