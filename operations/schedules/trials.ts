/**
 * Asks a worker whether it could start the policies that `schedule apply` is about to give to Temporal. No person is
 * there when a schedule starts a run, so that one should learn of it now.
 */
import { randomUUID } from 'node:crypto';
import { isTrialAnswer } from '../../domain/run/answer-shapes.ts';
import type { TrialAnswer } from '../../workflows/calls.ts';
import { TRIAL_TYPE, trialIdOf, type TrialInput } from '../../workflows/names.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { endingOfCode, firstOf } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { hasWorker } from '../watch/pollers.ts';
import type { ScheduleChange } from './kept.ts';
import { inputOf, type Wanted } from './spec.ts';

/** A worker that is there answers within this time. Temporal ends a question that none has taken. */
const ANSWER_MS = 5_000;
const ASKED_AT_ONCE = 10;

/**
 * What a person should know of the policies of these changes before they are made.
 * @throws CommandFailure when a worker says of one that it can never start it
 */
export async function tryChanges(
  place: Place,
  changes: readonly ScheduleChange[],
): Promise<readonly Trouble[]> {
  const asked = changes.flatMap((change) =>
    change.kind === 'create' || change.kind === 'update' ? [change.wanted] : [],
  );
  if (asked.length === 0) return [];
  if (!(await hasWorker(place.client, place.taskQueue))) return [notAsked(place, asked)];
  const answers = await fewAtOnce(asked, ASKED_AT_ONCE, (wanted) => askWorker(place, wanted));
  return verdict(
    place,
    asked.map((wanted, index) => [wanted, answers[index] ?? null] as const),
  );
}

/**
 * @param answers null: no worker has answered
 * @throws CommandFailure as `tryChanges`
 */
export function verdict(
  place: Pick<Place, 'taskQueue'>,
  answers: readonly (readonly [Pick<Wanted, 'policyFile'>, TrialAnswer | null])[],
): readonly Trouble[] {
  const told = (kind: 'not yet' | 'refused'): readonly Trouble[] =>
    answers.flatMap(([{ policyFile }, answer]) =>
      answer?.kind === kind
        ? answer.problems.map(({ code, message, fix }) => ({ code, place: policyFile, message, fix }))
        : [],
    );
  const refused = told('refused');
  if (refused.length > 0)
    throw new CommandFailure(firstOf(refused.map(({ code }) => endingOfCode(code))), refused);
  const silent = answers.flatMap(([wanted, answer]) => (answer === null ? [wanted] : []));
  return [...told('not yet'), ...(silent.length === 0 ? [] : [notAsked(place, silent)])];
}

/** Null: no worker has answered in time, or none that knows the question. */
async function askWorker({ client, taskQueue }: Place, wanted: Wanted): Promise<TrialAnswer | null> {
  const input: TrialInput = { ...inputOf(wanted), token: randomUUID().slice(0, 8) };
  try {
    const answer: unknown = await client.workflow.execute(TRIAL_TYPE, {
      workflowId: trialIdOf(input),
      taskQueue,
      args: [input],
      workflowExecutionTimeout: ANSWER_MS,
      staticSummary: `Whether a worker could start ${input.policy} by its schedule`,
      staticDetails: 'Asked by `cambist schedule apply`. It starts nothing.',
    });
    return isTrialAnswer(answer) ? (answer as TrialAnswer) : null;
  } catch {
    return null;
  }
}

function notAsked(
  { taskQueue }: Pick<Place, 'taskQueue'>,
  silent: readonly Pick<Wanted, 'policyFile'>[],
): Trouble {
  return {
    code: 'NO_WORKER',
    place: silent.map(({ policyFile }) => policyFile).join(', '),
    message: `no worker of task queue "${taskQueue}" answered, so none could be asked whether it can start ${silent.length === 1 ? 'this policy' : 'these policies'} and has the files that it names`,
    fix: 'Start one with `npx cambist worker`, and see `npx cambist doctor` before the next start.',
  };
}
