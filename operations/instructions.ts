/**
 * What people said about a run, and facts that no reset may lose: recorded in the workflow `instructions`, and read from
 * its histories (design: "Instructions"). A Temporal run of it that took over what the earlier ones hold tells all;
 * where it did not (it was reset, or ended too early), the earlier ones are read as well. Needs no worker to read.
 */
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { factsOf, keptOf, recordedOf, unionOf } from '../domain/people/instruction-shape.ts';
import { NOTHING_KEPT, type Fact, type Instruction, type Kept } from '../domain/people/instructions.ts';
import type { Mode } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import {
  INSTRUCTIONS_TYPE,
  instructionsIdOf,
  noteFactsUpdate,
  recordInstructionUpdate,
  type InstructionsInput,
  runEndedSignal,
} from '../workflows/names.ts';
import { readEvents, valuesOf, type HistoryEvents } from './history.ts';

export type InstructionsOf = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
  /** Number of the chunk of a batch whose payments it is about; absent: it is about the run. */
  readonly chunk?: number;
};

/** The same, about the payments of a chunk; absent: about the run. */
export function withChunk<Of extends object>(of: Of, chunk?: number): Of & { readonly chunk?: number } {
  return chunk === undefined ? of : { ...of, chunk };
}

/** Keeps an instruction. Returns when Temporal has it durably. Needs a running worker. */
export async function recordInstruction(of: InstructionsOf, instruction: Instruction): Promise<void> {
  await of.client.workflow.executeUpdateWithStart(recordInstructionUpdate, {
    args: [instruction],
    // The same instruction twice is one.
    updateId: instruction.id,
    startWorkflowOperation: await opening(of),
  });
}

/** Keeps facts. Returns when Temporal has them durably. Needs a running worker. */
export async function noteFacts(of: InstructionsOf, facts: readonly Fact[]): Promise<void> {
  await of.client.workflow.executeUpdateWithStart(noteFactsUpdate, {
    args: [facts],
    startWorkflowOperation: await opening(of),
  });
}

