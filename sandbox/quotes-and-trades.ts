// Quotes, trades and their settlement: what is refused and in which order, what is booked, and when.

import type { Booking } from './booking.ts';
import { closedBody, textField } from './bodies.ts';
import { isoOf } from './clock.ts';
import type { Core } from './core.ts';
import { isoOrNull } from './core.ts';
import { Decimal, positiveAmount, textOf } from './money.ts';
import type { AgendaWhat, BookId, QuoteRecord, TradeRecord } from './records.ts';
import type { Issue } from './refusal.ts';
import { Refusal, refuseIssues } from './refusal.ts';
import type { SettlementWindow } from './settings.ts';
import type { JsonValue } from './strict-json.ts';

export interface QuoteInput {
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly side: 'buy' | 'sell';
  readonly amount: string;
  readonly quoteForSeconds: number;
  readonly settlementWindow: SettlementWindow;
}

export interface TradeInput {
  readonly quoteId: string;
  readonly clientReferenceId: string | null;
}

const quoteLivesSeconds = [3, 15, 30, 45, 60];
const settlementWindows: readonly SettlementWindow[] = ['IMMEDIATE', 'T0', 'T1', 'T2'];
const quoteRetrievableMs = 2 * 24 * 3_600_000;

/** "POST /fx/quotes", the request body. */
export function readQuoteInput(body: JsonValue): QuoteInput {
  const issues: Issue[] = [];
  const fields = closedBody(
    body,
    ['buyCurrency', 'sellCurrency', 'buyAmount', 'sellAmount', 'quoteForSeconds', 'settlementWindow'],
    issues,
  );
  const currencyField = (name: string): string => {
    const value = textField(fields, name, issues);
    if (value !== null && value !== value.toUpperCase())
      issues.push({ path: name, message: 'must be upper case' });
    return value ?? '';
  };
  const buyCurrency = currencyField('buyCurrency');
  const sellCurrency = currencyField('sellCurrency');
  const amountField = (name: string): string | null => {
    const value = fields[name];
    if (value === undefined) return null;
    if (typeof value === 'string' && positiveAmount.test(value)) return value;
    issues.push({ path: name, message: 'must be a positive decimal string' });
    return null;
  };
  const buyAmount = amountField('buyAmount');
  const sellAmount = amountField('sellAmount');
  if (fields['buyAmount'] !== undefined && fields['sellAmount'] !== undefined) {
    issues.push({ path: 'buyAmount', message: 'cannot be combined with sellAmount' });
  }
  const seconds = fields['quoteForSeconds'] ?? 3;
  if (fields['quoteForSeconds'] === null || !quoteLivesSeconds.some((life) => life === seconds)) {
    issues.push({ path: 'quoteForSeconds', message: 'must be one of 3, 15, 30, 45, 60' });
  }
  const window = settlementWindows.find((known) => known === (fields['settlementWindow'] ?? 'T0'));
  if (window === undefined || fields['settlementWindow'] === null) {
    issues.push({ path: 'settlementWindow', message: 'must be one of IMMEDIATE, T0, T1, T2' });
  }
  if (issues.length > 0) refuseIssues('VALIDATION_BODY_FAILED', issues);
  const amount = buyAmount ?? sellAmount;
  if (amount === null) {
    throw new Refusal('QUOTE_INVALID_REFERENCE_UNIT', {}, { message: 'Give buyAmount or sellAmount.' });
  }
  return {
    buyCurrency,
    sellCurrency,
    side: buyAmount === null ? 'sell' : 'buy',
    amount,
    quoteForSeconds: typeof seconds === 'number' ? seconds : 3,
    settlementWindow: window ?? 'T0',
  };
}

