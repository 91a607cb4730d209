/**
 * Whether everybody was paid once, by the service's ledger and by what was asked for alone: the judge has no line of the
 * code that it judges.
 */
import { Decimal } from 'decimal.js';
import type { LedgerView } from '../../../sandbox/server.ts';

type Row = Readonly<Record<string, unknown>>;

/** A payment as it was asked for. */
export type Wanted = {
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  /** `all of`: what the trade with this reference has brought, without what its currency cannot pay. */
  readonly amount: string | { readonly allOf: string };
};

/** A trade as it was asked for. */
export type WantedTrade = {
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  readonly side: 'sellAmount' | 'buyAmount';
  readonly amount: string;
};

/** Each sentence in which the ledger is not exactly this; none when all is well. */
export function judged(
  ledger: Pick<LedgerView, 'trades' | 'withdrawals'>,
  wanted: { readonly payments: readonly Wanted[]; readonly trades: readonly WantedTrade[] },
): readonly string[] {
  const trades = byName(ledger.trades, (row) => row['clientReferenceId']);
  const payments = byName(
    ledger.withdrawals,
    (row) => (row['metadata'] as Readonly<Record<string, unknown>> | null)?.['cambist'],
  );
  return [
    ...strangers('trade', trades, wanted.trades),
    ...strangers('withdrawal', payments, wanted.payments),
    ...wanted.trades.flatMap((one) => aboutTrade(one, trades.get(one.reference) ?? [])),
    ...wanted.payments.flatMap((one) => aboutPayment(one, payments.get(one.reference) ?? [], trades)),
  ];
}

type Named = ReadonlyMap<string, readonly Row[]>;

function byName(rows: readonly Row[], nameOf: (row: Row) => unknown): Named {
  const named = new Map<string, Row[]>();
  for (const row of rows) {
    const name = String(nameOf(row));
    const before = named.get(name);
    if (before === undefined) named.set(name, [row]);
    else before.push(row);
  }
  return named;
}

function strangers(what: string, named: Named, wanted: readonly { readonly reference: string }[]): string[] {
  const known = new Set(wanted.map(({ reference }) => reference));
  return [...named.keys()]
    .filter((name) => !known.has(name))
    .map((name) => `Nobody asked for the ${what} "${name}".`);
}

function aboutTrade({ reference, sell, buy, side, amount }: WantedTrade, rows: readonly Row[]): string[] {
  const [row] = rows;
  if (row === undefined || rows.length > 1) return [`"${reference}" was traded ${rows.length} times.`];
  return [
    ...unequal(reference, 'sold currency', row['sellCurrency'], sell),
    ...unequal(reference, 'bought currency', row['buyCurrency'], buy),
    ...unequal(reference, side, plain(row[side]), plain(amount)),
  ];
}

function aboutPayment(
  { reference, account, currency, amount }: Wanted,
  rows: readonly Row[],
  trades: Named,
): string[] {
  const [row] = rows;
  if (row === undefined || rows.length > 1) return [`"${reference}" was paid ${rows.length} times.`];
  const due = typeof amount === 'string' ? plain(amount) : broughtBy(trades.get(amount.allOf)?.[0]);
  return [
    ...unequal(reference, 'status', row['status'], 'COMPLETED'),
    ...unequal(reference, 'account', row['withdrawalAccountId'], account),
    ...unequal(reference, 'currency', row['currency'], currency),
    ...unequal(reference, 'amount', plain(row['withdrawalAmount']), due),
  ];
}

/** What a trade that sold a fixed amount has bought, to the cent. */
function broughtBy(trade: Row | undefined): string | null {
  const bought = trade?.['executedAmount'];
  return typeof bought === 'string'
    ? new Decimal(bought).toDecimalPlaces(2, Decimal.ROUND_DOWN).toFixed()
    : null;
}

function unequal(reference: string, what: string, is: unknown, should: unknown): string[] {
  return is === should ? [] : [`"${reference}": ${what} is ${String(is)}, not ${String(should)}.`];
}

function plain(amount: unknown): string | null {
  return typeof amount === 'string' ? new Decimal(amount).toFixed() : null;
}
