/** Opens a batch file. The file is opened anew each time that it is read, and only one reader uses it. */
import { isAbsolute, join } from 'node:path';
import type { PayoutPolicy, Policy } from '../../domain/policy.ts';
import { openByteFile } from '../../config/read-text-file.ts';
import type { BatchReader } from '../../language/batch/batch-reader.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { CommandFailure } from '../failure.ts';
import type { PolicyFile } from '../policy-file.ts';

/** A batch file, and what its rows are checked against. */
export type BatchFile = {
  /** Its name on the command line. */
  readonly file: string;
  readonly cwd: string;
  readonly policyFile: Pick<PolicyFile, 'destinations'> & { readonly policy: PayoutPolicy };
  /** `ServiceFacts.decimals`. */
  readonly decimals: Readonly<Record<string, number>>;
};

/** @param mostFindings at most this many mistakes, and as many warnings, are kept */
export async function openBatch(
  { file, cwd, policyFile, decimals }: BatchFile,
  mostFindings: number,
): Promise<
  { readonly ok: true; readonly reader: BatchReader } | { readonly ok: false; readonly problem: Trouble }
> {
  const opened = await openBytes({ file, cwd });
  if (!opened.ok) return opened;
  // Only a command that reads a batch waits for the parser to load.
  const { BatchReader } = await import('../../language/batch/batch-reader.ts');
  const { policy, destinations } = policyFile;
  return {
    ok: true,
    reader: new BatchReader(opened.chunks, { file, policy, destinations, decimals, mostFindings }),
  };
}

/** The bytes of a batch file. */
export async function openBytes({
  file,
  cwd,
}: Pick<BatchFile, 'file' | 'cwd'>): Promise<
  | { readonly ok: true; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly ok: false; readonly problem: Trouble }
> {
  const opened = await openByteFile(isAbsolute(file) ? file : join(cwd, file));
  if (opened.ok) return opened;
  const problem: Trouble = {
    code: opened.isMissing ? 'FILE_NOT_FOUND' : 'FILE_UNREADABLE',
    place: file,
    message: opened.message,
    fix: 'Check the path; it is relative to the working folder.',
  };
  return { ok: false, problem };
}

/** @throws CommandFailure where a payout has no file */
export function requireBatch({ kind }: Policy, batch: unknown): void {
  if (kind !== 'payout' || batch !== null) return;
  throw new CommandFailure('bad input', [
    {
      code: 'BATCH_MISSING',
      place: '--batch',
      message: 'the policy is of kind payout, and its file of payments is not named',
      fix: 'Name it, as in --batch november.csv.',
    },
  ]);
}
