/**
 * How a command ends. The one table of exit codes, and the one function that says which of them a report means
 * (design: "Commands"). Pure.
 */
import { classOf, type ReplyClass } from '../domain/service/reply-rules.ts';
import type { Report } from '../domain/run/report.ts';
import { REFUSALS, START_PROBLEMS } from '../domain/command-problems.ts';
import type { Ending, ProblemRow } from '../domain/endings.ts';
import { FILES_AT_FAULT, PROBLEMS, type FileAtFault } from '../domain/problems.ts';
import { WAIT_REASONS, type WaitReason } from '../domain/waits.ts';

/** A public surface: codes are only added, never changed. */
export const EXIT_CODES: Readonly<Record<Ending, number>> = {
  done: 0,
  'bad input': 2,
  configuration: 3,
  'refused by us': 4,
  'refused by the service': 5,
  'needs a human': 6,
  infrastructure: 7,
  waiting: 8,
  detached: 130,
};

/** The meanings of the exit codes, for `--help`. */
export const EXIT_MEANINGS: Readonly<Record<Ending, string>> = {
  done: 'done, or nothing to do',
  'bad input': 'bad input',
  configuration: 'configuration or key (also a run held by it)',
  'refused by us':
    'refused by a rule of ours (guard, limit, window, shortfall, cancel, duplicate, changed policy)',
  'refused by the service': 'refused by the service (some item NOT_PAID or NOT_TRADED)',
  'needs a human': 'needs a human',
  infrastructure: 'infrastructure (no worker took the run within 10 s; Temporal or the service is away)',
  waiting: 'still going or waiting, no person needed',
  detached: 'Ctrl-C, which only detaches',
};

/** Where several codes apply, the first of these counts. */
const PRECEDENCE: readonly Ending[] = [
  'detached',
  'infrastructure',
  'needs a human',
  'configuration',
  'bad input',
  'refused by the service',
  'refused by us',
  'waiting',
];

/** The ending that counts when there are several; `done` when there are none. */
export function firstOf(endings: Iterable<Ending>): Ending {
  const all = new Set(endings);
  return PRECEDENCE.find((ending) => all.has(ending)) ?? 'done';
}

/** The exit codes of an item that ended with one of the service's codes. */
const CLASSES: Readonly<Record<ReplyClass, Ending>> = {
  done: 'done',
  'wait, same key': 'waiting',
  'check state, then retry': 'waiting',
  'look up, then a new quote': 'refused by us',
  'ours, probably': 'needs a human',
  'wait for money': 'refused by us',
  'the item is wrong': 'refused by the service',
  'pause the policy': 'configuration',
  'pause everything': 'configuration',
  unknown: 'refused by the service',
};

/** The exit code of something that ended with this code. */
export function endingOfCode(code: string): Ending {
  const row = rowOf(code);
  if (row !== null) return row.ending;
  const file = FILE_SUBJECTS.find((subject) => code.startsWith(`${subject}_`));
  // A worker may find mistakes in a policy that an older command did not find.
  return file === undefined ? CLASSES[classOf({ code, details: {} })] : FILES_AT_FAULT[file];
}

const FILE_SUBJECTS = Object.keys(FILES_AT_FAULT) as readonly FileAtFault[];

function rowOf(code: string): ProblemRow | null {
  for (const rows of [PROBLEMS, START_PROBLEMS, REFUSALS] as readonly Readonly<Record<string, ProblemRow>>[])
    if (Object.hasOwn(rows, code)) return rows[code] ?? null;
  return null;
}

/** The exit code of a report, and of the reasons why its run waits. `reasons` is empty for a run that has ended. */
export function endingOf(report: Report, reasons: readonly WaitReason[]): Ending {
  const endings: Ending[] = reasons.map((reason) => WAIT_REASONS[reason].ending);
  const items = [...report.legs, ...report.payments];
  const open = new Set(
    items
      .filter((item) => item.outcome === 'PENDING' || item.outcome === 'NEEDS_HUMAN')
      .map((item) => item.id),
  );
  // A batch whose payments were not read one by one is judged by its sums.
  const isUndecided = report.totals.some(({ needsHuman }) => /[1-9]/.test(needsHuman));
  if (isUndecided || items.some((item) => item.outcome === 'NEEDS_HUMAN')) endings.push('needs a human');
  const goesOn = report.status === 'RUNNING' || report.status === 'HELD';
  if (goesOn) endings.push('waiting');
  for (const problem of report.problems) {
    const ending = endingOfCode(problem.code);
    const stillWaits = goesOn && (problem.item === null || open.has(problem.item));
    // While an item is open, the cause of its wait is not a refusal.
    if (!stillWaits || ending === 'configuration') endings.push(ending);
  }
  if (!goesOn && report.status !== 'COMPLETED' && report.problems.length === 0) endings.push('needs a human');
  return firstOf(endings.filter((ending) => goesOn || ending !== 'waiting'));
}
