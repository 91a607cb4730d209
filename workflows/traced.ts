/**
 * Hands the trace in which a workflow was started on to its activities, and to the history that it goes on in. It makes no spans,
 * and waits for nothing: a workflow does the same in the same order with a trace and without, at a worker that sends spans and at
 * one that does not. The workflow interceptors of `@temporalio/interceptors-opentelemetry` are not used: they add turns of the event
 * loop between the steps of a workflow, load OpenTelemetry into each of them, and fail at a header that they cannot read, which
 * would stop a workflow for good.
 */
import type { WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { Headers } from '@temporalio/common';
import { traceHeaderIn } from './trace-header.ts';

export const interceptors: WorkflowInterceptorsFactory = () => {
  let trace: Headers = {};
  const withTrace = <Input extends { readonly headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...input.headers, ...trace },
  });
  return {
    internals: [
      {
        // Before any handler of an update, which may come before the workflow itself begins.
        activate(input, next) {
          for (const { initializeWorkflow } of input.activation.jobs ?? [])
            if (initializeWorkflow) trace = traceHeaderIn(initializeWorkflow.headers);
          next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withTrace(input)),
        scheduleLocalActivity: (input, next) => next(withTrace(input)),
        continueAsNew: (input, next) => next(withTrace(input)),
      },
    ],
  };
};
