/**
 * The report of a run, made from its state (design: "Commands").
 * Pure: the same state gives the same bytes, `evidence` aside. Upholds M3: paid, not paid and undecided add up to the plan.
 */
import { BYTES_OF_A_PAGE, jsonBytes } from '../json-bytes.ts';
import {
  codesOf,
  countsOf,
  totalsIn,
  totalsOf,
  totalsOfChunks,
  type ChunkState,
  type ChunkTotal,
} from './chunk-state.ts';
import { costOf, leftOf, type Cost, type Left, type Sides } from '../plan/cost.ts';
import type { LegAmount, LegReason, Position } from '../plan/plan.ts';
import { rateOf } from '../plan/price-bounds.ts';
import { leftUndone } from '../plan/restraints.ts';
import { compare } from '../money.ts';
import { runName } from '../references.ts';
import { forRun, makeProblem, type Problem } from '../problems.ts';
import { isHolding, isShown, type Waiting } from '../waits.ts';
import {
  acceptedOf,
  legOutcome,
  legProblem,
  paymentOutcome,
  paymentProblem,
  tradeIdOf,
  tradeOf,
  type LegOutcome,
  type LegRecord,
  type PaymentOutcome,
  type PaymentRecord,
} from './items.ts';
import type { Evidence, RunState } from './state.ts';

/** A failure in Temporal has this many problems at most. The report has all. */
export const MAX_PROBLEMS_IN_FAILURE = 50;

/**
 * The states of a run, with the same words everywhere. The last two: it was ended in Temporal, by a person or
 * by a time limit.
 */
export type ReportStatus =
  'COMPLETED' | 'PARTIAL' | 'FAILED' | 'CANCELLED' | 'HELD' | 'RUNNING' | 'TERMINATED' | 'TIMED_OUT';

/**
 * The documented shape of `run --json` and `report --json`. Amounts are decimal strings, times RFC 3339 in UTC; null: not
 * known.
 */
export type Report = {
  readonly run: string;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  /** The zone of the policy, in which people read the times of the run; null: there is no plan. */
  readonly zone: string | null;
  /** Who started the run; null: not known. */
  readonly startedBy: string | null;
  /** When Temporal started the run, resets aside, and when it ended; null: it has not, or the run was only asked itself. */
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** The resets of the run in Temporal, the first one first; empty too where the run was only asked itself. */
  readonly resets: readonly ReportReset[];
  readonly status: ReportStatus;
  /**
   * Where each currency of a rebalancing stood when it was planned, and what decided its trades; else empty.
   */
  readonly positions: readonly ReportPosition[];
  readonly legs: readonly ReportLeg[];
  readonly payments: readonly ReportPayment[];
  readonly totals: readonly ReportTotal[];
  readonly problems: readonly Problem[];
  readonly evidence: readonly Evidence[];
};

export type ReportReset = {
  readonly at: string;
  /** The event to which it was reset, as Temporal numbers it. */
  readonly eventId: number;
  /** The reason that Temporal keeps; null: none was given. */
  readonly why: string | null;
  /** How the run stood before; null: Temporal does not know any more. `RUNNING` and `HELD`: it was open. */
  readonly before: string | null;
};

/** `after`: what is expected of the currency once the trades of this run have settled. */
export type ReportPosition = Position & { readonly after: Left };

export type ReportLeg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  /** Where the planned amount comes from. */
  readonly why: LegReason['kind'];
  /** The amount that was to be sold or bought; null: not known any more. */
  readonly planned: Pick<LegAmount, 'side' | 'value'> | null;
  /** The price guard in words; null: any price was taken. */
  readonly guard: string | null;
  readonly sellAmount: string | null;
  readonly buyAmount: string | null;
  /** Bought ÷ sold, 12 significant digits. */
  readonly rate: string | null;
  /** The cost of the trade against the plan's reference rates; null: no trade, or no such rates. */
  readonly cost: Cost | null;
  readonly quoteId: string | null;
  readonly tradeId: string | null;
  readonly outcome: LegOutcome;
  readonly settled: boolean | null;
  /** When the service made the trade, by its record. */
  readonly tradedAt: string | null;
};

