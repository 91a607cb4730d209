/** What is said of builds: where work goes, who is there, and the command that mends it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasBuilds, idleOf, lackingOf, type Build, type Routing } from '../../operations/builds.ts';

const OLD: Build = { deployment: 'cambist-live', id: '1.4.0' };
const NEW: Build = { deployment: 'cambist-live', id: '1.5.0' };
const NONE: Build = null;

const routing = (targets: readonly Build[], present: readonly Build[]): Routing => ({
  taskQueue: 'cambist-live',
  targets,
  present,
});

const said = (of: Routing) => ({
  lacking: lackingOf(of, 'treasury').map(({ message }) => message),
  idle: idleOf(of, 'treasury').map(({ message }) => message),
});

const GONE = 'and none has asked for work in the last minute: runs wait';
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
      lacking: [`work goes to workers without a build, ${GONE}`],
      idle: [`${NEW_NAME} get no work: it goes to workers without a build`],
    },
  ],
  [
    'a newer build beside the current one',
    routing([OLD], [OLD, NEW]),
    { lacking: [], idle: [`${NEW_NAME} get no work: it goes to ${OLD_NAME}`] },
  ],
  [
    'a newer build, where the current one is gone',
    routing([OLD], [NEW]),
    {
      lacking: [`work goes to ${OLD_NAME}, ${GONE}`],
      idle: [`${NEW_NAME} get no work: it goes to ${OLD_NAME}`],
    },
  ],
  [
    'nobody at all, where a build is current',
    routing([OLD], []),
    { lacking: [`work goes to ${OLD_NAME}, ${GONE}`], idle: [] },
  ],
  [
    'workers without a build beside a current one',
    routing([OLD], [OLD, NONE]),
    { lacking: [], idle: [`workers without a build get no work: it goes to ${OLD_NAME}`] },
  ],
  [
    'a build that gets a share of the work, and is gone',
    routing([OLD, NEW], [OLD]),
    { lacking: [`work goes to ${NEW_NAME}, ${GONE}`], idle: [] },
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
  const [idle] = idleOf(routing([NONE], [NONE, NEW]), 'treasury');
  assert.equal(
    idle?.fix,
    'When they are the ones to use, make them current: `temporal worker deployment set-current-version --namespace treasury --deployment-name cambist-live --build-id 1.5.0`. Otherwise end them.',
  );
  const [first] = lackingOf(routing([NONE], [NEW]), 'treasury');
  assert.match(
    first?.fix ?? '',
    /^Start a worker without CAMBIST_BUILD_ID\. Or make workers of build "1\.5\.0" /,
  );
});
