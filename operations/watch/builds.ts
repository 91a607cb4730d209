/**
 * Builds of workers (`CAMBIST_BUILD_ID`), which are versions of a Worker Deployment in Temporal: which build gets the work
 * of a task queue, and whether a worker of it is there. For a build without workers, Temporal keeps a task for ever and
 * does not say so. So `doctor`, `replay`, `explain-reset`, `status` and `run` tell it. Where no worker has a build, they say
 * nothing. Reads only.
 */
import { defineSearchAttributeKey } from '@temporalio/common';
import { runName } from '../../domain/references.ts';
import { describe } from '../../durable/described.ts';
import { IS_OPEN } from '../../durable/listed.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { describeQueue, presentOf } from './pollers.ts';
import type { RunFacts } from '../follow/runs.ts';

/** The workers of one build; null: the workers without a build. */
export type Build = { readonly deployment: string; readonly id: string } | null;

export type Routing = {
  readonly taskQueue: string;
  /** The build that gets the work, apart from the share of a ramp. */
  readonly current: Build;
  /** The build that gets a share of the work by a ramp; null: there is no ramp. */
  readonly ramp: { readonly build: Build; readonly percent: number } | null;
  /** Builds whose workers have recently asked for work. */
  readonly present: readonly Build[];
};

/** The workflows that people have pinned to a build: it needs a worker until they end. */
export type Pinned = {
  readonly build: NonNullable<Build>;
  /** How many there are, at least. */
  readonly workflows: number;
  /** The one that was started first; null where there are more than were read. */
  readonly oldest: { readonly workflowId: string; readonly startedAt: Date } | null;
};

type NamespacePlace = Pick<Place, 'client' | 'namespace'>;

/** A value of the server's enumeration of versioning modes. */
const VERSIONED = 2;
/** A value of the server's enumeration of versioning behaviours. */
const PINNED = 1;
const VERSION = defineSearchAttributeKey('TemporalWorkerDeploymentVersion', 'KEYWORD');
/** At most this many workflows that people have pinned are read. */
const MOST_PINNED = 200;
/** Temporal must answer within this time. */
const LIMIT_MS = 2_500;
/**
 * A command is refused only when no worker has asked for this long, since this machine's clock may differ from Temporal's.
 */
const REFUSED_AFTER_SECONDS = 120;

/** @param withinSeconds a worker counts as there when it has asked for work within this time; default: about a minute */
export async function readRouting(
  { client }: NamespacePlace,
  taskQueue: string,
  nowMs: number,
  withinSeconds?: number,
): Promise<Routing> {
  const { pollers, versioningInfo } = await describeQueue(client, taskQueue);
  const percent = versioningInfo?.rampingVersionPercentage ?? 0;
  return {
    taskQueue,
    current: buildOf(versioningInfo?.currentDeploymentVersion),
    ramp: percent > 0 ? { build: buildOf(versioningInfo?.rampingDeploymentVersion), percent } : null,
    present: distinct(
      presentOf(pollers, nowMs, withinSeconds).map(({ deploymentOptions }) =>
        Number(deploymentOptions?.workerVersioningMode) === VERSIONED ? buildOf(deploymentOptions) : null,
      ),
    ),
  };
}

/** What people have pinned of what is still open, by build; nothing where Temporal cannot tell. */
export async function readPinned({ client }: NamespacePlace, taskQueue: string): Promise<readonly Pinned[]> {
  const found: {
    readonly build: NonNullable<Build>;
    readonly workflowId: string;
    readonly startedAt: Date;
  }[] = [];
  try {
    await client.withDeadline(Date.now() + LIMIT_MS, async () => {
      const query = pinnedQuery(taskQueue);
      for await (const { typedSearchAttributes, workflowId, startTime } of client.workflow.list({
        query,
        pageSize: MOST_PINNED,
      })) {
        const build = pinnedTo(typedSearchAttributes.get(VERSION) ?? '');
        if (build !== null) found.push({ build, workflowId, startedAt: startTime });
        if (found.length === MOST_PINNED) break;
      }
    });
  } catch {
    // An older server knows neither the attributes nor pins.
  }
  const isWhole = found.length < MOST_PINNED;
  return distinct(found.map(({ build }) => build)).flatMap((build) => {
    if (build === null) return [];
    const own = found.filter((each) => isSame(each.build, build));
    const [oldest = null] = own.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
    return [{ build, workflows: own.length, oldest: isWhole ? oldest : null }];
  });
}

