/**
 * What the journal of a worker (CAMBIST_AUDIT) costs: the same batch with one and without, in turn. Its disk is that of the
 * folder for temporary files.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readJournals } from '../operations/watch/verify-audit.ts';
import { openStage } from '../test/support/stage.ts';
import { counted, number, type Section } from './figures.ts';
import { inTurn, rateBy } from './in-turn.ts';
import { AT_ONCE } from './payouts.ts';

const MOST = 1.1;

/** @param payments of each batch. @param turns how often each of the two is measured; the median counts */
export async function measureJournal(payments: number, turns: number): Promise<Section> {
  const stage = await openStage({ balances: { USD: '1000000000' }, settings: AT_ONCE });
  try {
    const folder = join(stage.folder, 'journals');
    await mkdir(folder);
    // What a process loads and compiles once is no part of a payment.
    await rateBy(stage, {}, 100, 'warm-up');
    const rates = await inTurn(
      turns,
      {
        without: (turn) => rateBy(stage, {}, payments, `without-${turn}`),
        kept: (turn) => rateBy(stage, { env: { CAMBIST_AUDIT: folder } }, payments, `kept-${turn}`),
      },
      { without: 'without', kept: 'with a journal', against: 'one without' },
      MOST,
    );
    const journals = await readJournals([folder]);
    return {
      title: `a batch of ${number(payments)} payments with a journal and without, ${turns} times each`,
      figures: [
        counted(
          'payments that the journals do not name',
          journals.map(({ sends }) => payments - sends.length),
          0,
        ),
        ...rates,
      ],
    };
  } finally {
    await stage.close();
  }
}
