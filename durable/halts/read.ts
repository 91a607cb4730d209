/**
 * The kill switch, kept in Temporal: what was halted and resumed stands as signals in the history of one open workflow of
 * each mode, `<mode>/halt`. Temporal appends a signal by itself, so that it is set and read without any worker, and of two
 * that come at once both are kept. No worker serves its task queue, on purpose: nothing can end it, fail it or replay it,
 * and each signal stands in its history at once (while a worker held a task of it, signals would wait outside).
 */
import type { Client } from '@temporalio/client';
import { READING_HOLDS_MS, haltsAfter, type Halt, type HaltWord } from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { haltIdOf } from '../../workflows/names.ts';
import { describe, isOpen } from '../described.ts';
import { readEvents, timeOf, valuesOf } from '../history.ts';

export type HaltsOf = { readonly client: Client; readonly mode: Mode };

/** What was read, and of which record: an unchanged one is not read again. */
export type HaltReading = {
  readonly version: string;
  readonly halts: readonly Halt[];
  /** Somebody has ended the workflow. */
  readonly isEnded: boolean;
};

const NOTHING: HaltReading = { version: '', halts: [], isEnded: false };

/** Reads what is halted, again and again, by one question each time. Rejects when it cannot be told. */
export function haltsOf(of: HaltsOf): () => Promise<readonly Halt[]> {
  let last = NOTHING;
  return async () => {
    // One that takes longer would be too old to let anything go.
    last = await of.client.withDeadline(Date.now() + READING_HOLDS_MS, () => readHalts(of, last));
    return last.halts;
  };
}

/** @param last what was read before; absent: nothing */
export async function readHalts(
  { client, mode }: HaltsOf,
  last: HaltReading = NOTHING,
): Promise<HaltReading> {
  const described = await describe(client, haltIdOf(mode));
  // Nobody has halted anything yet. Whatever else goes wrong is no answer.
  if (described === null) return NOTHING;
  const { runId, historyLength } = described;
  const version = `${runId} ${historyLength}`;
  if (version === last.version) return last;
  const events = await readEvents(client, haltIdOf(mode), runId);
  // Somebody has deleted it in this very moment.
  if (events === null) return NOTHING;
  const [started] = events;
  const [carried] = await valuesOf(client, started?.workflowExecutionStartedEventAttributes?.input?.payloads);
  const words: HaltWord[] = [];
  for (const event of events) {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (!signal) continue;
    const [said] = await valuesOf(client, signal.input?.payloads);
    words.push({ word: signal.signalName ?? '', said, atMs: timeOf(event) });
  }
  // One that somebody has ended still tells what stood: ending it lets nothing go.
  return { version, halts: haltsAfter(carried, words), isEnded: !isOpen(described) };
}