/** Prices a quote and keeps it. The counter amount is rounded against the client. */
export function createQuote(core: Core, input: QuoteInput, booking: Booking): QuoteRecord {
  const { buyCurrency, sellCurrency, side, amount } = input;
  const mid = supportedRate(core, sellCurrency, buyCurrency);
  checkEnabled(core, sellCurrency, buyCurrency);
  const rate = mid.times(new Decimal(10_000).minus(core.settings.spreadBps)).div(10_000);
  const quoted =
    side === 'sell'
      ? new Decimal(amount).times(rate).toDecimalPlaces(core.settings.quoteDecimals, Decimal.ROUND_DOWN)
      : new Decimal(amount).div(rate).toDecimalPlaces(core.settings.quoteDecimals, Decimal.ROUND_UP);
  if (core.settings.limitsCheckedAt === 'quote') {
    checkLimits(core, sellCurrency, buyCurrency, side === 'sell' ? new Decimal(amount) : quoted);
  }
  return core.store.tables.quotes.put({
    id: booking.id,
    book: booking.book,
    buyCurrency,
    sellCurrency,
    side,
    amount,
    quoteAmount: textOf(quoted),
    createdAt: booking.at,
    expiresAt: booking.at + input.quoteForSeconds * 1_000,
    settlementWindow: input.settlementWindow,
    consumedAt: null,
    tradeId: null,
  });
}

export function quoteView(quote: QuoteRecord): Record<string, unknown> {
  return {
    object: 'quote',
    id: quote.id,
    buyCurrency: quote.buyCurrency,
    sellCurrency: quote.sellCurrency,
    [quote.side === 'buy' ? 'buyAmount' : 'sellAmount']: quote.amount,
    quoteAmount: quote.quoteAmount,
    createdAt: isoOf(quote.createdAt),
    expiresAt: isoOf(quote.expiresAt),
    settlementWindow: quote.settlementWindow,
  };
}

/** "GET /fx/pairs": every ordered pair that can be traded, with its limits in the sell currency. */
export function pairsView(core: Core): Record<string, unknown> {
  const currencies = core.rates.currencies();
  const pairs = currencies.flatMap((sellCurrency) =>
    currencies.flatMap((buyCurrency) => {
      if (sellCurrency === buyCurrency || core.rates.rate(sellCurrency, buyCurrency) === null) return [];
      if (core.settings.pairsNotSupported.includes(`${sellCurrency}/${buyCurrency}`)) return [];
      const { min, max } = pairLimits(core, sellCurrency, buyCurrency);
      return [{ buyCurrency, sellCurrency, minTradeAmount: textOf(min), maxTradeAmount: textOf(max) }];
    }),
  );
  return { pairs };
}

/** "POST /fx/trades", the request body. The reference is trimmed; an empty one counts as none. */
export function readTradeInput(body: JsonValue): TradeInput {
  const issues: Issue[] = [];
  const fields = closedBody(body, ['quoteId', 'clientReferenceId'], issues);
  const quoteId = textField(fields, 'quoteId', issues);
  const given = fields['clientReferenceId'];
  const reference = typeof given === 'string' ? given.trim() : '';
  if (given !== undefined && typeof given !== 'string') {
    issues.push({ path: 'clientReferenceId', message: 'must be a string' });
  } else if (Array.from(reference).length > 255) {
    issues.push({ path: 'clientReferenceId', message: 'must have at most 255 characters' });
  }
  if (issues.length > 0) refuseIssues('VALIDATION_BODY_FAILED', issues);
  return { quoteId: quoteId ?? '', clientReferenceId: reference === '' ? null : reference };
}

interface PricedTrade {
  readonly quote: QuoteRecord;
  readonly sold: Decimal;
  readonly bought: Decimal;
  readonly taken: Decimal;
  readonly drawn: Decimal;
}

/** All that can refuse a trade. A quote's life is judged at `acceptedAt`, the rest at the time of booking. */
export function checkTrade(core: Core, book: BookId, input: TradeInput, acceptedAt: number): PricedTrade {
  if (core.settings.tradingDisabled) throw new Refusal('TRADE_DISABLED');
  if (core.settings.tradeCheckOrder === 'reference-first')
    checkReference(core, book, input.clientReferenceId);
  const quote = usableQuote(core, book, input.quoteId, acceptedAt);
  if (core.settings.tradeCheckOrder === 'quote-first') checkReference(core, book, input.clientReferenceId);
  const { sellCurrency, buyCurrency } = quote;
  checkEnabled(core, sellCurrency, buyCurrency);
  const executed = executedAmountOf(core, quote);
  const sold = quote.side === 'sell' ? new Decimal(quote.amount) : executed;
  const bought = quote.side === 'sell' ? executed : new Decimal(quote.amount);
  if (core.settings.limitsCheckedAt === 'trade') checkLimits(core, sellCurrency, buyCurrency, sold);
  const pair = `${sellCurrency}/${buyCurrency}`;
  if (core.settings.pairsAtVolumeLimit.includes(pair)) {
    throw new Refusal('TRADE_PAIR_VOLUME_LIMIT_REACHED', { pair });
  }
  return { quote, sold, bought, ...fund(core, book, sellCurrency, sold) };
}

