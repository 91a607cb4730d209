/**
 * The one place where an activity that gave no answer of its own becomes a wait that people are told of (M8). It failed at
 * all its attempts, or a person ended it beside its worker, or its answer is not one of ours (design: "What a worker
 * believes"). What the activity has sent, or still sends, is not known then. The code that catches this says so in the item's
 * state.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure, sleep } from '@temporalio/workflow';
import { growing } from '../domain/run/growing.ts';
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
      throw new StepFailed(`${type}: its answer is not one that Cambist makes`);
    },
    (error: unknown) => {
      throw error instanceof ActivityFailure ? new StepFailed(`${type}: ${whatEnded(error)}`) : error;
    },
  );
}

/** So long a workflow waits before it makes a call again that has ended without an answer of its own; each time longer. */
const AGAIN_MS = { first: 10_000, most: 600_000 };

/** Makes a call that moves no money until it has an answer of its own, for a workflow that has nothing to do without. */
export async function untilAnswered<T>(type: string, ask: () => Promise<T>, isAnswer: Field): Promise<T> {
  for (let times = 0; ; times += 1) {
    try {
      return await orStepFailed(type, ask(), isAnswer);
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      await sleep(growing(AGAIN_MS.first, times, AGAIN_MS.most), { summary: `Calls ${type} again` });
    }
  }
}

function whatEnded({ cause, retryState }: ActivityFailure): string {
  if (cause instanceof TimeoutFailure) return 'its worker ended, stood still or took too long';
  if (retryState !== 'MAXIMUM_ATTEMPTS_REACHED') return 'a person has ended it in Temporal';
  return cause instanceof ApplicationFailure && cause.type === 'ACTIVITY_FAILED'
    ? cause.message
    : 'Temporal has given it up';
}
