/** The id that a new run gets, and the run of an earlier date that stands in its way (design: "Identity"). Pure. */
import { isRunPart, runName, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import { quoted } from '../../language/text/printable.ts';
import type { Progress } from '../../domain/run/progress.ts';
import { CommandFailure } from '../failure.ts';

/**
 * The id of a run: the one that a person asks for, otherwise today in the policy's zone.
 * @throws CommandFailure for an id without a date, or of a date to come
 */
export function idOfRun(asked: string | undefined, today: string): string {
  if (asked === undefined) return today;
  const date = isRunPart(asked) ? dateOfRunId(asked) : null;
  if (date === null) {
    throw new CommandFailure('bad input', [
      {
        code: 'RUN_ID',
        place: '--id',
        message: `${quoted(asked)} is no id of a run: it begins with a calendar date and has only small letters, digits, - and _`,
        fix: `Write ${today}, or ${today}-second.`,
      },
    ]);
  }
  if (date > today) {
    throw new CommandFailure('bad input', [
      {
        code: 'RUN_ID_FUTURE',
        place: '--id',
        message: `the date of ${quoted(asked)} is in the future: today is ${today} in the policy's zone`,
        fix: 'Start it on its date.',
      },
    ]);
  }
  return asked;
}

/**
 * The id of a batch. Only a person can give it: the same file must get the same id on another day.
 * @throws CommandFailure when there is no id, or one without a date, or of a date to come
 */
export function idOfBatch(asked: string | undefined, today: string): string {
  if (asked !== undefined) return idOfRun(asked, today);
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_ID',
      place: '--id',
      message:
        'a batch needs an --id, so that the same file typed again on another day means the same payments',
      fix: `Give it an id that begins with its date, as in --id ${today}-weekly, and always use this id with this file.`,
    },
  ]);
}

/**
 * Refuses a new batch when its payments are no longer sent.
 * @throws CommandFailure for a date whose send window is over
 */
export function refuseOver(
  run: RunName,
  at: { readonly today: string; readonly zone: string; readonly nowMs: number },
): void {
  const date = dateOfRunId(run.id);
  if (date === null || at.nowMs < sendWindowsOf(date, at.zone).withdrawalsUntilMs) return;
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_ID_PAST',
      place: '--id',
      message: `it is too late to send payments for the date of ${quoted(run.id)}, and there is no run ${runName(run)} to go on with: today is ${at.today} in the policy's zone`,
      fix: `If the batch was never started, give it the id of a new date, as in --id ${at.today}-weekly. \`npx cambist list\` shows the runs that there are.`,
    },
  ]);
}

/** Whether the run is of a date before `today`. */
export function isPast(run: RunName, today: string): boolean {
  const date = dateOfRunId(run.id);
  return date !== null && date < today;
}

/**
 * Refuses a new run of a past date, since the date is a typing mistake. Such a run would end at once without a trade, and be
 * listed as failed. The caller has checked that the run is not there yet.
 * @throws CommandFailure for a date before `today`
 */
export function refusePast(run: RunName, today: string): void {
  if (!isPast(run, today)) return;
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_ID_PAST',
      place: '--id',
      message: `the date of ${quoted(run.id)} is over, and there is no run ${runName(run)} to go on with: today is ${today} in the policy's zone`,
      fix: `Leave --id out, or write ${today}. \`npx cambist list\` shows the runs that there are.`,
    },
  ]);
}

/** A run of the same policy, and the facts that decide whether it stands in the way of a new one. */
export type OtherRun = {
  readonly run: RunName;
  /** Null while the run is open. Epoch milliseconds. */
  readonly closedAtMs: number | null;
  readonly rest: Rest;
};

/** What an earlier run may still do. */
export type Rest =
  /** The run never had a plan, so it can do nothing. */
  | 'no plan'
  /** Everything is done, or is accepted by the service and only followed to its end. */
  | 'nothing'
  /** Something is unsent, in doubt, or needs a human; or the state is not known. */
  | 'something';

/** What a run that has a plan may still do, by its report and progress. */
export function restOf(report: Report, progress: Progress): Rest {
  if (report.status === 'COMPLETED') return 'nothing';
  const items = [
    ...report.legs.map(({ outcome, tradeId }) => ({ outcome, recordId: tradeId })),
    ...report.payments.map(({ outcome, withdrawalId }) => ({ outcome, recordId: withdrawalId })),
  ];
  // The service has accepted the other items and they are followed to their end: nothing of them can be repeated by mistake.
  const isLeft = ({ outcome, recordId }: (typeof items)[number]): boolean =>
    outcome === 'PENDING' ? recordId === null : outcome !== 'TRADED' && outcome !== 'PAID';
  const isHeld = progress.items.some(
    ({ waiting }) => waiting?.reason === 'person' || waiting?.reason === 'doubt',
  );
  // A rebalancing with no trade has planned none: nothing of it can be repeated by mistake.
  const isUnknown = items.length === 0 && report.positions.length === 0;
  return isUnknown || items.some(isLeft) || isHeld ? 'something' : 'nothing';
}

/** A run that ended with something undone stands in the way of the next date's for this long. */
const RECENT_MS = 86_400_000;

/** Groups runs by date, the latest earlier date first. */
export function earlierDates<Run extends { readonly run: RunName }>(
  others: readonly Run[],
  today: string,
): readonly (readonly Run[])[] {
  const byDate = new Map<string, Run[]>();
  for (const other of others) {
    const date = dateOfRunId(other.run.id);
    if (date !== null && date < today) byDate.set(date, [...(byDate.get(date) ?? []), other]);
  }
  return [...byDate].toSorted(([a], [b]) => b.localeCompare(a)).map(([, runs]) => runs);
}

/**
 * Finds a run of one earlier date that may still do something, or that ended less than 24 h ago with something undone. A run
 * of today without `--id` could repeat it. Null when no run stands in the way; undefined when none of them ever had a plan,
 * so that the caller looks at the date before.
 */
export function runInTheWay(runsOfDate: readonly OtherRun[], nowMs: number): OtherRun | null | undefined {
  const planned = runsOfDate.filter(({ rest }) => rest !== 'no plan');
  if (planned.length === 0) return undefined;
  const isInTheWay = ({ rest, closedAtMs }: OtherRun): boolean =>
    rest === 'something' && (closedAtMs === null || nowMs - closedAtMs < RECENT_MS);
  return planned.toSorted((a, b) => order(b) - order(a)).find(isInTheWay) ?? null;
}

/** Puts an open run first, then the run that ended last. */
function order({ closedAtMs }: OtherRun): number {
  return closedAtMs ?? Number.MAX_SAFE_INTEGER;
}

/** The failure that names the run in the way. */
export function refusedFor(other: OtherRun, today: string): CommandFailure {
  const name = runName(other.run);
  const state =
    other.closedAtMs === null
      ? 'is open, and something of it is still to be sent, is in doubt, or waits for a person'
      : 'ended less than 24 h ago with something undone';
  return new CommandFailure('refused by us', [
    {
      code: 'EARLIER_RUN_OPEN',
      place: name,
      message: `the run of an earlier date, ${name}, ${state}; nothing was sent`,
      fix: `See \`npx cambist status ${name}\`. To go on with it: --id ${other.run.id}. To start today's all the same: --id ${today}.`,
    },
  ]);
}
