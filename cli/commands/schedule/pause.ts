/** `cambist schedule pause NAME`: the schedule starts nothing by itself until it is resumed. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { atPlace } from '../../../operations/place.ts';
import { pauseSchedule } from '../../../operations/schedules/kept.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import { statement } from '../../terminal/options.ts';
import type { Output } from '../../terminal/output.ts';
import { loginName } from '../../terminal/login-name.ts';
import { showKept } from './show-kept.ts';

type PauseOptions = JsonOption & { readonly note?: string };

export function addSchedulePause(command: Command, session: Session): void {
  command
    .description(
      'Pauses the schedule of a policy: it starts nothing until it is resumed, whatever is applied meanwhile. Runs that ' +
        'are under way go on.',
    )
    .argument('<name>', 'name of the policy')
    .option('--note <text>', 'why; `schedule list` shows it; default: who paused it', statement)
    .action((name: string, options: PauseOptions) =>
      act(session, options, (output) => pause(output, name, options)),
    );
  teach(command, {
    examples: ['npx cambist schedule pause daily-treasury --note "year end, ask ana"'],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

async function pause(output: Output, name: string, { note }: PauseOptions): Promise<Ending> {
  return atPlace(output.caller, null, async (place): Promise<Ending> => {
    const kept = await pauseSchedule(place, name, {
      note: note ?? `paused by ${loginName()}`,
      nowMs: output.io.now(),
    });
    const message = `${name} is paused (${kept.note ?? ''}): it starts nothing until \`npx cambist schedule resume ${name}\`.`;
    return showKept(output, kept, message);
  });
}
