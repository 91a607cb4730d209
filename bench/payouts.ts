/**
 * A batch against the same payments by hand: one Temporal workflow each, and a bare script that makes the same signed calls
 * at the same concurrency and keeps nothing (the physical floor). All have the sandbox and the Temporal server of this
 * machine, and no latency at the service.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker, bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { createClient, loadSettings } from '../config/config.ts';
import { readProfile } from '../config/temporal.ts';
import { todayIn } from '../calendar/business-date.ts';
import { hashKey } from '../service/idempotency-key.ts';
import type { ServiceClient } from '../service/client.ts';
import { connectWorker } from '../worker/connect.ts';
import { command, commandProcess, type Ended } from '../test/support/commands.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { atMost, counted, median, number, plain, timed, type Figure, type Section } from './figures.ts';
import type { OnePayment, PaymentActivities } from './hand-written-payment.ts';

/** A payment is paid in the moment in which it is accepted. */
export const AT_ONCE = { withdrawalSteps: [{ status: 'PENDING', forMs: 0 }] };

const PARALLEL = 8;
/** Few by hand: each is a workflow of its own. */
const BY_HAND = 200;

/** What `status` of a batch may take; between two questions so much time passes. */
const STATUS_MS = 1_000;
const BETWEEN_MS = 3_000;
const TURNS = 3;
/** Its exit code while a run goes on. */
const GOES_ON = 8;

const EVENTS_EACH = 0.6;
const TASKS_EACH = 0.1;

/** @param sizes how many payments a batch has; the figures are of the last, the largest */
export async function measurePayouts(sizes: readonly [number, ...number[]]): Promise<Section> {
  const stage = await openStage({ balances: { USD: '1000000000' }, settings: AT_ONCE });
  try {
    await stage.startWorker();
    // What a worker loads and compiles once is no part of a payment.
    await payBatch(stage, 100, 'warm-up');
    const batches: Batch[] = [];
    let asked: AnswerTimes | null = null;
    for (const [index, size] of sizes.entries()) {
      const isLast = index === sizes.length - 1;
      const paying = payBatch(stage, size, `batch-${index}`);
      const [batch, times] = await Promise.all([
        paying,
        isLast ? askWhile(stage, `batch-${index}`, paying) : null,
      ]);
      batches.push(batch);
      asked = times;
    }
    const byHand = await payByHand(stage, BY_HAND);
    const bare = await payBare(stage, Math.max(...sizes));
    return sectionOf(batches, asked, { byHand, bare });
  } finally {
    await stage.close();
  }
}

export type Batch = {
  readonly payments: number;
  readonly events: number;
  readonly tasks: number;
  readonly paid: number;
  readonly listPages: number;
  /** Payments a second, from the start of the run to its end. */
  readonly rate: number;
};

/** How long `status` of a batch took, milliseconds. */
type AnswerTimes = {
  /** While it was paid, asked in this process: another one would take time from what is measured. */
  readonly whileOpen: readonly number[];
  /** Once it had ended, as a user types it. */
  readonly ended: readonly number[];
  /** What only the start of the command takes. */
  readonly starts: readonly number[];
};

async function askWhile(stage: Stage, name: string, paying: Promise<unknown>): Promise<AnswerTimes> {
  const run = `${name}.${idOfToday()}`;
  const whileOpen: number[] = [];
  const over = paying.then(
    () => true,
    () => true,
  );
  for (let isOver = false; !isOver; isOver = await Promise.race([over, sleep(BETWEEN_MS, false)])) {
    const [ms, exitCode] = await timeOf(() => command(stage, ['status', run]));
    // What it says before there is a batch, or once it has ended, is another thing.
    if (exitCode === GOES_ON) whileOpen.push(ms);
  }
  const ended: number[] = [];
  const starts: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    ended.push((await timeOf(() => commandProcess(stage, ['status', run])))[0]);
    starts.push((await timeOf(() => commandProcess(stage, ['status', '--help'])))[0]);
  }
  return { whileOpen, ended, starts };
}

async function timeOf(ask: () => Promise<Ended>): Promise<readonly [ms: number, exitCode: number | null]> {
  const startedMs = performance.now();
  const { exitCode } = await ask();
  return [performance.now() - startedMs, exitCode];
}

function sectionOf(
  batches: readonly Batch[],
  asked: AnswerTimes | null,
  { byHand, bare }: { readonly byHand: number; readonly bare: number },
): Section {
  const last = batches.at(-1);
  if (last === undefined) throw new Error('No batch was measured.');
  const [first] = batches;
  const slower = first === undefined ? 1 : first.rate / last.rate;
  return {
    title: `batches of ${batches.map(({ payments }) => number(payments)).join(' and ')} payments, ${PARALLEL} side by side`,
    figures: [
      counted('payments that are not paid', [last.payments - last.paid], 0),
      atMost('history events for each payment', last.events / last.payments, EVENTS_EACH, 3),
      atMost('workflow tasks for each payment', last.tasks / last.payments, TASKS_EACH, 3),
      plain('pages of the list of withdrawals', number(last.listPages)),
      plain('payments a second, batch', number(last.rate)),
      plain('payments a second, one workflow each', number(byHand)),
      plain('payments a second, bare script', number(bare)),
      timed(
        '  batch against one workflow each',
        `${number(last.rate / byHand)} times`,
        'at least 15',
        last.rate >= 15 * byHand,
      ),
      timed(
        '  batch against the bare script',
        (last.rate / bare).toFixed(2),
        'at least 0.6',
        last.rate >= 0.6 * bare,
      ),
      timed(
        `time of a payment, against the smaller batch`,
        `${slower.toFixed(2)} times`,
        'at most 1.05',
        slower <= 1.05,
      ),
      statusOf('`status` of it while it is paid, without its start', asked?.whileOpen ?? []),
      statusOf('`status` of it after its end, with its start', asked?.ended ?? []),
      plain('  of this the start of the command', `${number(median(asked?.starts ?? []))} ms`),
    ],
  };
}

