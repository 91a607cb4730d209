/**
 * What people and histories see of an error that an activity throws. The error's own text is left out,
 * because it may contain data of the people who are paid (M6). Its class, its code and the place in our sources are enough to
 * report.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import { withoutStack } from '../domain/without-stack.ts';

/** Wraps an activity: its failures say only what stopped it. After a few, the workflow tells people. */
export function guarded<Call, Answer>(act: (call: Call) => Promise<Answer>): (call: Call) => Promise<Answer> {
  return async (call) => {
    try {
      return await act(call);
    } catch (error) {
      if (isForTemporal(error)) throw error;
      throw withoutStack(ApplicationFailure.retryable(whatFailed(error), 'ACTIVITY_FAILED'));
    }
  };
}

/**
 * True for errors that are made for Temporal, and for those of an attempt that was given up: nothing waits
 * for its answer.
 */
export function isForTemporal(error: unknown): boolean {
  return error instanceof TemporalFailure || ActivityContext.current().cancellationSignal.aborted;
}

/** The class of an error, its code where it has one, and the place in our sources. */
export function whatFailed(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error was thrown';
  const code = 'code' in error ? error.code : null;
  const frame = error.stack?.split('\n').find((line) => /^\s+at /.test(line)) ?? '';
  const place = /([A-Za-z0-9_.-]+\.[cm]?[jt]s:\d+)/.exec(frame)?.[1];
  return [
    plainWord(error.name),
    ...(typeof code === 'string' || typeof code === 'number' ? [plainWord(String(code))] : []),
    ...(place === undefined ? [] : [place]),
  ].join(', ');
}

function plainWord(text: string): string {
  return /^[A-Za-z0-9_.-]{1,60}$/.test(text) ? text : 'an error with an odd name';
}
