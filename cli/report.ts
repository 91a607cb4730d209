/** `cambist report RUN`: what a run did, or has done so far. */
import type { Command } from 'commander';
import { runName, type RunName } from '../domain/references.ts';
import { loadSettings, type Settings } from '../worker/config.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { endingOf, type Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import type { Output } from './output.ts';
import { planOf, requireOwnPlan } from './pinned-plan.ts';
import { atPlace, uiAddress, type Place } from './place.ts';
import { atService } from './preflight.ts';
import { readLive, refreshReport } from './refresh.ts';
import { reportText } from './report-text.ts';
import { parseRun } from './run-names.ts';
import { describeRun, holdsOf, readRun, type RunFacts, type RunView } from './runs.ts';

type ReportOptions = JsonOption & { readonly refresh?: true };

export function addReport(program: Command, session: Session): void {
  const command = program
    .command('report')
    .summary('shows what a run did')
    .description(
      'Shows the report of a run: legs, payments, totals, problems. Works on closed runs too, as long as Temporal keeps ' +
        'them and a worker is there to answer. With --json it is the shape of policies/report.schema.json.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .option('--refresh', 'read every record at the service now, and show what differs; decides nothing')
    .action((name: string, options: ReportOptions) =>
      act(session, options, (output) => report(output, name, options)),
    );
  teach(command, {
    examples: [
      'cambist report mxn-supplier.2026-11-21',
      'cambist report sandbox/mxn-supplier.2026-11-21 --json',
      'cambist report mxn-supplier.2026-11-21 --refresh',
    ],
    endings: [
      'done',
      'bad input',
      'configuration',
      'refused by us',
      'refused by the service',
      'needs a human',
      'infrastructure',
      'waiting',
    ],
  });
}

async function report(output: Output, name: string, options: ReportOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const { io } = output;
  const settings = options.refresh === true ? await loadSettings(io.env, io.cwd) : null;
  for (const warning of settings?.warnings ?? []) output.note(warning);
  return atPlace(io, mode ?? settings?.mode ?? null, async (place) => {
    const view = await readRun(place.client, await requireRun(place, run));
    if (settings === null) return showReport(output, place, view);
    const plan = await planOf(place, run);
    if (plan !== null) requireOwnPlan(settings, plan);
    return showRefreshed(output, place, view, settings);
  });
}

/** The report with the service's words of this moment, and what is different from it. */
async function showRefreshed(
  output: Output,
  place: Place,
  view: RunView,
  settings: Settings,
): Promise<Ending> {
  const { facts } = settings;
  const { report: told } = view;
  const live = await atService(settings, (service, address) =>
    readLive(service, address, { run: view.facts.run, report: told, facts }),
  );
  const { report: now, differences } = refreshReport(told, live, facts, output.io.now());
  const ending = showReport(output, place, { ...view, report: now });
  const lines = differences.map((difference) => `  ${difference}`);
  if (lines.length === 0) output.say('', 'The service says what the report says.');
  else output.say('', 'Different from the report:', ...lines);
  return ending;
}

/** Prints a report; the ending is what it means. */
export function showReport(output: Output, place: Place, view: RunView): Ending {
  const { width, paint } = output;
  output.document(view.report);
  output.show(reportText({ report: view.report, uiUrl: uiAddress(place, view.facts), width, paint }));
  return endingOf(view.report, view.facts.isOpen ? holdsOf(view.progress) : []);
}

/** @throws CommandFailure when Temporal knows no such run */
export async function requireRun(place: Place, run: RunName): Promise<RunFacts> {
  const facts = await describeRun(place.client, place.mode, run);
  if (facts !== null) return facts;
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_NOT_FOUND',
      place: runName(run),
      message: `Temporal knows no run of this name in mode ${place.mode}, namespace "${place.namespace}"`,
      fix: 'See `cambist list`. A run older than the namespace keeps is no longer known; the service still has its records.',
    },
  ]);
}
