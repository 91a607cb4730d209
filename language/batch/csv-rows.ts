/**
 * Rows of CSV (RFC 4180): a first line with the names of the columns, one separator for all rows, and quotes around a cell
 * that contains the separator. `csv-parse` reads them. This file refuses what `csv-parse` would accept wrongly, so that a
 * cell is what a person sees.
 */
import { pipeline, Readable } from 'node:stream';
import { parse, type Parser } from 'csv-parse';
import type { BatchColumns } from '../../domain/policy.ts';
import { nearest } from '../text/nearest.ts';
import { quoted } from '../text/printable.ts';
import type { Complaint, Place } from '../text/yaml-source.ts';
import { otherCellComplaint } from './cells.ts';
import { visible } from './certain-text.ts';
import { mistakeOf, tooLongRow, type Piece, type RowPiece, type LineText } from './pieces.ts';
import { ENDLESS_ROW, MOST_ROW_BYTES, type PlainBytes } from './plain-bytes.ts';

/** The characters that may separate cells. */
const SEPARATORS = [',', ';', '\t', '|'] as const;
type Separator = (typeof SEPARATORS)[number];

/** The line by which a file tells a spreadsheet its separator. It is no row, and a spreadsheet does not show it. */
const SEPARATOR_LINE = /^sep=([,;\t|])$/i;

/**
 * How the lines of a file are written, as its beginning shows: the separator that it names, or that its first line has most often outside
 * quotes, and the line end.
 */
export function layoutOf(beginning: string): CsvLayout {
  const [firstLine = ''] = beginning.trimStart().split(/[\r\n]/, 1);
  const lineEnd = /\r\n|\n|\r/.exec(beginning.trimStart())?.[0] ?? '\n';
  const [, named] = SEPARATOR_LINE.exec(firstLine) ?? [];
  if (named !== undefined) return { separator: named as Separator, lineEnd };
  const bare = firstLine.replaceAll(/"(?:[^"]|"")*"/g, '');
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  return { separator: SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ',', lineEnd };
}

export type CsvLayout = { readonly separator: Separator; readonly lineEnd: string };

/** The first line, as the file has it and as it is read. */
export type CsvHeader = CsvLayout & {
  readonly text: string;
  readonly names: readonly string[];
  /** The line that names the separator, with its end; empty where the file has none. */
  readonly before: string;
};

/** The rows of a file; after a mistake in the first line there are none. */
export async function* csvRows(
  source: PlainBytes,
  bytes: AsyncIterable<Buffer>,
  {
    separator,
    lineEnd,
    columns,
    onHeader,
  }: CsvLayout & {
    readonly columns: BatchColumns;
    /** Called with the first line before the first row, if the line has no mistake. */
    readonly onHeader: (header: CsvHeader) => void;
  },
): AsyncGenerator<Piece> {
  const broken: Broken = { afterRecords: null, text: '', isEndless: false };
  const until = async function* (): AsyncGenerator<Buffer> {
    for await (const piece of bytes) {
      yield piece;
      if (broken.afterRecords !== null) return;
    }
  };
  const parser: Parser = parse({
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    raw: true,
    // A wrong number of cells is reported below, with its place. The parser would stop at the first one.
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_error: true,
    max_record_size: MOST_ROW_BYTES,
    on_skip: (error, raw) => {
      if (broken.afterRecords !== null) return undefined;
      broken.afterRecords = parser.info.records;
      broken.text = raw ?? '';
      broken.isEndless = error?.code === 'CSV_MAX_RECORD_SIZE';
      return undefined;
    },
  });
  // If the reading fails, the loop below throws the error.
  pipeline(Readable.from(until()), parser, () => {});
  let line = 1;
  let records = 0;
  let names: readonly string[] | null = null;
  let before = '';
  for await (const { record, raw } of parser as AsyncIterable<Parsed>) {
    if (broken.afterRecords !== null && records >= broken.afterRecords) break;
    records += 1;
    const text = raw.replace(/\r?\n$|\r$/, '');
    const row = before === '' ? records : records - 1;
    const standing: LineText = { line, text, ...(row !== line && { row }) };
    line += 1 + lineEndsIn(standing.text);
    // Spreadsheets write rows of empty cells behind the last one.
    if (record.every((cell) => cell.trim() === '')) continue;
    if (names !== null) {
      yield rowOf(standing, record, { names, separator, columns });
      continue;
    }
    if (records === 1 && SEPARATOR_LINE.test(standing.text)) {
      before = `${standing.text}${lineEnd}`;
      continue;
    }
    const mistakes = headerMistakes(standing, record, separator, columns);
    yield* mistakes;
    if (mistakes.length > 0) return;
    names = record;
    onHeader({ text: standing.text, names, separator, lineEnd, before });
  }
  if (broken.afterRecords === null || source.stopped !== null) return;
  const standing = { line, text: broken.text.slice(0, 4_096) };
  const { start } = strayQuote(standing.text, separator) ?? { start: 0 };
  const complaint = broken.isEndless ? ENDLESS_ROW : UNCLOSED;
  yield mistakeOf(standing, complaint, { place: { start, end: start + 1 } });
}

