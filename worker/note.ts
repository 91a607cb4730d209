/** How the parts of a worker tell trouble that goes into its log, and stops nothing. */
import type { ProblemCode } from '../domain/problems.ts';

export type Note = (code: ProblemCode, problem: string) => void;