export type ReportPayment = {
  readonly id: string;
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string | null;
  readonly withdrawalId: string | null;
  /** The status as the service says it. */
  readonly status: string | null;
  readonly outcome: PaymentOutcome;
  /** When the service made the withdrawal, by its record. */
  readonly sentAt: string | null;
  readonly reason: string | null;
};

export type ReportTotal = Omit<ChunkTotal, 'accepted'>;

/** The report of a run as it stands. */
export function makeReport(state: RunState): Report {
  const { payments } = state;
  const report = reportOf(state, { isFirst: true, payments, totals: totalsNow(state) });
  return withPayments(report, payments.map(reportPayment));
}

/**
 * One part of a report, so that no answer grows with the run. `next` says where the following part begins; null: this
 * is the last part. The chunks of a batch have its payments.
 */
export type ReportPage = {
  readonly report: Report;
  /** The trace id of each payment of this part. Like evidence, they may differ in another report. */
  readonly traceIds: readonly (string | null)[];
  /** The payments of a chunk. `report` does not have them then. */
  readonly rows?: readonly PaymentRow[];
  readonly next: number | null;
  readonly chunks: number;
};

/**
 * A payment without the names of its fields, so that one part mostly has all payments of a chunk. For each
 * further part, a worker would have to read the whole history of a chunk that has ended once more.
 */
export type PaymentRow = readonly (string | null)[];

/**
 * A payment, and when the run saw it paid. No record of the service tells that time, so it is evidence: a reset loses it, and the
 * rest of the report stays the same bytes. Null: it was not paid, or it was paid when the run found it.
 */
type WatchedPayment = ReportPayment & { readonly seenPaidAt: string | null };

/** A payment of a row. `reference` is null where it is the payment's first one. */
type RowPayment = Omit<WatchedPayment, 'reference'> & { readonly reference: string | null };

/** The fields of a payment, in the order of a row. */
const ROW = Object.keys({
  id: true,
  reference: true,
  account: true,
  currency: true,
  amount: true,
  withdrawalId: true,
  status: true,
  outcome: true,
  sentAt: true,
  seenPaidAt: true,
  reason: true,
} satisfies Record<keyof WatchedPayment, true>) as readonly (keyof WatchedPayment)[];

/** Fields that a row has as milliseconds in base 36, a third as long as the text of a report. */
const TIMES: ReadonlySet<keyof WatchedPayment> = new Set(['sentAt', 'seenPaidAt']);

export function paymentOfRow(row: PaymentRow): RowPayment {
  return Object.fromEntries(
    ROW.map((name, index) => {
      const value = row[index] ?? null;
      return [name, value !== null && TIMES.has(name) ? utcText(Number.parseInt(value, 36)) : value];
    }),
  ) as RowPayment;
}

/** The result of a chunk. It has `firstPage`, so that reading this part needs no worker. */
export type ChunkResult = ChunkState & { readonly firstPage: ReportPage };

/**
 * The part of the report that begins at this payment. Legs, evidence and problems of the run itself are in
 * the first part. Throws when there is no such payment: a run that has just gone on in a new history knows
 * its payments a moment later.
 */
export function reportPage(state: RunState, offset: number): ReportPage {
  const { payments, ...page } = pageFrom(state, offset, (record) => apart(reportPayment(record)));
  return { ...page, report: withApart(page.report, payments) };
}

/** The same for a chunk, with its payments in rows. */
export function chunkPage(state: RunState, offset: number): ReportPage {
  const { payments, ...page } = pageFrom(state, offset, rowOf(runName(state.run)));
  return { ...page, rows: payments };
}

