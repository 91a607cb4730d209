/**
 * Payments of a batch that have failed or were returned are paid again when a person says so, each once, and nobody else is (M1):
 * what the command finds and keeps. Resets and other orders are told in `test/story/batches-again.test.ts`.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { generationOf, reference } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { Report } from '../../domain/run/report.ts';
import {
  assertPaidOnce,
  paymentsOf,
  resetBatch,
  startBatch,
  untilAllEnded,
  type BatchRun,
} from '../support/batches.ts';
import { uniqueName } from '../support/dev-server.ts';
import { assertExit, command, reportOf, type Ended } from '../support/commands.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import { said as instruction } from '../support/instructions.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({
    balances: { USD: '10000000', EUR: '10000000', MXN: '10000000' },
    timePasses: true,
  });
  await stage.startWorker();
});
after(() => stage.close());

const SIZE = { perChunk: 4 };
const ROWS = paymentsOf(12);
const ANA = ['--reason', 'the accounts are open again', '--by', 'ana'] as const;

/** The batch as its file, so that commands can name it. */
async function paid(): Promise<BatchRun> {
  const batch = await startBatch(stage, ROWS, SIZE);
  const { policy } = batch.name;
  await writeFile(join(stage.folder, `${policy}.yaml`), batch.input.policyText);
  assertPaidOnce(batch, await untilAllEnded(stage, batch));
  return batch;
}

function payAgain({ name, handle }: BatchRun, ...more: readonly string[]): Promise<Ended> {
  const words = ['run', `${name.policy}.yaml`, '--id', name.id, '--wait', '--json', ...more];
  return stage.during(handle.workflowId, () => command(stage, words));
}

/** The money of these payments comes back. */
function giveBack(batch: BatchRun, items: readonly string[]): void {
  for (const record of recordsOf(batch))
    if (items.includes(record.item) && record.status === 'COMPLETED')
      stage.sandbox.setStatus({ id: record.id, status: 'RETURNED', money: 'returned' });
}

type Booked = {
  readonly id: string;
  readonly item: string;
  readonly generation: number;
  readonly status: string;
};

/** What the service has booked for the batch, whatever became of it. */
function recordsOf(batch: BatchRun): readonly Booked[] {
  return batch.movements().withdrawals.flatMap(({ id, status, metadata }) => {
    const tag = (metadata as { readonly cambist: string }).cambist;
    return batch.payments.flatMap(([item]) => {
      const generation = generationOf(reference(batch.name, item), tag);
      return generation === null ? [] : [{ id: String(id), item, generation, status: String(status) }];
    });
  });
}

/**
 * Ledger, report and file say the same: of every payment one record stands, these were paid a second time in the first of
 * the generations that a person has opened, and everybody else once.
 */
function assertPaidAgain(batch: BatchRun, report: Report, again: readonly string[]): void {
  const standing = recordsOf(batch).filter(({ status }) => status === 'COMPLETED');
  const expected = batch.payments.map(([item]) => [item, again.includes(item) ? 9 : 1]);
  assert.deepEqual(
    standing.map(({ item, generation }) => [item, generation]).toSorted(byName),
    expected.toSorted(byName),
  );
  assert.equal(recordsOf(batch).length, batch.payments.length + again.length);
  assert.equal(report.status, 'COMPLETED');
  assert.deepEqual(
    report.payments.map(({ id, amount, outcome, withdrawalId }) => [id, amount, outcome, withdrawalId]),
    batch.payments.map(([item, , , amount]) => [
      item,
      amount,
      'PAID',
      standing.find((record) => record.item === item)?.id,
    ]),
  );
  assert.deepEqual(
    report.totals.map(({ currency, paid: value }) => ({ currency, value })),
    batch.manifest.totals,
  );
}

/** Why the workflow does not keep an instruction. */
async function refusedAs(keeping: Promise<unknown>): Promise<string | null | undefined> {
  const error: unknown = await keeping.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : null;
  return cause instanceof ApplicationFailure ? cause.type : null;
}

function byName([one]: readonly unknown[], [other]: readonly unknown[]): number {
  return String(one) < String(other) ? -1 : 1;
}

