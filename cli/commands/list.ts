/**
 * `cambist list`: runs as Temporal finds them, newest first. With `--attention` it shows the runs that need a person's
 * attention, and with `--acknowledge RUN` a person says that he or she looks after the run.
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName } from '../../domain/references.ts';
import { NOT_LOOKED, lookForFailed } from '../came-back.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { attentionNow, type AttentionNow } from '../../operations/notify/attention-now.ts';
import { atPlace, type Place } from '../../operations/place.ts';
import {
  acknowledge,
  listAll,
  needsAttention,
  type Acknowledged,
  type Listed,
} from '../../operations/watch/attention.ts';
import { pausedIn } from '../../operations/follow/paused.ts';
import type { Unfinished } from '../../operations/batches/unfinished.ts';
import { parseRun } from '../../operations/named-run.ts';
import { statement } from '../terminal/options.ts';
import { NO_REASON, loginName } from '../terminal/login-name.ts';
import { haltDocument, haltLine } from '../views/halts-text.ts';
import { pausedDocument, pausedLine } from '../views/paused-text.ts';
import { missedDocument, missedLine } from '../views/schedules-text.ts';
import { localZone } from '../terminal/local-zone.ts';
import { clockOf, momentText } from '../../domain/clock.ts';
import { count, span, table } from '../terminal/text.ts';

type ListOptions = JsonOption & {
  readonly attention?: true;
  readonly acknowledge?: string;
  readonly by?: string;
  readonly reason?: string;
};

/** People see at most this many runs; `--attention` shows all of them. */
const SHOWN = 50;

export function addList(command: Command, session: Session): void {
  command
    .description(
      'Lists runs, newest first: the newest 50, or with --attention all that a person should look at.',
    )
    .option(
      '--attention',
      'only runs that a person should look at: waiting for a person, a configuration or money, late or long in doubt, getting nowhere, ended with something undone; those that a schedule missed; batches that were not submitted whole; what a person has paused in Temporal; and what is halted',
    )
    .option(
      '--acknowledge <run>',
      'say that you look after this one: left out by --attention until its state changes or something else needs a person; a missed start for good',
    )
    .option('--by <name>', 'with --acknowledge: who says so; default: the login', statement)
    .option('--reason <text>', 'with --acknowledge: what is being done; the report keeps it', statement)
    .action((options: ListOptions) =>
      act(session, options, (output) =>
        options.acknowledge === undefined
          ? list(output, options)
          : take(output, options.acknowledge, options),
      ),
    );
  teach(command, {
    examples: [
      'npx cambist list',
      'npx cambist list --attention || notify-somebody',
      'npx cambist list --acknowledge mxn-supplier.2026-11-21 --by ana --reason "called the bank"',
    ],
    endings: ['done', 'bad input', 'configuration', 'needs a human', 'infrastructure'],
  });
}

async function list(output: Output, options: ListOptions): Promise<Ending> {
  const idle = (['by', 'reason'] as const).filter((name) => options[name] !== undefined);
  if (idle.length > 0)
    throw new CommandFailure(
      'bad input',
      idle.map((name) => ({
        code: 'DECISION_INCOMPLETE',
        place: `--${name}`,
        message: 'it belongs to --acknowledge, which is not given',
        fix: 'Name the run by --acknowledge, or leave it out.',
      })),
    );
  return atPlace(output.caller, null, async (place) => {
    const attention = options.attention === true;
    const nowMs = output.io.now();
    const looked = attention ? await lookForFailed(output, place, null) : NOT_LOOKED;
    const seen = attention ? await attentionNow(place, nowMs, looked.failed) : await newestRuns(place);
    const { acknowledged, missed, unfinished, halts, paused, pausedRuns } = seen;
    const runs = seen.runs.slice(0, attention ? undefined : SHOWN);
    const pausedIds = new Set(pausedRuns.map((one) => one.place));
    const others = missed.length + unfinished.length + halts.length + paused.length;
    const ending: Ending = attention && runs.length + others > 0 ? 'needs a human' : looked.ending;
    output.document({
      runs: runs.map((listed) => rowOf(listed, pausedIds)),
      paused: paused.map(pausedDocument),
      ...(attention && {
        halts: halts.map(haltDocument),
        acknowledged,
        missed: missed.map(missedDocument),
        unfinished: unfinished.map(unfinishedDocument),
        lookedForReturnsSince: looked.failed === null ? null : new Date(looked.failed.sinceMs).toISOString(),
      }),
      exitCode: EXIT_CODES[ending],
    });
    const leftOut = acknowledged === 0 ? '' : ` ${count(acknowledged, 'acknowledged run')} left out.`;
    // The runs may be of policies of several zones.
    const zone = localZone();
    const { retold } = clockOf(zone, nowMs);
    if (others > 0)
      output.say(
        ...halts.map(haltLine).map(retold),
        ...paused.map(pausedLine).map(retold),
        ...missed.map(missedLine).map(retold),
        ...unfinished.map(unfinishedLine),
      );
    if (runs.length === 0) {
      if (others > 0) return ending;
      output.say(
        attention ? `No run needs attention.${leftOut}` : `There are no runs in mode ${place.mode}.`,
      );
      return ending;
    }
    output.show(listText(runs, { nowMs, zone, width: output.width, pausedIds }));
    for (const { facts, why } of runs)
      if (why !== null) output.say('', `${runName(facts.run)}: ${retold(toldBy(why))}`);
    if (seen.runs.length > runs.length) output.say(`… and older ones; the newest ${SHOWN} are shown.`);
    if (attention)
      output.say('', `${count(runs.length, 'run')}; see \`npx cambist status RUN\` for each.${leftOut}`);
    return ending;
  });
}

