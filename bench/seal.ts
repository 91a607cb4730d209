/** What it costs that everything in Temporal is sealed (CAMBIST_SEAL_KEYS): the same batch sealed and plain, in turn. */
import { openStage } from '../test/support/stage.ts';
import { number, type Section } from './figures.ts';
import { inTurn } from './in-turn.ts';
import { AT_ONCE, payBatch } from './payouts.ts';

const MOST = 1.03;

/**
 * @param servers addresses of two Temporal servers: a namespace is sealed as a whole, or not at all
 * @param payments of each batch. @param turns how often each of the two is measured; the median counts
 */
export async function measureSeal(
  servers: { readonly plain: string; readonly sealed: string },
  payments: number,
  turns: number,
): Promise<Section> {
  const options = { balances: { USD: '1000000000' }, settings: AT_ONCE };
  const open = await openStage({ ...options, temporalAddress: servers.plain });
  const sealed = await openStage({ ...options, temporalAddress: servers.sealed, sealed: true });
  try {
    for (const stage of [open, sealed]) {
      await stage.startWorker();
      // What a process loads and compiles once is no part of a payment.
      await payBatch(stage, 100, 'warm-up');
    }
    const rates = await inTurn(
      turns,
      {
        without: async (turn) => (await payBatch(open, payments, `open-${turn}`)).rate,
        kept: async (turn) => (await payBatch(sealed, payments, `sealed-${turn}`)).rate,
      },
      { without: 'plain', kept: 'sealed', against: 'a plain one' },
      MOST,
    );
    return {
      title: `a batch of ${number(payments)} payments sealed and plain, ${turns} times each`,
      figures: rates,
    };
  } finally {
    await open.close();
    await sealed.close();
  }
}
