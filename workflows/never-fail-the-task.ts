/**
 * The one place where a broken invariant becomes a failure of the run. A plain `Error` in workflow code would fail the
 * workflow *task*, which Temporal repeats for ever; here it ends the run with its message instead.
 */
import { ApplicationFailure, CancelledFailure, TemporalFailure } from '@temporalio/workflow';
import type { Problem } from '../domain/problems.ts';
import { RunRefused } from '../domain/run/ports.ts';
import { MAX_PROBLEMS_IN_FAILURE } from '../domain/run/report.ts';
import { withoutStack } from '../domain/without-stack.ts';

export async function neverFailTheTask<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOfTheRun(error);
  }
}

/** The failure to throw instead of an error. */
export function failureOfTheRun(error: unknown): unknown {
  if (error instanceof TemporalFailure) return error;
  if (error instanceof RunRefused)
    return error.code === 'CANCELLED'
      ? withoutStack(new CancelledFailure(error.message))
      : failureOf(error.code, error.message, error.problems);
  // The SDK's own errors about a replay must stay failures of the workflow task.
  if (error instanceof Error && error.name === 'DeterminismViolationError') return error;
  const message = error instanceof Error ? error.message : String(error);
  return ApplicationFailure.create({
    type: 'BROKEN_INVARIANT',
    message: `A fault of this program stopped the run: ${message}`,
    nonRetryable: true,
    ...(error instanceof Error && { cause: error }),
  });
}

/** @param more lines about payments of a batch: of these, the run knows only the codes */
export function failureOf(
  type: string,
  summary: string,
  problems: readonly Problem[],
  more: readonly string[] = [],
): ApplicationFailure {
  const shown = problems.slice(0, MAX_PROBLEMS_IN_FAILURE);
  const lines = shown.map((problem) => `${problem.code}: ${problem.message} ${problem.fix}`);
  return withoutStack(
    ApplicationFailure.create({
      type,
      message: [summary, ...lines, ...more].join('\n'),
      nonRetryable: true,
      details: [{ problems: shown }],
    }),
  );
}
