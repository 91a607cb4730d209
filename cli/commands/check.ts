/**
 * `cambist check FILE…`: every mistake of policies and of the files that they name, offline; with `--batch` also every
 * mistake of a batch file, to its last row.
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import {
  batchOption,
  expectCountOption,
  expectTotalOption,
  isPayout,
  readBatch,
  refuseBatch,
  requireBatchOfTotals,
  type BatchOptions,
} from '../batch.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { BatchFile } from '../../operations/batches/file.ts';
import type { CheckedBatch, Told } from '../../operations/batches/check.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Output } from '../terminal/output.ts';
import { readPolicyFile, readDecimals } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';
import { count, paragraphOf, wrap } from '../terminal/text.ts';
import { batchTable } from '../views/batch-text.ts';
import { countsOf, kindsOf } from '../views/kinds.ts';

type CheckOptions = JsonOption & BatchOptions;

export function addCheck(command: Command, session: Session): void {
  command
    .description(
      'Checks policy files, offline: every mistake at once, with its place, and what to write instead. With --batch ' +
        'also a file of payments, held against its policy to the last row; shows what it comes to in each currency.',
    )
    .argument('<file...>', 'policy files')
    .addOption(batchOption())
    .addOption(expectCountOption())
    .addOption(expectTotalOption())
    .action((files: string[], options: CheckOptions) =>
      act(session, options, (output) => {
        requireTogether(files, options);
        return checkFiles(output, files, options);
      }),
    );
  teach(command, {
    examples: [
      'npx cambist check policies/mxn-supplier.yaml',
      'npx cambist check policies/*.yaml --json',
      'npx cambist check policies/contractors.yaml --batch policies/batches/contractors.csv \\\n      --expect-count 5 --expect-total "1560.50 EUR" --expect-total "2400 USD" \\\n      --expect-total "16500 MXN" --expect-total "980 GBP"',
    ],
    endings: ['done', 'bad input', 'configuration'],
  });
}

/** @throws CommandFailure for an option that needs another one */
function requireTogether(files: readonly string[], options: CheckOptions): void {
  requireBatchOfTotals(options);
  if (options.batch === undefined || files.length === 1) return;
  throw new CommandFailure('bad input', [
    {
      code: 'BAD_COMMAND_LINE',
      place: '--batch',
      message: 'a batch is checked with one policy',
      fix: 'Name only its own policy.',
    },
  ]);
}

async function checkFiles(output: Output, files: readonly string[], options: CheckOptions): Promise<Ending> {
  const { io, paint } = output;
  const decimals = await readDecimals(io);
  const problems: Trouble[] = [];
  const warnings: Trouble[] = [];
  let batch: CheckedBatch | null = null;
  const checked: {
    file: string;
    ok: boolean;
    policy: { name: string; kind: string; environment: string; hash: string } | null;
  }[] = [];
  for (const file of files) {
    const read = await readPolicyFile(file, { cwd: io.cwd, decimals, nowMs: io.now() });
    const { policyFile } = read;
    const policy = policyFile?.policy;
    problems.push(...read.problems);
    warnings.push(...read.warnings);
    checked.push({
      file,
      ok: policyFile !== null,
      policy:
        policy === undefined
          ? null
          : {
              name: policy.name,
              kind: policy.kind,
              environment: policy.environment,
              hash: policyFile?.hash ?? '',
            },
    });
    show(output, { count: read.problems.length, first: read.problems }, '');
    show(output, { count: read.warnings.length, first: read.warnings }, WARNING);
    const verdict =
      policy === undefined
        ? paint.bad(count(read.problems.length, 'mistake'))
        : `${paint.good('ok')} (${policy.kind}, ${policy.environment})`;
    output.show(`${plain(file)}: ${verdict}`);
    if (options.batch === undefined) continue;
    if (policyFile === null) {
      output.say(`${options.batch} is not checked: its policy has mistakes.`);
      continue;
    }
    refuseBatch(options, policyFile.policy);
    if (!isPayout(policyFile)) continue;
    batch = await checkBatchFile(output, { file: options.batch, cwd: io.cwd, policyFile, decimals }, options);
    problems.push(...batch.mistakes.first);
    warnings.push(...batch.warnings.first);
  }
  const ending: Ending = problems.length === 0 ? 'done' : 'bad input';
  output.document({
    files: checked,
    ...(batch !== null && {
      batch: {
        file: batch.file,
        ok: batch.mistakes.count === 0,
        payments: batch.payments,
        currencies: batch.currencies,
        mistakes: batch.mistakes.count,
        warnings: batch.warnings.count,
        notListed: { mistakes: leftOut(batch.mistakes), warnings: leftOut(batch.warnings) },
      },
    }),
    problems,
    warnings,
    exitCode: EXIT_CODES[ending],
  });
  return ending;
}

/** How many problems are counted and not shown. */
function leftOut({ count: all, first }: Told): number {
  return all - first.length;
}

async function checkBatchFile(
  output: Output,
  batch: BatchFile,
  options: CheckOptions,
): Promise<CheckedBatch> {
  const { paint, width } = output;
  const checked = await readBatch(output, batch, options);
  const { file, mistakes, warnings, payments, currencies } = checked;
  show(output, mistakes, '');
  show(output, warnings, WARNING);
  if (mistakes.count > 0) {
    const among = payments === 0 ? '' : ` in ${count(payments, 'payment')}`;
    const kinds = countsOf(kindsOf(mistakes.first));
    output.show(
      wrap(`${plain(file)}: ${paint.bad(count(mistakes.count, 'mistake'))}${among}${kinds}`, width, '  '),
    );
  } else
    output.show(
      `${plain(file)}: ${paint.good('ok')}, ${count(payments, 'payment')}\n\n${batchTable(currencies, batch.decimals, width)}`,
    );
  return checked;
}

const WARNING = 'warning';

function show(output: Output, { count: all, first }: Told, word: string): void {
  const { isJson, paint, width } = output;
  // People would not read all of them, and wrapping thousands of lines takes seconds.
  if (isJson) return;
  const lead = word === '' ? '' : `${paint.warn(word)} `;
  const left = word === '' ? width : width - word.length - 1;
  for (const { code, count: ofKind, few } of kindsOf(first)) {
    for (const trouble of few) output.show(`${lead}${paragraphOf(trouble, left)}\n`);
    if (ofKind > few.length) output.show(`… and ${ofKind - few.length} more ${code}.\n`);
  }
  const more = leftOut({ count: all, first });
  if (more > 0)
    output.say(
      `… and ${count(more, word === '' ? 'more mistake' : 'more warning')} of which the kind is not told.`,
      '',
    );
}
