/**
 * Reads batch files, to check a batch or to submit it. The reader gives the payments without a mistake, one after the other
 * in the order of the file, and notes every mistake of the others. It keeps only hashes of each row, so that long notes take
 * no memory.
 */
import { createHash } from 'node:crypto';
import { decimalsOf, moneyText, WITHDRAWAL_CURRENCIES, type Decimals } from '../../domain/currencies.ts';
import { compare, normalise } from '../../domain/money.ts';
import type { BatchFormat, Limits, Money, PayoutPolicy, PolicyRules } from '../../domain/policy.ts';
import type { Destinations } from '../load-destinations.ts';
import { quoted } from '../text/printable.ts';
import type { Complaint } from '../text/yaml-source.ts';
import {
  amountCurrencyComplaint,
  otherCellComplaint,
  ownCellComplaint,
  readersOf,
  type Complain,
  type Read,
} from './cells.ts';
import { destinationComplaint } from './destinations.ts';
import { Findings } from './findings.ts';
import type { LineText, Piece, RowPiece } from './pieces.ts';
import { PlainBytes } from './plain-bytes.ts';
import { readPieces } from './read-pieces.ts';
import { belowZeroComplaint } from './spreadsheet-traces.ts';
import { againstExpected, Totals, type CurrencyTotal } from './totals.ts';

/** One payment of a batch. */
export type BatchRow = {
  /** The number of its line in the file, from 1. */
  readonly line: number;
  readonly id: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
  /** The other columns by name: kept for the results, never sent. */
  readonly others: Readonly<Record<string, string>>;
};

/** What a batch is checked against. */
export type BatchRules = {
  /** The file's name, which is only shown. */
  readonly file: string;
  readonly policy: Pick<PayoutPolicy, 'environment'> & {
    readonly rules: Pick<PolicyRules, 'limits'>;
    readonly payout: Pick<PayoutPolicy['payout'], 'format' | 'fund'>;
  };
  /** Null: any account may be paid. */
  readonly destinations: Destinations | null;
  /** `ServiceFacts.decimals`. */
  readonly decimals: Decimals;
  /** How many mistakes and how many warnings are kept. The others are only counted. */
  readonly mostFindings: number;
};

/** An id that helps to find a row: short, and on one line. */
const SHOWN_ID = /^[^\p{C}\p{Zl}\p{Zp}]{1,40}$/u;

const PAYABLE = [...WITHDRAWAL_CURRENCIES].join('|');

/** A file with more payments is split into several batches. */
const MOST_ROWS = 100_000;

export class BatchReader {
  readonly totals = new Totals();
  readonly findings: Findings;
  readonly #rules: BatchRules;
  readonly #format: BatchFormat;
  readonly #readers: ReturnType<typeof readersOf>;
  readonly #own: ReadonlySet<string>;
  /** The ids that trades of its run may have; null: it trades nothing. */
  readonly #legIds: RegExp | null;
  readonly #source: PlainBytes;
  /** The lines on which each id, and each payment of an amount to an account, was seen first. */
  readonly #ids = new Map<string, number>();
  readonly #payments = new Map<string, number>();
  /** The first row of each currency of which every amount so far has three digits behind its point. */
  readonly #thousands = new Map<string, RowPiece>();
  /** Currencies about which something has been reported already. */
  readonly #told = new Set<string>();

