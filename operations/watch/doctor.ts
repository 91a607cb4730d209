/**
 * What `cambist doctor` checks: everything that can keep runs from starting or from moving money, so that people find it
 * before. Commands and workers make the same checks by themselves; here they run side by side, and none stops the others.
 * The command only reads from the service, and starts nothing.
 */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { Ending } from '../../domain/endings.ts';
import { endedSentence, haltSentence, scopeOptions } from '../../domain/halt.ts';
import { makeProblem } from '../../domain/problems.ts';
import { runName, runOfAnyWorkflowId } from '../../domain/references.ts';
import { SEAL_KEY_MISSING, keyMissingText, keyNeededForMemo } from '../../domain/unreadable.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { Policy } from '../../domain/policy.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { createClient, loadSettings, type Settings } from '../../config/config.ts';
import { withDevEnvironment } from '../../config/dev-environment.ts';
import { sealKeysOf } from '../../config/seal/key-file.ts';
import { taskQueueOf } from '../../config/task-queue.ts';
import { connectTemporal, registerSearchAttributes } from '../../config/temporal.ts';
import {
  buildsInUse,
  hasBuilds,
  idleOf,
  lackingOf,
  pinnedTroubles,
  readPinned,
  readRouting,
} from './builds.ts';
import { versionDiffers } from './worker-identity.ts';
import { endingOfCode } from '../exit-codes.ts';
import { CommandFailure } from '../failure.ts';
import { failureOf } from '../failure-of.ts';
import { WORKER_LACKS_KEY, keyMissingAt } from '../key-missing.ts';
import { readStuck } from '../follow/stuck.ts';
import { haltRecord } from '../halt/switch.ts';
import { lostRuns } from '../decide/claims.ts';
import { keptFor, shortRetention } from './retention.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { IS_OPEN, listed } from '../../durable/listed.ts';
import { CHUNK_TYPE, RUN_TYPE } from '../../workflows/names.ts';
import { retentionSeconds } from '../../durable/retention.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { runningOutOf, type RunningOut } from '../../calendar/running-out.ts';
import { modeOf, type Caller, type Place } from '../place.ts';
import { checkService } from '../preflight.ts';
import { lookAtPolicies } from './own-policies.ts';
import { readPollers } from './pollers.ts';
import { viewSchedules, type ScheduleView } from '../schedules/starts.ts';
import { readScheduleFiles } from '../schedules/files.ts';
import { judgeApply, type ScheduleChange } from '../schedules/kept.ts';
import { readReferenceFile } from '../start/by-schedule.ts';

/** One line of the command's output. */
export type Check = {
  /** The name of what was checked. */
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly says: string;
  /** What is wrong; null where nothing is wrong. */
  readonly trouble: Trouble | null;
  readonly ending: Ending;
};

/** All checks end within 5 s. A check without an answer by then is a problem. */
const LIMIT_MS = 3_500;
/** A connection or a request that is still open must not keep the command from ending in time. */
const CONNECT_LIMIT_MS = 3_000;
const REQUEST_LIMIT_MS = 4_000;
const DAY_SECONDS = 86_400;
/** Temporal need not know the runs of records that are older than a week: by then the service has forgotten their keys. */
const LONGEST_LOOK_SECONDS = 7 * DAY_SECONDS;

type CheckUp = {
  readonly now: () => number;
  /** The version of this command line. */
  readonly version: string;
  /** Monotonic milliseconds. */
  readonly endsAtMs: number;
};

/**
 * @param version of this command line
 * @param paths policy files, or folders of them, whose schedules should be the same in Temporal; empty: the person named
 * none
 */
export async function diagnose(
  caller: Caller,
  version: string,
  paths: readonly string[],
): Promise<readonly Check[]> {
  const endsAtMs = performance.now() + LIMIT_MS;
  const env = await withDevEnvironment(caller.env, caller.cwd);
  const { settings, checks } = await checkSettings(caller);
  const asked = { now: caller.now, version, endsAtMs };
  const [policies, service, temporal] = await Promise.all([
    settings === null ? [] : checkPolicies(settings, asked),
    settings === null ? [] : checkKeys(settings, asked),
    checkTemporal(env, settings, asked, (place) => checkFiles(caller, place, paths)),
  ]);
  return [...checks, ...checkSealKeys(env, settings), ...policies, ...service, ...temporal];
}

