/** A batch file held against its policy, offline: every mistake of every row, and what it comes to. */
import { isAbsolute, join } from 'node:path';
import type { PayoutPolicy } from '../domain/policy.ts';
import { openByteFile } from '../config/read-text-file.ts';
import { againstExpected, type ControlTotals, type CurrencyTotal } from '../language/batch/totals.ts';
import { troubleOfPolicy, type Trouble } from '../language/text/problem.ts';
import type { PolicyFile } from './policy-file.ts';

/** Told and counted: `first` are those that are kept. */
export type Told = { readonly count: number; readonly first: readonly Trouble[] };

/** What checking came to. */
export type CheckedBatch = {
  readonly file: string;
  /** Rows, those with mistakes included. */
  readonly payments: number;
  /** Of the rows whose amount and currency could be read. */
  readonly currencies: readonly CurrencyTotal[];
  readonly mistakes: Told;
  readonly warnings: Told;
};

/** Reads the whole file. `onRows` hears now and then how many rows are read. */
export async function checkBatch(
  file: string,
  options: {
    readonly cwd: string;
    readonly policyFile: Pick<PolicyFile, 'destinations'> & { readonly policy: PayoutPolicy };
    readonly decimals: Readonly<Record<string, number>>;
    readonly expected: ControlTotals;
    /** So many mistakes and so many warnings are kept. */
    readonly mostFindings: number;
    readonly onRows: (rows: number) => void;
  },
): Promise<CheckedBatch> {
  const { cwd, policyFile, decimals, expected, mostFindings, onRows } = options;
  const opened = await openByteFile(isAbsolute(file) ? file : join(cwd, file));
  if (!opened.ok) {
    const problem: Trouble = {
      code: opened.isMissing ? 'FILE_NOT_FOUND' : 'FILE_UNREADABLE',
      place: file,
      message: opened.message,
      fix: 'Check the path; it is relative to the working folder.',
    };
    return { file, payments: 0, currencies: [], mistakes: { count: 1, first: [problem] }, warnings: NOTHING };
  }
  // Only who checks a batch waits for its parser to load.
  const { BatchReader } = await import('../language/batch/batch-reader.ts');
  const { policy, destinations } = policyFile;
  const reader = new BatchReader(opened.chunks, { file, policy, destinations, decimals, mostFindings });
  const rows = reader.rows();
  const timer = setInterval(() => onRows(reader.totals.rows), BETWEEN_MS);
  try {
    while ((await rows.next()).done !== true);
  } finally {
    clearInterval(timer);
  }
  const { totals, findings } = reader;
  const unexpected = againstExpected(totals, expected).map(({ mistake, message, fix }): Trouble => ({
    code: `BATCH_${mistake}`,
    place: mistake === 'CONTROL_COUNT' ? '--expect-count' : '--expect-total',
    message,
    fix: `${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`,
  }));
  return {
    file,
    payments: totals.rows,
    currencies: totals.currencies,
    mistakes: {
      count: findings.mistakes.count + unexpected.length,
      first: [...findings.mistakes.first.map(troubleOfPolicy), ...unexpected],
    },
    warnings: { count: findings.warnings.count, first: findings.warnings.first.map(troubleOfPolicy) },
  };
}

const NOTHING: Told = { count: 0, first: [] };
const BETWEEN_MS = 300;
