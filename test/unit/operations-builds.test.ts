/** What is said of builds: where work goes, who is there, and the command that mends it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  buildsInUse,
  hasBuilds,
  idleOf,
  lackingOf,
  ownTrouble,
  pinnedTroubles,
  readPinned,
  readRouting,
  requireBuild,
  type Build,
  type Pinned,
  type Routing,
} from '../../operations/watch/builds.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Place } from '../../operations/place.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';

const OLD = { deployment: 'cambist-live', id: '1.4.0' };
const NEW = { deployment: 'cambist-live', id: '1.5.0' };
const NONE: Build = null;

const routing = (
  [current, ramping]: readonly [current: Build, ramping?: Build],
  present: readonly Build[],
  percent = 10,
): Routing => ({
  taskQueue: 'cambist-live',
  current,
  ramp: ramping === undefined ? null : { build: ramping, percent },
  present,
});

const OLDEST = { workflowId: 'live/treasury.2026-11-21', startedAt: new Date('2026-11-21T09:30:07Z') };

const pinnedTo = (build: NonNullable<Build>, workflows = 3): Pinned => ({
  build,
  workflows,
  oldest: OLDEST,
});

const said = (of: Routing, pinned: readonly Pinned[] = []) => ({
  lacking: lackingOf(of, 'treasury').map(({ message }) => message),
  idle: idleOf(of, pinned, 'treasury').map(({ message }) => message),
});

const GONE = 'and none has asked for work in the last minute, so runs wait';
const OLD_NAME = 'workers of build "1.4.0" (deployment "cambist-live")';
const NEW_NAME = 'workers of build "1.5.0" (deployment "cambist-live")';

test('where nobody has a build nothing is said, with and without workers', () => {
  for (const present of [[], [NONE]]) {
    assert.equal(hasBuilds(routing([NONE], present)), false);
    assert.deepEqual(said(routing([NONE], present)), { lacking: [], idle: [] });
  }
});

test('a build that is current and has a worker is well', () => {
  assert.deepEqual(said(routing([OLD], [OLD])), { lacking: [], idle: [] });
  assert.deepEqual(said(routing([OLD, NEW], [NEW, OLD])), { lacking: [], idle: [] });
});

const TABLE: readonly (readonly [string, Routing, ReturnType<typeof said>])[] = [
  [
    'the first build, before anybody has made it current',
    routing([NONE], [NEW]),
    {
      lacking: [`Temporal gives work to workers without a build, ${GONE}`],
      idle: [`${NEW_NAME} get no work: Temporal gives it to workers without a build`],
    },
  ],
  [
    'a newer build beside the current one',
    routing([OLD], [OLD, NEW]),
    { lacking: [], idle: [`${NEW_NAME} get no work: Temporal gives it to ${OLD_NAME}`] },
  ],
  [
    'a newer build, where the current one is gone',
    routing([OLD], [NEW]),
    {
      lacking: [`Temporal gives work to ${OLD_NAME}, ${GONE}`],
      idle: [`${NEW_NAME} get no work: Temporal gives it to ${OLD_NAME}`],
    },
  ],
  [
    'nobody at all, where a build is current',
    routing([OLD], []),
    { lacking: [`Temporal gives work to ${OLD_NAME}, ${GONE}`], idle: [] },
  ],
  [
    'workers without a build beside a current one',
    routing([OLD], [OLD, NONE]),
    { lacking: [], idle: [`workers without a build get no work: Temporal gives it to ${OLD_NAME}`] },
  ],
  [
    'a build that gets a share of the work, and is gone',
    routing([OLD, NEW], [OLD]),
    { lacking: [`Temporal gives work to ${NEW_NAME}, ${GONE}`], idle: [] },
  ],
  [
    'a build that gets all of the work by a ramp, and is gone',
    routing([OLD, NEW], [OLD], 100),
    {
      lacking: [`Temporal gives work to ${NEW_NAME}, ${GONE}`],
      idle: [`${OLD_NAME} get no work: Temporal gives it to ${NEW_NAME}`],
    },
  ],
  [
    'a current build that is gone, and gets nothing beside a ramp of all of the work',
    routing([OLD, NEW], [NEW], 100),
    { lacking: [], idle: [] },
  ],
];

for (const [title, of, expected] of TABLE) test(title, () => assert.deepEqual(said(of), expected));

test('the fix names the build to start, and the whole command that makes another one current', () => {
  const [lacking] = lackingOf(routing([OLD], [NEW, NONE]), 'treasury');
  assert.equal(
    lacking?.fix,
    'Start a worker with CAMBIST_BUILD_ID=1.4.0. ' +
      'Or make workers of build "1.5.0" (deployment "cambist-live") current: `temporal worker deployment set-current-version --namespace treasury --deployment-name cambist-live --build-id 1.5.0`. ' +
      'Or make workers without a build current: `temporal worker deployment set-current-version --namespace treasury --deployment-name cambist-live --unversioned`.',
  );
  const [idle] = idleOf(routing([NONE], [NONE, NEW]), [], 'treasury');
  assert.equal(
    idle?.fix,
    'If they are the ones to use, make them current: `temporal worker deployment set-current-version --namespace treasury --deployment-name cambist-live --build-id 1.5.0`. Otherwise end them.',
  );
  const [first] = lackingOf(routing([NONE], [NEW]), 'treasury');
  assert.match(
    first?.fix ?? '',
    /^Start a worker without CAMBIST_BUILD_ID\. Or make workers of build "1\.5\.0" /,
  );
});

const TAKE_RAMP_BACK =
  '`temporal worker deployment set-ramping-version --namespace treasury --deployment-name cambist-live --build-id 1.5.0 --delete`';

test('a ramp to a build that is gone is taken back; to make the current build current is not offered', () => {
  for (const percent of [10, 100]) {
    const [lacking] = lackingOf(routing([OLD, NEW], [OLD], percent), 'treasury');
    assert.equal(
      lacking?.fix,
      `Start a worker with CAMBIST_BUILD_ID=1.5.0. Or take the ramp back: ${TAKE_RAMP_BACK}.`,
    );
  }
  const [idle] = idleOf(routing([OLD, NEW], [OLD], 100), [], 'treasury');
  assert.equal(
    idle?.fix,
    `If they are the ones to use, take the ramp back: ${TAKE_RAMP_BACK}. Otherwise end them.`,
  );
  const [unversioned] = lackingOf(routing([OLD, NONE], [OLD]), 'treasury');
  assert.match(
    unversioned?.fix ?? '',
    /set-ramping-version .* --deployment-name cambist-live --unversioned --delete`/,
  );
});

test('a current build that is gone is replaced by one that is there, also by one that has a share already', () => {
  const [lacking] = lackingOf(routing([OLD, NEW], [NEW]), 'treasury');
  assert.match(
    lacking?.fix ?? '',
    /Or make workers of build "1\.5\.0" .* current: `.* --build-id 1\.5\.0`\.$/,
  );
});

test('nobody is told to end the workers of a build that runs are pinned to', () => {
  assert.deepEqual(said(routing([NEW], [OLD, NEW, NONE]), [pinnedTo(OLD)]), {
    lacking: [],
    idle: [`workers without a build get no work: Temporal gives it to ${NEW_NAME}`],
  });
});

test('runs that are pinned to a build without worker are named, with the command that takes back only their pins', () => {
  assert.deepEqual(pinnedTroubles([pinnedTo(OLD), pinnedTo(NEW)], routing([NONE], [NONE, NEW]), 'treasury'), [
    {
      code: 'BUILD_WITHOUT_WORKER',
      place: 'cambist-live',
      message: `3 workflows are pinned to ${OLD_NAME}, and none has asked for work in the last minute, so they wait; the oldest is live/treasury.2026-11-21, started 2026-11-21T09:30Z`,
      fix:
        'Start a worker with CAMBIST_BUILD_ID=1.4.0. Or take the pin back: `temporal workflow update-options --namespace treasury ' +
        `--query "TaskQueue = 'cambist-live' AND CloseTime IS NULL AND TemporalWorkflowVersioningBehavior = 'Pinned' AND TemporalWorkerDeploymentVersion = 'cambist-live:1.4.0'" ` +
        '--versioning-override-behavior unspecified`.',
    },
  ]);
});

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');

/** A worker of 1.4.0, or without a build, that has asked for work so long ago. */
const poller = (secondsAgo: number, build: Build) => ({
  lastAccessTime: { seconds: NOW_MS / 1_000 - secondsAgo },
  deploymentOptions:
    build === null ? null : { workerVersioningMode: 2, deploymentName: build.deployment, buildId: build.id },
});

