/**
 * Runs of which the service has records and Temporal nothing: the sign of a Temporal that was restored from an older backup,
 * or of another one that uses the same key. `doctor` names them by the newest page of either list; a worker lets a new run wait
 * beside those of its policy (`activities/lost-runs.ts`). Reads only.
 */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { runName, runOf, workflowIdOf, type RunName } from '../domain/references.ts';
import { isOfRun } from '../domain/plan/observation.ts';
import type { Mode, Trade } from '../domain/service/records.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { dateOfRunId, sendWindowsOf } from '../calendar/business-date.ts';
import { createClient, type Settings } from '../config/config.ts';
import type { ServiceClient } from '../service/client.ts';
import { scanList } from '../service/list-scan.ts';
import { instructionsIdOf, planIdOf } from '../workflows/names.ts';
import { fewAtOnce } from './few-at-once.ts';
import type { Place } from './place.ts';
import { serviceFailure } from './preflight.ts';
import { describeRun } from './runs.ts';

/** A date within a week, and the days of a zone. */
const LONGEST_AGO_MS = 8 * 86_400_000;
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

/**
 * Whether the service shows trades of a run of which Temporal may know nothing; of dates longer ago nobody looks.
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

/** Runs that are asked for side by side. */
const ASKED_AT_ONCE = 10;

/** Those of which Temporal knows nothing at all: neither the run, nor its plan, nor what people said about it. */
export async function unknownRuns(
  client: Client,
  mode: Mode,
  runs: readonly RunName[],
): Promise<readonly RunName[]> {
  const areKnown = await fewAtOnce(runs, ASKED_AT_ONCE, (run) => isKnown(client, mode, run));
  return runs.filter((_run, index) => areKnown[index] !== true);
}

async function isKnown(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  for (const workflowId of [workflowIdOf(mode, run), planIdOf(mode, run), instructionsIdOf(mode, run)]) {
    try {
      // Mostly the first one is there.
      await client.workflow.getHandle(workflowId).describe();
      return true;
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return false;
}
