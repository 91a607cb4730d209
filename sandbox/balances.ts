// Balances and the exposure summary, both derived from the ledger and the open trades.

import type { Core } from './core.ts';
import { Decimal, textOf } from './money.ts';
import type { BookId } from './records.ts';
import { Refusal } from './refusal.ts';

/** Net equity in US dollars: own money and money to come, less what is owed at settlement; never below zero. */
export function netEquityUsd(core: Core, book: BookId): Decimal {
  let equity = new Decimal(0);
  for (const currency of core.ledger.currencies(book)) {
    const own = core.ledger
      .balance(book, currency, 'withdrawable')
      .plus(core.ledger.balance(book, currency, 'incoming'));
    equity = equity.plus(core.rates.inDollars(own, currency));
  }
  for (const trade of core.open(book)) {
    const owed = new Decimal(trade.money.sold).minus(trade.money.taken);
    equity = equity.minus(core.rates.inDollars(owed, trade.sellCurrency));
  }
  return Decimal.max(0, equity);
}

/** "GET /fx/balances". */
export function balancesView(core: Core, book: BookId): Record<string, unknown> {
  const opened = core.store.tables.books.get(book)?.currencies ?? [];
  const currencies = [...new Set([...opened, ...core.ledger.currencies(book)])];
  const rows = currencies
    .map((currency) => ({
      currency,
      withdrawableBalance: textOf(core.ledger.withdrawable(book, currency)),
      totalBalance: textOf(core.ledger.total(book, currency)),
    }))
    .filter((row) => isShown(core, book, row));
  return {
    aggregate: {
      currency: 'USD',
      withdrawableBalance: textOf(netEquityUsd(core, book).toDecimalPlaces(2, Decimal.ROUND_DOWN)),
    },
    balances: rows,
  };
}

/** A currency that is only on its way in is not held yet. */
function isShown(core: Core, book: BookId, row: { currency: string; totalBalance: string }): boolean {
  if (row.totalBalance !== '0') return true;
  if (core.settings.hideZeroBalances) return false;
  return core.store.tables.books.get(book)?.currencies.includes(row.currency) ?? false;
}

/** "GET /fx/exposures": what trades have drawn on the credit line and is not settled yet. */
export function exposuresView(core: Core, book: BookId): Record<string, unknown> {
  const limit = core.settings.creditLimitUsd;
  if (limit === null) throw new Refusal('EXPOSURE_NOT_ENABLED');
  const perCurrency = new Map<string, { now: Decimal; later: Decimal }>();
  for (const trade of core.open(book)) {
    const { ready, locked } = core.settings.tradeWords;
    if (trade.status !== ready && trade.status !== locked) continue;
    const sum = perCurrency.get(trade.sellCurrency) ?? { now: new Decimal(0), later: new Decimal(0) };
    const bucket = trade.status === ready ? 'now' : 'later';
    perCurrency.set(trade.sellCurrency, { ...sum, [bucket]: sum[bucket].plus(trade.money.drawn) });
  }
  const dollars = (bucket: 'now' | 'later'): Decimal =>
    [...perCurrency].reduce(
      (sum, [currency, buckets]) => sum.plus(core.rates.inDollars(buckets[bucket], currency)),
      new Decimal(0),
    );
  const used = dollars('now').plus(dollars('later'));
  return {
    aggregate: {
      currency: 'USD',
      limitAmount: limit,
      usedAmount: textOf(used),
      availableAmount: textOf(new Decimal(limit).minus(used)),
      usageBreakdown: { settlableNow: textOf(dollars('now')), settlableLater: textOf(dollars('later')) },
    },
    currencyExposures: [...perCurrency].map(([currency, { now, later }]) => ({
      currency,
      exposureAmount: textOf(now.plus(later)),
      usageBreakdown: {
        settlableNow: { amount: textOf(now) },
        settlableLater: { amount: textOf(later) },
      },
    })),
  };
}
