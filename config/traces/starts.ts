/**
 * Hands a trace on to the workflows of a run that a command or an activity starts. What runs share (whose turn it is, what is
 * halted, what is known of a schedule) is in no trace, and what is started outside of any trace begins none.
 */
import { trace, type Tracer } from '@opentelemetry/api';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry';
import { CHUNK_TYPE, INSTRUCTIONS_TYPE, PLAN_TYPE, RUN_TYPE } from '../../workflows/names.ts';

const OF_A_RUN: readonly string[] = [RUN_TYPE, PLAN_TYPE, CHUNK_TYPE, INSTRUCTIONS_TYPE];

export function tracedStarts(tracer: Tracer): WorkflowClientInterceptor {
  const traced = new OpenTelemetryWorkflowClientInterceptor({ tracer });
  const isTraced = (type: string): boolean => OF_A_RUN.includes(type) && trace.getActiveSpan() !== undefined;
  return {
    startWithDetails: (input, next) =>
      isTraced(input.workflowType) ? traced.startWithDetails(input, next) : next(input),
    startUpdateWithStart: (input, next) =>
      isTraced(input.workflowType) ? traced.startUpdateWithStart(input, next) : next(input),
  };
}
