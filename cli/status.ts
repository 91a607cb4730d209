/** `cambist status [RUN]`: one sentence of truth about a run, or about every run that is open. */
import type { Command } from 'commander';
import { runName } from '../domain/references.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, endingOf, firstOf, type Ending } from './exit-codes.ts';
import { failureOf } from './failure.ts';
import type { Output } from './output.ts';
import { atPlace, type Place } from './place.ts';
import { mainWait, statusSentence, unblocking } from './report-text.ts';
import { requireRun } from './report.ts';
import { parseRun } from './run-names.ts';
import { holdsOf, listRuns, readRun, type RunFacts } from './runs.ts';

export function addStatus(program: Command, session: Session): void {
  const command = program
    .command('status')
    .summary('says in one sentence where runs stand')
    .description(
      'Says in one sentence each where runs stand: the state, the next wake-up, what would unblock it.',
    )
    .argument('[run]', 'the run as `policy.id`, or its workflow id; default: every open run')
    .action((name: string | undefined, options: JsonOption) =>
      act(session, options, (output) => status(output, name)),
    );
  teach(command, {
    examples: ['cambist status', 'cambist status mxn-supplier.2026-11-21 --json'],
    endings: [
      'done',
      'bad input',
      'configuration',
      'refused by us',
      'refused by the service',
      'needs a human',
      'infrastructure',
      'waiting',
    ],
  });
}

/** One run as `--json` shows it. */
type Standing = {
  readonly run: string;
  readonly workflowId: string;
  readonly status: string;
  /** Null: nobody has told. */
  readonly startedBy: string | null;
  readonly sentence: string;
  /** When it looks again by itself; null: it does not wait, or nobody can tell. */
  readonly wakesAt: string | null;
  /** What would unblock it; null when nothing has to. */
  readonly unblockedBy: string | null;
  readonly exitCode: number;
};

async function status(output: Output, name: string | undefined): Promise<Ending> {
  const named = name === undefined ? null : parseRun(name);
  return atPlace(output.io, named?.mode ?? null, async (place) => {
    if (named !== null) {
      const { standing, ending } = await standingOf(output, place, await requireRun(place, named.run));
      output.document(standing);
      output.say(standing.sentence);
      if (standing.startedBy !== null) output.say(`Started by ${standing.startedBy}.`);
      return ending;
    }
    const runs = await listRuns(place.client, place.mode, { policy: null, onlyOpen: true, limit: null });
    const standings = await Promise.all(runs.map((facts) => standingOf(output, place, facts)));
    const ending = firstOf(standings.map((each) => each.ending));
    output.document({ runs: standings.map((each) => each.standing), exitCode: EXIT_CODES[ending] });
    for (const { standing } of standings) output.say(standing.sentence);
    if (standings.length === 0) output.say(`No run is open in mode ${place.mode}.`);
    return ending;
  });
}

async function standingOf(
  output: Output,
  place: Place,
  facts: RunFacts,
): Promise<{ readonly standing: Standing; readonly ending: Ending }> {
  const known = { run: runName(facts.run), workflowId: facts.workflowId };
  try {
    const { report, progress } = await readRun(place.client, facts);
    const ending = endingOf(report, facts.isOpen ? holdsOf(progress) : []);
    const nowMs = output.io.now();
    const wait = facts.isOpen ? mainWait(progress) : null;
    return {
      ending,
      standing: {
        ...known,
        status: report.status,
        startedBy: report.startedBy,
        sentence: statusSentence(report, progress, nowMs),
        wakesAt: wait !== null && wait.wakeAtMs > nowMs ? new Date(wait.wakeAtMs).toISOString() : null,
        unblockedBy: wait === null ? null : unblocking(report, wait),
        exitCode: EXIT_CODES[ending],
      },
    };
  } catch (error) {
    const { ending, problems } = failureOf(error);
    const [problem] = problems;
    return {
      ending,
      standing: {
        ...known,
        status: facts.state,
        startedBy: null,
        sentence: `${known.run}: ${problem?.message ?? 'it cannot be read'}. ${problem?.fix ?? ''}`,
        wakesAt: null,
        unblockedBy: problem?.fix ?? null,
        exitCode: EXIT_CODES[ending],
      },
    };
  }
}
