/** What a run was handed on by an earlier history of it counts only as far as the service shows it (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confirmOutcomes } from '../../activities/confirm-outcomes.ts';
import { client, inActivity, page, worker } from '../support/activities.ts';
import { LEG, NO_ANSWER, PAYMENT, TRADE, WITHDRAWAL, context, done, failed } from '../support/scripts.ts';

const { plan } = context();
const { id, account, currency } = PAYMENT;
const CALL = {
  plan,
  legs: [{ leg: LEG, tradeId: TRADE.id }],
  payments: [{ id, account, currency, amount: '17250.00', withdrawalId: WITHDRAWAL.id }],
};
const OTHERS = 'p.2026-11-20.supplier';
const whole = <T>(record: T) => done({ kind: 'WHOLE' as const, record });
/** Lists that show nothing, and answers by id that know nothing. */
const NOTHING = {
  listTrades: async () => page<typeof TRADE>(),
  listWithdrawals: async () => page<typeof WITHDRAWAL>(),
  trade: async () => failed('TRADE_NOT_FOUND'),
  withdrawal: async () => failed('WITHDRAWAL_NOT_FOUND'),
};
type Scripted = Parameters<typeof worker>[0];

const SHOWN: readonly (readonly [what: string, scripted: Scripted, trade: boolean, payment: boolean])[] = [
  [
    'lists that show both',
    { listTrades: async () => page(TRADE), listWithdrawals: async () => page(WITHDRAWAL) },
    true,
    true,
  ],
  ['lists that show neither', {}, false, false],
  [
    'a list of withdrawals without tags',
    { listWithdrawals: async () => page({ ...WITHDRAWAL, tag: null }) },
    false,
    true,
  ],
  [
    'records of another run under these ids',
    {
      listTrades: async () => page({ ...TRADE, clientReferenceId: OTHERS }),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: OTHERS }),
    },
    false,
    false,
  ],
  [
    'records of other items of the run under these ids',
    {
      listTrades: async () => page({ ...TRADE, clientReferenceId: 'p.2026-11-21.usd-mxn-2' }),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: 'p.2026-11-21.other' }),
    },
    false,
    false,
  ],
  [
    'records of other amounts than planned',
    {
      listTrades: async () => page({ ...TRADE, sellAmount: '999.00' }),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: null, withdrawalAmount: '17249.99' }),
    },
    false,
    false,
  ],
  [
    'a trade without a reference, and a payment to another account',
    {
      listTrades: async () => page({ ...TRADE, clientReferenceId: null }),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: null, withdrawalAccountId: 'wac_other' }),
    },
    true,
    false,
  ],
  [
    'answers by id alone',
    { trade: async () => whole(TRADE), withdrawal: async () => whole(WITHDRAWAL) },
    true,
    true,
  ],
  [
    'answers by id that are another run’s',
    {
      trade: async () => whole({ ...TRADE, clientReferenceId: OTHERS }),
      withdrawal: async () => whole({ ...WITHDRAWAL, tag: OTHERS }),
    },
    false,
    false,
  ],
  [
    'answers by id of which only a part is known',
    {
      trade: async () =>
        done({ kind: 'PARTIAL' as const, record: { id: TRADE.id, status: 'SETTLED', currency: null } }),
    },
    false,
    false,
  ],
];
for (const [what, scripted, trade, payment] of SHOWN)
  test(`${what}: the trade ${trade ? 'counts' : 'is asked about again'}, the payment ${payment ? 'counts' : 'is asked about again'}`, async () => {
    const { deps } = worker({ ...NOTHING, ...scripted });
    const answer = await inActivity({}, () => confirmOutcomes(deps)(CALL));
    assert.ok(answer.kind === 'shown');
    assert.deepEqual(
      answer.trades.map(({ tradeId, sellAmount, buyAmount }) => [tradeId, sellAmount, buyAmount]),
      trade ? [[TRADE.id, '1000.00', '17250.00']] : [],
    );
    assert.deepEqual(
      answer.withdrawals.map(({ withdrawalId, reference, amount }) => [withdrawalId, reference, amount]),
      payment ? [[WITHDRAWAL.id, null, '17250.00']] : [],
    );
  });

for (const [what, tag, handedOn, told] of [
  ['lists show no tags', null, `${PAYMENT.reference}~2`, `${PAYMENT.reference}~2`],
  ['the record shows another one', PAYMENT.reference, `${PAYMENT.reference}~2`, null],
  ['it is of another payment', null, OTHERS, null],
] as const)
  test(`the reference of a later generation that was handed on, where ${what}: ${told ?? 'the payment’s own'} is told`, async () => {
    const { deps } = worker({ ...NOTHING, listWithdrawals: async () => page({ ...WITHDRAWAL, tag }) });
    const payments = CALL.payments.map((payment) => ({ ...payment, reference: handedOn }));
    const answer = await inActivity({}, () => confirmOutcomes(deps)({ ...CALL, legs: [], payments }));
    assert.deepEqual(answer.kind === 'shown' && answer.withdrawals.map(({ reference }) => reference), [told]);
  });

for (const [status, ...ended] of [
  ['COMPLETED', true, undefined],
  ['RETURNED', false, true],
  ['PENDING', false, undefined],
] as const)
  test(`a record that says ${status} is told as ${JSON.stringify(ended)}`, async () => {
    const { deps } = worker({ ...NOTHING, listWithdrawals: async () => page({ ...WITHDRAWAL, status }) });
    const answer = await inActivity({}, () => confirmOutcomes(deps)({ ...CALL, legs: [] }));
    assert.deepEqual(
      answer.kind === 'shown' && answer.withdrawals.map(({ isPaid, hasFailed }) => [isPaid, hasFailed]),
      [ended],
    );
  });

test('a list that cannot be read to its end, or a key of another organisation, proves nothing: it waits, and says so', async () => {
  const unread = worker({ ...NOTHING, listWithdrawals: async () => NO_ANSWER });
  const { deps, requests } = worker(NOTHING);
  const foreign = { ...deps, reader: client(requests, { organisation: 'org-2' }) };
  for (const [of, code] of [
    [unread.deps, 'NO_ANSWER'],
    [foreign, 'CREDENTIALS_DIFFER'],
  ] as const) {
    // One after the other.
    const answer = await inActivity({}, () => confirmOutcomes(of)(CALL));
    assert.equal(answer.kind === 'wait' ? answer.wait.problem.code : answer.kind, code);
  }
  assert.deepEqual(requests, []);
});
