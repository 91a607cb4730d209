/** Whether the service lists anything under a run's name. Reads only; a command asks it, and so does a worker. */
import { isOfRun } from '../domain/plan/observation.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceClient } from './client.ts';
import { scanList, type Reading } from './list-scan.ts';

export type FoundOfRun =
  /** Ids of trades and withdrawals, each with its kind: `trade tde_1`. */
  | { readonly kind: 'read'; readonly found: readonly string[] }
  /** The reply that cut a list short: then nothing is known. */
  | { readonly kind: 'stopped'; readonly reply: Reply<unknown> };

/** @param asked `sinceMs`: how far back the lists are read, epoch milliseconds */
export async function findOfRun(
  client: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>,
  run: RunName,
  asked: { readonly sinceMs: number } & Pick<Reading, 'onReply' | 'signal'>,
): Promise<FoundOfRun> {
  const [trades, withdrawals] = await Promise.all([
    scanList(client.listTrades, {
      ...asked,
      wanted: ({ clientReferenceId }) => isOfRun(run, clientReferenceId),
    }),
    scanList(client.listWithdrawals, { ...asked, wanted: ({ tag }) => isOfRun(run, tag) }),
  ]);
  const reply = trades.stopped ?? withdrawals.stopped;
  if (reply !== null) return { kind: 'stopped', reply };
  return {
    kind: 'read',
    found: [
      ...trades.records.map(({ id }) => `trade ${id}`),
      ...withdrawals.records.map(({ id }) => `withdrawal ${id}`),
    ],
  };
}