function statusOf(name: string, times: readonly number[]): Figure {
  const ms = median(times);
  return timed(name, `${number(ms)} ms`, `under ${number(STATUS_MS)} ms`, ms < STATUS_MS);
}

function idOfToday(): string {
  return `${todayIn('UTC', Date.now())}-bench`;
}

/** From the command line, as a user does; the time is the server's, from the first event of the run to its last. */
export async function payBatch(stage: Stage, payments: number, name: string): Promise<Batch> {
  const policy = `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\nzone: UTC\npayout:\n  fund: { mode: none }\n  parallel: ${PARALLEL}\n`;
  await writeFile(join(stage.folder, `${name}.yaml`), policy);
  const rows = Array.from(
    { length: payments },
    (_, index) => `p-${index},wac_U5DFedw1re9,USD,${index + 1}.25`,
  );
  await writeFile(join(stage.folder, `${name}.csv`), ['id,account,currency,amount', ...rows, ''].join('\n'));
  const id = idOfToday();
  const before = listPagesOf(stage);
  const argv = ['run', `${name}.yaml`, '--batch', `${name}.csv`, '--id', id, '--json', '--wait'];
  const { exitCode, stderr } = await command(stage, argv);
  if (exitCode !== 0)
    throw new Error(`The batch of ${payments} payments ended with ${exitCode}: ${stderr.slice(-2_000)}`);
  const { client } = stage.temporal;
  let events = 0;
  let tasks = 0;
  let ms = 0;
  for await (const { workflowId, runId, type } of client.workflow.list({
    query: `CambistPolicy = '${name}'`,
  })) {
    const history = (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    events += history.length;
    tasks += history.filter((event) => event.workflowTaskCompletedEventAttributes).length;
    if (type === 'run') ms = momentOf(history.at(-1)) - momentOf(history[0]);
  }
  const paid = stage.sandbox
    .ledger()
    .withdrawals.filter((record) => JSON.stringify(record).includes(`"${name}.`)).length;
  return {
    payments,
    events,
    tasks,
    paid,
    listPages: listPagesOf(stage) - before,
    rate: (payments * 1_000) / ms,
  };
}

type Event = { readonly eventTime?: { readonly seconds?: unknown; readonly nanos?: number | null } | null };

function momentOf(event: Event | undefined): number {
  return Number(event?.eventTime?.seconds ?? 0) * 1_000 + (event?.eventTime?.nanos ?? 0) / 1e6;
}

function listPagesOf({ sandbox }: Stage): number {
  return sandbox.requests().filter(({ operation }) => operation === 'listWithdrawals').length;
}

/** Payments a second. */
async function payByHand(stage: Stage, payments: number): Promise<number> {
  const settings = await loadSettings(stage.env, stage.folder);
  const service = createClient(settings, 'write');
  const profile = readProfile(stage.env, 'SANDBOX');
  const connection = await connectWorker(profile);
  const taskQueue = `${settings.taskQueue}-by-hand`;
  const activities: PaymentActivities = {
    pay: (payment) => send(service, payment),
    untilPaid: async (id) => {
      const reply = await service.withdrawal(id);
      const isPaid = reply.kind === 'DONE' && reply.value.record.status === 'COMPLETED';
      if (!isPaid) throw new Error(`Withdrawal ${id} is not paid yet.`);
    },
  };
  const worker = await Worker.create({
    connection,
    namespace: profile.namespace,
    taskQueue,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('hand-written-payment.ts', import.meta.url)),
      logger: new DefaultLogger('ERROR'),
    }),
    activities,
    maxConcurrentActivityTaskExecutions: PARALLEL,
  });
  const ended = worker.run();
  const { client } = stage.temporal;
  const startedMs = performance.now();
  await sideBySide(payments, PARALLEL * 4, (index) =>
    client.workflow.execute('payOne', {
      workflowId: `one/${taskQueue}/${index}`,
      taskQueue,
      args: [onePayment('one', index)],
    }),
  );
  const ms = performance.now() - startedMs;
  worker.shutdown();
  await ended;
  await Promise.all([service.close(), connection.close()]);
  return (payments * 1_000) / ms;
}

/** Payments a second. */
async function payBare(stage: Stage, payments: number): Promise<number> {
  const service = createClient(await loadSettings(stage.env, stage.folder), 'write');
  const startedMs = performance.now();
  await sideBySide(payments, PARALLEL, (index) => send(service, onePayment('bare', index)));
  const ms = performance.now() - startedMs;
  await service.close();
  return (payments * 1_000) / ms;
}

function onePayment(name: string, index: number): OnePayment {
  const reference = `${name}.2026-11-21-bench.p-${index}`;
  return { account: 'wac_U5DFedw1re9', currency: 'USD', amount: `${index + 1}.25`, reference };
}

async function send(service: ServiceClient, payment: OnePayment): Promise<string> {
  const { account, currency, amount, reference } = payment;
  const idempotencyKey = hashKey(reference);
  const reply = await service.createWithdrawal({ account, currency, amount, tag: reference, idempotencyKey });
  if (reply.kind !== 'DONE') throw new Error(`Payment ${reference} was not accepted.`);
  return reply.value.id;
}

async function sideBySide(
  count: number,
  most: number,
  one: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await one(index);
  };
  await Promise.all(Array.from({ length: most }, lane));
}
