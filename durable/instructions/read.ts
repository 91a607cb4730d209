/**
 * Reads what people said about a run, and facts that no reset may lose. The workflow `instructions` records
 * both, and they are read from its histories (design: "Instructions"). A Temporal run of that workflow which
 * took over the earlier ones has everything. If it did not take over (it was reset, or ended too early), the
 * earlier ones are read as well. Reading needs no worker.
 */
import type { Client } from '@temporalio/client';
import { factsOf, isPageOfKept, keptOf, recordedOf, unionOf } from '../../domain/people/instruction-shape.ts';
import { NOTHING_KEPT, spelledOut, type Kept, type KeptPage } from '../../domain/people/instructions.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { RunName } from '../../domain/references.ts';
import { keyMissingText, keyNeededFor } from '../../domain/unreadable.ts';
import { INSTRUCTIONS_TYPE, instructionsIdOf } from '../../workflows/names.ts';
import { canBeAsked, describe, isOpen } from '../described.ts';
import { readEvents, valuesOf, type HistoryEvents } from '../history.ts';
import { runsOfId } from '../listed.ts';

export type InstructionsOf = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
  /** Number of the chunk of a batch, when this is about its payments; absent: it is about the run. */
  readonly chunk?: number;
};

/** The same, about the payments of a chunk. Without `chunk`, about the run. */
export function withChunk<Of extends object>(of: Of, chunk?: number): Of & { readonly chunk?: number } {
  return chunk === undefined ? of : { ...of, chunk };
}

/**
 * A person has paused in Temporal what keeps the instructions: no person can say anything meanwhile, a cancel included. So
 * nothing may be sent. `kept`: what was said before.
 */
export class InstructionsPaused extends Error {
  override readonly name = 'InstructionsPaused';
  readonly workflowId: string;
  readonly kept: Kept;

  constructor(workflowId: string, kept: Kept) {
    super(`${workflowId} is paused in Temporal`);
    this.workflowId = workflowId;
    this.kept = kept;
  }
}

/**
 * Something is kept that cannot be read. It may be a cancel, so nothing may be sent. `kept`: what can be read.
 */
export class InstructionsUnreadable extends Error {
  override readonly name = 'InstructionsUnreadable';
  readonly workflowId: string;
  readonly kept: Kept;

  constructor(workflowId: string, kept: Kept) {
    super(`${workflowId} keeps something that this version cannot read`);
    this.workflowId = workflowId;
    this.kept = kept;
  }
}

/**
 * Everything that is kept about a run or, with `chunk`, about the payments of this chunk alone. Null when Temporal knows of no
 * workflow that keeps it. This does not tell whether a person has paused that workflow; `readInstructionsToActBy` does.
 * @throws InstructionsUnreadable
 */
