/** What a worker knows and remembers of the chunks that ask it for their go. */
import pLimit, { type LimitFunction } from 'p-limit';
import type { BatchPayment, PlanBatch, PlanChunk } from '../domain/batch.ts';
import type { Held } from '../domain/plan/batch-items.ts';
import type { Plan } from '../domain/plan/plan.ts';
import type { RunName } from '../domain/references.ts';
import type { ChunkInput, GoCall, PlanState } from '../domain/run/calls.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import type { FoundAlike, Waits } from './claims.ts';
import type { Clock, Deps } from './deps.ts';
import { wrongChunk } from './run-input.ts';
import { SharedReads } from './shared-read.ts';

/** A chunk whose run has given it its go. */
export type OfChunk = {
  readonly plan: Plan;
  readonly batch: PlanBatch;
  readonly planned: PlanChunk;
  /** From 1. */
  readonly number: number;
  readonly payments: readonly BatchPayment[];
  readonly isFirstRun: boolean;
  /** As in `payerOf`. */
  readonly payer: string;
  /** How often people have asked that everything is looked at again. */
  readonly wakes: number;
};

/**
 * The input with which a Temporal run of a chunk was started, which never changes, and the hash of its
 * payments; or why it is not the chunk's.
 */
export type Given = { readonly input: ChunkInput; readonly hash: string } | { readonly why: string };

/** What a worker keeps between two calls. When it is lost, it is read again. */
export type ChunkMemory = {
  /** Runs so many questions to runs of batches at a time. */
  readonly inPlace: LimitFunction;
  readonly given: SharedReads<Given>;
  readonly plans: SharedReads<PlanState>;
  /** The batches that were planned beside this one. */
  readonly beside: SharedReads<readonly RunName[]>;
  /** What other batches held when a chunk took up its unpaid payments again. */
  readonly held: SharedReads<Held | Waits>;
  /** What looked like the payments of a chunk. */
  readonly alike: SharedReads<FoundAlike | Waits>;
};

/**
 * How many chunks of a worker ask their run at a time. When a batch ends, all its chunks ask at once. A run that ends
 * while it is asked is read again from its first event, for each chunk that asks. Without this limit that would take
 * most of a worker's memory.
 */
const ASK_SIDE_BY_SIDE = 4;

/** Inputs are large, and each chunk asks a few times in a row. */
const MOST_GIVEN = 16;
const MOST_PLANS = 4;
const MOST_FOUND = 400;

export function chunkMemory(clock: Clock): ChunkMemory {
  return {
    inPlace: pLimit(ASK_SIDE_BY_SIDE),
    given: new SharedReads(clock, MOST_GIVEN),
    plans: new SharedReads(clock, MOST_PLANS),
    beside: new SharedReads(clock, MOST_PLANS),
    held: new SharedReads(clock, MOST_FOUND),
    alike: new SharedReads(clock, MOST_FOUND),
  };
}

/** Reads with what the chunk that calls was started, once for each of its Temporal runs. */
export async function readGiven(
  deps: Deps,
  { given }: ChunkMemory,
  call: GoCall,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
): Promise<Given> {
  const { mode, run, number } = call;
  const read = given.get(JSON.stringify([workflowId, runId, mode, run, number]), async () => {
    const input = await deps.chunks.readInput(workflowId, runId);
    if (input === null) return { why: 'Temporal does not show it.' };
    const why = wrongChunk(input, call);
    return why === null ? { input, hash: hashOfChunk(input.payments) } : { why };
  });
  const answer = await read.value(Number.POSITIVE_INFINITY);
  if ('why' in answer) read.forget();
  return answer;
}

/** The answer that is remembered, or a new one; an answer that has to wait is not remembered. */
export async function remembered<T extends object>(
  reads: SharedReads<T | Waits>,
  name: string,
  { maxAgeMs, ask }: { readonly maxAgeMs: number; readonly ask: () => Promise<T | Waits> },
): Promise<T | Waits> {
  const read = reads.get(name, ask);
  const answer = await read.value(maxAgeMs);
  if ('wait' in answer) read.forget();
  return answer;
}
