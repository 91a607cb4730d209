/** The write gate: what the worker's own folder of policies allows to be sent (M4), whatever Temporal says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Held } from '../../domain/plan/holding.ts';
import {
  whyNotAllowed,
  type AllowedPolicy,
  type Gate,
  type GatedWrite,
} from '../../domain/writes/write-gate.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { Trade } from '../../domain/service/records.ts';
import { NOW, TRADE } from '../support/scripts.ts';

const CONVERT = `policy: 1
kind: convert
name: p
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "1000.00" } }
quote: { settlement: T0 }
guard: { worst_rate: "16.90 MXN per USD" }
withdraw:
  - { id: supplier, account: wac_7Hk2mQ9vT4xR, amount: rest, rounding: down }
  - { id: rent, account: wac_8Jm3nR2wU5yS, amount: { fixed: "500.00" } }
limits: { per_trade: "1500.00 USD", per_run: "1500.00 USD", per_payment: ["30000.00 MXN"], paid_per_run: ["30000.00 MXN"] }
`;
const REBALANCE = `policy: 1
kind: rebalance
name: p
environment: sandbox
rebalance:
  base: { currency: USD }
  targets: { EUR: { max: "0.00" }, EURC: { min: "5.00" } }
  never_sell: [EURC]
quote: { settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }
limits: { per_trade: "400000.00 USD", per_run: "1000000.00 USD" }
`;
const PAYOUT = `policy: 1
kind: payout
name: p
environment: sandbox
payout: { fund: { from: USD, mode: net }, destinations: accounts.yaml }
quote: { settlement: T0 }
shortfall: hold
limits: { per_trade: "5000.00 USD", per_run: "5000.00 USD", per_payment: ["900.00 EUR"], paid_per_run: ["9000.00 EUR"] }
`;

/** What the trade of the run has brought: a payment of 500.00 leaves 17250.00 of it. */
const BROUGHT: readonly Trade[] = ['p.2026-11-21', 'p.2026-11-20'].map((run) => ({
  ...TRADE,
  clientReferenceId: `${run}.usd-mxn-1`,
  executedAmount: '17750.004',
}));

/** EUR 1,000.00 and 1,000,000.00 USD are there, and 200.00 EUR are on their way. */
const HELD: Held = heldOf({ EUR: '1000.00', USD: '1000000.00' }, { EUR: '200.00' });

function heldOf(there: Readonly<Record<string, string>>, comes: Readonly<Record<string, string>> = {}): Held {
  return {
    balances: {
      balances: Object.entries(there).map(([currency, value]) => ({
        currency,
        withdrawable: value,
        total: value,
      })),
    },
    onTheWay: Object.entries(comes).map(([currency, value]) => ({
      currency,
      comes: value,
      goes: '0',
      isTold: true,
    })),
    reserved: [],
  };
}

function policyOf(text: string): Policy {
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.policy;
}

function allowed(text: string, more: Partial<AllowedPolicy> = {}): AllowedPolicy {
  const policy = policyOf(text);
  return { policy, hash: 'hash', destinations: null, referenceRates: null, before: null, ...more };
}

function whyNot(
  policies: readonly AllowedPolicy[],
  write: GatedWrite,
  more: Partial<Gate> = {},
): string | null {
  const gate = {
    policies,
    mode: 'SANDBOX',
    nowMs: NOW,
    decimalsOf: () => 2,
    dateOf: dateOfRunId,
    sendWindowsOf,
    brought: BROUGHT,
    held: HELD,
  } as const;
  return whyNotAllowed({ ...gate, ...more }, write);
}

const pay = (item: string, account: string, amount: string, currency = 'MXN'): GatedWrite => ({
  kind: 'withdrawal',
  reference: `p.2026-11-21.${item}`,
  account,
  currency,
  amount,
});
const quote = (
  sell: string,
  buy: string,
  value: string,
  side: 'sell' | 'buy' = 'sell',
): Extract<GatedWrite, { kind: 'quote' }> => ({
  kind: 'quote',
  reference: 'p.2026-11-21.leg-1',
  sell,
  buy,
  amount: { side, value },
  validForSeconds: 30,
  settlement: 'T0',
});
const trade = (sell: string, buy: string, sellAmount: string, buyAmount: string): GatedWrite => ({
  kind: 'trade',
  reference: 'p.2026-11-21.leg-1',
  sell,
  buy,
  sellAmount,
  buyAmount,
});
const SUPPLIER = 'wac_7Hk2mQ9vT4xR';
const RENT = 'wac_8Jm3nR2wU5yS';
const OTHER = 'wac_9Kn4qS3xV6zT';

