/** `cambist schedule resume NAME`: a paused schedule starts runs again. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { atPlace } from '../../../operations/place.ts';
import { resumeSchedule } from '../../../operations/schedules/kept.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import { statement } from '../../terminal/options.ts';
import { confirmSchedule } from '../../confirm-live.ts';
import type { Output } from '../../terminal/output.ts';
import { clockOf } from '../../../domain/clock.ts';
import { loginName } from '../../terminal/login-name.ts';
import { showKept } from './show-kept.ts';

type ResumeOptions = JsonOption & { readonly note?: string; readonly yes?: true };

export function addScheduleResume(command: Command, session: Session): void {
  command
    .description(
      'Lets a paused schedule start runs again, from its next time on. What it missed is not caught up.',
    )
    .argument('<name>', 'name of the policy')
    .option('--note <text>', 'why; default: who resumed it', statement)
    .option('--yes', 'do not ask before schedules may move live money')
    .action((name: string, options: ResumeOptions) =>
      act(session, options, (output) => resume(output, name, options)),
    );
  teach(command, {
    examples: ['npx cambist schedule resume daily-treasury'],
    endings: ['done', 'bad input', 'configuration', 'refused by us', 'infrastructure'],
  });
}

async function resume(output: Output, name: string, { note, yes }: ResumeOptions): Promise<Ending> {
  return atPlace(output.caller, null, async (place): Promise<Ending> => {
    await confirmSchedule(output, {
      mode: place.mode,
      isAnswered: yes === true,
      words: `schedule resume ${name}`,
      what: `"${name}" starts runs by itself again, with the policy as it was applied`,
    });
    const kept = await resumeSchedule(place, name, note ?? `resumed by ${loginName()}`);
    const [next] = kept.nextMs;
    const when =
      next === undefined ? 'is not planned' : `at ${clockOf(kept.facts.zone, output.io.now()).at(next)}`;
    const message = `${name} starts runs again; the next one ${when}.`;
    return showKept(output, kept, message);
  });
}
