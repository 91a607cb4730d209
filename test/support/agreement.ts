/**
 * The oracle of the machines that try to move money twice: what the service's ledger says of a run against what its
 * report says, item by item. It reads the ledger's own records and computes its own sums; nothing of the code under
 * test helps it.
 */
import { Decimal } from 'decimal.js';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Report, ReportLeg, ReportPayment } from '../../domain/run/report.ts';
import type { LedgerView } from '../../sandbox/server.ts';

type Row = Readonly<Record<string, unknown>>;

export type AgreementOptions = {
  /** Payments that a person opened again: a failed withdrawal may stand before the one that counts. */
  readonly paidAgain?: boolean;
  /** A record that somebody else put under the run's name: the report holds it up to a person. */
  readonly foreignRecords?: boolean;
};

const PAID = 'COMPLETED';
const FAILED = ['FAILED', 'REJECTED', 'RETURNED', 'CANCELLED', 'CANCELED', 'EXPIRED'];

/** Every sentence in which the ledger and the report of a run contradict each other, or M1 or M3; none when all is well. */
export function disagreements(
  report: Report,
  ledger: LedgerView,
  options: AgreementOptions = {},
): readonly string[] {
  const { trades, withdrawals } = recordsOf(report.run, ledger);
  const known = new Set([...report.legs, ...report.payments].map((item) => `${report.run}.${item.id}`));
  const strangers = [...trades.map(referenceOf), ...withdrawals.map(referenceOf)].filter(
    (reference) => !known.has(baseOf(reference)),
  );
  return [
    ...strangers.map((reference) => `"${reference}" is at the service, but in no plan.`),
    ...report.legs.flatMap((leg) => aboutLeg(leg, trades, options)),
    ...report.payments.flatMap((payment) => aboutPayment(report.run, payment, withdrawals, options)),
    ...aboutTotals(report),
  ];
}

/** References under which the ledger shows more than one movement that stands: the promise broken (M1). */
export function movedTwice(ledger: LedgerView): readonly string[] {
  const standing = [
    ...ledger.trades.map(referenceOf),
    ...ledger.withdrawals.filter((row) => !isFailed(row)).map(referenceOf),
  ].map(baseOf);
  const twice = standing.filter((reference, index) => standing.indexOf(reference) !== index);
  return [...new Set(twice)];
}

/** The trades and withdrawals that carry a name of this run. */
export function recordsOf(
  run: string,
  ledger: LedgerView,
): { readonly trades: readonly Row[]; readonly withdrawals: readonly Row[] } {
  const ours = (row: Row): boolean => referenceOf(row).startsWith(`${run}.`);
  return { trades: ledger.trades.filter(ours), withdrawals: ledger.withdrawals.filter(ours) };
}

/** True for a record of this item, in whatever generation. @param reference the first one */
export function isRecordOf(reference: string, row: Row): boolean {
  return baseOf(referenceOf(row)) === reference;
}

/** What the records contradict of the plan (M4): currencies, accounts, and the amounts that it fixed. */
export function againstPlan(plan: Plan, ledger: LedgerView): readonly string[] {
  const { trades, withdrawals } = recordsOf(`${plan.run.policy}.${plan.run.id}`, ledger);
  const legs = plan.legs.flatMap((leg) =>
    trades
      .filter((row) => isRecordOf(leg.reference, row))
      .flatMap((row) =>
        differences(`Trade ${String(row['id'])} of leg "${leg.id}"`, [
          ['sold currency', row['sellCurrency'], leg.sell],
          ['bought currency', row['buyCurrency'], leg.buy],
          ...(leg.amount === null
            ? []
            : [['amount', plain(row[`${leg.amount.side}Amount`]), plain(leg.amount.value)] as const]),
        ]),
      ),
  );
  const payments = plan.payments.flatMap((payment) =>
    withdrawals
      .filter((row) => isRecordOf(payment.reference, row))
      .flatMap((row) =>
        differences(`Withdrawal ${String(row['id'])} of payment "${payment.id}"`, [
          ['account', row['withdrawalAccountId'], payment.account],
          ['currency', row['currency'], payment.currency],
          ['amount', plain(row['withdrawalAmount']), plannedAmount(plan, payment, trades)],
        ]),
      ),
  );
  return [...legs, ...payments];
}

/**
 * The amount of a payment; of proceeds, what the ledger says that the trade brought, and of a rest, that less the fixed
 * payments of the plan; both cut to the currency's decimals.
 */
function plannedAmount(
  plan: Plan,
  { amount }: Plan['payments'][number],
  trades: readonly Row[],
): string | null {
  if (amount.kind === 'fixed') return plain(amount.value);
  const leg = plan.legs.find(({ id }) => id === amount.leg);
  const trade = trades.find((row) => leg !== undefined && isRecordOf(leg.reference, row));
  const bought = trade?.['sellAmount'] === undefined ? trade?.['buyAmount'] : trade['executedAmount'];
  if (typeof bought !== 'string') return null;
  const taken = amount.kind === 'rest' ? plan.payments.flatMap(fixedAmountOf) : [];
  const left = taken.reduce((rest, fixed) => rest.minus(fixed), new Decimal(bought));
  const rounding = amount.rounding === 'down' ? Decimal.ROUND_DOWN : Decimal.ROUND_HALF_EVEN;
  return left.toDecimalPlaces(amount.decimals, rounding).toFixed();
}

/** Plans have one leg, of which every payment is. */
function fixedAmountOf({ amount }: Plan['payments'][number]): string[] {
  return amount.kind === 'fixed' ? [amount.value] : [];
}

