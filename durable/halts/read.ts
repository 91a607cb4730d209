/**
 * The kill switch, kept in Temporal. Halts and resumes stand as signals in the history of one open workflow
 * of each mode, `<mode>/halt`. Temporal itself appends a signal, so that no worker is needed to set or read a
 * halt, and of two signals at the same moment both are kept. On purpose, no worker serves the task queue of
 * this workflow. So nothing can end it, fail it or replay it, and each signal is in its history at once.
 * (While a worker has a task of a workflow, signals wait outside the history.)
 */
import type { Client } from '@temporalio/client';
import { READING_HOLDS_MS, haltsAfter, type Halt, type HaltWord } from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { haltIdOf } from '../../workflows/names.ts';
import { describe, isOpen } from '../described.ts';
import { readEvents, timeOf, valuesOf } from '../history.ts';

export type HaltsOf = { readonly client: Client; readonly mode: Mode };

/** The halts that were read, and the version of their record: it is read again only if it changed. */
export type HaltReading = {
  readonly version: string;
  readonly halts: readonly Halt[];
  /** A person has ended the workflow. */
  readonly isEnded: boolean;
};

const NOTHING: HaltReading = { version: '', halts: [], isEnded: false };

/**
 * Makes a function that reads what is halted, with one call to Temporal each time. It rejects when that
 * cannot be read.
 */
export function haltsOf(of: HaltsOf): () => Promise<readonly Halt[]> {
  let last = NOTHING;
  return async () => {
    // An answer that takes longer would be too old to let a write be sent.
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
  // No person has halted anything yet. Any other error is no answer.
  if (described === null) return NOTHING;
  const { runId, historyLength } = described;
  const version = `${runId} ${historyLength}`;
  if (version === last.version) return last;
  const events = await readEvents(client, haltIdOf(mode), runId);
  // A person has deleted the workflow at this very moment.
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
  // A workflow that a person has ended still tells what is halted: ending it lifts no halt.
  return { version, halts: haltsAfter(carried, words), isEnded: !isOpen(described) };
}