/** The file of keys that seal what is in Temporal. A mode that is not known has been told already. */
function checkSealKeys(env: NodeJS.ProcessEnv, settings: Settings | null): readonly Check[] {
  const name = 'sealing keys';
  if (settings === null) return [];
  try {
    const keys = sealKeysOf(env, settings.mode)?.now() ?? null;
    if (keys === null)
      return [ok(name, 'none (CAMBIST_SEAL_KEYS): what is in Temporal is plain. Live requires them')];
    const { active } = keys;
    const others = keys.keys.length - 1;
    const more = others === 0 ? '' : `, and ${others} more only ${others === 1 ? 'reads' : 'read'}`;
    const required = settings.mode === 'LIVE' ? 'as live requires' : 'which sandbox does not require';
    return [ok(name, `"${active.id}" of ${active.made} seals${more}, ${required}`)];
  } catch (error) {
    return failed(name, error);
  }
}

async function checkSettings({
  env,
  cwd,
}: Caller): Promise<{ readonly settings: Settings | null; readonly checks: readonly Check[] }> {
  try {
    const settings = await loadSettings(env, cwd);
    const { mode, address, key, readKey, warnings } = settings;
    const keys = readKey === null ? key.name : `${key.name}, to look with ${readKey.name}`;
    return {
      settings,
      checks: [
        ok('configuration', `${mode} at ${address.origin}${address.basePath}`),
        warnings.length === 0
          ? ok('key file', `well-formed, and no other user may read it: ${keys}`)
          : { ...ok('key file', warnings.join(' ')), state: 'warning' },
      ],
    };
  } catch (error) {
    return { settings: null, checks: failed('configuration', error) };
  }
}

/** The folder by which workers of this machine send; nothing where none is named. */
async function checkPolicies(
  { policiesFolder: folder, mode, facts }: Settings,
  { now, endsAtMs }: CheckUp,
): Promise<readonly Check[]> {
  const name = 'policies folder';
  if (folder === null) return [];
  try {
    const looked = lookAtPolicies(folder, { mode, decimals: facts.decimals, nowMs: now() });
    const { policies, troubles } = await within(endsAtMs, name, looked);
    if (troubles.length === 0) return [ok(name, `${policies} of ${mode}, all of which can be used`)];
    return troubles.map((trouble) =>
      trouble.code === 'POLICIES_UNUSABLE' ? wrong(name, trouble) : warned(name, trouble),
    );
  } catch (error) {
    return failed(name, error);
  }
}

/**
 * Reads with each key: does the service answer, does it accept signature and token, and are mode, scope and clocks right?
 */
async function checkKeys(settings: Settings, { now, endsAtMs }: CheckUp): Promise<readonly Check[]> {
  const { origin, basePath } = settings.address;
  const uses = settings.readKey === null ? (['write'] as const) : (['write', 'read'] as const);
  const checks = uses.map(async (use): Promise<readonly Check[]> => {
    const name = use === 'read' ? 'service, read key' : 'service';
    const client = createClient(settings, use, REQUEST_LIMIT_MS);
    try {
      const remark = await within(
        endsAtMs,
        name,
        checkService(client, { address: `${origin}${basePath}`, now }),
      );
      if (remark !== null) return [{ ...ok(name, remark), state: 'warning' }];
      const scope =
        use === 'write'
          ? '. The key may read (read scope). Whether it may also trade and pay (write scope) the service does not tell without a write: if not, runs wait with AUTH_INSUFFICIENT_SCOPE and nothing is traded or paid'
          : '. The key may read (read scope), which is all that it is used for';
      return [ok(name, `it accepts signature, token and mode, and the clocks agree${scope}`)];
    } catch (error) {
      return failed(name, error);
    } finally {
      // The client need not wait for a request that has not ended in time.
      void client.close();
    }
  });
  return (await Promise.all(checks)).flat();
}