describe('a conversion of the folder', () => {
  const POLICIES = [allowed(CONVERT)];
  for (const write of [
    pay('supplier', SUPPLIER, '17250.00'),
    { ...pay('supplier', SUPPLIER, '17250.00'), reference: 'p.2026-11-21.supplier~9' },
    pay('rent', RENT, '500'),
    quote('USD', 'MXN', '1000'),
    trade('USD', 'MXN', '1000.00', '16900'),
  ])
    test(`allows ${JSON.stringify(write)}`, () => {
      assert.equal(whyNot(POLICIES, write), null);
    });

  for (const [write, why] of [
    [pay('supplier', OTHER, '17250.00'), /pays "supplier" to another account than "wac_9Kn4qS3xV6zT"/],
    [pay('rent', SUPPLIER, '500'), /to another account/],
    [pay('rent', RENT, '500.01'), /pays "rent" 500\.00 MXN, not 500\.01 MXN/],
    [pay('supplier', SUPPLIER, '30000.01'), /limit per_payment of 30,?000\.00 MXN/],
    [pay('supplier', SUPPLIER, '10', 'USD'), /in MXN, not in USD/],
    [pay('bonus', SUPPLIER, '10'), /has no payment "bonus"/],
    [quote('USD', 'EUR', '1000'), /does not sell USD for EUR/],
    [quote('MXN', 'USD', '1000'), /does not sell MXN for USD/],
    [{ ...quote('USD', 'MXN', '1000'), settlement: 'T2' }, /takes quotes that settle T0, not T2/],
    [{ ...quote('USD', 'MXN', '1000'), validForSeconds: 60 }, /are valid for 30s, not 60s/],
    [quote('USD', 'MXN', '1000.01'), /sells 1,?000\.00 USD, not/],
    [quote('USD', 'MXN', '1000', 'buy'), /sells 1,?000\.00 USD, not/],
    [trade('USD', 'MXN', '1000.00', '16899.99'), /does not allow the price/],
    [trade('USD', 'MXN', '50000.00', '900000'), /sells 1,?000\.00 USD, not/],
  ] as readonly (readonly [GatedWrite, RegExp])[])
    test(`does not allow ${JSON.stringify(write)}`, () => {
      assert.match(whyNot(POLICIES, write) ?? '', why);
    });

  test('allows nothing of another policy, of the other mode, or under a reference that is none of ours', () => {
    const write = pay('supplier', SUPPLIER, '1');
    assert.match(whyNot([], write) ?? '', /has no policy "p"/);
    assert.match(whyNot(POLICIES, write, { mode: 'LIVE' }) ?? '', /is for sandbox/);
    const forged = [
      'a note',
      'supplier~',
      'supplier~1',
      'supplier~x',
      'supplier~02',
      'supplier~2~3',
      'supplier.2',
    ];
    for (const item of forged)
      assert.match(whyNot(POLICIES, pay(item, SUPPLIER, '1')) ?? '', /is no reference of a run/, item);
  });

  test('that was replaced still counts for runs of earlier dates, and for no others', () => {
    const replaced = allowed(CONVERT, { before: '2026-11-21' });
    const now = allowed(CONVERT.replace(SUPPLIER, OTHER));
    const old = pay('supplier', SUPPLIER, '17250.00');
    const earlier = { ...old, reference: 'p.2026-11-20.supplier' };
    assert.match(whyNot([now, replaced], old) ?? '', /another account/);
    assert.equal(whyNot([now, replaced], earlier), null);
    // The newer policy holds for them too: a corrected run takes the place of an older one.
    assert.equal(whyNot([now, replaced], { ...earlier, account: OTHER } as GatedWrite), null);
    assert.match(whyNot([replaced], old) ?? '', /only a replaced one for earlier dates/);
    assert.match(whyNot([replaced], { ...old, reference: 'p.odd.supplier' }) ?? '', /with no date/);
  });

  test('that sells all of a currency is asked for by the sold amount, at any amount within the limits', () => {
    const all = [allowed(CONVERT.replace('{ sell: "1000.00" }', '{ sell: all, keep: "5.00" }'))];
    assert.equal(whyNot(all, quote('USD', 'MXN', '1499.99')), null);
    assert.match(whyNot(all, quote('USD', 'MXN', '1500.01')) ?? '', /per_trade/);
    assert.match(whyNot(all, quote('USD', 'MXN', '10', 'buy')) ?? '', /fixes the sold amount/);
  });
});

