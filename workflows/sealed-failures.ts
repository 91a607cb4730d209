/**
 * Where what Temporal keeps is sealed, so is what a failure of a workflow says: its message and its place in the code move
 * into an attribute that goes through the worker's codec. Its type stays plain, a code of ours. Whether it is sealed, the mark
 * on the workflow's own input says. At a worker without keys, a workflow with a sealed input waits for its key.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { ConcludeActivationInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { keyMissingText, keyNeededFor } from '../domain/unreadable.ts';
import { SEALED } from './names.ts';

type Command = ConcludeActivationInput['commands'][number];
type Failure = NonNullable<NonNullable<Command['failWorkflowExecution']>['failure']>;

export const interceptors: WorkflowInterceptorsFactory = () => {
  let isSealed = false;
  return {
    inbound: [
      {
        // A workflow that was started sealed waits at a worker without keys. An error that is none of Temporal's fails the task,
        // and Temporal gives it again.
        execute(input, next) {
          for (const each of input.args) {
            const key = keyNeededFor(each);
            if (key !== null) throw new Error(keyMissingText(key));
          }
          return next(input);
        },
      },
    ],
    internals: [
      {
        activate(input, next) {
          for (const { initializeWorkflow } of input.activation.jobs ?? [])
            isSealed ||= initializeWorkflow?.arguments?.some(({ metadata }) => metadata?.[SEALED]) === true;
          next(input);
        },
        concludeActivation(input, next) {
          const { commands } = next(input);
          return { commands: isSealed ? commands.map(toSeal) : commands };
        },
      },
    ],
  };
};

function toSeal(command: Command): Command {
  const { failWorkflowExecution: failed, updateResponse: updated, respondToQuery: asked } = command;
  if (failed?.failure)
    return { ...command, failWorkflowExecution: { ...failed, failure: sealedFailure(failed.failure) } };
  if (updated?.rejected)
    return { ...command, updateResponse: { ...updated, rejected: sealedFailure(updated.rejected) } };
  if (asked?.failed) return { ...command, respondToQuery: { ...asked, failed: sealedFailure(asked.failed) } };
  return command;
}

/** As Temporal's SDKs write a failure whose message is encoded, so that all of them read it. */
const HIDDEN = 'Encoded failure';

function sealedFailure(failure: Failure): Failure {
  const cause = failure.cause ? sealedFailure(failure.cause) : null;
  const { message, stackTrace } = failure;
  if (message === HIDDEN && failure.encodedAttributes) return { ...failure, cause };
  const said = { message: message ?? '', stack_trace: stackTrace ?? '' };
  const encodedAttributes = defaultPayloadConverter.toPayload(said);
  return { ...failure, cause, message: HIDDEN, stackTrace: '', encodedAttributes };
}
