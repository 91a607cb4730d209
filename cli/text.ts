/**
 * How things are written on a terminal: paragraphs, tables, times, amounts of time, colours. Pure; the width is given.
 * Everything fits the width or says so on lines of its own: nothing is cut off.
 */
import { DateTime } from 'luxon';
import { printable } from '../language/problem.ts';
import type { Trouble } from './failure.ts';
import { plain } from './safe.ts';

/** Colours by meaning; each returns its text unchanged when there are none. */
export type Paint = {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
};

/** Breaks each line of `text` at blanks so that none is longer than `width`; continued lines begin with `indent`. */
export function wrap(text: string, width: number, indent = ''): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, width, indent))
    .join('\n');
}

function wrapLine(line: string, width: number, indent: string): string {
  const lines: string[] = [];
  const text = line.trimStart();
  let current = line.slice(0, line.length - text.length);
  for (const word of text.split(' ')) {
    const longer = current.trim() === '' ? `${current}${word}` : `${current} ${word}`;
    if (longer.length > width && current.trim() !== '') {
      lines.push(current);
      current = `${indent}${word}`;
    } else {
      current = longer;
    }
  }
  return [...lines, current].join('\n');
}

/** One problem as a paragraph: code, place, what is wrong, what to do; the line at fault with carets below. */
export function paragraphOf(trouble: Trouble, width: number): string {
  const { code, place, message, fix } = plain({ ...trouble, excerpt: null });
  const where = place === null ? code : `${code} ${place}`;
  if (trouble.excerpt === undefined)
    return wrap(`${where}: ${sentence(message)}${fix === '' ? '' : ` ${sentence(fix)}`}`, width);
  const picture = trouble.excerpt.split('\n').map((line) => `    ${printable(line)}`);
  return [`${where}: ${sentence(message)}`, ...picture, ...(fix === '' ? [] : [`  fix: ${fix}`])].join('\n');
}

/** The text with a full stop, unless it ends a sentence already. */
export function sentence(text: string): string {
  return /[.?!:]$/.test(text.trimEnd()) ? text : `${text}.`;
}

export type Column = { readonly title: string; readonly right?: boolean };

/**
 * A table in plain columns, two blanks apart. Where it does not fit the width, each row becomes a block of
 * `title  value` lines instead.
 */
export function table(
  columns: readonly Column[],
  texts: readonly (readonly string[])[],
  width: number,
): string {
  const rows = texts.map((row) => row.map(printable));
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...rows.map((row) => (row[index] ?? '').length)),
  );
  const total = widths.reduce((sum, columnWidth) => sum + columnWidth + 2, -2);
  if (total <= width) {
    const titles = columns.map((column) => column.title);
    return [titles, ...rows]
      .map((row) =>
        columns
          .map(({ right }, index) => {
            const cell = row[index] ?? '';
            return right === true ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0);
          })
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
  }
  const titleWidth = Math.max(...columns.map((column) => column.title.length));
  const blocks = rows.map((row) =>
    columns
      .flatMap(({ title }, index) => {
        const cell = row[index] ?? '';
        if (cell === '') return [];
        const indent = ' '.repeat(titleWidth + 2);
        return [wrap(`${title.padEnd(titleWidth)}  ${cell}`, width, indent)];
      })
      .join('\n'),
  );
  return blocks.join('\n\n');
}

/** A moment for a person here and now: `14:03:05` today, else with its date; local time of the zone. */
export function clockTime(ms: number, nowMs: number, zone = 'local'): string {
  const moment = DateTime.fromMillis(ms, { zone });
  const today = DateTime.fromMillis(nowMs, { zone });
  return moment.toFormat(moment.hasSame(today, 'day') ? 'HH:mm:ss' : 'yyyy-MM-dd HH:mm');
}

/** A moment in a zone and in UTC: `2026-11-21 09:30 America/Mexico_City (15:30 UTC)`. */
export function zonedTime(ms: number, zone: string): string {
  const there = DateTime.fromMillis(ms, { zone });
  const utc = there.toUTC();
  const text = `${there.toFormat('yyyy-MM-dd HH:mm')} ${zone}`;
  if (zone === 'UTC') return text;
  const sameDay = there.toISODate() === utc.toISODate();
  return `${text} (${utc.toFormat(sameDay ? 'HH:mm' : 'yyyy-MM-dd HH:mm')} UTC)`;
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

/** The text with a capital letter in front. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** `1 payment`, `2 payments`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
