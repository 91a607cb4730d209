/**
 * The buttons that Temporal's UI has beside a pending activity: pause, unpause, reset. What the activity has sent is sent
 * once.
 */
import assert from 'node:assert/strict';
import { msToTs } from '@temporalio/common/lib/time.js';
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
import type { Run, Stage, Write } from './stage.ts';

/** The one activity of a run that is under way, as the UI's page of pending activities shows it. */
async function pendingOf(run: Run): Promise<{ readonly id: string; readonly attempt: number } | null> {
  const [pending] = (await run.handle.describe()).raw.pendingActivities ?? [];
  return pending === undefined ? null : { id: pending.activityId ?? '', attempt: pending.attempt ?? 0 };
}

/** What the UI's buttons beside a pending activity call. */
type Button = 'pause' | 'unpause' | 'reset';

/** What the UI and the command line offer for a pending activity; each is pressed alone. */
export const ACTIVITY_BUTTONS = ['pause and unpause', 'reset', 'update options', 'complete', 'fail'] as const;
export type ActivityButton = (typeof ACTIVITY_BUTTONS)[number];

type Activity = { readonly workflowId: string; readonly runId: string; readonly id: string };

async function press({ stage }: Place, run: Run, button: Button): Promise<void> {
  const pending = await pendingOf(run);
  assert.ok(pending !== null);
  await pressOn(stage, { ...(await baseOf(run)), id: pending.id }, button);
}

async function pressOn({ temporal }: Stage, activity: Activity, button: Button): Promise<void> {
  const { client, namespace } = temporal;
  const { workflowId, runId, id } = activity;
  const what = { namespace, execution: { workflowId, runId }, identity: 'somebody', id };
  if (button === 'pause') await client.workflowService.pauseActivity(what);
  else if (button === 'unpause') await client.workflowService.unpauseActivity(what);
  else await client.workflowService.resetActivity(what);
}

/** Presses a button beside the pending activity of this type, whichever workflow has it. */
export async function pressBeside(
  stage: Stage,
  workflowId: string,
  type: string,
  button: ActivityButton,
): Promise<void> {
  const { client, namespace } = stage.temporal;
  const activity = await eventually(`${type} is pending`, async () => {
    const { raw, runId } = await client.workflow.getHandle(workflowId).describe();
    const pending = (raw.pendingActivities ?? []).find(({ activityType }) => activityType?.name === type);
    return pending === undefined ? null : { workflowId, runId, id: pending.activityId ?? '' };
  });
  const { runId, id } = activity;
  switch (button) {
    case 'pause and unpause':
      await pressOn(stage, activity, 'pause');
      await pressOn(stage, activity, 'unpause');
      break;
    case 'reset':
      await pressOn(stage, activity, 'reset');
      break;
    case 'update options':
      await client.workflowService.updateActivityOptions({
        namespace,
        execution: { workflowId, runId },
        identity: 'somebody',
        id,
        activityOptions: { scheduleToCloseTimeout: msToTs(1_000) },
        updateMask: { paths: ['schedule_to_close_timeout'] },
      });
      break;
    case 'complete':
      await client.activity.complete({ workflowId, runId, activityId: id }, { done: 'by somebody' });
      break;
    case 'fail':
      await client.activity.fail({ workflowId, runId, activityId: id }, new Error('somebody says so'));
      break;
  }
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
