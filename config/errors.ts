/** The two errors of configuration and connections. Commands turn them into exit codes 3 and 7. */
import type { Problem, ProblemCode } from '../domain/problems.ts';

/** One thing that is wrong; in a file it has its place and the line. */
export type ConfigurationProblem = Problem & { readonly place?: string; readonly excerpt?: string };

/** Everything that is wrong with the configuration, at once. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[]) {
    super(problems.map((problem) => `${problem.code}: ${problem.message} ${problem.fix}`).join('\n'));
    this.problems = problems;
  }
}

/** Temporal or a worker is away, which no setting can mend. */
export class InfrastructureError extends Error {
  override readonly name = 'InfrastructureError';
  readonly code: ProblemCode;
  readonly fix: string;

  constructor(problem: {
    readonly code: ProblemCode;
    readonly message: string;
    readonly fix: string;
    readonly cause?: unknown;
  }) {
    super(problem.message, { cause: problem.cause });
    this.code = problem.code;
    this.fix = problem.fix;
  }
}
