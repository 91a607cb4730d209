/** Which files of a folder have a schedule to apply, and what is said about the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../operations/failure.ts';
import { readScheduleFiles } from '../../operations/schedules/files.ts';
import { ROOT } from '../support/root.ts';

const caller = { env: {}, cwd: ROOT, now: () => Date.parse('2026-11-21T12:00:00Z'), say: () => {} };

test('a payout in a folder is left out, since it has no schedule', async () => {
  const { policies, left } = await readScheduleFiles(caller, ['policies'], 'SANDBOX');
  assert.deepEqual(
    policies.map(({ policy }) => policy.name),
    ['daily-treasury'],
  );
  assert.deepEqual(
    left.find(({ file }) => file === 'policies/contractors.yaml'),
    { file: 'policies/contractors.yaml', why: 'no schedule' },
  );
});

test('a payout that is named itself is refused, with what to do', async () => {
  await assert.rejects(readScheduleFiles(caller, ['policies/contractors.yaml'], 'SANDBOX'), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.deepEqual(
      error.problems.map(({ code, fix }) => `${code} ${fix}`),
      ['SCHEDULE_MISSING Leave it out: a person starts a payout, with the batch file.'],
    );
    return true;
  });
});
