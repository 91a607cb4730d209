/**
 * `plan`: makes the plan of a run once (design: "The plan is made once"). Its first completed result counts
 * for ever. When it is reset or started again, `observe` finds that result, and the workflow returns it
 * unchanged. How it is made is in `domain/run/make-plan.ts`; here that meets Temporal.
 */
import {
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { KeptPlan } from '../domain/plan/plan.ts';
import { runName } from '../domain/references.ts';
import { isObserved } from '../domain/run/answer-shapes.ts';
import type { PlanInput } from '../domain/run/calls.ts';
import { makePlan, type PlanPorts } from '../domain/run/make-plan.ts';
import { Pauses } from '../domain/run/pauses.ts';
import { HistoryIsLong } from '../domain/run/ports.ts';
import type { Waiting } from '../domain/waits.ts';
import { reads } from './activities.ts';
import { WAITS_MEMO, giveTurnBackSignal, planIdOf, turnIdOf, wakeSignal } from './names.ts';
import { failureOfTheRun } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';
import { orStepFailed } from './step-failed.ts';
import { waitUntil } from './wait-until.ts';

export async function plan(input: PlanInput): Promise<KeptPlan> {
  requireOwnId(() => planIdOf(input.mode, input.run));
  const state: { waiting: Waiting | null } = { waiting: null };
  const ports = portsOf(input, state);
  const pauses = new Pauses(ports, input.run, workflowInfo().continuedFromExecutionRunId !== undefined);
  setHandler(wakeSignal, () => pauses.wake());
  try {
    return await makePlan(input, ports, pauses, state);
  } catch (error) {
    if (error instanceof HistoryIsLong) return continueAsNew<typeof plan>(input);
    throw failureOfTheRun(error);
  }
}

function portsOf(input: PlanInput, state: { readonly waiting: Waiting | null }): PlanPorts {
  let shown = 'null';
  return {
    observe: (safeAtMs) =>
      orStepFailed(
        'observe',
        reads.observe({ ...input, originalPlanRunId: workflowInfo().originalExecutionRunId, safeAtMs }),
        isObserved,
      ),
    giveTurnBack: async ({ mode, organisation }) => {
      try {
        const turn = getExternalWorkflowHandle(turnIdOf(mode, organisation));
        await turn.signal(giveTurnBackSignal, runName(input.run), null);
      } catch {
        // No workflow keeps turns any more, so there is nothing to give back.
      }
    },
    waitUntil,
    nowMs: () => Date.now(),
    historyIsLong: () => workflowInfo().continueAsNewSuggested,
    // Leaves out when it looks again, which would cost an event each time.
    show: () => {
      const why = state.waiting === null ? null : { ...state.waiting, wakeAtMs: undefined };
      const text = JSON.stringify(why);
      if (text !== shown) upsertMemo({ [WAITS_MEMO]: why });
      shown = text;
    },
  };
}
