/**
 * The chunks of a batch and the run that coordinates them, as Temporal shows them. Each is asked directly;
 * nothing is remembered here. Every program that may write to Temporal can start a chunk, so the caller checks the input.
 */
import {
  WorkflowExecutionAlreadyStartedError,
  type Client,
  type WorkflowExecutionInfo,
} from '@temporalio/client';
import type { Mode } from '../../domain/service/records.ts';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Holds } from '../../domain/run/claims.ts';
import type { ChunkInput, Go } from '../../domain/run/calls.ts';
import type { ChunkState } from '../../domain/run/chunk-state.ts';
import { paymentOfRow, type ChunkResult, type ReportPage } from '../../domain/run/report.ts';
import { isRecord } from '../../domain/shape.ts';
import { hashOfChunk, hashesOfNames } from '../../language/batch/chunk-hash.ts';
import {
  CHUNK_TYPE,
  RUN_TYPE,
  chunkIdOf,
  chunkQuery,
  goQuery,
  modeAttribute,
  newsSignal,
  policyAttribute,
  stateAttribute,
} from '../../workflows/names.ts';
import { canBeAsked, describe, hasEndedByItself, isOpen } from '../described.ts';
import { isGone, readStart } from '../history.ts';
import { runsOfId } from '../listed.ts';

/** A question gets no answer when the workflow ends meanwhile. Then the caller asks again. */
const QUESTION_LIMIT_MS = 5_000;

/** What the activities are given of this file. */
export function chunksOf(client: Client, taskQueue: string) {
  return {
    readInput: (workflowId: string, runId?: string) => readChunkInput(client, workflowId, runId),
    readGo: (mode: Mode, run: RunName, number: number) => readGo(client, mode, run, number),
    readState: (mode: Mode, run: RunName, number: number) => readChunkState(client, mode, run, number),
    tell: (mode: Mode, run: RunName, number: number) => tellChunk(client, mode, run, number),
    startAgain: (mode: Mode, run: RunName, number: number) =>
      startChunkAgain(client, taskQueue, { mode, run, number }),
    reopenRun: (mode: Mode, run: RunName) => reopenRun(client, taskQueue, mode, run),
  };
}

/**
 * The input with which one Temporal run of a chunk was started. Without `runId`, that of the newest one, as it was given; with
 * it, `isFirst` is what Temporal shows. Null: there is no chunk.
 */
async function readChunkInput(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<ChunkInput | null> {
  const start = await readStart(client, workflowId, runId);
  if (start?.type !== CHUNK_TYPE || !isRecord(start.input)) return null;
  const input = start.input as ChunkInput;
  if (runId === undefined || !input.isFirst) return input;
  return { ...input, isFirst: await isFirstOfId(client, workflowId, runId) };
}

/**
 * Whether Temporal shows no Temporal run of the id that began before this one's histories did. Its input does not prove it: a
 * person can start a chunk like an earlier one, with the input of that one.
 */
export async function isFirstOfId(client: Client, workflowId: string, runId: string): Promise<boolean> {
  const [first] = await runsOfId(client, workflowId);
  // The list may not show this one yet.
  if (first === undefined || first.runId === runId) return true;
  return (await readStart(client, workflowId, runId))?.firstRunId === first.runId;
}

/** What the run of a batch says to a chunk. `over`: the run has ended by itself. Null: it cannot be asked. */
async function readGo(client: Client, mode: Mode, run: RunName, number: number): Promise<Go | 'over' | null> {
  const workflowId = workflowIdOf(mode, run);
  const shown = await describe(client, workflowId);
  if (shown === null || shown.type !== RUN_TYPE) return null;
  if (hasEndedByItself(shown)) return 'over';
  if (!isOpen(shown) || !canBeAsked(shown)) return null;
  const handle = client.workflow.getHandle(workflowId);
  const go = await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () => handle.query(goQuery, number));
  return go.isOver ? 'over' : go;
}

/** How a chunk stands, by its newest Temporal run; null: there is no such chunk. */
async function readChunkState(
  client: Client,
  mode: Mode,
  run: RunName,
  number: number,
): Promise<{ readonly state: ChunkState; readonly isClosed: boolean } | null> {
  const handle = client.workflow.getHandle(chunkIdOf(mode, run, number));
  const shown = await describe(client, handle.workflowId);
  if (shown === null || shown.type !== CHUNK_TYPE) return null;
  const result = await resultOf(client, shown);
  if (result !== null) return { state: stateIn(result), isClosed: true };
  const state = await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () => handle.query(chunkQuery));
  return { state, isClosed: !isOpen(shown) };
}

/**
 * Which Temporal run of a chunk tells of its payments: the newest one. But where a person has ended that one before it had a go, it knows
 * nothing, and the last one that had a go tells (M3). Absent: the newest one.
 */
