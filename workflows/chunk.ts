/**
 * `chunk`: one chunk of a batch. It receives its payments when a person submits the batch, and waits for
 * the go of the run. The business is in `domain/run/chunk.ts`.
 */
import {
  CancellationScope,
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
} from '@temporalio/workflow';
import { keptClockOf } from '../domain/clock.ts';
import { workflowIdOf } from '../domain/references.ts';
import type { ChunkInput } from '../domain/run/calls.ts';
import { isGoAnswer, isPaymentsAnswer } from '../domain/run/answer-shapes.ts';
import type { Carried } from '../domain/run/carry.ts';
import { Chunk, type ChunkPorts } from '../domain/run/chunk.ts';
import {
  chunkStateOf,
  countsIn,
  unpaidIn,
  unseenIn,
  waitsIn,
  type ChunkStanding,
} from '../domain/run/chunk-state.ts';
import { HistoryIsLong } from '../domain/run/ports.ts';
import { lookingText, progressPage } from '../domain/run/progress.ts';
import { chunkPage, type ChunkResult } from '../domain/run/report.ts';
import { newRunState, type RunState } from '../domain/run/state.ts';
import { reads, writes } from './activities.ts';
import { showStanding, showStep } from './current-details.ts';
import {
  chunkIdOf,
  chunkQuery,
  holdsQuery,
  newsSignal,
  progressQuery,
  reportQuery,
  wakeSignal,
} from './names.ts';
import { failureOfTheRun } from './never-fail-the-task.ts';
import { requireHandedOn } from './handed-on.ts';
import { requireMade, requireOwnId } from './own-id.ts';
import { sharedPorts } from './shared-ports.ts';
import { orStepFailed } from './step-failed.ts';
import { END_STEP } from './steps.ts';
import { asMarkdown, summaryOfPayments, unpaidLines, waitLine } from './ui-texts.ts';

/** @param carried what an earlier history of this chunk hands on; a chunk is started without it */
export async function chunk(input: ChunkInput, carried: Carried | null = null): Promise<ChunkResult> {
  requireOwnId(() => chunkIdOf(input.mode, input.run, input.number));
  requireHandedOn(carried);
  const name = { name: input.run.policy, hash: '' };
  const state = newRunState(input.run, chunkIdOf(input.mode, input.run, input.number), name);
  const ports = portsOf(input, state, () => openChunk.standing);
  const openChunk = requireMade(() => new Chunk(input, state, ports, carried));
  setHandler(chunkQuery, () => chunkStateOf(openChunk.standing));
  setHandler(holdsQuery, (names) => openChunk.holds(names));
  setHandler(reportQuery, (offset = 0) => chunkPage(state, offset));
  setHandler(progressQuery, (offset = 0) => progressPage(state, offset, openChunk.standing.isAgain));
  setHandler(newsSignal, () => openChunk.noteNews());
  setHandler(wakeSignal, () => openChunk.wake());
  // A cancel is for the run. A call that is under way in a chunk is never cut off.
  const end = await CancellationScope.nonCancellable(() => untilItsEnd(openChunk));
  return end === 'history is long'
    ? continueAsNew<typeof chunk>(input, openChunk.handOn())
    : { ...chunkStateOf(openChunk.standing), firstPage: chunkPage(state, 0) };
}

async function untilItsEnd(openChunk: Chunk): Promise<'ended' | 'history is long'> {
  try {
    await openChunk.complete();
    return 'ended';
  } catch (error) {
    if (error instanceof HistoryIsLong) return 'history is long';
    throw failureOfTheRun(error);
  } finally {
    showStep(END_STEP);
  }
}

function portsOf(input: ChunkInput, state: RunState, standing: () => ChunkStanding): ChunkPorts {
  const { mode, run, number } = input;
  return {
    ...sharedPorts(state),
    readGo: (call) => orStepFailed('readGo', reads.readGo(call), isGoAnswer),
    tellCoordinator: async () => {
      try {
        await getExternalWorkflowHandle(workflowIdOf(mode, run)).signal(newsSignal, number);
      } catch {
        // The run has ended. When it is started again, it reads every chunk.
      }
    },
    createWithdrawals: (call) => {
      const summary = summaryOfPayments(call);
      const paying = writes.createWithdrawals.executeWithOptions({ summary }, [call]);
      return orStepFailed('createWithdrawals', paying, isPaymentsAnswer);
    },
    show: () => {
      const { retold } = keptClockOf(state.plan?.zone ?? null, Date.now());
      showStanding(detailsOf(run, standing()).map(retold).join('\n'));
    },
  };
}

function detailsOf(run: ChunkInput['run'], standing: ChunkStanding): readonly string[] {
  const { planned, accepted, paid, notPaid, needsHuman } = countsIn(standing);
  return [
    `${planned} payments: ${lookingText(unseenIn(standing), { planned })}${accepted} accepted, ${paid} paid, ${notPaid} not paid, ${needsHuman} need a person`,
    ...waitsIn(standing).map(waitLine),
    ...unpaidLines(run, unpaidIn(standing.payments), notPaid).map((line) => `- ${asMarkdown(line)}`),
  ];
}
