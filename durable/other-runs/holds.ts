/**
 * Asks runs and chunks of ours what they hold (`domain/run/claims.ts`), as far as Temporal still shows them. One question and one
 * memory for all who ask whose a record is, or who has an item. Only reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { isHolds, type Holds } from '../../domain/run/claims.ts';
import { CHUNK_TYPE, holdsQuery } from '../../workflows/names.ts';
import { endedHolds } from '../batches/chunks.ts';

/** Worker and Temporal answer within this, or count as silent. */
const QUESTION_LIMIT_MS = 2_500;
/** What Temporal runs that have ended tell of all their records, which does not change any more. */
const ended = new Map<string, Holds>();
const MOST_KEPT = 500;

/** What a workflow holds of these items, by their ids in small letters. Null: it does not answer. */
export async function readHolds(
  client: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId?: string },
  names: readonly string[] | null,
  limitMs = QUESTION_LIMIT_MS,
): Promise<Holds | null> {
  try {
    const answer: unknown = await client.withDeadline(Date.now() + limitMs, () =>
      client.workflow.getHandle(workflowId, runId).query(holdsQuery, names),
    );
    return isHolds(answer) ? answer : null;
  } catch {
    return null;
  }
}

/** All records of a Temporal run. Null: it does not answer. */
async function readAllRecords(client: Client, info: WorkflowExecutionInfo): Promise<Holds | null> {
  const known = ended.get(info.runId);
  if (known !== undefined) return known;
  const told = info.type === CHUNK_TYPE ? await endedHolds(client, info).catch(() => null) : null;
  const holds = isHolds(told) ? told : await readHolds(client, info, null);
  if (holds !== null && info.closeTime !== undefined && ended.size < MOST_KEPT) ended.set(info.runId, holds);
  return holds;
}

/** A workflow, and what it holds; null: it does not answer, or there was no time to ask it. */
export type Answered = { readonly info: WorkflowExecutionInfo; readonly holds: Holds | null };

/**
 * Asks one workflow after the other, a few at a time, until it is too late (by the clock of `performance`).
 * @param of `names`: as in `readHolds`; null: asks for all records
 */
export async function* readAllHolds(
  client: Client,
  infos: readonly WorkflowExecutionInfo[],
  of: { readonly names: readonly string[] | null; readonly untilMs: number; readonly atOnce: number },
): AsyncGenerator<Answered, void, void> {
  const { names, untilMs, atOnce } = of;
  for (let from = 0; from < infos.length; from += atOnce) {
    const some = infos.slice(from, from + atOnce);
    const inTime = performance.now() < untilMs;
    const read = (info: WorkflowExecutionInfo): Promise<Holds | null> =>
      names === null ? readAllRecords(client, info) : readHolds(client, info, names);
    const asked = some.map(async (info) => ({ info, holds: inTime ? await read(info) : null }));
    // Few at a time: mostly the first answers settle the question.
    yield* await Promise.all(asked);
  }
}
