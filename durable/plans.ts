/**
 * Starts and reads the workflow `plan` of a run. Its first completed result is the plan for ever (design: "The plan is made
 * once"). Every plan is read through the one reader of plans.
 */
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { planOf } from '../domain/plan/plan-shape.ts';
import type { Plan } from '../domain/plan/plan.ts';
import type { Mode } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import { isRecord } from '../domain/shape.ts';
import { whyOf } from '../domain/waits.ts';
import { isRunCode, makeProblem, type Problem } from '../domain/problems.ts';
import { PLAN_TYPE, WAITS_MEMO, modeAttribute, planIdOf, policyAttribute } from '../workflows/names.ts';
import type { PlanInput, PlanState } from '../domain/run/calls.ts';
import { describe } from './described.ts';
import { readStart } from './history.ts';
import { completedOfId } from './listed.ts';

/**
 * Starts the plan of a run unless it is under way or has completed. A `plan` that failed made no plan, so it
 * is started again, but not for the Temporal run for which it failed: that run must be told why.
 */
export async function startPlan(client: Client, taskQueue: string, input: PlanInput): Promise<void> {
  const workflowId = planIdOf(input.mode, input.run);
  const newest = await describe(client, workflowId);
  if (newest?.status.name === 'FAILED' && (await askedBy(client, newest)) === input.askedBy) return;
  try {
    await client.workflow.start(PLAN_TYPE, {
      workflowId,
      taskQueue,
      args: [input],
      // The plan of a `plan` that has completed counts for ever.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `Plan of ${input.run.policy}.${input.run.id}`,
      typedSearchAttributes: [
        { key: policyAttribute, value: input.run.policy },
        { key: modeAttribute, value: input.mode },
      ],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Whether a plan was made: also a plan that Temporal's lists do not show yet, or that was reset since. */
export async function isPlanMade(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  const newest = await describe(client, planIdOf(mode, run));
  if (newest === null) return false;
  return newest.status.name === 'COMPLETED' || (await readFirstPlan(client, mode, run)) !== null;
}

/** Whether Temporal has a plan of the run, in whatever state. */
export async function isPlanKnown(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  return (await describe(client, planIdOf(mode, run))) !== null;
}

/**
 * Waits up to `patienceMs` for the plan. If it is not made by then, says what it waits for, as its workflow shows it. No
 * workflow is asked anything: that would need a worker, and questions of others would come first.
 */
export async function readPlan(
  client: Client,
  mode: Mode,
  run: RunName,
  patienceMs: number,
): Promise<PlanState> {
  try {
    const first = await readFirstPlan(client, mode, run);
    if (first !== null) return { kind: 'plan', plan: first };
    const workflowId = planIdOf(mode, run);
    const hasEnded = await endsWithin(client, workflowId, patienceMs);
    const newest = await describe(client, workflowId);
    // A person has deleted the workflow at this very moment. The next call shows what is there.
    if (newest === null) throw new Error(`${workflowId} is gone.`);
    if (!hasEnded) return { kind: 'waiting', waiting: whyOf(newest.memo?.[WAITS_MEMO]) };
    const plan = await resultOf(client, newest);
    if (plan === null) throw new PlanUnreadable('A workflow of another type has its place.');
    return { kind: 'plan', plan };
  } catch (error) {
    const problems = problemsOfRefusal(error);
    if (problems === null) throw error;
    return { kind: 'refused', problems };
  }
}

/** True when the workflow has completed in time. The request itself ends after this time. */
async function endsWithin(client: Client, workflowId: string, patienceMs: number): Promise<boolean> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), patienceMs);
  try {
    await client.withAbortSignal(patience.signal, () => client.workflow.getHandle(workflowId).result());
    return true;
  } catch (error) {
    if (patience.signal.aborted && !(error instanceof WorkflowFailedError)) return false;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The result of the workflow `plan` is not a plan that this program knows. */
class PlanUnreadable extends Error {
  override readonly name = 'PlanUnreadable';
}

/**
 * The first completed result of the workflow `plan`, whatever was reset or started again since; null when none is known.
 * Temporal's lists may be behind: `readPlan` reads a plan that has just completed through its own result.
 */
export async function readFirstPlan(client: Client, mode: Mode, run: RunName): Promise<Plan | null> {
  const workflowId = planIdOf(mode, run);
  const [first] = await completedOfId(client, workflowId, PLAN_TYPE);
  return first === undefined ? null : readResult(client, workflowId, first.runId);
}

/**
 * The completed result of one Temporal run of a `plan`; null when that run did not complete, or is of another type.
 * @throws PlanUnreadable for a plan of a version that this program does not know
 */
export async function readResult(client: Client, workflowId: string, runId: string): Promise<Plan | null> {
  const shown = await describe(client, workflowId, runId);
  return shown === null ? null : resultOf(client, shown);
}

type Shown = Pick<WorkflowExecutionDescription, 'workflowId' | 'runId' | 'status' | 'type'>;

async function resultOf(client: Client, { workflowId, runId, status, type }: Shown): Promise<Plan | null> {
  if (status.name !== 'COMPLETED' || type !== PLAN_TYPE) return null;
  const plan = planOf(await client.workflow.getHandle(workflowId, runId).result());
  if (plan.ok) return plan.value;
  throw new PlanUnreadable(plan.why);
}

/** The text of the policy that a plan was made from: it stays in the input of the workflow that made it. */
export async function readPlannedText(client: Client, { credentials, run }: Plan): Promise<string | null> {
  const text = (await readPlanInput(client, credentials.mode, run))?.policyText;
  return typeof text === 'string' ? text : null;
}

/** The input of the newest `plan`. The caller checks it, because anybody may have started a `plan`. */
export async function readPlanInput(client: Client, mode: Mode, run: RunName): Promise<PlanInput | null> {
  const newest = await describe(client, planIdOf(mode, run));
  const input = newest === null ? null : await inputOf(client, newest);
  return isRecord(input) ? (input as PlanInput) : null;
}

async function askedBy(client: Client, newest: Shown): Promise<unknown> {
  const input = await inputOf(client, newest);
  return isRecord(input) ? input['askedBy'] : null;
}

async function inputOf(client: Client, { workflowId, runId }: Shown): Promise<unknown> {
  return (await readStart(client, workflowId, runId))?.input;
}

/** Why the plan was refused for good; null where a new start may help (terminated, timed out, cancelled). */
function problemsOfRefusal(error: unknown): readonly Problem[] | null {
  if (error instanceof PlanUnreadable)
    return [
      makeProblem('PLAN_UNREADABLE', null, {
        message: `What Temporal has as the plan of this run is not one that this version of Cambist knows. ${error.message}`,
      }),
    ];
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) return null;
  const { cause } = error;
  const [detail] = cause.details ?? [];
  if (cause.type === 'PLAN_REFUSED') return (detail as { problems: readonly Problem[] }).problems;
  return [
    {
      code: isRunCode(cause.type) ? cause.type : 'PLAN_FAILED',
      item: null,
      message: `The plan could not be made: ${cause.message}`,
      fix: 'See the run’s `/plan` workflow in the Temporal UI; nothing was sent.',
    },
  ];
}
