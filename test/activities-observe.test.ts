/** What a worker sees before a plan is made: it reads the policy with its own eyes, and refuses what it may not read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observe } from '../activities/observe.ts';
import { inActivity, page, worker } from './support/activities.ts';
import { RUN } from './support/scripts.ts';
import { convertPolicy } from './support/policies.ts';

const POLICY = convertPolicy().replace('name: replaced', `name: ${RUN.policy}`);

/** Observes for a run with this policy; `requests` is what the service was asked. */
async function observed(policyText: string, scripted: Parameters<typeof worker>[0] = {}) {
  const { deps, requests } = worker(scripted, {
    plans: {
      start: () => assert.fail('No plan is started here.'),
      read: () => assert.fail('No plan is read here.'),
      isMade: () => assert.fail('Nobody asks for it here.'),
      readEarlier: async () => null,
    },
  });
  const input = {
    run: RUN,
    mode: 'SANDBOX',
    policyText,
    policyHash: '',
    policyFile: 'p.yaml',
    files: {},
  } as const;
  const answer = await inActivity({}, () =>
    observe(deps)({ ...input, forRun: 'run-1', originalPlanRunId: 'run-1' }),
  );
  return { answer, requests };
}

test('a policy that is too large is refused with its problem, before the service is asked for anything', async () => {
  const { answer, requests } = await observed(`${POLICY}# ${'-'.repeat(150_000)}\n`);
  assert.ok(answer.kind === 'refused');
  assert.deepEqual(
    answer.problems.map(({ code }) => code),
    ['POLICY_TOO_LARGE'],
  );
  assert.deepEqual(requests, []);
});

test('an account that the worker’s service file calls unusable is told as such', async () => {
  const { answer } = await observed(POLICY, {
    listWithdrawalAccounts: async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'REJECTED', currency: 'MXN' }),
  });
  assert.ok(answer.kind === 'observed');
  assert.deepEqual(
    answer.observation.accounts.map(({ isUnusable }) => isUnusable),
    [true],
  );
});
