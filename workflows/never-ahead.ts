/**
 * No query makes a workflow run ahead of its history. When a busy worker takes up a query late, the query
 * brings events for which no workflow task has begun yet. The SDK lets the workflow work on them at once, and
 * on the events of its next task later. A replay finds all of them in that one task, in another order, and
 * comes to other commands: the run would be stuck. So the worker refuses such a query and forgets the
 * workflow, whose next task begins with all of its events. The caller asks again (`askAgain` in
 * `config/temporal.ts`). A workflow that a person has terminated has no next task: a caller that has seen its
 * end says so with the query, and is answered.
 */
import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { ASK_AGAIN, HAS_ENDED } from './names.ts';

/** The workflow task to which an activation belongs: when it began, and how long the history was then. */
type Task = { readonly startedAt: string; readonly historyLength: number };

export const interceptors: WorkflowInterceptorsFactory = () => {
  let last: Task | null = null;
  let isAhead = false;
  return {
    internals: [
      {
        activate(input, next) {
          // This error makes the worker forget a workflow that ran ahead, before its next task, and before
          // any answer but one about its end.
          if (isAhead && !isOfItsEnd(input)) throw new Error(ASK_AGAIN);
          if (!isQuestion(input)) {
            const task = taskOf(input);
            // Each task begins later than the one before, so that a history which has grown within the same
            // one has run ahead. A replay answers no queries.
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

/** True for an activation of queries alone, which changes nothing. */
function isQuestion({ activation: { jobs } }: ActivateInput): boolean {
  return jobs?.every(({ queryWorkflow }) => (queryWorkflow ?? null) !== null) ?? false;
}

/** True for queries of a caller that has seen that the workflow has ended. */
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