const versionOf = ({ deployment, id }: NonNullable<Build>) => ({ deploymentName: deployment, buildId: id });

/** A Temporal that answers so; what it is not given it cannot be asked. */
function temporal(answers: {
  readonly queue?: object;
  /** Of the run. */
  readonly versioningInfo?: object;
  /** Each with the hour of its start. */
  readonly pinned?: readonly (readonly [version: string, hour?: number])[];
}): Place {
  const answer = async <T>(given: T | undefined): Promise<T> => {
    if (given === undefined) throw new Error('14 UNAVAILABLE');
    return given;
  };
  const client = {
    options: { namespace: 'treasury' },
    withDeadline: (_untilMs: number, ask: () => Promise<unknown>) => ask(),
    workflowService: { describeTaskQueue: () => answer(answers.queue) },
    workflow: {
      getHandle: () => ({
        describe: async () => ({
          raw: { workflowExecutionInfo: { versioningInfo: await answer(answers.versioningInfo) } },
        }),
      }),
      list: async function* () {
        for (const [version, hour = 9] of await answer(answers.pinned))
          yield {
            typedSearchAttributes: { get: () => version },
            workflowId: `live/at-${hour}`,
            startTime: new Date(Date.UTC(2026, 10, 21, hour)),
          };
      },
    },
  };
  return { client, namespace: 'treasury' } as unknown as Place;
}