  /** @param chunks the bytes of the file */
  constructor(chunks: AsyncIterable<Uint8Array>, rules: BatchRules) {
    this.#rules = rules;
    this.#format = rules.policy.payout.format;
    this.#readers = readersOf(this.#format, rules.decimals);
    this.#own = new Set(Object.values(this.#format.columns));
    const { fund } = rules.policy.payout;
    this.#legIds = fund.kind === 'net' ? new RegExp(`^${fund.from}-(?:${PAYABLE})-[0-9]+$`, 'i') : null;
    this.#source = new PlainBytes(chunks, this.#format.encoding);
    this.findings = new Findings(rules.file, rules.mostFindings, (at) => this.#alsoOf(at));
  }

  /**
   * The payments without a mistake. Read them once, to the end: only then is it known whether the file is a batch, which is
   * a file without a mistake. An error of the bytes is thrown.
   */
  async *rows(): AsyncGenerator<BatchRow> {
    let last: Piece | null = null;
    for await (const piece of readPieces(this.#source, this.#format, () => {})) {
      last = piece;
      if (this.totals.rows >= MOST_ROWS && isRow(piece)) {
        this.findings.mistake(
          piece,
          () => ({ start: 0, end: 1 }),
          () => TOO_MANY_ROWS,
        );
        this.totals.isWhole = false;
        return;
      }
      switch (piece.kind) {
        case 'mistake':
          this.findings.mistake(
            piece,
            () => piece.place,
            () => piece.complaint,
          );
          if (piece.isRow) this.#countUnread();
          break;
        case 'trailer':
          for (const complaint of againstExpected(this.totals, piece.expected, this.#rules.decimals))
            this.findings.mistake(
              piece,
              () => ({ start: 0, end: piece.text.length }),
              () => complaint,
            );
          break;
        case 'ignored':
          this.findings.warning(
            piece,
            () => ({ start: 0, end: piece.text.length }),
            () => IGNORED,
          );
          break;
        case 'row': {
          const row = this.#checked(piece);
          if (row !== null) yield row;
        }
      }
    }
    const { stopped } = this.#source;
    if (stopped?.kind === 'mistake') {
      this.totals.isWhole = false;
      this.findings.mistake(
        stopped,
        () => stopped.place,
        () => stopped.complaint,
      );
    }
    this.#remarkOnThousands();
    if (this.totals.rows > 0 || this.findings.mistakes.count > 0) return;
    const { line, text } = last ?? { line: 1, text: '' };
    this.findings.mistake(
      { line, text },
      () => ({ start: 0, end: 0 }),
      () => EMPTY,
    );
  }

  /** `row 6, payment inv-1042`: where a spreadsheet has it, and what the file calls it. */
  #alsoOf(at: LineText & { readonly cells?: RowPiece['cells'] }): string | null {
    const id = at.cells?.[this.#format.columns.id] ?? '';
    const named = SHOWN_ID.test(id) ? [`payment ${id}`] : [];
    const parts = [...(at.row === undefined ? [] : [`row ${at.row}`]), ...named];
    return parts.length === 0 ? null : parts.join(', ');
  }

  /** Counts a row whose amount or currency cannot be read. */
  #countUnread(): void {
    this.totals.rows += 1;
    this.totals.isWhole = false;
  }

  /** Checks one row. Null: it has a mistake, which has been noted. */
  #checked(piece: RowPiece): BatchRow | null {
    const {
      id: idColumn,
      account: accountColumn,
      currency: currencyColumn,
      amount: amountColumn,
    } = this.#format.columns;
    const before = this.findings.mistakes.count;
    const read = this.#readers;
    const id = this.#cell(piece, idColumn, read.id);
    const account = this.#cell(piece, accountColumn, read.account);
    const currency = this.#cell(piece, currencyColumn, read.currency);
    const value = this.#cell(piece, amountColumn, (text) => read.amount(text, currency));
    const others: Record<string, string> = Object.create(null) as Record<string, string>;
    for (const [column, text] of Object.entries(piece.cells)) {
      if (this.#own.has(column)) continue;
      others[column] = text;
      const complain = otherCellComplaint(text) ?? amountCurrencyComplaint(column, text, currency);
      if (complain !== null) this.#note(piece, column, complain);
    }
    if (id !== null) this.#checkId(piece, id);
    if (account !== null) this.#checkDestination(piece, account, currency);
    if (currency === null || value === null) this.#countUnread();
    else {
      this.totals.rows += 1;
      this.#checkMoney(piece, { currency, value });
      if (account !== null) this.#checkLookAlike(piece, account, { currency, value });
    }
    if (this.findings.mistakes.count > before) return null;
    if (id === null || account === null || currency === null || value === null) return null;
    return { line: piece.line, id, account, currency, amount: value, others };
  }

  /** What a cell says that is read; null when it is wrong, which has been noted. */
  #cell(piece: RowPiece, column: string, read: (text: string) => Read): string | null {
    const text = piece.cells[column];
    const found = text === undefined ? missingComplaint : this.#read(piece, column, text, read);
    if (typeof found === 'string') return found;
    this.#note(piece, column, found);
    return null;
  }

  #read(piece: RowPiece, column: string, text: string, read: (text: string) => Read): Read {
    const odd = piece.odd.get(column);
    switch (odd) {
      case 'no text':
        return () => untypedComplaint(column, text, column === this.#format.columns.amount);
      case 'escaped':
        return () => ESCAPED;
      case undefined:
        if (text === '') return emptyComplaint;
        // A minus in front of a currency looks like a formula.
        const below = column === this.#format.columns.amount ? belowZeroComplaint(text) : null;
        return below ?? ownCellComplaint(text) ?? read(text);
    }
  }

  #note(piece: RowPiece, column: string, complain: Complain): void {
    this.findings.mistake(
      piece,
      () => piece.placeOf(column),
      () => complain(quoted(column)),
    );
  }

  /** Two ids that differ only in capitals are refused: they would make references that a person could mix up. */
  #checkId(piece: RowPiece, id: string): void {
    if (this.#legIds?.test(id) === true)
      this.findings.mistake(
        piece,
        () => piece.placeOf(this.#format.columns.id),
        () => ({
          mistake: 'ID_OF_LEG',
          message: `${quoted(id)} could be the id of a trade that pays for the batch`,
          fix: 'give the payment another id',
        }),
      );
    const first = noteFirst(this.#ids, id.toLowerCase(), piece.line);
    if (first === null) return;
    this.findings.mistake(
      piece,
      () => piece.placeOf(this.#format.columns.id),
      () => ({
        mistake: 'DUPLICATE_ID',
        message: `${quoted(id)}${this.#format.slugs ? `, which the text becomes,` : ''} is already on line ${first}; small and capital letters make no difference`,
        fix: 'give each payment an id of its own, or delete the row',
      }),
    );
  }

  #checkDestination(piece: RowPiece, account: string, currency: string | null): void {
    const found = destinationComplaint(this.#rules.destinations, { account, currency });
    if (found !== null)
      this.findings.mistake(piece, () => piece.placeOf(this.#format.columns[found.cell]), found.complaint);
  }

  /** Checks the limits of the policy, and what the interface says about the currency. An amount equal to a limit passes. */
  #checkMoney(piece: RowPiece, money: Money): void {
    const { currency, value } = money;
    const { rules, environment } = this.#rules.policy;
    const { limits } = rules;
    const total = this.totals.count(money);
    this.#noteThousands(piece, currency, total);
    const amount = (complaint: () => Complaint): void =>
      this.findings.mistake(piece, () => piece.placeOf(this.#format.columns.amount), complaint);
    const single = limitIn(limits?.perPayment, currency);
    if (single !== null && compare(value, single) > 0)
      amount(() =>
        aboveLimit(`${this.#inWords(money)} is`, 'per_payment', this.#inWords({ currency, value: single })),
      );
    const all = limitIn(limits?.paidPerRun, currency);
    if (all !== null && compare(total.sum, all) > 0 && this.#isFirst(`paid_per_run ${currency}`))
      amount(() =>
        aboveLimit('with this one the payments are', 'paid_per_run', this.#inWords({ currency, value: all })),
      );
    if (total.payments > 1) return;
    const missing = [...(single === null ? ['per_payment'] : []), ...(all === null ? ['paid_per_run'] : [])];
    if (environment === 'live' && missing.length > 0)
      this.findings.mistake(
        piece,
        () => piece.placeOf(this.#format.columns.currency),
        () => ({
          mistake: 'LIMIT_MISSING',
          message: `in live every currency needs its limits; ${currency} is not in ${missing.map((name) => `\`${name}\``).join(' nor in ')}`,
          fix: `add a limit in ${currency} to the policy`,
        }),
      );
    if (!WITHDRAWAL_CURRENCIES.includes(currency))
      this.findings.warning(
        piece,
        () => piece.placeOf(this.#format.columns.currency),
        () => ({
          mistake: 'CURRENCY_NOT_WITHDRAWABLE',
          message: `the service is not known to pay out ${quoted(currency)}`,
          fix: 'ask the operator of the service, or take its payments out',
        }),
      );
  }

  /** Notes whether every amount of a currency so far could be read with the point between thousands. */
  #noteThousands(piece: RowPiece, currency: string, { payments }: CurrencyTotal): void {
    const { columns, numbers } = this.#format;
    if (numbers.group !== null || decimalsOf(currency, this.#rules.decimals) <= THOUSAND) return;
    const isDoubtful = /^[1-9][0-9]{0,2}[.,][0-9]{3}$/.test(piece.cells[columns.amount] ?? '');
    if (!isDoubtful) this.#thousands.delete(currency);
    else if (payments === 1) this.#thousands.set(currency, piece);
  }

  #remarkOnThousands(): void {
    for (const { currency, payments, sum } of this.totals.currencies) {
      const piece = this.#thousands.get(currency);
      if (piece === undefined) continue;
      this.findings.warning(
        piece,
        () => piece.placeOf(this.#format.columns.amount),
        () => ({
          mistake: 'AMOUNT_THOUSANDS',
          message: `every amount in ${currency} has three digits after the point; the ${payments === 1 ? 'payment is' : `${payments} payments are`} ${this.#inWords({ currency, value: sum })} in all`,
          fix: 'if the point separates thousands, write `numbers: { decimal: ",", group: "." }` into the policy',
        }),
      );
    }
  }

  #checkLookAlike(piece: RowPiece, account: string, money: Money): void {
    const { currency, value } = money;
    const first = noteFirst(this.#payments, `${account} ${currency} ${normalise(value)}`, piece.line);
    if (first === null) return;
    this.findings.warning(
      piece,
      () => piece.placeOf(this.#format.columns.amount),
      () => ({
        mistake: 'LOOK_ALIKE',
        message: `${this.#inWords(money)} to ${account} is on line ${first} already`,
        fix: 'see that you mean both; if not, delete one of the two',
      }),
    );
  }

  #inWords({ value, currency }: Money): string {
    return moneyText(value, currency, this.#rules.decimals);
  }

  #isFirst(what: string): boolean {
    const isFirst = !this.#told.has(what);
    this.#told.add(what);
    return isFirst;
  }
}

function isRow(piece: Piece): boolean {
  return piece.kind === 'row' || (piece.kind === 'mistake' && piece.isRow);
}

/**
 * The line on which the same text was seen first; null when this is the first. It keeps short hashes, since a batch may have
 * 100,000 rows.
 */
function noteFirst(lines: Map<string, number>, text: string, line: number): number | null {
  const hash = createHash('sha256').update(text).digest().toString('latin1', 0, 12);
  const first = lines.get(hash);
  if (first === undefined) lines.set(hash, line);
  return first ?? null;
}

function limitIn(limits: Limits['perPayment'] | undefined, currency: string): string | null {
  return limits?.find((limit) => limit.currency === currency)?.value ?? null;
}

function aboveLimit(what: string, name: string, limit: string): Complaint {
  return {
    mistake: 'AMOUNT_ABOVE_LIMIT',
    message: `${what} above \`${name}\` of ${limit}`,
    fix: 'lower the amount, split the batch, or raise the limit if you mean it',
  };
}

function missingComplaint(name: string): Complaint {
  return {
    mistake: 'MISSING_FIELD',
    message: `${name} is missing`,
    fix: 'write it, or say in the policy what it is called: `columns`',
  };
}

function emptyComplaint(name: string): Complaint {
  return { mistake: 'EMPTY_FIELD', message: `${name} is empty`, fix: 'write it, or delete the row' };
}

const ESCAPED: Complaint = {
  mistake: 'TEXT',
  message: 'a text must be written as it reads: no escapes such as \\u0041',
  fix: 'write the characters themselves',
};

function untypedComplaint(column: string, text: string, isAmount: boolean): Complaint {
  return {
    mistake: isAmount ? 'AMOUNT_UNQUOTED' : 'WRONG_TYPE',
    message: isAmount
      ? `the amount ${text.slice(0, 60)} is not in quotes: a program that reads the file could round it`
      : `${quoted(column)} is no text`,
    fix: 'write it in quotes',
  };
}

const IGNORED: Complaint = {
  mistake: 'ROW_IGNORED',
  message: 'the row is no payment, as `ignore` in the policy says',
  fix: 'see that this is right',
};

/** So many digits stand between the signs that separate thousands. */
const THOUSAND = 3;

const EMPTY: Complaint = {
  mistake: 'EMPTY',
  message: 'the file holds no payment',
  fix: 'write a first line with the names of the columns, then one row for each payment',
};

const TOO_MANY_ROWS: Complaint = {
  mistake: 'TOO_LARGE',
  message: `the file has more than ${MOST_ROWS} payments; from here on nothing was read`,
  fix: 'split it into several batches, each with an id of its own',
};
