/** Whether Temporal handed state on to this workflow, or somebody else gave it (design: "What a worker believes"). */
import { workflowInfo } from '@temporalio/workflow';

/** True after continue-as-new alone: what a cron schedule or a retry policy starts looks alike but hands on nothing. */
export function wasContinued(): boolean {
  const { continuedFromExecutionRunId, cronSchedule, retryPolicy, attempt } = workflowInfo();
  return (
    continuedFromExecutionRunId !== undefined &&
    (cronSchedule === undefined || cronSchedule === '') &&
    retryPolicy === undefined &&
    attempt === 1
  );
}