/** @param shape gives a payment the shape in which this part has it */
function pageFrom<T>(state: RunState, offset: number, shape: (record: PaymentRecord) => T) {
  if (offset > 0 && offset >= state.payments.length)
    throw new RangeError(`The payments from ${offset} on cannot be told now; ask again.`);
  const isFirst = offset === 0;
  const totals = totalsNow(state);
  let bytes = jsonBytes(reportOf(state, { isFirst, payments: [], totals }));
  const payments: T[] = [];
  for (const record of state.payments.slice(offset)) {
    const payment = shape(record);
    bytes += jsonBytes([payment, paymentProblem(record), record.waiting, record.traceId]);
    if (bytes > BYTES_OF_A_PAGE && payments.length > 0) break;
    payments.push(payment);
  }
  const end = offset + payments.length;
  const records = state.payments.slice(offset, end);
  return {
    report: reportOf(state, { isFirst, payments: records, totals }),
    payments,
    traceIds: records.map(({ traceId }) => traceId),
    next: end < state.payments.length ? end : null,
    chunks: state.chunks.length,
  };
}

function rowOf(run: string): (record: PaymentRecord) => PaymentRow {
  return (record) => {
    const payment = reportPayment(record);
    const isOwn = payment.reference === `${run}.${payment.id}`;
    return ROW.map((name) => {
      const value = payment[name];
      if (name === 'reference' && isOwn) return null;
      return value !== null && TIMES.has(name) ? Date.parse(value).toString(36) : value;
    });
  };
}

/** A page with its payments in the shape of the report. */
function withoutRows({ rows, ...page }: ReportPage): ReportPage {
  if (rows === undefined) return page;
  const { run } = page.report;
  const payments = rows.map(paymentOfRow).map((payment) => ({
    ...payment,
    reference: payment.reference ?? `${run}.${payment.id}`,
  }));
  // The evidence of a chunk has only what went wrong, and explains nothing by itself.
  return { ...page, report: withPayments({ ...page.report, evidence: [] }, payments) };
}

/** What the report says of a payment, and the evidence of when the run saw it paid. */
type Apart = { readonly payment: ReportPayment; readonly seen: readonly Evidence[] };

function apart({ seenPaidAt, ...payment }: WatchedPayment): Apart {
  return { payment, seen: sighting(payment.id, 'paid', seenPaidAt) };
}

function withPayments(report: Report, payments: readonly WatchedPayment[]): Report {
  return withApart(report, payments.map(apart));
}

function withApart(report: Report, payments: readonly Apart[]): Report {
  return {
    ...report,
    payments: payments.map(({ payment }) => payment),
    evidence: [...report.evidence, ...payments.flatMap(({ seen }) => seen)],
  };
}

/** What a run sees at the service, and no record tells when it was so: that a trade is settled, or a payment paid. */
type Sight = 'settled' | 'paid';

/** The name of a sighting among the evidence. */
const SEEN = 'seen';

/** @param at RFC 3339; null: nobody saw it */
function sighting(item: string, what: Sight, at: string | null): readonly Evidence[] {
  return at === null
    ? []
    : [{ at, item, call: SEEN, result: what, traceId: null, replayed: null, quote: null }];
}

/** When the run saw items as settled or paid, by the item; RFC 3339 in UTC. An item that is not there was so when the run found it. */
export function seenAs(what: Sight, { evidence }: Pick<Report, 'evidence'>): ReadonlyMap<string, string> {
  const seen = evidence.filter(({ call, result }) => call === SEEN && result === what);
  return new Map(seen.map(({ item, at }) => [item, at]));
}

/** Reads one part of a report. */
export type ReadPage = (offset: number) => Promise<ReportPage>;
/** Reads one part of a chunk's report; null: Temporal has no such chunk. */
export type ReadChunkPage = (offset: number) => Promise<ReportPage | null>;

/** How many chunks are asked at a time. A worker answers one after the other, and no question may wait for long. */
const SIDE_BY_SIDE = 3;

/**
 * The parts of a report, in the order of its payments. The first part has the run itself.
 * @param ofChunk reads the parts of a chunk of the run's batch, from 1
 */
