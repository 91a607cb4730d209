/** `cambist plan POLICY`: what a run of today would do, and why each number is what it is. Reads only. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { requireWritable } from '../../operations/new-file.ts';
import { contentOf, writeContent } from '../../operations/approve/plan-content.ts';
import { nonEmpty } from '../terminal/options.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { todayIn } from '../../calendar/business-date.ts';
import {
  batchOption,
  expectCountOption,
  expectTotalOption,
  readBatchToRun,
  refuseBatch,
  requireBatchOfTotals,
  type BatchOptions,
} from '../batch.ts';
import { requireBatch, type BatchFile } from '../../operations/batches/file.ts';
import { chunksOfFile, firstUnpayable, type UnpayableRow } from '../../operations/batches/tally.ts';
import { readPolicy, readSettings } from '../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { indicativePrices, type IndicativePrice } from '../../operations/start/indicative-price.ts';
import { compileNow, requireCompiled } from '../../operations/start/compile-now.ts';
import {
  hasKnownPayments,
  seeLookAlikes,
  type SeenLookAlikes,
  type SeenMadeBefore,
  type SeenWithdrawals,
} from '../../operations/batches/look-alikes.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { explainPlan, planDocument } from '../views/plan-text.ts';
import { shortfallOf } from '../views/shortfall-text.ts';
import { beforeText, textOf } from '../views/look-alikes-text.ts';
import { unpayableDocument, unpayableLines } from '../views/unpayable-text.ts';
import { requireEnvironment } from '../../operations/policy-file.ts';
import { plain } from '../terminal/safe.ts';

type PlanOptions = JsonOption & BatchOptions & { readonly quote?: true; readonly out?: string };

export function addPlan(command: Command, session: Session): void {
  command
    .description(
      'Shows what a run of today would do and why each number is what it is, and of a rebalancing what would be left. ' +
        'Moves nothing. Needs the service and a key (read scope is enough), not Temporal.',
    )
    .argument('<policy>', 'policy file')
    .addOption(batchOption())
    .addOption(expectCountOption())
    .addOption(expectTotalOption())
    .option(
      '--out <file>',
      'write what will be done into this file, each row of a batch too: people can agree to it, and `approve --plan` holds the run to it',
      nonEmpty,
    )
    .option('--quote', 'ask the price of each leg by a quote of 3 s, which is never traded')
    .action((file: string, options: PlanOptions) =>
      act(session, options, (output) => plan(output, file, options)),
    );
  teach(command, {
    examples: [
      'npx cambist plan policies/mxn-supplier.yaml',
      'npx cambist plan policies/daily-treasury.yaml --quote',
      'npx cambist plan policies/mxn-supplier.yaml --json',
      'npx cambist plan policies/contractors.yaml --batch november.csv',
      'npx cambist plan policies/contractors.yaml --batch november.csv --out agreed.txt',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure', 'waiting'],
  });
}

async function plan(output: Output, file: string, options: PlanOptions): Promise<Ending> {
  const { io } = output;
  const policyFile = await readPolicy(output, file);
  refuseBatch(options, policyFile.policy);
  requireBatchOfTotals(options);
  requireBatch(policyFile.policy, options.batch ?? null);
  const settings = await readSettings(output);
  requireEnvironment(policyFile, settings);
  const { out } = options;
  if (out !== undefined)
    await requireWritable({ cwd: output.caller.cwd, read: [file, options.batch ?? []].flat() }, out);
  const { policy } = policyFile;
  const run = { policy: policy.name, id: todayIn(policy.zone, io.now()) };
  const batch = (await readBatchToRun(output, policyFile, options))?.file ?? null;
  const compiled = await compileNow({ policyFile, settings, run, batch, now: io.now });
  const { input, remark } = compiled;
  output.remark(remark);
  const made = requireCompiled(compiled);
  const prices = options.quote === true ? await indicativePrices(settings, made, input.observation) : [];
  const seen = hasKnownPayments(policy)
    ? await seeLookAlikes({ settings, run, policy, batch, ours: null, now: io.now })
    : { alike: null, before: null };
  const unpayable =
    batch === null || made.batch === null ? [] : await firstUnpayable(batch, made.batch, SHOWN);
  if (out !== undefined) await writeOut(output, { out, made, batch });
  return show(output, { file, batch, made, input, prices, ...seen, unpayable });
}

async function writeOut(
  { caller: { cwd } }: Output,
  {
    out,
    made,
    batch,
  }: {
    readonly out: string;
    readonly made: Plan;
    readonly batch: BatchFile | null;
  },
): Promise<void> {
  const rows: BatchPayment[] = [];
  if (batch !== null) for await (const { payments } of chunksOfFile(batch)) rows.push(...payments);
  await writeContent({ cwd }, out, contentOf(made, rows));
}

/** At most this many payments of each reason that cannot be paid are named. */
const SHOWN = 50;

