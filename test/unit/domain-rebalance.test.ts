/** What a rebalancing trades, row by row, and what holds for every policy and every balance (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decimalsOf } from '../../domain/currencies.ts';
import { add, compare, subtract } from '../../domain/money.ts';
import { boundFromCost, worthOf } from '../../domain/plan/price-bounds.ts';
import type { Holding } from '../../domain/plan/holding.ts';
import { planRebalancing, type Rebalancing } from '../../domain/plan/rebalance.ts';
import { onTheWay } from '../../domain/plan/on-the-way.ts';
import type { RebalancePolicy, Rate, Target } from '../../domain/policy.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Pair } from '../../domain/service/records.ts';
import { NOW, TRADE } from '../support/scripts.ts';

const RATES: readonly Rate[] = [
  { value: '1.10', currency: 'USD', per: 'EUR' },
  { value: '1.25', currency: 'USD', per: 'GBP' },
  { value: '20', currency: 'MXN', per: 'USD' },
  { value: '150', currency: 'JPY', per: 'USD' },
  // Through the euro.
  { value: '4', currency: 'PLN', per: 'EUR' },
];
const WORST_COST_BPS = '100';

/** `keep 100 band 10`, `share 10 band 1`, `min 5`, `max 7`, `min 5 max 7`. */
function target(currency: string, text: string): Target {
  const words = text.split(' ');
  const of = (word: string): string | null => words[words.indexOf(word) + 1] ?? null;
  const has = (word: string): boolean => words.includes(word);
  if (has('keep'))
    return { currency, goal: { kind: 'keep', keep: of('keep') ?? '', band: of('band') ?? '' } };
  if (has('share'))
    return {
      currency,
      goal: { kind: 'share', sharePercent: of('share') ?? '', bandPercent: of('band') ?? '' },
    };
  return {
    currency,
    goal: { kind: 'range', min: has('min') ? of('min') : null, max: has('max') ? of('max') : null },
  };
}

type Parts = {
  /** Target by currency, in the order of the policy. */
  readonly targets: Readonly<Record<string, string>>;
  /** What is there by currency: `100`, or `withdrawable/projected`; `100/?` cannot be told, nor
   * `100/run?` because of another run. USD is 1000000 unless said. */
  readonly there?: Readonly<Record<string, string>>;
  readonly base?: { readonly currency?: string; readonly min?: string };
  readonly policy?: Partial<Pick<RebalancePolicy['rebalance'], 'neverSell' | 'minTrade' | 'maxTrades'>>;
  readonly pairs?: readonly Pair[] | null;
  readonly perTrade?: string;
  readonly perRun?: string;
  readonly perDay?: string;
  readonly rates?: readonly Rate[];
  /** Ways that no worst rate bounds, `EUR USD` for selling euros; there are no reference rates then. */
  readonly unbounded?: readonly string[];
};

function planned(parts: Parts): Rebalancing {
  const { targets, there = {}, pairs = null, rates = RATES } = parts;
  const base = parts.base?.currency ?? 'USD';
  const holdingOf = (currency: string): Holding => {
    const [withdrawable = '0', projected = withdrawable] = (
      there[currency] ?? (currency === base ? '1000000' : '0')
    ).split('/');
    if (projected === '?') return { withdrawable, projected: null, unknown: 'status unknown' };
    if (projected === 'run?') return { withdrawable, projected: null, unknown: 'other run' };
    return { withdrawable, projected };
  };
  return planRebalancing({
    rebalance: {
      base: { currency: base, min: parts.base?.min ?? null },
      targets: Object.entries(targets).map(([currency, text]) => target(currency, text)),
      neverSell: [],
      minTrade: null,
      maxTrades: null,
      ...parts.policy,
    },
    holdingOf,
    decimalsOf: (currency) => decimalsOf(currency, {}),
    worthOf: (currency) => worthOf(rates, currency, base),
    boundOf: (sell, buy) =>
      parts.unbounded?.includes(`${sell} ${buy}`) === true
        ? null
        : boundFromCost(rates, WORST_COST_BPS, { sell, buy }),
    waitsForBase: false,
    missingRate: parts.unbounded === undefined ? 'no rate' : 'no worst rate',
    pairs,
    most: { trade: parts.perTrade ?? null, run: parts.perRun ?? null, day: parts.perDay ?? null },
  });
}

