/**
 * The kill switch, kept in Temporal. Halts and resumes stand as signals in the history of one open workflow
 * of each mode, `<mode>/halt`. Temporal itself appends a signal, so that no worker is needed to set or read a
 * halt, and of two signals at the same moment both are kept. On purpose, no worker serves the task queue of
 * this workflow. So nothing can fail it or replay it, and each signal is in its history at once. (While a
 * worker has a task of a workflow, signals wait outside the history.) A person who ends it, or starts it again
 * empty, takes nothing back: all workflows of this id that Temporal still has are one record.
 */
import type { Client } from '@temporalio/client';
import {
  NO_RECORD,
  READING_HOLDS_MS,
  beginsWith,
  type HaltRecord,
  type HaltWord,
  type RecordEnd,
} from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { haltIdOf } from '../../workflows/names.ts';
import { describe, isOpen } from '../described.ts';
import { readEvents, timeOf, valuesOf, type HistoryEvent, type HistoryEvents } from '../history.ts';
import { runsOfId } from '../listed.ts';

export type HaltsOf = { readonly client: Client; readonly mode: Mode };

/** A record that was read, and its version: it is read again only if it changed. */
type Reading = {
  readonly version: string;
  readonly record: HaltRecord;
  /** The workflows that have ended: their histories do not change. */
  readonly ended: ReadonlyMap<string, Part>;
};

/** What one workflow of the record has kept. */
type Part = {
  readonly sinceMs: number;
  readonly words: readonly HaltWord[];
  readonly ended: RecordEnd | null;
};

const UNREAD: Reading = { version: 'unread', record: NO_RECORD, ended: new Map() };

/**
 * Makes a function that reads what is halted, mostly with one call to Temporal. It rejects when that cannot be
 * read, and answers with the same record where nothing has changed.
 */
export function haltsOf(of: HaltsOf): () => Promise<HaltRecord> {
  let last = UNREAD;
  return async () => {
    // An answer that takes longer would be too old to let a write be sent.
    last = await of.client.withDeadline(Date.now() + READING_HOLDS_MS, () => readAfter(of, last, earlierOf));
    return last.record;
  };
}

/**
 * The record for a command, which sends nothing: where Temporal cannot list workflows, that of the newest one alone. People
 * can halt all the same.
 */
export async function readHalts(of: HaltsOf): Promise<HaltRecord> {
  const reading = await readAfter(of, UNREAD, (...asked) => earlierOf(...asked).catch(() => []));
  return reading.record;
}

/** Every workflow of the id that Temporal lists. */
async function earlierOf(client: Client, workflowId: string): Promise<readonly string[]> {
  return (await runsOfId(client, workflowId)).map(({ runId }) => runId);
}

/** @param last what was read before */
async function readAfter({ client, mode }: HaltsOf, last: Reading, list: typeof earlierOf): Promise<Reading> {
  const workflowId = haltIdOf(mode);
  // Null: no person has halted anything yet, or a person has deleted it. Any other error is no answer.
  const newest = await describe(client, workflowId);
  const version = newest === null ? 'none' : `${newest.runId} ${newest.historyLength}`;
  if (version === last.version) return last;
  // While the newest is the same, those before it are. The list may not show yet what has just begun.
  const isSame = newest !== null && newest.runId === last.record.runIds.at(-1);
  const listed = isSame ? [] : await list(client, workflowId);
  const earlier = new Set([...listed, ...last.record.runIds]);
  if (newest !== null) earlier.delete(newest.runId);
  const runIds = [...earlier, ...(newest === null ? [] : [newest.runId])];
  const read = await Promise.all(
    runIds.map(async (runId) => {
      const part = last.ended.get(runId) ?? (await readPart(client, workflowId, runId));
      return part === null ? [] : [[runId, part] as const];
    }),
  );
  const parts = read.flat();
  const record: HaltRecord = {
    words: parts.flatMap(([, { words }]) => words),
    runIds: parts.map(([runId]) => runId),
    sinceMs: parts.at(-1)?.[1].sinceMs ?? 0,
    isOpen: newest !== null && isOpen(newest),
    ended: parts.findLast(([, { ended }]) => ended !== null)?.[1].ended ?? null,
  };
  return { version, record, ended: new Map(parts.filter(([, { ended }]) => ended !== null)) };
}

/** Null: a person has deleted it. */
async function readPart(client: Client, workflowId: string, runId: string): Promise<Part | null> {
  const events = await readEvents(client, workflowId, runId);
  const [first] = events ?? [];
  if (events === null || first === undefined) return null;
  const [carried] = await valuesOf(
    { client, workflowId },
    first.workflowExecutionStartedEventAttributes?.input?.payloads,
  );
  const sinceMs = timeOf(first);
  return {
    sinceMs,
    words: [...beginsWith(carried, sinceMs), ...(await wordsIn({ client, workflowId }, events))],
    ended: endIn(events.at(-1) ?? first),
  };
}

type InTemporal = { readonly client: Client; readonly workflowId: string };

async function wordsIn(of: InTemporal, events: HistoryEvents): Promise<readonly HaltWord[]> {
  const words: HaltWord[] = [];
  for (const event of events) {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (!signal) continue;
    const [said] = await valuesOf(of, signal.input?.payloads);
    words.push({ word: signal.signalName ?? '', said, atMs: timeOf(event) });
  }
  return words;
}

/** Null: the last event is not the end of the workflow. No worker serves it, so that only a person ends it. */
function endIn(last: HistoryEvent): RecordEnd | null {
  const terminated = last.workflowExecutionTerminatedEventAttributes;
  if (!terminated) return null;
  const { identity, reason } = terminated;
  return { by: identity || 'a person', why: reason || 'no reason given', atMs: timeOf(last) };
}
