/** Whose is the record that a poll has shown: it counts for an item only if nothing of it contradicts the item (M1, M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeProblem } from '../../domain/problems.ts';
import { confirmedBy } from '../../domain/run/confirmed.ts';
import { newLeg, newPayment, type LegRecord, type PaymentRecord } from '../../domain/run/items.ts';
import { isTradeAsTold, isWithdrawalAsTold, ownersOf } from '../../domain/run/shown.ts';
import { doubtTrade, doubtWithdrawal } from '../../domain/run/state.ts';
import { LEG, PAYMENT, TRADE as SENT_TRADE, context } from '../support/scripts.ts';
import { TRADED_LEG, paymentAt } from '../support/stages.ts';
import { tradeWith, withdrawalWith } from '../support/told-records.ts';

const TRADE = tradeWith('SETTLED');
const WITHDRAWAL = withdrawalWith('COMPLETED');
const PAID = paymentAt('PAID', makeProblem('CANCELLED', null));
const leg: LegRecord = { leg: LEG, stage: TRADED_LEG, waiting: null, isAtWork: false };
const payment: PaymentRecord = {
  payment: PAYMENT,
  amount: '17250.00',
  stage: newPayment(),
  waiting: null,
  isAtWork: false,
  traceId: null,
};

for (const [what, change, isIts] of [
  ['as it was made', {}, true],
  ['with its amounts in other words', { sellAmount: '1000', executedAmount: '17250.0' }, true],
  ['without a reference', { clientReferenceId: null }, true],
  ['with the reference of another leg', { clientReferenceId: 'p.2026-11-21.usd-mxn-2' }, false],
  ['with the reference of another run', { clientReferenceId: 'p.2026-11-20.usd-mxn-1' }, false],
  ['that buys another currency', { buyCurrency: 'EUR' }, false],
  ['that sells another currency', { sellCurrency: 'EUR' }, false],
  ['that sells another amount', { sellAmount: '999.99' }, false],
  ['that has brought another amount than was said', { executedAmount: '17250.01' }, false],
] as const)
  test(`a trade ${what} is ${isIts ? 'the leg’s' : 'not the leg’s'}`, () => {
    assert.equal(isTradeAsTold(leg, TRADED_LEG, { ...TRADE, ...change }), isIts);
  });

for (const [what, change, isIts] of [
  ['as it was made', {}, true],
  ['of a later generation', { tag: `${PAYMENT.reference}~2` }, true],
  ['without a tag and an account', { tag: null, withdrawalAccountId: null }, true],
  ['with the tag of another payment', { tag: `${PAYMENT.reference}-2` }, false],
  ['with the tag of another run', { tag: 'p.2026-11-20.supplier' }, false],
  ['to another account', { withdrawalAccountId: 'wac_other' }, false],
  ['in another currency', { currency: 'USD' }, false],
  ['of another amount', { withdrawalAmount: '17250.01' }, false],
] as const)
  test(`a withdrawal ${what} is ${isIts ? 'the payment’s' : 'not the payment’s'}`, () => {
    assert.equal(isWithdrawalAsTold(payment, { ...WITHDRAWAL, ...change }), isIts);
  });

test('a record that several payments count as their own has several payers', () => {
  const paid = { ...payment, stage: PAID };
  assert.deepEqual(ownersOf([payment, paid]).get('wtd_1'), [paid]);
  assert.deepEqual(ownersOf([paid, payment, paid]).get('wtd_1'), [paid, paid]);
});

for (const change of [
  {},
  { clientReferenceId: null },
  { clientReferenceId: 'p.2026-11-20.usd-mxn-1' },
  { buyCurrency: 'EUR' },
])
  test(`a poll, and what confirms a trade that was handed on, say the same of one with ${JSON.stringify(change)}`, () => {
    const { plan } = context();
    const trades = new Map([[TRADE.id, { ...SENT_TRADE, ...change }]]);
    const call = { plan, legs: [{ leg: LEG, tradeId: TRADE.id }], payments: [] };
    const statuses = context().facts.withdrawalStatuses;
    const shown = confirmedBy(call, { trades, withdrawals: new Map() }, statuses);
    const isShown = shown.kind === 'shown' && shown.trades.length === 1;
    assert.equal(isShown, isTradeAsTold(leg, TRADED_LEG, { ...TRADE, ...change }));
  });

test('of an item in doubt nothing is known: it may have been sent, and what its trade was said to bring is forgotten', () => {
  const proceeds = {
    ...PAYMENT,
    amount: { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 },
  } as const;
  const brought: PaymentRecord = { ...payment, payment: proceeds, amount: '99999.00' };
  const fixed: PaymentRecord = { ...payment, amount: '17250.00' };
  const traded: LegRecord = { ...leg };
  doubtTrade({ payments: [brought, fixed] }, traded);
  assert.deepEqual(traded.stage, { ...newLeg(), state: { ...newLeg().state, sent: true } });
  assert.deepEqual([brought.amount, fixed.amount], [null, '17250.00']);
  const accepted: PaymentRecord = { ...payment, payment: proceeds, amount: '99999.00', stage: PAID };
  doubtWithdrawal(accepted);
  assert.deepEqual(accepted.stage, { ...newPayment(), state: { ...newPayment().state, sent: true } });
  // It came from the answer, or is taken from the leg again.
  assert.equal(accepted.amount, null);
});
