/**
 * One mistake in a file, with its place: what every loader of `language/` returns and what `check` prints. What the
 * file says is shown back cut and without control characters, so that no file can write to the terminal.
 */
import type { FileCode } from '../../domain/problems.ts';
import stringWidth from 'string-width';
import { printable } from './printable.ts';

/** One mistake (or warning) at one place. */
export type PolicyProblem = {
  readonly code: FileCode;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly message: string;
  /** What to write instead. */
  readonly fix: string;
  /** Two lines: the line at fault (cut around the place when long) and carets under the place. */
  readonly excerpt: string;
};

/**
 * The problem as a person reads it:
 *
 *     mxn.yaml:12:3 POLICY_UNKNOWN_FIELD: "valid_fro" is no field of `quote`
 *       12 |   valid_fro: 45s
 *          |   ^^^^^^^^^
 *     fix: did you mean `valid_for`?
 */
export function formatProblem(problem: PolicyProblem): string {
  const [line = '', carets = ''] = problem.excerpt.split('\n');
  const number = String(problem.line);
  return [
    `${problem.file}:${number}:${problem.column} ${problem.code}: ${problem.message}`,
    `  ${number} | ${line}`.trimEnd(),
    `  ${' '.repeat(number.length)} | ${carets}`,
    `fix: ${problem.fix}`,
  ].join('\n');
}

/**
 * The two lines of an excerpt for the range [`start`, `end`) of `line` (UTF-16 units).
 * A tab counts as one blank, a wide character as two columns; a long line is cut around the place.
 */
export function excerptOf(line: string, range: { readonly start: number; readonly end: number }): string {
  // Only so much of a line that may have the size of the whole file.
  const end = Math.max(range.end, range.start);
  let before = charactersOf(line.slice(Math.max(0, range.start - NEARBY), range.start));
  let inside = charactersOf(line.slice(range.start, Math.min(end, range.start + NEARBY)));
  let after = charactersOf(line.slice(end, end + NEARBY));
  if (widthOf([...before, ...inside, ...after]) > EXCERPT_COLUMNS) {
    inside = cutEnd(inside, EXCERPT_COLUMNS / 2);
    before = cutStart(before, EXCERPT_COLUMNS / 4);
    after = cutEnd(after, EXCERPT_COLUMNS - widthOf([...before, ...inside]));
  }
  const text = [...before, ...inside, ...after].join('').trimEnd();
  return `${text}\n${' '.repeat(widthOf(before))}${'^'.repeat(Math.max(1, widthOf(inside)))}`;
}

const EXCERPT_COLUMNS = 96;
const NEARBY = 400;

function cutStart(from: readonly string[], columns: number): string[] {
  if (widthOf(from) <= columns) return [...from];
  const kept: string[] = [];
  for (const character of from.toReversed()) {
    if (widthOf(kept) + widthOf([character]) >= columns) break;
    kept.unshift(character);
  }
  return ['…', ...kept];
}

function cutEnd(from: readonly string[], columns: number): string[] {
  if (widthOf(from) <= columns) return [...from];
  const kept: string[] = [];
  for (const character of from) {
    if (widthOf(kept) + widthOf([character]) >= columns) break;
    kept.push(character);
  }
  return [...kept, '…'];
}

function charactersOf(text: string): string[] {
  return Array.from(printable(text));
}

function widthOf(characters: readonly string[]): number {
  return stringWidth(characters.join(''));
}
