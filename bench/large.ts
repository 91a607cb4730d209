/**
 * Batches of up to 100,000 payments, each with a worker process of its own, as a user starts one: what a payment costs, and
 * how much memory the worker takes, must not grow with the batch. Takes a quarter of an hour and more.
 */
import { readFile } from 'node:fs/promises';
import { startCommand } from '../test/support/commands.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { counted, number, plain, timed, type Figure, type Section } from './figures.ts';
import { AT_ONCE, payBatch, type Batch } from './payouts.ts';

/** Against the smallest batch. */
const MEMORY = 1.3;
/** Ten times the payments, against the batch before. */
const TIME = 10.5;

type Large = Batch & {
  /** The most memory that the worker had at any time, MiB; null: this machine does not tell. */
  readonly mostMiB: number | null;
};

/** @param sizes how many payments each batch has, the smallest first, ten times as many each time */
export async function measureLarge(sizes: readonly number[]): Promise<Section> {
  const stage = await openStage({ balances: { USD: '1000000000000' }, settings: AT_ONCE });
  try {
    const batches: Large[] = [];
    for (const [index, size] of sizes.entries())
      batches.push(await withWorker(stage, () => payBatch(stage, size, `large-${index}`)));
    return sectionOf(batches);
  } finally {
    await stage.close();
  }
}

async function withWorker(stage: Stage, work: () => Promise<Batch>): Promise<Large> {
  const worker = startCommand(stage, ['worker']);
  try {
    await worker.says(/^ready worker/m);
    const batch = await work();
    return { ...batch, mostMiB: await mostMemory(worker.process.pid ?? 0) };
  } finally {
    worker.process.kill('SIGTERM');
    await worker.ended;
  }
}

/** As Linux tells it. */
async function mostMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kiB] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return kiB === undefined ? null : Number(kiB) / 1_024;
}

function sectionOf(batches: readonly Large[]): Section {
  const [smallest] = batches;
  const figures = batches.flatMap((batch, index): Figure[] => {
    const before = batches[index - 1];
    const times = before === undefined ? null : secondsOf(batch) / secondsOf(before);
    const memory =
      smallest?.mostMiB && batch.mostMiB && batch !== smallest ? batch.mostMiB / smallest.mostMiB : null;
    return [
      counted(`payments of ${number(batch.payments)} that are not paid`, [batch.payments - batch.paid], 0),
      plain('  payments a second', number(batch.rate)),
      plain(
        '  history events and workflow tasks for each',
        `${(batch.events / batch.payments).toFixed(2)} and ${(batch.tasks / batch.payments).toFixed(3)}`,
      ),
      plain('  pages of the list of withdrawals', number(batch.listPages)),
      plain('  most memory of the worker', batch.mostMiB === null ? '-' : `${batch.mostMiB.toFixed(0)} MiB`),
      ...(memory === null
        ? []
        : [
            timed(
              '    against the smallest batch',
              `${memory.toFixed(2)} times`,
              `at most ${MEMORY}`,
              memory <= MEMORY,
            ),
          ]),
      ...(times === null
        ? []
        : [
            timed(
              '  time against ten times fewer payments',
              `${times.toFixed(1)} times`,
              `at most ${TIME}`,
              times <= TIME,
            ),
          ]),
    ];
  });
  return { title: 'batches, each with a worker of its own', figures };
}

function secondsOf({ payments, rate }: Batch): number {
  return payments / rate;
}
