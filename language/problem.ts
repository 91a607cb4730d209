/**
 * One mistake in a file, with its place: what every loader of `language/` returns and what `check` prints. What the
 * file says is shown back cut and without control characters, so that no file can write to the terminal.
 */

/** Which file is at fault: the first part of every code. */
export type Subject = 'POLICY' | 'SERVICE_FILE' | 'RATES';

/** What is wrong: the second part of every code. A public surface, only ever added to. */
export type Mistake =
  // The text itself.
  | 'TOO_LARGE'
  | 'CONTROL_CHARACTER'
  | 'SYNTAX'
  | 'SEVERAL_DOCUMENTS'
  | 'DIRECTIVE'
  | 'ALIAS'
  | 'ANCHOR'
  | 'TAG'
  | 'MERGE_KEY'
  | 'DUPLICATE_KEY'
  | 'KEY'
  | 'TEXT'
  | 'TOO_DEEP'
  | 'TOO_MANY_PROBLEMS'
  // Fields.
  | 'UNKNOWN_FIELD'
  | 'MISSING_FIELD'
  | 'EMPTY_FIELD'
  | 'WRONG_TYPE'
  | 'NOT_ONE_OF'
  | 'NUMBER'
  | 'CONTRADICTION'
  // Values.
  | 'AMOUNT_UNQUOTED'
  | 'AMOUNT'
  | 'AMOUNT_DECIMALS'
  | 'AMOUNT_ABOVE_LIMIT'
  | 'MONEY'
  | 'RATE'
  | 'RATE_PAIR'
  | 'RATE_TWICE'
  | 'CURRENCY'
  | 'SAME_CURRENCY'
  | 'CURRENCY_UNKNOWN'
  | 'CURRENCY_NOT_WITHDRAWABLE'
  | 'DURATION'
  | 'NAME'
  | 'ID'
  | 'DUPLICATE_ID'
  | 'ACCOUNT'
  | 'ZONE'
  | 'COST'
  | 'FILE'
  | 'DATE'
  | 'INSTANT'
  | 'STATUS'
  // Rules of a policy.
  | 'VERSION'
  | 'KIND'
  | 'NOT_AVAILABLE'
  | 'LIVE_UNSTATED'
  | 'LIMIT_CURRENCY'
  | 'LIMIT_TWICE'
  | 'ROUNDING_MISSING'
  | 'PROCEEDS_TWICE'
  | 'PROCEEDS_WITH_FIXED'
  | 'WITHDRAWALS_EXCEED_AMOUNT'
  | 'WITHDRAWALS_UNCOVERED';

/** A stable code: `POLICY_UNKNOWN_FIELD`. */
export type ProblemCode = `${Subject}_${Mistake}`;

/** One mistake (or warning) at one place. */
export type PolicyProblem = {
  readonly code: ProblemCode;
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

/** What a file says, safe to show in a message: in quotes, cut at 60 characters, control characters replaced. */
export function quoted(text: string): string {
  const characters = Array.from(printable(text));
  const cut = characters.length > 60 ? `${characters.slice(0, 59).join('')}…` : characters.join('');
  return `"${cut}"`;
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

/** Text that is safe to print: tabs become blanks; what a terminal would obey, hide or reorder becomes a visible mark. */
export function printable(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\uFEFF\u200B]/gu, '\u{FFFD}');
}

function widthOf(text: readonly string[]): number {
  return text.reduce((columns, character) => columns + columnsOf(character), 0);
}

/** Columns of one character on a terminal: marks that combine take none, East Asian wide ones and emoji take two. */
function columnsOf(character: string): number {
  if (/^(?:\p{Mn}|\p{Me}|\u200D)$/u.test(character)) return 0;
  const wide =
    /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]$/u;
  const halfWidth = /^[\uFF61-\uFFDC]$/u;
  return wide.test(character) && !halfWidth.test(character) ? 2 : 1;
}
