/**
 * `cambist check FILE…`: every mistake of policies and of the files that they name, offline; with `--batch` also every
 * mistake of a batch file, to its last row.
 */
import { InvalidArgumentError, type Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { CheckedPolicy, Money, PayoutPolicy } from '../../domain/policy.ts';
import { batchOption, refuseBatch, type BatchOption } from '../batch.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { checkBatch, type CheckedBatch, type Told } from '../../operations/check-batch.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { money, readMoney } from '../../language/text/leaves.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Output } from '../terminal/output.ts';
import { checkPolicyFile, readDecimals, type PolicyFile } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';
import { count, paragraphOf } from '../terminal/text.ts';
import { batchTable } from '../views/batch-text.ts';
import { rowCount } from '../views/row-count.ts';

type CheckOptions = JsonOption &
  BatchOption & { readonly expectCount?: number; readonly expectTotal?: readonly Money[] };

export function addCheck(command: Command, session: Session): void {
  command
    .description(
      'Checks policy files, offline: every mistake at once, with its place, and what to write instead. With --batch ' +
        'also a file of payments, held against its policy to the last row; shows what it comes to in each currency.',
    )
    .argument('<file...>', 'policy files')
    .addOption(batchOption())
    .option('--expect-count <count>', 'the batch must have so many payments', countFrom0)
    .option(
      '--expect-total <total>',
      'the batch must pay so much in this currency, such as "12345.67 EUR"; once for each currency',
      addTotal,
    )
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

/** @throws CommandFailure where an option has nothing to belong to */
function requireTogether(files: readonly string[], { batch, expectCount, expectTotal }: CheckOptions): void {
  const wrong = (place: string, message: string, fix: string): CommandFailure =>
    new CommandFailure('bad input', [{ code: 'BAD_COMMAND_LINE', place, message, fix }]);
  if (batch !== undefined && files.length > 1)
    throw wrong('--batch', 'a batch is checked with one policy', 'Name only its own policy.');
  if (batch !== undefined) return;
  const place = expectCount !== undefined ? '--expect-count' : '--expect-total';
  if (expectCount !== undefined || expectTotal !== undefined)
    throw wrong(place, 'there is no batch of which it is expected', 'Name the file of payments by --batch.');
}

/** So many mistakes are shown, and as many warnings; the rest is counted. */
const SHOWN = 50;
/** So many are in the document of `--json`: a document that nobody could load helps nobody. */
const LISTED = 10_000;

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
    const read = await checkPolicyFile(file, { cwd: io.cwd, decimals, nowMs: io.now() });
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
    batch = await checkBatchFile(output, options.batch, { policyFile, decimals, options });
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
      },
    }),
    problems,
    warnings,
    exitCode: EXIT_CODES[ending],
  });
  return ending;
}

type OfPayout = Pick<PolicyFile, 'destinations'> & { readonly policy: PayoutPolicy };

function isPayout(
  policyFile: Pick<PolicyFile, 'destinations'> & { readonly policy: CheckedPolicy },
): policyFile is OfPayout {
  return policyFile.policy.kind === 'payout';
}

async function checkBatchFile(
  output: Output,
  file: string,
  of: {
    readonly policyFile: OfPayout;
    readonly decimals: Readonly<Record<string, number>>;
    readonly options: CheckOptions;
  },
): Promise<CheckedBatch> {
  const { policyFile, decimals, options } = of;
  const { io, paint, width } = output;
  const progress = await rowCount(output, file);
  const batch = await checkBatch(file, {
    cwd: io.cwd,
    policyFile,
    decimals,
    expected: { count: options.expectCount ?? null, sums: options.expectTotal ?? [] },
    mostFindings: output.isJson ? LISTED : SHOWN,
    onRows: progress.show,
  }).finally(progress.close);
  const { mistakes, warnings, payments, currencies } = batch;
  show(output, mistakes, '');
  show(output, warnings, WARNING);
  if (mistakes.count > 0) {
    const among = payments === 0 ? '' : ` in ${count(payments, 'payment')}`;
    output.show(`${plain(file)}: ${paint.bad(count(mistakes.count, 'mistake'))}${among}`);
  } else
    output.show(
      `${plain(file)}: ${paint.good('ok')}, ${count(payments, 'payment')}\n\n${batchTable(currencies, decimals, width)}`,
    );
  return batch;
}

const WARNING = 'warning';

function show(output: Output, { count: all, first }: Told, word: string): void {
  const { isJson, paint, width } = output;
  // Nobody would see them, and wrapping thousands of them takes seconds.
  if (isJson) return;
  const lead = word === '' ? '' : `${paint.warn(word)} `;
  const left = word === '' ? width : width - word.length - 1;
  for (const trouble of first) output.show(`${lead}${paragraphOf(trouble, left)}\n`);
  if (all > first.length)
    output.say(
      `… and ${count(all - first.length, word === '' ? 'more mistake' : 'more warning')}. --json lists more.`,
      '',
    );
}
