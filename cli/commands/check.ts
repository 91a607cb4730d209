/**
 * `cambist check FILE…`: every mistake of policies and of the files that they name, offline; with `--batch` also every
 * mistake of a batch file, to its last row.
 */
import { Option, type Command } from 'commander';
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
import { correctBatch } from '../../operations/batches/correct.ts';
import type { BatchFile } from '../../operations/batches/file.ts';
import type { CheckedBatch, Told } from '../../operations/batches/check.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { requireNew } from '../../operations/new-file.ts';
import type { Correction } from '../../language/batch/corrections.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Output } from '../terminal/output.ts';
import { resolve } from 'node:path';
import { checkFolder } from '../../operations/watch/own-policies.ts';
import { readPolicyFile, readDecimals } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';
import { count, paragraphOf, wrap } from '../terminal/text.ts';
import { nonEmpty } from '../terminal/options.ts';
import { batchTable, correctionsTable } from '../views/batch-text.ts';
import { countsOf, kindsOf } from '../views/kinds.ts';

type CheckOptions = JsonOption & BatchOptions & { readonly fix?: string };

export function addCheck(command: Command, session: Session): void {
  command
    .description(
      'Checks policy files, offline: every mistake at once, with its place, and what to write instead. A folder is checked as one of ' +
        'policies by which workers of live send (CAMBIST_POLICIES): nothing in it may bind nobody. With --batch ' +
        'also a file of payments, held against its policy to the last row; shows what it comes to in each currency.',
    )
    .argument('<file...>', 'policy files, or folders of policies of workers')
    .addOption(batchOption())
    .addOption(expectCountOption())
    .addOption(expectTotalOption())
    .addOption(
      new Option(
        '--fix <new>',
        'write the batch into this new file, corrected where the right text is certain; lists each correction, and what is left',
      ).argParser(nonEmpty),
    )
    .action((files: string[], options: CheckOptions) =>
      act(session, options, async (output) => {
        requireTogether(files, options);
        if (options.fix !== undefined) await requireNew(session.io, options.fix);
        return checkFiles(output, files, options);
      }),
    );
  teach(command, {
    examples: [
      'npx cambist check policies/mxn-supplier.yaml',
      'npx cambist check policies/*.yaml --json',
      'npx cambist check /etc/cambist/policies',
      'npx cambist check policies/contractors.yaml --batch november.csv --fix november-fixed.csv',
      'npx cambist check policies/contractors.yaml --batch policies/batches/contractors.csv \\\n      --expect-count 5 --expect-total "1560.50 EUR" --expect-total "2400 USD" \\\n      --expect-total "16500 MXN" --expect-total "980 GBP"',
    ],
    endings: ['done', 'bad input', 'configuration'],
  });
}

/** @throws CommandFailure for an option that needs another one */
function requireTogether(files: readonly string[], options: CheckOptions): void {
  requireBatchOfTotals(options);
  const { batch, fix } = options;
  if (fix !== undefined && batch === undefined)
    throw badOption(
      '--fix',
      'it corrects a batch, and none is named',
      'Name the file of payments by --batch.',
    );
  if (batch !== undefined && files.length !== 1)
    throw badOption('--batch', 'a batch is checked with one policy', 'Name only its own policy.');
}

function badOption(place: string, message: string, fix: string): CommandFailure {
  return new CommandFailure('bad input', [{ code: 'BAD_COMMAND_LINE', place, message, fix }]);
}

async function checkFiles(output: Output, files: readonly string[], options: CheckOptions): Promise<Ending> {
  const { io, paint } = output;
  const decimals = await readDecimals(io);
  const problems: Trouble[] = [];
  const warnings: Trouble[] = [];
  let batch: CheckedBatch | null = null;
  let corrections: readonly Correction[] | null = null;
  const checked: {
    file: string;
    ok: boolean;
    policy: { name: string; kind: string; environment: string; hash: string } | null;
  }[] = [];
  for (const file of files) {
    const folder = await checkFolder(resolve(io.cwd, file), decimals);
    if (folder !== null) {
      problems.push(...folder.troubles);
      show(output, { count: folder.troubles.length, first: folder.troubles }, '');
      const verdict =
        folder.troubles.length > 0
          ? paint.bad(count(folder.troubles.length, 'mistake'))
          : `${paint.good('ok')} (${folder.policies.length} ${folder.policies.length === 1 ? 'policy' : 'policies'})`;
      output.show(`${plain(file)}: ${verdict}`);
      checked.push({ file, ok: folder.troubles.length === 0, policy: null });
      continue;
    }
    const loaded = await readPolicyFile(file, { cwd: io.cwd, decimals, nowMs: io.now() });
    const { policyFile } = loaded;
    const policy = policyFile?.policy;
    problems.push(...loaded.problems);
    warnings.push(...loaded.warnings);
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
    show(output, { count: loaded.problems.length, first: loaded.problems }, '');
    show(output, { count: loaded.warnings.length, first: loaded.warnings }, WARNING);
    const verdict =
      policy === undefined
        ? paint.bad(count(loaded.problems.length, 'mistake'))
        : `${paint.good('ok')} (${policy.kind}, ${policy.environment})`;
    output.show(`${plain(file)}: ${verdict}`);
    if (options.batch === undefined) continue;
    if (policyFile === null) {
      const unwritten = options.fix === undefined ? '' : ` ${options.fix} is not written.`;
      output.say(`${options.batch} is not checked: its policy has mistakes.${unwritten}`);
      continue;
    }
    refuseBatch(options, policyFile.policy);
    if (!isPayout(policyFile)) continue;
    const asGiven = { file: options.batch, cwd: io.cwd, policyFile, decimals };
    if (options.fix !== undefined) corrections = await correct(output, asGiven, options.fix);
    batch = await checkBatchFile(output, { ...asGiven, file: options.fix ?? options.batch }, options);
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
        ...(corrections !== null && { corrections }),
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

/** Writes the corrected file, and lists what is corrected. */
async function correct(output: Output, batch: BatchFile, out: string): Promise<readonly Correction[]> {
  const corrections = await correctBatch(batch, out);
  if (corrections.length > 0) output.show(`${correctionsTable(corrections, output.width)}\n`);
  const made = corrections.length === 0 ? 'no correction' : count(corrections.length, 'correction');
  output.say(`${out}: ${batch.file} with ${made}.`, '');
  return corrections;
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
    if (options.fix !== undefined)
      output.say(`Only you can say what is right there: correct it in ${file}, and check that file again.`);
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
