/** `cambist cancel RUN`: cancels a run, so that its unsent items stay unsent. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName } from '../../domain/references.ts';
import { cancelRun } from '../../operations/decide/cancel.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { atPlace } from '../../operations/place.ts';
import { parseRun } from '../../operations/named-run.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { pausedLine } from '../views/paused-text.ts';
import { sentLines } from '../views/sent-text.ts';

type CancelOptions = JsonOption & { readonly by?: string; readonly reason?: string };

export function addCancel(command: Command, session: Session): void {
  command
    .description(
      'Cancels a run: what is not sent stays unsent, what was sent stays and is followed to its end. Only ' +
        '`npx cambist run … --go-on` takes it back; a reset does not.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .option('--reason <text>', 'why; the report keeps it', statement)
    .option('--by <name>', 'who says so; default: the login', statement)
    .action((name: string, options: CancelOptions) =>
      act(session, options, (output) => cancel(output, name, options)),
    );
  teach(command, {
    examples: ['npx cambist cancel mxn-supplier.2026-11-21 --by ana'],
    endings: ['done', 'bad input', 'configuration', 'needs a human', 'infrastructure'],
  });
}

async function cancel(output: Output, name: string, options: CancelOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const { by = loginName(), reason: why = NO_REASON } = options;
  const { caller } = output;
  const told = runName(run);
  return atPlace(caller, mode, async (place): Promise<Ending> => {
    const cancelled = await cancelRun(place, run, { by, why, caller });
    switch (cancelled.kind) {
      case 'ended': {
        const message = `${told} has ended already (${cancelled.state}); there is nothing to cancel.`;
        output.document({ run: told, cancelled: false, sent: [], message, exitCode: EXIT_CODES.done });
        output.say(message);
        return 'done';
      }
      case 'cancelled': {
        output.remark(cancelled.remark);
        const message = `${told} is cancelled: what is not sent stays unsent.`;
        const sent = cancelled.report === null ? null : sentLines(cancelled.report);
        output.document({ run: told, cancelled: true, sent, message, exitCode: EXIT_CODES.done });
        output.say(message, ...sentText(sent), ...cancelled.paused.map(pausedLine));
        return 'done';
      }
      case 'not kept yet': {
        output.remark(cancelled.remark);
        const [paused] = cancelled.paused;
        const message =
          paused === undefined
            ? `Temporal has the cancel of ${told}, but no worker answers. The cancel counts, and is kept for good, when a worker is back. Start one with \`npx cambist worker\`.`
            : `Temporal has the cancel of ${told}. It counts, and is kept for good, when nothing of the run is paused any more; nothing is sent before that. ${cancelled.paused.map(pausedLine).join(' ')}`;
        const ending = paused === undefined ? 'infrastructure' : 'needs a human';
        output.document({ run: told, cancelled: true, sent: null, message, exitCode: EXIT_CODES[ending] });
        output.say(message, ...sentText(null));
        return ending;
      }
    }
  });
}

/** At most this many movements are named. */
const SHOWN = 50;

function sentText(sent: readonly string[] | null): readonly string[] {
  if (sent === null) return ['What was sent stays; see `npx cambist report` when a worker is there.'];
  if (sent.length === 0) return ['Nothing had been sent.'];
  const more = sent.length - SHOWN;
  return [
    'What was sent stays:',
    ...sent.slice(0, SHOWN).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}
