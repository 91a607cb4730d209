/** Wire shapes of the interface document, field by field: required ones are required, unknown ones do not matter. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type * as z from 'zod';
import {
  balancesReply,
  exposureReply,
  fetchedTradeReply,
  lenientPage,
  pairsReply,
  quoteReply,
  tradePage,
  tradeReply,
  withdrawalPage,
  withdrawalReply,
} from '../../service/schemas.ts';
import {
  LAST_PAGE,
  WIRE_CREATED_WITHDRAWAL,
  WIRE_LISTED_WITHDRAWAL,
  WIRE_QUOTE,
  WIRE_TRADE,
} from '../support/service-fixture.ts';

const BALANCES = {
  aggregate: { currency: 'USD', withdrawableBalance: '1200.50' },
  balances: [
    { currency: 'USD', withdrawableBalance: '1000.00', totalBalance: '1500.00' },
    { currency: 'EUR', withdrawableBalance: '0', totalBalance: '-20.5' },
  ],
};
const EXPOSURE = {
  aggregate: {
    currency: 'USD',
    limitAmount: '100',
    usedAmount: '130',
    availableAmount: '-30',
    usageBreakdown: { settlableNow: '30', settlableLater: '100' },
  },
  currencyExposures: [
    {
      currency: 'EUR',
      exposureAmount: '120',
      usageBreakdown: { settlableNow: { amount: '20' }, settlableLater: { amount: '100' } },
    },
  ],
};
const PAIR = { buyCurrency: 'EUR', sellCurrency: 'USD', minTradeAmount: '10', maxTradeAmount: '100000' };

const accepts = (schema: z.ZodType, data: unknown): boolean => schema.safeParse({ data }).success;

test('each required field is required, and the optional ones are not', () => {
  const cases: readonly (readonly [
    name: string,
    schema: z.ZodType,
    record: Record<string, unknown>,
    optional: string[],
  ])[] = [
    ['quote', quoteReply, WIRE_QUOTE, ['settlementWindow']],
    ['trade', tradeReply, WIRE_TRADE, []],
    ['withdrawal', withdrawalReply, WIRE_CREATED_WITHDRAWAL, ['metadata', 'paymentDetails']],
    ['balances', balancesReply, BALANCES, []],
    ['exposure', exposureReply, EXPOSURE, []],
  ];
  for (const [name, schema, record, optional] of cases) {
    assert.equal(accepts(schema, record), true, name);
    assert.equal(accepts(schema, { ...record, somethingNew: {} }), true, `${name} with more`);
    for (const field of Object.keys(record)) {
      const { [field]: _, ...rest } = record;
      assert.equal(accepts(schema, rest), optional.includes(field), `${name} without ${field}`);
    }
  }
});

test('a quote or trade has exactly one requested side', () => {
  for (const [schema, record] of [
    [quoteReply, WIRE_QUOTE],
    [tradeReply, WIRE_TRADE],
  ] as const) {
    const { sellAmount: _, ...neither } = record;
    assert.equal(accepts(schema, neither), false);
    assert.equal(accepts(schema, { ...neither, buyAmount: '1' }), true);
    assert.equal(accepts(schema, { ...neither, buyAmount: '1', sellAmount: null }), true);
    assert.equal(accepts(schema, { ...neither, buyAmount: '1', sellAmount: '1' }), false);
    assert.equal(accepts(schema, { ...neither, buyAmount: null, sellAmount: null }), false);
  }
});

test('ill-formed values are refused', () => {
  const odd: readonly (readonly [z.ZodType, Record<string, unknown>, Record<string, unknown>])[] = [
    ...['1000', '0', '17012.345678901234', '0.000000000000000000000001'].map(
      (executedAmount) => [tradeReply, WIRE_TRADE, { executedAmount, valid: true }] as const,
    ),
    ...[1000, '', '-1', '+1', '1e3', '.5', '1.', '1,0', 'NaN', ' 1', null].map(
      (executedAmount) => [tradeReply, WIRE_TRADE, { executedAmount }] as const,
    ),
    ...['2026-11-21T09:00:01Z', '2026-11-21T09:00:01.123456+00:00'].map(
      (createdAt) => [tradeReply, WIRE_TRADE, { createdAt, valid: true }] as const,
    ),
    ...['2026-11-21', '2026-11-21T09:00:01', '2026-11-21T09:00:01+01:00', '2026-13-21T09:00:01Z', 1].map(
      (createdAt) => [tradeReply, WIRE_TRADE, { createdAt }] as const,
    ),
    ...['qte_1', 'tde_', 'tde_11111111111111111111111', 'tde_a/b', 'TDE_1'].map(
      (id) => [tradeReply, WIRE_TRADE, { id }] as const,
    ),
    [tradeReply, WIRE_TRADE, { object: 'quote' }],
    [tradeReply, WIRE_TRADE, { status: 'A_NEW_WORD', valid: true }],
    [tradeReply, WIRE_TRADE, { status: '' }],
    [tradeReply, WIRE_TRADE, { clientReferenceId: null, valid: true }],
    [tradeReply, WIRE_TRADE, { settlementWindow: null, valid: true }],
    [tradeReply, WIRE_TRADE, { settlementWindow: 'T3' }],
    [quoteReply, WIRE_QUOTE, { expiresAt: null, valid: true }],
    [quoteReply, WIRE_QUOTE, { settlementWindow: null, valid: true }],
    [withdrawalReply, WIRE_CREATED_WITHDRAWAL, { withdrawalAccountId: null }],
    [withdrawalReply, WIRE_CREATED_WITHDRAWAL, { metadata: null, valid: true }],
    [withdrawalReply, WIRE_CREATED_WITHDRAWAL, { metadata: 'x' }],
    [withdrawalReply, WIRE_CREATED_WITHDRAWAL, { assetType: 'GOLD' }],
    [balancesReply, BALANCES, { balances: [], valid: true }],
    [balancesReply, BALANCES, { balances: [BALANCES.balances[0], BALANCES.balances[0]] }],
    [balancesReply, BALANCES, { balances: [{ ...BALANCES.balances[0], withdrawableBalance: '-1' }] }],
    [balancesReply, BALANCES, { aggregate: { currency: 'EUR', withdrawableBalance: '1' } }],
  ];
  for (const [schema, record, { valid = false, ...change }] of odd)
    assert.equal(accepts(schema, { ...record, ...change }), valid, JSON.stringify(change));
});

test('an amount with an exponent is refused, as a number and as a text', () => {
  const reply = (amount: string): unknown =>
    JSON.parse(
      `{"data":${JSON.stringify({ ...WIRE_TRADE, executedAmount: 'HERE' }).replace('"HERE"', amount)}}`,
    );
  assert.equal(tradeReply.safeParse(reply('"18500"')).success, true);
  for (const amount of ['1.85E4', '"1.85E4"', '18500', '18500.00'])
    assert.equal(tradeReply.safeParse(reply(amount)).success, false, amount);
});

test('balances, exposure and pairs keep what Cambist works with', () => {
  assert.deepEqual(balancesReply.parse({ data: BALANCES }), {
    aggregateUsd: '1200.50',
    balances: [
      { currency: 'USD', withdrawable: '1000.00', total: '1500.00' },
      { currency: 'EUR', withdrawable: '0', total: '-20.5' },
    ],
  });
  assert.deepEqual(exposureReply.parse({ data: EXPOSURE }), {
    limitUsd: '100',
    usedUsd: '130',
    availableUsd: '-30',
  });
  assert.deepEqual(pairsReply.parse({ data: { pairs: [{ ...PAIR, extra: 1 }] } }), [PAIR]);
  for (const field of Object.keys(PAIR))
    assert.equal(accepts(pairsReply, { pairs: [{ ...PAIR, [field]: undefined }] }), false, field);
});

test('a list item shows its tag when the list shows metadata', () => {
  const list = (item: object) => withdrawalPage.parse({ data: [item], pagination: LAST_PAGE }).items[0];
  assert.equal(list(WIRE_LISTED_WITHDRAWAL)?.tag, null);
  assert.equal(list({ ...WIRE_LISTED_WITHDRAWAL, metadata: null })?.tag, null);
  assert.equal(list({ ...WIRE_LISTED_WITHDRAWAL, metadata: { other: 'x' } })?.tag, null);
  assert.equal(list({ ...WIRE_LISTED_WITHDRAWAL, metadata: { cambist: 'a.b.c' } })?.tag, 'a.b.c');
  assert.equal(list({ ...WIRE_LISTED_WITHDRAWAL, withdrawalAccountId: null })?.withdrawalAccountId, null);
});

test('nothing personal is kept of a withdrawal', () => {
  const kept = JSON.stringify(
    withdrawalReply.parse({
      data: {
        ...WIRE_CREATED_WITHDRAWAL,
        paymentDetails: { swift: { name: 'CANARY' } },
        actorEmail: 'CANARY@x',
      },
    }),
  );
  assert.equal(kept.includes('CANARY'), false);
});

test('a status, an id or a reference that is no plain word is kept, but forges nothing and equals nothing', () => {
  const odd = 'COMPLETED\n12:00:00 payment supplier: PAID\u001b[2J\u009b\u202e';
  const withdrawal = withdrawalPage.parse({
    data: [
      {
        ...WIRE_LISTED_WITHDRAWAL,
        status: odd,
        withdrawalAccountId: 'wac_1\u009b',
        metadata: { cambist: 'p.2026-11-21.a~2\n' },
      },
    ],
    pagination: LAST_PAGE,
  }).items[0];
  assert.equal(withdrawal?.status, 'COMPLETED?12?00?00 payment supplier? PAID??2J??');
  assert.equal(withdrawal.withdrawalAccountId, 'wac_1?');
  assert.equal(withdrawal.tag, 'p.2026-11-21.a~2?');
  const trade = tradeReply.parse({
    data: {
      ...WIRE_TRADE,
      quoteId: 'qte 1',
      status: 'S'.repeat(65),
      clientReferenceId: `a.b.c${'d'.repeat(500)}`,
    },
  });
  assert.equal(trade.quoteId, 'qte?1');
  assert.equal(trade.status, `${'S'.repeat(64)}…`);
  assert.equal(trade.clientReferenceId, `a.b.c${'d'.repeat(295)}…`);
  const account = lenientPage.parse({ data: [{ id: 'wac\n1', status: odd }], pagination: LAST_PAGE })
    .items[0];
  assert.equal(account?.id, 'wac?1');
  assert.equal(account.status, withdrawal.status);
  const fetched = fetchedTradeReply.parse({ data: { id: 'tde\u001b', status: odd } });
  assert.equal(fetched.record.id, 'tde?');
  for (const status of ['EXECUTED', 'in progress', 'ready-to_settle'])
    assert.equal(tradeReply.parse({ data: { ...WIRE_TRADE, status } }).status, status);
});

test('a cursor is null exactly when its boolean is false, or the page is not read', () => {
  const cases: readonly (readonly [change: Record<string, unknown>, valid: boolean])[] = [
    [{}, true],
    [{ hasNext: true, nextCursor: 'a' }, true],
    [{ hasPrev: true, prevCursor: 'a' }, true],
    [{ hasNext: true }, false],
    [{ nextCursor: 'a' }, false],
    [{ hasPrev: true }, false],
    [{ prevCursor: 'a' }, false],
    [{ hasNext: true, nextCursor: '' }, false],
    [{ hasNext: true, nextCursor: '\uD800' }, false],
    [{ hasNext: undefined }, false],
    [{ limit: undefined }, false],
    [{ nextCursor: undefined }, false],
  ];
  for (const [change, valid] of cases)
    assert.equal(
      tradePage.safeParse({ data: [WIRE_TRADE], pagination: { ...LAST_PAGE, ...change } }).success,
      valid,
      JSON.stringify(change),
    );
  assert.equal(tradePage.safeParse({ data: [] }).success, false, 'no pagination');
});

test('one unreadable record makes its page unreadable', () => {
  const page = { data: [WIRE_TRADE, { ...WIRE_TRADE, executedAmount: 5 }], pagination: LAST_PAGE };
  assert.equal(tradePage.safeParse(page).success, false);
});

test('records whose shape is not shown need an id only', () => {
  const read = (item: unknown) => lenientPage.parse({ data: [item], pagination: LAST_PAGE }).items[0];
  assert.deepEqual(read({ id: 'wac_1' }), { id: 'wac_1', status: null, currency: null });
  assert.deepEqual(read({ id: 'wac_1', status: 'ACTIVE', currency: 'EUR', accountName: 'CANARY' }), {
    id: 'wac_1',
    status: 'ACTIVE',
    currency: 'EUR',
  });
  assert.deepEqual(read({ id: 'wac_1', status: 7, currency: { code: 'EUR' } }), {
    id: 'wac_1',
    status: null,
    currency: null,
  });
  assert.throws(() => read({ status: 'ACTIVE' }));
  assert.equal(accepts(fetchedTradeReply, { id: 'tde_1', status: 'X' }), true);
});