/** A record that the parser could not finish: how many records come before it, and how it begins. */
type Broken = { afterRecords: number | null; text: string; isEndless: boolean };

type Parsed = { readonly record: readonly string[]; readonly raw: string };

const UNCLOSED: Complaint = {
  mistake: 'SYNTAX',
  message: 'the quote that opens here is not closed',
  fix: 'close it; a quote inside a cell is written twice, and the cell stands in quotes: "5"" pipe"',
};

function lineEndsIn(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

function headerMistakes(
  standing: LineText,
  names: readonly string[],
  separator: Separator,
  columns: BatchColumns,
): readonly Piece[] {
  const long = tooLongRow(standing);
  if (long !== null) return [long];
  const places = placesOf(standing.text, separator);
  const at = (index: number, complaint: Complaint): Piece => {
    const place = places[index];
    return mistakeOf(standing, complaint, { isRow: false, ...(place !== undefined && { place }) });
  };
  const own = names.flatMap((name, index): readonly Piece[] => {
    // A spreadsheet writes columns without a name. Each row is checked: there must be nothing in them.
    if (name.trim() === '') return [];
    const first = names.indexOf(name);
    if (first < index)
      return [
        at(index, {
          mistake: 'COLUMN_TWICE',
          message: `${quoted(name)} is the name of column ${first + 1} already`,
          fix: 'give each column a name of its own',
        }),
      ];
    const complain = otherCellComplaint(name);
    return complain === null ? [] : [at(index, complain(quoted(name)))];
  });
  const missing = Object.entries(columns).filter(([, column]) => !names.includes(column));
  return [
    ...own,
    ...missing.map(([what, column]) =>
      mistakeOf(standing, missingColumn({ what, column, names }), {
        isRow: false,
        place: { start: 0, end: standing.text.length },
      }),
    ),
  ];
}

function missingColumn(of: {
  readonly what: string;
  readonly column: string;
  readonly names: readonly string[];
}): Complaint {
  const { what, column, names } = of;
  const near = nearest(column, names.slice(0, 200));
  return {
    mistake: 'COLUMN_MISSING',
    message: `no column is called ${quoted(column)}`,
    fix:
      near === null
        ? `the first line must name the columns; or write what it is called into the policy: \`columns: { ${what}: … }\``
        : !PLAIN_NAME.test(near)
          ? `rename ${quoted(near)}: write ${column}`
          : `rename ${quoted(near)}, or write \`columns: { ${what}: ${near} }\` into the policy`,
  };
}

/** A name that YAML reads unchanged without quotes. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

function rowOf(
  standing: LineText,
  record: readonly string[],
  {
    names,
    separator,
    columns,
  }: { readonly names: readonly string[]; readonly separator: Separator; readonly columns: BatchColumns },
): Piece {
  const long = tooLongRow(standing);
  if (long !== null) return long;
  const { text } = standing;
  if (text.includes('"')) {
    const stray = strayQuote(text, separator);
    if (stray !== null) return mistakeOf(standing, STRAY_QUOTE, { place: stray });
    const swallowing = swallowingCell(text, separator, names.length);
    if (swallowing !== null) return mistakeOf(standing, SWALLOWED, { place: swallowing });
  }
  if (record.length !== names.length)
    return mistakeOf(standing, raggedComplaint(record, { text, names, separator, columns }));
  const header = headerAgain(record, names);
  if (header !== null) return mistakeOf(standing, header, { isRow: false });
  const unnamed = names.findIndex((name, index) => name.trim() === '' && record[index]?.trim() !== '');
  if (unnamed >= 0) {
    const place = placesOf(text, separator)[unnamed] ?? { start: 0, end: text.length };
    return mistakeOf(standing, unnamedColumn(unnamed), { place });
  }
  const cells: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [index, name] of names.entries()) if (name.trim() !== '') cells[name] = record[index] ?? '';
  const placeOf = (column: string): Place =>
    placesOf(text, separator)[names.indexOf(column)] ?? { start: 0, end: text.length };
  return { kind: 'row', ...standing, cells, odd: NONE, placeOf };
}

const NONE: RowPiece['odd'] = new Map();

function unnamedColumn(index: number): Complaint {
  return {
    mistake: 'COLUMN',
    message: `column ${index + 1} has no name in the first line, and something stands in it here`,
    fix: 'name the column in the first line, or empty this cell',
  };
}

/** The complaint about a row that names the columns once more, as where two files were put together; null: it does not. */
function headerAgain(record: readonly string[], names: readonly string[]): Complaint | null {
  const own = record.map(nameLike);
  const all = names.map(nameLike);
  if (own.every((name, index) => name === all[index]))
    return { mistake: 'HEADER_TWICE', message: 'the row names the columns once more', fix: 'delete the row' };
  if (own.toSorted().join('\n') !== all.toSorted().join('\n')) return null;
  return {
    mistake: 'HEADER_TWICE',
    message: 'the row names the columns once more, in another order than the first line',
    fix: 'make two batches, one from this row on, or put the cells of these rows in the order of the first line',
  };
}

function nameLike(name: string): string {
  return visible(name).toLowerCase();
}

/** @param text of the row */
function raggedComplaint(
  record: readonly string[],
  {
    text,
    names,
    separator,
    columns,
  }: {
    readonly text: string;
    readonly names: readonly string[];
    readonly separator: Separator;
    readonly columns: BatchColumns;
  },
): Complaint {
  const shown = separator === '\t' ? 'a tab' : `a "${separator}"`;
  const missing = names.slice(record.length);
  const isRead = missing.some((name) => Object.values(columns).includes(name));
  const fix =
    record.length < names.length
      ? `write every cell, also the empty ones${isRead ? '' : ' at the end, which a spreadsheet may have left out'}`
      : CURLY.test(text)
        ? `write straight quotes (") around a cell that holds ${shown}, not curly ones`
        : record.slice(names.length).every((cell) => cell.trim() === '')
          ? 'delete the empty cells at the end'
          : `put a cell that holds ${shown} in quotes`;
  const cells = `${record.length} ${record.length === 1 ? 'cell' : 'cells'}`;
  return { mistake: 'CELLS', message: `the row has ${cells}, the first line has ${names.length}`, fix };
}

/** Quotes that a word processor writes. For CSV they are letters. */
export const CURLY = /[“”„]/;

const STRAY_QUOTE: Complaint = {
  mistake: 'SYNTAX',
  message: 'a quote stands where none may',
  fix: 'put the whole cell in quotes, and write a quote inside it twice: "5"" pipe"',
};

const SWALLOWED: Complaint = {
  mistake: 'SYNTAX',
  message: 'the quote that opens here is closed lines later, and what is between looks like rows',
  fix: 'close it where its cell ends, or take the line ends out of the cell',
};

/** Where each cell of a row stands, quotes included. */
export function placesOf(text: string, separator: Separator): readonly Place[] {
  const places: Place[] = [];
  for (let start = 0; start <= text.length;) {
    const end = endOfCell(text, start, separator);
    places.push({ start, end });
    start = end + 1;
  }
  return places;
}

function endOfCell(text: string, start: number, separator: Separator): number {
  let from = start;
  while (text[from] === '"') {
    const closing = text.indexOf('"', from + 1);
    if (closing < 0) return text.length;
    from = closing + 1;
  }
  const end = text.indexOf(separator, from);
  return end < 0 ? text.length : end;
}

/**
 * The first cell that has a quote but does not begin with one, or that goes on after its closing quote; null: there is none.
 */
export function strayQuote(text: string, separator: Separator): Place | null {
  const wrong = placesOf(text, separator).find(({ start, end }) => {
    const cell = text.slice(start, end);
    return cell.includes('"') && !/^"(?:[^"]|"")*"$/.test(cell);
  });
  return wrong ?? null;
}

/**
 * The first cell in quotes that contains a line with as many cells as a row. Most likely a person forgot a quote, so that
 * the reader would take payments for a note. Null: there is none.
 */
function swallowingCell(text: string, separator: Separator, columns: number): Place | null {
  if (!/[\r\n]/.test(text)) return null;
  const found = placesOf(text, separator).find(({ start, end }) => {
    const [, ...more] = text.slice(start, end).split(/\r\n|\n|\r/);
    return more.some((line) => line.split(separator).length >= columns);
  });
  return found === undefined ? null : { start: found.start, end: found.start + 1 };
}
