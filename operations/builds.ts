/**
 * Builds of workers (`CAMBIST_BUILD_ID`), which are versions of a Worker Deployment in Temporal: to which of them the work
 * of a task queue goes, and whether anybody of it is there. Temporal keeps a task for a build that is gone for ever, and
 * tells nobody: `doctor`, `replay` and `explain-reset` say it. Where nobody has a build, nothing is said. Reads only.
 */
import { defineSearchAttributeKey } from '@temporalio/common';
import { runName } from '../domain/references.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from './failure.ts';
import type { Place } from './place.ts';
import { describeQueue, presentOf, type RunFacts } from './runs.ts';

/** Workers of one build; null: those without one. */
export type Build = { readonly deployment: string; readonly id: string } | null;

export type Routing = {
  readonly taskQueue: string;
  /** Whose the work is: of the current build, and of one that gets a share of it. */
  readonly targets: readonly Build[];
  /** Who has asked for work in the last minute. */
  readonly present: readonly Build[];
};

type Asked = Pick<Place, 'client' | 'namespace'>;

export async function readRouting({ client }: Asked, taskQueue: string, nowMs: number): Promise<Routing> {
  const { pollers, versioningInfo } = await describeQueue(client, taskQueue);
  const current = buildOf(versioningInfo?.currentDeploymentVersion);
  const hasRamp = (versioningInfo?.rampingVersionPercentage ?? 0) > 0;
  const ramping = buildOf(versioningInfo?.rampingDeploymentVersion);
  return {
    taskQueue,
    targets: distinct(hasRamp ? [current, ramping] : [current]),
    present: distinct(
      presentOf(pollers, nowMs).map(({ deploymentOptions }) =>
        Number(deploymentOptions?.workerVersioningMode) === VERSIONED ? buildOf(deploymentOptions) : null,
      ),
    ),
  };
}

/** Of the server's enumeration of versioning modes. */
const VERSIONED = 2;
/** Of the server's enumeration of versioning behaviours. */
const PINNED = 1;

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

/** False where all is as if there were no builds. */
export function hasBuilds({ targets, present }: Routing): boolean {
  return [...targets, ...present].some((build) => build !== null);
}

/** Each build that gets work which nobody takes. Pure. */
export function lackingOf(routing: Routing, namespace: string): readonly Trouble[] {
  if (!hasBuilds(routing)) return [];
  const { taskQueue, targets, present } = routing;
  return targets
    .filter((target) => !isIn(present, target))
    .map((target) => ({
      code: 'BUILD_WITHOUT_WORKER' as const,
      place: taskQueue,
      message: `work goes to ${nameOf(target)}, and none has asked for work in the last minute: runs wait`,
      fix: [
        startOf(target),
        ...present.map(
          (build) => `Or make ${nameOf(build)} current: ${makeCurrent(build, routing, namespace)}.`,
        ),
      ].join(' '),
    }));
}

/** Each build whose workers are there and get no work. Pure. */
export function idleOf(routing: Routing, namespace: string): readonly Trouble[] {
  return routing.present
    .filter((build) => !isIn(routing.targets, build))
    .map((build) => ({ ...idle(build, routing, namespace), place: routing.taskQueue }));
}

function idle(build: Build, routing: Routing, namespace: string): Omit<Trouble, 'place'> {
  const current = routing.targets[0] ?? null;
  return {
    code: 'BUILD_NOT_CURRENT',
    message: `${nameOf(build)} get no work: it goes to ${nameOf(current)}`,
    fix: `When they are the ones to use, make them current: ${makeCurrent(build, routing, namespace)}. Otherwise end them.`,
  };
}

/** What a worker that starts has to say of its build; null: its build gets work. */
export async function ownTrouble(
  asked: Asked,
  taskQueue: string,
  own: NonNullable<Build>,
): Promise<Trouble | null> {
  const routing = await readRouting(asked, taskQueue, Date.now());
  if (isIn(routing.targets, own)) return null;
  return { ...idle(own, routing, asked.namespace), place: taskQueue };
}

