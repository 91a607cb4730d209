/** `cambist list`: runs as Temporal finds them, newest first; with `--attention` those that somebody should look at. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName } from '../../domain/references.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { atPlace } from '../../operations/place.ts';
import { listAll, listAttention, needsAttention, type Listed } from '../../operations/attention.ts';
import { clockTime, count, span, table } from '../terminal/text.ts';

type ListOptions = JsonOption & { readonly attention?: true };

/** A list for people; `--attention` shows everything that there is. */
const SHOWN = 50;

export function addList(command: Command, session: Session): void {
  command
    .description(
      'Lists runs, newest first: the newest 50, or with --attention all that somebody should look at.',
    )
    .option(
      '--attention',
      'only runs that somebody should look at: waiting for a person, a configuration or money, late, getting nowhere, ended with something undone',
    )
    .action((options: ListOptions) => act(session, options, (output) => list(output, options)));
  teach(command, {
    examples: ['npx cambist list', 'npx cambist list --attention || notify-somebody'],
    endings: ['done', 'configuration', 'needs a human', 'infrastructure'],
  });
}

async function list(output: Output, options: ListOptions): Promise<Ending> {
  return atPlace(output.caller, null, async (place) => {
    const attention = options.attention === true;
    const nowMs = output.io.now();
    const matching = attention ? await listAttention(place, nowMs) : await listAll(place, SHOWN);
    const runs = attention ? matching : matching.slice(0, SHOWN);
    const ending: Ending = attention && runs.length > 0 ? 'needs a human' : 'done';
    output.document({ runs: runs.map(rowOf), exitCode: EXIT_CODES[ending] });
    if (runs.length === 0) {
      output.say(attention ? 'No run needs attention.' : `There are no runs in mode ${place.mode}.`);
      return ending;
    }
    output.show(listText(runs, nowMs, output.width));
    for (const { facts, why } of runs) if (why !== null) output.say('', `${runName(facts.run)}: ${why}`);
    if (matching.length > runs.length) output.say(`… and older ones; the newest ${SHOWN} are shown.`);
    if (attention) output.say('', `${count(runs.length, 'run')}; see \`npx cambist status RUN\` for each.`);
    return ending;
  });
}

/** What is shown of a run that gets nowhere and cannot say so. */
const STUCK = 'STUCK';

function stateOf({ facts, isStuck }: Listed): string {
  return isStuck ? STUCK : facts.state;
}

function rowOf(listed: Listed): Record<string, unknown> {
  const { facts, why, isStuck } = listed;
  return {
    run: runName(facts.run),
    workflowId: facts.workflowId,
    state: stateOf(listed),
    stuckBy: isStuck ? why : null,
    why,
    startedAt: new Date(facts.startedAtMs).toISOString(),
    closedAt: facts.closedAtMs === null ? null : new Date(facts.closedAtMs).toISOString(),
    needsAttention: needsAttention(listed),
  };
}

/** The list as a table. */
export function listText(runs: readonly Listed[], nowMs: number, width: number): string {
  return table(
    [{ title: 'RUN' }, { title: 'STATE' }, { title: 'STARTED' }, { title: 'TOOK', right: true }],
    runs.map((listed) => [
      runName(listed.facts.run),
      stateOf(listed),
      clockTime(listed.facts.startedAtMs, nowMs),
      span((listed.facts.closedAtMs ?? nowMs) - listed.facts.startedAtMs),
    ]),
    width,
  );
}
