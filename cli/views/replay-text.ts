/** What a replay has changed, for people. Pure. */
import { runName } from '../../domain/references.ts';
import { isTriedAgain, type NextOfItem } from '../../domain/run/next-start.ts';
import type { Change, Replayed } from '../../operations/replay/verdict.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { paragraphOf, count, table } from '../terminal/text.ts';
import { money } from './amount-text.ts';

/** At most this many lines are shown; the report has all of them. */
const MOST_LINES = 50;

/** The items that a reset tries again, one line each; when there are many, only the first. */
export function nextLines(next: readonly NextOfItem[]): readonly string[] {
  if (next.length === 0) return ['the plan, and everything in it'];
  const tried = next.filter(isTriedAgain);
  if (tried.length === 0) return ['nothing is sent again; what is on its way is followed'];
  return bounded(
    tried.map(({ kind, item }) => {
      const amount = kind === 'leg' ? money(item.buyAmount, item.buy) : money(item.amount, item.currency);
      return `${item.id}: ${item.outcome}, ${amount}`;
    }),
  );
}

/** The items whose outcome has changed, one line each. */
export function changeLines(changes: readonly Change[]): readonly string[] {
  if (changes.length === 0) return ['Nothing changed.'];
  return ['What changed:', ...bounded(changes.map((change) => `  ${changeText(change)}`))];
}

function changeText({ item, before, after, amount, currency }: Change): string {
  return `${item}: ${before} -> ${after}, ${money(amount, currency)}`;
}

function bounded(lines: readonly string[]): readonly string[] {
  const more = lines.length - MOST_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MOST_LINES), `  and ${more} more; the report has all.`];
}

/** One row for each run, and below the table what each run still needs. */
export function replayedText(all: readonly Replayed[], width: number): string {
  const rows = all.map(({ run, before, after, changes }) => [
    runName(run),
    before,
    after ?? '-',
    changes.length === 0 ? 'nothing' : count(changes.length, 'item'),
  ]);
  const problems = all.flatMap(({ run, problem }) =>
    problem === null ? [] : paragraphOf({ ...problem, place: runName(run) }, width),
  );
  const titles = ['RUN', 'WAS', 'IS', 'CHANGED'].map((title) => ({ title }));
  return [table(titles, rows, width), ...problems].join('\n\n');
}

/** One of many runs, for `--json`. */
export function replayedDocument({ run, before, after, changes, problem, ending }: Replayed) {
  return {
    run: runName(run),
    before,
    after,
    changed: changes,
    problems: problem === null ? [] : [problem],
    exitCode: EXIT_CODES[ending],
  };
}