function pinnedQuery(taskQueue: string): string {
  return `TaskQueue = '${taskQueue}' AND ${IS_OPEN} AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
}

/** @param version `deployment:build` */
function pinnedTo(version: string): Build {
  const [deploymentName = '', buildId = ''] = version.split(':');
  return buildOf({ deploymentName, buildId });
}

type Version = { readonly deploymentName?: string | null; readonly buildId?: string | null };

function buildOf(version: Version | null | undefined): Build {
  if (!version?.buildId) return null;
  return { deployment: version.deploymentName ?? '', id: version.buildId };
}

function distinct(builds: readonly Build[]): readonly Build[] {
  return builds.filter((build, index) => builds.findIndex((other) => isSame(build, other)) === index);
}

function isSame(one: Build, other: Build): boolean {
  return one?.deployment === other?.deployment && one?.id === other?.id;
}

function isIn(builds: readonly Build[], build: Build): boolean {
  return builds.some((other) => isSame(build, other));
}

/** False where no worker has a build, and so nothing depends on builds. */
export function hasBuilds({ current, ramp, present }: Routing): boolean {
  return [current, ramp?.build ?? null, ...present].some((build) => build !== null);
}

/** The builds that get work. When a ramp has 100 %, the current build gets none. */
function targetsOf({ current, ramp }: Routing): readonly Build[] {
  if (ramp === null) return [current];
  return distinct(ramp.percent < 100 ? [current, ramp.build] : [ramp.build]);
}

/** Each build that gets work while no worker of it is there. Pure. */
export function lackingOf(routing: Routing, namespace: string): readonly Trouble[] {
  if (!hasBuilds(routing)) return [];
  return targetsOf(routing)
    .filter((target) => !isIn(routing.present, target))
    .map((target) => ({
      code: 'BUILD_WITHOUT_WORKER' as const,
      place: routing.taskQueue,
      message: `Temporal gives work to ${gone(target)}, so runs wait`,
      fix: [startOf(target), ...waysWithout(target, routing, namespace)].join(' '),
    }));
}

/** Other ways to go on: take the ramp back; or make another build current whose workers are there. */
function waysWithout(target: Build, routing: Routing, namespace: string): readonly string[] {
  if (!isSame(target, routing.current))
    return [`Or take the ramp back: ${takeRampBack(routing, namespace)}.`];
  return routing.present.map(
    (build) => `Or make ${nameOf(build)} current: ${makeCurrent(build, routing, namespace)}.`,
  );
}

/**
 * Each build whose workers are there and get no work. Pure.
 * @param pinned their workers are needed
 */
export function idleOf(routing: Routing, pinned: readonly Pinned[], namespace: string): readonly Trouble[] {
  const needed = [...targetsOf(routing), ...pinned.map(({ build }) => build)];
  return routing.present
    .filter((build) => !isIn(needed, build))
    .map((build) => idle(build, routing, namespace));
}

function idle(build: Build, routing: Routing, namespace: string): Trouble {
  const [target = null] = targetsOf(routing);
  // Only a ramp of 100 % keeps all work from the current build.
  const toUse = isSame(build, routing.current)
    ? `take the ramp back: ${takeRampBack(routing, namespace)}`
    : `make them current: ${makeCurrent(build, routing, namespace)}`;
  return {
    code: 'BUILD_NOT_CURRENT',
    place: routing.taskQueue,
    message: `${nameOf(build)} get no work: Temporal gives it to ${nameOf(target)}`,
    fix: `If they are the ones to use, ${toUse}. Otherwise end them.`,
  };
}

/** What a worker that starts must say about its own build; null: its build gets work, or Temporal cannot tell. */
export async function ownTrouble(
  asked: NamespacePlace,
  taskQueue: string,
  own: NonNullable<Build>,
): Promise<Trouble | null> {
  try {
    const [routing, pinned] = await Promise.all([
      readRouting(asked, taskQueue, Date.now()),
      readPinned(asked, taskQueue),
    ]);
    // This worker asks for work from now on.
    const [trouble = null] = idleOf({ ...routing, present: [own] }, pinned, asked.namespace);
    return trouble;
  } catch {
    return null;
  }
}

/**
 * Checked before a run is reset, or asked for its state. Where Temporal cannot tell, nothing is refused.
 * @throws CommandFailure when the work of the run goes to a build without workers
 */
export async function requireBuild(place: Place, facts: RunFacts, nowMs: number): Promise<void> {
  const troubles = await troublesOfRun(place, facts, nowMs, REFUSED_AFTER_SECONDS).catch(() => []);
  if (troubles.length === 0) return;
  throw new CommandFailure(
    'infrastructure',
    troubles.map((trouble) => ({
      ...trouble,
      place: runName(facts.run),
      message: `${trouble.message}; nothing was changed`,
    })),
  );
}

/**
 * Why no worker answers for a run: its work goes to a build without workers. Null: there is another reason, or Temporal
 * cannot tell.
 */
export async function whyNobodyAnswers(
  place: NamespacePlace,
  facts: RunFacts,
  nowMs: number,
): Promise<Trouble | null> {
  const [trouble = null] = await troublesOfRun(place, facts, nowMs).catch(() => []);
  return trouble === null ? null : { ...trouble, place: runName(facts.run) };
}

async function troublesOfRun(
  place: NamespacePlace,
  facts: RunFacts,
  nowMs: number,
  withinSeconds?: number,
): Promise<readonly Trouble[]> {
  const { namespace } = place;
  const [routing, pin] = await Promise.all([
    readRouting(place, facts.taskQueue, nowMs, withinSeconds),
    readPin(place, facts),
  ]);
  if (pin === null) return lackingOf(routing, namespace);
  if (isIn(routing.present, pin)) return [];
  const what = {
    message: `a person has pinned it to ${gone(pin)}, so it waits`,
    which: `--workflow-id ${facts.workflowId}`,
  };
  return [pinnedTrouble(pin, what, routing, namespace)];
}

/** The build to which a run is pinned; null: the run is not pinned, and follows its task queue. */
async function readPin(
  { client }: Pick<NamespacePlace, 'client'>,
  { workflowId, temporalRunId }: RunFacts,
): Promise<Build> {
  const described = await client.withDeadline(Date.now() + LIMIT_MS, () =>
    describe(client, workflowId, temporalRunId),
  );
  const info = described?.raw.workflowExecutionInfo?.versioningInfo;
  const override = info?.versioningOverride;
  const own = Number(info?.behavior) === PINNED ? info?.deploymentVersion : null;
  return buildOf(override ? override.pinned?.version : own);
}

/** One problem for each build without workers to which runs are pinned. Pure. */
export function pinnedTroubles(
  pinned: readonly Pinned[],
  routing: Routing,
  namespace: string,
): readonly Trouble[] {
  return pinned.flatMap((each) => {
    const { build } = each;
    if (isIn(routing.present, build)) return [];
    // The query names only this build, so that pins to other builds stay.
    const query = `${pinnedQuery(routing.taskQueue)} AND TemporalWorkerDeploymentVersion = '${build.deployment}:${build.id}'`;
    const what = {
      message: `${countOf(each)} pinned to ${gone(build)}, so they wait${oldestOf(each)}`,
      which: `--query "${query}"`,
    };
    return [pinnedTrouble(build, what, routing, namespace)];
  });
}

/**
 * What each build whose workers are there is for: it gets work, or pinned workflows keep it from being ended. What is
 * wrong with builds is told by the others. Pure.
 */
export function buildsInUse(routing: Routing, pinned: readonly Pinned[]): readonly string[] {
  const isThere = (build: Build): boolean => isIn(routing.present, build);
  return [
    ...targetsOf(routing)
      .filter(isThere)
      .map((build) => `${nameOf(build)} get ${shareOf(build, routing)}`),
    ...pinned
      .filter(({ build }) => isThere(build))
      .map((each) => `${nameOf(each.build)} are needed: ${countOf(each)} pinned to them${oldestOf(each)}`),
  ];
}

function shareOf(build: Build, { ramp }: Routing): string {
  if (ramp === null || ramp.percent >= 100) return 'the work';
  return `${isSame(build, ramp.build) ? ramp.percent : 100 - ramp.percent} % of the workflows`;
}

function countOf({ workflows, oldest }: Pinned): string {
  if (oldest === null) return `${workflows} or more workflows are`;
  return workflows === 1 ? '1 workflow is' : `${workflows} workflows are`;
}

function oldestOf({ oldest }: Pinned): string {
  if (oldest === null) return '';
  return `; the oldest is ${oldest.workflowId}, started ${oldest.startedAt.toISOString().slice(0, 16)}Z`;
}

function pinnedTrouble(
  build: Build,
  { message, which }: { readonly message: string; readonly which: string },
  { taskQueue }: Routing,
  namespace: string,
): Trouble {
  return {
    code: 'BUILD_WITHOUT_WORKER',
    place: taskQueue,
    message,
    fix: `${startOf(build)} Or take the pin back: \`temporal workflow update-options --namespace ${namespace} ${which} --versioning-override-behavior unspecified\`.`,
  };
}

