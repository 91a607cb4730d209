/** `cambist list`: runs as Temporal finds them, newest first; with `--attention` those that somebody should look at. */
import type { Command } from 'commander';
import { runName } from '../domain/references.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import type { Output } from './output.ts';
import { atPlace } from './place.ts';
import { listRuns, type RunFacts } from './runs.ts';
import { clockTime, count, span, table } from './text.ts';

type ListOptions = JsonOption & { readonly attention?: true };

/** A list for people; `--attention` shows everything that there is. */
const SHOWN = 50;

export function addList(program: Command, session: Session): void {
  const command = program
    .command('list')
    .summary('lists runs, or those that need attention')
    .description(
      'Lists runs, newest first: the newest 50, or with --attention all that somebody should look at.',
    )
    .option(
      '--attention',
      'only runs that are held or late, failed, were cancelled with a rest, or were ended from outside',
    )
    .action((options: ListOptions) => act(session, options, (output) => list(output, options)));
  teach(command, {
    examples: ['cambist list', 'cambist list --attention || notify-somebody'],
    endings: ['done', 'configuration', 'needs a human', 'infrastructure'],
  });
}

/** States in which nobody has to look at a run. */
const QUIET: readonly string[] = ['RUNNING', 'COMPLETED'];

/** True for a run that somebody should look at. Late runs are held; a cancel that left nothing undone is completed. */
function needsAttention(facts: RunFacts): boolean {
  return !QUIET.includes(facts.state);
}

async function list(output: Output, options: ListOptions): Promise<Ending> {
  return atPlace(output.io, null, async (place) => {
    const attention = options.attention === true;
    const limit = attention ? null : SHOWN;
    const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
    const matching = attention ? found.filter(needsAttention) : found;
    const runs = matching.slice(0, limit ?? matching.length);
    const ending: Ending = attention && runs.length > 0 ? 'needs a human' : 'done';
    output.document({ runs: runs.map(rowOf), exitCode: EXIT_CODES[ending] });
    if (runs.length === 0) {
      output.say(attention ? 'No run needs attention.' : `There are no runs in mode ${place.mode}.`);
      return ending;
    }
    output.show(listText(runs, output.io.now(), output.width));
    if (matching.length > runs.length) output.say(`… and older ones; the newest ${SHOWN} are shown.`);
    if (attention) output.say('', `${count(runs.length, 'run')}; see \`cambist status RUN\` for each.`);
    return ending;
  });
}

function rowOf(facts: RunFacts): Record<string, unknown> {
  return {
    run: runName(facts.run),
    workflowId: facts.workflowId,
    state: facts.state,
    startedAt: new Date(facts.startedAtMs).toISOString(),
    closedAt: facts.closedAtMs === null ? null : new Date(facts.closedAtMs).toISOString(),
    needsAttention: needsAttention(facts),
  };
}

/** The list as a table. */
export function listText(runs: readonly RunFacts[], nowMs: number, width: number): string {
  return table(
    [{ title: 'RUN' }, { title: 'STATE' }, { title: 'STARTED' }, { title: 'TOOK', right: true }],
    runs.map((facts) => [
      runName(facts.run),
      facts.state,
      clockTime(facts.startedAtMs, nowMs),
      span((facts.closedAtMs ?? nowMs) - facts.startedAtMs),
    ]),
    width,
  );
}
