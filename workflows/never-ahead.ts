/**
 * No question makes a workflow run ahead of its history. A question that a busy worker takes up late brings events along that
 * no workflow task has begun with yet. The SDK lets the workflow work on them at once, and on what comes until its next task
 * later on; a replay finds all of them in that one task, in another order, and does not come to the same commands: the run
 * would be stuck. So such a question is refused: the worker forgets the workflow, whose next task begins with all of its
 * events, and whoever asked asks again (`askAgain` in `config/temporal.ts`).
 */
import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { ASK_AGAIN } from './names.ts';

/** When the workflow task began of which an activation is part, and how long the history was by then. */
type Task = { readonly startedAt: string; readonly historyLength: number };

export const interceptors: WorkflowInterceptorsFactory = () => {
  let last: Task | null = null;
  return {
    internals: [
      {
        activate(input, next) {
          if (!isQuestion(input)) {
            const task = taskOf(input);
            // Each task begins later than the one before. In a replay nobody is asked.
            const isAhead = task.startedAt === last?.startedAt && task.historyLength > last.historyLength;
            if (isAhead && input.activation.isReplaying !== true) throw new Error(ASK_AGAIN);
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

function taskOf({ activation: { timestamp, historyLength } }: ActivateInput): Task {
  return {
    startedAt: `${String(timestamp?.seconds ?? '')}.${timestamp?.nanos ?? ''}`,
    historyLength: historyLength ?? 0,
  };
}
