/**
 * One mistake in a file, with its place. Every loader of `language/` returns it, and `check` prints it. Text of the file is
 * cut and shown without control characters, so that no file can control the terminal.
 */
import type { FileCode, ProblemCode } from '../../domain/problems.ts';
import stringWidth from 'string-width';
import { printable, sentence } from './printable.ts';

/** One mistake (or warning) at one place. */
export type PolicyProblem = {
  readonly code: FileCode;
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units, as editors count. */
  readonly column: number;
  /** What a person finds the place by, besides the line: `row 6, payment inv-1042`. */
  readonly also?: string;
  readonly message: string;
  /** The text to write instead, or what else to do. */
  readonly fix: string;
  /** Two lines: the line with the mistake (cut around the place when long) and carets under the place. */
  readonly excerpt: string;
};

/** One problem, in a file or elsewhere. Each text is one line, except `excerpt`. */
export type Trouble = {
  readonly code: ProblemCode;
  /** Where the problem is; null: at no one place. */
  readonly place: string | null;
  readonly message: string;
  readonly fix: string;
  /** The line with the mistake and carets, where there is one. */
  readonly excerpt?: string;
};

/** One mistake of a file. */
export function troubleOfPolicy(problem: PolicyProblem): Trouble {
  const { code, message, fix, excerpt } = problem;
  return { code, place: placeOf(problem), message, fix, excerpt };
}

/** `mxn.yaml:12:3`, in the form that editors and terminals know, and what else a person finds it by. */
export function placeOf({ file, line, column, also }: PolicyProblem): string {
  return `${file}:${line}:${column}${also === undefined ? '' : ` (${also})`}`;
}

/**
 * The one form in which every mistake is shown:
 *
 *     POLICY_UNKNOWN_FIELD mxn.yaml:12:3: "valid_fro" is no field of `quote`.
 *         valid_fro: 45s
 *         ^^^^^^^^^
 *       fix: did you mean `valid_for`?
 *
 * `fit` wraps a line to the width at hand.
 */
export function formatTrouble(trouble: Trouble, fit: (line: string) => string): string {
  const [code, place, message, fix] = [trouble.code, trouble.place ?? '', trouble.message, trouble.fix].map(
    printable,
  );
  const picture = trouble.excerpt?.split('\n').map((line) => `    ${printable(line)}`.trimEnd()) ?? [];
  return [
    fit(`${[code, place].filter(Boolean).join(' ')}: ${sentence(message ?? '')}`),
    ...picture,
    ...(fix ? [fit(`  fix: ${fix}`)] : []),
  ].join('\n');
}

/**
 * The two lines of an excerpt for the range [`start`, `end`) of `line` (UTF-16 units).
 * A tab counts as one blank, a wide character as two columns; a long line is cut around the place.
 */
export function excerptOf(line: string, range: { readonly start: number; readonly end: number }): string {
  // Only this part of the line is read, since a line may be as long as the whole file.
  const end = Math.max(range.end, range.start);
  let before = charactersOf(line.slice(Math.max(0, range.start - NEARBY), range.start));
  let inside = charactersOf(line.slice(range.start, Math.min(end, range.start + NEARBY)));
  let after = charactersOf(line.slice(end, end + NEARBY));
  if (widthOf([...before, ...inside, ...after]) > EXCERPT_COLUMNS) {
    inside = cutEnd(inside, EXCERPT_COLUMNS / 2);
    const room = EXCERPT_COLUMNS - widthOf(inside);
    // The text before the place gets at least a quarter of the room, and also the room that the text after it does not need.
    before = cutStart(before, Math.max(EXCERPT_COLUMNS / 4, room - widthOf(after)));
    after = cutEnd(after, room - widthOf(before));
  }
  const text = [...before, ...inside, ...after].join('').trimEnd();
  return `${text}\n${' '.repeat(widthOf(before))}${'^'.repeat(Math.max(1, widthOf(inside)))}`;
}

/** With the indent, an excerpt fits 80 columns. */
const EXCERPT_COLUMNS = 76;
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

/** Most lines have only plain characters, which are quick to count. */
function widthOf(characters: readonly string[]): number {
  const text = characters.join('');
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}
