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
import { whyOf, type Why } from '../domain/waits.ts';
import { isRunCode, makeProblem, type Problem } from '../domain/problems.ts';
import {
  ORGANISATION_MEMO,
  PLAN_TYPE,
  WAITS_MEMO,
  modeAttribute,
  planIdOf,
  policyAttribute,
} from '../workflows/names.ts';
import { afterRefusal, type PlanInput, type PlanState } from '../domain/run/calls.ts';
import { canBeAsked, describe } from './described.ts';
import { readStart } from './history.ts';
import { firstCompletedPlan } from './listed.ts';

/**
 * What Temporal has of the plan of a run. `isMade`: a plan was made. `hasFailed`: the newest `plan` has failed. `input`:
 * that of the newest `plan`. The caller checks it, because every program that may write to Temporal can start a `plan`.
 */
export type FoundPlan = {
  readonly isMade: boolean;
  readonly hasFailed: boolean;
  readonly input: PlanInput | null;
};

/** Null: Temporal has no `plan` of the run. */
export async function findPlan(client: Client, mode: Mode, run: RunName): Promise<FoundPlan | null> {
  const newest = await describe(client, planIdOf(mode, run));
  if (newest === null) return null;
  const input = await inputOf(client, newest);
  const isMade = await isMadeBy(client, mode, run, newest);
  return { isMade, hasFailed: newest.status.name === 'FAILED', input };
}

/**
 * Starts the plan of a run unless it was made or is under way. A `plan` that failed made no plan, so it is started again,
 * but not for the Temporal run for which it failed: that run must be told why.
 * @param found what Temporal had of it a moment ago; null: nothing
 * @returns the Temporal run of `plan` that this start has begun; null: it has begun none
 */
export async function startPlan(
  client: Client,
  { taskQueue, organisation }: { readonly taskQueue: string; readonly organisation: string },
  input: PlanInput,
  found: FoundPlan | null,
): Promise<string | null> {
  if (found?.isMade === true || (found?.hasFailed === true && found.input?.askedBy === input.askedBy))
    return null;
  try {
    const { firstExecutionRunId } = await client.workflow.start(PLAN_TYPE, {
      workflowId: planIdOf(input.mode, input.run),
      taskQueue,
      args: [found?.hasFailed === true ? afterRefusal(input) : input],
      // The plan of a `plan` that has completed counts for ever.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
      memo: { [ORGANISATION_MEMO]: organisation },
      staticSummary: `Plan of ${input.run.policy}.${input.run.id}`,
      typedSearchAttributes: [
        { key: policyAttribute, value: input.run.policy },
        { key: modeAttribute, value: input.mode },
      ],
    });
    return firstExecutionRunId;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return null;
  }
}

/** Whether a plan was made: also a plan that Temporal's lists do not show yet, or that was reset since. */
export async function isPlanMade(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  const newest = await describe(client, planIdOf(mode, run));
  return newest !== null && isMadeBy(client, mode, run, newest);
}

async function isMadeBy(client: Client, mode: Mode, run: RunName, { status }: Shown): Promise<boolean> {
  return status.name === 'COMPLETED' || (await readFirstPlan(client, mode, run)) !== null;
}

/** Whether Temporal has a plan of the run, in whatever state. */
export async function isPlanKnown(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  return (await describe(client, planIdOf(mode, run))) !== null;
}

/**
 * Waits up to `patienceMs` for the plan. If it is not made by then, says what it waits for, as its workflow shows it. No
 * workflow is asked anything: that would need a worker, and questions of others would come first.
 * @param startedRunId the Temporal run of `plan` that the caller has just started; null: it has started none
 */
export async function readPlan(
  client: Client,
  mode: Mode,
  run: RunName,
  patienceMs: number,
  startedRunId: string | null = null,
): Promise<PlanState> {
  try {
    const first = startedRunId === null ? await readFirstPlan(client, mode, run) : null;
    if (first !== null) return { kind: 'plan', plan: first };
    const workflowId = planIdOf(mode, run);
    const ended = await endWithin(client, { workflowId, runId: startedRunId }, patienceMs);
    if (ended !== null && startedRunId !== null) return { kind: 'plan', plan: knownPlan(ended.result) };
    const newest = await describe(client, workflowId);
    // A person has deleted the workflow at this very moment. The next call shows what is there.
    if (newest === null) throw new Error(`${workflowId} is gone.`);
    // Lists may not show yet that it has just completed.
    const plan = await resultOf(client, newest);
    if (plan !== null) return { kind: 'plan', plan };
    if (ended === null) return { kind: 'waiting', waiting: whyNotMade(newest) };
    throw new PlanUnreadable('A workflow of another type has its place.');
  } catch (error) {
    const problems = problemsOfRefusal(error);
    if (problems === null) throw error;
    return { kind: 'refused', problems };
  }
}