/** Executes a trade: consumes the quote, moves the money, plans the settlement. */
export function createTrade(core: Core, input: TradeInput, booking: Booking): TradeRecord {
  const { book, at, marks } = booking;
  let priced: PricedTrade;
  try {
    priced = checkTrade(core, book, input, booking.acceptedAt);
  } catch (error) {
    if (error instanceof Refusal) burnReference(core, book, input.clientReferenceId);
    throw error;
  }
  const { quote, sold, bought, taken, drawn } = priced;
  const boughtAtTrade = core.settings.boughtMoneyWithdrawable === 'at_trade';
  core.store.tables.quotes.put({ ...quote, consumedAt: at, tradeId: booking.id });
  const trade = core.addTrade({
    ...core.listed(booking.id, book, booking.seq, at, marks),
    quoteId: quote.id,
    buyCurrency: quote.buyCurrency,
    sellCurrency: quote.sellCurrency,
    side: quote.side,
    amount: quote.amount,
    executedAmount: textOf(quote.side === 'sell' ? bought : sold),
    status: core.settings.tradeWords.executed,
    clientReferenceId: input.clientReferenceId,
    settlementWindow: quote.settlementWindow,
    settlementStartTime: null,
    money: {
      sold: textOf(sold),
      bought: textOf(bought),
      taken: textOf(taken),
      drawn: textOf(drawn),
      boughtAtTrade,
      state: 'open',
    },
  });
  core.ledger.post(book, at, 'trade executed', trade.id, [
    { from: 'withdrawable', to: 'sold', currency: trade.sellCurrency, amount: taken },
    {
      from: 'service',
      to: boughtAtTrade ? 'withdrawable' : 'incoming',
      currency: trade.buyCurrency,
      amount: bought,
    },
  ]);
  planSettlement(core, trade, booking);
  return trade;
}

export function tradeView(trade: TradeRecord): Record<string, unknown> {
  return {
    object: 'trade',
    id: trade.id,
    quoteId: trade.quoteId,
    buyCurrency: trade.buyCurrency,
    sellCurrency: trade.sellCurrency,
    [trade.side === 'buy' ? 'buyAmount' : 'sellAmount']: trade.amount,
    executedAmount: trade.executedAmount,
    status: trade.status,
    clientReferenceId: trade.clientReferenceId,
    createdAt: isoOf(trade.createdAt),
    settlementWindow: trade.settlementWindow,
    settlementStartTime: isoOrNull(trade.settlementStartTime),
  };
}

/** Carries out one planned step of a trade. */
export function stepTrade(core: Core, at: number, step: Extract<AgendaWhat, { kind: 'trade-step' }>): void {
  const trade = core.store.tables.trades.get(step.recordId);
  if (trade === undefined) return;
  const starts = step.startsSettlement && trade.settlementStartTime === null;
  core.store.tables.trades.put({
    ...trade,
    status: step.status,
    settlementStartTime: starts ? at : trade.settlementStartTime,
  });
  if (step.money === 'settle') settle(core, trade.id, at);
  if (step.money === 'return') giveBack(core, trade.id, at);
}

/** The sold money leaves for good and the bought money arrives; what is owed may turn the total negative. */
function settle(core: Core, tradeId: string, at: number): void {
  const trade = core.store.tables.trades.get(tradeId);
  if (trade === undefined || trade.money.state !== 'open') return;
  const { sold, bought, taken, boughtAtTrade } = trade.money;
  core.ledger.post(trade.book, at, 'trade settled', trade.id, [
    { from: 'sold', to: 'service', currency: trade.sellCurrency, amount: new Decimal(taken) },
    {
      from: 'withdrawable',
      to: 'service',
      currency: trade.sellCurrency,
      amount: new Decimal(sold).minus(taken),
    },
    {
      from: 'incoming',
      to: 'withdrawable',
      currency: trade.buyCurrency,
      amount: boughtAtTrade ? new Decimal(0) : new Decimal(bought),
    },
  ]);
  close(core, trade, 'settled');
}

