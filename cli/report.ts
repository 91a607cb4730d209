/** `cambist report RUN`: what a run did, or has done so far. */
import type { Command } from 'commander';
import { runName, type RunName } from '../domain/references.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { endingOf, type Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import type { Output } from './output.ts';
import { atPlace, uiAddress, type Place } from './place.ts';
import { reportText } from './report-text.ts';
import { parseRun } from './run-names.ts';
import { describeRun, holdsOf, readRun, type RunFacts, type RunView } from './runs.ts';

export function addReport(program: Command, session: Session): void {
  const command = program
    .command('report')
    .summary('shows what a run did')
    .description(
      'Shows the report of a run: legs, payments, totals, problems. Works on closed runs too, as long as Temporal keeps ' +
        'them and a worker is there to answer. With --json it is the shape of policies/report.schema.json.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .action((name: string, options: JsonOption) => act(session, options, (output) => report(output, name)));
  teach(command, {
    examples: [
      'cambist report mxn-supplier.2026-11-21',
      'cambist report sandbox/mxn-supplier.2026-11-21 --json',
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

async function report(output: Output, name: string): Promise<Ending> {
  const { run, mode } = parseRun(name);
  return atPlace(output.io, mode, async (place) => {
    const view = await readRun(place.client, await requireRun(place, run));
    return showReport(output, place, view);
  });
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
