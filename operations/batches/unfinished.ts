/**
 * Batches whose chunks wait in Temporal and whose run was never started, since the terminal that submitted them was lost
 * half-way. Nothing of them was sent, and nothing will be. Reads only.
 */
import type { Client } from '@temporalio/client';
import { runName, type RunName, runOfAnyWorkflowId } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { IS_OPEN, listed } from '../../durable/listed.ts';
import { CHUNK_TYPE } from '../../workflows/names.ts';
import { describeRun } from '../follow/runs.ts';

export type Unfinished = {
  readonly run: RunName;
  /** How many chunks are there. */
  readonly chunks: number;
  /** The start of the newest chunk, epoch milliseconds. */
  readonly startedAtMs: number;
};

/** A submission that is under way starts its next chunk within this time. */
const UNDER_WAY_MS = 120_000;
/** A search reads at most this many chunks. */
const MOST_READ = 10_000;

export async function listUnfinished(
  client: Client,
  mode: Mode,
  nowMs: number,
): Promise<readonly Unfinished[]> {
  const found = new Map<string, Unfinished>();
  let read = 0;
  for await (const { workflowId, startTime } of listed(client, {
    types: [CHUNK_TYPE],
    mode,
    also: [IS_OPEN],
  })) {
    read += 1;
    if (read > MOST_READ) break;
    const run = runOfAnyWorkflowId(workflowId);
    if (run === null) continue;
    const { chunks = 0, startedAtMs = 0 } = found.get(runName(run)) ?? {};
    found.set(runName(run), {
      run,
      chunks: chunks + 1,
      startedAtMs: Math.max(startedAtMs, startTime.getTime()),
    });
  }
  const unfinished: Unfinished[] = [];
  for (const one of found.values())
    if (nowMs - one.startedAtMs >= UNDER_WAY_MS && (await describeRun(client, mode, one.run)) === null)
      unfinished.push(one);
  return unfinished;
}