/** `sell 50 EUR, buy 30 GBP`, and after a bar what held currencies back. */
function told({ trades, positions }: Rebalancing): string {
  const moved = trades.map(
    ({ side, value, currency, needsFromSales }) =>
      `${side} ${value} ${currency}${needsFromSales === '0' ? '' : ` after sales of ${needsFromSales}`}`,
  );
  const held = positions.flatMap(({ currency, restraint }) =>
    restraint === null ? [] : [`${currency}: ${restraint}`],
  );
  return [moved.join(', ') || 'nothing', ...(held.length === 0 ? [] : [held.join(', ')])].join(' | ');
}

const pair = (
  sellCurrency: string,
  buyCurrency: string,
  minTradeAmount: string,
  maxTradeAmount: string,
): Pair => ({
  sellCurrency,
  buyCurrency,
  minTradeAmount,
  maxTradeAmount,
});
const EUR_PAIRS = [pair('EUR', 'USD', '10', '1000'), pair('USD', 'EUR', '10', '1000')];

const ROWS: readonly (readonly [what: string, parts: Parts, expected: string])[] = [
  // Bands.
  ['inside its band', { targets: { EUR: 'keep 100 band 10' }, there: { EUR: '105' } }, 'nothing'],
  [
    'at the upper edge of its band',
    { targets: { EUR: 'keep 100 band 10' }, there: { EUR: '110' } },
    'nothing',
  ],
  [
    'at the lower edge of its band',
    { targets: { EUR: 'keep 100 band 10' }, there: { EUR: '90' } },
    'nothing',
  ],
  [
    'a cent above its band',
    { targets: { EUR: 'keep 100 band 10' }, there: { EUR: '110.01' } },
    'sell 10.01 EUR',
  ],
  [
    'a cent below its band',
    { targets: { EUR: 'keep 100 band 10' }, there: { EUR: '89.99' } },
    'buy 10.01 EUR',
  ],
  ['a band of nothing', { targets: { EUR: 'keep 100 band 0' }, there: { EUR: '100.01' } }, 'sell 0.01 EUR'],
  ['exactly kept', { targets: { EUR: 'keep 100 band 0' }, there: { EUR: '100.00' } }, 'nothing'],
  ['a band as wide as the target', { targets: { EUR: 'keep 100 band 100' }, there: { EUR: '0' } }, 'nothing'],
  [
    'nothing there, and a currency missing in the balances',
    { targets: { EUR: 'keep 100 band 10' } },
    'buy 100 EUR',
  ],
  ['keeping nothing', { targets: { EUR: 'keep 0 band 0' }, there: { EUR: '7.50' } }, 'sell 7.5 EUR'],
  // Minimum and maximum.
  ['below its minimum', { targets: { GBP: 'min 40' }, there: { GBP: '10' } }, 'buy 30 GBP'],
  ['at its minimum', { targets: { GBP: 'min 40' }, there: { GBP: '40' } }, 'nothing'],
  ['far above a minimum', { targets: { GBP: 'min 40' }, there: { GBP: '4000' } }, 'nothing'],
  ['above its maximum', { targets: { MXN: 'max 0' }, there: { MXN: '18500' } }, 'sell 18500 MXN'],
  ['at its maximum', { targets: { MXN: 'max 5' }, there: { MXN: '5' } }, 'nothing'],
  ['below a maximum', { targets: { MXN: 'max 5' }, there: { MXN: '1' } }, 'nothing'],
  ['between both', { targets: { EUR: 'min 5 max 9' }, there: { EUR: '7' } }, 'nothing'],
  ['above both', { targets: { EUR: 'min 5 max 9' }, there: { EUR: '12' } }, 'sell 3 EUR'],
  ['below both', { targets: { EUR: 'min 5 max 9' }, there: { EUR: '1' } }, 'buy 4 EUR'],
  ['minimum and maximum in one', { targets: { EUR: 'min 9 max 9' }, there: { EUR: '10' } }, 'sell 1 EUR'],
  // Rounding to the currency's decimals.
  ['a sale is rounded down', { targets: { EUR: 'max 1' }, there: { EUR: '3.509' } }, 'sell 2.5 EUR'],
  [
    'a purchase up to a minimum is rounded up',
    { targets: { EUR: 'min 3' }, there: { EUR: '0.991' } },
    'buy 2.01 EUR',
  ],
  ['less than a cent too much is nothing', { targets: { EUR: 'max 1' }, there: { EUR: '1.009' } }, 'nothing'],
  [
    'less than a cent too little of a kept amount is nothing',
    { targets: { EUR: 'keep 1 band 0' }, there: { EUR: '0.991' } },
    'nothing',
  ],
  ['yen have no decimals', { targets: { JPY: 'max 100' }, there: { JPY: '250.75' } }, 'sell 150 JPY'],
  // Shares: of the total of all currencies, valued in the base.
  [
    'a share too small',
    { targets: { EUR: 'share 50 band 1' }, there: { USD: '1100', EUR: '0' } },
    'buy 500 EUR',
  ],
  [
    'a share too large',
    { targets: { EUR: 'share 10 band 1' }, there: { USD: '0', EUR: '1000' } },
    'sell 900 EUR',
  ],
  [
    'a share inside its band',
    { targets: { EUR: 'share 50 band 5' }, there: { USD: '550', EUR: '540' } },
    'nothing',
  ],
  [
    'at the edge of the band of a share',
    { targets: { EUR: 'share 50 band 10' }, there: { USD: '660', EUR: '400' } },
    'nothing',
  ],
  [
    'a share of all',
    { targets: { EUR: 'share 100 band 0' }, there: { USD: '110', EUR: '0' } },
    'buy 99 EUR | EUR: base',
  ],
  ['a share of nothing is sold', { targets: { EUR: 'share 0 band 0' }, there: { EUR: '5' } }, 'sell 5 EUR'],
  [
    'a total below nothing',
    { targets: { EUR: 'share 50 band 1' }, there: { USD: '0/-500', EUR: '20/20' } },
    'sell 20 EUR',
  ],
  [
    'a currency through another one',
    { targets: { PLN: 'share 50 band 0' }, there: { USD: '550', PLN: '2000' } },
    'nothing',
  ],
  // What is on its way.
  ['bought yesterday, settles tomorrow', { targets: { EUR: 'min 100' }, there: { EUR: '0/100' } }, 'nothing'],
  ['bought in part yesterday', { targets: { EUR: 'min 100' }, there: { EUR: '0/60' } }, 'buy 40 EUR'],
  [
    'more comes than is wanted, and is not there yet',
    { targets: { EUR: 'max 50' }, there: { EUR: '0/100' } },
    'nothing | EUR: withdrawable',
  ],
  [
    'some of what is too much can be sold',
    { targets: { EUR: 'max 50' }, there: { EUR: '30/100' } },
    'sell 30 EUR | EUR: withdrawable',
  ],
  ['what is there is sold already', { targets: { EUR: 'max 50' }, there: { EUR: '100/40' } }, 'nothing'],
  [
    'what is on its way cannot be told',
    { targets: { EUR: 'min 100', GBP: 'min 1' }, there: { EUR: '0/?' } },
    'buy 1 GBP | EUR: status unknown',
  ],
  [
    'what another run takes cannot be told',
    { targets: { EUR: 'min 100', GBP: 'min 1' }, there: { EUR: '0/run?' } },
    'buy 1 GBP | EUR: other run',
  ],
  [
    'a share of a total that cannot be told',
    { targets: { EUR: 'share 50 band 0', GBP: 'min 1' }, there: { GBP: '0/?' } },
    'nothing | EUR: status unknown, GBP: status unknown',
  ],
  [
    'a share of a total of which another run may take some',
    { targets: { EUR: 'share 50 band 0' }, there: { USD: '100/run?' } },
    'nothing | EUR: other run',
  ],
  // The base.
  ['the base pays for all', { targets: { EUR: 'min 100' }, there: { USD: '111.12' } }, 'buy 100 EUR'],
  [
    'the base gives what it has at the worst price',
    { targets: { EUR: 'min 100' }, there: { USD: '55.55' } },
    'buy 49.99 EUR | EUR: base',
  ],
  [
    'the base keeps its minimum',
    { targets: { EUR: 'min 100' }, there: { USD: '100' }, base: { min: '100' } },
    'nothing | EUR: base',
  ],
  [
    'the base below its minimum buys nothing',
    { targets: { EUR: 'min 100' }, there: { USD: '50' }, base: { min: '100' } },
    'nothing | EUR: base',
  ],
  [
    'the first in the policy is bought first',
    { targets: { EUR: 'min 50', GBP: 'min 50' }, there: { USD: '60' } },
    'buy 50 EUR, buy 3.51 GBP | GBP: base',
  ],
  [
    'a sale comes before a purchase, which does not need it',
    { targets: { GBP: 'min 10', EUR: 'max 0' }, there: { EUR: '100' } },
    'sell 100 EUR, buy 10 GBP',
  ],
  [
    'a purchase that needs what a sale brings',
    { targets: { GBP: 'min 10', EUR: 'max 0' }, there: { USD: '0', EUR: '100' } },
    'sell 100 EUR, buy 10 GBP after sales of 12.63',
  ],
  [
    'a purchase for which the sale brings too little',
    { targets: { GBP: 'min 100', EUR: 'max 0' }, there: { USD: '0', EUR: '100' } },
    'sell 100 EUR, buy 86.24 GBP after sales of 108.89 | GBP: base',
  ],
  [
    'of a purchase in parts only those need the sale that the base cannot pay for',
    {
      targets: { EUR: 'min 2500', GBP: 'max 0' },
      there: { USD: '2000', GBP: '1000' },
      pairs: [pair('USD', 'EUR', '10', '1000'), pair('GBP', 'USD', '10', '1000')],
    },
    'sell 1000 GBP, buy 833.34 EUR, buy 833.34 EUR, buy 833.32 EUR after sales of 777.78',
  ],
  [
    'one purchase needs the sale, the one before it does not',
    { targets: { GBP: 'min 10', PLN: 'min 100', EUR: 'max 0' }, there: { USD: '15', EUR: '100' } },
    'sell 100 EUR, buy 10 GBP, buy 100 PLN after sales of 25.41',
  ],
  // Limits of the policy.
  [
    'too small for the policy',
    { targets: { EUR: 'min 9' }, policy: { minTrade: '10' } },
    'nothing | EUR: min_trade',
  ],
  ['just large enough', { targets: { EUR: 'min 10' }, policy: { minTrade: '11' } }, 'buy 10 EUR'],
  [
    'never sold',
    { targets: { EUR: 'keep 1 band 0' }, there: { EUR: '5' }, policy: { neverSell: ['EUR'] } },
    'nothing | EUR: never_sell',
  ],
  [
    'never sold, but bought',
    { targets: { EUR: 'keep 9 band 0' }, there: { EUR: '5' }, policy: { neverSell: ['EUR'] } },
    'buy 4 EUR',
  ],
  [
    'the largest trades only',
    {
      targets: { EUR: 'min 10', GBP: 'min 20', MXN: 'max 0' },
      there: { MXN: '300' },
      policy: { maxTrades: 2 },
    },
    'sell 300 MXN, buy 20 GBP | EUR: max_trades',
  ],
  [
    'a trade is cut to per_trade',
    { targets: { EUR: 'max 0' }, there: { EUR: '100' }, perTrade: '55' },
    'sell 49.5 EUR | EUR: per_trade',
  ],
  [
    'a purchase keeps per_trade at the worst price',
    { targets: { EUR: 'min 100' }, perTrade: '55' },
    'buy 49.5 EUR | EUR: per_trade',
  ],
  [
    'all trades keep per_run, sales first',
    { targets: { GBP: 'min 100', EUR: 'max 0' }, there: { EUR: '10' }, perRun: '23.39' },
    'sell 10 EUR, buy 9.71 GBP | GBP: per_run',
  ],
  [
    'all trades keep what other runs have left of per_day',
    { targets: { GBP: 'min 100', EUR: 'max 0' }, there: { EUR: '10' }, perRun: '100', perDay: '23.39' },
    'sell 10 EUR, buy 9.71 GBP | GBP: per_day',
  ],
  [
    'what a limit leaves may be too small',
    { targets: { EUR: 'max 0' }, there: { EUR: '100' }, perTrade: '5', policy: { minTrade: '10' } },
    'nothing | EUR: per_trade',
  ],
  // The service's pairs.
  [
    'too small for the service',
    { targets: { EUR: 'max 0' }, there: { EUR: '9.99' }, pairs: EUR_PAIRS },
    'nothing | EUR: pair minimum',
  ],
  [
    'as small as the service takes',
    { targets: { EUR: 'max 0' }, there: { EUR: '10' }, pairs: EUR_PAIRS },
    'sell 10 EUR',
  ],
  [
    'a purchase too small for the service',
    { targets: { EUR: 'min 9' }, pairs: EUR_PAIRS },
    'nothing | EUR: pair minimum',
  ],
  [
    'not offered by the service',
    { targets: { GBP: 'min 9' }, pairs: EUR_PAIRS },
    'nothing | GBP: pair not offered',
  ],
  [
    'as large as the service takes',
    { targets: { EUR: 'max 0' }, there: { EUR: '1000' }, pairs: EUR_PAIRS },
    'sell 1000 EUR',
  ],
  [
    'too large for the service',
    { targets: { EUR: 'max 0' }, there: { EUR: '2500' }, pairs: EUR_PAIRS },
    'sell 833.34 EUR, sell 833.34 EUR, sell 833.32 EUR',
  ],
  [
    'a purchase too large for the service',
    { targets: { EUR: 'min 1000' }, pairs: EUR_PAIRS },
    'buy 500 EUR, buy 500 EUR',
  ],
  [
    'more than so many trades',
    { targets: { EUR: 'max 0' }, there: { EUR: '60000' }, pairs: EUR_PAIRS },
    `${Array.from({ length: 50 }, () => 'sell 1000 EUR').join(', ')} | EUR: pair maximum`,
  ],
  [
    'the parts count as trades',
    {
      targets: { EUR: 'max 0', GBP: 'max 0' },
      there: { EUR: '2500', GBP: '1' },
      pairs: [...EUR_PAIRS, pair('GBP', 'USD', '0', '9')],
      policy: { maxTrades: 2 },
    },
    'sell 1000 EUR, sell 1000 EUR | EUR: max_trades, GBP: max_trades',
  ],
  [
    'a trade that the base leaves nothing gives its place to the next largest',
    {
      targets: { PLN: 'min 400', EUR: 'min 50', MXN: 'max 0' },
      there: { USD: '10', MXN: '100' },
      base: { min: '10' },
      policy: { maxTrades: 1 },
    },
    'sell 100 MXN | PLN: base, EUR: base',
  ],
  [
    'a trade that per_run leaves nothing gives its place to the next largest',
    {
      targets: { GBP: 'min 100', EUR: 'min 10' },
      pairs: [...EUR_PAIRS, pair('USD', 'GBP', '50', '1000')],
      perRun: '40',
      policy: { maxTrades: 1 },
    },
    'buy 10 EUR | GBP: per_run',
  ],
  // Rates.
  ['no rate values it', { targets: { CHF: 'min 9', EUR: 'min 1' } }, 'buy 1 EUR | CHF: no rate'],
  [
    'a share without a rate of another currency',
    { targets: { EUR: 'share 10 band 0', CHF: 'max 9' } },
    'nothing | EUR: no rate',
  ],
  [
    'a currency without a rate that needs nothing',
    { targets: { CHF: 'min 9' }, there: { CHF: '9' } },
    'nothing',
  ],
  [
    'a share of what has no rate, and the rest goes on',
    { targets: { CHF: 'share 10 band 0', EUR: 'min 1' } },
    'buy 1 EUR | CHF: no rate',
  ],
  [
    'no worst rate for this way',
    {
      targets: { EUR: 'keep 5 band 0', GBP: 'keep 5 band 0' },
      there: { EUR: '9', GBP: '9' },
      unbounded: ['EUR USD', 'USD GBP'],
    },
    'sell 4 GBP | EUR: no worst rate',
  ],
  [
    'never sold, and no worst rate either',
    {
      targets: { EUR: 'keep 5 band 0' },
      there: { EUR: '9' },
      unbounded: ['EUR USD'],
      policy: { neverSell: ['EUR'] },
    },
    'nothing | EUR: never_sell',
  ],
  [
    'another base',
    { targets: { USD: 'max 0' }, there: { EUR: '0', USD: '110' }, base: { currency: 'EUR' } },
    'sell 110 USD',
  ],
  ['nothing to rebalance', { targets: { EUR: 'min 0' } }, 'nothing'],
];

