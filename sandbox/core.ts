// The state of one sandbox in one place: clock, settings, rates, records, ledger, faults. The parts that serve
// requests are functions over it. Every function that reads records calls `runDue` (due.ts) first.

import { NonceRegister } from './auth.ts';
import { Agenda } from './agenda.ts';
import { SandboxClock, isoOf } from './clock.ts';
import type { SandboxAccount } from './default-accounts.ts';
import { accountFields } from './default-accounts.ts';
import { Faults } from './faults.ts';
import { IdempotencyCache } from './idempotency.ts';
import { IdMaker } from './ids.ts';
import { Ledger } from './ledger.ts';
import { ListIndex } from './lists.ts';
import { Decimal } from './money.ts';
import { RateBook } from './rates.ts';
import type { BookId, Listed, RecordMarks, TradeRecord } from './records.ts';
import { RequestLog } from './request-log.ts';
import { RequestRate } from './request-rate.ts';
import type { SandboxSettings } from './settings.ts';
import { withPatch } from './settings.ts';
import { Store } from './store.ts';

export interface CoreOptions {
  readonly seed: string | null;
  readonly statePath: string | null;
  readonly settings: SandboxSettings;
  readonly rates: Readonly<Record<string, string>>;
  readonly balances: Readonly<Record<string, string>>;
  readonly accounts: readonly SandboxAccount[];
}

export class Core {
  readonly store: Store;
  readonly clock: SandboxClock;
  readonly ids: IdMaker;
  readonly ledger: Ledger;
  readonly agenda: Agenda;
  readonly rates = new RateBook();
  readonly idempotency: IdempotencyCache;
  readonly nonces = new NonceRegister();
  readonly faults: Faults;
  readonly requests = new RequestLog();
  readonly requestRate = new RequestRate();
  readonly faultWaiters = new Set<() => void>();

  readonly trades = new ListIndex('trades');
  readonly withdrawals = new ListIndex('withdrawals');
  readonly deposits = new ListIndex('deposits');
  readonly accounts = new ListIndex('withdrawal-accounts');
  readonly others = {
    accounts: new ListIndex('accounts'),
    'payout-addresses': new ListIndex('payout-addresses'),
    payouts: new ListIndex('payouts'),
  } as const;

  /** Trades whose money is not settled or returned yet, per book. */
  readonly openTrades = new Map<BookId, Set<string>>();
  /** Trades by book and reference. */
  readonly #references = new Map<string, string[]>();

  readonly #options: CoreOptions;
  #settings: SandboxSettings;
  #sequence: number;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.store = new Store(options.statePath);
    this.clock = new SandboxClock(() => this.#rememberClock());
    this.clock.setOffset(this.store.value('clockOffsetMs', 0));
    this.#sequence = this.store.value('sequence', 0);
    this.#settings = withPatch(options.settings, this.store.value('settings', {}));
    for (const [pair, rate] of Object.entries({
      ...options.rates,
      ...this.store.value<Record<string, string>>('rates', {}),
    })) {
      this.rates.set(pair, rate);
    }
    this.ids = new IdMaker(options.seed);
    const sequence = (): number => this.next();
    this.ledger = new Ledger(this.store, sequence);
    this.agenda = new Agenda(this.store, sequence);
    this.idempotency = new IdempotencyCache(this.store);
    this.faults = new Faults(this.store, options.seed ?? 'sandbox', sequence, () => {
      for (const look of this.faultWaiters) look();
    });
    const { tables } = this.store;
    for (const trade of tables.trades.values()) this.#index(trade);
    for (const row of tables.withdrawals.values()) this.withdrawals.add(row);
    for (const row of tables.deposits.values()) this.deposits.add(row);
    for (const row of tables.accounts.values()) this.accounts.add(row);
    for (const row of tables.others.values()) this.others[row.list].add(row);
  }

  get settings(): SandboxSettings {
    return this.#settings;
  }