/** Null: it is at work. */
function whyNotMade(newest: WorkflowExecutionDescription): Why | null {
  if (canBeAsked(newest)) return whyOf(newest.memo?.[WAITS_MEMO]);
  return { reason: 'person', problem: makeProblem('PLAN_PAUSED', null) };
}

/** The result of a workflow that has completed in time; null: it has not. The request itself ends after this time. */
async function endWithin(
  client: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string | null },
  patienceMs: number,
): Promise<{ readonly result: unknown } | null> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), patienceMs);
  try {
    const handle = client.workflow.getHandle(workflowId, runId ?? undefined);
    return { result: await client.withAbortSignal(patience.signal, () => handle.result()) };
  } catch (error) {
    if (patience.signal.aborted && !(error instanceof WorkflowFailedError)) return null;
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
  const first = await firstCompletedPlan(client, workflowId);
  return first === undefined ? null : readResult(client, workflowId, first.runId);
}

/**
 * The plan that an earlier `plan` of the run has made: what the Temporal run `runId` completed with, else the first result.
 * @param runId null: only the first result
 * @throws PlanUnreadable for a plan of a version that this program does not know
 */
export async function readEarlierPlan(
  client: Client,
  mode: Mode,
  run: RunName,
  runId: string | null,
): Promise<Plan | null> {
  const made = runId === null ? null : await readResult(client, planIdOf(mode, run), runId);
  return made ?? readFirstPlan(client, mode, run);
}

/** The completed result of one Temporal run of a `plan`; null when that run did not complete, or is of another type. */
async function readResult(client: Client, workflowId: string, runId: string): Promise<Plan | null> {
  const shown = await describe(client, workflowId, runId);
  return shown === null ? null : resultOf(client, shown);
}

type Shown = Pick<WorkflowExecutionDescription, 'workflowId' | 'runId' | 'status' | 'type'>;

async function resultOf(client: Client, { workflowId, runId, status, type }: Shown): Promise<Plan | null> {
  if (status.name !== 'COMPLETED' || type !== PLAN_TYPE) return null;
  return knownPlan(await client.workflow.getHandle(workflowId, runId).result());
}

/** @throws PlanUnreadable */
function knownPlan(result: unknown): Plan {
  const plan = planOf(result);
  if (plan.ok) return plan.value;
  throw new PlanUnreadable(plan.why);
}

/** The text of the policy that a plan was made from: it stays in the input of the workflow that made it. */
export async function readPlannedText(client: Client, { credentials, run }: Plan): Promise<string | null> {
  const text = (await readPlanInput(client, credentials.mode, run))?.policyText;
  return typeof text === 'string' ? text : null;
}

/** The input of the newest `plan`. The caller checks it, as with `FoundPlan`. */
export async function readPlanInput(client: Client, mode: Mode, run: RunName): Promise<PlanInput | null> {
  return inputOf(client, { workflowId: planIdOf(mode, run) });
}

async function inputOf(
  client: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId?: string },
): Promise<PlanInput | null> {
  const input = (await readStart(client, workflowId, runId))?.input;
  return isRecord(input) ? (input as PlanInput) : null;
}

/** Why the plan was refused for good; null where a new start may help (terminated, timed out, cancelled). */
function problemsOfRefusal(error: unknown): readonly Problem[] | null {
  if (error instanceof PlanUnreadable)
    return [
      makeProblem('PLAN_UNREADABLE', null, {
        message: `This version of Cambist cannot read the plan that Temporal has of this run. ${error.message}`,
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
      message: `Not started: the workflow that makes the plan has failed (${cause.message}). Nothing was sent.`,
      fix: 'See why it failed: it is the workflow `<run>/plan` in the Temporal UI.',
    },
  ];
}
