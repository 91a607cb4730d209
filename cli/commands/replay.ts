/**
 * `cambist replay RUN`: resets a run, so that it tries again what is not done, follows it and shows what has changed. With
 * `--attention` it does this for every run that failed or was terminated.
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { listAttention } from '../../operations/watch/attention.ts';
import { EXIT_CODES, endingOf, firstOf } from '../../operations/exit-codes.ts';
import { wakeRun } from '../../operations/decide/keep-instruction.ts';
import { atPlace, type Place } from '../../operations/place.ts';
import {
  changesOf,
  isToReplay,
  judgeReplay,
  replay,
  replayAll,
  type ReplayVerdict,
} from '../../operations/replay/verdict.ts';
import { parseRun } from '../../operations/named-run.ts';
import { reasonsOf, type RunView } from '../../operations/follow/read-run.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { mistake } from '../line.ts';
import { confirmLive } from '../confirm-live.ts';
import { follow, type Told } from '../follow.ts';
import { eventId, statement } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { count } from '../terminal/text.ts';
import { loginName } from '../terminal/login-name.ts';
import { changeLines, replayedDocument, replayedText, nextLines } from '../views/replay-text.ts';
import { statusSentence } from '../views/report-text.ts';
import { toBringLines } from '../views/to-bring-text.ts';

type ReplayOptions = JsonOption & {
  readonly event?: number;
  readonly attention?: true;
  readonly wait?: true;
  readonly by?: string;
  readonly reason?: string;
  readonly yes?: true;
};

export function addReplay(command: Command, session: Session): void {
  command
    .description(
      'Resets a run as Temporal’s UI would, follows it and says what has changed. Mend the cause first; what is done is ' +
        'found at the service and stays, what is not done is tried again, and nothing is paid or traded twice. For runs ' +
        'that failed, were terminated or timed out, batches too. One with nothing undone is left alone. One that is open ' +
        'goes on by itself: when it is held it is told to look now, and it is reset only to an event that you name. ' +
        'What was cancelled stays so: only `run … --go-on` takes that back.',
    )
    .argument('[run]', 'the run as `policy.id`, or its workflow id')
    .option(
      '--event <id>',
      'reset to this event; default: the one that fits. `explain-reset` lists them with their steps; every one is safe',
      eventId,
    )
    .option(
      '--attention',
      'every run that `list --attention` names as failed, terminated or timed out, a few at a time',
    )
    .option('--wait', 'stay while the run is held, until it ends')
    .option('--reason <text>', 'why; Temporal keeps it, and the report tells it', statement)
    .option('--by <name>', 'who resets it; default: the login', statement)
    .option('--yes', 'do not ask before live money moves')
    .action((name: string | undefined, options: ReplayOptions) =>
      act(session, options, (output) => replayAsked(output, name, options)),
    );
  teach(command, {
    examples: [
      'npx cambist replay mxn-supplier.2026-11-21 --reason "the account is verified" --by ana',
      'npx cambist replay mxn-supplier.2026-11-21 --json | jq .changed',
      'npx cambist replay --attention',
    ],
    endings: [...RUN_ENDINGS, 'detached'],
  });
}

async function replayAsked(
  output: Output,
  name: string | undefined,
  options: ReplayOptions,
): Promise<Ending> {
  if (options.attention === true) {
    requireAlone(name, options);
    return atPlace(output.caller, null, (place) => replayAttention(output, place, options));
  }
  if (name === undefined) throw mistake('RUN', 'no run is named', 'Name one, or type --attention for all.');
  const { run, mode } = parseRun(name);
  return atPlace(output.caller, mode, async (place) => {
    const verdict = await judgeReplay(place, run, {
      event: options.event ?? null,
      nowMs: output.io.now(),
    });
    switch (verdict.kind) {
      case 'nothing':
        return tellUnchanged(output, verdict.view, `${runName(run)} is completed; there is nothing to do.`);
      case 'open':
        return leaveOpen({ output, place, run, options }, verdict);
      case 'reset':
        return resetAndFollow({ output, place, run, options }, verdict);
    }
  });
}

/** The reason of a reset, as Temporal keeps it. */
function reasonOf({ reason, by = loginName() }: ReplayOptions): string {
  return reason === undefined ? `cambist replay, by ${by}` : `${reason} (cambist replay, by ${by})`;
}

type Use = {
  readonly output: Output;
  readonly place: Place;
  readonly run: RunName;
  readonly options: ReplayOptions;
};

