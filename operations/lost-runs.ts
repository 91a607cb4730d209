/**
 * Runs of which the service has records and Temporal nothing: the sign of a Temporal that was restored from an older backup,
 * or of another one that uses the same key. Looks at the newest page of either list, and reads only.
 */
import { runName, runOf, type RunName } from '../domain/references.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Place } from './place.ts';
import { describeRun } from './runs.ts';

/** So many runs are asked for, the newest. */
const MOST_RUNS = 20;

/**
 * @param sinceMs what is older may have been forgotten in order, epoch milliseconds
 * @returns the newest first; null where a list cannot be read
 */
export async function lostRuns(
  { client, mode }: Pick<Place, 'client' | 'mode'>,
  reader: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>,
  sinceMs: number,
): Promise<readonly RunName[] | null> {
  const [trades, withdrawals] = await Promise.all([reader.listTrades(), reader.listWithdrawals()]);
  if (trades.kind !== 'DONE' || withdrawals.kind !== 'DONE') return null;
  const records = [
    ...trades.value.items.map(({ createdAt, clientReferenceId }) => ({
      createdAt,
      reference: clientReferenceId,
    })),
    ...withdrawals.value.items.map(({ createdAt, tag }) => ({ createdAt, reference: tag })),
  ];
  const runs = new Map<string, RunName>();
  for (const { createdAt, reference } of records.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))) {
    const run = runOf(reference ?? '');
    if (run !== null && Date.parse(createdAt) >= sinceMs) runs.set(runName(run), run);
  }
  const asked = [...runs.values()].slice(0, MOST_RUNS);
  const known = await Promise.all(asked.map((run) => describeRun(client, mode, run)));
  return asked.filter((_run, index) => known[index] === null);
}