async function checkTemporal(
  env: NodeJS.ProcessEnv,
  settings: Settings | null,
  asked: CheckUp,
  ofFiles: (place: Place) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  let mode: Mode;
  try {
    mode = settings?.mode ?? modeOf(env);
  } catch {
    // The check of the configuration has reported this already.
    return [];
  }
  let place: Place;
  try {
    const temporal = await within(
      asked.endsAtMs,
      'Temporal',
      connectTemporal(env, mode, undefined, CONNECT_LIMIT_MS),
    );
    place = { ...temporal, mode, taskQueue: taskQueueOf(env, mode), uiUrl: null, say: () => {} };
  } catch (error) {
    return failed('Temporal', error);
  }
  const { connection, namespace, address } = place;
  const check = async (name: string, work: Promise<readonly Check[]>): Promise<readonly Check[]> => {
    try {
      return await within(asked.endsAtMs, name, work);
    } catch (error) {
      return failed(name, error);
    }
  };
  try {
    const retention = retentionSeconds(place.client);
    const checks = await Promise.all([
      check(
        'search attributes',
        registerSearchAttributes(connection, namespace).then(() => [
          ok('search attributes', 'there, each of its type'),
        ]),
      ),
      check('retention', checkRetention(place, retention)),
      check('workers', checkWorkers(place, asked)),
      check('builds', checkBuilds(place, asked)),
      check('schedules', checkSchedules(place, settings, asked.now())),
      check('schedule files', ofFiles(place)),
      check('halts', checkHalts(place)),
      check('runs', checkRuns(place, asked.now())),
      check(
        'records',
        settings === null ? Promise.resolve([]) : checkRecords(place, settings, asked, retention),
      ),
    ]);
    return [ok('Temporal', `namespace "${namespace}" at ${address}`), ...checks.flat()];
  } finally {
    await connection.close();
  }
}

async function checkRetention(
  { namespace, mode }: Place,
  retention: Promise<number>,
): Promise<readonly Check[]> {
  const seconds = await retention;
  const short = shortRetention(mode, namespace, seconds);
  return short === null ? [ok('retention', keptFor(seconds))] : [wrong('retention', short)];
}

async function checkWorkers(
  { client, taskQueue }: Place,
  { now, version }: CheckUp,
): Promise<readonly Check[]> {
  const identities = await readPollers(client, taskQueue, now());
  if (identities.length === 0)
    return [
      wrong('workers', {
        code: 'NO_WORKER',
        place: taskQueue,
        message: 'no worker has asked for work in the last minute',
        fix: 'Start one with `npx cambist worker` (the same CAMBIST_TASK_QUEUE and TEMPORAL_NAMESPACE).',
      }),
    ];
  const found = ok('workers', `${identities.length} on "${taskQueue}": ${identities.join(', ')}`);
  const differs = versionDiffers(version, { taskQueue, identities });
  return differs === null ? [found] : [warned('workers', differs)];
}

/** Checks the builds of workers. Reports nothing where no worker has a build and no run is pinned to one. */
async function checkBuilds(place: Place, { now }: CheckUp): Promise<readonly Check[]> {
  const { taskQueue, namespace } = place;
  const [routing, pinned] = await Promise.all([
    readRouting(place, taskQueue, now()),
    readPinned(place, taskQueue),
  ]);
  if (!hasBuilds(routing) && pinned.length === 0) return [];
  const lacking = [...lackingOf(routing, namespace), ...pinnedTroubles(pinned, routing, namespace)];
  const checks = [
    ...lacking.map((trouble) => wrong('builds', trouble)),
    ...idleOf(routing, pinned, namespace).map((trouble) => warned('builds', trouble)),
  ];
  return [...checks, ...buildsInUse(routing, pinned).map((says) => ok('builds', says))];
}

async function checkSchedules(
  place: Place,
  settings: Settings | null,
  nowMs: number,
): Promise<readonly Check[]> {
  const views = await viewSchedules(place, nowMs);
  const checks = views.flatMap(({ kept, missed }) => {
    const name = `schedule ${kept.name}`;
    const paused = { ...ok(name, `paused: ${kept.note ?? 'no reason given'}`), state: 'warning' as const };
    const sealed = {
      code: SEAL_KEY_MISSING,
      place: kept.scheduleId,
      message: keyMissingText(kept.missingKey ?? ''),
      fix: 'It starts nothing at a worker without that key. With the newest file of keys, or after `npx cambist schedule apply`, it goes on.',
    } as const;
    return [
      ...(kept.isPaused ? [paused] : []),
      ...(kept.missingKey === null ? [] : [wrong(name, sealed)]),
      ...missed.map(({ run, why }) =>
        warned(name, {
          code: why.code,
          place: `${run.policy}.${run.id}`,
          message: why.message,
          fix: 'See `npx cambist schedule list`; what was missed is started by `npx cambist schedule backfill`.',
        }),
      ),
    ];
  });
  const policies = views.flatMap(({ kept }): Scheduled[] => {
    const loaded = loadPolicy(kept.facts.policyText ?? '', kept.name);
    return loaded.ok ? [{ kept, policy: loaded.policy }] : [];
  });
  const runOut = policies.flatMap((each) => checkDays(each, nowMs));
  const files = await Promise.all(policies.map((each) => checkReference(each, settings, nowMs)));
  const found =
    checks.length > 0
      ? checks
      : [ok('schedules', views.length === 0 ? 'there are none' : `${views.length}, none paused or missed`)];
  return [...found, ...runOut, ...files.flat()];
}

