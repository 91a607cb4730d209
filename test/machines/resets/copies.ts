/** One run of a sample on a stage: started, looked at, rewound. What it shall come to is in `states.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readReport } from '../../../domain/run/report.ts';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { wholePlan, type KeptPlan, type Plan } from '../../../domain/plan/plan.ts';
import { runName, workflowIdOf, type RunName } from '../../../domain/references.ts';
import type { Report } from '../../../domain/run/report.ts';
import { todayIn } from '../../../calendar/business-date.ts';
import { loadPolicy } from '../../../language/policy/load-policy.ts';
import { policyHash } from '../../../language/policy/policy-hash.ts';
import { planIdOf, reportQuery, RUN_TYPE } from '../../../workflows/names.ts';
import type { RunInput } from '../../../domain/run/calls.ts';
import { patiently } from '../../support/patiently.ts';
import type { Stage } from '../../support/stage.ts';
import type { Sample, Texts } from './samples.ts';

/** A run that has not been started yet: what others may put under its name before it is. */
export type Draft = {
  readonly sample: Sample;
  readonly number: number;
  /** `policy.id`, as references begin. */
  readonly name: string;
  readonly run: RunName;
  readonly input: RunInput;
  readonly workflowId: string;
};

export type Copy = Draft & {
  readonly stage: Stage;
  /** The Temporal run that came into the state; the one that is rewound. */
  readonly baseRunId: string;
};

/** What Temporal says of the newest run of a copy. */
export type CopyStanding = { readonly runId: string; readonly isOpen: boolean; readonly status: string };

export function draftCopy(options: {
  readonly sample: Sample;
  readonly number: number;
  readonly policyName: string;
  readonly texts: Texts;
}): Draft {
  const { sample, number, policyName, texts } = options;
  const loaded = loadPolicy(texts.policy, `${sample.name}.yaml`);
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'));
  const run: RunName = { policy: policyName, id: todayIn(loaded.policy.zone, Date.now()) };
  const input: RunInput = {
    run,
    mode: 'SANDBOX',
    policyText: texts.policy,
    policyHash: policyHash(texts.policy) ?? '',
    policyFile: `${sample.name}.yaml`,
    files: texts.files,
    startedBy: 'ana',
  };
  const workflowId = workflowIdOf('SANDBOX', run);
  return { sample, number, name: runName(run), run, input, workflowId };
}

/** Starts the workflow of a run, whatever was there before. Returns the Temporal run. */
export async function start(stage: Stage, { workflowId, input }: Draft): Promise<string> {
  const handle = await stage.temporal.client.workflow.start(RUN_TYPE, {
    workflowId,
    taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [input],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
  return handle.firstExecutionRunId;
}

export function standingOf(copy: Copy): Promise<CopyStanding> {
  return patiently(async () => {
    const { runId, status } = await copy.stage.temporal.client.workflow.getHandle(copy.workflowId).describe();
    return { runId, isOpen: status.name === 'RUNNING', status: status.name };
  });
}

/** Waits for the newest run of a copy to end, however it does, but not for longer than this. */
export async function untilEnded(copy: Copy, ms: number): Promise<void> {
  const ended = copy.stage.temporal.client.workflow
    .getHandle(copy.workflowId)
    .result()
    .catch(() => undefined);
  await Promise.race([ended, sleep(ms, undefined, { ref: false })]);
}

/** The newest run's report. A run that is replaced in this very moment is asked again. */
export function reportOf(copy: Copy): Promise<Report> {
  const handle = copy.stage.temporal.client.workflow.getHandle(copy.workflowId);
  return patiently(() => readReport((offset) => handle.query(reportQuery, offset)));
}

/** What a plan workflow has come to: the plan, or why there is none. @param planRunId absent: the newest one of the run */
export async function planOf(copy: Copy, planRunId?: string): Promise<Plan | { readonly refused: string }> {
  const planWorkflow = copy.stage.temporal.client.workflow.getHandle(
    planIdOf('SANDBOX', copy.run),
    planRunId,
  );
  try {
    return wholePlan((await planWorkflow.result()) as KeptPlan);
  } catch (error) {
    if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    return { refused: error.cause.message };
  }
}

/** Ends the newest run of a copy where it still goes on. */
export async function terminate(copy: Copy, reason: string): Promise<void> {
  try {
    await copy.stage.temporal.client.workflow.getHandle(copy.workflowId).terminate(reason);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