export async function* reportPages(
  read: ReadPage,
  ofChunk: (number: number) => ReadChunkPage = noChunk,
): AsyncGenerator<ReportPage> {
  const first = await read(0);
  yield first;
  yield* await restOf(first, read);
  const asked: Promise<readonly ReportPage[]>[] = [];
  for (let number = 1; number <= first.chunks || asked.length > 0;) {
    for (; number <= first.chunks && asked.length < SIDE_BY_SIDE; number += 1) {
      const pages = pagesOf(ofChunk(number));
      // A failure is thrown where the page is awaited. If the reader has stopped before that page, its failure does not
      // matter.
      pages.catch(() => {});
      asked.push(pages);
    }
    yield* (await asked.shift()) ?? [];
  }
}

async function pagesOf(read: ReadChunkPage): Promise<readonly ReportPage[]> {
  const first = await read(0);
  return first === null ? [] : [first, ...(await restOf(first, read))].map(withoutRows);
}

async function restOf(first: ReportPage, read: ReadChunkPage): Promise<readonly ReportPage[]> {
  const pages: ReportPage[] = [];
  for (let { next } = first; next !== null;) {
    const page = await read(next);
    if (page !== null) pages.push(page);
    next = page?.next ?? null;
  }
  return pages;
}

function noChunk(number: number): never {
  throw new RangeError(`Chunk ${number} cannot be asked.`);
}

/** Puts the parts of a report together, as `reportPages` reads them. */
export async function readReport(
  read: ReadPage,
  ofChunk?: (number: number) => ReadChunkPage,
): Promise<Report> {
  const parts: Report[] = [];
  for await (const { report } of reportPages(read, ofChunk)) parts.push(report);
  return joined(parts);
}

/** @param parts the first part has the run itself */
export function joined(parts: readonly Report[]): Report {
  const [first, ...others] = parts;
  if (first === undefined) throw new RangeError('A report has at least one part.');
  if (others.length === 0) return first;
  const payments = parts.flatMap((part) => part.payments);
  const evidence = parts.flatMap((part) => part.evidence);
  // A chunk may see at its end that a payment has come back, when its run has ended.
  const isBehind = first.status === 'COMPLETED' && payments.some(({ outcome }) => outcome === 'NOT_PAID');
  return {
    ...first,
    ...(isBehind && { status: 'PARTIAL' }),
    payments,
    totals: totalsSeen(first.totals, payments),
    problems: parts.flatMap(({ problems }) => problems),
    evidence,
  };
}

/**
 * A run hears late of what its chunks have paid. If all payments of the plan are in the report, the totals
 * are counted from them.
 */
export function totalsSeen(
  told: readonly ReportTotal[],
  payments: readonly ReportPayment[],
): readonly ReportTotal[] {
  if (!hasAllPayments(told, payments)) return told;
  const seen = new Map(totalsOf(payments).map((total) => [total.currency, asReported(total)]));
  return told.map((total) => seen.get(total.currency) ?? total);
}

/** False where payments of the plan are missing, as those of a chunk that Temporal has lost. */
export function hasAllPayments(told: readonly ReportTotal[], payments: readonly ReportPayment[]): boolean {
  const seen = new Map(totalsOf(payments).map(({ currency, planned }) => [currency, planned]));
  return told.every(({ currency, planned }) => compare(seen.get(currency) ?? '0', planned) === 0);
}

type Part = {
  readonly isFirst: boolean;
  readonly payments: readonly PaymentRecord[];
  /** The totals of the whole run. Every part has them. */
  readonly totals: Report['totals'];
};

