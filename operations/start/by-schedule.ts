/**
 * A start by a schedule: it does what the command `run` does, without a person. It checks the time first, since Temporal may
 * start the run of a later date, or of a day off. Then it takes the same steps as the command, so that every way of starting
 * finds the same run.
 */
import { referenceFileOf, type Policy, type ReferenceRates, type Schedule } from '../../domain/policy.ts';
import { makeProblem, type Problem, type ProblemCode } from '../../domain/problems.ts';
import { runName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { daysOffOf } from '../../calendar/holidays.ts';
import { occasionOf, type Occasion } from '../../calendar/occasion.ts';
import { scheduledDay, type ScheduledDay } from '../../calendar/schedule.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { troubleOfPolicy, type Trouble } from '../../language/text/problem.ts';
import type { NotNow, ScheduledAnswer, ScheduledCall, TrialAnswer } from '../../workflows/calls.ts';
import { INPUT_BYTES, SCHEDULED_START } from '../../workflows/limits.ts';
import type { ScheduledInput } from '../../workflows/names.ts';
import type { Settings } from '../../config/config.ts';
import { readFolderFile } from '../../config/files-folder.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import type { PolicyFile } from '../policy-file.ts';
import { heedBySchedule } from './made-before.ts';
import { idOfRun } from './run-ids.ts';
import { NO_PERSON_ASKS, begin, judgeStart, requireStart, type AskedStart } from './run-policy.ts';

/** What the worker gives to a start. */
type StartingWorker = {
  readonly place: Place;
  readonly settings: Settings;
  /** Epoch milliseconds. */
  readonly now: () => number;
};

/**
 * This machine's clock may be this much behind, and the start is not refused: a run waits by itself for its date to begin.
 */
const CLOCKS_APART_MS = 300_000;
/** A person may be starting the same run, so the start is tried this many times. */
const MOST_TRIES = 5;

/** Who started the run, as its report shows it. */
const STARTED_BY: Readonly<Record<Occasion, string>> = {
  clock: 'its schedule',
  person: 'its schedule, triggered by hand',
  backfill: 'its schedule, backfilled by hand',
};

/** Starts the run of the date, or finds that it is there already. */
export async function startScheduled(
  worker: StartingWorker,
  call: ScheduledCall,
): Promise<ScheduledAnswer | NotNow> {
  try {
    return await startOrFind(worker, call);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const problems = error.problems.map(problemOf);
    // A service that is away, or a wrong key, may be mended in time, so the start is tried again.
    const mayPass = error.ending === 'infrastructure' || error.ending === 'configuration';
    return mayPass ? { kind: 'not now', problems } : { kind: 'refused', problems };
  }
}

async function startOrFind(worker: StartingWorker, call: ScheduledCall): Promise<ScheduledAnswer> {
  const { settings, place, now } = worker;
  const { input } = call;
  const read = readScheduled(settings, input);
  if (read.kind === 'refused') return read;
  const { policyFile, schedule } = read;
  const { policy } = policyFile;
  const { zone } = policy;
  const { date, occasion } = occasionOf({ at: schedule.at, zone }, { ...call, ...SCHEDULED_START });
  const run = { policy: policy.name, id: idOfRun(date, todayIn(zone, now() + CLOCKS_APART_MS)) };
  // The days in Temporal may be older than the policy, and end earlier than its calendar.
  if (occasion !== 'person') {
    const daysOff = await daysOffOf(schedule.holidays).catch(() => null);
    if (daysOff === null) return refused(noCalendar(policy.name));
    const day = scheduledDay(schedule, daysOff, date);
    if (day.kind !== 'run')
      return { kind: 'day off', date, line: `${date} has no run: ${whyNoRun(day)}. Nothing was started.` };
  }
  const isNamed = occasion === 'backfill';
  return startRunOf(date, STARTED_BY[occasion], {
    place,
    settings,
    policyFile,
    run,
    // A start at its own time counts for its date, even if midnight has passed since.
    today: isNamed ? todayIn(zone, now()) : date,
    isNamed,
    ...NO_PERSON_ASKS,
    batch: null,
    onSubmitted: () => {},
    now,
  });
}

/**
 * Whether this worker could start the policy by its schedule: it reads what a start reads before it looks at Temporal or the
 * service. Starts nothing.
 */
export async function tryScheduled(
  settings: Pick<Settings, 'facts' | 'filesFolder'>,
  input: ScheduledInput,
): Promise<TrialAnswer> {
  const read = readScheduled(settings, input);
  if (read.kind === 'refused') return read;
  const { policyFile, schedule } = read;
  const { name } = policyFile.policy;
  if ((await daysOffOf(schedule.holidays).catch(() => null)) === null) return refused(noCalendar(name));
  const whole = await withFiles({ policyFile, settings });
  if (whole.kind === 'read') return { kind: 'able' };
  const isForEver = whole.problems.some(({ code }) => NEVER_READ.includes(code));
  return { kind: isForEver ? 'refused' : 'not yet', problems: whole.problems };
}

/** Why a file is never read, whatever comes into the folder. */
const NEVER_READ: readonly Problem['code'][] = ['FILES_FOLDER_MISSING', 'FILE_OUTSIDE_FOLDER'];

/** The policy of a schedule, without the files that it names. */
function readScheduled(
  { facts }: Pick<Settings, 'facts'>,
  input: ScheduledInput,
):
  | { readonly kind: 'read'; readonly policyFile: PolicyFile; readonly schedule: Schedule }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] } {
  const { policyText: text, policyFile: file } = input;
  const loaded = loadPolicy(text, file, facts.decimals);
  if (!loaded.ok) return refused(...loaded.problems.map(troubleOfPolicy).map(problemOf));
  const { policy, hash } = loaded;
  const foreign = contradicts(policy, input);
  if (foreign !== null) return refused(foreign);
  if (policy.schedule === null) return refused(noSchedule(policy.name));
  const files = { referenceRates: null, destinations: null, files: {} };
  return { kind: 'read', policyFile: { file, text, hash, policy, ...files }, schedule: policy.schedule };
}

