/**
 * Keeps and reads instructions for commands. Only a worker can keep an instruction. When no worker took it before the
 * deadline here, the command says so to the person.
 */
import { minuteText } from '../../domain/waits.ts';
import { ApplicationFailure } from '@temporalio/common';
import { WorkflowNotFoundError, WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { runName, type RunName } from '../../domain/references.ts';
import {
  NOTHING_KEPT,
  type Fact,
  type Instruction,
  type Kept,
  type Recorded,
} from '../../domain/people/instructions.ts';
import { recordedOf } from '../../domain/people/instruction-shape.ts';
import { withChunk, readInstructionsToActBy, readInstructions } from '../../durable/instructions/read.ts';
import { noteFacts, recordInstruction } from '../../durable/instructions/keep.ts';
import { instructionsIdOf, planIdOf, wakeSignal } from '../../workflows/names.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { ANSWER_LIMIT_MS, BUSY_LIMIT_MS } from '../follow/answers.ts';
import { evidenceOf } from '../follow/instruction-evidence.ts';
import { pausedOnes } from '../follow/paused.ts';
import { describeRun } from '../follow/runs.ts';
import { hasWorker } from '../watch/pollers.ts';

/**
 * Keeps an instruction outside the run's history.
 * @param seen the number of the newest entry of people that the command has read before its person said this; null: the
 * instruction is kept whatever was said since
 * @returns the number under which it is kept
 * @throws CommandFailure when no worker took it in time, or a person has said something since
 */
export async function keepInstruction(
  place: Place,
  run: RunName,
  instruction: Instruction,
  { seen }: { readonly seen: number | null },
): Promise<number> {
  const { client, taskQueue, mode } = place;
  const of = { client, taskQueue, mode, run };
  return withWorker(place, of, async () => {
    try {
      const answer = recordedOf(await recordInstruction(of, instruction, seen ?? undefined));
      if (answer.ok && answer.value.id === instruction.id) return answer.value.number;
      throw notReadable(run);
    } catch (error) {
      if (!(error instanceof WorkflowUpdateFailedError)) throw error;
      const said = (await readInstructions(of))?.instructions ?? [];
      throw notKept(
        run,
        error,
        said.filter(({ number }) => number > (seen ?? Infinity)),
      );
    }
  });
}

/**
 * Keeps with a chunk which of its payments an instruction means that is kept next.
 * @throws CommandFailure when no worker took it in time
 */
export async function keepLists(
  { place, run, chunk }: { readonly place: Place; readonly run: RunName; readonly chunk: number },
  lists: readonly Fact[],
): Promise<void> {
  const { client, taskQueue, mode } = place;
  const of = withChunk({ client, taskQueue, mode, run }, chunk);
  await withWorker(place, of, () => noteFacts(of, lists));
}

function notReadable(run: RunName): CommandFailure {
  const message =
    'what was answered is no answer of a worker of this version, so that what you typed may not be kept';
  const fix =
    'See that all workers are yours, and of this version (`npx cambist doctor`). Then type it again.';
  return new CommandFailure('infrastructure', [{ code: 'NO_WORKER', place: runName(run), message, fix }]);
}

/** At most this many of the entries that a person had not seen are shown. */
const SHOWN_SINCE = 5;

/** @param since what people have said since the command looked */
function notKept(
  run: RunName,
  { cause }: WorkflowUpdateFailedError,
  since: readonly Recorded[],
): CommandFailure {
  const place = runName(run);
  switch ((cause instanceof ApplicationFailure ? cause.type : null) ?? '') {
    case 'SAID_SINCE': {
      const words = since.slice(-SHOWN_SINCE).map((said) => evidenceOf(said, run));
      const told = words.map(({ at, result }) => `${minuteText(Date.parse(at))} ${result}`).join('; ');
      const message = `a person has said this after the command had read the run, so what you typed is not kept: ${told}`;
      const fix = `See \`npx cambist status ${place}\`. If you still mean it, type it again.`;
      return new CommandFailure('refused by us', [{ code: 'SAID_SINCE', place, message, fix }]);
    }
    case 'SAID_TOO_LATE': {
      const message = 'no worker took what you typed within five minutes; it is not kept';
      const fix =
        'See that a worker is there, and that the clock of this machine is right. Then type it again.';
      return new CommandFailure('infrastructure', [{ code: 'SAID_TOO_LATE', place, message, fix }]);
    }
    case 'TOO_MUCH_SAID': {
      const message = 'so much is said about the run that only a cancel is kept; what you typed is not';
      const fix = `Cancel it: \`npx cambist cancel ${place}\`. What is left of it is for another run.`;
      return new CommandFailure('refused by us', [{ code: 'TOO_MUCH_SAID', place, message, fix }]);
    }
    default: {
      const message = `the worker could not keep what was typed: ${cause?.message ?? ''}`;
      const fix = 'What you typed is not kept. Mend that, then type it again.';
      return new CommandFailure('infrastructure', [{ code: 'NO_WORKER', place, message, fix }]);
    }
  }
}

/**
 * Everything that people said about a run, and also about one chunk where its number is given; empty where nothing is kept.
 * @throws CommandFailure when Temporal does not answer
 */
export async function keptAbout(place: Place, run: RunName, chunk: number | null = null): Promise<Kept> {
  const { client, mode } = place;
  const of = withChunk({ client, mode, run }, chunk ?? undefined);
  return (await withWorker(place, of, () => readInstructionsToActBy(of))) ?? NOTHING_KEPT;
}

/**
 * What people said about a run; null where Temporal has no workflow that keeps instructions. Then the run was never started,
 * or what people said is missing and a person must say again what holds.
 */
export async function readKept(place: Place, run: RunName): Promise<Kept | null> {
  const { client, mode } = place;
  return withWorker(place, { run }, () => readInstructions({ client, mode, run }));
}

/** Wakes an open run from its waits, so that it reads the instruction at once. False when the run has ended. */
export async function wakeRun({ client, mode }: Place, run: RunName): Promise<boolean> {
  const facts = await describeRun(client, mode, run);
  if (facts === null || !facts.isOpen) return false;
  // The run may be waiting for its plan, and then the workflow `plan` must be woken.
  await wake(client, planIdOf(mode, run));
  return wake(client, facts.workflowId);
}

/** False when no workflow with this id is open. */
async function wake(client: Client, workflowId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).signal(wakeSignal);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** @param of whose instructions it is about; `chunk`: as in `withChunk` */
async function withWorker<T>(
  place: Place,
  { run, chunk }: { readonly run: RunName; readonly chunk?: number },
  work: () => Promise<T>,
): Promise<T> {
  const limitMs = (await hasWorker(place.client, place.taskQueue)) ? BUSY_LIMIT_MS : ANSWER_LIMIT_MS;
  try {
    return await place.client.withDeadline(Date.now() + limitMs, work);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const asked = [instructionsIdOf(place.mode, run), instructionsIdOf(place.mode, run, chunk)];
    const paused = await pausedOnes(place.client, [...new Set(asked)]);
    if (paused.length > 0) throw new CommandFailure('needs a human', paused);
    throw new CommandFailure('infrastructure', [
      {
        code: 'NO_WORKER',
        place: runName(run),
        message: `no worker answered within ${limitMs / 1_000} s (${error instanceof Error ? error.message : String(error)}); nothing was started`,
        fix: 'Start one with `npx cambist worker`, then type the same again. Typed twice, it counts once.',
      },
    ]);
  }
}
