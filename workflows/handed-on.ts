/** Whether Temporal handed state on to this workflow, or somebody else gave it (design: "What a worker believes"). */
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { withoutStack } from '../domain/without-stack.ts';

/**
 * State counts after continue-as-new alone: what a cron schedule or a retry policy starts looks alike but hands on
 * nothing of ours.
 * @throws ApplicationFailure for state that whoever started this workflow has brought
 */
export function requireHandedOn(carried: unknown): void {
  if (carried === null || wasContinued()) return;
  throw withoutStack(
    ApplicationFailure.create({
      type: 'CARRIED_STATE_REFUSED',
      message:
        'This workflow was started with state of its own, which only Temporal hands on. Nothing was sent or kept. Start runs by `npx cambist run`.',
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