async function startRunOf(date: string, startedBy: string, asked: AskedStart): Promise<ScheduledAnswer> {
  const name = runName(asked.run);
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    const verdict = await judgeStart(asked);
    if (verdict.kind === 'open')
      return { kind: 'open', date, line: `${name} is open already; nothing was started.` };
    if (verdict.kind === 'ended') {
      const { status } = verdict.view.report;
      return { kind: 'ended', date, line: `${name} has ended already (${status}); nothing was sent.` };
    }
    const { facts } = verdict;
    const read = await withFiles(asked);
    if (read.kind === 'refused') return read;
    const whole = { ...asked, policyFile: read.policyFile };
    const remarks = [
      ...(await requireStart(whole, facts)),
      ...(facts === null ? await heedBySchedule(whole) : []),
    ];
    const isStarted = await begin(whole, { facts, kept: null, shown: null, startedBy });
    if (isStarted) return { kind: 'started', date, line: [`${name} is started.`, ...remarks].join(' ') };
  }
  throw new Error('Others start and end the same run all the time.');
}

type Read =
  | { readonly kind: 'read'; readonly policyFile: PolicyFile }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** The policy with the rates that it names, read from the worker's own folder. */
async function withFiles({
  policyFile,
  settings,
}: {
  readonly policyFile: PolicyFile;
  readonly settings: Pick<Settings, 'filesFolder'>;
}): Promise<Read> {
  const name = referenceFileOf(policyFile.policy.guard);
  if (name === null) return { kind: 'read', policyFile };
  const folder = settings.filesFolder;
  if (folder === null)
    return refused({
      code: 'FILES_FOLDER_MISSING',
      item: null,
      message: `The policy names the file "${name}", and this worker has no folder to read it from; nothing was started.`,
      fix: 'Set CAMBIST_FILES of the worker to the folder in which the file is, then start the worker again and trigger the schedule.',
    });
  const read = await readReferenceFile(name, folder);
  if (!read.ok) return refused(...read.problems);
  return {
    kind: 'read',
    policyFile: { ...policyFile, referenceRates: read.rates, files: { [name]: read.text } },
  };
}

type ReferenceFile =
  | { readonly ok: true; readonly rates: ReferenceRates; readonly text: string }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** The rates in the file with this name, from the folder for such files. */
export async function readReferenceFile(name: string, folder: string): Promise<ReferenceFile> {
  const read = await readFolderFile(folder, name, INPUT_BYTES.file);
  if (!read.ok) {
    const problem: Problem = {
      code: FILE_CODES[read.kind],
      item: null,
      message: `The file "${name}" that the policy names cannot be used: ${read.message} (CAMBIST_FILES of the worker is "${folder}"); nothing was started.`,
      fix: 'Put it there, then start the run: `npx cambist schedule trigger`.',
    };
    return { ok: false, problems: [problem] };
  }
  const loaded = loadReferenceRates(read.text, name);
  if (!loaded.ok) return { ok: false, problems: loaded.problems.map(troubleOfPolicy).map(problemOf) };
  return { ok: true, rates: loaded.rates, text: read.text };
}

const FILE_CODES = {
  outside: 'FILE_OUTSIDE_FOLDER',
  missing: 'FILE_NOT_FOUND',
  unreadable: 'FILE_UNREADABLE',
} as const satisfies Readonly<Record<string, ProblemCode>>;

/** Why the policy is not the one for which the start was made; null when it is. */
function contradicts(policy: Policy, input: ScheduledInput): Problem | null {
  if (policy.name !== input.policy)
    return makeProblem('POLICY_NAME_DIFFERS', null, {
      message: `The policy calls itself "${policy.name}", the schedule is of "${input.policy}".`,
    });
  if (policy.environment === input.mode.toLowerCase()) return null;
  return makeProblem('PLAN_ENVIRONMENT', null, {
    message: `The policy says "${policy.environment}", the schedule is of mode ${input.mode}; nothing was started.`,
  });
}

function noSchedule(name: string): Problem {
  return {
    code: 'SCHEDULE_MISSING',
    item: null,
    message: `The policy "${name}" has no \`schedule\`; nothing was started.`,
    fix: 'Write one into the policy, then `npx cambist schedule apply` it.',
  };
}

function whyNoRun(day: Exclude<ScheduledDay, { kind: 'run' }>): string {
  switch (day.kind) {
    case 'holiday':
      return day.name ?? 'a holiday of the policy';
    case 'skip':
      return 'it is one of the dates that the policy skips';
    case 'other day':
      return 'it is none of the days of its schedule';
    case 'before start':
      return 'its schedule has not begun';
    case 'after end':
      return 'its schedule is over';
  }
}

function noCalendar(name: string): Problem {
  return {
    code: 'POLICY_CALENDAR',
    item: null,
    message: `The policy "${name}" names a calendar of holidays that this worker does not know; nothing was started.`,
    fix: 'Start a worker of the version with which the policy was applied, or name another calendar.',
  };
}

function refused(...problems: readonly Problem[]): {
  readonly kind: 'refused';
  readonly problems: readonly Problem[];
} {
  return { kind: 'refused', problems };
}

function problemOf({ code, place, message, fix, excerpt }: Trouble): Problem {
  return { code, item: null, message: excerpt === undefined ? message : `${place ?? ''}: ${message}`, fix };
}
