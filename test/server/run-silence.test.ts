/**
 * What used to wait in silence, on a real server: statuses that nobody has declared, and activities that throw. Each run
 * says what it waits for, and goes on by itself when the cause is gone.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { planIdOf, wakeSignal } from '../../workflows/names.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage, type Run } from '../support/stage.ts';

const SERVICE = { rates: { 'USD/MXN': '17.25' }, balances: { USD: '100000000' } };
const QUICK_DOUBT = 'list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 4s }\n';
/** Accepted payments are late soon. */
const stage = await openStage({ ...SERVICE, serviceFile: `${QUICK_DOUBT}late_after: { withdrawal: 3s }\n` });
/** A service with statuses of its own. */
const odd = await openStage({
  ...SERVICE,
  settings: {
    tradeWords: { executed: 'BOOKED', locked: 'BOOKED', ready: 'BOOKED' },
    settlementMs: { T0: 6_000 },
    withdrawalSteps: [{ status: 'SCREENING', forMs: 6_000 }],
  },
});
stage.sandbox.putAccounts([
  { id: 'wac_Hangs', currency: 'MXN', assetType: 'FIAT', status: 'LIVE', outcome: 'stuck' },
]);
await Promise.all([stage.startWorker(), odd.startWorker()]);
after(() => Promise.all([stage.close(), odd.close()]));

/** A run on a worker of its own, which throws at the moments that `breaks` names. */
async function startBroken(breaks: (point: string) => boolean): Promise<Run> {
  const taskQueue = uniqueName('queue');
  await stage.startWorker({
    env: { CAMBIST_TASK_QUEUE: taskQueue },
    reached: (point) => {
      if (breaks(point)) throw Object.assign(new Error('disk of Jane Doe is full'), { code: 'ENOSPC' });
    },
  });
  return stage.start(convertPolicy(), { taskQueue });
}

const AT_ONCE = { concurrency: 8 };

describe('what an activity throws is told, and moves nothing twice', AT_ONCE, () => {
  for (const [what, point] of [
    ['the observation of a plan', 'before observation'],
    ['the quote', 'before send quote'],
    ['the trade, after it was sent', 'after send trade'],
    ['a payment, after it was sent', 'after send withdrawal'],
    ['the poll of a settlement', 'before settlement poll'],
    ['the poll of payments', 'before payment poll'],
  ] as const)
    test(what, async () => {
      let isBroken = false;
      let isMended = false;
      const run = await startBroken((reached) => {
        isBroken ||= reached === point;
        const isLater = reached.startsWith('before read') || reached.startsWith('before scan');
        return isBroken && !isMended && (reached === point || isLater);
      });
      const held = await run.heldBy('ACTIVITY_FAILED');
      const problem = held.problems.find(({ code }) => code === 'ACTIVITY_FAILED');
      assert.match(problem?.message ?? '', /ENOSPC/);
      assert.doesNotMatch(JSON.stringify(held), /Jane/);
      isMended = true;
      const plan = stage.temporal.client.workflow.getHandle(planIdOf('SANDBOX', run.name));
      const wake = () => Promise.allSettled([run.wake(), plan.signal(wakeSignal)]);
      const mending = setInterval(() => void wake(), 500);
      try {
        assertDoneOnce(run, await run.report());
      } finally {
        clearInterval(mending);
      }
    });
});

describe('what the service says and nobody has declared is told', AT_ONCE, () => {
  test('a trade and a withdrawal with statuses in no list hold the run, which goes on by itself', async () => {
    const run = await odd.start(convertPolicy());
    const problemOf = async (status: string) => {
      const { problems } = await run.until((report) =>
        report.problems.some(({ code, message }) => code === 'STATUS_UNKNOWN' && message.includes(status)),
      );
      return problems.find(({ code }) => code === 'STATUS_UNKNOWN');
    };
    const trade = await problemOf('"BOOKED"');
    assert.equal(trade?.item, 'usd-mxn-1');
    assert.match(trade.fix, /`trade_statuses` .*CAMBIST_SERVICE_FILE/);
    const payment = await problemOf('"SCREENING"');
    assert.equal(payment?.item, 'supplier');
    assert.match(payment.fix, /`withdrawal_statuses`/);
    assertDoneOnce(run, await run.report());
  });

  test('an accepted payment that stays without a terminal status is late, and held in the list of runs', async () => {
    const run = await stage.start(convertPolicy({ withdraw: [{ id: 'supplier', account: 'wac_Hangs' }] }));
    const { problems } = await run.heldBy('WITHDRAWAL_LATE');
    assert.equal(problems.find(({ code }) => code === 'WITHDRAWAL_LATE')?.item, 'supplier');
    const { searchAttributes } = await run.handle.describe();
    assert.deepEqual(searchAttributes['CambistState'], ['HELD']);
    await run.handle.terminate();
  });
});