const FACTS = {
  run: { policy: 'treasury', id: '1' },
  workflowId: 'live/treasury/1',
  temporalRunId: 'r',
  taskQueue: 'cambist-live',
} as RunFacts;

const NOT_PINNED = {};
const PINNED_TO_OLD = { versioningOverride: { pinned: { version: versionOf(OLD) } } };
const OF_OLD = { pollers: [], versioningInfo: { currentDeploymentVersion: versionOf(OLD) } };

/** Why a run is refused; none when it is not. */
async function refusals(place: Place): Promise<readonly string[]> {
  try {
    await requireBuild(place, FACTS, NOW_MS);
    return [];
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return error.problems.map(({ message }) => message);
  }
}

test('a run that is pinned to a build without worker is refused, also where nobody has a build', async () => {
  const queue = { pollers: [poller(1, NONE)] };
  assert.deepEqual(await refusals(temporal({ queue, versioningInfo: PINNED_TO_OLD })), [
    `a person has pinned it to ${OLD_NAME}, and none has asked for work in the last minute, so it waits; nothing was changed`,
  ]);
  assert.deepEqual(await refusals(temporal({ queue, versioningInfo: NOT_PINNED })), []);
});

test('a run is refused when the last worker of its build has asked for work two minutes ago, and not before', async () => {
  const asked = (secondsAgo: number) =>
    refusals(
      temporal({ queue: { ...OF_OLD, pollers: [poller(secondsAgo, OLD)] }, versioningInfo: NOT_PINNED }),
    );
  assert.deepEqual(await asked(119), []);
  assert.deepEqual(await asked(121), [`Temporal gives work to ${OLD_NAME}, ${GONE}; nothing was changed`]);
});

