/** Buttons of Temporal on a run, its plan, its chunks and its calls, pressed in the middle of a payment (docs/operations/buttons.md). */
import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import { NOTHING_KEPT, isCancelled } from '../../domain/people/instructions.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { sayGoOn } from '../../operations/decide/go-on.ts';
import type { Place } from '../../operations/place.ts';
import { disagreements } from '../support/agreement.ts';
import { chunkOf } from '../support/batches.ts';
import { ON_RUNS, type OnRuns } from '../support/button-rows.ts';
import { pressBeside } from '../support/buttons.ts';
import { eventually } from '../support/patience.ts';
import { twoPayments } from '../support/places.ts';
import {
  assertDone,
  cancel,
  inBatch,
  inPayment,
  instructionsOf,
  planOf,
  remove,
  reset,
  startLike,
  terminate,
} from '../support/presses.ts';
import { test } from '../support/sliced.ts';
import { openStage, type Run } from '../support/stage.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '10000000', EUR: '10000000', MXN: '10000000' },
  timePasses: true,
});
await stage.startWorker();
after(() => stage.close());

const keptOf = ({ name }: Run) =>
  readInstructions({ client: stage.temporal.client, mode: 'SANDBOX', run: name });

const PRESSES: Record<OnRuns, () => Promise<void>> = {
  'Reset | run': async () => {
    for (const to of ['first', 'last'] as const) {
      const run = await inPayment(stage, (open) => reset(stage, open.handle, to));
      // Also once it has ended.
      await reset(stage, run.handle, to);
      assertDone(stage, run, await run.report());
    }
  },
  'Cancel | run': async () => {
    const { run, release } = await stage.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
    await cancel(stage, run.handle);
    await eventually('the cancel is kept', async () => isCancelled((await keptOf(run))?.instructions ?? []));
    release();
    const report = await run.report();
    assert.equal(report.status, 'CANCELLED');
    assert.deepEqual(disagreements(report, stage.sandbox.ledger()), []);
    assert.deepEqual(report.payments.map(({ outcome }) => outcome).toSorted(), ['NOT_PAID', 'PAID']);
    assert.equal(run.movements().withdrawals.length, 1);
  },
  'Reset, Start like this one | plan': async () => {
    await inPayment(stage, (run) => reset(stage, planOf(run)));
    await inPayment(stage, async (run) => {
      await startLike(stage, planOf(run));
    });
  },
  'Delete | instructions': async () => {
    const { run, release } = await stage.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
    await remove(stage, instructionsOf(run));
    await eventually('what people said is deleted', async () => (await keptOf(run)) === null);
    await reset(stage, run.handle);
    release();
    await run.heldBy('INSTRUCTIONS_MISSING');
    assert.equal(run.movements().withdrawals.length, 1, 'what was on its way');
    const { client, namespace } = stage.temporal;
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    const place = { client, taskQueue, mode: 'SANDBOX', namespace } as Place;
    await sayGoOn(place, run.name, { by: 'ana', why: 'nothing else holds' }, NOTHING_KEPT);
    await run.wake();
    assertDone(stage, run, await run.report());
  },
  'Reset, Cancel, Terminate | chunk': async () => {
    for (const press of [reset, cancel, terminate])
      // One after the other: each of them says what has failed.
      await inBatch(stage, async (batch) => {
        await press(stage, chunkOf(stage, batch, 2));
        await batch.wake();
      });
  },
  'Update options, Complete, Fail | activity of run': async () => {
    for (const button of ['update options', 'complete', 'fail'] as const)
      await inPayment(stage, ({ handle }) =>
        pressBeside(stage, handle.workflowId, 'createWithdrawals', button),
      );
  },
};

describe('pressed in the middle of a payment', { concurrency: 6 }, () => {
  for (const row of ON_RUNS) test(row, PRESSES[row]);
});
