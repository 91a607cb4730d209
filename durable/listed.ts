/** Lists workflows as Temporal has them. All of our code lists them through this file. A list may be a moment behind. */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { Mode } from '../domain/service/records.ts';
import { workflowIdsOf } from '../domain/references.ts';
import { PLAN_TYPE } from '../workflows/names.ts';
import { isOpen } from './described.ts';
import { isRefused } from './history.ts';
import { isOfMissingKey, readingOn } from './reading-on.ts';

export type Wanted = {
  readonly types: readonly string[];
  readonly mode: Mode;
  /** Absent or null: workflows of every policy. */
  readonly policy?: string | null;
  /** Further conditions, in Temporal's language of queries. */
  readonly also?: readonly string[];
};

/** The condition `isOpen` in a query. No query names the status of a paused workflow, since older servers refuse it. */
export const IS_OPEN = 'CloseTime IS NULL';

/**
 * Workflows that a person has paused, among others: those of which a person has paused an activity. A server that can pause a
 * workflow says so in this attribute of its own; one that is too old to know it refuses the query.
 */
const MAY_BE_PAUSED = `TemporalPauseInfo IS NOT NULL AND ${IS_OPEN}`;

/**
 * A query for Temporal. It goes by the ids of the workflows, which a workflow checks before it does anything, and not by
 * search attributes: a run that a person has started without them, or with others, counts as well. Nothing is escaped:
 * policies' names and workflows' ids have no quotes in them.
 */
export function queryFor({ types, mode, policy = null, also = [] }: Wanted): string {
  return [
    `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`,
    `WorkflowId STARTS_WITH '${workflowIdsOf(mode, policy)}'`,
    ...also,
  ].join(' AND ');
}

/** Every Temporal run of the workflows that are wanted, the newest first. */
export function listed(client: Client, wanted: Wanted): AsyncIterable<WorkflowExecutionInfo> {
  return found(client, queryFor(wanted));
}

/** What a query finds. A memo whose key is missing is left unread, and the list goes on. */
async function* found(client: Client, query: string): AsyncGenerator<WorkflowExecutionInfo> {
  const told = new Set<string>();
  try {
    for await (const info of client.workflow.list({ query })) {
      told.add(info.runId);
      yield info;
    }
  } catch (error) {
    if (!isOfMissingKey(error)) throw error;
    for await (const info of readingOn(client).workflow.list({ query }))
      if (!told.has(info.runId)) yield info;
  }
}

/** Keeps a workflow if it is the newest Temporal run of its id so far: a run that was reset or started again has several. */
export function keepNewest(newest: Map<string, WorkflowExecutionInfo>, info: WorkflowExecutionInfo): void {
  const known = newest.get(info.workflowId);
  if (known === undefined || known.startTime < info.startTime || isOpen(info))
    newest.set(info.workflowId, info);
}

/** Open workflows of a mode, of any type, that a person may have paused: the caller describes each. Mostly there is none. */
export async function maybePaused(client: Client, mode: Mode): Promise<readonly WorkflowExecutionInfo[]> {
  const infos: WorkflowExecutionInfo[] = [];
  try {
    for await (const info of found(client, MAY_BE_PAUSED)) infos.push(info);
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  return infos.filter(({ workflowId }) => workflowId.startsWith(`${mode.toLowerCase()}/`));
}

/** Every Temporal run of an id, the first one first. */
export function runsOfId(client: Client, workflowId: string): Promise<readonly WorkflowExecutionInfo[]> {
  return inOrder(client, `WorkflowId = '${workflowId}'`, ({ startTime }) => startTime);
}

/** The `plan` of this id that has completed first; undefined: none is listed. */
export async function firstCompletedPlan(
  client: Client,
  workflowId: string,
): Promise<WorkflowExecutionInfo | undefined> {
  const query = `WorkflowId = '${workflowId}' AND WorkflowType = '${PLAN_TYPE}' AND ExecutionStatus = 'Completed'`;
  const [first] = await inOrder(client, query, ({ closeTime }) => closeTime);
  return first;
}

async function inOrder(
  client: Client,
  query: string,
  momentOf: (info: WorkflowExecutionInfo) => Date | undefined,
): Promise<readonly WorkflowExecutionInfo[]> {
  const infos: WorkflowExecutionInfo[] = [];
  for await (const info of found(client, query)) infos.push(info);
  const ms = (info: WorkflowExecutionInfo): number => momentOf(info)?.getTime() ?? 0;
  return infos.toSorted((one, other) => ms(one) - ms(other));
}
