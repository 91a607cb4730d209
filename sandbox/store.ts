// What the sandbox remembers: tables of records, and, when a state file is given, a log of every change from
// which they are read back. Changes of one request are appended together, before its reply leaves.

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

import { BadInput } from './checks.ts';
import type { StoredFault } from './fault-kinds.ts';
import type {
  AgendaItem,
  BookRecord,
  DepositRecord,
  JournalEntry,
  OtherRecord,
  QuoteRecord,
  StoredKey,
  StoredReply,
  TradeRecord,
  WithdrawalAccountRecord,
  WithdrawalRecord,
} from './records.ts';

interface Row {
  readonly id: string;
}

export class Table<T extends Row> {
  readonly #rows = new Map<string, T>();
  readonly #changed: (id: string, row: T | null) => void;

  constructor(changed: (id: string, row: T | null) => void) {
    this.#changed = changed;
  }

  get(id: string): T | undefined {
    return this.#rows.get(id);
  }

  put(row: T): T {
    this.#rows.set(row.id, row);
    this.#changed(row.id, row);
    return row;
  }

  delete(id: string): void {
    if (this.#rows.delete(id)) this.#changed(id, null);
  }

  values(): IterableIterator<T> {
    return this.#rows.values();
  }

  get size(): number {
    return this.#rows.size;
  }

  /** Puts a row read back from the log, without logging it again. */
  restore(id: string, row: T | null): void {
    if (row === null) this.#rows.delete(id);
    else this.#rows.set(id, row);
  }
}

/** A single named value: settings, rates, clock, counters. */
export interface ValueRow extends Row {
  readonly value: unknown;
}

interface Tables {
  readonly books: Table<BookRecord>;
  readonly journal: Table<JournalEntry>;
  readonly quotes: Table<QuoteRecord>;
  readonly trades: Table<TradeRecord>;
  readonly withdrawals: Table<WithdrawalRecord>;
  readonly accounts: Table<WithdrawalAccountRecord>;
  readonly deposits: Table<DepositRecord>;
  readonly others: Table<OtherRecord>;
  readonly replies: Table<StoredReply>;
  readonly agenda: Table<AgendaItem>;
  readonly faults: Table<StoredFault>;
  readonly keys: Table<StoredKey>;
  readonly values: Table<ValueRow>;
}

type Change = readonly [table: keyof Tables, id: string, row: Row | null];

export class Store {
  readonly tables: Tables;
  /** Whether a state file was found and read. */
  readonly restored: boolean;
  readonly #path: string | null;
  #changes: Change[] = [];

  constructor(path: string | null) {
    this.#path = path;
    const table = <T extends Row>(name: keyof Tables): Table<T> =>
      new Table<T>((id, row) => {
        if (path !== null) this.#changes.push([name, id, row]);
      });
    this.tables = {
      books: table('books'),
      journal: table('journal'),
      quotes: table('quotes'),
      trades: table('trades'),
      withdrawals: table('withdrawals'),
      accounts: table('accounts'),
      deposits: table('deposits'),
      others: table('others'),
      replies: table('replies'),
      agenda: table('agenda'),
      faults: table('faults'),
      keys: table('keys'),
      values: table('values'),
    };
    this.restored = path !== null && existsSync(path);
    if (path !== null && this.restored) {
      this.#readBack(path);
      this.#compact(path);
    }
  }

  /** Appends what changed since the last call. */
  flush(): void {
    if (this.#path === null || this.#changes.length === 0) return;
    appendFileSync(this.#path, linesOf(this.#changes), { mode: 0o600 });
    this.#changes = [];
  }

  value<T>(name: string, otherwise: T): T {
    const row = this.tables.values.get(name);
    return row === undefined ? otherwise : (row.value as T);
  }

  setValue(name: string, value: unknown): void {
    this.tables.values.put({ id: name, value });
  }

  /** A last line cut short by a kill is dropped: its request was never answered. */
  #readBack(path: string): void {
    const lines = readFileSync(path, 'utf8').split('\n');
    for (const [index, line] of lines.entries()) {
      if (line === '') continue;
      let change: Change;
      try {
        change = JSON.parse(line) as Change;
      } catch (cause) {
        if (index >= lines.length - 1) continue;
        throw new BadInput(
          `"${path}" line ${index + 1} is not a change of the sandbox's state; remove the file.`,
          {
            cause,
          },
        );
      }
      const [name, id, row] = change;
      (this.tables[name] as unknown as Table<Row>).restore(id, row);
    }
  }

  #compact(path: string): void {
    const changes: Change[] = [];
    for (const [name, table] of Object.entries(this.tables) as [keyof Tables, Table<Row>][]) {
      for (const row of table.values()) changes.push([name, row.id, row]);
    }
    writeFileSync(`${path}.new`, linesOf(changes), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

function linesOf(changes: readonly Change[]): string {
  return changes.map((change) => `${JSON.stringify(change)}\n`).join('');
}
