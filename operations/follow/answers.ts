/** How long a worker has to answer a question about a run, and the message when none does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { QueryRejectedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { runName } from '../../domain/references.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { SEAL_KEY_MISSING } from '../../domain/unreadable.ts';
import { lastTaskFailure } from '../../durable/history.ts';
import { CommandFailure } from '../failure.ts';
import { WORKER_LACKS_KEY, keyMissing } from '../key-missing.ts';
import type { Place } from '../place.ts';
import { hasWorker } from '../watch/pollers.ts';
import { pausedFailure } from './paused.ts';
import type { RunFacts } from './runs.ts';

/** A run that can be asked questions. */
export type AskingPlace = Pick<Place, 'client' | 'say'>;

/** How long a worker may take to answer, where Temporal has not heard of any worker. */
export const ANSWER_LIMIT_MS = 10_000;
/**
 * The same where Temporal has heard of a worker in the last minutes: it may be busy, or may be reading a long history again.
 */
export const BUSY_LIMIT_MS = 30_000;

/**
 * A worker may lose a question, for example when it has just let go of the run. The question is then asked again, with more
 * time.
 */
const FIRST_QUESTION_LIMIT_MS = 2_500;

/**
 * @throws CommandFailure when no worker answers in time, or its worker lacks the key, or a person has paused the workflow that is
 * asked
 */
export async function answerOf<T>(
  place: AskingPlace,
  facts: RunFacts,
  limitMs: number | undefined,
  { workflowId, ask }: { readonly workflowId: string; readonly ask: () => Promise<T> },
): Promise<T> {
  const startedAtMs = Date.now();
  let untilMs = startedAtMs + (limitMs ?? ANSWER_LIMIT_MS);
  let questionMs = FIRST_QUESTION_LIMIT_MS;
  let mayBeLonger = limitMs === undefined;
  for (;;) {
    try {
      return await place.client.withDeadline(Math.min(Date.now() + questionMs, untilMs), ask);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw error;
      // Temporal refuses a question only to a workflow that is paused.
      if (error instanceof QueryRejectedError) throw await pausedFailure(place.client, workflowId);
      const missing = keyMissing(error, runName(facts.run));
      if (missing !== null) throw missing;
      if (await lacksKey(place.client, workflowId))
        throw new CommandFailure('configuration', [{ ...WORKER_LACKS_KEY, place: runName(facts.run) }]);
      questionMs *= 2;
      if (Date.now() + FIRST_QUESTION_LIMIT_MS / 2 > untilMs) {
        if (!mayBeLonger || !(await hasWorker(place.client, facts.taskQueue)))
          throw new CommandFailure('infrastructure', [noAnswer(facts, untilMs - startedAtMs)]);
        mayBeLonger = false;
        untilMs = startedAtMs + BUSY_LIMIT_MS;
        place.say(
          `No worker has answered for ${ANSWER_LIMIT_MS / 1_000} s. One was there in the last minutes, and may be busy. Waiting up to ${(BUSY_LIMIT_MS - ANSWER_LIMIT_MS) / 1_000} s more.`,
        );
      }
      await sleep(250);
    }
  }
}

/** Such a workflow answers no question: its tasks fail. */
async function lacksKey(client: Client, workflowId: string): Promise<boolean> {
  return (await lastTaskFailure(client, workflowId).catch(() => null)) === SEAL_KEY_MISSING;
}

function noAnswer(facts: RunFacts, waitedMs: number): Trouble {
  return {
    code: 'NO_WORKER',
    place: runName(facts.run),
    message: `no worker answered within ${Math.round(waitedMs / 1_000)} s; Temporal says that the run is ${facts.state}`,
    fix: 'Start one with `npx cambist worker`: a report comes from a worker.',
  };
}
