/**
 * The kill switch, kept in Temporal: what was halted and resumed stands as signals in the history of one open workflow of
 * each mode, `<mode>/halt`. Temporal appends a signal by itself, so that it is set and read without any worker, and of two
 * that come at once both are kept. No worker serves its task queue, on purpose: nothing can end it, fail it or replay it,
 * and each signal stands in its history at once (while a worker held a task of it, signals would wait outside).
 */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import {
  READING_HOLDS_MS,
  drillOf,
  haltsAfter,
  isSameScope,
  type Halt,
  type HaltSaid,
  type HaltWord,
} from '../domain/halt.ts';
import type { Mode } from '../domain/service/records.ts';
import {
  HALT_QUEUE,
  HALT_TYPE,
  PAYMENTS_TYPE,
  RUN_TYPE,
  haltIdOf,
  haltSignal,
  resumeSignal,
  wakeSignal,
} from '../workflows/names.ts';
import { CommandFailure } from './failure.ts';
import { timeOf, valuesOf } from './history.ts';

/** A Temporal that does not answer is told. */
const SAY_LIMIT_MS = 10_000;
const TRIES = 3;
const WOKEN_AT_ONCE = 20;

type Of = { readonly client: Client; readonly mode: Mode };

/** What was read, and of which record: an unchanged one is not read again. */
type Reading = {
  readonly version: string;
  readonly halts: readonly Halt[];
  /** Somebody has ended the workflow. */
  readonly isEnded: boolean;
};

const NOTHING: Reading = { version: '', halts: [], isEnded: false };

/** Reads what is halted, again and again, by one question each time. Rejects when it cannot be told. */
export function haltsOf(of: Of): () => Promise<readonly Halt[]> {
  let last = NOTHING;
  return async () => {
    // One that takes longer would be too old to let anything go.
    last = await of.client.withDeadline(Date.now() + READING_HOLDS_MS, () => readHalts(of, last));
    return last.halts;
  };
}

/** What is halted now, as a command asks; drills stop nothing, and are left out. */
export async function currentHalts(of: Of): Promise<readonly Halt[]> {
  return (await haltRecord(of)).halts;
}

/** The same, and whether somebody has ended what keeps it. */
export async function haltRecord(of: Of): Promise<Omit<Reading, 'version'>> {
  const { halts, isEnded } = await asked(of);
  return { halts: halts.filter(isMeant), isEnded };
}

function asked(of: Of): Promise<Reading> {
  return of.client.withDeadline(Date.now() + SAY_LIMIT_MS, () => readHalts(of));
}

function isMeant({ scope }: Halt): boolean {
  return drillOf(scope) === null;
}

async function readHalts({ client, mode }: Of, last: Reading = NOTHING): Promise<Reading> {
  const handle = client.workflow.getHandle(haltIdOf(mode));
  let described: Awaited<ReturnType<typeof handle.describe>>;
  try {
    described = await handle.describe();
  } catch (error) {
    // Nobody has halted anything yet. Whatever else goes wrong is no answer.
    if (error instanceof WorkflowNotFoundError) return NOTHING;
    throw error;
  }
  const { runId, historyLength, status } = described;
  const version = `${runId} ${historyLength}`;
  if (version === last.version) return last;
  const { events } = await client.workflow.getHandle(haltIdOf(mode), runId).fetchHistory();
  const [started] = events ?? [];
  const [carried] = await valuesOf(client, started?.workflowExecutionStartedEventAttributes?.input?.payloads);
  const words: HaltWord[] = [];
  for (const event of events ?? []) {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (!signal) continue;
    const [said] = await valuesOf(client, signal.input?.payloads);
    words.push({ word: signal.signalName ?? '', said, atMs: timeOf(event) });
  }
  // One that somebody has ended still tells what stood: ending it lets nothing go.
  return { version, halts: haltsAfter(carried, words), isEnded: status.name !== 'RUNNING' };
}

/** @returns what is halted now, and the halt of the same that stood before and is replaced by it; null: there was none */
export async function halt(
  of: Of,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  const { halts, replaced } = await keepHalt(of, said);
  return { halts: halts.filter(isMeant), replaced };
}

/** The same for a drill: @returns the drills that stand as well. */
export async function keepHalt(
  of: Of,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  let { halts } = await asked(of);
  const isSame = ({ scope }: Halt): boolean => isSameScope(scope, said.scope);
  const replaced = halts.find(isSame) ?? null;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    halts = await say(of, haltSignal.name, said, halts);
    // Only who ends the record in this very moment, and begins another one, can take it away.
    if (halts.some(isSame)) return { halts, replaced };
  }
  throw new CommandFailure('infrastructure', [
    {
      code: 'HALT_NOT_KEPT',
      place: haltIdOf(of.mode),
      message: 'the halt does not stand: somebody ends its workflow, or resumes, again and again',
      fix: 'See the workflow in the Temporal UI, then type it again; until then stop the workers.',
    },
  ]);
}

/**
 * Lets go on what was halted in these very words; other halts stand. Said once: whoever halts again after it is right.
 * @returns what is halted still
 */
export async function resume(of: Of, said: HaltSaid): Promise<readonly Halt[]> {
  const { halts } = await asked(of);
  return (await say(of, resumeSignal.name, said, halts)).filter(isMeant);
}

/** @param before goes on in a new record, where somebody has ended the one that there was. */
async function say(
  of: Of,
  signal: string,
  said: HaltSaid,
  before: readonly Halt[],
): Promise<readonly Halt[]> {
  const { client, mode } = of;
  await client.withDeadline(Date.now() + SAY_LIMIT_MS, () =>
    client.workflow.signalWithStart(HALT_TYPE, {
      workflowId: haltIdOf(mode),
      taskQueue: HALT_QUEUE,
      args: [before],
      signal,
      signalArgs: [said],
      staticSummary: `What is halted in ${mode}`,
      staticDetails:
        'Kept for `npx cambist halt` and `npx cambist resume`; every worker reads it. No worker serves it, and none is needed. Leave it open.',
    }),
  );
  return (await asked(of)).halts;
}

/** Whether Temporal's list of runs, which may be a moment behind, has none of this policy; false where it cannot be asked. */
export async function isUnknown({ client, mode }: Of, policy: string): Promise<boolean> {
  const query = `WorkflowType = '${RUN_TYPE}' AND CambistMode = '${mode}' AND CambistPolicy = '${policy}'`;
  try {
    return (await client.workflow.count(query)).count === 0;
  } catch {
    return false;
  }
}

/** Every open run looks at once. One that is not found, or does not hear it, goes on at its own pace. */
export async function wakeAll({ client, mode }: Of): Promise<void> {
  const query = `WorkflowType IN ('${RUN_TYPE}', '${PAYMENTS_TYPE}') AND CambistMode = '${mode}' AND ExecutionStatus = 'Running'`;
  const wake = async (workflowId: string): Promise<void> => {
    await client.workflow
      .getHandle(workflowId)
      .signal(wakeSignal)
      .catch(() => {});
  };
  let some: string[] = [];
  try {
    for await (const { workflowId } of client.workflow.list({ query })) {
      some.push(workflowId);
      if (some.length < WOKEN_AT_ONCE) continue;
      await Promise.all(some.map(wake));
      some = [];
    }
  } catch {
    // What was resumed is resumed.
  }
  await Promise.all(some.map(wake));
}
