/**
 * Which item of our runs counts a record of the service as its own: lists once the runs and chunks that were open since the
 * record was made, and asks each of them once. Reads no history, and never asks for each payment alone. Only reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { addOwners, type Owner } from '../../domain/run/claims.ts';
import { runName, runOfAnyWorkflowId, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { CREATED_SLACK_MS } from '../../domain/writes/lookups.ts';
import { CHUNK_TYPE, RUN_TYPE } from '../../workflows/names.ts';
import { IS_OPEN, keepNewest, listed } from '../listed.ts';
import { readAllHolds } from './holds.ts';

export type Owners = {
  /** By the ids of the records. A record that is not here belongs to no run that has answered. */
  readonly owners: ReadonlyMap<string, Owner>;
  /** Runs that did not answer, or of which a chunk did not; empty where every record has an owner. */
  readonly silent: readonly RunName[];
};

/** A worker answers one chunk after the other; runs are small, and their workers may be away. */
const AT_ONCE = { chunks: 4, runs: 10 };

/**
 * @param of the run that asks. It is not asked itself, and its chunks are: one payment may have the record of another one.
 */
export async function ownersOf(
  of: { readonly client: Client; readonly mode: Mode; readonly run: RunName },
  records: readonly { readonly id: string; readonly createdAt: string }[],
  withinMs: number,
): Promise<Owners> {
  const { client, mode, run } = of;
  const untilMs = performance.now() + withinMs;
  const sinceMs = Math.min(...records.map(({ createdAt }) => Date.parse(createdAt))) - CREATED_SLACK_MS;
  const ids = new Set(records.map(({ id }) => id));
  const owners = new Map<string, Owner>();
  const silent = new Map<string, RunName>();
  const ask = async (infos: readonly WorkflowExecutionInfo[], atOnce: number): Promise<void> => {
    for await (const { info, holds } of readAllHolds(client, infos, { names: null, untilMs, atOnce })) {
      const asked = runOfAnyWorkflowId(info.workflowId);
      if (asked === null) continue;
      if (holds === null) silent.set(runName(asked), asked);
      else addOwners(owners, ids, runName(asked), holds);
      if (owners.size === ids.size) return;
    }
  };
  const all = await openSince(client, mode, sinceMs);
  // Side by side, so that neither uses up the other's time.
  await Promise.all([
    ask(
      all.filter(({ type, workflowId }) => type === RUN_TYPE && workflowId !== workflowIdOf(mode, run)),
      AT_ONCE.runs,
    ),
    ask(
      all.filter(({ type }) => type === CHUNK_TYPE),
      AT_ONCE.chunks,
    ),
  ]);
  return { owners, silent: owners.size === ids.size ? [] : [...silent.values()] };
}

/** The newest Temporal run of each run and chunk that was open at some time since then, the newest first. */
async function openSince(
  client: Client,
  mode: Mode,
  sinceMs: number,
): Promise<readonly WorkflowExecutionInfo[]> {
  const also = [`(CloseTime >= '${new Date(sinceMs).toISOString()}' OR ${IS_OPEN})`];
  const newest = new Map<string, WorkflowExecutionInfo>();
  for await (const info of listed(client, { types: [RUN_TYPE, CHUNK_TYPE], mode, also }))
    keepNewest(newest, info);
  return [...newest.values()];
}
