/**
 * Batches of chunks that are as small as a test wants them: started by hand, as the command that submits a batch starts
 * them; and what must be true of a batch once it has ended.
 */
import assert from 'node:assert/strict';
import type { BatchPayment, Manifest } from '../../domain/batch.ts';
import { add } from '../../domain/money.ts';
import { generationOf, reference, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { readStart } from '../../durable/history.ts';
import { chunkIdOf, instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { uniqueName } from './dev-server.ts';
import { eventually } from './patience.ts';
import { resetPoints, resetTo } from './resets.ts';
import type { Run, Stage } from './stage.ts';

const ACCOUNTS = {
  EUR: 'wac_EuR5epaLive1',
  USD: 'wac_U5DFedw1re9',
  MXN: 'wac_7Hk2mQ9vT4xR',
} as const;

/** Payments in three currencies, one after the other. */
export function paymentsOf(count: number): readonly BatchPayment[] {
  const currencies = ['EUR', 'USD', 'MXN'] as const;
  return Array.from({ length: count }, (_, index): BatchPayment => {
    const currency = currencies[index % currencies.length] ?? 'EUR';
    return [`inv-${index + 1}`, ACCOUNTS[currency], currency, `${10 + index}.5`];
  });
}

export type BatchRun = Run & {
  readonly payments: readonly BatchPayment[];
  readonly chunks: number;
  readonly manifest: Manifest;
};

export type BatchOptions = {
  /** Payments of a chunk, at most. */
  readonly perChunk: number;
  /** Lines of the policy below `payout:`, and after it. */
  readonly policy?: string;
  readonly taskQueue?: string;
  readonly name?: string;
  readonly id?: string;
};

const UNFUNDED = 'payout: { fund: { mode: none } }';

/** Submits a batch and starts its run, on a stage that has a worker or will have one. */
export async function startBatch(
  stage: Stage,
  payments: readonly BatchPayment[],
  options: BatchOptions,
): Promise<BatchRun> {
  const { perChunk, policy = UNFUNDED, taskQueue, name = uniqueName('b') } = options;
  const { id = `${todayIn('UTC', Date.now())}-weekly` } = options;
  const text = `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\nzone: UTC\n${policy}\n`;
  const run = stage.find(text, { name, id, ...(taskQueue !== undefined && { taskQueue }) });
  const groups = Array.from({ length: Math.ceil(payments.length / perChunk) }, (_, index) =>
    payments.slice(index * perChunk, (index + 1) * perChunk),
  );
  const queue = taskQueue ?? stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  await Promise.all(
    groups.map((group, index) =>
      startChunk(
        stage.temporal.client,
        queue,
        { run: run.name, mode: 'SANDBOX', number: index + 1, payments: group, isFirst: true },
        'REJECT_DUPLICATE',
      ),
    ),
  );
  const manifest: Manifest = {
    payments: payments.length,
    totals: totalsOf(payments),
    chunks: groups.map((group) => ({ payments: group.length, hash: hashOfChunk(group) })),
  };
  const startAgain: Run['startAgain'] = (more = {}) => run.startAgain({ batch: manifest, ...more });
  await startAgain();
  return { ...run, startAgain, payments, manifest, chunks: groups.length };
}

function totalsOf(payments: readonly BatchPayment[]): Manifest['totals'] {
  const sums = new Map<string, string>();
  for (const [, , currency, value] of payments) sums.set(currency, add(sums.get(currency) ?? '0', value));
  return [...sums]
    .map(([currency, value]) => ({ currency, value }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

export function chunkOf(stage: Stage, { name }: Pick<Run, 'name'>, number: number) {
  return stage.temporal.client.workflow.getHandle(chunkIdOf('SANDBOX', name, number));
}

async function endOf(stage: Stage, batch: BatchRun, number: number): Promise<void> {
  const chunk = chunkOf(stage, batch, number);
  const describe = () => chunk.describe();
  await eventually(
    `the end of chunk ${number}`,
    async () => (await describe()).status.name !== 'RUNNING',
    async () => (await describe()).historyLength,
  );
}

/** The run of a batch, or a chunk of it. */
export type Workflow = 'run' | number;

export function nameOf(which: Workflow): string {
  return which === 'run' ? 'the run' : `chunk ${which}`;
}

/** Resets the newest Temporal run of one of them, to an event that lies so far in its history. */
export async function resetBatch(
  stage: Stage,
  batch: BatchRun,
  which: Workflow,
  share: number,
): Promise<void> {
  const handle = which === 'run' ? batch.handle : chunkOf(stage, batch, which);
  const { workflowId, runId } = await handle.describe();
  const points = await resetPoints(handle);
  const point = points[Math.min(Math.floor(points.length * share), points.length - 1)];
  assert.ok(point !== undefined);
  await resetTo(stage.temporal, { workflowId, runId }, point);
}

/** Temporal loses everything that it has of a run, or of a batch of one chunk. */
export async function loseInTemporal(stage: Stage, run: RunName): Promise<void> {
  await deleteInTemporal(stage, [
    workflowIdOf('SANDBOX', run),
    planIdOf('SANDBOX', run),
    instructionsIdOf('SANDBOX', run),
    chunkIdOf('SANDBOX', run, 1),
  ]);
}

/** Returns when Temporal knows nothing of these workflows any more. */
export async function deleteInTemporal(
  { temporal: { client, namespace } }: Stage,
  workflowIds: readonly string[],
): Promise<void> {
  // Temporal takes its time for each.
  await Promise.all(
    workflowIds.map(async (workflowId) => {
      if ((await readStart(client, workflowId)) === null) return;
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } });
      await eventually(`${workflowId} is gone`, async () => (await readStart(client, workflowId)) === null);
    }),
  );
}

/** Lets it pay until so many payments are booked. */
export async function untilBooked(batch: Pick<BatchRun, 'movements'>, count: number): Promise<void> {
  const booked = (): number => batch.movements().withdrawals.length;
  await eventually(
    `${count} payments are booked`,
    () => booked() >= count,
    async () => booked(),
  );
}

/** Every workflow of the batch has ended, and its report is one of everything. */
export async function untilAllEnded(stage: Stage, batch: BatchRun): Promise<Report> {
  await batch.report();
  for (let number = 1; number <= batch.chunks; number += 1) await endOf(stage, batch, number);
  return batch.report();
}

/**
 * The ledger, the report and the file say the same: of every payment that is not among these, that it was paid, once; of
 * these that they are not paid, and nothing moved.
 */
export function assertPaidOnce(batch: BatchRun, report: Report, notPaid: readonly string[] = []): void {
  assert.deepEqual(
    report.payments.map(({ id, account, currency, amount, outcome }) => [
      id,
      account,
      currency,
      amount,
      outcome,
    ]),
    batch.payments.map(([id, account, currency, amount]) => [
      id,
      account,
      currency,
      amount,
      notPaid.includes(id) ? 'NOT_PAID' : 'PAID',
    ]),
  );
  const { withdrawals } = batch.movements();
  const paid = report.payments.filter(({ outcome }) => outcome === 'PAID');
  // Under its own name, in whichever generation.
  for (const { id, reference: tag } of paid)
    assert.notEqual(generationOf(reference(batch.name, id), tag), null, tag);
  const moved = withdrawals.map(({ id, metadata }) => [
    id,
    (metadata as { readonly cambist: string }).cambist,
  ]);
  assert.deepEqual(
    moved.toSorted(byReference),
    paid.map(({ withdrawalId, reference: tag }) => [withdrawalId, tag]).toSorted(byReference),
  );
  const expected = totalsOf(batch.payments.filter(([id]) => !notPaid.includes(id)));
  assert.deepEqual(
    report.totals
      .filter((total) => total.paid !== '0')
      .map(({ currency, paid: value }) => ({ currency, value })),
    expected,
  );
  assert.equal(report.status, notPaid.length === 0 ? 'COMPLETED' : 'PARTIAL');
}

/** Everybody but `notPaid` was paid once, and some of the money has come back: the report says so, and nothing else moved. */
export function assertCameBack(
  batch: BatchRun,
  report: Report,
  { cameBack, notPaid }: { readonly cameBack: readonly string[]; readonly notPaid: readonly string[] },
): void {
  const ended = report.payments.filter(({ outcome }) => outcome !== 'PAID');
  assert.deepEqual(
    ended.map(({ id, outcome, withdrawalId }) => [id, outcome, withdrawalId !== null]),
    batch.payments
      .filter(([id]) => cameBack.includes(id) || notPaid.includes(id))
      .map(([id]) => [id, 'NOT_PAID', cameBack.includes(id)]),
  );
  const failed = report.problems.filter(({ code }) => code === 'WITHDRAWAL_FAILED');
  assert.deepEqual(
    failed.map(({ item }) => item),
    cameBack,
  );
  assert.equal(batch.movements().withdrawals.length, batch.payments.length - notPaid.length);
}

function byReference([, one]: readonly unknown[], [, other]: readonly unknown[]): number {
  return String(one) < String(other) ? -1 : 1;
}
