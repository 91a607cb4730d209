/**
 * The report of a run, made from its state (design: "Commands").
 * Pure: the same state gives the same bytes, `evidence` aside. Upholds M3: paid, not paid and undecided add up to the plan.
 */
import { costOf, leftOf, type Cost, type Left } from '../plan/cost.ts';
import type { LegAmount, LegReason, Position } from '../plan/plan.ts';
import { rateOf } from '../plan/price-bounds.ts';
import { sum } from '../money.ts';
import { runName } from '../references.ts';
import type { Problem } from '../problems.ts';
import { isShown, type Waiting } from '../waits.ts';
import {
  acceptedOf,
  legOutcome,
  legProblem,
  paymentOutcome,
  paymentProblem,
  tradeOf,
  type LegOutcome,
  type LegRecord,
  type PaymentOutcome,
  type PaymentRecord,
} from './items.ts';
import type { Evidence, RunState } from './state.ts';

/** A failure carries this many problems; the report carries them all. */
export const MAX_PROBLEMS_IN_FAILURE = 50;

/** The states of a run, the same words wherever it is shown. The last two: Temporal ended it from outside. */
export type ReportStatus =
  'COMPLETED' | 'PARTIAL' | 'FAILED' | 'CANCELLED' | 'HELD' | 'RUNNING' | 'TERMINATED' | 'TIMED_OUT';

/** The documented shape of `run --json` and `report --json`. Amounts are decimal strings; null: not known. */
export type Report = {
  readonly run: string;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  /** Who started the run; null: nobody has told. */
  readonly startedBy: string | null;
  readonly status: ReportStatus;
  /** Where each currency of a rebalancing stood when it was planned, and what decided its trades; empty for other kinds. */
  readonly positions: readonly ReportPosition[];
  readonly legs: readonly ReportLeg[];
  readonly payments: readonly ReportPayment[];
  readonly totals: readonly ReportTotal[];
  readonly problems: readonly Problem[];
  readonly evidence: readonly Evidence[];
};

/** `after`: what is expected of it by the trades of this run, once they have settled. */
export type ReportPosition = Position & { readonly after: Left };

export type ReportLeg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  /** Where the planned amount comes from. */
  readonly why: LegReason['kind'];
  /** What was to be sold or bought; null: not known any more. */
  readonly planned: Pick<LegAmount, 'side' | 'value'> | null;
  /** The price guard in words; null: any price was taken. */
  readonly guard: string | null;
  readonly sellAmount: string | null;
  readonly buyAmount: string | null;
  /** Bought ÷ sold, 12 significant digits. */
  readonly rate: string | null;
  /** Of the trade, against the reference rates of the plan; null: there is no trade, or there are no such rates. */
  readonly cost: Cost | null;
  readonly quoteId: string | null;
  readonly tradeId: string | null;
  readonly outcome: LegOutcome;
  readonly settled: boolean | null;
};

export type ReportPayment = {
  readonly id: string;
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string | null;
  readonly withdrawalId: string | null;
  /** The service's word. */
  readonly status: string | null;
  readonly outcome: PaymentOutcome;
  readonly reason: string | null;
};

export type ReportTotal = {
  readonly currency: string;
  readonly planned: string;
  readonly paid: string;
  readonly notPaid: string;
  readonly needsHuman: string;
};

/** The report of a run as it stands. */
export function makeReport(state: RunState): Report {
  return reportOf(state, { isFirst: true, payments: state.payments });
}

/** Part of a report, so that no answer grows with the run: `next` is where the following part begins; null: none does. */
export type ReportPage = { readonly report: Report; readonly next: number | null };

/** Payments of one part: with a problem each, and the evidence of the first part, far below what Temporal likes to carry. */
const PAYMENTS_OF_A_PAGE = 50;

/** The part that begins at this payment. Legs, evidence and what is wrong with the run itself are in the first one. */
export function reportPage(state: RunState, offset: number): ReportPage {
  const end = offset + PAYMENTS_OF_A_PAGE;
  const payments = state.payments.slice(offset, end);
  return {
    report: reportOf(state, { isFirst: offset === 0, payments }),
    next: end < state.payments.length ? end : null,
  };
}

/** Puts the parts of a report together. */
export async function readReport(read: (offset: number) => Promise<ReportPage>): Promise<Report> {
  let { report, next } = await read(0);
  while (next !== null) {
    const more = await read(next);
    report = {
      ...report,
      payments: [...report.payments, ...more.report.payments],
      problems: [...report.problems, ...more.report.problems],
    };
    ({ next } = more);
  }
  return report;
}

type Part = { readonly isFirst: boolean; readonly payments: readonly PaymentRecord[] };

function reportOf(state: RunState, { isFirst, payments }: Part): Report {
  const legs = isFirst ? state.legs : [];
  const ended = problemsOf({ legs, payments });
  const items = [...legs, ...payments];
  const waits = [isFirst ? state.waiting : null, ...items.map(({ waiting }) => waiting)].filter(isShown);
  // A trade that came out worse is what its leg waits for as well: it is told once.
  const awaited = waits.flatMap(({ problem }) =>
    ended.some(({ code, item }) => code === problem.code && item === problem.item) ? [] : problem,
  );
  return {
    run: runName(state.run),
    workflowId: state.workflowId,
    policy: state.policy,
    startedBy: state.startedBy,
    status: statusOf(state),
    positions: isFirst ? reportPositions(state) : [],
    legs: legs.map(reportLeg),
    payments: payments.map(reportPayment),
    totals: totalsOf(state.payments),
    problems: [...(isFirst ? state.refusals : []), ...ended, ...awaited],
    evidence: isFirst ? state.evidence : [],
  };
}