/** The part without its payments, which are put in, or carried in another shape. */
function reportOf(state: RunState, { isFirst, payments, totals }: Part): Report {
  const legs = isFirst ? state.legs : [];
  const ended = problemsOf({ legs, payments, ended: state.ended });
  const items = [...legs, ...payments];
  const ofRun = isFirst ? [state.waiting, ...state.chunks.map(({ waiting }) => waiting)] : [];
  const waits = [...ofRun, ...items.map(({ waiting }) => waiting)].filter(isShown);
  // A leg waits for a trade that came out worse. The report tells that only once.
  const awaited = waits.flatMap(({ problem }) =>
    ended.some(({ code, item }) => code === problem.code && item === problem.item) ? [] : problem,
  );
  return {
    run: runName(state.run),
    workflowId: state.workflowId,
    policy: state.policy,
    zone: state.plan?.zone ?? null,
    startedBy: state.startedBy,
    // The run itself does not know them: a reset, or a new history, is another Temporal run.
    startedAt: null,
    endedAt: null,
    resets: [],
    status: statusOf(state),
    positions: isFirst ? reportPositions(state) : [],
    legs: legs.map(reportLeg),
    payments: [],
    totals,
    problems: [...(isFirst ? [...state.refusals, ...leftIn(state)] : []), ...ended, ...awaited].map(
      (problem) => forRun(problem, state.run),
    ),
    evidence: isFirst ? [...state.evidence, ...legs.flatMap(seenSettled)] : [],
  };
}

/** `HELD` while a wait holds the run, `RUNNING` while it goes on or waits for a settlement in good time; an end state once no item is open. */
export function statusOf(state: RunState): ReportStatus {
  if (!state.ended) return shownWaits(state).some(isHolding) ? 'HELD' : 'RUNNING';
  // A cancel shows in the items. After a reset, only the instruction still says that it was given.
  const ended = [...state.refusals, ...problemsOf(state)];
  const codes = [
    ...ended.map(({ code }) => code as string),
    ...state.chunks.flatMap((chunk) => (chunk.state === null ? [] : codesOf(chunk.state))),
  ];
  if (codes.includes('CANCELLED')) return 'CANCELLED';
  const { planned, paid } = countsOf(state.chunks);
  const items = [...state.legs, ...state.payments];
  return endedStatus({
    items: items.length + planned,
    done: items.filter(isDone).length + paid,
    isRefused: state.refusals.length > 0,
    isLeft: leftIn(state).length > 0,
  });
}

/**
 * The status of a run that has ended and was not cancelled, for the run itself and for a report that is made anew from the service's records.
 * `isRefused`: the run as a whole was. `isLeft`: a currency may be outside its target, though every leg is traded.
 */
export function endedStatus(of: {
  readonly items: number;
  readonly done: number;
  readonly isRefused: boolean;
  readonly isLeft: boolean;
}): 'COMPLETED' | 'PARTIAL' | 'FAILED' {
  if (of.done === of.items && !of.isRefused) return of.isLeft ? 'PARTIAL' : 'COMPLETED';
  return of.done === 0 ? 'FAILED' : 'PARTIAL';
}

/**
 * The currencies of a rebalancing that its plan has left though they may be outside their targets. The payments of a batch
 * say themselves whether they were paid.
 */
export function leftIn({ run, plan, ended }: RunState): readonly Problem[] {
  return !ended || plan === null || plan.batch !== null ? [] : leftUndone(run, plan.positions);
}

function problemsOf({
  legs,
  payments,
  ended,
}: {
  readonly legs: readonly LegRecord[];
  readonly payments: readonly PaymentRecord[];
  readonly ended: boolean;
}): readonly Problem[] {
  const ofLegs = legs.map((record) => legProblem(record) ?? (ended ? unawaited(record) : null));
  return [...ofLegs, ...payments.map(paymentProblem)].filter((problem) => problem !== null);
}

/** Only a run that was cancelled ends before a trade has settled. */
function unawaited({ leg, stage }: LegRecord): Problem | null {
  if (stage.kind !== 'traded' || stage.settled !== null) return null;
  const { tradeId } = stage.traded;
  return makeProblem('CANCELLED', leg.id, {
    message: `Trade ${tradeId} is made. The run was cancelled before the trade had settled, so it does not know whether the ${leg.buy} has come in.`,
    fix: 'Type `npx cambist report RUN --refresh` to see it. Start the run with --go-on to wait for it.',
  });
}