/** Undoes what an unsettled trade moved. */
export function giveBack(core: Core, tradeId: string, at: number): void {
  const trade = core.store.tables.trades.get(tradeId);
  if (trade === undefined || trade.money.state !== 'open') return;
  const { bought, taken, boughtAtTrade } = trade.money;
  core.ledger.post(trade.book, at, 'trade undone', trade.id, [
    { from: 'sold', to: 'withdrawable', currency: trade.sellCurrency, amount: new Decimal(taken) },
    {
      from: boughtAtTrade ? 'withdrawable' : 'incoming',
      to: 'service',
      currency: trade.buyCurrency,
      amount: new Decimal(bought),
    },
  ]);
  close(core, trade, 'returned');
}

function close(core: Core, trade: TradeRecord, state: 'settled' | 'returned'): void {
  core.store.tables.trades.put({ ...trade, money: { ...trade.money, state } });
  core.openTrades.get(trade.book)?.delete(trade.id);
}

function planSettlement(core: Core, trade: TradeRecord, { at, marks }: Booking): void {
  const { tradeWords, settlementMs } = core.settings;
  const lasts = settlementMs[trade.settlementWindow];
  const step = (
    afterMs: number,
    status: string,
    more: { money?: 'settle' | 'return'; starts?: boolean },
  ): void =>
    core.agenda.plan(at + afterMs, {
      kind: 'trade-step',
      recordId: trade.id,
      status,
      money: more.money ?? null,
      startsSettlement: more.starts ?? false,
    });
  if (lasts > 0) {
    step(Math.ceil(lasts / 4), tradeWords.locked, {});
    step(Math.ceil(lasts / 2), tradeWords.ready, { starts: true });
  }
  if (marks.word === null) step(lasts, tradeWords.final, { money: 'settle', starts: true });
  else if (marks.word.money === 'moved') step(lasts, marks.word.word, { money: 'settle', starts: true });
  else if (marks.word.money === 'returned') step(lasts, marks.word.word, { money: 'return' });
  else step(lasts, marks.word.word, {});
}

function usableQuote(core: Core, book: BookId, quoteId: string, at: number): QuoteRecord {
  const quote = core.store.tables.quotes.get(quoteId);
  if (quote === undefined || quote.book !== book || at - quote.createdAt > quoteRetrievableMs) {
    throw new Refusal('QUOTE_NOT_FOUND', { quoteId });
  }
  const expired = at >= quote.expiresAt;
  if (expired && (quote.consumedAt === null || core.settings.deadQuoteOrder === 'expired-first')) {
    throw new Refusal('QUOTE_EXPIRED', { quoteId, expiredAt: isoOf(quote.expiresAt) });
  }
  if (quote.consumedAt !== null) {
    throw new Refusal('QUOTE_ALREADY_CONSUMED', { quoteId, consumedAt: isoOf(quote.consumedAt) });
  }
  return quote;
}

function checkReference(core: Core, book: BookId, reference: string | null): void {
  if (reference === null || !core.settings.duplicateReferenceRefused) return;
  const burns = core.settings.failedTradeBurnsReference;
  const used = core
    .tradesWithReference(book, reference)
    .some((trade) => burns || trade.money.state !== 'returned');
  if (used || (burns && core.store.value(burntName(book, reference), false))) {
    throw new Refusal('TRADE_DUPLICATE_CLIENT_REFERENCE');
  }
}

function burnReference(core: Core, book: BookId, reference: string | null): void {
  if (reference === null || !core.settings.failedTradeBurnsReference) return;
  core.store.setValue(burntName(book, reference), true);
}

const burntName = (book: BookId, reference: string): string => `burnt ${book} ${reference}`;

function supportedRate(core: Core, sellCurrency: string, buyCurrency: string): Decimal {
  for (const currency of [buyCurrency, sellCurrency]) {
    if (!core.rates.knows(currency)) throw new Refusal('TRADE_CURRENCY_NOT_SUPPORTED', { currency });
  }
  const pair = `${sellCurrency}/${buyCurrency}`;
  const rate = core.rates.rate(sellCurrency, buyCurrency);
  if (rate === null || sellCurrency === buyCurrency || core.settings.pairsNotSupported.includes(pair)) {
    throw new Refusal('TRADE_PAIR_NOT_SUPPORTED', { pair });
  }
  return rate;
}