for (const [what, parts, expected] of ROWS)
  test(`a rebalancing, ${what}: ${expected}`, () => {
    assert.equal(told(planned(parts)), expected);
  });

const cents = (most: number) => fc.integer({ min: 0, max: most * 100 }).map((value) => `${value / 100}`);
/** Shrinking days of many amounts takes longer than reading one. */
const WITHOUT_SHRINKING = { endOnFailure: true };
const CURRENCIES = ['EUR', 'GBP', 'MXN', 'PLN'] as const;
const anyTarget = fc.oneof(
  fc.tuple(cents(1000), cents(100)).map(([keep, band]) => `keep ${keep} band ${band}`),
  cents(1000).map((min) => `min ${min}`),
  cents(1000).map((max) => `max ${max}`),
  fc
    .tuple(fc.integer({ min: 0, max: 25 }), fc.integer({ min: 0, max: 5 }))
    .map(([share, band]) => `share ${share} band ${band}`),
);
const anyDay = fc.record({
  targets: fc.record(Object.fromEntries(CURRENCIES.map((currency) => [currency, anyTarget]))),
  there: fc.record(Object.fromEntries([...CURRENCIES, 'USD'].map((currency) => [currency, cents(5000)]))),
});

/** What is there once every trade is done at the reference rate. */
function afterwards(
  there: Readonly<Record<string, string>>,
  { trades }: Rebalancing,
): Record<string, string> {
  const after = { ...there };
  for (const { side, currency, value } of trades)
    after[currency] = (side === 'buy' ? add : subtract)(after[currency] ?? '0', value);
  return after;
}