/** A schedule whose policy can be read. */
type Scheduled = Pick<ScheduleView, 'kept'> & { readonly policy: Policy };

/** Whether a policy's schedule ends soon, or its list of days off does. */
function checkDays({ kept, policy: { schedule, zone } }: Scheduled, nowMs: number): readonly Check[] {
  if (kept.isPaused || schedule === null) return [];
  return runningOutOf(schedule, todayIn(zone, nowMs)).map((what) =>
    warned(`schedule ${kept.name}`, runsOut(what, kept.facts.policyFile)),
  );
}

function runsOut(what: RunningOut, place: string | null): Trouble {
  switch (what.kind) {
    case 'ends':
      return {
        code: 'SCHEDULE_ENDS',
        place,
        message: what.isPast
          ? `its last date was ${what.on}: it starts nothing any more`
          : `its last date is ${what.on}: it starts nothing after that`,
        fix: 'If it is to go on, write a later date into `end:`, or take it out, and apply the policy again: `npx cambist schedule apply`.',
      };
    case 'no days off':
      return {
        code: 'HOLIDAYS_RUN_OUT',
        place,
        message: `the last day off that it lists is ${what.last}, so the holidays of ${what.year} would be working days`,
        fix: `Write the dates of ${what.year} into \`holidays:\`, and apply the policy again: \`npx cambist schedule apply\`. Dates that are no holidays belong in \`skip:\`.`,
      };
  }
}

/** Whether the schedules in Temporal are those of the files. Reports nothing where the person named no files. */
async function checkFiles(caller: Caller, place: Place, paths: readonly string[]): Promise<readonly Check[]> {
  if (paths.length === 0) return [];
  const { policies } = await readScheduleFiles(caller, paths, place.mode);
  const changes = await judgeApply(place, policies, { prune: false, nowMs: caller.now() });
  const apply = `npx cambist schedule apply ${paths.join(' ')}`;
  const checks = changes.flatMap((change) => {
    const trouble = notAsInFile(change, apply);
    return trouble === null ? [] : [warned(`schedule ${change.name}`, trouble)];
  });
  if (checks.length > 0) return checks;
  const says =
    policies.length === 0
      ? 'none of the files has a schedule'
      : `${policies.length}, each in Temporal as its file has it`;
  return [ok('schedule files', says)];
}

function notAsInFile(change: ScheduleChange, apply: string): Trouble | null {
  switch (change.kind) {
    case 'same':
    case 'delete':
      return null;
    case 'create':
      return {
        code: 'SCHEDULE_NOT_APPLIED',
        place: change.after.policyFile,
        message: 'its schedule was never applied: nothing starts it by itself',
        fix: `Apply it: \`${apply}\`.`,
      };
    case 'update':
      return {
        code: 'SCHEDULE_DIFFERS',
        place: change.after.policyFile,
        message:
          change.before.policyText === change.after.policyText
            ? 'in Temporal its times, days off or task queue are not those of the file now'
            : 'it was applied when the file had another text, and runs are started with that text',
        fix: `See what differs: \`${apply} --dry-run\`. The same without --dry-run applies it.`,
      };
  }
}

/** The file of rates that a scheduled policy uses, in the folder that a worker with these settings reads. */
async function checkReference(
  { kept, policy }: Scheduled,
  settings: Settings | null,
  nowMs: number,
): Promise<readonly Check[]> {
  const reference = policy.guard?.reference ?? null;
  if (reference === null || settings === null) return [];
  const name = `rates of ${kept.name}`;
  if (settings.filesFolder === null)
    return [
      ok(
        name,
        `not looked at: CAMBIST_FILES is not set here; the worker reads "${reference.file}" from its own`,
      ),
    ];
  const read = await readReferenceFile(reference.file, settings.filesFolder);
  if (!read.ok) return read.problems.map((problem) => warned(name, { ...problem, place: reference.file }));
  const { asOf } = read.rates;
  if (Date.parse(asOf) + reference.maxAgeMs >= nowMs) return [ok(name, `"${reference.file}" is of ${asOf}`)];
  return [
    warned(name, {
      ...makeProblem('PLAN_REFERENCE_TOO_OLD', null),
      place: reference.file,
      message: `it is of ${asOf}, older than \`max_age\` of the policy allows: the next run would trade nothing`,
    }),
  ];
}

