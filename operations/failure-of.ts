/**
 * Turns every error that a command may meet into a failure of the command. It is done in one place, so that no error is
 * shown raw. Loaded only when something has failed, since it knows the errors of Temporal's client.
 */
import { ServiceError as TemporalServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { ProblemCode } from '../domain/problems.ts';
import { ServiceConfigurationError } from '../service/errors.ts';
import { ConfigurationError, InfrastructureError } from '../config/errors.ts';
import { CommandFailure, NOT_SET_UP, troubleOfItem } from './failure.ts';
import { keyMissing } from './key-missing.ts';
import type { Trouble } from '../language/text/problem.ts';

/** Any error as a failure of the command. */
export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const missing = keyMissing(error);
  if (missing !== null) return missing;
  if (error instanceof ServiceConfigurationError) {
    const { code, place, problem, fix } = error;
    return new CommandFailure('configuration', [{ code, place, message: problem, fix }]);
  }
  if (error instanceof TemporalServiceError) {
    return new CommandFailure('infrastructure', [
      {
        code: 'TEMPORAL_ERROR',
        place: 'Temporal',
        message: `${error.message}${causeOf(error)}`,
        fix: 'See that the Temporal server and its namespace are there (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE), then try again; what was started goes on.',
      },
    ]);
  }
  if (error instanceof ConfigurationError) {
    const troubles = error.problems.map(({ place, excerpt, ...problem }) => ({
      ...troubleOfItem(problem),
      ...(place !== undefined && { place }),
      ...(excerpt !== undefined && { excerpt }),
    }));
    return new CommandFailure('configuration', isNothingSet(troubles) ? [NOT_SET_UP, ...troubles] : troubles);
  }
  if (error instanceof InfrastructureError) {
    const { code, message, fix } = error;
    return new CommandFailure('infrastructure', [{ code, place: null, message, fix }]);
  }
  if (error instanceof WorkflowNotFoundError) {
    return new CommandFailure('bad input', [
      {
        code: 'RUN_NOT_FOUND',
        place: error.workflowId,
        message: 'Temporal does not know it any more',
        fix: 'See `npx cambist list`.',
      },
    ]);
  }
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  // The message of these errors itself says what to do.
  if (code === 'DEV_SERVER_FAILED' || code === 'TEMPORAL_UNAVAILABLE')
    return new CommandFailure('infrastructure', [withPicture({ code, place: null, message, fix: '' })]);
  return new CommandFailure('infrastructure', [
    {
      code: 'UNEXPECTED',
      place: null,
      message: code === null || message.includes(code) ? message : `${message} (${code})`,
      fix: 'This is most likely a fault of this program: report it with what you typed.',
    },
  ]);
}

/** Splits a message of several lines: the first line is the message, and the others are what a person can type. */
function withPicture(trouble: Trouble): Trouble {
  const [message = '', ...more] = trouble.message.split('\n');
  return more.length === 0 ? { ...trouble, message } : { ...trouble, message, excerpt: more.join('\n') };
}

const NOTHING_SET: readonly ProblemCode[] = ['MODE_MISSING', 'ADDRESS_MISSING', 'KEY_FILE_NOT_FOUND'];

/** True when none of the variables that a service needs is set. */
function isNothingSet(troubles: readonly Trouble[]): boolean {
  return NOTHING_SET.every((missing) => troubles.some(({ code }) => code === missing));
}

function causeOf(error: Error): string {
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : '';
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
