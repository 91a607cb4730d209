/**
 * The one place where a broken invariant becomes a failure of the run. A plain `Error` in workflow code would fail the
 * workflow *task*, which Temporal repeats for ever; here it ends the run with its message instead.
 */
import { ApplicationFailure, TemporalFailure } from '@temporalio/workflow';

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
