/**
 * What of a batch file can be corrected without a doubt: cells, rows and names of columns that say one thing, and are not written as they
 * should be. The bytes of everything else stay as they are.
 */
import type { Decimals } from '../../domain/currencies.ts';
import type { BatchColumns, BatchFormat } from '../../domain/policy.ts';
import type { Place } from '../text/yaml-source.ts';
import { certainText, otherCellComplaint, readersOf } from './cells.ts';
import { seen, visible } from './certain-text.ts';
import { CURLY, layoutOf, placesOf, strayQuote, type CsvHeader, type CsvLayout } from './csv-rows.ts';
import { linesOfList } from './json-list.ts';
import type { LineText, Piece, RowPiece } from './pieces.ts';
import { labelOf, PlainBytes } from './plain-bytes.ts';
import { readPieces } from './read-pieces.ts';

/** One corrected cell, row, or name of a column. */
export type Correction = {
  /** From 1. */
  readonly line: number;
  /** Its row in a spreadsheet, from 1. */
  readonly row: number;
  /** The id of the payment, as the corrected file has it; null: the first line, or a payment whose id cannot be read. */
  readonly payment: string | null;
  /** The column, by its name in the policy; null: it is no single cell. */
  readonly column: string | null;
  readonly was: string;
  readonly now: string;
};

export type Corrected = { readonly bytes: Uint8Array; readonly corrections: readonly Correction[] };

/** The corrected bytes of a batch file; the same bytes where there is nothing to correct. */
export async function corrected(
  bytes: Uint8Array,
  format: BatchFormat,
  decimals: Decimals,
): Promise<Corrected> {
  const lines = asLines(bytes, format);
  // The rows of a file are read only where the names of its columns are right, and the cells of a row only where it has all of them.
  let isNamed = false;
  const named = await correctedOnce(lines.bytes, format, (piece, header) => {
    // Each wrong name is a mistake of its own, of the same line.
    if (isNamed || header !== null || piece.kind !== 'mistake' || !OF_NAMES.has(piece.complaint.mistake))
      return [];
    isNamed = true;
    return inColumnNames(piece, format.columns, layoutOf(beginningOf(bytes, format)).separator);
  });
  const read = readersOf(format, decimals);
  const whole = await correctedOnce(named.bytes, format, (piece, header) =>
    piece.kind === 'mistake' ? inShape(piece, { header, format, read }) : [],
  );
  const rows = await correctedOnce(whole.bytes, format, (piece) =>
    piece.kind === 'row' ? inRow(piece, format, read) : [],
  );
  const corrections = [lines, named, whole, rows].flatMap((one) => one.corrections);
  return { bytes: rows.bytes, corrections };
}

const OF_NAMES: ReadonlySet<string> = new Set(['COLUMN_MISSING', 'CONTROL_CHARACTER']);

/** The objects of a JSON list as JSON Lines. */
function asLines(bytes: Uint8Array, { encoding }: BatchFormat): Corrected {
  const label = labelOf(bytes, encoding);
  const text = new TextDecoder(label).decode(bytes);
  const lines = text.trimStart().startsWith('[') ? linesOfList(text) : null;
  const written = lines === null ? null : encoded(lines, label);
  if (written === null) return { bytes, corrections: [] };
  return {
    bytes: written,
    corrections: [
      { line: 1, row: 1, payment: null, column: null, was: '[…]', now: 'each object on a line of its own' },
    ],
  };
}

/** A correction, and the text that takes the place of a part of its piece. */
type Placed = { readonly correction: Correction; readonly place: Place };

async function correctedOnce(
  bytes: Uint8Array,
  format: BatchFormat,
  correct: (piece: Piece, header: CsvHeader | null) => readonly Placed[],
): Promise<Corrected> {
  const source = new PlainBytes(wholeOf(bytes), format.encoding);
  const headers: CsvHeader[] = [];
  const found: Placed[] = [];
  for await (const piece of readPieces(source, format, (one) => headers.push(one)))
    found.push(...correct(piece, headers[0] ?? null));
  if (found.length === 0) return { bytes, corrections: [] };
  return withCorrections(bytes, found, { label: labelOf(bytes, format.encoding), isJson: source.isJson });
}

/** More text than a first line has. */
const BEGINNING_BYTES = 64 * 1024;

