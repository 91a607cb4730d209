/** Whether the service lists anything under a run's name. Reads only; a command asks it, and so does a worker. */
import { isOfRun } from '../domain/plan/observation.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceClient } from './client.ts';
import { scanList, type Reading } from './list-scan.ts';

/**
 * `found`: trades and withdrawals, each with its kind and its reference or tag: `trade tde_1 (daily.2026-11-21.eur-usd-1)`.
 * `stopped`: the reply that cut a list short, so that there may be more; null: both lists were read.
 */
export type FoundOfRun = { readonly found: readonly string[]; readonly stopped: Reply<unknown> | null };

/** @param asked `sinceMs`: how far back the lists are read, epoch milliseconds */
export async function findOfRun(
  client: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>,
  run: RunName,
  asked: { readonly sinceMs: number } & Reading,
): Promise<FoundOfRun> {
  const [trades, withdrawals] = await Promise.all([
    scanList(client.listTrades, {
      ...asked,
      wanted: ({ clientReferenceId }) => isOfRun(run, clientReferenceId),
    }),
    scanList(client.listWithdrawals, { ...asked, wanted: ({ tag }) => isOfRun(run, tag) }),
  ]);
  return {
    found: [
      ...trades.records.map(({ id, clientReferenceId }) => `trade ${id} (${clientReferenceId})`),
      ...withdrawals.records.map(({ id, tag }) => `withdrawal ${id} (${tag})`),
    ],
    stopped: trades.stopped ?? withdrawals.stopped,
  };
}
