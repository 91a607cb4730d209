/**
 * Runs of which the service has records and Temporal knows nothing. Then Temporal was restored from an older backup, or
 * another Temporal has workers with the same key. `doctor` names these runs by the newest page of each list. A worker lets a
 * new run wait while runs of its policy are lost (`activities/claims.ts`). Reads only.
 */
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import { createClient, type Settings } from '../../config/config.ts';
import { isOfRun } from '../../domain/plan/observation.ts';
import { runName, runOf, type RunName } from '../../domain/references.ts';
import type { Trade } from '../../domain/service/records.ts';
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList } from '../../service/list-scan.ts';
import { describeRun } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { serviceFailure } from '../preflight.ts';

/** The dates of the last week, and one day more for the difference between zones. */
const LONGEST_AGO_MS = 8 * 86_400_000;
/** The command asks Temporal for at most this many runs, the newest first. */
const MOST_RUNS = 20;

/**
 * @param sinceMs older records do not count, since Temporal may rightly have forgotten their runs; epoch milliseconds
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

/**
 * Whether the service shows trades of a run that Temporal may have lost. False for older dates, without a look.
 * @throws CommandFailure when the list cannot be read
 */
export async function hasTraded(
  settings: Settings,
  run: RunName,
  { zone, nowMs }: { readonly zone: string; readonly nowMs: number },
): Promise<boolean> {
  const date = dateOfRunId(run.id);
  const opensAtMs = date === null ? -Infinity : sendWindowsOf(date, zone).opensAtMs;
  if (opensAtMs < nowMs - LONGEST_AGO_MS) return false;
  const client = createClient(settings, 'read');
  try {
    const { records, stopped } = await scanList(client.listTrades, {
      sinceMs: opensAtMs - LOOK_BACK_MS,
      wanted: ({ clientReferenceId }: Trade) => isOfRun(run, clientReferenceId),
      most: 1,
    });
    if (records.length > 0) return true;
    if (stopped === null) return false;
    throw serviceFailure(stopped, `${settings.address.origin}${settings.address.basePath}`);
  } finally {
    await client.close();
  }
}
