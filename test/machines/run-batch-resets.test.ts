/**
 * A batch whose run or chunks are reset, terminated or cancelled, while it runs and after its end: everybody is paid once,
 * and what was not paid and can be paid now is paid by a reset of either.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { isCancelled } from '../../domain/people/instructions.ts';
import { reference } from '../../domain/references.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import {
  assertPaidOnce,
  chunkOf,
  nameOf,
  paymentsOf,
  resetBatch,
  startBatch,
  untilAllEnded,
  untilBooked,
  type BatchRun,
} from '../support/batches.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { say } from '../support/say.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({
    balances: { USD: '10000000', EUR: '10000000', MXN: '10000000' },
    timePasses: true,
  });
  await stage.startWorker();
});
after(() => stage.close());

/** Three chunks, in slices. */
const SIZE = { perChunk: 60 };
const ROWS = paymentsOf(180);

const AT_ONCE = { concurrency: 4 };

describe('after its end, with everybody paid,', AT_ONCE, () => {
  for (const [which, share] of [
    ['run', 0],
    [2, 0],
    [2, 0.5],
  ] as const)
    test(`a reset of ${nameOf(which)} to ${share * 100} % of its events changes nothing`, async () => {
      const batch = await startBatch(stage, ROWS, SIZE);
      await untilAllEnded(stage, batch);
      await resetBatch(stage, batch, which, share);
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
    });
});

/** A batch whose payments 70 and 71 go to an account that is not verified. */
async function endedUnpaid(): Promise<{ readonly batch: BatchRun; readonly mend: () => void }> {
  const account = `wac_Late${[...randomBytes(8)].map((byte) => String.fromCodePoint(97 + (byte % 8))).join('')}`;
  const put = (status: string): void => {
    stage.sandbox.putAccounts([{ id: account, currency: 'EUR', assetType: 'FIAT', status }]);
  };
  put('UNVERIFIED');
  const rows = ROWS.map((row, index): BatchPayment => {
    const isLate = index === 70 || index === 71;
    return isLate ? [row[0], account, 'EUR', row[3]] : row;
  });
  const batch = await startBatch(stage, rows, SIZE);
  assertPaidOnce(batch, await untilAllEnded(stage, batch), ['inv-71', 'inv-72']);
  return { batch, mend: () => put('LIVE') };
}

describe('after its end, with something not paid that can be paid now,', AT_ONCE, () => {
  for (const [which, share] of [
    ['run', 0],
    ['run', 1],
    [1, 0],
    [2, 0],
    [2, 0.5],
    [2, 1],
  ] as const)
    test(`a reset of ${nameOf(which)} to ${share * 100} % of its events pays it`, async () => {
      const { batch, mend } = await endedUnpaid();
      mend();
      await resetBatch(stage, batch, which, share);
      const report = await untilAllEnded(stage, batch);
      assertPaidOnce(batch, report);
    });

  test('the same run, started again, pays it', async () => {
    const { batch, mend } = await endedUnpaid();
    mend();
    await batch.startAgain();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });
});

describe('while it pays,', AT_ONCE, () => {
  for (const [which, booked, share] of [
    ['run', 1, 0],
    ['run', 60, 0.5],
    ['run', 120, 1],
    [1, 25, 0.5],
    [2, 60, 1],
    [3, 140, 0],
  ] as const)
    test(`a reset of ${nameOf(which)} to ${share * 100} % of its events, at ${booked} payments, pays nobody twice`, async () => {
      const batch = await startBatch(stage, ROWS, SIZE);
      await untilBooked(batch, booked);
      await resetBatch(stage, batch, which, share);
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
    });

  cell('resets of all of them at once pay nobody twice', async () => {
    const batch = await startBatch(stage, ROWS, SIZE);
    await untilBooked(batch, 60);
    await Promise.all((['run', 1, 2] as const).map((which) => resetBatch(stage, batch, which, 0.5)));
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });

  test('a chunk that is terminated is started again when the run is woken', async () => {
    const batch = await startBatch(stage, ROWS, SIZE);
    await untilBooked(batch, 30);
    await chunkOf(stage, batch, 1).terminate('a mistake');
    await batch.wake();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });

  test('a run that is terminated, and started again, pays nobody twice', async () => {
    const batch = await startBatch(stage, ROWS, SIZE);
    await untilBooked(batch, 30);
    await batch.handle.terminate('a mistake');
    await batch.startAgain();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });

  test('a run that is terminated together with its chunks, and started again, pays nobody twice', async () => {
    const batch = await startBatch(stage, ROWS, SIZE);
    await untilBooked(batch, 30);
    await Promise.all(
      [batch.handle, ...[1, 2, 3].map((number) => chunkOf(stage, batch, number))].map((one) =>
        one.terminate('a mistake'),
      ),
    );
    await batch.startAgain();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });

  test('a cancel of a chunk alone changes nothing', async () => {
    const batch = await startBatch(stage, ROWS, SIZE);
    await untilBooked(batch, 30);
    await chunkOf(stage, batch, 1).cancel();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });

  test('a cancel of the run ends it with the rest not paid, which a person lets go on', async () => {
    const name = uniqueName('b');
    const id = `${todayIn('UTC', Date.now())}-weekly`;
    const of = { client: stage.temporal.client, mode: 'SANDBOX' } as const;
    // A chunk has several calls: the one that is under way goes to its end, and the next ones do not begin.
    const held = stage.sandbox.addFault({
      operation: 'createWithdrawal',
      times: 1,
      when: { reference: reference({ policy: name, id }, 'inv-61') },
      effect: { kind: 'hold' },
    });
    const batch = await startBatch(stage, ROWS, { ...SIZE, name, id });
    await stage.sandbox.faultHit(held);
    await batch.handle.cancel();
    await eventually('the cancel is kept', async () =>
      isCancelled((await readInstructions({ ...of, run: batch.name }))?.instructions ?? []),
    );
    // A call that follows may go by what another one has read less than a second ago.
    stage.time.pass(2_000);
    stage.sandbox.releaseFaults(held);
    const report = await untilAllEnded(stage, batch);
    assert.equal(report.status, 'CANCELLED');
    const left = report.payments.filter(({ outcome }) => outcome === 'NOT_PAID');
    assert.ok(left.length > 0);
    assert.equal(batch.movements().withdrawals.length, ROWS.length - left.length);
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    await say({ ...of, taskQueue, run: batch.name }, { kind: 'go-on', item: null });
    await batch.startAgain();
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
  });
});