/** The run goes on by itself, so it is not reset. A run that is held is woken and followed. */
async function leaveOpen(
  use: Use,
  { view, isHeld }: Extract<ReplayVerdict, { kind: 'open' }>,
): Promise<Ending> {
  const { output, place, run } = use;
  const stands = statusSentence(view.report, view.progress, output.io.now());
  if (!isHeld)
    return tellUnchanged(
      output,
      view,
      `${stands} It goes on by itself; nothing was reset. To reset it: --event.`,
    );
  output.note(stands, 'It was told to look now; nothing was reset. To reset it: --event.');
  await wakeRun(place, run);
  return followOn(use, { before: view.report, facts: view.facts, eventId: null });
}

async function resetAndFollow(use: Use, verdict: Extract<ReplayVerdict, { kind: 'reset' }>): Promise<Ending> {
  const { output, place, run, options } = use;
  const { before, facts, next, point } = verdict;
  const toBring = toBringLines(next);
  if (toBring.length > 0) output.note(...toBring);
  if (place.mode === 'LIVE')
    await confirmLive(output, {
      isAnswered: options.yes === true,
      place: runName(run),
      consequence: 'this moves live money',
      otherwise: 'nothing was reset',
      question: 'Try this again with live money? Type yes: ',
      tell: () => Promise.resolve(before === null ? ['what is not done of it'] : nextLines(next)),
    });
  const { kind } = await replay(place, verdict, reasonOf(options));
  output.note(
    kind === 'made'
      ? `${runName(run)} is reset to event ${point.eventId} (${point.step}); it tries again what is not done.`
      : `${runName(run)} was reset by another person in the meantime; following that.`,
  );
  return followOn(use, { before, facts, eventId: kind === 'made' ? point.eventId : null });
}

/** @param of `eventId`: the event to which the run was reset; null: it was not reset */
function followOn(
  { output, place, run, options }: Use,
  of: { readonly before: Report | null; readonly facts: RunFacts; readonly eventId: number | null },
): Promise<Ending> {
  const tell = (report: Report): Told => {
    const changed = changesOf(of.before, report);
    const document = { run: runName(run), eventId: of.eventId, changed, report };
    return { document, lines: changeLines(changed) };
  };
  const policyHash = of.before?.policy.hash ?? '';
  const stay = options.wait === true;
  const { startedBy = null, zone = null } = of.before ?? {};
  return follow({ output, place, run, policyHash, startedBy, zone, stay, tell }, output.io.now());
}

function tellUnchanged(output: Output, { facts, report, progress }: RunView, line: string): Ending {
  output.document({ run: report.run, eventId: null, changed: [], report });
  output.say(line);
  return endingOf(report, facts.isOpen ? reasonsOf(progress) : []);
}

async function replayAttention(output: Output, place: Place, options: ReplayOptions): Promise<Ending> {
  const { listed } = await listAttention(place, output.io.now(), null);
  const runs = listed.map(({ facts }) => facts).filter(isToReplay);
  if (runs.length === 0) {
    output.document({ replayed: [], exitCode: EXIT_CODES.done });
    output.say('No run has failed or was terminated; there is nothing to do.');
    return 'done';
  }
  if (place.mode === 'LIVE')
    await confirmLive(output, {
      isAnswered: options.yes === true,
      place: count(runs.length, 'run'),
      consequence: 'this moves live money',
      otherwise: 'nothing was reset',
      question: 'Try all of these again with live money? Type yes: ',
      tell: () => Promise.resolve(runs.map(({ run, state }) => `${runName(run)}, ${state}`)),
    });
  const left = new AbortController();
  const stopListening = output.io.onInterrupt(() => left.abort());
  try {
    const onDone = ({ run, after }: { run: RunName; after: string | null }): void =>
      output.step(`${runName(run)}: ${after ?? 'not replayed'}`);
    const all = await replayAll(place, runs, {
      reason: reasonOf(options),
      left: left.signal,
      now: output.io.now,
      onDone,
    });
    const ending = left.signal.aborted ? 'detached' : firstOf(all.map((each) => each.ending));
    output.document({ replayed: all.map(replayedDocument), exitCode: EXIT_CODES[ending] });
    output.show(replayedText(all, output.width));
    if (left.signal.aborted) output.note('Left; what was reset goes on. See `npx cambist list`.');
    return ending;
  } finally {
    stopListening();
  }
}

/** @throws CommandFailure for an argument or option that is about a single run */
function requireAlone(name: string | undefined, { event, wait }: ReplayOptions): void {
  const [option = null] = [
    ...(event === undefined ? [] : ['--event']),
    ...(wait === undefined ? [] : ['--wait']),
  ];
  const about = name ?? option;
  if (about !== null)
    throw mistake(
      '--attention',
      `it is about many runs, and ${about} about one`,
      'Leave one of the two out.',
    );
}
