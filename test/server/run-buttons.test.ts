/**
 * The buttons that Temporal's UI has beside a pending activity: pause, unpause, reset. Under each way in which a service
 * keeps errors and shows tags, what the activity has sent is sent once.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { uniqueName } from '../support/dev-server.ts';
import {
  AT_ONCE,
  assertAllDone,
  assertOneKeyEach,
  baseOf,
  closePlace,
  nameOf,
  openPlaces,
  startHeld,
  startProcess,
  twoPayments,
  withPlace,
  type Place,
} from '../support/places.ts';
import { WRITES, type Run } from '../support/stage.ts';

const places = await openPlaces();
after(() => Promise.all(places.map(closePlace)));

/** The one activity of a run that is under way, as the UI's page of pending activities shows it. */
async function pendingOf(run: Run): Promise<{ readonly id: string; readonly attempt: number } | null> {
  const [pending] = (await run.handle.describe()).raw.pendingActivities ?? [];
  return pending === undefined ? null : { id: pending.activityId ?? '', attempt: pending.attempt ?? 0 };
}

/** What the UI's buttons beside a pending activity call. */
type Button = 'pause' | 'unpause' | 'reset';

async function press({ stage }: Place, run: Run, button: Button): Promise<void> {
  const { client, namespace } = stage.temporal;
  const { workflowId, runId } = await baseOf(run);
  const pending = await pendingOf(run);
  assert.ok(pending !== null);
  const what = { namespace, execution: { workflowId, runId }, identity: 'somebody', id: pending.id };
  if (button === 'pause') await client.workflowService.pauseActivity(what);
  else if (button === 'unpause') await client.workflowService.unpauseActivity(what);
  else await client.workflowService.resetActivity(what);
}

/** By then everything has been looked at that can be looked at while nothing is there. */
const LATE_MS = 60_000;

/** Waits until Temporal has missed the worker, and holds a second attempt ready. */
async function untilMissed(run: Run): Promise<void> {
  for (;;) {
    // One look after the other.
    const pending = await pendingOf(run);
    if (pending !== null && pending.attempt > 1) return;
    // Temporal tells nobody.
    await delay(200);
  }
}

describe('the buttons beside a pending activity', AT_ONCE, () => {
  for (const place of places)
    for (const operation of WRITES) {
      for (const buttons of [['pause', 'unpause'], ['reset'], ['pause', 'reset']] as const)
        test(`${buttons.join(' and ')} while the reply to ${operation} is on its way, ${nameOf(place.service)}: once`, async () => {
          const { run, release } = await startHeld(place, operation, { when: 'after' });
          for (const button of buttons) {
            // As fast as somebody clicks.
            await press(place, run, button);
          }
          release();
          assertAllDone(place, run, await run.report());
        });

      test(`reset when the worker of ${operation} was lost, ${nameOf(place.service)}: it looks, and knows that it may have been sent`, () =>
        withPlace(place.service, async (own) => {
          const { sandbox, env } = own.stage;
          const name = uniqueName('p');
          const late = sandbox.addFault({
            operation,
            times: 1,
            when: { reference: `${name}.*` },
            effect: { kind: 'late-commit', ms: LATE_MS },
          });
          const lost = startProcess(own, env['CAMBIST_TASK_QUEUE'] ?? '');
          // The quote is dead by then: nothing but the doubt stands against another one.
          const quote = '{ valid_for: 3s, settlement: T0 }';
          const run = await own.stage.start(twoPayments({ quote }), { name });
          await sandbox.faultHit(late);
          await lost.kill();
          await untilMissed(run);
          await press(own, run, 'reset');
          assert.equal((await pendingOf(run))?.attempt, 1, 'Temporal counts from one again');
          const before = sandbox.requests().length;
          await own.startWorker();
          const look = operation === 'createTrade' ? 'listTrades' : 'listWithdrawals';
          const since = (): readonly string[] =>
            sandbox
              .requests()
              .slice(before)
              .map((entry) => String(entry.operation));
          // The service tells nobody.
          while (!since().includes(look)) await delay(100);
          assert.ok(!since().slice(0, since().indexOf(look)).includes(operation), since().join(', '));
          const report = await run.report();
          assertAllDone(own, run, report);
          assert.equal(report.evidence.filter(({ call }) => call === 'send quote').length, 1);
          assertOneKeyEach(run);
        }));
    }
});
