// What an operator or a test can do to a running sandbox. The HTTP admin interface offers the same, by the same
// functions; all input is checked here.

import {
  amount,
  BadInput,
  currency,
  filledText,
  mapOf,
  oneOf,
  positive,
  shape,
  whole,
  count,
} from './checks.ts';
import type { Core } from './core.ts';
import type { SandboxAccount } from './default-accounts.ts';
import { accountCheck } from './default-accounts.ts';
import { runDue } from './due.ts';
import type { SandboxFault, StoredFault } from './fault-kinds.ts';
import { putKey } from './keys.ts';
import { Decimal, textOf } from './money.ts';
import { giveBack, quoteView, tradeView } from './quotes-and-trades.ts';
import type { BookId, JournalEntry, LedgerAccount, Mode, SandboxKey } from './records.ts';
import type { RequestLogEntry } from './request-log.ts';
import type { SandboxSettings, SettingsPatch } from './settings.ts';
import { balancesView } from './balances.ts';
import { moveWithdrawal, withdrawalView } from './withdrawals.ts';

/** One organisation in one mode; what is left out is taken from the first key. */
export interface BookSelector {
  readonly organization?: string;
  readonly mode?: Mode;
}

export interface LedgerView {
  readonly organization: string;
  readonly mode: Mode;
  /** Per currency: what is withdrawable, the total, and each ledger account. All decimal strings. */
  readonly balances: Readonly<
    Record<
      string,
      {
        readonly withdrawable: string;
        readonly total: string;
        readonly accounts: Readonly<Record<LedgerAccount, string>>;
      }
    >
  >;
  readonly journal: readonly JournalEntry[];
  /** Newest first, as the service shows them, whatever lag lists have. */
  readonly quotes: readonly Readonly<Record<string, unknown>>[];
  readonly trades: readonly Readonly<Record<string, unknown>>[];
  readonly withdrawals: readonly Readonly<Record<string, unknown>>[];
}

export interface ClockControl {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly advance: (ms: number) => number;
  readonly setOffset: (ms: number) => number;
  readonly freeze: (at?: number) => number;
  readonly resume: () => number;
}

export interface SandboxControls {
  readonly clock: ClockControl;
  readonly state: () => Readonly<Record<string, unknown>>;
  readonly ledger: (of?: BookSelector) => LedgerView;
  /** The requests after the entry numbered `after`, oldest first. */
  readonly requests: (after?: number) => RequestLogEntry[];
  /** The next request, from now on, that fits; resolves once its reply is decided. */
  readonly nextRequest: (wanted?: (entry: RequestLogEntry) => boolean) => Promise<RequestLogEntry>;
  readonly settings: () => SandboxSettings;
  readonly setSettings: (patch: SettingsPatch) => void;
  /** What is withdrawable, per currency; others stay. */
  readonly setBalances: (balances: Readonly<Record<string, string>>, of?: BookSelector) => void;
  /** Money that comes in from outside, listed as a deposit. Returns its id. */
  readonly deposit: (
    deposit: { readonly currency: string; readonly amount: string },
    of?: BookSelector,
  ) => string;
  /** `A/B`: how many B one A is worth. */
  readonly setRates: (rates: Readonly<Record<string, string>>) => void;
  /** Adds withdrawal accounts, or replaces those of the same id. */
  readonly putAccounts: (accounts: readonly SandboxAccount[], of?: BookSelector) => void;
  readonly putKey: (key: SandboxKey) => void;
  readonly addFault: (fault: SandboxFault) => string;
  readonly faults: () => readonly StoredFault[];
  /** Resolves when the fault has struck so often; a held request is then being held. */
  readonly faultHit: (id: string, hits?: number) => Promise<void>;
  /** Lets held and delayed requests go on. Returns how many. */
  readonly releaseFaults: (id?: string) => number;
  readonly clearFaults: (id?: string) => void;
  /** Gives a trade or withdrawal another status for good; `returned` also gives its money back. */
  readonly setStatus: (change: {
    readonly id: string;
    readonly status: string;
    readonly money?: 'kept' | 'returned';
  }) => void;
}

