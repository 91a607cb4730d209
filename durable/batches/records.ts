/**
 * Which payment of a batch a record of the service belongs to, as far as Temporal still shows it. Lists once
 * the chunks that were open since then. Takes the result of each that has ended, and asks each other one
 * once. Reads no history, and never asks for each payment alone. Only reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { runName, runOfAnyWorkflowId } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { PAYMENTS_TYPE, recordsQuery } from '../../workflows/names.ts';
import { IS_OPEN, keepNewest, listed } from '../listed.ts';
import { readEndedRecords } from './chunks.ts';

export type RecordsOfBatches = {
  /** Items, as `policy.id item`, by the ids of their records. */
  readonly items: ReadonlyMap<string, string>;
  /** A run of which a chunk has not answered; null: all chunks have answered. */
  readonly silent: string | null;
};

type Records = readonly (readonly [item: string, withdrawalId: string])[];

const QUESTION_LIMIT_MS = 2_500;
/** Few, because a worker answers one question after the other. */
const ASKED_AT_ONCE = 4;
/** The records of chunks that have ended, which do not change any more. */
const ended = new Map<string, Records>();
const MOST_KEPT = 400;

/** @param of `untilMs`: by the clock of `performance`; a chunk that is not asked by then counts as silent */
export async function recordsOfBatches(
  client: Client,
  of: {
    readonly mode: Mode;
    readonly sinceMs: number;
    readonly untilMs: number;
    readonly ids: Iterable<string>;
    /** Names of the runs whose chunks are asked; null: all runs. */
    readonly batches: ReadonlySet<string> | null;
  },
): Promise<RecordsOfBatches> {
  const { mode, sinceMs, untilMs } = of;
  const left = new Set(of.ids);
  const items = new Map<string, string>();
  let silent: string | null = null;
  const all = await chunksSince(client, mode, sinceMs);
  const chunks = all.filter(({ run }) => of.batches?.has(run) !== false);
  for (let from = 0; from < chunks.length && left.size > 0; from += ASKED_AT_ONCE) {
    const some = chunks.slice(from, from + ASKED_AT_ONCE);
    const inTime = performance.now() < untilMs;
    // A few chunks at a time.
    const answers = inTime ? await Promise.all(some.map(({ info }) => readRecords(client, info))) : [];
    for (const [index, { run }] of some.entries()) {
      const records = answers[index] ?? null;
      if (records === null) silent = run;
      else for (const [item, id] of records) if (left.delete(id)) items.set(id, `${run} ${item}`);
    }
    if (!inTime) break;
  }
  return { items, silent: left.size > 0 ? silent : null };
}

/** The newest Temporal run of each chunk that was open at some time since then. */
async function chunksSince(
  client: Client,
  mode: Mode,
  sinceMs: number,
): Promise<readonly { readonly run: string; readonly info: WorkflowExecutionInfo }[]> {
  const also = [`(CloseTime >= '${new Date(sinceMs).toISOString()}' OR ${IS_OPEN})`];
  const newest = new Map<string, WorkflowExecutionInfo>();
  for await (const info of listed(client, { types: [PAYMENTS_TYPE], mode, also })) keepNewest(newest, info);
  return [...newest.values()].flatMap((info) => {
    const run = /\/payments-\d{4,}$/.test(info.workflowId) ? runOfAnyWorkflowId(info.workflowId) : null;
    return run === null ? [] : [{ run: runName(run), info }];
  });
}

function askForRecords(client: Client, { workflowId, runId }: WorkflowExecutionInfo): Promise<Records> {
  return client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () =>
    client.workflow.getHandle(workflowId, runId).query(recordsQuery),
  );
}

/** Null: the chunk does not answer. */
async function readRecords(client: Client, info: WorkflowExecutionInfo): Promise<Records | null> {
  const known = ended.get(info.runId);
  if (known !== undefined) return known;
  try {
    const told = await readEndedRecords(client, info);
    const records = told ?? (await askForRecords(client, info));
    if (info.closeTime !== undefined && ended.size < MOST_KEPT) ended.set(info.runId, records);
    return records;
  } catch {
    return null;
  }
}
