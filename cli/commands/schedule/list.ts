/**
 * `cambist schedule list`: the schedules in Temporal, with the last and the next start of each, and the runs that are
 * missing.
 */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { EXIT_CODES } from '../../../operations/exit-codes.ts';
import { atPlace } from '../../../operations/place.ts';
import { viewSchedules } from '../../../operations/schedules/starts.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import type { Output } from '../../terminal/output.ts';
import { scheduleDocument, schedulesText } from '../../views/schedules-text.ts';

export function addScheduleList(command: Command, session: Session): void {
  command
    .description(
      'Lists the schedules in Temporal: the last start of each and what came of it, the next one, what is paused and why, ' +
        'and the runs that were missed. Missed runs are not caught up; `list --attention` shows them too.',
    )
    .action((options: JsonOption) => act(session, options, list));
  teach(command, {
    examples: ['npx cambist schedule list', "npx cambist schedule list --json | jq '.schedules[].next[0]'"],
    endings: ['done', 'configuration', 'infrastructure'],
  });
}

async function list(output: Output): Promise<Ending> {
  return atPlace(output.caller, null, async (place): Promise<Ending> => {
    const views = await viewSchedules(place, output.io.now());
    output.document({ schedules: views.map(scheduleDocument), exitCode: EXIT_CODES.done });
    if (views.length === 0)
      output.say(
        `There are no schedules in mode ${place.mode}. \`npx cambist schedule apply policies\` makes those of your policies.`,
      );
    else output.show(schedulesText(views, output.width));
    return 'done';
  });
}
