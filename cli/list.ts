/** `cambist list`: runs as Temporal finds them, newest first; with `--attention` those that somebody should look at. */
import type { Command } from 'commander';
import { runName } from '../domain/references.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import type { Output } from './output.ts';
import { atPlace } from './place.ts';
import { listRuns, readStuck, type RunFacts } from './runs.ts';
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
      'only runs that are held or late, get nowhere, failed, were cancelled with a rest, or were ended from outside',
    )
    .action((options: ListOptions) => act(session, options, (output) => list(output, options)));
  teach(command, {
    examples: ['cambist list', 'cambist list --attention || notify-somebody'],
    endings: ['done', 'configuration', 'needs a human', 'infrastructure'],
  });
}

/** States in which nobody has to look at a run. */
const QUIET: readonly string[] = ['RUNNING', 'COMPLETED'];

/** A run in the list. `stuck`: why it gets nowhere though it does not say so; null: it does, or nobody has looked. */
type Listed = { readonly facts: RunFacts; readonly stuck: string | null };

/**
 * True for a run that somebody should look at. Late runs are held, and so is one with a status that nobody knows; a
 * cancel that left nothing undone is completed.
 */
function needsAttention({ facts, stuck }: Listed): boolean {
  return stuck !== null || !QUIET.includes(facts.state);
}

async function list(output: Output, options: ListOptions): Promise<Ending> {
  return atPlace(output.io, null, async (place) => {
    const attention = options.attention === true;
    const limit = attention ? null : SHOWN;
    const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
    const listed = await Promise.all(
      found.map(async (facts): Promise<Listed> => {
        const isQuiet = attention && facts.isOpen && QUIET.includes(facts.state);
        return { facts, stuck: isQuiet ? await readStuck(place.client, facts, output.io.now()) : null };
      }),
    );
    const matching = attention ? listed.filter(needsAttention) : listed;
    const runs = matching.slice(0, limit ?? matching.length);
    const ending: Ending = attention && runs.length > 0 ? 'needs a human' : 'done';
    output.document({ runs: runs.map(rowOf), exitCode: EXIT_CODES[ending] });
    if (runs.length === 0) {
      output.say(attention ? 'No run needs attention.' : `There are no runs in mode ${place.mode}.`);
      return ending;
    }
    const rows = runs.map(({ facts, stuck }) => (stuck === null ? facts : { ...facts, state: STUCK }));
    output.show(listText(rows, output.io.now(), output.width));
    for (const { facts, stuck } of runs)
      if (stuck !== null) output.say('', `${runName(facts.run)}: ${stuck}`);
    if (matching.length > runs.length) output.say(`… and older ones; the newest ${SHOWN} are shown.`);
    if (attention) output.say('', `${count(runs.length, 'run')}; see \`cambist status RUN\` for each.`);
    return ending;
  });
}

/** What is shown of a run that gets nowhere and cannot say so. */
const STUCK = 'STUCK';

function rowOf(listed: Listed): Record<string, unknown> {
  const { facts, stuck } = listed;
  return {
    run: runName(facts.run),
    workflowId: facts.workflowId,
    state: stuck === null ? facts.state : STUCK,
    stuckBy: stuck,
    startedAt: new Date(facts.startedAtMs).toISOString(),
    closedAt: facts.closedAtMs === null ? null : new Date(facts.closedAtMs).toISOString(),
    needsAttention: needsAttention(listed),
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
