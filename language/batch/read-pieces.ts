/** Reads a batch file piece by piece. The beginning of the file tells its form. */
import type { BatchColumns } from '../../domain/policy.ts';
import { csvRows, separatorOf, type CsvHeader } from './csv-rows.ts';
import { jsonRows } from './json-rows.ts';
import type { Piece } from './pieces.ts';
import type { PlainBytes } from './plain-bytes.ts';

/** @param onHeader called with the first line of CSV, before the first row */
export async function* readPieces(
  source: PlainBytes,
  columns: BatchColumns,
  onHeader: (header: CsvHeader) => void,
): AsyncGenerator<Piece> {
  const bytes = source.lines();
  const first = await bytes.next();
  if (first.done === true) return;
  const all = startingWith(first.value, bytes);
  if (source.isJson) {
    yield* jsonRows(all, columns);
    return;
  }
  const [firstLine = ''] = first.value
    .toString('utf8')
    .trimStart()
    .split(/[\r\n]/, 1);
  yield* csvRows(source, all, { separator: separatorOf(firstLine), columns, onHeader });
}

async function* startingWith(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}