  changeSettings(patch: unknown): void {
    this.#settings = withPatch(this.#settings, patch);
    this.store.setValue('settings', this.#settings);
  }

  setRate(pair: string, rate: string): void {
    this.rates.set(pair, rate);
    this.store.setValue('rates', this.rates.view());
  }

  next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  /** Writes all changes to the state file, if there is one. */
  flush(): void {
    if (this.store.value('sequence', 0) !== this.#sequence) this.store.setValue('sequence', this.#sequence);
    this.store.flush();
  }

  /** Opens a book when it is first seen: opening balances, withdrawal accounts, an account of the other surface. */
  openBook(book: BookId): void {
    if (this.store.tables.books.get(book) !== undefined) return;
    const now = this.clock.now();
    const balances = Object.entries(this.#options.balances);
    this.store.tables.books.put({
      id: book,
      openedAt: now,
      currencies: balances.map(([currency]) => currency),
    });
    for (const [currency, amount] of balances) this.setBalance(book, currency, amount, 'opening balance');
    for (const account of this.#options.accounts) this.putAccount(book, account);
    this.#putOther(book, 'accounts', 'acc', { name: book.slice(0, book.lastIndexOf('/')), status: 'ACTIVE' });
    this.#putOther(book, 'payout-addresses', 'pad', { currency: 'USD', status: 'ACTIVE' });
  }

  /** Sets what is withdrawable by an entry against the outside. */
  setBalance(book: BookId, currency: string, amount: string, what: string): void {
    const record = this.store.tables.books.get(book);
    if (record !== undefined && !record.currencies.includes(currency)) {
      this.store.tables.books.put({ ...record, currencies: [...record.currencies, currency] });
    }
    const difference = new Decimal(amount).minus(this.ledger.balance(book, currency, 'withdrawable'));
    this.ledger.post(book, this.clock.now(), what, null, [
      { from: 'outside', to: 'withdrawable', currency, amount: difference },
    ]);
  }

  putAccount(book: BookId, account: SandboxAccount): void {
    const id = `${book} ${account.id}`;
    const known = this.store.tables.accounts.get(id);
    const listed: Listed =
      known ?? this.listed(id, book, this.next(), this.clock.now(), { listLagMs: 0, readLagMs: 0 });
    this.store.tables.accounts.put({ ...listed, ...accountFields(account), id });
    if (known === undefined) this.accounts.add(listed);
  }

  listed(
    id: string,
    book: BookId,
    seq: number,
    createdAt: number,
    lag: Pick<RecordMarks, 'listLagMs' | 'readLagMs'>,
  ): Listed {
    return {
      id,
      book,
      seq,
      createdAt,
      listedAt: createdAt + lag.listLagMs,
      readableAt: createdAt + lag.readLagMs,
    };
  }

  addTrade(trade: TradeRecord): TradeRecord {
    this.store.tables.trades.put(trade);
    this.#index(trade);
    return trade;
  }

  tradesWithReference(book: BookId, reference: string): TradeRecord[] {
    return (this.#references.get(`${book} ${reference}`) ?? []).flatMap(
      (id) => this.store.tables.trades.get(id) ?? [],
    );
  }

  /** Unsettled trades of a book, with their records as they are now. */
  *open(book: BookId): Generator<TradeRecord> {
    for (const id of this.openTrades.get(book) ?? []) {
      const trade = this.store.tables.trades.get(id);
      if (trade !== undefined) yield trade;
    }
  }

  #index(trade: TradeRecord): void {
    this.trades.add(trade);
    if (trade.money.state === 'open') {
      const open = this.openTrades.get(trade.book) ?? new Set();
      this.openTrades.set(trade.book, open.add(trade.id));
    }
    if (trade.clientReferenceId !== null) {
      const name = `${trade.book} ${trade.clientReferenceId}`;
      this.#references.set(name, [...(this.#references.get(name) ?? []), trade.id]);
    }
  }

  #putOther(
    book: BookId,
    list: 'accounts' | 'payout-addresses' | 'payouts',
    prefix: string,
    fields: Record<string, unknown>,
  ): void {
    const seq = this.next();
    const id = this.ids.make(prefix, seq);
    const listed = this.listed(id, book, seq, this.clock.now(), { listLagMs: 0, readLagMs: 0 });
    this.store.tables.others.put({ ...listed, list, fields });
    this.others[list].add(listed);
  }

  /** A frozen clock runs on after a restart; its distance from the system's time is what is remembered. */
  #rememberClock(): void {
    this.store.setValue('clockOffsetMs', this.clock.now() - Date.now());
  }
}

/** A moment for the wire, or null. */
export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoOf(ms);
}
