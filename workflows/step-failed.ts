/**
 * The one place where an activity that failed at all its attempts becomes a wait that people are told of
 * (M8). What the activity may have sent is not known then. The code that catches this says so in the item's
 * state.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { StepFailed } from '../domain/run/ports.ts';

/** @throws StepFailed for a call that has failed as often as it may be tried */
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
