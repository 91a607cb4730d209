/** `cambist status [RUN]`: tells in one sentence how a run stands, or every run that is open. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { lackOf, missingIn, type Missing } from '../../domain/run/missing.ts';
import { mainWait, type BatchProgress, type Progress } from '../../domain/run/progress.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import { runName } from '../../domain/references.ts';
import { RUN_ENDINGS, act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES, firstOf } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { atPlace } from '../../operations/place.ts';
import type { AskingPlace } from '../../operations/follow/answers.ts';
import { standingTable } from '../views/batch-text.ts';
import { standingDocument, standingLines } from '../views/halts-text.ts';
import { pausedDocument, pausedLine } from '../views/paused-text.ts';
import { clockOf, type Clock } from '../../domain/clock.ts';
import { openAgainLine, pastLines, statusSentence, unblocking } from '../views/report-text.ts';
import { haltRecord } from '../../operations/halt/switch.ts';
import { pausedIn } from '../../operations/follow/paused.ts';
import { paidAgainNext } from '../../operations/decide/next-start.ts';
import { parseRun } from '../../operations/named-run.ts';
import { pastOf } from '../../operations/replay/past.ts';
import { listRuns, requireRun } from '../../operations/follow/runs.ts';
import { standingOf, type Standing } from '../../operations/follow/standing.ts';

export function addStatus(command: Command, session: Session): void {
  command
    .description(
      'Says in one sentence each where runs stand: the state, the next wake-up, what would unblock it. Of a batch also ' +
        'how many payments, and how much money, are at which state.',
    )
    .argument('[run]', 'the run as `policy.id`, or its workflow id; default: every open run')
    .action((name: string | undefined, options: JsonOption) =>
      act(session, options, (output) => status(output, name)),
    );
  teach(command, {
    examples: ['npx cambist status', 'npx cambist status mxn-supplier.2026-11-21 --json'],
    endings: RUN_ENDINGS,
  });
}

/** One run as `--json` shows it. */
type Shown = {
  readonly run: string;
  readonly workflowId: string;
  readonly status: string;
  /** Who started the run; null: not known. */
  readonly startedBy: string | null;
  readonly sentence: string;
  /** When its wait began; null: it does not wait, or this is not known. */
  readonly since: string | null;
  /** When it looks again by itself; null: the same. */
  readonly wakesAt: string | null;
  /** The money that it waits for: `missing` is what a person must bring; null: no read shows it. */
  readonly missing: readonly (Pick<Missing, 'currency' | 'needed' | 'there'> & {
    readonly missing: string | null;
  })[];
  /** What would unblock it; null: it needs nothing. */
  readonly unblockedBy: string | null;
  /**
   * For a batch: how many payments are in each state, and how much of each currency; why payments are not paid, what they wait
   * for, how many are still to be looked up, and the sums that the plan had left out. Null: it is no batch.
   */
  readonly batch: Omit<BatchProgress, 'waiting' | 'open' | 'others'> | null;
  /** Of an ended run: the payments that the next start pays again, as a person has said. */
  readonly paidAgain?: readonly Pick<ReportPayment, 'id' | 'amount' | 'currency'>[];
  readonly exitCode: number;
};

async function status(output: Output, name: string | undefined): Promise<Ending> {
  const named = name === undefined ? null : parseRun(name);
  return atPlace(output.caller, named?.mode ?? null, async (place) => {
    if (named !== null) {
      const standing = await standingOf(place, await requireRun(place, named.run), output.io.now);
      const nowMs = output.io.now();
      const past = await pastOf(place.client, standing.facts);
      const clock = clockOf(standing.kind === 'told' ? standing.report.zone : null, nowMs);
      const again = await openAgain(place, standing, nowMs);
      const paidAgain = again.map(({ id, amount, currency }) => ({ id, amount, currency }));
      const shown = { ...shownOf(standing, nowMs, clock), ...past, paidAgain };
      output.document(shown);
      output.say(shown.sentence);
      if (standing.kind === 'told' && standing.progress.batch !== null)
        output.show(`\n${standingTable(standing.progress.batch, output.width)}\n`);
      output.say(...pastLines(shown, clock));
      if (again.length > 0) output.say(openAgainLine(again));
      return standing.ending;
    }
    const [record, paused, runs] = await Promise.all([
      haltRecord(place),
      pausedIn(place),
      listRuns(place.client, place.mode, { policy: null, onlyOpen: true, limit: null }),
    ]);
    const standings = await Promise.all(runs.map((facts) => standingOf(place, facts, output.io.now)));
    const ending = firstOf(standings.map((each) => each.ending));
    const shown = standings.map((each) => shownOf(each, output.io.now()));
    output.document({
      ...standingDocument(record),
      paused: paused.besideRuns.map(pausedDocument),
      runs: shown,
      exitCode: EXIT_CODES[ending],
    });
    const lines = [...standingLines(record), ...paused.besideRuns.map(pausedLine)];
    if (lines.length > 0) output.say(...lines);
    for (const { sentence } of shown) output.say(sentence);
    if (shown.length === 0) output.say(`No run is open in mode ${place.mode}.`);
    return ending;
  });
}

/** Payments of an ended run that the next start pays again; none where that cannot be read: how the run stands is told all the same. */
function openAgain(
  place: AskingPlace,
  { facts, kind }: Standing,
  nowMs: number,
): Promise<readonly ReportPayment[]> {
  if (facts.isOpen || kind !== 'told') return Promise.resolve([]);
  return paidAgainNext(place, facts, { takesCancelBack: true, nowMs }).catch(() => []);
}

function shownOf(standing: Standing, nowMs: number, clock?: Clock): Shown {
  const { facts, ending } = standing;
  const known = { run: runName(facts.run), workflowId: facts.workflowId, exitCode: EXIT_CODES[ending] };
  switch (standing.kind) {
    case 'told': {
      const { report, progress } = standing;
      const { batch } = progress;
      const wait = facts.isOpen ? mainWait(progress) : null;
      return {
        ...known,
        status: report.status,
        startedBy: report.startedBy,
        sentence: statusSentence(report, progress, nowMs, clock),
        since: wait?.sinceMs === undefined ? null : new Date(wait.sinceMs).toISOString(),
        wakesAt: wait !== null && wait.wakeAtMs > nowMs ? new Date(wait.wakeAtMs).toISOString() : null,
        unblockedBy: wait === null ? null : unblocking(report, wait),
        missing: missingOf(progress),
        batch: batch === null ? null : standingDocumentOf(batch),
      };
    }
    case 'untold': {
      const { problem } = standing;
      return {
        ...known,
        status: facts.state,
        startedBy: null,
        sentence: `${known.run}: ${problem?.message ?? 'it cannot be read'}. ${problem?.fix ?? ''}`,
        since: null,
        wakesAt: null,
        unblockedBy: problem?.fix ?? null,
        missing: [],
        batch: null,
      };
    }
  }
}

function missingOf({ items, batch }: Progress): Shown['missing'] {
  const waits = items.map(({ waiting }) => waiting);
  return missingIn(waits, batch?.held ?? []).map((one) => {
    const { currency, needed, there } = one;
    return { currency, needed, there, missing: lackOf(one) };
  });
}

function standingDocumentOf(batch: BatchProgress): Shown['batch'] {
  const { counts, totals, unpaid, held, unseen, leftOut } = batch;
  return { counts, totals, unpaid, held, unseen, leftOut };
}
