/**
 * Checks a batch file against its policy, offline: every mistake in every row, the sums, and the chunks in which the file
 * would be submitted.
 */
import type { ChunkDigest, Manifest } from '../../domain/batch.ts';
import { chunksOf } from '../../language/batch/chunks.ts';
import { againstExpected, type ControlTotals, type CurrencyTotal } from '../../language/batch/totals.ts';
import { troubleOfPolicy, type Trouble } from '../../language/text/problem.ts';
import { openBatch, type BatchFile } from './file.ts';

/** `count`: how many there are in all; `first`: those that are kept to be shown. */
export type Told = { readonly count: number; readonly first: readonly Trouble[] };

/** The result of checking. */
export type CheckedBatch = {
  readonly file: string;
  /** All rows, also those with mistakes. */
  readonly payments: number;
  /** Sums of the rows whose amount and currency could be read. */
  readonly currencies: readonly CurrencyTotal[];
  readonly mistakes: Told;
  readonly warnings: Told;
  /** What a run of the file is started with; null where there is a mistake. */
  readonly manifest: Manifest | null;
};

/** Reads the whole file. `onRows` is told now and then how many rows are read. */
export async function checkBatch(
  batch: BatchFile,
  options: {
    readonly expected: ControlTotals;
    /** At most this many mistakes, and as many warnings, are kept. */
    readonly mostFindings: number;
    readonly onRows: (rows: number) => void;
  },
): Promise<CheckedBatch> {
  const { file } = batch;
  const { expected, mostFindings, onRows } = options;
  const opened = await openBatch(batch, mostFindings);
  if (!opened.ok) {
    const mistakes = { count: 1, first: [opened.problem] };
    return { file, payments: 0, currencies: [], mistakes, warnings: NOTHING, manifest: null };
  }
  const { reader } = opened;
  const chunks: ChunkDigest[] = [];
  const timer = setInterval(() => onRows(reader.totals.rows), BETWEEN_MS);
  try {
    for await (const { payments, hash } of chunksOf(reader.rows()))
      chunks.push({ payments: payments.length, hash });
  } finally {
    clearInterval(timer);
  }
  const { totals, findings } = reader;
  const unexpected = againstExpected(totals, expected, batch.decimals).map(
    ({ mistake, message, fix }): Trouble => ({
      code: `BATCH_${mistake}`,
      place: mistake === 'CONTROL_COUNT' ? '--expect-count' : '--expect-total',
      message,
      fix: `${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`,
    }),
  );
  const mistakes = {
    count: findings.mistakes.count + unexpected.length,
    first: [...findings.mistakes.first.map(troubleOfPolicy), ...unexpected],
  };
  const sums = totals.currencies.map(({ currency, sum }) => ({ currency, value: sum }));
  return {
    file,
    payments: totals.rows,
    currencies: totals.currencies,
    mistakes,
    warnings: { count: findings.warnings.count, first: findings.warnings.first.map(troubleOfPolicy) },
    manifest: mistakes.count > 0 ? null : { payments: totals.rows, totals: sums, chunks },
  };
}

const NOTHING: Told = { count: 0, first: [] };
const BETWEEN_MS = 300;