export async function readInstructions(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept | null> {
  const { mode, run, chunk } = of;
  const workflowId = instructionsIdOf(mode, run, chunk);
  return keptBy(of.client, workflowId, await newestRunOf(of.client, workflowId));
}

/** @throws InstructionsPaused, InstructionsUnreadable */
async function readUnpaused(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept | null> {
  const { mode, run, chunk } = of;
  const workflowId = instructionsIdOf(mode, run, chunk);
  const newest = await newestRunOf(of.client, workflowId);
  const kept = await keptBy(of.client, workflowId, newest);
  if (newest?.isPaused === true) throw new InstructionsPaused(workflowId, kept ?? NOTHING_KEPT);
  return kept;
}

async function keptBy(client: Client, workflowId: string, newest: NewestRun | null): Promise<Kept | null> {
  if (newest === null) return null;
  const held = await heldBy(client, workflowId, newest.runId);
  if (held?.tookOver === true) return joined(workflowId, [held]);
  const all = await allBefore(client, workflowId, newest.runId);
  return all.length === 0 ? null : joined(workflowId, all);
}

/** @throws InstructionsUnreadable */
function joined(workflowId: string, all: readonly Held[]): Kept {
  const kept = unionOf(all.map((held) => held.kept));
  if (all.some(({ isUnreadable }) => isUnreadable)) throw new InstructionsUnreadable(workflowId, kept);
  return kept;
}

/**
 * What is kept about a run or, with `chunk`, about the run and this chunk, for the command or worker that acts by it. Null as in
 * `readInstructions`.
 * @throws InstructionsPaused, InstructionsUnreadable
 */
export async function readInstructionsToActBy(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept | null> {
  const { client, mode, run, chunk } = of;
  const [ofRun, ofPayments] = await Promise.all([
    readUnpaused({ client, mode, run }),
    chunk === undefined ? null : readUnpaused(withChunk({ client, mode, run }, chunk)),
  ]);
  // Nothing is kept about this chunk.
  if (ofRun === null || ofPayments === null) return ofRun;
  return withFactsOfChunk(ofRun, ofPayments);
}

/** The workflow of a chunk keeps facts only: people say everything about the run. */
function withFactsOfChunk(ofRun: Kept, ofChunk: Kept): Kept {
  return spelledOut({ instructions: ofRun.instructions, facts: [...ofRun.facts, ...ofChunk.facts] });
}

/**
 * What all Temporal runs before `ownRunId` hold, in whatever way one followed the other.
 * @throws InstructionsUnreadable
 */
export async function readEarlierInstructions(
  of: Omit<InstructionsOf, 'taskQueue'>,
  ownRunId: string,
): Promise<Kept> {
  const workflowId = instructionsIdOf(of.mode, of.run, of.chunk);
  return joined(workflowId, await allBefore(of.client, workflowId, ownRunId));
}

/** What one Temporal run holds, and which Temporal runs it took over from. */
type Held = {
  readonly kept: Kept;
  /** It has accepted something that cannot be read. */
  readonly isUnreadable: boolean;
  readonly tookOver: boolean;
  readonly before: readonly string[];
};

/**
 * What a Temporal run and all before it hold, the oldest first. Which runs those are, their histories and
 * Temporal's list say.
 */
async function allBefore(client: Client, workflowId: string, runId: string): Promise<readonly Held[]> {
  const seen = new Set<string>();
  const all: Held[] = [];
  const visit = async (each: string): Promise<void> => {
    if (seen.has(each)) return;
    seen.add(each);
    const held = await heldBy(client, workflowId, each);
    if (held === null) return;
    if (!held.tookOver || each === runId) {
      // The older one first.
      for (const earlier of held.before) await visit(earlier);
    }
    all.push(held);
  };
  // The older one first.
  for (const each of await runsOfId(client, workflowId)) if (each.runId !== runId) await visit(each.runId);
  await visit(runId);
  return all;
}

/** What one Temporal run holds; null when Temporal no longer has it, or it is of another type. */
async function heldBy(client: Client, workflowId: string, runId: string): Promise<Held | null> {
  const events = await readEvents(client, workflowId, runId);
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  if (events === null || started?.workflowType?.name !== INSTRUCTIONS_TYPE) return null;
  const [input, carried] = await valuesOf({ client, workflowId }, started.input?.payloads);
  // What is sealed says nothing without its key: perhaps a cancel.
  const key = keyNeededFor(input);
  if (key !== null) throw new Error(keyMissingText(key));
  const wasContinued =
    Number(started.initiator) === CONTINUED_AS_NEW && Boolean(started.continuedExecutionRunId);
  const taken = await takenOver({ client, workflowId }, events);
  const accepted = await updated({ client, workflowId }, events);
  const kept = [
    wasContinued ? trusted(carried) : NOTHING_KEPT,
    ...taken.map(({ kept: earlier }) => earlier),
    ...accepted.flatMap((one) => one ?? []),
  ];
  const before = [
    previousRunOf(input),
    started.continuedExecutionRunId,
    ...events.map(({ workflowTaskFailedEventAttributes: failed }) => failed?.baseRunId),
  ];
  return {
    kept: unionOf(kept),
    isUnreadable: accepted.includes(null),
    tookOver: taken.some((one) => one.runId === runId && one.isLast),
    before: before.flatMap((each) => (typeof each === 'string' && each !== '' ? [each] : [])),
  };
}

type InTemporal = { readonly client: Client; readonly workflowId: string };

/** Temporal's number for "the workflow continued as new", as opposed to a retry or a cron schedule. */
const CONTINUED_AS_NEW = 1;

/** What a Temporal run took over, and which one did it: a history that a reset copied names another. */
async function takenOver(
  of: InTemporal,
  events: HistoryEvents,
): Promise<readonly { readonly runId: unknown; readonly kept: Kept; readonly isLast: boolean }[]> {
  const asked = new Set(
    events.flatMap(({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.activityType?.name === 'takeOverInstructions' ? [String(eventId)] : [],
    ),
  );
  const answers = events.flatMap(({ activityTaskCompletedEventAttributes: completed }) =>
    completed && asked.has(String(completed.scheduledEventId)) ? [completed.result?.payloads] : [],
  );
  const values = await Promise.all(
    answers.map((payloads) => valuesOf({ ...of, kind: 'activity' }, payloads)),
  );
  // An answer of another shape the workflow has not taken either: it has asked again.
  return values.flatMap(([value]) => {
    if (!isPageOfKept(value)) return [];
    const { runId, kept, next } = value as KeptPage & { readonly runId: string };
    return [{ runId, kept, isLast: next === null }];
  });
}

/** What a Temporal run accepted: the result of each update is what it keeps. Null: one that cannot be read. */
async function updated(of: InTemporal, events: HistoryEvents): Promise<readonly (Kept | null)[]> {
  const answers = events.flatMap(({ workflowExecutionUpdateCompletedEventAttributes: completed }) =>
    completed?.outcome?.success ? [completed.outcome.success.payloads] : [],
  );
  const values = await Promise.all(answers.map((payloads) => valuesOf(of, payloads)));
  return values.map(([value]): Kept | null => {
    const key = keyNeededFor(value);
    if (key !== null) throw new Error(keyMissingText(key));
    const instruction = recordedOf(value);
    if (instruction.ok) return { instructions: [instruction.value], facts: [] };
    const facts = factsOf(value);
    return facts.ok ? { instructions: [], facts: facts.value } : null;
  });
}

function trusted(value: unknown): Kept {
  const shape = keptOf(value);
  return shape.ok ? shape.value : NOTHING_KEPT;
}

function previousRunOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && 'previousRunId' in input ? input.previousRunId : null;
}

/** The newest Temporal run of the workflow that keeps instructions; null: Temporal knows of none. */
export async function newestRunOf(client: Client, workflowId: string): Promise<NewestRun | null> {
  const shown = await describe(client, workflowId);
  if (shown === null) return null;
  return { runId: shown.runId, isOpen: isOpen(shown), isPaused: !canBeAsked(shown) };
}

type NewestRun = { readonly runId: string; readonly isOpen: boolean; readonly isPaused: boolean };
