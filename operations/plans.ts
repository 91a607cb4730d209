/**
 * Starting and reading the pin of a run: the small workflow whose first completed result is the plan for ever
 * (design: "The plan is pinned once").
 */
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Plan } from '../domain/plan.ts';
import type { Mode } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Problem } from '../domain/stepper.ts';
import {
  PLAN_TYPE,
  modeAttribute,
  planIdOf,
  policyAttribute,
  waitingQuery,
  type PlanInput,
  type PlanState,
} from '../workflows/names.ts';

/** Starts the pin of a run unless it is under way or has completed. */
export async function startPlan(client: Client, taskQueue: string, input: PlanInput): Promise<void> {
  try {
    await client.workflow.start(PLAN_TYPE, {
      workflowId: planIdOf(input.mode, input.run),
      taskQueue,
      args: [input],
      // A pin that failed made no plan: it may be tried again. One that completed counts for ever.
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

/** Whether a plan was made: also one that Temporal's lists do not show yet, or that was reset since. */
export async function isPlanMade(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(planIdOf(mode, run)).describe();
    if (status.name === 'COMPLETED') return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
  return (await readFirstPlan(client, mode, run)) !== null;
}

/** Waits up to `patienceMs` for the pin to complete, else says what it waits for. */
export async function readPlan(
  client: Client,
  mode: Mode,
  run: RunName,
  patienceMs: number,
): Promise<PlanState> {
  const first = await readFirstPlan(client, mode, run);
  if (first !== null) return { kind: 'plan', plan: first };
  const handle = client.workflow.getHandle(planIdOf(mode, run));
  const result = handle.result() as Promise<Plan>;
  result.catch(() => undefined);
  const late = Symbol('late');
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), patienceMs);
  });
  try {
    const ended = await Promise.race([result, patience]);
    if (ended !== late) return { kind: 'plan', plan: ended };
    return { kind: 'waiting', waiting: await handle.query(waitingQuery) };
  } catch (error) {
    const problems = problemsOfRefusal(error);
    if (problems === null) throw error;
    return { kind: 'refused', problems };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The first completed result of the pin, whatever was reset or started again since; null when none is known. Visibility
 * may lag behind: a pin that has just completed is read by `readPlan` through its own result.
 */
export async function readFirstPlan(client: Client, mode: Mode, run: RunName): Promise<Plan | null> {
  const workflowId = planIdOf(mode, run);
  const completed: { runId: string; closedAtMs: number }[] = [];
  for await (const info of client.workflow.list({
    query: `WorkflowId = '${workflowId}' AND ExecutionStatus = 'Completed'`,
  })) {
    completed.push({ runId: info.runId, closedAtMs: info.closeTime?.getTime() ?? 0 });
  }
  const [first] = completed.toSorted((a, b) => a.closedAtMs - b.closedAtMs);
  return first === undefined ? null : readResult(client, workflowId, first.runId);
}

/** The completed result of one Temporal run of a pin; null when that run did not complete. */
export async function readResult(client: Client, workflowId: string, runId: string): Promise<Plan | null> {
  const handle = client.workflow.getHandle(workflowId, runId);
  try {
    const { status } = await handle.describe();
    return status.name === 'COMPLETED' ? ((await handle.result()) as Plan) : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Why a pin failed for good; null for an end that a new pin may mend (terminated, timed out, cancelled). */
function problemsOfRefusal(error: unknown): readonly Problem[] | null {
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) return null;
  const { cause } = error;
  const [detail] = cause.details ?? [];
  if (cause.type === 'PLAN_REFUSED') return (detail as { problems: readonly Problem[] }).problems;
  return [
    {
      code: cause.type ?? 'PIN_FAILED',
      item: null,
      message: `The plan could not be made: ${cause.message}`,
      fix: 'See the run’s `/pin` workflow in the Temporal UI; nothing was sent.',
    },
  ];
}
