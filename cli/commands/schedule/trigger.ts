/** `cambist schedule trigger NAME`: starts the schedule's run of today now. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { atPlace } from '../../../operations/place.ts';
import { triggerSchedule } from '../../../operations/schedules/starts.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../../command.ts';
import { confirmSchedule } from '../../confirm-live.ts';
import { showStart } from '../../show-start.ts';
import type { Output } from '../../terminal/output.ts';

type TriggerOptions = JsonOption & { readonly wait?: true; readonly yes?: true };

export function addScheduleTrigger(command: Command, session: Session): void {
  command
    .description(
      'Starts the run of today (in the policy’s zone) by the schedule of a policy, with the policy as it was applied, also ' +
        'where the schedule is paused or has a day off; then shows what `run` would show. A date that has run already ' +
        'shows its report, and nothing is sent.',
    )
    .argument('<name>', 'name of the policy')
    .option('--wait', 'stay while the run is held, until it ends')
    .option('--yes', 'do not ask before live money moves')
    .action((name: string, options: TriggerOptions) =>
      act(session, options, (output) => trigger(output, name, options)),
    );
  teach(command, {
    examples: [
      'npx cambist schedule trigger daily-treasury',
      'npx cambist schedule trigger daily-treasury --json',
    ],
    endings: [...RUN_ENDINGS, 'detached'],
  });
}

async function trigger(output: Output, name: string, options: TriggerOptions): Promise<Ending> {
  return atPlace(output.caller, null, async (place) => {
    await confirmSchedule(output, {
      mode: place.mode,
      isAnswered: options.yes === true,
      words: `schedule trigger ${name}`,
      what: `the run of today of "${name}", with the policy as it was applied`,
    });
    const start = await triggerSchedule(place, name, (why) => output.note(why));
    return showStart(output, place, { start, stay: options.wait === true });
  });
}
