/** A batch on the command line: `--batch` and its control totals, which belong to policies of kind payout. */
import { InvalidArgumentError, Option } from 'commander';
import { moneyText } from '../domain/currencies.ts';
import type { Money, PayoutPolicy, Policy } from '../domain/policy.ts';
import { money, readMoney } from '../language/text/leaves.ts';
import type { BatchFile } from '../operations/batches/file.ts';
import { checkBatch, type CheckedBatch } from '../operations/batches/check.ts';
import { CommandFailure } from '../operations/failure.ts';
import { countsOf, kindsOf } from './views/kinds.ts';
import { readDecimals, type PolicyFile } from '../operations/policy-file.ts';
import type { ReadBatch } from '../operations/batches/same-batch.ts';
import type { Output } from './terminal/output.ts';
import { count } from './terminal/text.ts';
import { rowCount } from './views/row-count.ts';

export type BatchOption = { readonly batch?: string };

/** With the control totals that the batch should have. */
export type BatchOptions = BatchOption & {
  readonly expectCount?: number;
  readonly expectTotal?: readonly Money[];
};

export function batchOption(): Option {
  return new Option('--batch <file>', 'a file of payments (CSV or JSON Lines), for a policy of kind payout');
}

export function expectCountOption(): Option {
  return new Option('--expect-count <count>', 'the batch must have so many payments').argParser(countFrom0);
}

export function expectTotalOption(): Option {
  return new Option(
    '--expect-total <total>',
    'the batch must pay so much in this currency, such as "12345.67 EUR"; once for each currency',
  ).argParser(addTotal);
}

function countFrom0(text: string): number {
  if (/^(?:0|[1-9][0-9]{0,8})$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number.');
}

const TOTAL = money({ description: '', example: '"12345.67 EUR"' });

function addTotal(text: string, before: readonly Money[] = []): readonly Money[] {
  const read = TOTAL.safeParse(text);
  if (!read.success)
    throw new InvalidArgumentError('Write an amount and its currency in quotes: "12345.67 EUR".');
  const total = readMoney(read.data);
  if (before.some(({ currency }) => currency === total.currency))
    throw new InvalidArgumentError(`A total in ${total.currency} is given already.`);
  return [...before, total];
}

/** @throws CommandFailure when a batch is named for a policy of another kind than payout */
export function refuseBatch(options: BatchOption, { kind }: Policy): void {
  if (options.batch === undefined || kind === 'payout') return;
  throw new CommandFailure('bad input', [
    {
      code: 'BATCH_OF_OTHER_KIND',
      place: '--batch',
      message: `only a policy of kind payout takes a batch, and this policy is of kind ${kind}`,
      fix: 'Leave --batch out; a convert policy lists its payments under `withdraw`.',
    },
  ]);
}

/** @throws CommandFailure where a control total is given without a batch */
export function requireBatchOfTotals({ batch, expectCount, expectTotal }: BatchOptions): void {
  if (batch !== undefined || (expectCount === undefined && expectTotal === undefined)) return;
  throw new CommandFailure('bad input', [
    {
      code: 'BAD_COMMAND_LINE',
      place: expectCount === undefined ? '--expect-total' : '--expect-count',
      message: 'it says what a batch should have, and no batch is named',
      fix: 'Name the file of payments by --batch.',
    },
  ]);
}

export function isPayout(
  policyFile: Pick<PolicyFile, 'destinations'> & { readonly policy: Policy },
): policyFile is Pick<PolicyFile, 'destinations'> & { readonly policy: PayoutPolicy } {
  return policyFile.policy.kind === 'payout';
}

/** At most this many mistakes are kept, and as many warnings; the rest is counted. A program can load so many with `--json`. */
const LISTED = 10_000;

/** Reads the whole file, and shows how many rows are read by now. */
export async function readBatch(
  output: Output,
  batch: BatchFile,
  { expectCount, expectTotal }: BatchOptions,
): Promise<CheckedBatch> {
  const progress = await rowCount(output, batch.file);
  return checkBatch(batch, {
    expected: { count: expectCount ?? null, sums: expectTotal ?? [] },
    mostFindings: LISTED,
    onRows: progress.show,
  }).finally(progress.close);
}

/**
 * The batch that is to run, read to its last row; null when the person named none.
 * @throws CommandFailure with its mistakes
 */
export async function readBatchToRun(
  output: Output,
  policyFile: Pick<PolicyFile, 'destinations' | 'policy'>,
  options: BatchOptions,
): Promise<ReadBatch | null> {
  if (options.batch === undefined || !isPayout(policyFile)) return null;
  const { caller } = output;
  const decimals = await readDecimals(caller);
  const file = { file: options.batch, cwd: caller.cwd, policyFile, decimals };
  const { mistakes, warnings, payments, currencies, manifest } = await readBatch(output, file, options);
  const few = kindsOf(warnings.first).flatMap((kind) => kind.few);
  for (const warning of few) output.warn(warning);
  const more = warnings.count - few.length;
  if (more > 0) output.note(`… and ${count(more, 'more warning')}; \`check\` with --json lists them.`);
  if (manifest === null) {
    const kinds = kindsOf(mistakes.first);
    throw new CommandFailure('bad input', [
      ...(output.isJson ? mistakes.first : kinds.flatMap((kind) => kind.few)),
      {
        code: 'BATCH_REFUSED',
        place: null,
        message: `${options.batch} has ${count(mistakes.count, 'mistake')} in ${count(payments, 'payment')}${countsOf(kinds)}; nothing was started`,
        fix: 'Correct the file, then type the same again. `check` shows more of them.',
      },
    ]);
  }
  const sums = currencies.map(({ currency, sum }) => moneyText(sum, currency, decimals));
  output.note(`${options.batch}: ${count(payments, 'payment')}, ${sums.join(', ')}.`);
  return { file, manifest };
}

/** A long submission shows a line at most this often. */
const BETWEEN_MS = 2_000;

/** Returns a function that is told how many payments are submitted, and that shows the number now and then. */
export function submissionCount(output: Output, batch: ReadBatch | null): (payments: number) => void {
  const { now, say } = output.caller;
  let saidAtMs = now();
  return (payments) => {
    if (batch === null || now() - saidAtMs < BETWEEN_MS) return;
    saidAtMs = now();
    say(`${payments} of ${batch.manifest.payments} payments are submitted …`);
  };
}
