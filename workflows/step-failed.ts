/**
 * The one place where an activity that failed at all its attempts becomes something that a workflow waits out and people
 * are told (M8). What it may have sent is not known then; who catches it says so in the item's state.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { StepFailed } from '../domain/run/ports.ts';

/** @throws StepFailed instead of the failure of a call that was tried as often as it may be */
export function orStepFailed<T>(call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    if (!(error instanceof ActivityFailure) || error.retryState !== 'MAXIMUM_ATTEMPTS_REACHED') throw error;
    const { activityType, cause } = error;
    const what =
      cause instanceof TimeoutFailure
        ? 'its workers ended, stood still or took too long'
        : cause instanceof ApplicationFailure && cause.type === 'ACTIVITY_FAILED'
          ? cause.message
          : 'its attempts were given up';
    throw new StepFailed(`${activityType}: ${what}`);
  });
}
