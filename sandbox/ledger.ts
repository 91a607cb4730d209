// The double-entry ledger: every movement of money is a journal entry whose lines sum to zero per currency,
// and balances are nothing but sums over it.

import type { BookId, JournalEntry, JournalLine, LedgerAccount } from './records.ts';
import { isoOf } from './clock.ts';
import { Decimal, textOf } from './money.ts';
import type { Store } from './store.ts';

/** Accounts that belong to the organisation's total; the others face the service or the world. */
const ownAccounts = ['withdrawable', 'reserved', 'sold'] as const;

const zero = new Decimal(0);

export interface Movement {
  readonly from: LedgerAccount;
  readonly to: LedgerAccount;
  readonly currency: string;
  readonly amount: Decimal;
}

export class Ledger {
  readonly #store: Store;
  readonly #sequence: () => number;
  /** book → currency → account → balance; a running sum of the journal. */
  readonly #balances = new Map<BookId, Map<string, Map<LedgerAccount, Decimal>>>();

  constructor(store: Store, sequence: () => number) {
    this.#store = store;
    this.#sequence = sequence;
    for (const entry of store.tables.journal.values()) this.#add(entry);
  }

  /** Books one entry; movements of nothing are left out, and an entry without lines is not written. */
  post(
    book: BookId,
    at: number,
    what: string,
    recordId: string | null,
    movements: readonly Movement[],
  ): void {
    const lines: JournalLine[] = movements
      .filter((movement) => !movement.amount.isZero())
      .flatMap(({ from, to, currency, amount }) => [
        { account: from, currency, amount: textOf(amount.negated()) },
        { account: to, currency, amount: textOf(amount) },
      ]);
    if (lines.length === 0) return;
    const entry = { id: `entry_${this.#sequence()}`, book, at: isoOf(at), what, recordId, lines };
    assertBalanced(entry);
    this.#store.tables.journal.put(entry);
    this.#add(entry);
  }

  balance(book: BookId, currency: string, account: LedgerAccount): Decimal {
    return this.#balances.get(book)?.get(currency)?.get(account) ?? zero;
  }

  total(book: BookId, currency: string): Decimal {
    return ownAccounts.reduce((sum, account) => sum.plus(this.balance(book, currency, account)), zero);
  }

  /** "never negative; `0` when `totalBalance` is negative". */
  withdrawable(book: BookId, currency: string): Decimal {
    if (this.total(book, currency).isNegative()) return zero;
    return Decimal.max(zero, this.balance(book, currency, 'withdrawable'));
  }

  currencies(book: BookId): string[] {
    return [...(this.#balances.get(book)?.keys() ?? [])];
  }

  entries(book: BookId): JournalEntry[] {
    return [...this.#store.tables.journal.values()].filter((entry) => entry.book === book);
  }

  #add(entry: JournalEntry): void {
    const currencies = this.#balances.get(entry.book) ?? new Map<string, Map<LedgerAccount, Decimal>>();
    this.#balances.set(entry.book, currencies);
    for (const line of entry.lines) {
      const accounts = currencies.get(line.currency) ?? new Map<LedgerAccount, Decimal>();
      currencies.set(line.currency, accounts);
      accounts.set(line.account, (accounts.get(line.account) ?? zero).plus(line.amount));
    }
  }
}

function assertBalanced(entry: JournalEntry): void {
  const sums = new Map<string, Decimal>();
  for (const line of entry.lines) {
    sums.set(line.currency, (sums.get(line.currency) ?? zero).plus(line.amount));
  }
  for (const [currency, sum] of sums) {
    if (!sum.isZero())
      throw new Error(`Entry "${entry.what}" is out of balance by ${textOf(sum)} ${currency}.`);
  }
}
