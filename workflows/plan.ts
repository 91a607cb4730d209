/**
 * `plan`: makes the plan of a run once (design: "The plan is made once"). Its first completed result counts
 * for ever. When it is reset or started again, `observe` finds that result, and the workflow returns it
 * unchanged.
 */
import {
  ApplicationFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { activityFailed } from '../domain/run/activity-failed.ts';
import { decimalsOf } from '../domain/currencies.ts';
import { compilePlan } from '../domain/plan/compile.ts';
import { isFromBalances, keptPlan, type Credentials, type KeptPlan } from '../domain/plan/plan.ts';
import type { Problem } from '../domain/problems.ts';
import { runName } from '../domain/references.ts';
import { waitingOf, type Waiting } from '../domain/waits.ts';
import { growing } from '../domain/run/growing.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { reads } from './activities.ts';
import type { Observed } from './calls.ts';
import { StepFailed } from '../domain/run/ports.ts';
import type { PlanInput } from '../domain/run/calls.ts';
import { WAITS_MEMO, giveTurnBackSignal, planIdOf, turnIdOf, wakeSignal } from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';
import { orStepFailed } from './step-failed.ts';

/** The longest wait between two observations. It is not shorter because each observation costs history. */
const LONGEST_WAIT_MS = 60_000;

export async function plan(input: PlanInput): Promise<KeptPlan> {
  requireOwnId(() => planIdOf(input.mode, input.run));
  let waiting: Waiting | null = null;
  let safeAtMs: number | null = null;
  let shown = '';
  let wakes = 0;
  setHandler(wakeSignal, () => {
    wakes += 1;
  });
  // Null: the plan has waited for so long that the workflow goes on in a new history.
  const made = await neverFailTheTask(async (): Promise<KeptPlan | null> => {
    for (let stops = 0; ; stops += 1) {
      const call = { ...input, originalPlanRunId: workflowInfo().originalExecutionRunId, safeAtMs };
      const observed: Observed = await orStepFailed(reads.observe(call)).catch((error: unknown) => {
        if (!(error instanceof StepFailed)) throw error;
        return { kind: 'wait', wait: activityFailed(error.message, 1) };
      });
      switch (observed.kind) {
        case 'made':
          return observed.plan;
        case 'observed':
          return await compiled(input, observed);
        case 'refused':
          throw planRefused(observed.problems);
        case 'wait': {
          const { reason, afterMs: firstMs } = observed.wait;
          safeAtMs = observed.wait.safeAtMs ?? safeAtMs;
          // A turn is soon over, and the run has its place in the line. So the pause does not grow.
          const afterMs = reason === 'turn' ? firstMs : growing(firstMs, stops, LONGEST_WAIT_MS);
          waiting = waitingOf({ ...observed.wait, afterMs }, Date.now(), waiting);
          const { wakeAtMs: _, ...why } = waiting;
          if (JSON.stringify(why) !== shown) upsertMemo({ [WAITS_MEMO]: why });
          shown = JSON.stringify(why);
          const before = wakes;
          await condition(() => wakes !== before, afterMs, {
            summary: 'Waits; then it looks at the service again',
          });
          if (workflowInfo().continueAsNewSuggested) return null;
        }
      }
    }
  });
  return made ?? continueAsNew<typeof plan>(input);
}

async function compiled(
  input: PlanInput,
  observed: Extract<Observed, { kind: 'observed' }>,
): Promise<KeptPlan> {
  const result = compilePlan({
    run: input.run,
    policy: observed.policy,
    policyHash: observed.policyHash,
    date: observed.date,
    sendWindows: observed.sendWindows,
    referenceRates: observed.referenceRates,
    observation: observed.observation,
    lateAfterMs: observed.lateAfterMs,
    decimalsOf: (currency) => decimalsOf(currency, observed.decimals),
    batch: observed.batch,
    madeFor: input.forRun,
    ...(input.insteadOf !== undefined && { insteadOf: input.insteadOf }),
  });
  const goesOn = result.ok && result.plan.legs.some(isFromBalances);
  // A batch keeps its turn until its plan can be read: the next batch must see what it holds.
  const isBatch = result.ok && observed.batch !== null;
  if (observed.hasTurn && !goesOn && !isBatch) await giveTurnBack(input, observed.observation.credentials);
  if (result.ok) return keptPlan(result.plan);
  throw planRefused(result.problems);
}

/**
 * Gives the turn back: a run that trades nothing computed from balances needs it no longer. If this fails,
 * the turn lapses by itself.
 */
async function giveTurnBack({ run }: PlanInput, { mode, organisation }: Credentials): Promise<void> {
  try {
    await getExternalWorkflowHandle(turnIdOf(mode, organisation)).signal(
      giveTurnBackSignal,
      runName(run),
      false,
    );
  } catch {
    // No workflow keeps turns any more, so there is nothing to give back.
  }
}

function planRefused(problems: readonly Problem[]): ApplicationFailure {
  return withoutStack(
    ApplicationFailure.create({
      type: 'PLAN_REFUSED',
      message: 'No plan can be made; nothing was sent.',
      nonRetryable: true,
      details: [{ problems }],
    }),
  );
}
