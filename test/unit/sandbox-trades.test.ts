// Quotes, trades, settlement, balances and exposures.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { SettingsPatch } from '../../sandbox/server.ts';
import type { Answer } from '../support/sandbox-signer.ts';
import { assertDone, assertRefused, stage } from '../support/sandbox-stage.ts';

const row = (answer: Answer, currency: string): unknown =>
  (answer.at('data.balances') as { currency: string }[]).find((balance) => balance.currency === currency);

test('a quote shows the side that was asked for, and the other as quoteAmount', async (t) => {
  const { client } = await stage(t, { rates: { 'USD/MXN': '18.50' } });
  const sell = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '007.50' };
  const sold = await client.post('/fx/quotes', sell);
  assert.equal(sold.at('data.sellAmount'), '007.50');
  assert.equal(sold.at('data.quoteAmount'), '138.75');
  assert.equal(sold.at('data.buyAmount'), undefined);
  assert.match(sold.textAt('data.id'), /^qte_[1-9A-HJ-NP-Za-km-z]{1,22}$/);
  const bought = await client.post('/fx/quotes', {
    buyCurrency: 'MXN',
    sellCurrency: 'USD',
    buyAmount: '100',
  });
  assert.equal(bought.at('data.buyAmount'), '100');
  assert.equal(bought.at('data.quoteAmount'), '5.4054054055');
  assert.equal(bought.at('data.sellAmount'), undefined);
});

test('rates are derived directly, by inversion and across the dollar, and a spread works against the client', async (t) => {
  const { client, sandbox } = await stage(t, {
    rates: { 'USD/MXN': '20', 'EUR/USD': '1.25', 'GBP/EUR': '1.1' },
  });
  const priced = async (sellCurrency: string, buyCurrency: string): Promise<unknown> =>
    (await client.post('/fx/quotes', { sellCurrency, buyCurrency, sellAmount: '100' })).at(
      'data.quoteAmount',
    );
  assert.equal(await priced('USD', 'MXN'), '2000');
  assert.equal(await priced('MXN', 'USD'), '5');
  assert.equal(await priced('EUR', 'MXN'), '2500');
  assert.equal(await priced('GBP', 'EUR'), '110');
  sandbox.setSettings({ spreadBps: 100 });
  assert.equal(await priced('USD', 'MXN'), '1980');
  const buy = { sellCurrency: 'USD', buyCurrency: 'MXN', buyAmount: '1980' };
  assert.equal((await client.post('/fx/quotes', buy)).at('data.quoteAmount'), '100');
  sandbox.setRates({ 'MXN/USD': '0.1' });
  assert.equal(await priced('USD', 'MXN'), '990');
});

test('what is wrong with a quote request is said', async (t) => {
  const { client, sandbox } = await stage(t);
  sandbox.setSettings({
    pairsNotEnabled: ['EUR/MXN'],
    currenciesNotEnabled: ['BRL'],
    pairsNotSupported: ['USD/JPY'],
  });
  const good = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '10' };
  const cases: readonly (readonly [more: object, status: number, code: string])[] = [
    [{ buyAmount: '1' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: undefined }, 400, 'QUOTE_INVALID_REFERENCE_UNIT'],
    [{ sellAmount: '-1' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: '0.00' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: '.5' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: '1.' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: '1e3' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ sellAmount: null }, 400, 'VALIDATION_BODY_FAILED'],
    [{ buyCurrency: 'mxn' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ buyCurrency: '' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ buyCurrency: 'ZZZ' }, 400, 'TRADE_CURRENCY_NOT_SUPPORTED'],
    [{ buyCurrency: 'USD' }, 400, 'TRADE_PAIR_NOT_SUPPORTED'],
    [{ buyCurrency: 'JPY' }, 400, 'TRADE_PAIR_NOT_SUPPORTED'],
    [{ sellCurrency: 'EUR' }, 403, 'TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT'],
    [{ buyCurrency: 'BRL' }, 403, 'TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT'],
    [{ quoteForSeconds: 10 }, 400, 'VALIDATION_BODY_FAILED'],
    [{ quoteForSeconds: '30' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ settlementWindow: 'T3' }, 400, 'VALIDATION_BODY_FAILED'],
    [{ settlementWindow: null }, 400, 'VALIDATION_BODY_FAILED'],
  ];
  for (const [more, status, code] of cases) {
    assertRefused(await client.post('/fx/quotes', { ...good, ...more }), status, code);
  }
});

