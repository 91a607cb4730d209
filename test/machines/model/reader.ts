/**
 * The service as a worker's client reads it (`service/client.ts`), in virtual time: each request takes its while, and says what
 * was true in the middle of it. Lists come page by page, so that records appear while they are read; all pages of a list together
 * take no longer than another request, so that a quote outlives the look before its trade.
 */
import type { Reply } from '../../../domain/service/reply.ts';
import type { ServiceClient } from '../../../service/client.ts';
import type { PageRequest } from '../../../service/pages.ts';
import { paymentsOf } from './ours.ts';
import { MOST_PAGES } from './service.ts';
import type { World } from './world.ts';

type Reader = Pick<
  ServiceClient,
  'balances' | 'pairs' | 'listTrades' | 'listWithdrawals' | 'listWithdrawalAccounts'
>;

export function readerOf(world: World): Reader {
  const { agenda, service } = world;
  const ofPage = (): number => (service.isSlow() ? service.readMs() : service.readMs() / MOST_PAGES);
  const asked = <T>(now: () => Reply<T>, takesMs = service.readMs()): Promise<Reply<T>> =>
    new Promise((resolve) => {
      const halfMs = takesMs / 2;
      agenda.after(halfMs, () => {
        const reply = now();
        agenda.after(halfMs, () => {
          world.moves();
          resolve(reply);
        });
      });
    });
  return {
    balances: () => asked(() => service.balances()),
    pairs: () => asked(() => service.pairs()),
    listTrades: (page: PageRequest = {}) => asked(() => service.tradesPage(page), ofPage()),
    listWithdrawals: (page: PageRequest = {}) => asked(() => service.withdrawalsPage(page), ofPage()),
    listWithdrawalAccounts: () => asked(() => service.accounts(accountsOf(world))),
  };
}

/** All that our policies and files name. */
function accountsOf({ runs }: World): readonly string[] {
  const ids = runs.flatMap(({ ours }) =>
    ours.batch === null
      ? paymentsOf(ours.policy).map(({ account }) => account)
      : ours.batch.flat().map(([, account]) => account),
  );
  return [...new Set(ids)];
}