test('nothing of a plan leaves before the date in its reference, or after its send window', () => {
  const policies = [allowed(CONVERT)];
  const paid = pay('supplier', SUPPLIER, '17250.00');
  const again = { ...paid, reference: `${paid.reference}~9` };
  const at = (write: GatedWrite, moment: string) =>
    whyNot(policies, write, { nowMs: Date.parse(moment) }) ?? 'allowed';
  assert.match(at(paid, '2026-11-20T10:59:59Z'), /pays nothing before/);
  assert.equal(at(paid, '2026-11-26T12:00:00Z'), 'allowed');
  assert.match(at(paid, '2026-11-26T12:00:01Z'), /of 2026-11-21 pays nothing after 2026-11-26 12:00 UTC/);
  assert.match(at({ ...paid, reference: `${paid.reference}~8` }, '2026-11-27T00:00:00Z'), /pays nothing/);
  // What people have said later has a later window.
  assert.equal(at(again, '2026-12-21T00:00:00Z'), 'allowed');
  const sale = quote('USD', 'MXN', '1000.00');
  assert.match(at(sale, '2026-11-20T00:00:00Z'), /trades nothing before/);
  assert.match(at(sale, '2026-11-23T00:00:00Z'), /trades nothing after/);
});

test('what is no positive amount is not allowed, also where no limit is', () => {
  const payout = PAYOUT.replace(/^limits: .*$/m, '').replace(', destinations: accounts.yaml', '');
  const policies = [allowed(payout)];
  assert.equal(whyNot(policies, pay('inv-1', OTHER, '1000000', 'EUR')), null);
  for (const amount of ['0', '0.00', '-1', '1e3', '1,000', '', 'NaN', 'Infinity', ' 1'])
    for (const write of [
      pay('inv-1', OTHER, amount, 'EUR'),
      quote('USD', 'EUR', amount),
      trade('USD', 'EUR', amount, '1'),
      trade('USD', 'EUR', '1', amount),
    ])
      assert.match(whyNot(policies, write) ?? '', /is no amount/, JSON.stringify(write));
});

describe('a rebalancing of the folder', () => {
  const referenceRates = {
    asOf: new Date(NOW - 3_600_000).toISOString(),
    rates: [{ value: '1.08', currency: 'USD', per: 'EUR' }],
  };
  const POLICIES = [allowed(REBALANCE, { referenceRates })];
  test('trades between its base and its targets, at the price of the folder’s own rates', () => {
    assert.equal(whyNot(POLICIES, quote('EUR', 'USD', '10')), null);
    assert.equal(whyNot(POLICIES, trade('EUR', 'USD', '1000', '1077.30')), null);
    assert.match(whyNot(POLICIES, trade('EUR', 'USD', '1000', '1077.29')) ?? '', /does not allow the price/);
    assert.match(whyNot(POLICIES, quote('EUR', 'EURC', '10')) ?? '', /does not sell/);
    assert.match(whyNot(POLICIES, quote('EURC', 'USD', '10')) ?? '', /does not sell/);
    assert.match(whyNot(POLICIES, quote('USD', 'GBP', '10')) ?? '', /does not sell/);
    assert.match(whyNot(POLICIES, trade('EUR', 'USD', '400000', '432000')) ?? '', /per_trade/);
  });

  test('takes no price, and asks for no quote, where the folder has no rates, or they are too old', () => {
    const nowMs = NOW + 30 * 3_600_000;
    for (const write of [trade('EUR', 'USD', '1000', '1080'), quote('EUR', 'USD', '1000')]) {
      assert.match(whyNot([allowed(REBALANCE)], write) ?? '', /takes no price/);
      const later = { ...write, reference: 'p.2026-11-22.leg-1' };
      assert.match(whyNot(POLICIES, later, { nowMs }) ?? '', /too old/);
    }
  });

  test('fixes the amount of the other currency, and takes no quote of its base', () => {
    assert.match(
      whyNot(POLICIES, quote('EUR', 'USD', '10', 'buy')) ?? '',
      /fixes the amount of EUR, not of USD/,
    );
  });

  test('trades nothing while balances cannot be read, or a trade under way has a status that nobody knows', () => {
    assert.match(whyNot(POLICIES, quote('EUR', 'USD', '10'), { held: null }) ?? '', /cannot be read/);
    const onTheWay = [{ currency: 'EUR', comes: '1', goes: '0', isTold: false }];
    const held = { ...HELD, onTheWay };
    assert.match(whyNot(POLICIES, quote('EUR', 'USD', '10'), { held }) ?? '', /do not tell it/);
  });

  for (const [target, there, write, why] of [
    // 1,200.00 EUR are there or on their way.
    ['{ max: "0.00" }', {}, quote('EUR', 'USD', '1200.00'), null],
    [
      '{ max: "0.00" }',
      {},
      quote('EUR', 'USD', '1200.01'),
      /sells EUR down to 0\.00 EUR at most, and 1,?200\.00 EUR is/,
    ],
    ['{ max: "0.00" }', {}, trade('EUR', 'USD', '1200.01', '1296.01'), /1,?200\.01 EUR is too much/],
    ['{ max: "0.00" }', {}, quote('USD', 'EUR', '1', 'buy'), /has no target to which EUR is bought/],
    ['{ min: "1300.00" }', {}, quote('USD', 'EUR', '100.00', 'buy'), null],
    ['{ min: "1300.00" }', {}, quote('USD', 'EUR', '100.01', 'buy'), /buys EUR up to 1,?300\.00 EUR/],
    ['{ min: "1300.00" }', {}, quote('EUR', 'USD', '1'), /has no target to which EUR is sold/],
    ['{ min: "1300.00" }', { EUR: '1000.005' }, quote('USD', 'EUR', '100.00', 'buy'), null],
    ['{ min: "900.00", max: "1100.00" }', {}, quote('EUR', 'USD', '300.00'), null],
    ['{ min: "900.00", max: "1100.00" }', {}, quote('EUR', 'USD', '300.01'), /down to 900\.00 EUR/],
    ['{ keep: "1000.00", band: "100.00" }', {}, quote('EUR', 'USD', '300.00'), null],
    ['{ keep: "1000.00", band: "100.00" }', {}, quote('EUR', 'USD', '300.01'), /down to 900\.00 EUR/],
    ['{ keep: "1400.00", band: "100.00" }', {}, trade('USD', 'EUR', '324', '300.00'), null],
    ['{ keep: "1400.00", band: "100.00" }', {}, trade('USD', 'EUR', '324', '300.01'), /up to 1,?500\.00 EUR/],
    // The total is 9,704.00 USD + 1,200.00 EUR at 1.08 = 11,000.00 USD; 10% of it are 1,018.51 EUR, 2% are 203.70 EUR.
    ['{ share: "10%", band: "2%" }', { USD: '9704.00' }, quote('EUR', 'USD', '385.19'), null],
    ['{ share: "10%", band: "2%" }', { USD: '9704.00' }, quote('EUR', 'USD', '385.21'), /down to 814\./],
  ] as const)
    test(`by EUR: ${target}, with ${JSON.stringify(there)}, ${why === null ? 'makes' : 'does not make'} ${JSON.stringify(write)}`, () => {
      const text = REBALANCE.replace('EUR: { max: "0.00" }, EURC: { min: "5.00" }', `EUR: ${target}`).replace(
        /^.*never_sell.*\n/m,
        '',
      );
      const held = heldOf({ EUR: '1000.00', USD: '1000000.00', ...there }, { EUR: '200.00' });
      const told = whyNot([allowed(text, { referenceRates })], write, { held });
      if (why === null) assert.equal(told, null);
      else assert.match(told ?? '', why);
    });

  test('pays nobody', () => {
    assert.match(whyNot(POLICIES, pay('eur-usd-1', SUPPLIER, '1', 'USD')) ?? '', /pays nothing/);
  });
});