export async function runThatTells(client: Client, workflowId: string): Promise<string | undefined> {
  const shown = await describe(client, workflowId);
  if (shown?.type !== CHUNK_TYPE || isOpen(shown) || hasEndedByItself(shown)) return undefined;
  for (const { runId } of (await runsOfId(client, workflowId)).toReversed()) {
    // One after the other: the first one that is asked mostly tells.
    const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
    const asked = () => handle.query(chunkQuery);
    const { heard } = await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, asked);
    if (heard !== null) return runId;
  }
  return undefined;
}

/**
 * The result of a chunk that has ended, from its newest Temporal run; null: it has not ended, and must be
 * asked. This needs no worker: to answer a question, a worker would read the whole history.
 */
export async function readChunkResult(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<ChunkResult | null> {
  const shown = await describe(client, workflowId, runId);
  return shown?.type === CHUNK_TYPE ? resultOf(client, shown) : null;
}

/**
 * The records of all payments of a chunk, by its result; null: the chunk must be asked.
 * @param shown the Temporal run of the chunk that is wanted
 */
export async function endedHolds(client: Client, shown: Shown): Promise<Holds | null> {
  const result = await resultOf(client, shown);
  const page: Partial<ReportPage> | undefined = result?.firstPage;
  const heard = result?.heard ?? null;
  // Without a go it may hold more than it tells, or nothing: only the chunk can say which.
  if (page?.rows === undefined || page.next !== null || heard === null) return null;
  const items = page.rows
    .map(paymentOfRow)
    .flatMap(({ id, outcome, withdrawalId }): Holds['items'] =>
      withdrawalId === null ? [] : [[id, outcome, withdrawalId]],
    );
  return { runId: shown.runId, heard, isFirst: false, hasPlan: true, items };
}

type Shown = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'status'>;

async function resultOf(client: Client, { workflowId, runId, status }: Shown): Promise<ChunkResult | null> {
  if (status.name !== 'COMPLETED') return null;
  const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
  try {
    return (await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () => handle.result())) as ChunkResult;
  } catch {
    // The caller then asks the chunk, and tells when that cannot be read either.
    return null;
  }
}

function stateIn({ firstPage: _firstPage, ...state }: ChunkResult): ChunkState {
  return state;
}

/** True when an open chunk has been told that there is news. */
async function tellChunk(client: Client, mode: Mode, run: RunName, number: number): Promise<boolean> {
  try {
    await client.workflow.getHandle(chunkIdOf(mode, run, number)).signal(newsSignal, number);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Starts an ended chunk again, with the payments that it had; does nothing where Temporal has no such chunk. */
async function startChunkAgain(
  client: Client,
  taskQueue: string,
  of: { readonly mode: Mode; readonly run: RunName; readonly number: number },
): Promise<void> {
  const { mode, run, number } = of;
  const input = await readChunkInput(client, chunkIdOf(mode, run, number));
  if (input === null) return;
  await startChunk(client, taskQueue, { ...input, isFirst: false }, 'ALLOW_DUPLICATE');
}

/** Starts the run of a batch again with its first input, if Temporal still has it. False: a run is open. */
async function reopenRun(client: Client, taskQueue: string, mode: Mode, run: RunName): Promise<boolean> {
  const workflowId = workflowIdOf(mode, run);
  const start = await readStart(client, workflowId);
  if (start?.type !== RUN_TYPE) return true;
  try {
    await client.workflow.start(RUN_TYPE, {
      workflowId,
      taskQueue,
      args: [start.input],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
      typedSearchAttributes: [
        { key: policyAttribute, value: run.policy },
        { key: modeAttribute, value: mode },
        { key: stateAttribute, value: 'RUNNING' },
      ],
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/**
 * Of all that waits for a place in a worker, Temporal gives out the tasks of chunks last. Theirs is the priority of their
 * workflow tasks and of their calls alike; everything else has 3, Temporal's own.
 */
const BEHIND_OTHERS = { priorityKey: 4 };

/** False when the chunk is there already. */
export async function startChunk(
  client: Client,
  taskQueue: string,
  input: ChunkInput,
  reuse: 'ALLOW_DUPLICATE' | 'REJECT_DUPLICATE',
): Promise<boolean> {
  const { mode, run, number, payments } = input;
  try {
    await client.workflow.start(CHUNK_TYPE, {
      workflowId: chunkIdOf(mode, run, number),
      taskQueue,
      args: [input],
      priority: BEHIND_OTHERS,
      workflowIdReusePolicy: reuse,
      workflowIdConflictPolicy: 'FAIL',
      memo: { hash: hashOfChunk(payments), payments: payments.length, items: hashesOfNames(payments) },
      staticSummary: `${payments.length} payment${payments.length === 1 ? '' : 's'} of ${run.policy}.${run.id}`,
      typedSearchAttributes: [
        { key: policyAttribute, value: run.policy },
        { key: modeAttribute, value: mode },
      ],
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}
