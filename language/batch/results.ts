/**
 * The results of a batch: each row as the file has it, and behind it the outcome of its payment. CSV stays CSV, with its
 * separator; JSON Lines stay JSON Lines. The file was checked before, so nothing in it runs in a spreadsheet.
 */
import { momentIn } from '../../calendar/business-date.ts';
import type { BatchFormat } from '../../domain/policy.ts';
import { printable } from '../text/printable.ts';
import { idOf } from './cells.ts';
import type { CsvHeader } from './csv-rows.ts';
import type { RowPiece } from './pieces.ts';
import { PlainBytes } from './plain-bytes.ts';
import { readPieces } from './read-pieces.ts';

/** The columns of the results, by what they say of a payment. With a trace id the service's support finds the last reply. */
const COLUMNS = {
  outcome: 'outcome',
  withdrawalId: 'withdrawal_id',
  status: 'status',
  sentAt: 'sent_at',
  seenPaidAt: 'seen_paid_at',
  reason: 'reason',
  traceId: 'trace_id',
} as const;

/** The outcome of a payment; times are RFC 3339 in UTC. A field is null, or absent, when there is no such value. */
export type RowResult = { readonly [Name in keyof typeof COLUMNS]?: string | null };

/**
 * The lines of the results, with the line ends, the separator and the byte order mark of the file. They are UTF-8; where the file is in
 * another encoding, a byte order mark tells a spreadsheet so, and a line that names the separator is left out: Excel does not heed the
 * mark in front of one. Times in CSV are in the zone, which the name of their column tells; in JSON Lines they are in UTC.
 * @param resultOf called once for each row, in the order of the file, with the id of its payment
 */
export async function* resultLines(
  bytes: AsyncIterable<Uint8Array>,
  { format, zone }: { readonly format: BatchFormat; readonly zone: string },
  resultOf: (id: string) => Promise<RowResult>,
): AsyncGenerator<string> {
  const headers: CsvHeader[] = [];
  const source = new PlainBytes(bytes, format.encoding);
  let isFirst = true;
  for await (const piece of readPieces(source, format, (one) => headers.push(one))) {
    if (piece.kind !== 'row') continue;
    const [header = null] = headers;
    const result = await resultOf(idOf(piece.cells[format.columns.id] ?? '', format));
    if (header === null) {
      yield `${isFirst ? markOf(source, format) : ''}${jsonLine(piece, result)}\n`;
    } else {
      const { text, names, separator, lineEnd, before } = header;
      const lineOf = (own: string, added: (field: (typeof FIELDS)[number]) => string): string =>
        `${[own, ...FIELDS.map(added)].join(separator)}${lineEnd}`;
      if (isFirst)
        yield `${markOf(source, format)}${format.encoding === 'utf-8' ? before : ''}${lineOf(text, (field) => free(titleOf(field, zone), names))}`;
      yield lineOf(piece.text, (field) => cellOf(textOf(field, result[field] ?? null, zone), separator));
    }
    isFirst = false;
  }
}

function markOf({ hasMark }: PlainBytes, { encoding }: BatchFormat): string {
  return hasMark || encoding !== 'utf-8' ? '\u{FEFF}' : '';
}

const FIELDS = Object.keys(COLUMNS) as readonly (keyof typeof COLUMNS)[];

const TIMES: ReadonlySet<keyof typeof COLUMNS> = new Set(['sentAt', 'seenPaidAt']);

function titleOf(field: keyof typeof COLUMNS, zone: string): string {
  return TIMES.has(field) ? `${COLUMNS[field]} (${zone})` : COLUMNS[field];
}

function textOf(field: keyof typeof COLUMNS, value: string | null, zone: string): string | null {
  return value !== null && TIMES.has(field) ? momentIn(zone, Date.parse(value)) : value;
}

/** A name for a new column. When the file has a column of this name already, that column is kept. */
function free(name: string, names: readonly string[]): string {
  return names.includes(name) ? free(`cambist_${name}`, names) : name;
}

/** The beginning of a formula for a spreadsheet. */
const FORMULA = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;

function cellOf(value: string | null, separator: string): string {
  const text = printable(value ?? '');
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return safe.includes('"') || safe.includes(separator) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function jsonLine({ text, cells }: RowPiece, result: RowResult): string {
  const names = Object.keys(cells);
  const fields = FIELDS.map((field) => {
    const value = result[field] ?? null;
    return `${JSON.stringify(free(COLUMNS[field], names))}:${JSON.stringify(value === null ? null : printable(value))}`;
  });
  return `${text.trimEnd().replace(/\s*\}$/, '')},${fields.join(',')}}`;
}
