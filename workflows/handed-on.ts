/**
 * Checks that state which a workflow begins with was handed on by Temporal, and not given by the program that
 * started it (design: "What a worker believes").
 */
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { withoutStack } from '../domain/without-stack.ts';

/**
 * State counts only after continue-as-new. A workflow that a cron schedule or a retry policy has started
 * looks alike, but has no state of ours.
 * @throws ApplicationFailure for state that came with the start
 */
export function requireHandedOn(carried: unknown): void {
  if (carried === null || wasContinued()) return;
  throw withoutStack(
    ApplicationFailure.create({
      type: 'CARRIED_STATE_REFUSED',
      message:
        'This workflow was started with a state that only Temporal may give it. Nothing was sent or kept. Start runs by `npx cambist run`.',
      nonRetryable: true,
    }),
  );
}

function wasContinued(): boolean {
  const { continuedFromExecutionRunId, cronSchedule, retryPolicy, attempt } = workflowInfo();
  return (
    continuedFromExecutionRunId !== undefined &&
    (cronSchedule === undefined || cronSchedule === '') &&
    retryPolicy === undefined &&
    attempt === 1
  );
}
