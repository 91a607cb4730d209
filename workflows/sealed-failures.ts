/**
 * Where what Temporal keeps is sealed, so is what a failure of a workflow says: its message and its place in the code move
 * into an attribute that goes through the worker's codec. Its type stays plain, a code of ours. Whether it is sealed, the mark
 * on the workflow's own input says.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { ConcludeActivationInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { SEALED } from './names.ts';

type Command = ConcludeActivationInput['commands'][number];
type Failure = NonNullable<NonNullable<Command['failWorkflowExecution']>['failure']>;

export const interceptors: WorkflowInterceptorsFactory = () => {
  let isSealed = false;
  return {
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
