/** A start by a schedule: what is not of our making is refused, what may pass is tried again, and what is late is missed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApplicationFailure } from '@temporalio/common';
import { startScheduled } from '../../activities/start-scheduled.ts';
import type { Deps } from '../../activities/deps.ts';
import type { NotNow, ScheduledAnswer, ScheduledCall } from '../../workflows/calls.ts';
import { inActivity, worker } from '../support/activities.ts';
import { NOW } from '../support/scripts.ts';

const CALL: ScheduledCall = {
  input: { mode: 'SANDBOX', policy: 'p', policyText: 'policy: 1\n', policyFile: 'p.yaml' },
  nominalMs: NOW - 1_000,
  startedAtMs: NOW,
};
const STARTED = { kind: 'started', date: '2026-11-21', line: 'p.2026-11-21 is started.' } as const;
const NOT_NOW = {
  kind: 'not now',
  problems: [{ code: 'SERVICE_UNREACHABLE', item: null, message: 'It does not answer.', fix: 'See.' }],
} as const;

/** What the activity comes to at a moment, and how often it tried to start. */
async function start(
  call: object,
  { atMs = NOW, answer = STARTED }: { atMs?: number; answer?: ScheduledAnswer | NotNow } = {},
) {
  let tries = 0;
  const more: Partial<Deps> = {
    clock: { wallMs: () => atMs, monotonicMs: () => 0 },
    startScheduled: async () => {
      tries += 1;
      return answer;
    },
  };
  const { deps } = worker({}, more);
  const came = await inActivity({}, () =>
    startScheduled(deps)(call as ScheduledCall).catch((error: unknown) => error),
  );
  return { came, tries };
}

function codesOf(came: unknown): readonly string[] {
  const answer = came as ScheduledAnswer;
  assert.equal(answer.kind, 'refused');
  return answer.kind === 'refused' ? answer.problems.map(({ code }) => code) : [];
}

test('a start in time is handed on, and its answer is the activity’s', async () => {
  assert.deepEqual(await start(CALL), { came: STARTED, tries: 1 });
});

test('an input that is not of our making starts nothing', async () => {
  const { input } = CALL;
  for (const wrong of [
    { ...CALL, input: { ...input, amount: '1.00' } },
    { ...CALL, input: { mode: input.mode, policy: input.policy, policyText: input.policyText } },
    { ...CALL, input: { ...input, policy: 'a.b' } },
    { ...CALL, input: { ...input, policyText: 'x'.repeat(2_000_000) } },
    { ...CALL, input: { ...input, mode: 'sandbox' } },
    { ...CALL, nominalMs: '2026-11-21' },
  ]) {
    const { came, tries } = await start(wrong);
    assert.deepEqual([codesOf(came), tries], [['INPUT_INVALID'], 0]);
  }
});

test('what was asked for more than ten minutes ago is missed, and nothing is started', async () => {
  const { came, tries } = await start(CALL, { atMs: NOW + 600_000 });
  assert.deepEqual([codesOf(came), tries], [['SCHEDULE_MISSED'], 0]);
});

test('what may pass is tried again soon, and at last is missed with the reason', async () => {
  const { came } = await start(CALL, { answer: NOT_NOW });
  assert.ok(came instanceof ApplicationFailure && came.nonRetryable !== true);
  assert.equal(came.type, 'SERVICE_UNREACHABLE');
  const last = await start(CALL, { answer: NOT_NOW, atMs: NOW + 590_000 });
  assert.deepEqual(codesOf(last.came), ['SCHEDULE_MISSED', 'SERVICE_UNREACHABLE']);
});

test('a worker of the other mode starts nothing and leaves it to others', async () => {
  const { came, tries } = await start({ ...CALL, input: { ...CALL.input, mode: 'LIVE' } });
  assert.ok(came instanceof ApplicationFailure && came.nonRetryable !== true);
  assert.deepEqual([came.type, tries], ['MODE_DIFFERS', 0]);
});
