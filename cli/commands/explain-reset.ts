/** `cambist explain-reset RUN`: what a reset would do, and to which events a reset is possible; changes nothing. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { explainReset } from '../../operations/replay/explain.ts';
import { atPlace } from '../../operations/place.ts';
import { readServiceFile } from '../../operations/policy-file.ts';
import { parseRun } from '../../operations/named-run.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { eventId } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { explainedDocument, explainedText } from '../views/explain-reset-text.ts';

type ExplainOptions = JsonOption & { readonly event?: number };

export function addExplainReset(command: Command, session: Session): void {
  command
    .description(
      'Says what a reset of a run would do: which items stay done, which are tried again, what people said that counts ' +
        'again, and whether there is a safety wait. Below stand the events that the reset dialog of Temporal’s UI lists, ' +
        'each with the step that the run was at. Every one is safe; changes nothing.',
    )
    .argument('<run>', 'the run as `policy.id`, or its workflow id')
    .option('--event <id>', 'the event to reset to; default: the one that `replay` takes', eventId)
    .action((name: string, options: ExplainOptions) =>
      act(session, options, (output) => explain(output, name, options)),
    );
  teach(command, {
    examples: [
      'npx cambist explain-reset mxn-supplier.2026-11-21',
      'npx cambist explain-reset mxn-supplier.2026-11-21 --event 16 --json',
    ],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

async function explain(output: Output, name: string, { event }: ExplainOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  return atPlace(output.caller, mode, async (place): Promise<Ending> => {
    const serviceFile = await readServiceFile(output.caller);
    const nowMs = output.io.now();
    const explained = await explainReset(place, run, { event: event ?? null, nowMs, serviceFile });
    output.document({ ...explainedDocument(explained), exitCode: EXIT_CODES.done });
    output.show(explainedText(explained, { nowMs, width: output.width }));
    return 'done';
  });
}