/** Tells what keeps the instructions of a run that the run ends; where nothing does any more, there is nothing to tell. */
export async function endInstructions(
  client: Client,
  mode: Mode,
  run: RunName,
  chunk?: number,
): Promise<void> {
  try {
    await client.workflow.getHandle(instructionsIdOf(mode, run, chunk)).signal(runEndedSignal);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/**
 * Opens what keeps the instructions of a run, where it is not open.
 * @param onlyIfKnown where Temporal knows of none, none is opened: they are missing, which somebody must hear of
 */
export async function openInstructions(of: InstructionsOf, onlyIfKnown: boolean): Promise<void> {
  const { client, taskQueue, mode, run } = of;
  const known = await newestRunOf(client, instructionsIdOf(mode, run));
  if (known?.isOpen === true || (known === null && onlyIfKnown)) return;
  await client.workflow.start(INSTRUCTIONS_TYPE, {
    ...startOptions(of),
    taskQueue,
    args: [inputOf(of, known?.runId ?? null)],
  });
}

/** Everything that is kept about a run; null when Temporal knows of nothing that would keep it. */
export async function readInstructions(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept | null> {
  const { client, mode, run, chunk } = of;
  const workflowId = instructionsIdOf(mode, run, chunk);
  const newest = await newestRunOf(client, workflowId);
  if (newest === null) return null;
  const held = await heldBy(client, workflowId, newest.runId);
  if (held?.tookOver === true) return held.kept;
  const all = await allBefore(client, workflowId, newest.runId);
  return all.length === 0 ? null : unionOf(all);
}

/** What is kept about a run, or about a chunk of it with what is kept about the run; null as of `readInstructions`. */
export async function readAllInstructions(of: Omit<InstructionsOf, 'taskQueue'>): Promise<Kept | null> {
  const { client, mode, run, chunk } = of;
  const [ofRun, ofPayments] = await Promise.all([
    readInstructions({ client, mode, run }),
    chunk === undefined ? null : readInstructions(withChunk({ client, mode, run }, chunk)),
  ]);
  // A chunk of which nobody has said anything has nothing that would keep it.
  if (ofRun === null || ofPayments === null) return ofRun;
  const { instructions, facts } = unionOf([ofRun, ofPayments]);
  // Decisions about a payment are kept with the run, and what pays it again with its chunk: in the order in which they were said.
  return { instructions: instructions.toSorted((one, other) => one.atMs - other.atMs), facts };
}

/** What every Temporal run before `ownRunId` holds, whichever way one followed the other. */
export async function readEarlierInstructions(
  of: Omit<InstructionsOf, 'taskQueue'>,
  ownRunId: string,
): Promise<Kept> {
  return unionOf(await allBefore(of.client, instructionsIdOf(of.mode, of.run, of.chunk), ownRunId));
}

/** What one Temporal run holds, and which ones it comes from. */
type Held = { readonly kept: Kept; readonly tookOver: boolean; readonly before: readonly string[] };

/** What a Temporal run and all before it hold, the oldest first: by what their histories name, and by what Temporal lists. */
async function allBefore(client: Client, workflowId: string, runId: string): Promise<readonly Kept[]> {
  const seen = new Set<string>();
  const all: Kept[] = [];
  const visit = async (each: string): Promise<void> => {
    if (seen.has(each)) return;
    seen.add(each);
    const held = await heldBy(client, workflowId, each);
    if (held === null) return;
    if (!held.tookOver || each === runId) {
      // The older one first.
      for (const earlier of held.before) await visit(earlier);
    }
    all.push(held.kept);
  };
  const listed: { readonly runId: string; readonly startedAtMs: number }[] = [];
  for await (const info of client.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
    listed.push({ runId: info.runId, startedAtMs: info.startTime.getTime() });
  const earlier = listed.filter((each) => each.runId !== runId);
  // The older one first.
  for (const each of earlier.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) await visit(each.runId);
  await visit(runId);
  return all;
}

/** Null for a run that Temporal has no more, or that is of another type: it holds nothing. */
async function heldBy(client: Client, workflowId: string, runId: string): Promise<Held | null> {
  const events = await readEvents(client, workflowId, runId);
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  if (events === null || started?.workflowType?.name !== INSTRUCTIONS_TYPE) return null;
  const [input, carried] = await valuesOf(client, started.input?.payloads);
  const wasContinued =
    Number(started.initiator) === CONTINUED_AS_NEW && Boolean(started.continuedExecutionRunId);
  const taken = await takenOver(client, events);
  const kept = [
    wasContinued ? trusted(carried) : NOTHING_KEPT,
    ...taken.map(({ kept: earlier }) => earlier),
    await updated(client, events),
  ];
  const before = [
    previousRunOf(input),
    started.continuedExecutionRunId,
    ...events.map(({ workflowTaskFailedEventAttributes: failed }) => failed?.baseRunId),
  ];
  return {
    kept: unionOf(kept),
    tookOver: taken.some((one) => one.runId === runId && one.isLast),
    before: before.flatMap((each) => (typeof each === 'string' && each !== '' ? [each] : [])),
  };
}

/** Temporal's number for "the workflow itself went on", as opposed to a retry or a cron schedule. */
const CONTINUED_AS_NEW = 1;

/** What a run took over, and the run that did: another one in what a reset has copied. */
async function takenOver(
  client: Client,
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
  const values = await Promise.all(answers.map((payloads) => valuesOf(client, payloads)));
  return values.flatMap(([value]) =>
    typeof value === 'object' && value !== null && 'runId' in value && 'kept' in value
      ? [{ runId: value.runId, kept: trusted(value.kept), isLast: 'next' in value && value.next === null }]
      : [],
  );
}

/** What a run accepted: each update answers what it keeps. */
async function updated(client: Client, events: HistoryEvents): Promise<Kept> {
  const answers = events.flatMap(({ workflowExecutionUpdateCompletedEventAttributes: completed }) =>
    completed?.outcome?.success ? [completed.outcome.success.payloads] : [],
  );
  const values = await Promise.all(answers.map((payloads) => valuesOf(client, payloads)));
  const kept = values.map(([value]): Kept => {
    const instruction = recordedOf(value);
    if (instruction.ok) return { instructions: [instruction.value], facts: [] };
    const facts = factsOf(value);
    return facts.ok ? { instructions: [], facts: facts.value } : NOTHING_KEPT;
  });
  return unionOf(kept);
}

function trusted(value: unknown): Kept {
  const shape = keptOf(value);
  return shape.ok ? shape.value : NOTHING_KEPT;
}

function previousRunOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && 'previousRunId' in input ? input.previousRunId : null;
}

async function newestRunOf(
  client: Client,
  workflowId: string,
): Promise<{ readonly runId: string; readonly isOpen: boolean } | null> {
  try {
    const { runId, status } = await client.workflow.getHandle(workflowId).describe();
    return { runId, isOpen: status.name === 'RUNNING' };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

async function opening(of: InstructionsOf) {
  const known = await newestRunOf(of.client, instructionsIdOf(of.mode, of.run, of.chunk));
  return new WithStartWorkflowOperation(INSTRUCTIONS_TYPE, {
    ...startOptions(of),
    args: [inputOf(of, known?.runId ?? null)],
  });
}

function inputOf({ mode, run, chunk }: InstructionsOf, previousRunId: string | null): InstructionsInput {
  return { mode, run, ...(chunk !== undefined && { chunk }), previousRunId };
}

function startOptions({ taskQueue, mode, run, chunk }: InstructionsOf) {
  return {
    workflowId: instructionsIdOf(mode, run, chunk),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: `What people said about ${chunk === undefined ? '' : `chunk ${chunk} of `}${run.policy}.${run.id}`,
  } as const;
}