function beginningOf(bytes: Uint8Array, { encoding }: BatchFormat): string {
  return new TextDecoder(labelOf(bytes, encoding)).decode(bytes.subarray(0, BEGINNING_BYTES));
}

async function* wholeOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

/** The names of columns that are there with blanks around them, in other capitals, or with characters that nobody can see. */
function inColumnNames(
  piece: LineText,
  columns: BatchColumns,
  separator: CsvLayout['separator'],
): readonly Placed[] {
  const cells = placesOf(piece.text, separator).map((place) => cellAt(piece, place));
  const names = cells.map(({ was }) => was);
  const missing = Object.values(columns).filter((column) => !names.includes(column));
  return cells.flatMap((cell): readonly Placed[] => {
    const [column] = missing.filter((one) => isSameName(cell.was, one));
    const isOnly = column !== undefined && names.filter((name) => isSameName(name, column)).length === 1;
    const name = isOnly ? column : seen(cell.was);
    return name === cell.was ? [] : [placed(piece, cell, { payment: null, column: name, now: name })];
  });
}

function isSameName(name: string, column: string): boolean {
  return visible(name).toLowerCase() === column.toLowerCase();
}

type Readers = ReturnType<typeof readersOf>;

type Mistake = Extract<Piece, { readonly kind: 'mistake' }>;

/** A row that has not the cells of the first line, or no payment at all. */
function inShape(
  piece: Mistake,
  {
    header,
    format,
    read,
  }: { readonly header: CsvHeader | null; readonly format: BatchFormat; readonly read: Readers },
): readonly Placed[] {
  const { text } = piece;
  const placedAt = (place: Place, now: string): readonly Placed[] => [
    placed(piece, { was: text.slice(place.start, place.end), place }, { payment: null, column: null, now }),
  ];
  const all = { start: 0, end: text.length };
  const end = { start: text.length, end: text.length };
  if (header === null)
    return isObjectAndComma(piece) ? placedAt({ ...end, start: text.lastIndexOf(',') }, '') : [];
  const { names, separator } = header;
  const isSame =
    piece.complaint.mistake === 'HEADER_TWICE' &&
    cellsOf(text, separator).every((cell, index) => isSameName(cell, visible(names[index] ?? '')));
  if (isSame) return placedAt(all, '');
  if (piece.complaint.mistake !== 'CELLS') return [];
  const cells = cellsOf(text, separator);
  const [beyond] = placesOf(text, separator).slice(names.length);
  if (beyond !== undefined) {
    const isBlank = cells.slice(names.length).every((cell) => cell.trim() === '');
    if (isBlank) return placedAt({ ...end, start: beyond.start - 1 }, '');
    const straight = text.replaceAll(new RegExp(CURLY, 'gu'), '"');
    const isWhole =
      placesOf(straight, separator).length === names.length && strayQuote(straight, separator) === null;
    return isWhole ? placedAt(all, straight) : [];
  }
  // Left out are empty cells at the end, if each value that is read is in its place.
  const isRight = (['id', 'account', 'currency', 'amount'] as const).every((what) => {
    const textOf = (one: keyof BatchColumns): string => cells[names.indexOf(format.columns[one])] ?? '';
    const currency = meant('currency', textOf('currency'), { format, read, currency: null });
    return typeof read[what](meant(what, textOf(what), { format, read, currency }), currency) === 'string';
  });
  return isRight ? placedAt(end, separator.repeat(names.length - cells.length)) : [];
}

/** One line of a list of which nobody has written the brackets. */
function isObjectAndComma({ text, complaint }: Mistake): boolean {
  if (complaint.mistake !== 'SYNTAX' || !/\}\s*,\s*$/.test(text)) return false;
  return linesOfList(`[${text.replace(/,\s*$/, '')}]`) !== null;
}

/** The texts of the cells, without the quotes of CSV. */
function cellsOf(text: string, separator: CsvLayout['separator']): readonly string[] {
  return placesOf(text, separator).map(({ start, end }) => text.slice(start, end).replaceAll('"', ''));
}

/** The text that a cell means without a doubt; its own text where there is none. */
function meant(
  what: keyof BatchColumns,
  text: string,
  {
    format,
    read,
    currency,
  }: { readonly format: BatchFormat; readonly read: Readers; readonly currency: string | null },
): string {
  const { decimal } = format.numbers;
  return certainText(what, text, { read: (one) => read[what](one, currency), decimal, currency }) ?? text;
}

