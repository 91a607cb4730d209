/**
 * People's words about a run: recorded and read in Temporal, outside the run's own history (see `workflows/words.ts`).
 */
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Mode } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Word } from '../domain/words.ts';
import { WORDS_TYPE, recordWordUpdate, wordsIdOf, wordsQuery } from '../workflows/names.ts';

export type WordsOf = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly run: RunName;
};

/** Keeps a word. Returns when Temporal has it durably; the same word twice changes nothing. Needs a running worker. */
export async function recordWord(of: WordsOf, word: Word): Promise<void> {
  await of.client.workflow.executeUpdateWithStart(recordWordUpdate, {
    args: [word],
    startWorkflowOperation: new WithStartWorkflowOperation(WORDS_TYPE, {
      workflowId: wordsIdOf(of.mode, of.run),
      taskQueue: of.taskQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  });
}

/** Every word said about a run, oldest first; none when nobody said anything. */
export async function readWords(of: Omit<WordsOf, 'taskQueue'>): Promise<readonly Word[]> {
  try {
    return await of.client.workflow.getHandle(wordsIdOf(of.mode, of.run)).query(wordsQuery);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}