export function controlsOf(core: Core): SandboxControls {
  /** Every read and every change first carries out what is due, and the state file then has it. */
  const upToDate = <T>(work: () => T): T => {
    runDue(core);
    const result = work();
    core.flush();
    return result;
  };
  const bookOf = (of: BookSelector = {}): BookId => {
    const selector = selectorCheck(of, 'book');
    const [first] = core.store.tables.keys.values();
    const organization = selector.organization ?? first?.organization ?? 'sandbox';
    const book: BookId = `${organization}/${selector.mode ?? first?.mode ?? 'SANDBOX'}`;
    core.openBook(book);
    return book;
  };

  return {
    clock: {
      now: () => core.clock.now(),
      advance: (ms) => upToDate(() => core.clock.advance(whole(ms, 'ms'))),
      setOffset: (ms) => upToDate(() => core.clock.setOffset(whole(ms, 'offsetMs'))),
      freeze: (at) => upToDate(() => core.clock.freeze(at === undefined ? undefined : count(at, 'at'))),
      resume: () => upToDate(() => core.clock.resume()),
    },
    state: () =>
      upToDate(() => ({
        clock: core.clock.view(),
        settings: core.settings,
        rates: core.rates.view(),
        keys: [...core.store.tables.keys.values()].map(({ name, scope, mode, ipAllowlist, active }) => ({
          name,
          scope,
          mode,
          ipAllowlist,
          active,
        })),
        books: [...core.store.tables.books.values()].map(({ id }) => ({
          organization: organizationIn(id),
          mode: modeIn(id),
          ...balancesView(core, id),
          accounts: core.accounts.ids(id).flatMap((accountId) => {
            const account = core.store.tables.accounts.get(accountId);
            return account === undefined
              ? []
              : [{ ...account, id: accountId.slice(accountId.indexOf(' ') + 1) }];
          }),
        })),
        faults: core.faults.view(),
      })),
    ledger: (of) => upToDate(() => ledgerView(core, bookOf(of))),
    requests: (after) => core.requests.after(after),
    nextRequest: (wanted = () => true) => core.requests.next(wanted),
    settings: () => core.settings,
    setSettings: (patch) => upToDate(() => core.changeSettings(patch)),
    setBalances: (balances, of) =>
      upToDate(() => {
        const book = bookOf(of);
        for (const [name, value] of Object.entries(balancesCheck(balances, 'balances'))) {
          core.setBalance(book, name, value, 'balance set');
        }
      }),
    deposit: (deposit, of) => upToDate(() => putDeposit(core, bookOf(of), deposit)),
    setRates: (rates) =>
      upToDate(() => {
        for (const [pair, rate] of Object.entries(ratesCheck(rates, 'rates'))) core.setRate(pair, rate);
      }),
    putAccounts: (accounts, of) =>
      upToDate(() => {
        const book = bookOf(of);
        const checked = accounts.map((account, index) => accountCheck(account, `accounts[${index}]`));
        for (const account of checked) core.putAccount(book, account);
      }),
    putKey: (key) =>
      upToDate(() => {
        putKey(core.store, key);
      }),
    addFault: (fault) => upToDate(() => core.faults.add(fault)),
    faults: () => core.faults.view(),
    faultHit: (id, hits = 1) => faultHit(core, id, hits),
    releaseFaults: (id) => core.faults.release(id),
    clearFaults: (id) => upToDate(() => core.faults.clear(id)),
    setStatus: (change) => upToDate(() => setStatus(core, change)),
  };
}

export const selectorCheck = shape({}, { organization: filledText, mode: oneOf('SANDBOX', 'LIVE') });
export const balancesCheck = mapOf(amount, currency);
export const ratesCheck = mapOf(positive, (value, at) => {
  const pair = filledText(value, at);
  if (!/^[A-Z0-9]{2,15}\/[A-Z0-9]{2,15}$/.test(pair))
    throw new BadInput(`${at} must be a pair like "USD/MXN".`);
  return pair;
});
const depositCheck = shape({ currency, amount: positive }, {});
const statusCheck = shape({ id: filledText, status: filledText }, { money: oneOf('kept', 'returned') });

