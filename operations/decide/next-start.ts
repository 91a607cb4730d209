/** What the next start of a run does, as `run`, `replay` and `--pay-again` tell people and decide by it. */
import { isTriedAgain, nextStart, type NextOfItem, type Start } from '../../domain/run/next-start.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { goOnCommand } from '../../domain/replacement.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { CommandFailure } from '../failure.ts';
import type { AskingPlace } from '../follow/answers.ts';
import { isSaidToPayAgain, readRun, type WholeRunView } from '../follow/read-run.ts';
import type { RunFacts } from '../follow/runs.ts';

/**
 * What the next start does with each item.
 * @throws CommandFailure when Temporal did not show in time what people said about the run
 */
export function nextOf({ facts, report, said }: WholeRunView, how: Start): readonly NextOfItem[] {
  if (said !== null) return nextStart(report, said, how);
  throw new CommandFailure('infrastructure', [
    {
      code: 'TEMPORAL_UNAVAILABLE',
      place: runName(facts.run),
      message: 'Temporal did not show in time what people have said about the run; nothing was sent',
      fix: 'Try again. If this stays so, see `npx cambist doctor`.',
    },
  ]);
}

/** The same for what is only told: where what people said could not be read in time, as if no person had said anything. */
export function nextAsRead({ report, said }: WholeRunView, how: Start): readonly NextOfItem[] {
  return nextStart(report, said ?? [], how);
}

/**
 * Payments of an ended run that the next start pays again, because a person has said so, though perhaps not the person who starts
 * it.
 * @throws CommandFailure when no worker answers
 */
export async function paidAgainNext(
  place: AskingPlace,
  facts: RunFacts,
  how: Start,
): Promise<readonly ReportPayment[]> {
  // Mostly no person has said so, and the payments of a large batch need not be read.
  if (!(await isSaidToPayAgain(place, facts))) return [];
  const next = nextAsRead(await readRun(place, facts), how);
  return next.flatMap((one) => (one.kind === 'payment' && one.next === 'paid again' ? [one.item] : []));
}

/**
 * True for a run that has completed, and of which no start would send anything. A person may have opened generations of a
 * payment that came back: then even a completed run has something to do.
 * @throws CommandFailure as `nextOf`
 */
export function isFinished(view: WholeRunView, nowMs: number): boolean {
  return (
    view.facts.temporalStatus === 'COMPLETED' &&
    !nextOf(view, { takesCancelBack: true, nowMs }).some(isTriedAgain)
  );
}

/** The command that tries again what a run has not done. */
export function againCommand(run: RunName, { status }: Pick<Report, 'status'>): string {
  return status === 'CANCELLED' ? goOnCommand(run) : `npx cambist replay ${runName(run)}`;
}
