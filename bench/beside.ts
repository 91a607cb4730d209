/**
 * A conversion beside a batch, against one with nothing else to do: how soon a quote is traded. A real worker process does the
 * work, and the records of the sandbox are the witnesses.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { convertPolicy } from '../test/support/policies.ts';
import { startCommand } from '../test/support/commands.ts';
import { openStage, type Run, type Stage } from '../test/support/stage.ts';
import { counted, median, number, plain, timed, type Section } from './figures.ts';
import { AT_ONCE, payBatch } from './payouts.ts';
import { withTimeLimit } from './time-limit.ts';

const IDLE_RUNS = 10;
const PAYMENTS = 5_000;
const MOST_GAP_MS = 1_000;
/** Between two conversions. */
const BETWEEN_MS = 50;

export async function measureBeside(): Promise<Section> {
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000000', MXN: '0' },
    settings: { ...AT_ONCE, settlementMs: { IMMEDIATE: 0, T0: 0, T1: 0, T2: 0 } },
  });
  const worker = startCommand(stage, ['worker']);
  try {
    await worker.says(/^ready worker/m);
    const idle: Run[] = [];
    // The first loads and compiles what later ones have.
    for (let turn = 0; turn <= IDLE_RUNS; turn += 1) idle.push(await converted(stage, `idle-${turn}`));
    const paying = payBatch(stage, PAYMENTS, 'beside');
    const over = paying.then(
      () => true,
      () => true,
    );
    const beside: Run[] = [];
    do beside.push(await converted(stage, `beside-${beside.length}`));
    while (!(await Promise.race([over, sleep(BETWEEN_MS, false)])));
    const { paid, rate } = await paying;
    const alone = median(gapsOf(stage, idle.slice(1)));
    const gaps = gapsOf(stage, beside);
    const gap = median(gaps);
    return {
      title: `a conversion beside a batch of ${number(PAYMENTS)} payments in one worker (${beside.length} runs)`,
      figures: [
        counted('payments that are not paid', [PAYMENTS - paid], 0),
        plain('payments a second meanwhile', number(rate)),
        plain('quote made to trade made, median, nothing else to do', `${number(alone)} ms`),
        timed(
          '  beside the batch',
          `${number(gap)} ms`,
          `at most ${number(MOST_GAP_MS)} ms`,
          gap <= MOST_GAP_MS,
        ),
        plain('    against nothing else to do', `${(gap / alone).toFixed(1)} times`),
        plain('  the slowest', `${number(Math.max(...gaps))} ms`),
      ],
    };
  } finally {
    worker.process.kill('SIGTERM');
    await worker.ended;
    await stage.close();
  }
}

async function converted(stage: Stage, name: string): Promise<Run> {
  const run = await stage.start(convertPolicy(), { name });
  const { status } = await withTimeLimit(run.report(), name);
  if (status !== 'COMPLETED') throw new Error(`${name} ended ${status}.`);
  return run;
}

function gapsOf({ sandbox }: Stage, runs: readonly Run[]): readonly number[] {
  const { quotes } = sandbox.ledger();
  const madeAt = new Map(quotes.map(({ id, createdAt }) => [id, Date.parse(String(createdAt))]));
  return runs.flatMap((run) =>
    run
      .movements()
      .trades.map(({ quoteId, createdAt }) => Date.parse(String(createdAt)) - (madeAt.get(quoteId) ?? 0)),
  );
}