function ledgerView(core: Core, book: BookId): LedgerView {
  const { tables } = core.store;
  const names: readonly LedgerAccount[] = [
    'withdrawable',
    'reserved',
    'sold',
    'incoming',
    'service',
    'outside',
  ];
  const currencies = new Set([
    ...(tables.books.get(book)?.currencies ?? []),
    ...core.ledger.currencies(book),
  ]);
  const balances = [...currencies].map((name) => {
    const accounts = names.map(
      (account) => [account, textOf(core.ledger.balance(book, name, account))] as const,
    );
    const view = {
      withdrawable: textOf(core.ledger.withdrawable(book, name)),
      total: textOf(core.ledger.total(book, name)),
      accounts: Object.fromEntries(accounts) as Record<LedgerAccount, string>,
    };
    return [name, view] as const;
  });
  return {
    organization: organizationIn(book),
    mode: modeIn(book),
    balances: Object.fromEntries(balances),
    journal: core.ledger.entries(book),
    quotes: [...tables.quotes.values()]
      .filter((quote) => quote.book === book)
      .map((quote) => ({ ...quoteView(quote), tradeId: quote.tradeId }))
      .toReversed(),
    trades: core.trades.ids(book).flatMap((id) => {
      const trade = tables.trades.get(id);
      return trade === undefined ? [] : [{ ...tradeView(trade), money: trade.money.state }];
    }),
    withdrawals: core.withdrawals.ids(book).flatMap((id) => {
      const withdrawal = tables.withdrawals.get(id);
      return withdrawal === undefined
        ? []
        : [{ ...withdrawalView(withdrawal, 'always'), money: withdrawal.money }];
    }),
  };
}

function putDeposit(core: Core, book: BookId, value: unknown): string {
  const deposit = depositCheck(value, 'deposit');
  const seq = core.next();
  const at = core.clock.now();
  const id = core.ids.make('dep', seq);
  const row = core.store.tables.deposits.put({
    ...core.listed(id, book, seq, at, { listLagMs: core.settings.listLagMs, readLagMs: 0 }),
    currency: deposit.currency,
    assetType: ['USDT', 'USDC', 'EURC', 'EUROP'].includes(deposit.currency) ? 'CRYPTO' : 'FIAT',
    amount: deposit.amount,
    status: 'COMPLETED',
  });
  core.deposits.add(row);
  core.ledger.post(book, at, 'deposit', id, [
    { from: 'outside', to: 'withdrawable', currency: deposit.currency, amount: new Decimal(deposit.amount) },
  ]);
  return id;
}

function setStatus(core: Core, value: unknown): void {
  const { id, status, money } = statusCheck(value, 'change');
  const { trades, withdrawals } = core.store.tables;
  const trade = trades.get(id);
  const withdrawal = withdrawals.get(id);
  if (trade === undefined && withdrawal === undefined) {
    throw new BadInput(`There is no trade or withdrawal "${id}".`);
  }
  core.agenda.forget(id);
  if (trade !== undefined) trades.put({ ...trade, status });
  if (withdrawal !== undefined) withdrawals.put({ ...withdrawal, status });
  if (money !== 'returned') return;
  if (trade !== undefined) giveBack(core, id, core.clock.now());
  if (withdrawal !== undefined) moveWithdrawal(core, id, 'return', core.clock.now());
}

function faultHit(core: Core, id: string, hits: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (core.faults.hits(id) < hits) return;
      core.faultWaiters.delete(look);
      resolve();
    };
    core.faultWaiters.add(look);
    look();
  });
}

function organizationIn(book: BookId): string {
  return book.slice(0, book.lastIndexOf('/'));
}

function modeIn(book: BookId): Mode {
  return book.endsWith('/LIVE') ? 'LIVE' : 'SANDBOX';
}
