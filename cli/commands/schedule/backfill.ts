/** `cambist schedule backfill NAME`: starts the schedule's runs of past dates now. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { runName } from '../../../domain/references.ts';
import { EXIT_CODES, endingOf, endingOfCode, firstOf } from '../../../operations/exit-codes.ts';
import { atPlace, type Place } from '../../../operations/place.ts';
import { readRun, reasonsOf } from '../../../operations/follow/read-run.ts';
import { describeRun } from '../../../operations/follow/runs.ts';
import type { Start } from '../../../operations/schedules/came.ts';
import { backfillSchedule } from '../../../operations/schedules/starts.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../../command.ts';
import { confirmSchedule } from '../../confirm-live.ts';
import { showStart } from '../../show-start.ts';
import type { Output } from '../../terminal/output.ts';
import { startDocument, toldOf } from '../../views/schedules-text.ts';

type BackfillOptions = JsonOption & {
  readonly from: string;
  readonly to: string;
  readonly wait?: true;
  readonly yes?: true;
};

export function addScheduleBackfill(command: Command, session: Session): void {
  command
    .description(
      'Starts the runs of past dates by the schedule of a policy, as `run --id DATE` would: a date that has run shows its ' +
        'report and sends nothing, and one that is over and has no run is refused. So it makes up for today’s, if that ' +
        'was missed.',
    )
    .argument('<name>', 'name of the policy')
    .requiredOption('--from <date>', 'the first date, like 2026-11-23')
    .requiredOption('--to <date>', 'the last date; today at the latest')
    .option('--wait', 'stay while the run is held, until it ends')
    .option('--yes', 'do not ask before live money moves')
    .action((name: string, options: BackfillOptions) =>
      act(session, options, (output) => backfill(output, name, options)),
    );
  teach(command, {
    examples: ['npx cambist schedule backfill daily-treasury --from 2026-11-23 --to 2026-11-23'],
    endings: [...RUN_ENDINGS, 'detached'],
  });
}

async function backfill(output: Output, name: string, options: BackfillOptions): Promise<Ending> {
  const { from, to } = options;
  return atPlace(output.caller, null, async (place) => {
    await confirmSchedule(output, {
      mode: place.mode,
      isAnswered: options.yes === true,
      words: `schedule backfill ${name}`,
      what: `the runs of "${name}" from ${from} to ${to}, with the policy as it was applied`,
    });
    const range = { from, to, nowMs: output.io.now() };
    const { starts, without } = await backfillSchedule(place, name, range, (why) => output.note(why));
    if (without.length > 0)
      output.note(`Without a run, by the schedule: ${without.map(({ date }) => date).join(', ')}.`);
    const [only, ...others] = starts;
    if (only !== undefined && others.length === 0)
      return showStart(output, place, { start: only, stay: options.wait === true });
    const endings: Ending[] = [];
    for (const start of starts) {
      output.say(`${runName(start.run)}: ${toldOf(start)}`);
      endings.push(await endingOfStart(place, start));
    }
    const ending = firstOf(endings);
    output.document({
      backfilled: starts.map(startDocument),
      without: without.map(({ date }) => date),
      exitCode: EXIT_CODES[ending],
    });
    return ending;
  });
}

async function endingOfStart(place: Place, { came, run }: Start): Promise<Ending> {
  if (came.kind === 'refused') return firstOf(came.problems.map(({ code }) => endingOfCode(code)));
  if (came.kind !== 'done') return 'infrastructure';
  const facts = came.result.kind === 'day off' ? null : await describeRun(place.client, place.mode, run);
  if (facts === null) return 'done';
  const { report, progress } = await readRun(place, facts);
  return endingOf(report, facts.isOpen ? reasonsOf(progress) : []);
}
