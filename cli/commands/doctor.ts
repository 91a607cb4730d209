/** `cambist doctor`: checks everything that runs depend on, and tells for each fault what to do. Moves no money. */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { diagnose, type Check } from '../../operations/watch/doctor.ts';
import { EXIT_CODES, firstOf } from '../../operations/exit-codes.ts';
import { atPlace } from '../../operations/place.ts';
import { requireWorkerOn } from '../../operations/watch/pollers.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Output } from '../terminal/output.ts';
import { packageVersion } from './version.ts';

type DoctorOptions = JsonOption & { readonly worker?: true };

export function addDoctor(command: Command, session: Session): void {
  command
    .description(
      'Checks key, clock, service, Temporal, workers, schedules, reference files and halts, and says of each what is wrong ' +
        'and what to do. With policy files it also says whether their schedules are in Temporal as the files have them. ' +
        'Moves no money, and starts nothing. Exit code by the worst problem; a warning is none.',
    )
    .argument('[path...]', 'policy files, or folders of them, as for `schedule apply`')
    .option('--worker', 'only whether a worker on this machine, or in this container, asks for work')
    .action((paths: string[], options: DoctorOptions) =>
      act(session, options, (output) => (options.worker ? lookForWorker(output) : examine(output, paths))),
    );
  teach(command, {
    examples: [
      'npx cambist doctor',
      'npx cambist doctor policies',
      'npx cambist doctor --worker      (the health check of a container)',
      'npx cambist doctor --json',
    ],
    endings: ['done', 'bad input', 'configuration', 'needs a human', 'infrastructure'],
  });
}

async function examine(output: Output, paths: readonly string[]): Promise<Ending> {
  const checks = await diagnose(output.caller, packageVersion(), paths);
  const ending = firstOf(checks.flatMap((check) => (check.ending === 'done' ? [] : check.ending)));
  output.document({ checks: checks.map(documentOf), exitCode: EXIT_CODES[ending] });
  output.say(...checks.flatMap(linesOf));
  return ending;
}

async function lookForWorker(output: Output): Promise<Ending> {
  const { caller } = output;
  const workers = await atPlace(caller, null, (place) => requireWorkerOn(hostname(), place, caller.now()));
  output.document({ workers, exitCode: EXIT_CODES.done });
  output.say(...workers.map((worker) => `ok       worker: ${worker} asks for work`));
  return 'done';
}

const STATE_COLUMNS = 'warning  '.length;

/** `ok       key file: …`, with the advice below it. */
function linesOf({ name, state, says, trouble }: Check): readonly string[] {
  const head = `${state.padEnd(STATE_COLUMNS)}${name}: `;
  if (trouble === null) return [`${head}${says}`];
  const place = trouble.place === null ? '' : ` ${trouble.place}:`;
  return [`${head}${trouble.code}:${place} ${says}`, `${' '.repeat(STATE_COLUMNS)}→ ${trouble.fix}`];
}

function documentOf({ name, state, says, trouble }: Check): Record<string, unknown> {
  return { name, state, says, code: trouble?.code ?? null, fix: trouble?.fix ?? null };
}
