/** `cambist schedule next POLICY…`: the coming runs of policies, and the days that are left out, with the reason. Offline. */
import type { Command } from 'commander';
import { daysOffOf } from '../../../calendar/holidays.ts';
import { comingDays } from '../../../calendar/schedule.ts';
import type { Ending } from '../../../domain/endings.ts';
import type { Trouble } from '../../../language/text/problem.ts';
import { EXIT_CODES } from '../../../operations/exit-codes.ts';
import { readDecimals, readPolicyFile, type PolicyFile } from '../../../operations/policy-file.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import { countFrom1 } from '../../terminal/options.ts';
import type { Output } from '../../terminal/output.ts';
import { paragraphOf } from '../../terminal/text.ts';
import { comingDocument, comingText, type Coming } from '../../views/schedule-text.ts';

const USUAL_COUNT = 10;

type NextOptions = JsonOption & { readonly count: number };

export function addScheduleNext(command: Command, session: Session): void {
  command
    .description(
      'Shows when policies will run by themselves: the coming runs, and between them the holidays and skipped dates on ' +
        'which they will not. Offline: it reads the files only, not what is applied to Temporal.',
    )
    .argument('<policy...>', 'policy files')
    .option('--count <count>', 'how many runs of each policy', countFrom1, USUAL_COUNT)
    .action((files: string[], options: NextOptions) =>
      act(session, options, async (output) => showNext(output, files, options.count)),
    );
  teach(command, {
    examples: [
      'npx cambist schedule next policies/daily-treasury.yaml',
      'npx cambist schedule next policies/*.yaml --count 3 --json',
    ],
    endings: ['done', 'bad input', 'configuration'],
  });
}

async function showNext(output: Output, files: readonly string[], count: number): Promise<Ending> {
  const { io } = output;
  const decimals = await readDecimals(io);
  const nowMs = io.now();
  const problems: Trouble[] = [];
  const warnings: Trouble[] = [];
  const policies: Coming[] = [];
  for (const file of files) {
    const read = await readPolicyFile(file, { cwd: io.cwd, decimals, nowMs });
    problems.push(...read.problems);
    warnings.push(...read.warnings);
    if (read.policyFile !== null) policies.push(await comingOf(read.policyFile, nowMs, count));
  }
  output.show(
    [
      ...policies.map((coming) => comingText(coming, output.width)),
      ...problems.map((problem) => paragraphOf(problem, output.width)),
    ].join('\n\n'),
  );
  for (const warning of warnings) output.warn(warning);
  if (policies.some(({ schedule }) => schedule !== null))
    output.note(
      `These are the dates of the files. To let Temporal start the runs: npx cambist schedule apply ${files.join(' ')}`,
    );
  const ending: Ending = problems.length === 0 ? 'done' : 'bad input';
  output.document({
    policies: policies.map(comingDocument),
    problems,
    warnings,
    exitCode: EXIT_CODES[ending],
  });
  return ending;
}

async function comingOf({ file, policy }: PolicyFile, nowMs: number, count: number): Promise<Coming> {
  const { name, zone, schedule } = policy;
  if (schedule === null) return { file, name, zone, schedule, days: [] };
  const daysOff = await daysOffOf(schedule.holidays);
  const days = comingDays({ schedule, zone, daysOff }, { fromMs: nowMs, runs: count });
  return { file, name, zone, schedule, days };
}
