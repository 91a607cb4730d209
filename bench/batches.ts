/**
 * What checking a batch of 100,000 payments costs: as CSV, as JSON Lines, and as a file in which every row is wrong. In this
 * process, after a warm-up; CPU time, and how far the heap grows meanwhile.
 */
import { BatchReader } from '../language/batch/batch-reader.ts';
import { formatOf } from '../test/support/batch-format.ts';
import { counted, number, plain, timed, type Figure, type Section } from './figures.ts';

const ROWS = 100_000;
const MOST_MS = 3_000;
const ROWS_PER_CHUNK = 1_000;
const KEPT = 50;

type Measured = {
  readonly rows: number;
  readonly mistakes: number;
  readonly kept: number;
  readonly cpuMs: number;
  readonly fileBytes: number;
  readonly heapBytes: number;
};

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';

export async function measureBatches(): Promise<Section> {
  await measure(csvOf(1_000, 'MXN'));
  const csv = await measure(csvOf(ROWS, 'MXN'));
  const json = await measure(jsonOf(ROWS));
  const wrong = await measure(csvOf(ROWS, 'mxn'));
  return {
    title: `batch files of ${number(ROWS)} payments (CPU time)`,
    figures: [
      counted('payments read, CSV and JSON Lines', [csv.rows, json.rows], ROWS),
      counted('mistakes in them', [csv.mistakes, json.mistakes], 0),
      timeOf('  checked, CSV', csv),
      timeOf('  checked, JSON Lines', json),
      counted('mistakes in a file where each row is wrong', [wrong.mistakes], ROWS),
      counted('  kept of them', [wrong.kept], KEPT),
      timeOf('  checked', wrong),
      plain('the file, CSV', megabytes(csv.fileBytes)),
      plain('  by which the heap grew at most meanwhile', megabytes(csv.heapBytes)),
    ],
  };
}

function timeOf(name: string, { cpuMs }: Measured): Figure {
  return timed(name, `${number(cpuMs)} ms`, `under ${number(MOST_MS)} ms`, cpuMs < MOST_MS);
}

function megabytes(bytes: number): string {
  return `${number(bytes / 1_000_000)} MB`;
}

function* csvOf(rows: number, currency: string): Generator<Uint8Array> {
  yield Buffer.from('id,account,currency,amount,name,note\n');
  yield* chunksOf(
    rows,
    (id, amount) => `${id},${ACCOUNT},${currency},${amount},Marta Ruiz,"salary, November"\n`,
  );
}

function jsonOf(rows: number): Generator<Uint8Array> {
  return chunksOf(
    rows,
    (id, amount) =>
      `${JSON.stringify({ id, account: ACCOUNT, currency: 'MXN', amount, name: 'Marta Ruiz', note: 'salary, November' })}\n`,
  );
}

function* chunksOf(rows: number, rowOf: (id: string, amount: string) => string): Generator<Uint8Array> {
  for (let first = 0; first < rows; first += ROWS_PER_CHUNK) {
    const texts = Array.from({ length: ROWS_PER_CHUNK }, (_, index) => {
      const cents = String((first + index) % 100).padStart(2, '0');
      return rowOf(`inv-${first + index}`, `${((first + index) % 9_000) + 1}.${cents}`);
    });
    yield Buffer.from(texts.join(''));
  }
}

async function measure(chunks: Iterable<Uint8Array>): Promise<Measured> {
  let fileBytes = 0;
  const source = async function* (): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      await Promise.resolve();
      fileBytes += chunk.length;
      yield chunk;
    }
  };
  const reader = new BatchReader(source(), {
    file: 'bench.csv',
    policy: {
      environment: 'sandbox',
      rules: { limits: null },
      payout: { format: formatOf(), fund: { kind: 'none' } },
    },
    destinations: null,
    decimals: {},
    mostFindings: KEPT,
  });
  const heapBefore = process.memoryUsage().heapUsed;
  const cpuBefore = process.cpuUsage();
  let rows = 0;
  let heapBytes = 0;
  for await (const row of reader.rows()) {
    rows += 1;
    if (row.line % ROWS_PER_CHUNK === 0)
      heapBytes = Math.max(heapBytes, process.memoryUsage().heapUsed - heapBefore);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const { count, first } = reader.findings.mistakes;
  return { rows, mistakes: count, kept: first.length, cpuMs: (user + system) / 1_000, fileBytes, heapBytes };
}
