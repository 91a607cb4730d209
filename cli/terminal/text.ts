/**
 * How text is laid out on a terminal: paragraphs, tables, amounts of time, colours. Pure; the caller gives the width.
 * Whatever does not fit the width goes on in further lines: nothing is cut off.
 */
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { printable, sentence } from '../../language/text/printable.ts';
import { formatTrouble, type Trouble } from '../../language/text/problem.ts';
import { plain } from './safe.ts';
import { withWholeCommands } from './whole-commands.ts';

/** Colours by meaning; each returns its text unchanged when there are none. */
export type Paint = {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
};

/**
 * Breaks each line of `text` at blanks so that none is wider than `width` columns. A word or a command that is wider stays
 * whole, since people paste commands. Continued lines are indented as the line itself is, or by `indent` where that is more.
 */
export function wrap(text: string, width: number, indent = ''): string {
  return text
    .split('\n')
    .map((line) => {
      const words = line.trimStart();
      const own = line.slice(0, line.length - words.length);
      return hang(own, words, width, indent.length > own.length ? indent : own);
    })
    .join('\n');
}

/** `text` behind `head`, wrapped. Continued lines begin with `indent`, which is at least as wide as `head`. */
function hang(head: string, text: string, width: number, indent = ' '.repeat(stringWidth(head))): string {
  const wrapped = withWholeCommands(text, (whole) =>
    wrapAnsi(whole, Math.max(1, width - stringWidth(indent))),
  );
  const lines = wrapped.split('\n');
  return lines.map((line, index) => (line === '' ? '' : `${index === 0 ? head : indent}${line}`)).join('\n');
}

/** The text with blanks up to a width in columns. */
export function pad(text: string, columns: number, side: 'left' | 'right' = 'right'): string {
  const blanks = ' '.repeat(Math.max(0, columns - stringWidth(text)));
  return side === 'right' ? `${text}${blanks}` : `${blanks}${text}`;
}

/** One problem as a paragraph, with the line of the file that has the mistake below it, where there is one. */
export function paragraphOf(trouble: Trouble, width: number): string {
  if (trouble.excerpt !== undefined) return formatTrouble(trouble, (line) => wrap(line, width, '  '));
  const { code, place, message, fix } = plain(trouble);
  const where = place === null ? code : `${code} ${place}`;
  return wrap(`${where}: ${sentence(message)}${fix === '' ? '' : ` ${sentence(fix)}`}`, width);
}

export type Column = { readonly title: string; readonly right?: boolean };

/**
 * A table in plain columns, two blanks apart, or one where only that fits the width. A table that is wider still has a block of
 * `title  value` lines for each row instead.
 */
export function table(
  columns: readonly Column[],
  texts: readonly (readonly string[])[],
  width: number,
): string {
  const rows = texts.map((row) => row.map(printable));
  const widths = columns.map((column, index) =>
    Math.max(...[column.title, ...rows.map((row) => row[index] ?? '')].map((cell) => stringWidth(cell))),
  );
  const widthWith = (gap: number): number =>
    widths.reduce((sum, columnWidth) => sum + columnWidth + gap, -gap);
  const gap = [2, 1].find((blanks) => widthWith(blanks) <= width);
  if (gap !== undefined) {
    const titles = columns.map((column) => column.title);
    return [titles, ...rows]
      .map((row) =>
        columns
          .map(({ right }, index) =>
            pad(row[index] ?? '', widths[index] ?? 0, right === true ? 'left' : 'right'),
          )
          .join(' '.repeat(gap))
          .trimEnd(),
      )
      .join('\n');
  }
  const titleWidth = Math.max(...columns.map((column) => stringWidth(column.title)));
  const blocks = rows.map((row) =>
    columns
      .flatMap(({ title }, index) => {
        const cell = row[index] ?? '';
        return cell === '' ? [] : [hang(`${pad(title, titleWidth)}  `, cell, width)];
      })
      .join('\n'),
  );
  return blocks.join('\n\n');
}

/** About how long, in one or two units: `4 s`, `3 min`, `2 h 5 min`, `3 d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** The rest of a wait that ends soon, to the second: `2 min 40 s`. */
export function countdown(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : span(ms);
}

/** The text with a capital letter in front. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** `1 payment`, `2 payments`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