test('after a plan that nothing held back, planning again on what it leads to trades nothing', () => {
  fc.assert(
    fc.property(anyDay, ({ targets, there }) => {
      // The base is not counted on: trades move it by what they cost.
      const rich = { ...there, USD: '100000000' };
      const fixed = Object.fromEntries(
        Object.entries(targets).filter(([, text]) => !text.startsWith('share')),
      );
      const plan = planned({ targets: fixed, there: rich });
      fc.pre(plan.positions.every(({ restraint }) => restraint === null));
      assert.equal(told(planned({ targets: fixed, there: afterwards(rich, plan) })), 'nothing');
    }),
    WITHOUT_SHRINKING,
  );
});

test('a plan never sells more than is there, and never takes the base below its minimum at the worst price', () => {
  fc.assert(
    fc.property(anyDay, cents(3000), ({ targets, there }, min) => {
      const { trades, positions } = planned({ targets, there, base: { min } });
      let base = there['USD'] ?? '0';
      for (const { side, currency, value } of trades) {
        if (side === 'sell') assert.notEqual(compare(value, there[currency] ?? '0'), 1, currency);
        const bound =
          side === 'sell'
            ? boundFromCost(RATES, WORST_COST_BPS, { sell: currency, buy: 'USD' })
            : boundFromCost(RATES, WORST_COST_BPS, { sell: 'USD', buy: currency });
        assert.ok(bound !== null, currency);
        const worst =
          side === 'sell'
            ? (Number(value) * Number(bound.sellFactor)) / Number(bound.buyFactor)
            : (-Number(value) * Number(bound.buyFactor)) / Number(bound.sellFactor);
        base = `${Number(base) + worst}`;
        const kept = Math.min(Number(min), Number(there['USD'])) - 0.05;
        if (side === 'buy') assert.equal(Number(base) >= kept, true, `${base} of ${min}`);
      }
      for (const { currency, traded, wanted } of positions) {
        const parts = trades.filter((trade) => trade.currency === currency).map(({ value }) => value);
        assert.equal(compare(parts.reduce(add, '0'), traded), 0);
        assert.notEqual(compare(traded, wanted?.value ?? '0'), 1, currency);
      }
    }),
    WITHOUT_SHRINKING,
  );
});