/** Whether Temporal knows the runs of the service's new records. */
async function checkRecords(
  place: Place,
  settings: Settings,
  { now }: CheckUp,
  retention: Promise<number>,
): Promise<readonly Check[]> {
  const client = createClient(settings, 'read', REQUEST_LIMIT_MS);
  try {
    const keptMs = Math.min(await retention, LONGEST_LOOK_SECONDS) * 1_000;
    const lost = await lostRuns(place, client, now() - keptMs);
    // The check of the service has reported the reason.
    if (lost === null) return [];
    if (lost.length === 0)
      return [ok('records', 'Temporal knows the runs of the newest trades and withdrawals')];
    return [
      warned('records', {
        code: 'RUNS_LOST',
        place: place.namespace,
        message: `the service has records of runs that Temporal does not know: ${lost.map(runName).join(', ')}`,
        fix: 'Was Temporal restored from a backup? Then start each of them again under its id (`npx cambist run POLICY --id ID`): it adopts what was done. Until then new runs of their policies wait (OTHER_RUNS_LOST). Pay nothing by hand before that. Or does another namespace use this key? Then all is well, if no policy runs in both.',
      }),
    ];
  } finally {
    void client.close();
  }
}

async function checkHalts(place: Place): Promise<readonly Check[]> {
  const { halts, isOpen, ended } = await haltRecord(place);
  const checks = halts.map((halt) =>
    warned('halts', {
      code: 'HALTED',
      place: place.mode,
      message: haltSentence(halt),
      fix: `When it may go on: \`npx cambist resume${scopeOptions(halt.scope)}\`.`,
    }),
  );
  if (ended !== null)
    checks.push(
      (isOpen ? warned : wrong)('halts', {
        code: 'HALT_RECORD_ENDED',
        place: place.mode,
        message: endedSentence(ended),
        fix: isOpen
          ? 'What was halted stays halted, and the workflow was started again. Ask that person why.'
          : 'What was halted stays halted. Start a worker, or say one of the halts again with `npx cambist halt`: either starts the workflow again.',
      }),
    );
  return checks.length > 0 ? checks : [ok('halts', 'there is no halt that nobody has resumed')];
}

/** Of so many open runs and chunks, the newest ones, it is asked whether a key is missing for them. */
const LOOKED_AT = 100;
const LOOKED_AT_ONCE = 10;

/** The open runs that wait, or of which a chunk waits, for a key of the file of keys. Says nothing where none does. */
async function checkRuns({ client, mode }: Place, nowMs: number): Promise<readonly Check[]> {
  const open: WorkflowExecutionInfo[] = [];
  for await (const info of listed(client, { types: [RUN_TYPE, CHUNK_TYPE], mode, also: [IS_OPEN] })) {
    open.push(info);
    if (open.length === LOOKED_AT) break;
  }
  const lacking = new Map<string, Check>();
  await fewAtOnce(open, LOOKED_AT_ONCE, async ({ workflowId, runId, memo }) => {
    const run = runOfAnyWorkflowId(workflowId);
    const name = `run ${run === null ? workflowId : runName(run)}`;
    const key = keyNeededForMemo(memo);
    const stuck = await readStuck(client, { workflowId, temporalRunId: runId }, nowMs);
    if (key !== null)
      for (const check of failed(name, keyMissingAt(workflowId, key))) lacking.set(name, check);
    else if (stuck?.code === SEAL_KEY_MISSING)
      lacking.set(name, wrong(name, { ...WORKER_LACKS_KEY, place: workflowId }));
  });
  return [...lacking.values()];
}

function ok(name: string, says: string): Check {
  return { name, state: 'ok', says, trouble: null, ending: 'done' };
}

/** A fault that does not keep anything from working yet. */
function warned(name: string, trouble: Trouble): Check {
  return { name, state: 'warning', says: trouble.message, trouble, ending: 'done' };
}

function wrong(name: string, trouble: Trouble, ending = endingOfCode(trouble.code)): Check {
  return { name, state: 'problem', says: trouble.message, trouble, ending };
}

function failed(name: string, error: unknown): readonly Check[] {
  const { problems, ending } = failureOf(error);
  return problems.map((problem) => wrong(name, problem, ending));
}

async function within<T>(endsAtMs: number, name: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new CommandFailure('infrastructure', [
            {
              code: 'CHECK_TOO_SLOW',
              place: name,
              message: `it did not answer within ${LIMIT_MS / 1_000} s`,
              fix: 'See that it is there and not overloaded, and that the network between is well. Then try again.',
            },
          ]),
        ),
      Math.max(endsAtMs - performance.now(), 0),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