test('a quote lives as long as asked for, three seconds by default', async (t) => {
  const { client, sandbox, quote, trade } = await stage(t);
  sandbox.clock.freeze();
  const plain = await client.post('/fx/quotes', {
    buyCurrency: 'MXN',
    sellCurrency: 'USD',
    sellAmount: '10',
  });
  const lives = Date.parse(plain.textAt('data.expiresAt')) - Date.parse(plain.textAt('data.createdAt'));
  assert.equal(lives, 3_000);
  assert.equal(plain.at('data.settlementWindow'), 'T0');
  for (const seconds of [3, 15, 30, 45, 60]) {
    const [inTime, late] = [
      await quote({ quoteForSeconds: seconds }),
      await quote({ quoteForSeconds: seconds }),
    ];
    sandbox.clock.advance(seconds * 1_000 - 1);
    assertDone(await trade(inTime));
    sandbox.clock.advance(1);
    const refused = await trade(late);
    assertRefused(refused, 409, 'QUOTE_EXPIRED');
    assert.equal(refused.at('error.details.quoteId'), late);
    assert.equal(refused.at('error.details.expiredAt'), new Date(sandbox.clock.now()).toISOString());
  }
});

test('a quote serves one trade, and is not found two days later', async (t) => {
  const { sandbox, quote, trade } = await stage(t);
  const quoteId = await quote();
  assertDone(await trade(quoteId));
  assertRefused(await trade(quoteId), 409, 'QUOTE_ALREADY_CONSUMED');
  sandbox.clock.advance(61_000);
  assertRefused(await trade(quoteId), 409, 'QUOTE_ALREADY_CONSUMED');
  sandbox.setSettings({ deadQuoteOrder: 'expired-first' });
  assertRefused(await trade(quoteId), 409, 'QUOTE_EXPIRED');
  sandbox.clock.advance(2 * 86_400_000);
  const gone = await trade(quoteId);
  assertRefused(gone, 404, 'QUOTE_NOT_FOUND');
  assert.equal(gone.at('error.retryStrategy'), 'TERMINAL');
  assertRefused(await trade('qte_unknown'), 404, 'QUOTE_NOT_FOUND');
});