function inRow(piece: RowPiece, format: BatchFormat, read: Readers): readonly Placed[] {
  const { columns } = format;
  const now = (what: keyof BatchColumns, currency: string | null): string => {
    const text = piece.cells[columns[what]] ?? '';
    const isText = piece.odd.get(columns[what]) === undefined;
    return isText ? meant(what, text, { format, read, currency }) : text;
  };
  const currency = now('currency', null);
  const id = now('id', null);
  const payment = typeof read.id(id) === 'string' ? id : null;
  const found = (['id', 'account', 'currency', 'amount'] as const).flatMap((what): readonly Placed[] => {
    const column = columns[what];
    const text = now(what, currency);
    // A quote inside a cell is written otherwise than it is read.
    if (text === (piece.cells[column] ?? '') || text.includes('"')) return [];
    const cell = cellAt(piece, piece.placeOf(column));
    return [placed(piece, cell, { payment, column, now: text })];
  });
  const own = new Set(Object.values(columns));
  const others = Object.entries(piece.cells).flatMap(([column, text]): readonly Placed[] => {
    if (own.has(column) || otherCellComplaint(text) === null || otherCellComplaint(seen(text)) !== null)
      return [];
    const cell = cellAt(piece, piece.placeOf(column));
    return seen(cell.was) === cell.was ? [] : [placed(piece, cell, { payment, column, now: seen(cell.was) })];
  });
  return [...found, ...others].toSorted((one, other) => one.place.start - other.place.start);
}

type Cell = { readonly was: string; readonly place: Place };

/** The text of a cell, and its place without the quotes around it. */
function cellAt({ text }: LineText, { start, end }: Place): Cell {
  const isQuoted = text[start] === '"' && text[end - 1] === '"' && end - start > 1;
  const place = isQuoted ? { start: start + 1, end: end - 1 } : { start, end };
  return { was: text.slice(place.start, place.end), place };
}

function placed(
  { line, row = line }: LineText,
  { was, place }: Cell,
  of: Pick<Correction, 'payment' | 'column' | 'now'>,
): Placed {
  return { correction: { line, row, ...of, was }, place };
}

/** The bytes, with each correction in the place of what was there. */
function withCorrections(
  bytes: Uint8Array,
  found: readonly Placed[],
  { label, isJson }: { readonly label: Label; readonly isJson: boolean },
): Corrected {
  const decoded = new TextDecoder(label, { ignoreBOM: true }).decode(bytes);
  // The readers count lines, and give places, in the text behind a byte order mark.
  const mark = decoded.startsWith('\u{FEFF}') ? 1 : 0;
  const ends = decoded.matchAll(isJson ? /\n/g : /\r\n|\n|\r/g);
  const starts = [mark, ...Array.from(ends, (end) => end.index + end[0].length)];
  const parts: Uint8Array[] = [];
  const corrections: Correction[] = [];
  let at = { character: 0, byte: 0 };
  const bytesTo = (character: number): Uint8Array => {
    const byte = at.byte + lengthOf(decoded.slice(at.character, character), label);
    const part = bytes.subarray(at.byte, byte);
    at = { character, byte };
    return part;
  };
  for (const { correction, place } of found) {
    const line = starts[correction.line - 1];
    const text = encoded(correction.now, label);
    if (line === undefined || text === null) continue;
    parts.push(bytesTo(line + place.start), text);
    bytesTo(line + place.end);
    corrections.push(correction);
  }
  return { bytes: Buffer.concat([...parts, bytes.subarray(at.byte)]), corrections };
}

type Label = ReturnType<typeof labelOf>;

function lengthOf(text: string, label: Label): number {
  switch (label) {
    case 'utf-8':
      return Buffer.byteLength(text);
    case 'windows-1252':
      return text.length;
    case 'utf-16le':
    case 'utf-16be':
      return text.length * 2;
  }
}

/** The bytes of a text; null: the encoding has no such characters, or none that are known here. */
function encoded(text: string, label: Label): Uint8Array | null {
  switch (label) {
    case 'utf-8':
      return Buffer.from(text);
    case 'windows-1252':
      return /^[\t\u0020-\u007E\u00A0-\u00FF]*$/.test(text) ? Buffer.from(text, 'latin1') : null;
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16();
  }
}
