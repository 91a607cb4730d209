/**
 * The buttons that Temporal's UI has beside a pending activity: pause, unpause, reset. What the activity has sent is sent
 * once.
 */
import assert from 'node:assert/strict';
import type { Service } from '../machines/resets/services.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import {
  assertAllDone,
  assertOneKeyEach,
  baseOf,
  startHeld,
  startProcess,
  twoPayments,
  withPlace,
  type Place,
} from './places.ts';
import type { Run, Write } from './stage.ts';

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
  await eventually('a second attempt', async () => ((await pendingOf(run))?.attempt ?? 0) > 1);
}

/** They are pressed while the reply to a write is on its way. */
export async function pressInWrite(
  place: Place,
  operation: Write,
  buttons: readonly Button[],
): Promise<void> {
  const { run, release } = await startHeld(place, operation, { when: 'after' });
  for (const button of buttons) {
    // As fast as somebody clicks.
    await press(place, run, button);
  }
  release();
  assertAllDone(place, run, await run.report());
}

/** Reset is pressed when the worker that has sent the write was lost. */
export async function resetLostWrite(service: Service, operation: Write): Promise<void> {
  await withPlace(service, async (place) => {
    const { sandbox, env } = place.stage;
    const name = uniqueName('p');
    const late = sandbox.addFault({
      operation,
      times: 1,
      when: { reference: `${name}.*` },
      effect: { kind: 'late-commit', ms: LATE_MS },
    });
    const lost = startProcess(place, env['CAMBIST_TASK_QUEUE'] ?? '');
    // The quote is dead by then: nothing but the doubt stands against another one.
    const quote = '{ valid_for: 3s, settlement: T0 }';
    const run = await place.stage.start(twoPayments({ quote }), { name });
    await sandbox.faultHit(late);
    await lost.kill();
    await untilMissed(run);
    await press(place, run, 'reset');
    assert.equal((await pendingOf(run))?.attempt, 1, 'Temporal counts from one again');
    const seq = sandbox.requests().at(-1)?.seq;
    const look = operation === 'createTrade' ? 'listTrades' : 'listWithdrawals';
    const looked = sandbox.nextRequest((entry) => entry.operation === look);
    await place.startWorker();
    await looked;
    const since = sandbox.requests(seq).map((entry) => String(entry.operation));
    assert.ok(!since.slice(0, since.indexOf(look)).includes(operation), since.join(', '));
    const report = await run.report();
    assertAllDone(place, run, report);
    assert.equal(report.evidence.filter(({ call }) => call === 'send quote').length, 1);
    assertOneKeyEach(run);
  });
}