test('what Temporal cannot tell of builds refuses nothing', async () => {
  assert.equal((await refusals(temporal({ queue: OF_OLD, versioningInfo: NOT_PINNED }))).length, 1);
  assert.deepEqual(await refusals(temporal({ versioningInfo: PINNED_TO_OLD })), []);
  assert.deepEqual(await refusals(temporal({ queue: OF_OLD })), []);
});

test('a ramp is what Temporal says of it', async () => {
  const of = async (rampingVersionPercentage: number) =>
    (
      await readRouting(
        temporal({
          queue: {
            pollers: [],
            versioningInfo: {
              currentDeploymentVersion: versionOf(OLD),
              rampingDeploymentVersion: versionOf(NEW),
              rampingVersionPercentage,
            },
          },
        }),
        'cambist-live',
        NOW_MS,
      )
    ).ramp;
  assert.deepEqual(await of(100), { build: NEW, percent: 100 });
  assert.equal(await of(0), null);
});

test('the builds that workflows are pinned to are told once each, with the oldest; where Temporal cannot tell, there are none', async () => {
  const pinned = [
    ['cambist-live:1.4.0', 12],
    ['cambist-live:1.4.0', 8],
    ['cambist-live:1.5.0', 10],
  ] as const;
  const told = await readPinned(temporal({ pinned }), 'cambist-live');
  assert.deepEqual(
    told.map(({ build, workflows, oldest }) => [build, workflows, oldest?.workflowId]),
    [
      [OLD, 2, 'live/at-8'],
      [NEW, 1, 'live/at-10'],
    ],
  );
  assert.deepEqual(await readPinned(temporal({}), 'cambist-live'), []);
});

test('of more pinned workflows than are read, none is called the oldest', async () => {
  const pinned = Array.from({ length: 300 }, () => ['cambist-live:1.4.0'] as const);
  const told = await readPinned(temporal({ pinned }), 'cambist-live');
  assert.deepEqual(told, [{ build: OLD, workflows: 200, oldest: null }]);
  assert.deepEqual(buildsInUse(routing([NEW], [OLD]), told), [
    `${OLD_NAME} are needed: 200 or more workflows are pinned to them`,
  ]);
});

test('it is told what each build is for whose workers are there', () => {
  assert.deepEqual(buildsInUse(routing([OLD], [OLD, NEW]), []), [`${OLD_NAME} get the work`]);
  assert.deepEqual(buildsInUse(routing([OLD, NEW], [OLD, NEW]), []), [
    `${OLD_NAME} get 90 % of the workflows`,
    `${NEW_NAME} get 10 % of the workflows`,
  ]);
  assert.deepEqual(buildsInUse(routing([OLD, NEW], [OLD, NEW], 100), [pinnedTo(OLD, 1)]), [
    `${NEW_NAME} get the work`,
    `${OLD_NAME} are needed: 1 workflow is pinned to them; the oldest is live/treasury.2026-11-21, started 2026-11-21T09:30Z`,
  ]);
  assert.deepEqual(buildsInUse(routing([NEW], []), [pinnedTo(OLD)]), []);
});

test('a worker that starts says that its build gets no work, unless a run is pinned to it or Temporal cannot tell', async () => {
  const own = async (answers: Parameters<typeof temporal>[0]) =>
    (await ownTrouble(temporal(answers), 'cambist-live', NEW))?.message ?? null;
  assert.equal(
    await own({ queue: OF_OLD, pinned: [] }),
    `${NEW_NAME} get no work: Temporal gives it to ${OLD_NAME}`,
  );
  assert.equal(await own({ queue: OF_OLD, pinned: [['cambist-live:1.5.0']] }), null);
  assert.equal(await own({ pinned: [] }), null);
});