function nameOf(build: Build): string {
  return build === null
    ? 'workers without a build'
    : `workers of build "${build.id}" (deployment "${build.deployment}")`;
}

function gone(build: Build): string {
  return `${nameOf(build)}, and none has asked for work in the last minute`;
}

function startOf(build: Build): string {
  return build === null
    ? 'Start a worker without CAMBIST_BUILD_ID.'
    : `Start a worker with CAMBIST_BUILD_ID=${build.id}.`;
}

function makeCurrent(build: Build, routing: Routing, namespace: string): string {
  return `\`temporal worker deployment set-current-version ${versionOptions(build, routing, namespace)}\``;
}

function takeRampBack(routing: Routing, namespace: string): string {
  const build = routing.ramp?.build ?? null;
  return `\`temporal worker deployment set-ramping-version ${versionOptions(build, routing, namespace)} --delete\``;
}

/**
 * The options that name a build in Temporal's command. For workers without a build, they name the deployment that gets work
 * beside them.
 */
function versionOptions(build: Build, { current, ramp }: Routing, namespace: string): string {
  const { deployment } = build ?? current ?? ramp?.build ?? { deployment: '' };
  const which = build === null ? '--unversioned' : `--build-id ${build.id}`;
  return `--namespace ${namespace} --deployment-name ${deployment} ${which}`;
}