describe('a payout of the folder', () => {
  const POLICIES = [allowed(PAYOUT, { destinations: new Map([[SUPPLIER, 'EUR']]) })];
  test('pays its destinations, in their currency, up to its limits', () => {
    assert.equal(whyNot(POLICIES, pay('inv-1', SUPPLIER, '900', 'EUR')), null);
    assert.match(whyNot(POLICIES, pay('inv-1', SUPPLIER, '900.01', 'EUR')) ?? '', /per_payment/);
    assert.match(whyNot(POLICIES, pay('inv-1', OTHER, '1', 'EUR')) ?? '', /does not pay EUR to account/);
    assert.match(whyNot(POLICIES, pay('inv-1', SUPPLIER, '1', 'USD')) ?? '', /does not pay USD to account/);
  });

  test('pays nobody where its file of destinations cannot be read', () => {
    assert.match(whyNot([allowed(PAYOUT)], pay('inv-1', SUPPLIER, '1', 'EUR')) ?? '', /is not in the folder/);
  });

  test('buys what it pays with the currency that funds it', () => {
    assert.equal(whyNot(POLICIES, quote('USD', 'EUR', '900', 'buy')), null);
    assert.equal(whyNot(POLICIES, trade('USD', 'EUR', '5000', '4600')), null);
    assert.match(whyNot(POLICIES, trade('USD', 'EUR', '5000.01', '4600')) ?? '', /per_trade/);
    assert.match(whyNot(POLICIES, quote('EUR', 'USD', '900')) ?? '', /does not sell EUR for USD/);
    assert.match(whyNot(POLICIES, quote('USD', 'MXN', '900', 'buy')) ?? '', /pays no MXN/);
    assert.match(whyNot([allowed(PAYOUT)], quote('USD', 'EUR', '900', 'buy')) ?? '', /is not in the folder/);
    const none = [allowed(PAYOUT.replace('{ from: USD, mode: net }', '{ mode: none }'))];
    assert.match(whyNot(none, quote('USD', 'EUR', '900')) ?? '', /does not sell/);
  });
});
