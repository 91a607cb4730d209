/** One poll of a settlement and of payments' last words: what counts as money that is there, paid or failed (M3, M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitSettlement } from '../activities/await-settlement.ts';
import { awaitWithdrawals } from '../activities/await-withdrawals.ts';
import type { Deps } from '../activities/deps.ts';
import { DEFAULT_SERVICE_FACTS } from '../domain/service-facts.ts';
import type { Settlement, SettlementCall, WithdrawalsCall } from '../workflows/calls.ts';
import { client, inActivity, page, worker, instructionsOf, type AttemptInfo } from './support/activities.ts';
import { NO_ANSWER, PAYMENT, TRADE, WITHDRAWAL, context, done } from './support/scripts.ts';

const { plan } = context();
const UNPAID = { reference: PAYMENT.reference, account: PAYMENT.account, amount: '17250.00' };
const SETTLEMENT: SettlementCall = {
  plan,
  leg: 'usd-mxn-1',
  tradeId: 'tde_1',
  until: 'funds',
  currency: 'MXN',
  unpaid: [UNPAID],
};
const traded = (status: string) => ({
  trade: async () => done({ kind: 'WHOLE' as const, record: { ...TRADE, status } }),
});
const there = (withdrawable: string) => ({
  balances: async () =>
    done({ aggregateUsd: '1', balances: [{ currency: 'MXN', withdrawable, total: withdrawable }] }),
});

type Row = readonly [
  what: string,
  scripted: Parameters<typeof worker>[0],
  call: Partial<SettlementCall>,
  attempt: AttemptInfo,
  settlement: Settlement['kind'] | 'not yet',
];
const SETTLEMENTS: readonly Row[] = [
  ['enough money is there', { ...traded('LOCKED'), ...there('17250.00') }, {}, {}, 'settled'],
  ['a cent is lacking', { ...traded('LOCKED'), ...there('17249.99') }, {}, {}, 'not yet'],
  [
    'nothing is there at all',
    { ...traded('LOCKED'), balances: async () => done({ aggregateUsd: '1', balances: [] }) },
    {},
    {},
    'not yet',
  ],
  [
    'the trade has failed, whatever is there from elsewhere',
    { ...traded('FAILED'), ...there('99999999') },
    {},
    {},
    'failed',
  ],
  [
    'the money is there, but the policy waits for the word',
    { ...traded('LOCKED'), ...there('99999999') },
    { until: 'status' },
    {},
    'not yet',
  ],
  [
    'the word has come that the policy waits for',
    { ...traded('SETTLED'), ...there('0') },
    { until: 'status' },
    {},
    'settled',
  ],
  [
    'only the word has come, in the run that made the plan',
    { ...traded('SETTLED'), ...there('0') },
    {},
    {},
    'not yet',
  ],
  [
    'a reset has forgotten that the money went out',
    { ...traded('LOCKED'), ...there('0'), listWithdrawals: async () => page(WITHDRAWAL) },
    {},
    { runId: 'run-2' },
    'settled',
  ],
  [
    'after a reset another payment’s record is in the list',
    {
      ...traded('LOCKED'),
      ...there('0'),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: 'p.2026-11-21.other' }),
    },
    {},
    { runId: 'run-2' },
    'not yet',
  ],
];
for (const [what, scripted, call, attempt, settlement] of SETTLEMENTS)
  test(`${what}: ${settlement}`, async () => {
    const { deps } = worker(scripted);
    const poll = inActivity(attempt, () => awaitSettlement(deps)({ ...SETTLEMENT, ...call }));
    if (settlement === 'not yet') await assert.rejects(poll, { type: 'NOT_YET' });
    else assert.equal((await poll).kind, settlement);
  });

test('a settlement that nobody waits for any more is not waited for', async () => {
  const { deps } = worker(
    { ...traded('LOCKED'), ...there('0') },
    { instructions: instructionsOf({ kind: 'cancel' }) },
  );
  const { kind } = await inActivity({}, () => awaitSettlement(deps)(SETTLEMENT));
  assert.equal(kind, 'cancelled');
});

const WITHDRAWALS: WithdrawalsCall = {
  plan,
  items: [{ id: 'supplier', withdrawalId: 'wtd_1', paid: false, status: 'PENDING' }],
};
const pollOf = (deps: Deps, call: Partial<WithdrawalsCall> = {}) =>
  inActivity({}, () => awaitWithdrawals(deps)({ ...WITHDRAWALS, ...call }));
const listed = (status: string) => ({ listWithdrawals: async () => page({ ...WITHDRAWAL, status }) });

test('a payment is paid by a word for "paid" alone, and has failed by a word for that', async () => {
  for (const [status, paid] of [
    ...DEFAULT_SERVICE_FACTS.withdrawalStatuses.paid.map((word) => [word, true] as const),
    ...DEFAULT_SERVICE_FACTS.withdrawalStatuses.failed.map((word) => [word, false] as const),
    ['ON_HOLD', null],
    ['completed', null],
  ] as const) {
    const { ended } = await pollOf(worker(listed(status)).deps);
    assert.deepEqual(ended, [{ id: 'supplier', status, paid }]);
  }
});

test('a word that is no news, a record that the list lacks and a list that cannot be read end nothing', async () => {
  await assert.rejects(pollOf(worker(listed('PENDING')).deps), { type: 'NOT_YET' });
  await assert.rejects(pollOf(worker({ listWithdrawals: async () => page() }).deps), { type: 'NOT_YET' });
  const other = { ...WITHDRAWAL, id: 'wtd_9', status: 'FAILED' };
  await assert.rejects(pollOf(worker({ listWithdrawals: async () => page(other) }).deps), {
    type: 'NOT_YET',
  });
  await assert.rejects(pollOf(worker({ listWithdrawals: async () => NO_ANSWER }).deps), { type: 'NOT_YET' });
});

test('a paid one that is returned is news, one that is paid still is not', async () => {
  const items = [{ id: 'supplier', withdrawalId: 'wtd_1', paid: true, status: 'COMPLETED' }];
  const { ended } = await pollOf(worker(listed('RETURNED')).deps, { items });
  assert.deepEqual(ended, [{ id: 'supplier', status: 'RETURNED', paid: false }]);
  await assert.rejects(pollOf(worker(listed('COMPLETED')).deps, { items }), { type: 'NOT_YET' });
});

test('a read key of another organisation sees nothing, which proves nothing: the polls wait', async () => {
  const { deps, requests } = worker();
  const foreign = { ...deps, reader: client(requests, { organisation: 'org-2' }) };
  const settlement = await inActivity({}, () => awaitSettlement(foreign)(SETTLEMENT));
  assert.equal(
    settlement.kind === 'wait' ? settlement.wait.problem.code : settlement.kind,
    'CREDENTIALS_DIFFER',
  );
  const answer = await pollOf(foreign);
  assert.equal(answer.wait?.problem.code, 'CREDENTIALS_DIFFER');
  assert.deepEqual(requests, []);
});
