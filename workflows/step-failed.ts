/**
 * The one place where an activity that gave no answer of its own becomes a wait that people are told of (M8): it failed at
 * all its attempts, or somebody ended it beside its worker, or gave an answer that is not one of ours (design: "What a
 * worker believes"). What the activity has sent, or still sends, is not known then. The code that catches this says so
 * in the item's state.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { StepFailed } from '../domain/run/ports.ts';
import type { Field } from '../domain/shape.ts';

/**
 * @param type the activity, for people
 * @param isAnswer whether a value has the closed shape of its answers
 * @throws StepFailed for a call that ended without such an answer, whatever has ended it
 */
export function orStepFailed<T>(type: string, call: Promise<T>, isAnswer: Field): Promise<T> {
  return call.then(
    (answer) => {
      if (isAnswer(answer)) return answer;
      throw new StepFailed(`${type}: what it is said to have answered is not an answer of Cambist`);
    },
    (error: unknown) => {
      throw error instanceof ActivityFailure ? new StepFailed(`${type}: ${whatEnded(error)}`) : error;
    },
  );
}

function whatEnded({ cause, retryState }: ActivityFailure): string {
  if (cause instanceof TimeoutFailure) return 'its workers ended, stood still or took too long';
  if (retryState !== 'MAXIMUM_ATTEMPTS_REACHED') return 'somebody has ended it beside its worker';
  return cause instanceof ApplicationFailure && cause.type === 'ACTIVITY_FAILED'
    ? cause.message
    : 'its attempts were given up';
}