test('the order of the policy changes no sale, and with money enough no purchase either', () => {
  fc.assert(
    fc.property(anyDay, ({ targets, there }) => {
      const rich = { ...there, USD: '100000000' };
      const turned = Object.fromEntries(Object.entries(targets).toReversed());
      const lines = (of: Readonly<Record<string, string>>) =>
        planned({ targets: of, there: rich })
          .trades.map(({ side, value, currency }) => `${side} ${value} ${currency}`)
          .toSorted();
      assert.deepEqual(lines(targets), lines(turned));
    }),
    WITHOUT_SHRINKING,
  );
});

test('what earlier trades bring counts until it is settled, and what they take only where sales leave at settlement', () => {
  const facts = DEFAULT_SERVICE_FACTS;
  const trade = { ...TRADE, status: 'EXECUTED' };
  const later = () => NOW + 1;
  assert.deepEqual(onTheWay([trade, trade], facts, NOW, later), [
    { currency: 'MXN', comes: '34500', goes: '0', isTold: true },
  ]);
  const atSettlement = { ...facts, saleLeavesWithdrawable: 'at_settlement' } as const;
  assert.deepEqual(onTheWay([trade], atSettlement, NOW, later), [
    { currency: 'MXN', comes: '17250', goes: '0', isTold: true },
    { currency: 'USD', comes: '0', goes: '1000', isTold: true },
  ]);
  for (const status of ['SETTLED', 'FAILED'])
    assert.deepEqual(onTheWay([{ ...trade, status }], facts, NOW, later), [], status);
  assert.deepEqual(
    onTheWay([trade], facts, NOW, () => NOW - 1),
    [],
  );
  assert.equal(onTheWay([trade, { ...trade, status: 'ODD' }], facts, NOW, later)[0]?.isTold, false);
});
