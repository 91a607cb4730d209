/** What a look proves: found, different, absent, or nothing at all (design: "In doubt, absent, generations"). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  lookForTrade,
  lookForWithdrawal,
  type PaymentIdentity,
  type ListScan,
} from '../../domain/writes/lookups.ts';
import type { Leg } from '../../domain/plan/plan.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';

const OPENS_AT = '2026-11-21T06:00:00.000Z';

const LEG: Leg = {
  id: 'usd-mxn-1',
  reference: 'p.2026-11-21.usd-mxn-1',
  sell: 'USD',
  buy: 'MXN',
  amount: { side: 'sell', value: '1000.00', fixed: true },
  why: { kind: 'fixed' },
  guard: null,
  needsFromSales: '0',
};

const TRADE: Trade = {
  id: 'tde_1',
  quoteId: 'qte_1',
  sellCurrency: 'USD',
  buyCurrency: 'MXN',
  sellAmount: '1000',
  buyAmount: null,
  executedAmount: '17250',
  status: 'EXECUTED',
  clientReferenceId: LEG.reference,
  createdAt: '2026-11-21T09:00:00.000Z',
  settlementWindow: 'T0',
};

const PAYMENT: PaymentIdentity = {
  reference: 'p.2026-11-21.supplier',
  account: 'wac_7Hk2mQ9vT4xR',
  currency: 'MXN',
  amount: '17250.00',
  opensAtMs: Date.parse(OPENS_AT),
  namedId: null,
  ownIds: [],
  otherIds: [],
  fromGeneration: 1,
  closedIds: [],
  follows: [],
  approvedUntilMs: null,
  failedWords: ['FAILED'],
};

const WITHDRAWAL: Withdrawal = {
  id: 'wtd_1',
  currency: 'MXN',
  withdrawalAmount: '17250',
  status: 'PENDING',
  withdrawalAccountId: PAYMENT.account,
  createdAt: '2026-11-21T09:00:00.000Z',
  tag: PAYMENT.reference,
};
const UNTAGGED: Withdrawal = { ...WITHDRAWAL, tag: null };

const whole = <T>(...records: readonly T[]): ListScan<T> => ({ records, complete: true, reason: null });
const cut = <T>(...records: readonly T[]): ListScan<T> => ({ records, complete: false, reason: 'NO_ANSWER' });

/** A leg by what is different about it, the records of a look, and what the look says. */
const trades: readonly (readonly [string, Partial<Leg>, ListScan<Trade>, string])[] = [
  ['a trade with our reference is ours', {}, whole(TRADE), 'found'],
  ['amounts are compared as numbers', {}, whole({ ...TRADE, sellAmount: '1000.000000' }), 'found'],
  [
    'a later generation of our reference is ours',
    {},
    whole({ ...TRADE, clientReferenceId: `${LEG.reference}~2` }),
    'found',
  ],
  [
    'a trade of the quote that we hold is ours, whatever its reference says',
    {},
    whole({ ...TRADE, quoteId: 'qte_held', clientReferenceId: null }),
    'found',
  ],
  ['a longer name is another leg', {}, whole({ ...TRADE, clientReferenceId: `${LEG.reference}0` }), 'absent'],
  ['another amount than planned is a contradiction', {}, whole({ ...TRADE, sellAmount: '999' }), 'differs'],
  [
    'the other side having been fixed is a contradiction',
    {},
    whole({ ...TRADE, sellAmount: null, buyAmount: '17250' }),
    'differs',
  ],
  ['another pair than planned is a contradiction', {}, whole({ ...TRADE, buyCurrency: 'EUR' }), 'differs'],
  [
    'an amount from live balances is taken from the record',
    { amount: { side: 'sell', value: '5', fixed: false } },
    whole(TRADE),
    'found',
  ],
  ['a forgotten amount is taken from the record', { amount: null }, whole(TRADE), 'found'],
  [
    'two trades under one reference are a contradiction',
    {},
    whole(TRADE, { ...TRADE, id: 'tde_2' }),
    'differs',
  ],
  ['the same record read twice is one', {}, whole(TRADE, TRADE), 'found'],
  ['what is found counts even in a look that was cut short', {}, cut(TRADE), 'found'],
  ['nothing in a whole look is absence', {}, whole(), 'absent'],
  ['nothing in a look that was cut short proves nothing', {}, cut(), 'unproven'],
];

for (const [title, leg, scan, kind] of trades)
  test(`looking for a trade: ${title}`, () => {
    assert.equal(
      lookForTrade({ ...LEG, ...leg }, { quoteId: 'qte_held', namedId: null, isStray: () => false }, scan)
        .kind,
      kind,
    );
  });