test('of many trades with one quote at once one is executed', async (t) => {
  const { sandbox, quote, trade } = await stage(t);
  const quoteId = await quote();
  const answers = await Promise.all(Array.from({ length: 8 }, () => trade(quoteId)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(sandbox.ledger().trades.length, 1);
});

test('a reference is trimmed, kept to 255 characters and used once', async (t) => {
  const { client, sandbox, quote, trade } = await stage(t);
  const first = await trade(await quote(), '  ref-1 ');
  assert.equal(first.at('data.clientReferenceId'), 'ref-1');
  const refused = await trade(await quote(), 'ref-1');
  assertRefused(refused, 409, 'TRADE_DUPLICATE_CLIENT_REFERENCE');
  assert.deepEqual(refused.at('error.details'), {});
  assertDone(await trade(await quote(), 'REF-1'));
  assert.equal((await trade(await quote())).at('data.clientReferenceId'), null);
  assertRefused(await trade(await quote(), 'x'.repeat(256)), 400, 'VALIDATION_BODY_FAILED');
  assertDone(await trade(await quote(), ` ${'x'.repeat(255)} `));
  const odd = { quoteId: await quote(), clientReferenceId: null };
  assertRefused(await client.post('/fx/trades', odd), 400, 'VALIDATION_BODY_FAILED');
  sandbox.setSettings({ duplicateReferenceRefused: false });
  assertDone(await trade(await quote(), 'ref-1'));
});

test('what is checked first, quote or reference, is a setting', async (t) => {
  const { sandbox, quote, trade } = await stage(t);
  const quoteId = await quote();
  assertDone(await trade(quoteId, 'ref'));
  assertRefused(await trade(quoteId, 'ref'), 409, 'QUOTE_ALREADY_CONSUMED');
  sandbox.setSettings({ tradeCheckOrder: 'reference-first' });
  assertRefused(await trade(quoteId, 'ref'), 409, 'TRADE_DUPLICATE_CLIENT_REFERENCE');
});

test('a refused or failed trade burns its reference only when the setting says so', async (t) => {
  for (const burns of [false, true]) {
    const { sandbox, quote, trade } = await stage(t, { settings: { failedTradeBurnsReference: burns } });
    const expected = burns ? 409 : 200;
    assertRefused(
      await trade(await quote({ sellAmount: '10001' }), 'poor'),
      409,
      'TRADE_INSUFFICIENT_BALANCE',
    );
    assert.equal((await trade(await quote(), 'poor')).status, expected);
    sandbox.addFault({
      operation: 'createTrade',
      nth: 1,
      effect: { kind: 'word', word: 'FAILED', money: 'returned' },
    });
    assertDone(await trade(await quote(), 'failed'));
    sandbox.clock.advance(10_000);
    assert.equal((await trade(await quote(), 'failed')).status, expected);
  }
});

test('a trade passes its states and moves money at the trade and at settlement', async (t) => {
  const { client, sandbox, quote, trade } = await stage(t, { rates: { 'USD/MXN': '20' } });
  sandbox.clock.freeze();
  const done = await trade(await quote({ settlementWindow: 'T1' }), 'ref');
  const tradeId = done.textAt('data.id');
  assert.match(tradeId, /^tde_/);
  assert.equal(done.at('data.executedAmount'), '2000');
  assert.equal(done.at('data.status'), 'EXECUTED');
  const states: readonly (readonly [advanceMs: number, status: string, started: boolean, mxn: string])[] = [
    [999, 'EXECUTED', false, '100000'],
    [1, 'LOCKED', false, '100000'],
    [1_000, 'READY_TO_SETTLE', true, '100000'],
    [1_999, 'READY_TO_SETTLE', true, '100000'],
    [1, 'SETTLED', true, '102000'],
  ];
  for (const [ms, status, started, mxn] of states) {
    sandbox.clock.advance(ms);
    const seen = await client.get(`/fx/trades/${tradeId}`);
    assert.equal(seen.at('data.status'), status);
    assert.equal(seen.at('data.settlementStartTime') !== null, started);
    const balances = await client.get('/fx/balances');
    assert.deepEqual(row(balances, 'USD'), {
      currency: 'USD',
      withdrawableBalance: '9900',
      totalBalance: status === 'SETTLED' ? '9900' : '10000',
    });
    assert.equal((row(balances, 'MXN') as { withdrawableBalance: string }).withdrawableBalance, mxn);
  }
});

test('an immediate trade is settled on the next look', async (t) => {
  const { client, quote, trade } = await stage(t);
  const done = await trade(await quote({ settlementWindow: 'IMMEDIATE' }));
  assert.equal(done.at('data.status'), 'EXECUTED');
  const seen = await client.get(`/fx/trades/${done.textAt('data.id')}`);
  assert.equal(seen.at('data.status'), 'SETTLED');
});

test('when money is taken and given is a setting', async (t) => {
  const settings: SettingsPatch = { soldMoneyLeaves: 'at_settlement', boughtMoneyWithdrawable: 'at_trade' };
  const { client, sandbox, quote, trade } = await stage(t, { settings, rates: { 'USD/MXN': '20' } });
  assertDone(await trade(await quote({ sellAmount: '9000' })));
  const before = await client.get('/fx/balances');
  const usd = { currency: 'USD', withdrawableBalance: '10000', totalBalance: '10000' };
  assert.deepEqual(row(before, 'USD'), usd);
  assert.equal((row(before, 'MXN') as { totalBalance: string }).totalBalance, '280000');
  const second = await trade(await quote({ sellAmount: '1001' }));
  assertRefused(second, 409, 'TRADE_INSUFFICIENT_BALANCE');
  assert.equal(
    second.at('error.details.availableAmount'),
    '1000',
    'what open trades owe cannot be sold again',
  );
  const paid = { currency: 'USD', withdrawalAmount: '5000', withdrawalAccountId: 'wac_U5DFedw1re9' };
  assertDone(await client.post('/fx/withdrawals', paid));
  sandbox.clock.advance(10_000);
  assert.deepEqual(row(await client.get('/fx/balances'), 'USD'), {
    currency: 'USD',
    withdrawableBalance: '0',
    totalBalance: '-4000',
  });
});

test('limits are in the sell currency, for both ways of asking', async (t) => {
  const settings = { pairLimits: { 'USD/MXN': { min: '10', max: '1000' } } };
  const { client, sandbox, quote, trade } = await stage(t, { settings, rates: { 'USD/MXN': '20' } });
  const pairs = (await client.get('/fx/pairs')).at('data.pairs') as {
    sellCurrency: string;
    buyCurrency: string;
  }[];
  assert.deepEqual(
    pairs.find((pair) => pair.sellCurrency === 'USD' && pair.buyCurrency === 'MXN'),
    { buyCurrency: 'MXN', sellCurrency: 'USD', minTradeAmount: '10', maxTradeAmount: '1000' },
  );
  assert.ok(pairs.some((pair) => pair.sellCurrency === 'MXN' && pair.buyCurrency === 'USD'));
  assertDone(await trade(await quote({ sellAmount: '10' })));
  assertDone(await trade(await quote({ sellAmount: '1000' })));
  const above = await trade(await quote({ buyAmount: '20001' }));
  assertRefused(above, 422, 'TRADE_AMOUNT_ABOVE_LIMIT');
  assert.deepEqual(above.at('error.details'), {
    requestedAmount: '1000.05',
    currency: 'USD',
    limitAmount: '1000',
  });
  const below = await trade(await quote({ sellAmount: '9.99' }));
  assertRefused(below, 422, 'TRADE_AMOUNT_BELOW_MINIMUM');
  assert.equal(below.at('error.details.minimumAmount'), '10');
  sandbox.setSettings({ limitsInclusive: false });
  assertRefused(await trade(await quote({ sellAmount: '10' })), 422, 'TRADE_AMOUNT_BELOW_MINIMUM');
  sandbox.setSettings({ limitsCheckedAt: 'quote' });
  const early = { buyCurrency: 'MXN', sellCurrency: 'USD', sellAmount: '1' };
  assertRefused(await client.post('/fx/quotes', early), 422, 'TRADE_AMOUNT_BELOW_MINIMUM');
});

test('switches and lacks refuse a trade with their codes', async (t) => {
  const { sandbox, quote, trade } = await stage(t, { rates: { 'USD/MXN': '20' } });
  const poor = await trade(await quote({ sellAmount: '10000.01' }));
  assertRefused(poor, 409, 'TRADE_INSUFFICIENT_BALANCE');
  assert.deepEqual(poor.at('error.details'), {
    requiredAmount: '10000.01',
    availableAmount: '10000',
    currency: 'USD',
    side: 'SELL',
  });
  const cases: readonly (readonly [settings: SettingsPatch, status: number, code: string])[] = [
    [{ pairsAtVolumeLimit: ['USD/MXN'] }, 409, 'TRADE_PAIR_VOLUME_LIMIT_REACHED'],
    [{ pairsNotEnabled: ['USD/MXN'] }, 403, 'TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT'],
    [{ currenciesNotEnabled: ['MXN'] }, 403, 'TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT'],
    [{ tradingDisabled: true }, 403, 'TRADE_DISABLED'],
    [{ operationsNotEnabled: ['createTrade'] }, 403, 'FEATURE_NOT_ENABLED'],
  ];
  const quoteId = await quote();
  for (const [settings, status, code] of cases) {
    sandbox.setSettings(settings);
    assertRefused(await trade(quoteId), status, code);
  }
});

test('a credit line lets trades draw on it, shows the exposure and has an end', async (t) => {
  const { client, sandbox, quote, trade } = await stage(t, {
    balances: { USD: '100' },
    rates: { 'EUR/USD': '1.25' },
  });
  assertRefused(await client.get('/fx/exposures'), 403, 'EXPOSURE_NOT_ENABLED');
  sandbox.setSettings({ creditLimitUsd: '1000' });
  sandbox.clock.freeze();
  const sell = { sellCurrency: 'EUR', sellAmount: '400', settlementWindow: 'T1' };
  assertDone(await trade(await quote(sell)));
  const used = async (): Promise<unknown> => (await client.get('/fx/exposures')).at('data');
  const none = await client.get('/fx/exposures');
  assert.equal(none.at('data.aggregate.usedAmount'), '0', 'an executed trade is in neither bucket');
  const refused = await trade(await quote(sell), 'more', 'more');
  assertDone(refused);
  const over = await trade(await quote({ ...sell, sellAmount: '1' }));
  assertRefused(over, 409, 'TRADE_CREDIT_LIMIT_EXCEEDED');
  assert.deepEqual(over.at('error.details'), { usedAmount: '1000', limitAmount: '1000', currency: 'USD' });
  sandbox.clock.advance(1_000);
  assert.deepEqual(await used(), {
    aggregate: {
      currency: 'USD',
      limitAmount: '1000',
      usedAmount: '1000',
      availableAmount: '0',
      usageBreakdown: { settlableNow: '0', settlableLater: '1000' },
    },
    currencyExposures: [
      {
        currency: 'EUR',
        exposureAmount: '800',
        usageBreakdown: { settlableNow: { amount: '0' }, settlableLater: { amount: '800' } },
      },
    ],
  });
  sandbox.clock.advance(1_000);
  assert.equal((await client.get('/fx/exposures')).at('data.aggregate.usageBreakdown.settlableNow'), '1000');
  sandbox.clock.advance(2_000);
  assert.equal((await client.get('/fx/exposures')).at('data.aggregate.usedAmount'), '0');
  assert.deepEqual(row(await client.get('/fx/balances'), 'EUR'), {
    currency: 'EUR',
    withdrawableBalance: '0',
    totalBalance: '-800',
  });
});

test('executedAmount may be rounded to the decimals of its currency', async (t) => {
  const { quote, trade } = await stage(t, {
    settings: { executedDecimals: 'currency' },
    rates: { 'USD/MXN': '3' },
  });
  assert.equal((await trade(await quote({ sellAmount: '0.335', settlementWindow: 'T0' }))).status, 422);
  assert.equal((await trade(await quote({ sellAmount: '1.335' }))).at('data.executedAmount'), '4');
  assert.equal((await trade(await quote({ buyAmount: '10' }))).at('data.executedAmount'), '3.34');
});

test('ids in paths must have their form', async (t) => {
  const { client } = await stage(t);
  assertRefused(await client.get('/fx/trades/wtd_abc'), 400, 'VALIDATION_PATH_FAILED');
  assertRefused(await client.get('/fx/trades/tde_abc'), 404, 'TRADE_NOT_FOUND');
  assertRefused(await client.get('/fx/withdrawals/wtd_abc'), 404, 'WITHDRAWAL_NOT_FOUND');
});
