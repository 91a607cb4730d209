/**
 * A command that cannot do what it was asked: what is wrong, where, what to do, and how the command ends. Every error
 * becomes one of these in one place, `failureOf`; none may ever show a secret.
 */
import { ServiceError as TemporalServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Problem } from '../domain/stepper.ts';
import type { PolicyProblem } from '../language/problem.ts';
import { BadInput } from '../sandbox/checks.ts';
import { ServiceConfigurationError } from '../service/errors.ts';
import { ConfigurationError, InfrastructureError } from '../worker/errors.ts';
import type { Ending } from './exit-codes.ts';

/** One thing that is wrong, each text on one line but `excerpt`: the line at fault with carets, where there is one. */
export type Trouble = {
  readonly code: string;
  readonly place: string | null;
  readonly message: string;
  readonly fix: string;
  readonly excerpt?: string;
};

/** Ends a command. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly ending: Ending;
  readonly problems: readonly Trouble[];
  /** Two texts that should have been the same, as lines with - and +; null for other failures. */
  readonly difference: string | null;

  constructor(ending: Ending, problems: readonly Trouble[], difference: string | null = null) {
    super(problems.map((problem) => `${problem.code}: ${problem.message}`).join('\n'));
    this.ending = ending;
    this.problems = problems;
    this.difference = difference;
  }
}

/** One mistake of a file. */
export function troubleOfPolicy(problem: PolicyProblem): Trouble {
  const { code, message, fix, excerpt } = problem;
  return { code, place: `${problem.file}:${problem.line}:${problem.column}`, message, fix, excerpt };
}

/** One problem of an item. */
export function troubleOfItem(problem: Problem): Trouble {
  return { code: problem.code, place: problem.item, message: problem.message, fix: problem.fix };
}

/** A problem whose message goes on below its first line, as the picture of a line at fault does. */
function withPicture(trouble: Trouble): Trouble {
  const [message = '', ...more] = trouble.message.split('\n');
  // The advice of such a picture is the trouble's own.
  const picture = more.filter((line) => !line.startsWith('fix: '));
  return picture.length === 0
    ? { ...trouble, message }
    : { ...trouble, message, excerpt: picture.join('\n') };
}

/** Any error as a failure of the command. */
export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
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
    const troubles = error.problems.map((problem) => withPicture(troubleOfItem(problem)));
    return new CommandFailure('configuration', isNothingSet(troubles) ? [NOT_SET_UP, ...troubles] : troubles);
  }
  if (error instanceof InfrastructureError) {
    const { code, message, fix } = error;
    return new CommandFailure('infrastructure', [{ code, place: null, message, fix }]);
  }
  if (error instanceof BadInput) {
    const { message } = error;
    return new CommandFailure('bad input', [
      { code: 'SANDBOX_INPUT', place: 'sandbox', message, fix: 'Correct it, then start again.' },
    ]);
  }
  if (error instanceof WorkflowNotFoundError) {
    return new CommandFailure('bad input', [
      {
        code: 'RUN_NOT_FOUND',
        place: error.workflowId,
        message: 'Temporal does not know it any more',
        fix: 'See `cambist list`.',
      },
    ]);
  }
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  // Errors of the dev server say in their message what to do.
  if (code === 'DEV_SERVER_FAILED' || code === 'TEMPORAL_UNAVAILABLE')
    return new CommandFailure('infrastructure', [withPicture({ code, place: null, message, fix: '' })]);
  return new CommandFailure('infrastructure', [
    {
      code: code ?? 'UNEXPECTED',
      place: null,
      message,
      fix: 'This is most likely a fault of this program: report it with what you typed.',
    },
  ]);
}

/** What a person types who has set up nothing yet; the first thing that is said. */
export const NOT_SET_UP: Trouble = {
  code: 'NOT_SET_UP',
  place: null,
  message: 'type `cambist up` in this folder, in a second terminal, then this command again',
  fix: 'Nothing is set up here: no `cambist up` runs in this folder, and no variable names a service. For a service of your own, set the variables instead (README, "Configuration").',
};

/** True when not even one of the variables that a service needs is set. */
function isNothingSet(troubles: readonly Trouble[]): boolean {
  const codes = troubles.map(({ code }) => code);
  return ['MODE_MISSING', 'ADDRESS_MISSING', 'KEY_FILE_NOT_FOUND'].every((code) => codes.includes(code));
}

function causeOf(error: Error): string {
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : '';
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