const withdrawals: readonly (readonly [string, Partial<PaymentIdentity>, ListScan<Withdrawal>, string])[] = [
  ['a withdrawal with our tag is ours', {}, whole(WITHDRAWAL), 'found'],
  [
    'a later generation of our tag is ours',
    {},
    whole({ ...WITHDRAWAL, tag: `${PAYMENT.reference}~3` }),
    'found',
  ],
  ['a null account is no difference', {}, whole({ ...WITHDRAWAL, withdrawalAccountId: null }), 'found'],
  [
    'the id that the service gave us finds an untagged record',
    { ownIds: ['wtd_1'] },
    whole(UNTAGGED),
    'found',
  ],
  [
    'another amount under our tag is a contradiction',
    {},
    whole({ ...WITHDRAWAL, withdrawalAmount: '1' }),
    'differs',
  ],
  [
    'another account under our tag is a contradiction',
    {},
    whole({ ...WITHDRAWAL, withdrawalAccountId: 'wac_other' }),
    'differs',
  ],
  [
    'another currency under our tag is a contradiction',
    {},
    whole({ ...WITHDRAWAL, currency: 'EUR' }),
    'differs',
  ],
  [
    'two withdrawals under one tag are a contradiction',
    {},
    whole(WITHDRAWAL, { ...WITHDRAWAL, id: 'wtd_2' }),
    'differs',
  ],
  ['a twin with another tag is not ours', {}, whole({ ...WITHDRAWAL, tag: 'p.2026-11-21.other' }), 'absent'],
  ['an untagged twin could be it: neither ours nor absent', {}, whole(UNTAGGED), 'unproven'],
  [
    'an untagged twin without an account could be it',
    {},
    whole({ ...UNTAGGED, withdrawalAccountId: null }),
    'unproven',
  ],
  [
    'an untagged record to another account could not be it',
    {},
    whole({ ...UNTAGGED, withdrawalAccountId: 'wac_other' }),
    'absent',
  ],
  [
    'an untagged record of another amount could not be it',
    {},
    whole({ ...UNTAGGED, withdrawalAmount: '1' }),
    'absent',
  ],
  [
    'an untagged record in another currency could not be it',
    {},
    whole({ ...UNTAGGED, currency: 'EUR' }),
    'absent',
  ],
  [
    'an untagged record from before the run’s date could not be it',
    {},
    whole({ ...UNTAGGED, createdAt: '2026-11-21T05:49:59.999Z' }),
    'absent',
  ],
  [
    'an untagged record from just before the date, by a clock a little off, could be it',
    {},
    whole({ ...UNTAGGED, createdAt: '2026-11-21T05:50:00.000Z' }),
    'unproven',
  ],
  [
    'an untagged record that answered another payment could not be it',
    { otherIds: ['wtd_1'] },
    whole(UNTAGGED),
    'absent',
  ],
  [
    'of two untagged twins, one known as another payment’s, the other could be it',
    { otherIds: ['wtd_1'] },
    whole(UNTAGGED, { ...UNTAGGED, id: 'wtd_2' }),
    'unproven',
  ],
  ['our tag stands above an untagged twin', {}, whole(UNTAGGED, { ...WITHDRAWAL, id: 'wtd_2' }), 'found'],
  ['nothing in a whole look is absence', {}, whole(), 'absent'],
  ['nothing in a look that was cut short proves nothing', {}, cut(), 'unproven'],
];

for (const [title, payment, scan, kind] of withdrawals)
  test(`looking for a withdrawal: ${title}`, () => {
    assert.equal(lookForWithdrawal({ ...PAYMENT, ...payment }, scan).kind, kind);
  });

test('an untagged record that has failed could be it only until a person asks to pay again', () => {
  const failed = whole({ ...UNTAGGED, status: 'FAILED' });
  assert.equal(lookForWithdrawal(PAYMENT, failed).kind, 'unproven');
  assert.equal(lookForWithdrawal({ ...PAYMENT, fromGeneration: 9 }, failed).kind, 'absent');
  assert.equal(lookForWithdrawal({ ...PAYMENT, fromGeneration: 9 }, whole(UNTAGGED)).kind, 'unproven');
});

test('of several records that agree with the plan and carry its name a person may say which it is; of no others', () => {
  const two = whole(WITHDRAWAL, { ...WITHDRAWAL, id: 'wtd_2' });
  for (const [namedId, scan, found] of [
    ['wtd_2', two, 'wtd_2'],
    [null, two, null],
    ['wtd_3', two, null],
    ['wtd_2', whole({ ...WITHDRAWAL, withdrawalAmount: '1' }, { ...WITHDRAWAL, id: 'wtd_2' }), null],
    ['wtd_1', whole({ ...WITHDRAWAL, withdrawalAmount: '1' }), null],
  ] as const) {
    const look = lookForWithdrawal({ ...PAYMENT, namedId }, scan);
    assert.equal(look.kind === 'found' ? look.record.id : null, found);
    assert.equal(look.kind, found === null ? 'differs' : 'found');
  }
  const trade = lookForTrade(
    LEG,
    { quoteId: null, namedId: 'tde_2', isStray: () => false },
    whole(TRADE, { ...TRADE, id: 'tde_2' }),
  );
  assert.equal(trade.kind === 'found' ? trade.record.id : null, 'tde_2');
});