function isDone({ stage }: LegRecord | PaymentRecord): boolean {
  switch (stage.kind) {
    case 'traded':
      // A trade that came out worse than planned never counts as done before a person has accepted it. Nor
      // does a trade that will never settle.
      return stage.worse === null && stage.settled !== false;
    case 'paid':
      return true;
    case 'converting':
    case 'handed on':
    case 'not traded':
    case 'unsent':
    case 'accepted':
    case 'failed':
    case 'not paid':
      return false;
  }
}

/** All that the run waits for now, in the order of the items, but no waits at the service's own pace. */
export function shownWaits(state: RunState): readonly Waiting[] {
  const items = [...state.legs, ...state.payments, ...state.chunks];
  const ofChunks = state.chunks.flatMap((chunk) => chunk.state?.waits ?? []);
  return [state.waiting, ...items.map((item) => item.waiting), ...ofChunks].filter(isShown);
}

/** The positions of the report. Every trade counts, except one that will never settle. */
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
  const amounts = traded ?? (stage.kind === 'handed on' ? null : asPlanned(planned));
  const reference = leg.guard?.referenceRate ?? null;
  return {
    id: leg.id,
    reference: leg.reference,
    sell: leg.sell,
    buy: leg.buy,
    why: leg.why.kind,
    planned: planned === null ? null : { side: planned.side, value: planned.value },
    guard: leg.guard?.text ?? null,
    sellAmount: amounts?.sellAmount ?? null,
    buyAmount: amounts?.buyAmount ?? null,
    rate: traded === null ? null : rateOf(traded.sellAmount, traded.buyAmount),
    cost: traded === null || reference === null ? null : costOf(reference, leg, traded),
    quoteId: quoteIdOf(record),
    tradeId: tradeIdOf(record),
    outcome: legOutcome(record),
    settled: stage.kind === 'traded' ? stage.settled : null,
    tradedAt: utcText(traded?.createdAtMs),
  };
}

function seenSettled({ leg, stage }: LegRecord): readonly Evidence[] {
  return sighting(leg.id, 'settled', utcText(stage.kind === 'traded' ? stage.settledAtMs : null));
}

/** The amount that the plan says of a leg, while it is not traded. */
function asPlanned(planned: LegAmount | null): Partial<Sides> {
  if (planned === null) return {};
  return planned.side === 'sell' ? { sellAmount: planned.value } : { buyAmount: planned.value };
}

function quoteIdOf({ stage }: LegRecord): string | null {
  switch (stage.kind) {
    case 'converting':
      return stage.state.quote?.id ?? null;
    case 'handed on':
      return null;
    case 'traded':
      return stage.traded.quoteId;
    case 'not traded':
      return stage.quoteId;
  }
}

function reportPayment(record: PaymentRecord): WatchedPayment {
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
    sentAt: utcText(accepted?.createdAtMs),
    seenPaidAt: utcText(accepted?.paidAtMs),
    reason: paymentProblem(record)?.message ?? record.waiting?.problem.message ?? null,
  };
}

/** @param atMs epoch milliseconds; null, absent, or no moment at all: not known */
function utcText(atMs: number | null | undefined): string | null {
  const at = new Date(atMs ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

function totalsNow({ chunks, payments, plan }: RunState): readonly ReportTotal[] {
  const totals = chunks.length > 0 ? totalsOfChunks(chunks, plan?.batch ?? null) : totalsIn(payments);
  return totals.map(asReported);
}

function asReported({ accepted: _accepted, ...total }: ChunkTotal): ReportTotal {
  return total;
}

/** True for a problem about a trade that came out worse than its guard, or above a limit. */
export function isWorseThanPlanned({ code }: Problem): boolean {
  return code.startsWith('EXECUTED_');
}