function checkEnabled(core: Core, sellCurrency: string, buyCurrency: string): void {
  for (const currency of [buyCurrency, sellCurrency]) {
    if (core.settings.currenciesNotEnabled.includes(currency)) {
      throw new Refusal('TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT', { currency });
    }
  }
  const pair = `${sellCurrency}/${buyCurrency}`;
  if (core.settings.pairsNotEnabled.includes(pair)) {
    throw new Refusal('TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT', { pair });
  }
}

function pairLimits(core: Core, sellCurrency: string, buyCurrency: string): { min: Decimal; max: Decimal } {
  const named = core.settings.pairLimits[`${sellCurrency}/${buyCurrency}`];
  if (named !== undefined) return { min: new Decimal(named.min), max: new Decimal(named.max) };
  const fromDollar = core.rates.rate('USD', sellCurrency) ?? new Decimal(1);
  const places = core.settings.decimals[sellCurrency] ?? 2;
  return {
    min: fromDollar.times(core.settings.minTradeUsd).toDecimalPlaces(places, Decimal.ROUND_UP),
    max: fromDollar.times(core.settings.maxTradeUsd).toDecimalPlaces(places, Decimal.ROUND_DOWN),
  };
}

function checkLimits(core: Core, sellCurrency: string, buyCurrency: string, sold: Decimal): void {
  const { min, max } = pairLimits(core, sellCurrency, buyCurrency);
  const inclusive = core.settings.limitsInclusive;
  const requestedAmount = textOf(sold);
  if (inclusive ? sold.gt(max) : sold.gte(max)) {
    const details = { requestedAmount, currency: sellCurrency, limitAmount: textOf(max) };
    throw new Refusal('TRADE_AMOUNT_ABOVE_LIMIT', details);
  }
  if (inclusive ? sold.lt(min) : sold.lte(min)) {
    const details = { requestedAmount, currency: sellCurrency, minimumAmount: textOf(min) };
    throw new Refusal('TRADE_AMOUNT_BELOW_MINIMUM', details);
  }
}

function executedAmountOf(core: Core, quote: QuoteRecord): Decimal {
  const quoted = new Decimal(quote.quoteAmount);
  if (core.settings.executedDecimals === 'quote') return quoted;
  const currency = quote.side === 'sell' ? quote.buyCurrency : quote.sellCurrency;
  const places = core.settings.decimals[currency] ?? 2;
  return quoted.toDecimalPlaces(places, quote.side === 'sell' ? Decimal.ROUND_DOWN : Decimal.ROUND_UP);
}

/** Where the sold money comes from: own money first, then the credit line, else a refusal. */
function fund(
  core: Core,
  book: BookId,
  currency: string,
  sold: Decimal,
): { readonly taken: Decimal; readonly drawn: Decimal } {
  const { creditLimitUsd, soldMoneyLeaves } = core.settings;
  let owed = new Decimal(0);
  let usedUsd = new Decimal(0);
  for (const trade of core.open(book)) {
    const { money } = trade;
    if (trade.sellCurrency === currency) owed = owed.plus(money.sold).minus(money.taken);
    usedUsd = usedUsd.plus(core.rates.inDollars(new Decimal(money.drawn), trade.sellCurrency));
  }
  const available = Decimal.max(0, core.ledger.withdrawable(book, currency).minus(owed));
  const drawn = Decimal.max(0, sold.minus(available));
  if (drawn.gt(0)) {
    if (creditLimitUsd === null) {
      throw new Refusal('TRADE_INSUFFICIENT_BALANCE', {
        requiredAmount: textOf(sold),
        availableAmount: textOf(available),
        currency,
        side: 'SELL',
      });
    }
    if (usedUsd.plus(core.rates.inDollars(drawn, currency)).gt(creditLimitUsd)) {
      throw new Refusal('TRADE_CREDIT_LIMIT_EXCEEDED', {
        usedAmount: textOf(usedUsd),
        limitAmount: creditLimitUsd,
        currency: 'USD',
      });
    }
  }
  return { drawn, taken: soldMoneyLeaves === 'at_trade' ? sold.minus(drawn) : new Decimal(0) };
}