/** `HELD` while anything waits for longer than the service's own pace; the end states once no item is open. */
export function statusOf(state: RunState): ReportStatus {
  if (!state.ended) return shownWaits(state).length > 0 ? 'HELD' : 'RUNNING';
  // By what it did to the items: after a reset the cancel is known by the words alone.
  const ended = [...state.refusals, ...problemsOf(state)];
  if (ended.some(({ code }) => code === 'CANCELLED')) return 'CANCELLED';
  const items = [...state.legs, ...state.payments];
  const done = items.filter(isDone);
  if (done.length === items.length && state.refusals.length === 0) return 'COMPLETED';
  return done.length === 0 ? 'FAILED' : 'PARTIAL';
}

function problemsOf({
  legs,
  payments,
}: {
  readonly legs: readonly LegRecord[];
  readonly payments: readonly PaymentRecord[];
}): readonly Problem[] {
  return [...legs.map(legProblem), ...payments.map(paymentProblem)].filter((problem) => problem !== null);
}

function isDone({ stage }: LegRecord | PaymentRecord): boolean {
  switch (stage.kind) {
    case 'traded':
      // What came out worse than planned, and was accepted by nobody, is never green, nor what will never settle.
      return stage.worse === null && stage.settled !== false;
    case 'paid':
      return true;
    case 'converting':
    case 'not traded':
    case 'unsent':
    case 'accepted':
    case 'failed':
    case 'not paid':
      return false;
  }
}

/** Everything that the run waits for now, items first to last; short waits of the service's own pace are none. */
export function shownWaits(state: RunState): readonly Waiting[] {
  const all = [state.waiting, ...[...state.legs, ...state.payments].map((item) => item.waiting)];
  return all.filter(isShown);
}

/** What was traded counts, but for what will never settle. */
function reportPositions({ plan, legs }: RunState): readonly ReportPosition[] {
  const trades = legs.flatMap((record) => {
    const traded = tradeOf(record);
    const isMoved = record.stage.kind === 'traded' && record.stage.settled !== false;
    return traded !== null && isMoved ? [{ ...record.leg, ...traded }] : [];
  });
  return (plan?.positions ?? []).map((position) => ({ ...position, after: leftOf(position, trades) }));
}

function reportLeg(record: LegRecord): ReportLeg {
  const { leg, stage } = record;
  const planned = leg.amount;
  const traded = tradeOf(record);
  const reference = leg.guard?.referenceRate ?? null;
  return {
    id: leg.id,
    reference: leg.reference,
    sell: leg.sell,
    buy: leg.buy,
    why: leg.why.kind,
    planned: planned === null ? null : { side: planned.side, value: planned.value },
    guard: leg.guard?.text ?? null,
    sellAmount: traded?.sellAmount ?? (planned?.side === 'sell' ? planned.value : null),
    buyAmount: traded?.buyAmount ?? (planned?.side === 'buy' ? planned.value : null),
    rate: traded === null ? null : rateOf(traded.sellAmount, traded.buyAmount),
    cost: traded === null || reference === null ? null : costOf(reference, leg, traded),
    quoteId: quoteIdOf(record),
    tradeId: traded?.tradeId ?? null,
    outcome: legOutcome(record),
    settled: stage.kind === 'traded' ? stage.settled : null,
  };
}

function quoteIdOf({ stage }: LegRecord): string | null {
  switch (stage.kind) {
    case 'converting':
      return stage.state.quote?.id ?? null;
    case 'traded':
      return stage.traded.quoteId;
    case 'not traded':
      return stage.quoteId;
  }
}

function reportPayment(record: PaymentRecord): ReportPayment {
  const { payment } = record;
  const accepted = acceptedOf(record);
  return {
    id: payment.id,
    reference: accepted?.reference ?? payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount: record.amount,
    withdrawalId: accepted?.withdrawalId ?? null,
    status: accepted?.status ?? null,
    outcome: paymentOutcome(record),
    reason: paymentProblem(record)?.message ?? record.waiting?.problem.message ?? null,
  };
}

function totalsOf(payments: readonly PaymentRecord[]): readonly ReportTotal[] {
  const currencies = [...new Set(payments.map((record) => record.payment.currency))].toSorted();
  return currencies.map((currency) => {
    const inCurrency = payments.filter((record) => record.payment.currency === currency);
    const of = (outcome: PaymentOutcome | null): string =>
      sum(
        inCurrency.flatMap((record) =>
          (outcome === null || paymentOutcome(record) === outcome) && record.amount !== null
            ? [record.amount]
            : [],
        ),
      );
    return {
      currency,
      planned: of(null),
      paid: of('PAID'),
      notPaid: of('NOT_PAID'),
      needsHuman: of('NEEDS_HUMAN'),
    };
  });
}

/** True for what is said of a trade that came out worse than its guard, or above a limit. */
export function isWorseThanPlanned({ code }: Problem): boolean {
  return code.startsWith('EXECUTED_');
}
