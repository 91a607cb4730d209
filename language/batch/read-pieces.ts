/** Reads a batch file piece by piece. The beginning of the file tells its form. */
import type { BatchFormat } from '../../domain/policy.ts';
import { csvRows, layoutOf, type CsvHeader } from './csv-rows.ts';
import { jsonRows } from './json-rows.ts';
import type { Piece } from './pieces.ts';
import type { PlainBytes } from './plain-bytes.ts';

/** @param onHeader called with the first line of CSV, before the first row */
export async function* readPieces(
  source: PlainBytes,
  format: BatchFormat,
  onHeader: (header: CsvHeader) => void,
): AsyncGenerator<Piece> {
  const { columns, ignore } = format;
  const bytes = source.lines();
  const first = await bytes.next();
  if (first.done === true) return;
  const all = startingWith(first.value, bytes);
  const pieces = source.isJson
    ? jsonRows(all, columns)
    : csvRows(source, all, { ...layoutOf(first.value.toString('utf8')), columns, onHeader });
  for await (const piece of pieces) {
    const isIgnored = piece.kind === 'row' && ignore !== null && isLike(piece.cells, ignore);
    const { line, text, row } = piece;
    yield isIgnored ? { kind: 'ignored', line, text, ...(row !== undefined && { row }) } : piece;
  }
}

/** Whether each column of `texts` has its text in the row. */
function isLike(cells: Readonly<Record<string, string>>, texts: Readonly<Record<string, string>>): boolean {
  return Object.entries(texts).every(([column, text]) => cells[column]?.trim() === text);
}

async function* startingWith(first: Buffer, others: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first;
    yield* others;
  } finally {
    // Whoever stops at the first piece closes the file too.
    await others.return(undefined);
  }
}
