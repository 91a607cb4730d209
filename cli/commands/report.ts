/** `cambist report RUN`: what a run did, or has done so far. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { Settings } from '../../config/config.ts';
import { readSettings } from '../arguments.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { endingOf } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { planOf, requireOwnPlan } from '../../operations/plan-made.ts';
import { atPlace, uiAddress, type Place } from '../../operations/place.ts';
import { atService } from '../../operations/preflight.ts';
import { readLive, refreshReport } from '../../operations/refresh.ts';
import { reportText } from '../views/report-text.ts';
import { parseRun } from '../../operations/run-names.ts';
import { reasonsOf, readRun, requireRun, type RunView } from '../../operations/runs.ts';

type ReportOptions = JsonOption & { readonly refresh?: true };

export function addReport(command: Command, session: Session): void {
  command
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
      'npx cambist report mxn-supplier.2026-11-21',
      'npx cambist report sandbox/mxn-supplier.2026-11-21 --json',
      'npx cambist report mxn-supplier.2026-11-21 --refresh',
    ],
    endings: RUN_ENDINGS,
  });
}

async function report(output: Output, name: string, options: ReportOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const settings = options.refresh === true ? await readSettings(output) : null;
  return atPlace(output.caller, mode ?? settings?.mode ?? null, async (place) => {
    const view = await readRun(place, await requireRun(place, run));
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
  return endingOf(view.report, view.facts.isOpen ? reasonsOf(view.progress) : []);
}