/** Without --attention: the newest runs, and every workflow that is paused. */
async function newestRuns(place: Place): Promise<AttentionNow> {
  const runs = await listAll(place, SHOWN);
  const { runs: pausedRuns, besideRuns } = await pausedIn(place);
  const paused = [...pausedRuns, ...besideRuns];
  return { runs, acknowledged: 0, missed: [], unfinished: [], halts: [], paused, pausedRuns };
}

async function take(output: Output, name: string, options: ListOptions): Promise<Ending> {
  const { run, mode } = parseRun(name);
  const { by = loginName(), reason: why = NO_REASON } = options;
  return atPlace(output.caller, mode, async (place): Promise<Ending> => {
    const { failed } = await lookForFailed(output, place, run);
    const taken = await acknowledge(place, run, { by, why, nowMs: output.io.now(), failed });
    const message = `${runName(run)} ${takenText(taken, by)}`;
    output.document({ run: runName(run), acknowledged: true, message, exitCode: EXIT_CODES.done });
    output.say(message);
    return 'done';
  });
}

function takenText(taken: Acknowledged, by: string): string {
  switch (taken.kind) {
    case 'missed':
      return `was missed (${taken.missed.why.code}), acknowledged by ${by}; --attention leaves it out from now on.`;
    case 'run': {
      const { listed } = taken;
      const about = listed.why === null ? '' : ` (${listed.why.code})`;
      const more = listed.needs.length > 1 ? `, with ${count(listed.needs.length - 1, 'more reason')}` : '';
      return `is ${stateOf(listed, new Set())}${about}${more}, acknowledged by ${by}; --attention leaves it out until its state changes or something else needs a person.`;
    }
  }
}

function unfinishedLine({ run, chunks }: Unfinished): string {
  return (
    `${runName(run)}: only a part of its batch was submitted (${count(chunks, 'chunk')} in Temporal, and no run). Nothing of it was sent. ` +
    `To go on: \`npx cambist run POLICY --batch FILE --id ${run.id}\`, with the same two files. To drop it: terminate its chunks in the Temporal UI.`
  );
}

function unfinishedDocument({ run, chunks, startedAtMs }: Unfinished): Record<string, unknown> {
  return { run: runName(run), chunks, startedAt: new Date(startedAtMs).toISOString() };
}

/** The word in the list for a run that is stuck and cannot say so itself. */
const STUCK = 'STUCK';

/** Workflow ids of the runs that a person has paused in Temporal. */
type PausedIds = ReadonlySet<string | null>;

function stateOf({ facts, isStuck }: Listed, pausedIds: PausedIds): string {
  if (pausedIds.has(facts.workflowId)) return 'PAUSED';
  return isStuck ? STUCK : facts.state;
}

function rowOf(listed: Listed, pausedIds: PausedIds): Record<string, unknown> {
  const { facts, why, isStuck } = listed;
  return {
    run: runName(facts.run),
    workflowId: facts.workflowId,
    state: stateOf(listed, pausedIds),
    stuckBy: isStuck && why !== null ? why.message : null,
    why: why === null ? null : toldBy(why),
    startedAt: new Date(facts.startedAtMs).toISOString(),
    closedAt: facts.closedAtMs === null ? null : new Date(facts.closedAtMs).toISOString(),
    needsAttention: needsAttention(listed),
  };
}

function toldBy({ code, message }: { readonly code: string; readonly message: string }): string {
  return `${code}: ${message}`;
}

/** The list as a table, its times in this zone. */
export function listText(
  runs: readonly Listed[],
  {
    nowMs,
    zone,
    width,
    pausedIds,
  }: {
    readonly nowMs: number;
    readonly zone: string;
    readonly width: number;
    readonly pausedIds: PausedIds;
  },
): string {
  return table(
    [{ title: 'RUN' }, { title: 'STATE' }, { title: `STARTED (${zone})` }, { title: 'TOOK', right: true }],
    runs.map((listed) => [
      runName(listed.facts.run),
      stateOf(listed, pausedIds),
      momentText(listed.facts.startedAtMs, nowMs, zone),
      span((listed.facts.closedAtMs ?? nowMs) - listed.facts.startedAtMs),
    ]),
    width,
  );
}
