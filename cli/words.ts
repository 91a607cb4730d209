/**
 * People's words as commands keep and read them. A word needs a worker to be kept; the deadline is the one after
 * which a person is told that there is none.
 */
import { runName, type RunName } from '../domain/references.ts';
import type { Word } from '../domain/words.ts';
import { readWords, recordWord } from '../operations/words.ts';
import { CommandFailure } from './failure.ts';
import { UNTAKEN_MS } from './follow-run.ts';
import type { Place } from './place.ts';

/** Keeps a word outside the run's history. @throws CommandFailure when no worker took it in time */
export async function keepWord(place: Place, run: RunName, word: Word): Promise<void> {
  const { client, taskQueue, mode } = place;
  await withWorker(place, run, () => recordWord({ client, taskQueue, mode, run }, word));
}

/** Every word about a run, oldest first. @throws CommandFailure when there are words and no worker answers */
export async function wordsOf(place: Place, run: RunName): Promise<readonly Word[]> {
  const { client, mode } = place;
  return withWorker(place, run, () => readWords({ client, mode, run }));
}

async function withWorker<T>(place: Place, run: RunName, work: () => Promise<T>): Promise<T> {
  try {
    return await place.client.withDeadline(Date.now() + UNTAKEN_MS, work);
  } catch (error) {
    throw new CommandFailure('infrastructure', [
      {
        code: 'NO_WORKER',
        place: runName(run),
        message: `no worker answered within ${UNTAKEN_MS / 1_000} s (${error instanceof Error ? error.message : String(error)}); nothing was started`,
        fix: 'Start one with `cambist worker`, then try again: the same word twice changes nothing.',
      },
    ]);
  }
}
