/**
 * Which run is meant: the text RUN of a command line, and the id that a new run gets (design: "Identity"). Pure.
 */
import type { Mode } from '../domain/records.ts';
import { isPart, parseRunName, runName, type RunName } from '../domain/references.ts';
import { dateOfRunId } from '../language/business-date.ts';
import { quoted } from '../language/problem.ts';
import { CommandFailure } from './failure.ts';

/** A run as named on the command line: `policy.id`, or the workflow id `sandbox/policy.id` with its mode. */
export type NamedRun = { readonly run: RunName; readonly mode: Mode | null };

/** @throws CommandFailure when the text names no run */
export function parseRun(text: string): NamedRun {
  const [, prefix, name] = /^(sandbox\/|live\/)?(.*)$/s.exec(text) ?? [];
  const run = parseRunName(name ?? '');
  if (run !== null) return { run, mode: MODES[prefix ?? ''] ?? null };
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_NAME',
      place: 'RUN',
      message: `${quoted(text)} names no run`,
      fix: 'Write policy and id with a dot, as `cambist list` shows them: mxn-supplier.2026-11-21.',
    },
  ]);
}

const MODES: Readonly<Record<string, Mode | undefined>> = { 'sandbox/': 'SANDBOX', 'live/': 'LIVE' };

/** The run that a workflow id names; null for workflow ids of other things. */
export function runOfWorkflowId(workflowId: string): RunName | null {
  const match = /^(?:sandbox|live)\/([^/]+)$/.exec(workflowId);
  return match?.[1] === undefined ? null : parseRunName(match[1]);
}

/**
 * The id of a run: the one that is asked for, else today in the policy's zone.
 * @throws CommandFailure for an id without a date, or of a date to come
 */
export function idOfRun(asked: string | undefined, today: string): string {
  if (asked === undefined) return today;
  const date = isPart(asked) ? dateOfRunId(asked) : null;
  if (date === null) {
    throw new CommandFailure('bad input', [
      {
        code: 'RUN_ID',
        place: '--id',
        message: `${quoted(asked)} is no id of a run: it begins with a calendar date and has only letters, digits, - and _`,
        fix: `Write ${today}, or ${today}-second.`,
      },
    ]);
  }
  if (date > today) {
    throw new CommandFailure('bad input', [
      {
        code: 'RUN_ID_FUTURE',
        place: '--id',
        message: `${quoted(asked)} is of a date to come: today is ${today} in the policy's zone`,
        fix: 'Start it on its date.',
      },
    ]);
  }
  return asked;
}

/** A run of the same policy, as far as it stands in the way of a new one. */
export type OtherRun = {
  readonly run: RunName;
  readonly isOpen: boolean;
  readonly isCompleted: boolean;
  /** Epoch milliseconds; null while it is open. */
  readonly closedAtMs: number | null;
};

/** How long a run that did not complete stands in the way of the next date's. */
const RECENT_MS = 86_400_000;

/**
 * The policy's latest run of an earlier date, if it is open or ended other than completed less than 24 h ago: then a
 * run without `--id` would repeat what that one may still do. Null when nothing stands in the way.
 */
export function runInTheWay(others: readonly OtherRun[], today: string, nowMs: number): OtherRun | null {
  const [latest] = others
    .map((other) => ({ other, date: dateOfRunId(other.run.id) ?? '' }))
    .filter(({ date }) => date !== '' && date < today)
    .toSorted((a, b) => b.date.localeCompare(a.date) || order(b.other) - order(a.other));
  if (latest === undefined) return null;
  const { other } = latest;
  if (other.isOpen) return other;
  const isRecent = other.closedAtMs !== null && nowMs - other.closedAtMs < RECENT_MS;
  return !other.isCompleted && isRecent ? other : null;
}

/** Among runs of one date an open one counts first, then the one that ended last. */
function order(other: OtherRun): number {
  return other.isOpen ? Number.POSITIVE_INFINITY : (other.closedAtMs ?? 0);
}

/** The failure that names the run in the way. */
export function refusedFor(other: OtherRun, today: string): CommandFailure {
  const name = runName(other.run);
  const state = other.isOpen ? 'is still open' : 'ended other than completed less than 24 h ago';
  return new CommandFailure('refused by us', [
    {
      code: 'EARLIER_RUN_OPEN',
      place: name,
      message: `the run of an earlier date, ${name}, ${state}; nothing was sent`,
      fix: `To go on with it: --id ${other.run.id}. To start today's all the same: --id ${today}.`,
    },
  ]);
}
