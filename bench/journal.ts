/**
 * What the journal of a worker (CAMBIST_AUDIT) costs: the same batch with one and without, in turn. Its disk is that of the
 * folder for temporary files.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readJournals } from '../operations/watch/verify-audit.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { counted, median, number, plain, timed, type Section } from './figures.ts';
import { AT_ONCE, payBatch } from './payouts.ts';

const MOST = 1.1;

/** @param payments of each batch. @param turns how often each of the two is measured; the median counts */
export async function measureJournal(payments: number, turns: number): Promise<Section> {
  const stage = await openStage({ balances: { USD: '1000000000' }, settings: AT_ONCE });
  try {
    const folder = join(stage.folder, 'journals');
    await mkdir(folder);
    // What a process loads and compiles once is no part of a payment.
    await rateOf(stage, 100, 'warm-up', {});
    const [without, kept]: [number[], number[]] = [[], []];
    for (let turn = 1; turn <= turns; turn += 1) {
      // In turn, so that what else the machine does meets both.
      without.push(await rateOf(stage, payments, `without-${turn}`, {}));
      kept.push(await rateOf(stage, payments, `kept-${turn}`, { CAMBIST_AUDIT: folder }));
    }
    const journals = await readJournals([folder]);
    const ratio = median(without) / median(kept);
    return {
      title: `a batch of ${number(payments)} payments with a journal and without, ${turns} times each`,
      figures: [
        counted(
          'payments that the journals do not name',
          journals.map(({ sends }) => payments - sends.length),
          0,
        ),
        plain('payments a second, without', number(median(without))),
        plain('payments a second, with a journal', number(median(kept))),
        timed(
          '  time of a payment, against one without',
          `${ratio.toFixed(2)} times`,
          `at most ${MOST}`,
          ratio <= MOST,
        ),
      ],
    };
  } finally {
    await stage.close();
  }
}

/** Payments a second of a batch by a worker of its own. */
async function rateOf(
  stage: Stage,
  payments: number,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const worker = await stage.startWorker({ env });
  const { rate } = await payBatch(stage, payments, name);
  worker.shutdown();
  await worker.ended;
  return rate;
}
