/**
 * Whether a new run must wait for a person because Temporal has lost other runs of its policy. This is asked
 * before its plan is made. The lists of the service show which runs have moved money. A run that is old
 * enough for Temporal to have forgotten it does not count.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { SeenRuns, besideLostRuns, isLetGo, lostRunsName } from '../domain/run/lost-runs.ts';
import type { PlanInput } from '../domain/run/calls.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { Wait } from '../domain/waits.ts';
import { hashOfTexts } from '../language/batch/chunk-hash.ts';
import { scanList } from '../service/list-scan.ts';
import type { Deps } from './deps.ts';
import { keptOrNothing } from './kept.ts';
import { unreadableService } from './observing.ts';
import { listUnread } from './other-batches.ts';

/** So long the service keeps the keys of withdrawals. Older runs need not be known. */
const LOST_LOOK_BACK_MS = 7 * 86_400_000;
/**
 * Allows for a send that arrives after its run has ended, for clocks that differ, and for Temporal, which
 * deletes in its own time.
 */
const SLACK_MS = 3_600_000;
/**
 * At most so many runs are asked for in Temporal, the newest. For each that is missing, its plan and its
 * instructions are asked for too.
 */
const MOST_ASKED = 50;

/**
 * Notes of which runs the list shows withdrawals, in the scan that also looks for other batches.
 * @param sinceMs how far back the scan for other batches reads
 */
export async function noteRuns(deps: Deps, seen: SeenRuns, sinceMs: number): Promise<Wait | null> {
  const wanted = ({ tag, createdAt }: Withdrawal): boolean => seen.note(tag, createdAt);
  const question = { sinceMs: Math.max(sinceMs, deps.clock.wallMs() - LOST_LOOK_BACK_MS), wanted };
  const { stopped } = await deps.scans.lookUp(question, ActivityContext.current().cancellationSignal);
  return stopped === null ? null : listUnread('whether Temporal has lost runs of the policy is not known');
}

/** @param ofBatch the runs that the withdrawals showed while the batch was read; null: there is no batch */
export async function heldByLostRuns(
  deps: Deps,
  of: Pick<PlanInput, 'mode' | 'run' | 'policyFile'>,
  ofBatch: SeenRuns | null,
): Promise<Wait | null> {
  const { mode, run } = of;
  const seen = ofBatch ?? new SeenRuns(run);
  const nowMs = deps.clock.wallMs();
  const sinceMs = nowMs - LOST_LOOK_BACK_MS;
  const { stopped } = await scanList(deps.reader.listTrades, {
    sinceMs,
    wanted: ({ clientReferenceId, createdAt }: Trade): boolean => seen.note(clientReferenceId, createdAt),
    signal: ActivityContext.current().cancellationSignal,
  });
  if (stopped !== null) return unreadableService(stopped);
  // A run with records of its own was started before. It adopts what was done, and is not held.
  if (seen.hasOwn || seen.othersSince(sinceMs).length === 0) return null;
  const keptMs = (await deps.otherRuns.keptForMs()) - SLACK_MS;
  const others = seen.othersSince(Math.max(sinceMs, nowMs - keptMs)).slice(0, MOST_ASKED);
  const lost = await deps.otherRuns.unknown(mode, others);
  if (lost.length === 0) return null;
  const name = lostRunsName(lost, hashOfTexts);
  return isLetGo(await keptOrNothing(deps, of), name)
    ? null
    : besideLostRuns({ ...of, isBatch: ofBatch !== null }, lost, name);
}
