/** `cambist report RUN`: what a run did, or has done so far. */
import { Option, type Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { seenAs, type Report } from '../../domain/run/report.ts';
import type { Settings } from '../../config/config.ts';
import { readSettings } from '../arguments.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { endingOf } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { planOf, requireOwnPlan } from '../../operations/decide/plan-made.ts';
import { atPlace, uiAddress, type Place } from '../../operations/place.ts';
import { atService } from '../../operations/preflight.ts';
import { readLive, refreshReport } from '../../operations/follow/refresh.ts';
import { reportText } from '../views/report-text.ts';
import { parseRun } from '../../operations/named-run.ts';
import {
  readOutline,
  readParts,
  reasonsOf,
  readRun,
  type RunView,
} from '../../operations/follow/read-run.ts';
import { withSigners } from '../../operations/follow/approved-by.ts';
import { policyOfRun, requireRun, type RunFacts } from '../../operations/follow/runs.ts';
import type { BatchFile } from '../../operations/batches/file.ts';
import { requireSameBatch } from '../../operations/batches/same-batch.ts';
import { cameBackOf, viewWithCameBack } from '../came-back.ts';
import { asNow, type AsNow } from '../../operations/watch/came-back.ts';
import { batchOption, readBatchToRun, refuseBatch, type BatchOption } from '../batch.ts';
import { requireOut, type OutOption } from '../out.ts';
import { outOption, saveResults } from '../results.ts';

type ReportOptions = JsonOption &
  BatchOption &
  OutOption & { readonly refresh?: true; readonly jsonl?: true };

export function addReport(command: Command, session: Session): void {
  command
    .description(
      'Shows the report of a run: legs, payments, totals, problems. Works on closed runs too, as long as Temporal keeps ' +
        'them and a worker is there to answer. With --json it is the shape of policies/report.schema.json.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .option('--refresh', 'read every record at the service now, and show what differs; decides nothing')
    .addOption(
      new Option(
        '--jsonl',
        'print JSON Lines, for large batches: the run, then its payments and problems',
      ).conflicts(['json', 'refresh']),
    )
    .addOption(batchOption())
    .addOption(outOption())
    .action((name: string, options: ReportOptions) => {
      const json = options.json ?? options.jsonl;
      return act(session, json === undefined ? {} : { json }, (output) => report(output, name, options));
    });
  teach(command, {
    examples: [
      'npx cambist report mxn-supplier.2026-11-21',
      'npx cambist report sandbox/mxn-supplier.2026-11-21 --json',
      'npx cambist report mxn-supplier.2026-11-21 --refresh',
      'npx cambist report contractors.2026-11-21-weekly --jsonl',
      'npx cambist report contractors.2026-11-21-weekly --batch november.csv --out results.csv',
    ],
    endings: RUN_ENDINGS,
  });
}

async function report(output: Output, name: string, options: ReportOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const settings = options.refresh === true ? await readSettings(output) : null;
  await requireOut(output, options, []);
  return atPlace(output.caller, mode ?? settings?.mode ?? null, async (place) => {
    const facts = await requireRun(place, run);
    const batch = await batchOfRun(output, place, facts, options);
    const save = async (now: AsNow | null): Promise<void> => {
      if (batch !== null) await saveResults(output, place, { run, batch, out: options.out, asNow: now });
    };
    if (options.jsonl === true) {
      const now = await cameBackOf(output, place, facts);
      const ending = await showLines(output, place, facts, now);
      await save(now);
      return ending;
    }
    const folder = output.caller.env['CAMBIST_POLICIES'] || null;
    const view = await withSigners(place, await readRun(place, facts), folder);
    if (settings === null) {
      const now = await viewWithCameBack(output, place, view);
      await save(asNow(now.report));
      return showReport(output, place, now);
    }
    const plan = await planOf(place, run);
    if (plan !== null) requireOwnPlan(settings, plan);
    return showRefreshed(output, place, { view, settings, save });
  });
}

/** The report, one line after another as it is read: first the run as a whole, then each payment, and last the problems. */
async function showLines(output: Output, place: Place, facts: RunFacts, now: AsNow | null): Promise<Ending> {
  let whole: Report | null = null;
  for await (const { report: told, traceIds } of readParts(place, facts)) {
    const part = now?.part(told) ?? told;
    const { payments, problems, ...run } = part;
    if (whole === null) output.line({ run });
    const seenPaid = seenAs('paid', part);
    for (const [index, payment] of payments.entries())
      output.line({
        payment,
        traceId: traceIds?.[index] ?? null,
        seenPaidAt: seenPaid.get(payment.id) ?? null,
      });
    for (const problem of problems) output.line({ problem });
    const wrong = new Set(problems.map(({ item }) => item));
    const kept = payments.filter(({ id }) => wrong.has(id));
    whole ??= { ...part, payments: [], problems: [] };
    whole = { ...whole, payments: whole.payments.concat(kept), problems: whole.problems.concat(problems) };
  }
  if (whole === null) throw new RangeError('A report has at least one part.');
  const reasons = facts.isOpen ? reasonsOf((await readOutline(place, facts)).progress) : [];
  return endingOf(whole, reasons);
}

/** The file of payments that the run pays, checked as when a run is started; null: the person named none. */
async function batchOfRun(
  output: Output,
  place: Place,
  facts: RunFacts,
  options: BatchOption,
): Promise<BatchFile | null> {
  if (options.batch === undefined) return null;
  const policyFile = await policyOfRun(place, facts);
  refuseBatch(options, policyFile.policy);
  const read = await readBatchToRun(output, policyFile, options);
  if (read === null) return null;
  await requireSameBatch(place, { run: facts.run, batch: read, facts });
  return read.file;
}

/** Shows the report with the service's states of now, and the differences. */
async function showRefreshed(
  output: Output,
  place: Place,
  {
    view,
    settings,
    save,
  }: {
    readonly view: RunView;
    readonly settings: Settings;
    readonly save: (now: AsNow) => Promise<void>;
  },
): Promise<Ending> {
  const { facts } = settings;
  const { report: told } = view;
  const live = await atService(settings, (service, address) =>
    readLive(service, address, { run: view.facts.run, report: told, facts }),
  );
  const { report: now, differences } = refreshReport(told, live, facts, output.io.now());
  await save(asNow(now));
  const ending = showReport(output, place, { ...view, report: now });
  const lines = differences.map((difference) => `  ${difference}`);
  if (lines.length === 0) output.say('', 'The service says what the report says.');
  else output.say('', 'Different from the report:', ...lines);
  return ending;
}

/** Prints a report, and returns the exit code that it means. */
export function showReport(output: Output, place: Place, view: RunView): Ending {
  const { width, paint } = output;
  output.document(view.report);
  const nowMs = output.io.now();
  output.show(reportText({ report: view.report, uiUrl: uiAddress(place, view.facts), nowMs, width, paint }));
  return endingOf(view.report, view.facts.isOpen ? reasonsOf(view.progress) : []);
}
