/**
 * Rows of JSON Lines: one object on each line. Amounts and all other values are texts, so that money never becomes a number
 * (M5). The last line may be a trailer with the count and the sums of the file.
 */
import { isDecimal } from '../../domain/money.ts';
import type { BatchColumns } from '../../domain/policy.ts';
import { money, readMoney } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import type { Complaint, Place } from '../text/yaml-source.ts';
import { otherCellComplaint } from './cells.ts';
import { mistakeOf, tooLongRow, type OddCell, type Piece, type LineText } from './pieces.ts';
import type { ControlTotals } from './totals.ts';

/** The rows of a file. */
export async function* jsonRows(bytes: AsyncIterable<Buffer>, columns: BatchColumns): AsyncGenerator<Piece> {
  let line = 0;
  let hasTrailer = false;
  let isFirst = true;
  for await (const piece of bytes) {
    const lines = piece.toString('utf8').split('\n');
    // The text ends with a line end, so the last part is empty.
    if (lines.at(-1) === '') lines.pop();
    for (const written of lines) {
      line += 1;
      const standing = { line, text: written.replace(/\r$/, '') };
      if (standing.text.trim() === '') continue;
      if (isFirst && /^\s*\[/.test(standing.text)) {
        yield mistakeOf(standing, LIST, { isRow: false });
        return;
      }
      isFirst = false;
      const read = pieceOf(standing, columns);
      if (hasTrailer) yield mistakeOf(standing, BEHIND_TRAILER);
      else yield read;
      hasTrailer ||= read.kind === 'trailer';
      // An object over several lines: its other lines are no rows either.
      if (read.kind === 'mistake' && line === 1 && /^\s*\{\s*$/.test(standing.text)) return;
    }
  }
}

function pieceOf(standing: LineText, columns: BatchColumns): Piece {
  const long = tooLongRow(standing);
  if (long !== null) return long;
  const value = parsed(standing.text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return mistakeOf(standing, value === undefined ? NOT_JSON : NOT_AN_OBJECT);
  const fields = fieldsOf(standing.text);
  const names = new Set<string>();
  const twice = fields.find(({ name }) => names.size === names.add(name).size);
  if (twice !== undefined)
    return mistakeOf(
      standing,
      {
        mistake: 'COLUMN_TWICE',
        message: `${quoted(twice.name)} is written twice`,
        fix: 'delete one of the two',
      },
      { place: twice.key },
    );
  const own = new Set([...Object.values(columns), 'trailer']);
  for (const { name, key } of fields) {
    const isEscaped = own.has(name) && textAt(standing, key) !== `"${name}"`;
    const complain = isEscaped ? escapedName : otherCellComplaint(name);
    if (complain !== null) return mistakeOf(standing, complain(quoted(name)), { place: key });
  }
  const trailer = fields.find(({ name }) => name === 'trailer');
  if (trailer !== undefined && fields.length === 1) return trailerOf(standing, trailer.place);
  if (trailer !== undefined && textAt(standing, trailer.place).startsWith('{'))
    return mistakeOf(standing, BESIDE_TRAILER, { place: trailer.key });
  return rowOf(standing, fields, columns);
}

function textAt({ text }: LineText, { start, end }: Place): string {
  return text.slice(start, end);
}

function escapedName(name: string): Complaint {
  return {
    mistake: 'TEXT',
    message: `the name ${name} is written with escapes: it must read as it is written`,
    fix: 'write the characters themselves',
  };
}

function rowOf(standing: LineText, fields: readonly Field[], columns: BatchColumns): Piece {
  const { text } = standing;
  const own = new Set(Object.values(columns));
  const cells: Record<string, string> = Object.create(null) as Record<string, string>;
  const odd = new Map<string, OddCell>();
  for (const { name, place } of fields) {
    const raw = textAt(standing, place);
    const value = parsed(raw);
    cells[name] = typeof value === 'string' ? value : raw;
    if (typeof value !== 'string') odd.set(name, 'no text');
    else if (own.has(name) && raw !== `"${value}"`) odd.set(name, 'escaped');
  }
  const placeOf = (column: string): Place =>
    fields.find(({ name }) => name === column)?.place ?? { start: 0, end: text.length };
  return { kind: 'row', ...standing, cells, odd, placeOf };
}

/** `undefined` is no value of JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

type Field = { readonly name: string; readonly key: Place; readonly place: Place };

/** A text, a sign, or a word: the parts of a line that is valid JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * The fields of an object with their places. The parser alone would drop all but the last of several fields with one name.
 */
function fieldsOf(text: string): readonly Field[] {
  const fields: Field[] = [];
  let depth = 0;
  let key: (Place & { readonly name: string }) | null = null;
  let start: number | null = null;
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const isEnd = depth === 1 && (token === ',' || token === '}');
    if (isEnd && key !== null && start !== null) {
      fields.push({ name: key.name, key, place: { start, end } });
      key = null;
      start = null;
    } else if (depth === 1 && key === null && token.startsWith('"')) {
      key = { start: match.index, end: match.index + token.length, name: String(parsed(token)) };
    } else if (depth >= 1 && key !== null && !(depth === 1 && token === ':')) {
      start ??= match.index;
      end = match.index + token.length;
    }
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
  }
  return fields;
}

const MONEY = money({ description: '', example: '"12345.67 EUR"' });

function trailerOf(standing: LineText, place: Place): Piece {
  const written = textAt(standing, place);
  const names = fieldsOf(written).map(({ name }) => name);
  const expected = new Set(names).size === names.length ? expectedOf(parsed(written)) : null;
  return expected === null
    ? mistakeOf(standing, BAD_TRAILER, { isRow: false })
    : { kind: 'trailer', ...standing, expected };
}

function expectedOf(trailer: unknown): ControlTotals | null {
  if (typeof trailer !== 'object' || trailer === null || Array.isArray(trailer)) return null;
  const { count = null, totals = [], ...others } = trailer as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0 || (count === null && !Array.isArray(totals))) return null;
  if (count !== null && (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0)) return null;
  if (!Array.isArray(totals) || (count === null && totals.length === 0)) return null;
  const sums = totals.flatMap((one: unknown) => {
    const result = MONEY.safeParse(one);
    return result.success ? [readMoney(result.data)] : [];
  });
  const isOnce = new Set(sums.map(({ currency }) => currency)).size === totals.length;
  return isOnce && sums.every(({ value }) => isDecimal(value)) ? { count, sums } : null;
}

const LIST: Complaint = {
  mistake: 'FORM',
  message: 'the file is one JSON list; in JSON Lines each payment is an object on a line of its own',
  fix: 'let `npx cambist check` with --fix write such a file, or leave out the brackets of the list and the commas between the objects',
};
const NOT_JSON: Complaint = {
  mistake: 'SYNTAX',
  message: 'the line is no JSON',
  fix: 'write one whole object on each line, without commas between lines',
};
const NOT_AN_OBJECT: Complaint = {
  mistake: 'SYNTAX',
  message: 'the line is no object',
  fix: 'write `{"id": "…", "account": "…", "currency": "…", "amount": "…"}`',
};
const BAD_TRAILER: Complaint = {
  mistake: 'TRAILER',
  message: 'the trailer is not one that Cambist reads',
  fix: 'write `{"trailer": {"count": 2, "totals": ["12345.67 EUR"]}}`, each name and currency once, no total of zero',
};
const BESIDE_TRAILER: Complaint = {
  mistake: 'TRAILER',
  message: 'a trailer stands beside other fields, where it would not be read',
  fix: 'write it on a line of its own, the last one',
};
const BEHIND_TRAILER: Complaint = {
  mistake: 'TRAILER',
  message: 'nothing may follow the trailer',
  fix: 'move the trailer to the last line',
};
