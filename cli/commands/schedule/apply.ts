/** `cambist schedule apply`: makes the schedules in Temporal match the policy files; shows the difference first. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { EXIT_CODES } from '../../../operations/exit-codes.ts';
import { atPlace } from '../../../operations/place.ts';
import { readScheduleFiles } from '../../../operations/schedules/files.ts';
import { applyChange, judgeApply, type ScheduleChange } from '../../../operations/schedules/kept.ts';
import { tryChanges } from '../../../operations/schedules/trials.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import { confirmLive } from '../../confirm-live.ts';
import type { Output } from '../../terminal/output.ts';
import { armedLine, changeLines, leftOutLines } from '../../views/schedules-text.ts';
import { difference } from '../../views/difference.ts';

type ApplyOptions = JsonOption & { readonly prune?: true; readonly dryRun?: true; readonly yes?: true };

export function addScheduleApply(command: Command, session: Session): void {
  command
    .description(
      'Makes the schedules in Temporal match the policies: makes those that are missing, changes those that differ, and ' +
        'shows in words what differs before it changes anything. It asks a worker whether it could start them, and ' +
        'refuses what no start could read. It starts nothing. What is paused stays paused, with its ' +
        'note. Typed twice, the second time there is nothing to do. In live it asks first: what it applies trades by itself.',
    )
    .argument('<path...>', 'policy files, or folders of them')
    .option('--prune', 'also delete the schedules of this mode and task queue that none of the files has')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--yes', 'do not ask before schedules may move live money')
    .action((paths: string[], options: ApplyOptions) =>
      act(session, options, (output) => apply(output, paths, options)),
    );
  teach(command, {
    examples: [
      'npx cambist schedule apply policies --dry-run',
      'npx cambist schedule apply policies --prune',
      'npx cambist schedule apply policies/daily-treasury.yaml',
    ],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function apply(output: Output, paths: readonly string[], options: ApplyOptions): Promise<Ending> {
  const { caller } = output;
  return atPlace(caller, null, async (place): Promise<Ending> => {
    const { policies, left, warnings } = await readScheduleFiles(caller, paths, place.mode);
    for (const warning of warnings) output.warn(warning);
    output.note(...leftOutLines(left));
    const judged = await judgeApply(place, policies, {
      prune: options.prune === true,
      nowMs: caller.now(),
    });
    for (const change of judged) showChange(output, change);
    const changes = judged.filter(({ kind }) => kind !== 'same');
    const isDry = options.dryRun === true;
    for (const trouble of await tryChanges(place, changes)) output.warn(trouble);
    if (!isDry) {
      if (place.mode === 'LIVE') await confirm(output, judged, options);
      for (const change of changes) await applyChange(place, change);
    }
    output.document({
      dryRun: isDry,
      changes: judged.map((change) => ({
        policy: change.name,
        change: change.kind,
        lines: changeLines(change),
      })),
      left,
      exitCode: EXIT_CODES.done,
    });
    output.say(closing(judged, isDry));
    return 'done';
  });
}

/**
 * Asks before schedules may move live money. Deleting a schedule starts nothing, so for that alone it does not ask. @throws
 * CommandFailure without a yes
 */
async function confirm(
  output: Output,
  judged: readonly ScheduleChange[],
  options: ApplyOptions,
): Promise<void> {
  const armed = judged.flatMap((change) => armedLine(change) ?? []);
  if (armed.length === 0) return;
  await confirmLive(output, {
    isAnswered: options.yes === true,
    place: 'schedule apply',
    consequence: 'this lets schedules move live money by themselves',
    otherwise: 'nothing was changed',
    question: 'Let them move live money by themselves? Type yes: ',
    tell: () => Promise.resolve(armed),
  });
}

function showChange(output: Output, change: ScheduleChange): void {
  if (change.kind === 'same') return;
  output.say(...changeLines(change));
  if (change.kind !== 'update' || change.before.policyText === change.after.policyText) return;
  output.show(
    difference(
      { label: `${change.name} in Temporal`, text: change.before.policyText ?? '' },
      { label: change.after.policyFile ?? change.name, text: change.after.policyText ?? '' },
    ),
  );
}

function closing(judged: readonly ScheduleChange[], isDry: boolean): string {
  const many = (kind: ScheduleChange['kind']): number =>
    judged.filter((change) => change.kind === kind).length;
  const counts = [
    [many('create'), 'made'],
    [many('update'), 'changed'],
    [many('delete'), 'deleted'],
    [many('same'), 'as it was'],
  ] as const;
  const told = counts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  if (told.length === 0) return 'No file has a schedule, and nothing is to be deleted: nothing to do.';
  if (many('same') === judged.length) return `Nothing to do: ${told.join(', ')}.`;
  return isDry
    ? `Dry run, nothing was changed. It would be: ${told.join(', ')}.`
    : `Schedules: ${told.join(', ')}. When they run: npx cambist schedule list`;
}
