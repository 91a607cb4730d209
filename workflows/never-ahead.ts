/**
 * No question makes a workflow run ahead of its history. A question that a busy worker takes up late brings events along that
 * no workflow task has begun with yet. The SDK lets the workflow work on them at once, and on what comes until its next task
 * later on; a replay finds all of them in that one task, in another order, and does not come to the same commands: the run
 * would be stuck. So such a question is refused: the worker forgets the workflow, whose next task begins with all of its
 * events, and whoever asked asks again (`askAgain` in `config/temporal.ts`). A workflow that somebody has terminated has no next
 * task: whoever has seen that it has ended says so with the question, and is answered.
 */
import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { ASK_AGAIN, HAS_ENDED } from './names.ts';

/** When the workflow task began of which an activation is part, and how long the history was by then. */
type Task = { readonly startedAt: string; readonly historyLength: number };

export const interceptors: WorkflowInterceptorsFactory = () => {
  let last: Task | null = null;
  let isAhead = false;
  return {
    internals: [
      {
        activate(input, next) {
          // What ran ahead is forgotten with this error, before its next task and before any answer but that of its end.
          if (isAhead && !isOfItsEnd(input)) throw new Error(ASK_AGAIN);
          if (!isQuestion(input)) {
            const task = taskOf(input);
            // Each task begins later than the one before. In a replay nobody is asked.
            const isLonger = task.startedAt === last?.startedAt && task.historyLength > last.historyLength;
            isAhead = isLonger && input.activation.isReplaying !== true;
            last = task;
          }
          next(input);
        },
      },
    ],
  };
};

/** A question alone: it changes nothing. */
function isQuestion({ activation: { jobs } }: ActivateInput): boolean {
  return jobs?.every(({ queryWorkflow }) => (queryWorkflow ?? null) !== null) ?? false;
}

/** Questions of somebody who has seen that the workflow has ended. */
function isOfItsEnd(input: ActivateInput): boolean {
  const { jobs } = input.activation;
  return isQuestion(input) && (jobs ?? []).every(({ queryWorkflow }) => queryWorkflow?.headers?.[HAS_ENDED]);
}

function taskOf({ activation: { timestamp, historyLength } }: ActivateInput): Task {
  return {
    startedAt: `${String(timestamp?.seconds ?? '')}.${timestamp?.nanos ?? ''}`,
    historyLength: historyLength ?? 0,
  };
}
