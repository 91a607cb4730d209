/** The last question of a run that ends with something undone: which run asks, and what the service shows as done (M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellRun } from '../../activities/tell-run.ts';
import { inActivity, page, worker } from '../support/activities.ts';
import { LEG, NO_ANSWER, PAYMENT, TRADE, WITHDRAWAL, context } from '../support/scripts.ts';

const UNDONE = {
  plan: context().plan,
  legs: [LEG.reference],
  payments: [{ reference: PAYMENT.reference, withdrawalId: null }],
};
const FAILED = {
  ...UNDONE,
  legs: [],
  payments: [{ reference: PAYMENT.reference, withdrawalId: WITHDRAWAL.id }],
};
const untagged = { ...WITHDRAWAL, tag: null };
const later = { ...WITHDRAWAL, tag: `${PAYMENT.reference}~2` };
const others = { ...WITHDRAWAL, tag: `${PAYMENT.reference}-2` };

for (const [what, undone, trades, withdrawals, done] of [
  ['nothing', UNDONE, [], [], []],
  [
    'a trade and a withdrawal under their names',
    UNDONE,
    [TRADE],
    [WITHDRAWAL],
    [LEG.reference, PAYMENT.reference],
  ],
  [
    'only what has failed',
    UNDONE,
    [{ ...TRADE, status: 'FAILED' }],
    [{ ...WITHDRAWAL, status: 'RETURNED' }],
    [],
  ],
  ['a withdrawal of a later generation', UNDONE, [], [later], [PAYMENT.reference]],
  ['a withdrawal of another payment', UNDONE, [], [others], []],
  ['a withdrawal without a tag, which is no proof', UNDONE, [], [untagged], []],
  ['a record as paid that a poll has told as failed', FAILED, [], [untagged], [PAYMENT.reference]],
] as const)
  test(`the service shows ${what}: ${done.length === 0 ? 'the run ends' : 'these are looked up anew'}`, async () => {
    const { deps } = worker({
      listTrades: async () => page(...trades),
      listWithdrawals: async () => page(...withdrawals),
    });
    const told = await inActivity({}, () => tellRun(deps)(undone));
    assert.deepEqual(told.done, done);
  });

test('a service that does not answer holds up nothing; and of nothing undone nobody is asked', async () => {
  const { deps } = worker({ listTrades: async () => NO_ANSWER, listWithdrawals: async () => NO_ANSWER });
  assert.deepEqual((await inActivity({}, () => tellRun(deps)(UNDONE))).done, []);
  const quiet = worker({
    listTrades: () => assert.fail('It asks.'),
    listWithdrawals: () => assert.fail('It asks.'),
  });
  assert.deepEqual(Object.keys(await inActivity({}, () => tellRun(quiet.deps)(null))), ['runId']);
});