describe('payments that came back after everybody was paid', { concurrency: 3 }, () => {
  test('are paid again once, however often that is said, and although a chunk is reset afterwards', async () => {
    const batch = await paid();
    giveBack(batch, ['inv-2', 'inv-7', 'inv-8']);
    const { policy, id } = batch.name;
    const refreshed = await command(stage, ['report', `${policy}.${id}`, '--refresh', '--json']);
    assertExit(refreshed, 5);
    assert.deepEqual(
      reportOf(refreshed).payments.flatMap((payment) => (payment.outcome === 'PAID' ? [] : [payment.id])),
      ['inv-2', 'inv-7', 'inv-8'],
    );
    assert.equal(reportOf(refreshed).status, 'PARTIAL');
    const said = await payAgain(batch, '--pay-again', 'inv-7', 'inv-2', 'inv-8', ...ANA);
    assertExit(said, 0);
    assert.match(said.stderr, /Pays again: 3 payments, 16\.50 EUR, 29\.00 USD/);
    assertPaidAgain(batch, reportOf(said), ['inv-2', 'inv-7', 'inv-8']);
    const who = reportOf(said).evidence.filter(({ call }) => call === 'instruction');
    assert.deepEqual(
      who.map(({ result }) => result),
      ['"ana": pay 3 payments of the batch again (inv-2, inv-7, inv-8): "the accounts are open again"'],
    );
    // What she said of payments of two chunks stands among what is said of the run: nobody speaks past it.
    const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
    const of = { client: stage.temporal.client, taskQueue, mode: 'SANDBOX', run: batch.name } as const;
    const goOn = instruction({ kind: 'go-on', item: 'inv-2', by: 'ben' });
    assert.equal(await refusedAs(recordInstruction(of, goOn, 0)), 'SAID_SINCE');
    assert.equal(await refusedAs(recordInstruction({ ...of, chunk: 1 }, goOn, 0)), 'INSTRUCTION_INVALID');
    const twice = await payAgain(batch, '--pay-again', 'inv-7', 'inv-2', 'inv-8', ...ANA);
    assertExit(twice, 4);
    assert.match(twice.stdout, /PAYMENT_STANDS/);
    const all = await payAgain(batch, '--pay-again', 'all-failed', ...ANA);
    assertExit(all, 0);
    assertPaidAgain(batch, reportOf(all), ['inv-2', 'inv-7', 'inv-8']);
    await resetBatch(stage, batch, 2, 0.5);
    assertPaidAgain(batch, await untilAllEnded(stage, batch), ['inv-2', 'inv-7', 'inv-8']);
  });
});

describe('all that has failed', { concurrency: 3 }, () => {
  test('is what had failed when it was said: nothing that fails later is paid again', async () => {
    const batch = await paid();
    giveBack(batch, ['inv-3', 'inv-9']);
    const hold = stage.sandbox.addFault({
      operation: 'createWithdrawal',
      times: 1,
      when: { reference: `${batch.name.policy}.${batch.name.id}.inv-3~9` },
      effect: { kind: 'hold', when: 'before' },
    });
    const said = payAgain(batch, '--pay-again', 'all-failed', ...ANA);
    await stage.sandbox.faultHit(hold);
    giveBack(batch, ['inv-1', 'inv-4']);
    stage.sandbox.releaseFaults(hold);
    const ended = await said;
    assertExit(ended, 5);
    const report = reportOf(ended);
    assert.deepEqual(
      report.payments.filter(({ outcome }) => outcome !== 'PAID').map(({ id, outcome }) => [id, outcome]),
      [
        ['inv-1', 'NOT_PAID'],
        ['inv-4', 'NOT_PAID'],
      ],
    );
    assert.deepEqual(
      recordsOf(batch)
        .filter(({ generation }) => generation > 1)
        .map(({ item }) => item)
        .toSorted(),
      ['inv-3', 'inv-9'],
    );
    assertExit(await payAgain(batch, '--pay-again', 'all-failed', ...ANA), 0);
    assertPaidAgain(batch, await untilAllEnded(stage, batch), ['inv-1', 'inv-3', 'inv-4', 'inv-9']);
  });

  test('is neither what is in doubt nor what stands', async () => {
    const name = uniqueName('b');
    // Nobody knows what became of these two.
    for (const item of ['inv-5', 'inv-10'])
      stage.sandbox.addFault({
        operation: 'createWithdrawal',
        times: 1_000,
        when: { reference: `${name}.${todayIn('UTC', Date.now())}-weekly.${item}` },
        effect: { kind: 'error', code: 'IDEMPOTENCY_MISMATCH', stored: false },
      });
    const batch = await startBatch(stage, ROWS, { ...SIZE, name });
    await writeFile(join(stage.folder, `${name}.yaml`), batch.input.policyText);
    const doubtful = ({ id }: { readonly id: string }): boolean => id === 'inv-5' || id === 'inv-10';
    const othersPaid = ({ payments }: Report): boolean =>
      payments.length === ROWS.length &&
      payments.every((payment) => doubtful(payment) || payment.outcome === 'PAID');
    await batch.until(othersPaid);
    giveBack(batch, ['inv-1', 'inv-6']);
    await batch.handle.terminate('somebody did not want to wait');
    const said = await payAgain(batch, '--pay-again', 'all-failed', ...ANA, '--detach');
    assertExit(said, 8);
    assert.match(said.stderr, /Pays again: 2 payments/);
    const report = await batch.until((told) => othersPaid(told) && recordsOf(batch).length === ROWS.length);
    assert.ok(
      report.payments.filter(doubtful).every(({ outcome }) => outcome !== 'PAID' && outcome !== 'NOT_PAID'),
    );
    assert.deepEqual(
      recordsOf(batch)
        .filter(({ generation }) => generation > 1)
        .map(({ item, generation }) => [item, generation])
        .toSorted(byName),
      [
        ['inv-1', 9],
        ['inv-6', 9],
      ],
    );
    const named = await payAgain(batch, '--pay-again', 'inv-5', ...ANA);
    assertExit(named, 4);
    assert.match(named.stdout, /RUN_OPEN/);
    await batch.handle.terminate('somebody did not want to wait');
    const unknown = await payAgain(batch, '--pay-again', 'inv-5', 'inv-2', ...ANA);
    assertExit(unknown, 4);
    assert.match(unknown.stdout, /PAYMENT_OPEN/);
    assert.equal(recordsOf(batch).length, ROWS.length);
  });
});
