/**
 * `run`: a policy as a durable workflow. The business is in `domain/run/`; here it meets Temporal: activities, timers,
 * queries, the cancel button, and what the UI shows.
 */
import {
  CancellationScope,
  CancelledFailure,
  TemporalFailure,
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { holdsOf } from '../domain/run/claims.ts';
import { workflowIdOf } from '../domain/references.ts';
import { makeReport, statusOf } from '../domain/run/report.ts';
import { reservedIn } from '../domain/run/reserves.ts';
import { newRunState, type RunState } from '../domain/run/state.ts';
import {
  isChunksAnswer,
  isLegAnswer,
  isNothing,
  isPaymentsAnswer,
  isPlanAnswer,
  isSettlement,
} from '../domain/run/answer-shapes.ts';
import type { Carried } from '../domain/run/carry.ts';
import type { RunInput } from '../domain/run/calls.ts';
import { Run } from '../domain/run/run.ts';
import { HistoryIsLong, type Ports } from '../domain/run/ports.ts';
import { progressPage, runPage, type RunPage } from '../domain/run/progress.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { polls, reads, writes } from './activities.ts';
import { showStanding, showStep } from './current-details.ts';
import {
  goQuery,
  instructionsIdOf,
  newsSignal,
  progressQuery,
  reportQuery,
  holdsQuery,
  reservedQuery,
  runEndedSignal,
  stateAttribute,
  wakeSignal,
} from './names.ts';
import { failureOf, failureOfTheRun } from './never-fail-the-task.ts';
import { requireHandedOn } from './handed-on.ts';
import { requireOwnId } from './own-id.ts';
import { sharedPorts, untilGivenUp } from './shared-ports.ts';
import { orStepFailed } from './step-failed.ts';
import { END_STEP } from './steps.ts';
import {
  detailsOf,
  endOf,
  summaryOfPayments,
  summaryOfQuote,
  summaryOfSettlement,
  summaryOfTrade,
  unpaidInBatch,
} from './ui-texts.ts';

/** @param carried what an earlier history of this run hands on; a run is started without it */
export async function run(input: RunInput, carried: Carried | null = null): Promise<RunPage> {
  requireOwnId(() => workflowIdOf(input.mode, input.run));
  requireHandedOn(carried);
  const state = newRunState(input.run, workflowIdOf(input.mode, input.run), {
    name: input.run.policy,
    hash: input.policyHash,
  });
  state.startedBy = input.startedBy;
  const openRun = new Run(
    input,
    state,
    temporalPorts(input, state, carried, () => openRun.isAgain),
    carried,
  );
  setHandler(reportQuery, (offset = 0) => runPage(state, offset, openRun.isAgain));
  setHandler(progressQuery, (offset = 0) => progressPage(state, offset, openRun.isAgain));
  // A query leaves nothing in the history, so its answer may depend on which Temporal run this is.
  setHandler(holdsQuery, (names) =>
    holdsOf(state, { runId: workflowInfo().runId, heard: null, isFirst: false }, names),
  );
  setHandler(reservedQuery, () => reservedIn(state, workflowInfo().runId));
  setHandler(goQuery, (number) => openRun.goFor(number));
  setHandler(newsSignal, (number) => openRun.noteNews(number));
  setHandler(wakeSignal, () => openRun.wake());
  // Settles only when a person cancels the run. Nothing waits for this promise.
  void CancellationScope.current().cancelRequested.catch(() => {
    openRun.cancel();
    // This shows only the details. The state stays as it was until something changes.
    showStanding(detailsOf(state, openRun.isAgain, Date.now()));
  });
  // A cancel takes effect between steps, never in the middle of a write.
  const end = await CancellationScope.nonCancellable(() => untilItsEnd(openRun));
  if (end === 'history is long') return continueAsNew<typeof run>(input, openRun.handOn());
  return conclude(state);
}

/** Carries the run out. However it ends, the workflow that keeps people's instructions is told. */
async function untilItsEnd(openRun: Run): Promise<'ended' | 'history is long'> {
  try {
    await openRun.complete();
    return 'ended';
  } catch (error) {
    if (error instanceof HistoryIsLong) return 'history is long';
    const failure = failureOfTheRun(error);
    if (failure instanceof TemporalFailure && !openRun.hasToldRefusal) await tellEnd(openRun.input);
    throw failure;
  } finally {
    showStep(END_STEP);
  }
}

/**
 * Tells the workflow that keeps people's instructions that the run ends. It then ends too, and a person who
 * has something to say opens it again.
 */
async function tellEnd({ mode, run: name }: RunInput): Promise<void> {
  try {
    await getExternalWorkflowHandle(instructionsIdOf(mode, name)).signal(runEndedSignal);
  } catch {
    // It has ended already, or was never there.
  }
}

/** @param isAgain whether the run was started or reset once more; only what is shown depends on it */
function temporalPorts(
  input: RunInput,
  state: RunState,
  carried: Carried | null,
  isAgain: () => boolean,
): Ports {
  // A start has set the status `RUNNING`. A new history inherits the status that was shown last.
  let shown: string | null = carried === null ? 'RUNNING' : null;
  return {
    ...sharedPorts(state),
    readPlan: (call) => orStepFailed('readPlan', reads.readPlan(call), isPlanAnswer),
    readChunks: (call) => orStepFailed('readChunks', reads.readChunks(call), isChunksAnswer),
    requestQuote: (call) =>
      orStepFailed(
        'requestQuote',
        writes.requestQuote.executeWithOptions({ summary: summaryOfQuote(call, state.cancelled) }, [call]),
        isLegAnswer,
      ),
    executeTrade: (call) =>
      orStepFailed(
        'executeTrade',
        writes.executeTrade.executeWithOptions({ summary: summaryOfTrade(call, state.cancelled) }, [call]),
        isLegAnswer,
      ),
    createWithdrawals: (call) =>
      orStepFailed(
        'createWithdrawals',
        writes.createWithdrawals.executeWithOptions({ summary: summaryOfPayments(call, state.cancelled) }, [
          call,
        ]),
        isPaymentsAnswer,
      ),
    // This call is made because of a cancel, so the cancel must not stop it.
    recordInstruction: (call) =>
      CancellationScope.nonCancellable(() =>
        orStepFailed('recordInstruction', reads.recordInstruction(call), isNothing),
      ),
    awaitSettlement: (call) => {
      const summary = summaryOfSettlement(call);
      const poll = () => polls.awaitSettlement.executeWithOptions({ summary }, [call]);
      return untilGivenUp('awaitSettlement', poll, isSettlement);
    },
    tellEnd: () => tellEnd(input),
    // Sets the current details, and one search attribute when it has changed.
    show: () => {
      showStanding(detailsOf(state, isAgain(), Date.now()));
      const status = statusOf(state);
      if (shown === status) return;
      shown = status;
      upsertSearchAttributes([{ key: stateAttribute, value: status }]);
    },
  };
}

/** Ends the Temporal run. Temporal's UI shows it in green only when everything planned was done. */
function conclude(state: RunState): RunPage {
  try {
    const report = makeReport(state);
    if (report.status === 'COMPLETED') return runPage(state, 0, false);
    if (report.status === 'CANCELLED') throw withoutStack(new CancelledFailure(endOf(state)));
    throw failureOf(`RUN_${report.status}`, endOf(state), report.problems, unpaidInBatch(state));
  } catch (error) {
    throw failureOfTheRun(error);
  }
}