/** A remark for `plan`, which does not ask Temporal. */
const NOT_ASKED =
  'Temporal was not asked, so some of them may be payments of Cambist. `run` asks it, and starts nothing before a person approves the others.';

function documentOf({ records, payments, sums, first }: SeenLookAlikes) {
  const shown = first.map(({ record, item, others }) => ({
    withdrawalId: record.id,
    createdAt: record.createdAt,
    account: record.withdrawalAccountId,
    currency: record.currency,
    amount: record.withdrawalAmount,
    item,
    others,
  }));
  return { lookAlikes: { records, payments, sums, first: shown } };
}

function beforeDocument({ payments, near, sums, first }: SeenMadeBefore) {
  const shown = first.map(({ payment: [item, account, currency, amount], made, isNear, others }) => ({
    item,
    account,
    currency,
    amount,
    isNear,
    run: made.run,
    madeAs: made.item,
    withdrawalId: made.record.id,
    createdAt: made.record.createdAt,
    others,
  }));
  return { madeBefore: { payments, near, sums, first: shown } };
}

function show(
  output: Output,
  of: {
    readonly file: string;
    readonly batch: BatchFile | null;
    readonly made: Plan;
    readonly input: CompileInput;
    readonly prices: readonly IndicativePrice[];
    readonly unpayable: readonly UnpayableRow[];
  } & SeenWithdrawals,
): Ending {
  const { file, batch, made, input, prices, alike, before, unpayable } = of;
  const shortfall = shortfallOf(made, input.observation);
  // A plan without a leg and without a batch waits for no money.
  const waits = made.rules.shortfall === 'hold' && (made.legs.length > 0 || made.batch !== null);
  const ending: Ending = shortfall === null ? 'done' : waits ? 'waiting' : 'refused by us';
  const document = {
    ...planDocument(made, input, prices),
    ...(made.batch !== null && unpayableDocument({ run: made.run, batch: made.batch }, unpayable)),
    ...(alike !== null && documentOf(alike)),
    ...(before !== null && beforeDocument(before)),
  };
  output.document({ ...document, exitCode: EXIT_CODES[ending] });
  output.show(explainPlan(plain(made), plain(input), plain(prices), output));
  if (batch !== null && unpayable.length > 0 && made.batch !== null)
    output.say('', ...unpayableLines(batch.file, { run: made.run, batch: made.batch }, unpayable));
  if (alike !== null) output.say('', ...textOf(alike), NOT_ASKED);
  if (before !== null) output.say('', ...beforeText(before));
  const isTraded = input.observation.trades.length > 0;
  const next = isTraded ? 'It has traded already; how it stands:' : 'To run it:';
  const ofBatch = batch === null ? '' : ` --batch ${batch.file} --id ${made.run.id}`;
  output.say('', `Nothing was moved. ${next} npx cambist run ${file}${ofBatch}`);
  return ending;
}
