/** What stands against a release, and what a release does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonsAgainst } from '../../scripts/lib/release-check.mjs';
import { stepsOf } from '../../scripts/release.mjs';

const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n- a\n\n## [0.9.0] - 2026-11-29\n\n- b\n\n## [0.8.0] - 2026-10-01\n\n- c\n';
const READY: Parameters<typeof reasonsAgainst>[0] = {
  version: '0.9.0',
  today: '2026-11-29',
  branch: 'main',
  changes: '',
  isTagged: false,
  isKept: false,
  changelog: CHANGELOG,
};

test('nothing stands against a release of a clean main whose changelog names the version and today', () => {
  assert.deepEqual(reasonsAgainst(READY), []);
});

const REASONS: readonly (readonly [what: string, facts: Partial<typeof READY>, reason: RegExp])[] = [
  ['another branch', { branch: 'fix' }, /made of main, and this is fix/],
  ['a change that is not committed', { changes: ' M README.md' }, /not committed:\n M README\.md/],
  ['a tag of the version', { isTagged: true }, /There is a tag v0\.9\.0/],
  ['histories of the version that are kept', { isKept: true }, /kept already/],
  [
    'a version that is none',
    { version: 'next', changelog: '## [next] - 2026-11-29\n- a' },
    /no version as 1\.2\.3/,
  ],
  [
    'a changelog without the version',
    { changelog: '## [Unreleased]\n\n- a\n' },
    /no section '## \[0\.9\.0\] - 2026-11-29'/,
  ],
  [
    'a section of another day',
    { today: '2026-11-30' },
    /says '## \[0\.9\.0\] - 2026-11-29', and today it must say/,
  ],
  [
    'an empty section',
    { changelog: '## [0.9.0] - 2026-11-29\n\n[0.9.0]: #090\n\n## [0.8.0] - 2026-10-01\n- c' },
    /says nothing below/,
  ],
];
for (const [what, facts, reason] of REASONS)
  test(`${what} stands against a release, alone`, () => {
    const reasons = reasonsAgainst({ ...READY, ...facts });
    assert.equal(reasons.length, 1, reasons.join('\n'));
    assert.match(reasons[0] ?? '', reason);
  });

test('a release tags last, after its tests, its proof and its histories, and publishes nothing', () => {
  const steps = stepsOf('0.9.0').map(({ what }) => what);
  const at = (part: string): number => steps.findIndex((what) => what.includes(part));
  const order = [
    'npm test',
    'npm run proof',
    'record-histories',
    'releases/0.9.0',
    'run-replay',
    'commit',
    'package',
    'v0.9.0',
  ];
  assert.deepEqual(order.map(at), [...order.keys()]);
  assert.ok(!steps.some((what) => /publish|push/.test(what)));
});
