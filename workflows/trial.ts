/**
 * `trial`: asks a worker whether it could start a policy by its schedule, for `schedule apply`: whether it can read the
 * policy and the files that it names. Starts nothing. Temporal ends it where no worker takes it.
 */
import { isTrialAnswer } from '../domain/run/answer-shapes.ts';
import { trials } from './activities.ts';
import type { TrialAnswer } from './calls.ts';
import { trialIdOf, type TrialInput } from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';
import { untilAnswered } from './step-failed.ts';

export async function trial(input: TrialInput): Promise<TrialAnswer> {
  requireOwnId(() => trialIdOf(input));
  return neverFailTheTask(() =>
    untilAnswered('tryScheduled', () => trials.tryScheduled(input), isTrialAnswer),
  );
}