/** The business name that a record carries; a record without one has an empty name. */
function referenceOf(row: Row): string {
  const tag = (row['metadata'] as Readonly<Record<string, string>> | null | undefined)?.['cambist'];
  const name = row['clientReferenceId'] ?? tag;
  return typeof name === 'string' ? name : '';
}

const baseOf = (reference: string): string => reference.replace(/~[0-9]+$/, '');
const isFailed = (row: Row): boolean => FAILED.includes(String(row['status']));

function aboutLeg(leg: ReportLeg, trades: readonly Row[], options: AgreementOptions): string[] {
  const rows = trades.filter((row) => baseOf(referenceOf(row)) === leg.reference);
  const [row] = rows;
  if (rows.length > 1) return [`Leg "${leg.id}" was traded ${rows.length} times: ${idsOf(rows)}.`];
  if (options.foreignRecords === true) {
    return leg.outcome === 'NEEDS_HUMAN' || leg.outcome === 'PENDING'
      ? []
      : [`Leg "${leg.id}" is ${leg.outcome} over a foreign record.`];
  }
  switch (leg.outcome) {
    case 'TRADED': {
      if (row === undefined) return [`Leg "${leg.id}" is TRADED, but the ledger shows no trade.`];
      const sold = row['sellAmount'] ?? row['executedAmount'];
      const bought = row['sellAmount'] === undefined ? row['buyAmount'] : row['executedAmount'];
      return differences(`Leg "${leg.id}"`, [
        ['trade', leg.tradeId, row['id']],
        ['quote', leg.quoteId, row['quoteId']],
        ['sold currency', leg.sell, row['sellCurrency']],
        ['bought currency', leg.buy, row['buyCurrency']],
        ['sold amount', plain(leg.sellAmount), plain(sold)],
        ['bought amount', plain(leg.buyAmount), plain(bought)],
      ]);
    }
    case 'NOT_TRADED':
      return row === undefined ? [] : [`Leg "${leg.id}" is NOT_TRADED, but there is ${idsOf(rows)}.`];
    case 'NEEDS_HUMAN':
    case 'PENDING':
      return [];
  }
}

function aboutPayment(
  run: string,
  payment: ReportPayment,
  withdrawals: readonly Row[],
  options: AgreementOptions,
): string[] {
  const name = `Payment "${payment.id}"`;
  const rows = withdrawals.filter((row) => baseOf(referenceOf(row)) === `${run}.${payment.id}`);
  const standing = rows.filter((row) => !isFailed(row));
  if (standing.length > 1) return [`${name} was sent ${standing.length} times: ${idsOf(standing)}.`];
  if (rows.length > 1 && options.paidAgain !== true)
    return [`${name} was sent again though nobody opened it: ${idsOf(rows)}.`];
  switch (payment.outcome) {
    case 'PAID': {
      const row = standing.find((candidate) => candidate['status'] === PAID);
      if (row === undefined) return [`${name} is PAID, but the ledger shows no paid withdrawal.`];
      return differences(name, [
        ['withdrawal', payment.withdrawalId, row['id']],
        ['reference', payment.reference, referenceOf(row)],
        ['account', payment.account, row['withdrawalAccountId']],
        ['currency', payment.currency, row['currency']],
        ['amount', plain(payment.amount), plain(row['withdrawalAmount'])],
        ['status', payment.status, row['status']],
      ]);
    }
    case 'NOT_PAID':
      return standing.length === 0 ? [] : [`${name} is NOT_PAID, but there is ${idsOf(standing)}.`];
    case 'NEEDS_HUMAN':
    case 'PENDING':
      return [];
  }
}

/** M3: what is paid, not paid and undecided adds up to the plan, in count and in sum. */
function aboutTotals(report: Report): string[] {
  const currencies = new Set(report.payments.map(({ currency }) => currency));
  if (currencies.size !== report.totals.length)
    return ['The totals name other currencies than the payments.'];
  return report.totals.flatMap((total) => {
    const of = (outcomes: readonly string[]): string =>
      report.payments
        .filter(({ currency, outcome }) => currency === total.currency && outcomes.includes(outcome))
        .reduce((sum, { amount }) => sum.plus(amount ?? 0), new Decimal(0))
        .toFixed();
    const pending = of(['PENDING']);
    const { planned, paid, notPaid, needsHuman } = total;
    const sum = new Decimal(paid).plus(notPaid).plus(needsHuman).plus(pending).toFixed();
    return differences(`Total of ${total.currency}`, [
      ['paid', plain(paid), of(['PAID'])],
      ['not paid', plain(notPaid), of(['NOT_PAID'])],
      ['needs a human', plain(needsHuman), of(['NEEDS_HUMAN'])],
      ['planned', plain(planned), sum],
    ]);
  });
}

function differences(
  name: string,
  pairs: readonly (readonly [what: string, reported: unknown, recorded: unknown])[],
): string[] {
  return pairs
    .filter(([, reported, recorded]) => reported !== recorded)
    .map(
      ([what, reported, recorded]) =>
        `${name}: ${what} is ${String(reported)}, should be ${String(recorded)}.`,
    );
}

/** One writing for equal amounts; null stays. */
function plain(amount: unknown): string | null {
  return typeof amount === 'string' ? new Decimal(amount).toFixed() : null;
}

function idsOf(rows: readonly Row[]): string {
  return rows.map((row) => `${String(row['id'])} (${String(row['status'])})`).join(', ');
}
