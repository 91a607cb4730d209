/** What a run and its chunks ask of Temporal in the same way. */
import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import { isConfirmed, isWithdrawalsAnswer } from '../domain/run/answer-shapes.ts';
import type { Poll, SharedPorts } from '../domain/run/ports.ts';
import type { RunState } from '../domain/run/state.ts';
import type { Field } from '../domain/shape.ts';
import { inTheTask, polls } from './activities.ts';
import { orStepFailed } from './step-failed.ts';
import { summaryOfTimer, summaryOfWithdrawals } from './ui-texts.ts';
import { waitUntil } from './wait-until.ts';

/** @param state of which the texts beside timers say for what the workflow is held */
export function sharedPorts(state: RunState): SharedPorts {
  const info = workflowInfo();
  return {
    confirmOutcomes: (call) => orStepFailed('confirmOutcomes', polls.confirmOutcomes(call), isConfirmed),
    awaitWithdrawals: (call) => {
      const summary = summaryOfWithdrawals(call);
      const poll = () => polls.awaitWithdrawals.executeWithOptions({ summary }, [call]);
      return untilGivenUp('awaitWithdrawals', poll, isWithdrawalsAnswer);
    },
    waitUntil: (holds, timeoutMs, why) =>
      waitUntil(holds, timeoutMs, why === undefined ? why : summaryOfTimer(state, why, Date.now())),
    nowMs: () => Date.now(),
    tellRun: (undone) => inTheTask.tellRun(undone),
    historyIsLong: () => workflowInfo().continueAsNewSuggested,
    runId: info.runId,
    originalRunId: info.originalExecutionRunId,
    firstRunId: info.firstExecutionRunId,
  };
}

/**
 * A poll that the workflow may give up before it has answered.
 * @param type the activity, for people
 * @param isAnswer whether a value has the shape of its answers
 */
export function untilGivenUp<T>(type: string, poll: () => Promise<T>, isAnswer: Field): Poll<T> {
  const scope = new CancellationScope();
  return { answer: orStepFailed(type, scope.run(poll), isAnswer), giveUp: () => scope.cancel() };
}