/**
 * Before a run is reset, or asked how it stands.
 * @throws CommandFailure when the work of the run goes to a build of which nobody is there
 */
export async function requireBuild(place: Place, facts: RunFacts, nowMs: number): Promise<void> {
  const { client, namespace } = place;
  const routing = await readRouting(place, facts.taskQueue, nowMs);
  if (!hasBuilds(routing)) return;
  const described = await client.workflow.getHandle(facts.workflowId, facts.temporalRunId).describe();
  const info = described.raw.workflowExecutionInfo?.versioningInfo;
  const override = info?.versioningOverride;
  const own = Number(info?.behavior) === PINNED ? info?.deploymentVersion : null;
  const pinned = buildOf(override ? override.pinned?.version : own);
  if (pinned === null) return refuse(facts, lackingOf(routing, namespace));
  if (isIn(routing.present, pinned)) return;
  refuse(facts, [pinnedTrouble(pinned, `--workflow-id ${facts.workflowId}`, namespace)]);
}

function refuse({ run }: RunFacts, troubles: readonly Trouble[]): void {
  if (troubles.length === 0) return;
  const place = runName(run);
  throw new CommandFailure(
    'infrastructure',
    troubles.map((trouble) => ({ ...trouble, place, message: `${trouble.message}; nothing was changed` })),
  );
}

/** Runs that somebody has pinned to a build of which nobody is there. */
export async function pinnedTroubles(place: Asked, routing: Routing): Promise<readonly Trouble[]> {
  const { client, namespace } = place;
  const query = `TaskQueue = '${routing.taskQueue}' AND ExecutionStatus = 'Running' AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
  const builds: Build[] = [];
  for await (const { typedSearchAttributes } of client.workflow.list({ query, pageSize: MOST_PINNED })) {
    builds.push(pinnedTo(typedSearchAttributes.get(VERSION) ?? ''));
    if (builds.length === MOST_PINNED) break;
  }
  return distinct(builds)
    .filter((build) => build !== null && !isIn(routing.present, build))
    .map((build) => ({ ...pinnedTrouble(build, `--query "${query}"`, namespace), place: routing.taskQueue }));
}

/** So many that somebody has pinned are looked at. */
const MOST_PINNED = 200;
const VERSION = defineSearchAttributeKey('TemporalWorkerDeploymentVersion', 'KEYWORD');

/** @param version `deployment:build` */
function pinnedTo(version: string): Build {
  const [deploymentName = '', buildId = ''] = version.split(':');
  return buildOf({ deploymentName, buildId });
}

function pinnedTrouble(build: Build, which: string, namespace: string): Trouble {
  return {
    code: 'BUILD_WITHOUT_WORKER',
    place: null,
    message: `somebody has pinned it to ${nameOf(build)}, and none has asked for work in the last minute: it waits`,
    fix: `${startOf(build)} Or take the pin back: \`temporal workflow update-options --namespace ${namespace} ${which} --versioning-override-behavior unspecified\`.`,
  };
}

function nameOf(build: Build): string {
  return build === null
    ? 'workers without a build'
    : `workers of build "${build.id}" (deployment "${build.deployment}")`;
}

function startOf(build: Build): string {
  return build === null
    ? 'Start a worker without CAMBIST_BUILD_ID.'
    : `Start a worker with CAMBIST_BUILD_ID=${build.id}.`;
}

/** Whoever makes workers without a build current says so of the deployment that is current. */
function makeCurrent(build: Build, { targets }: Routing, namespace: string): string {
  const deployment = build?.deployment ?? targets.find((target) => target !== null)?.deployment ?? '';
  const which = build === null ? '--unversioned' : `--build-id ${build.id}`;
  return `\`temporal worker deployment set-current-version --namespace ${namespace} --deployment-name ${deployment} ${which}\``;
}
