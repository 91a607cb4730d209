/**
 * `report --refresh`: what the service says now of every trade and payment of a report, and where that differs. Reads
 * only, and decides nothing: the run, or a person, does.
 */
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { sum } from '../domain/money.ts';
import type { LenientRecord, Trade, Withdrawal } from '../domain/service/records.ts';
import { generationOf, reference, type RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { Report, ReportLeg, ReportPayment, ReportStatus, ReportTotal } from '../domain/run/report.ts';
import type { Evidence } from '../domain/run/state.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { dateOfRunId, sendWindowsOf } from '../calendar/business-date.ts';
import type { ServiceClient } from '../service/client.ts';
import { scanList } from '../service/list-scan.ts';
import { serviceFailure } from './preflight.ts';

/** What the service shows of one item now; null: nothing, though every page was read. */
export type Live = { readonly id: string; readonly status: string } | null;

/** By item. */
export type LiveRecords = {
  readonly legs: ReadonlyMap<string, Live>;
  readonly payments: ReadonlyMap<string, Live>;
};

/** A report with the service's words of this moment, and a sentence for each difference. */
export type Refreshed = { readonly report: Report; readonly differences: readonly string[] };

/** No zone begins a date earlier than this before its 00:00 UTC. */
const EARLIEST_ZONE_MS = 14 * 3_600_000;

/**
 * Reads the record of every item: by its id, else in the list, where an item without one is looked for by its name.
 * @throws CommandFailure when a list that is needed cannot be read whole
 */
export async function readLive(
  service: Pick<ServiceClient, 'trade' | 'withdrawal' | 'listTrades' | 'listWithdrawals'>,
  address: string,
  options: { readonly run: RunName; readonly report: Report; readonly facts: ServiceFacts },
): Promise<LiveRecords> {
  const { run, report, facts } = options;
  const date = dateOfRunId(run.id);
  const beginsMs = date === null ? 0 : sendWindowsOf(date, 'UTC').opensAtMs - EARLIEST_ZONE_MS;
  const look = { address, run, sinceMs: beginsMs - LOOK_BACK_MS };
  const legs = await readItems(
    report.legs.map(({ id, tradeId }) => ({ id, recordId: tradeId })),
    {
      ...look,
      byId: service.trade,
      list: service.listTrades,
      nameIn: (trade: Trade) => trade.clientReferenceId,
      failed: facts.tradeStatuses.failed,
    },
  );
  const payments = await readItems(
    report.payments.map(({ id, withdrawalId }) => ({ id, recordId: withdrawalId })),
    {
      ...look,
      byId: service.withdrawal,
      list: service.listWithdrawals,
      nameIn: (record: Withdrawal) => record.tag,
      failed: facts.withdrawalStatuses.failed,
    },
  );
  return { legs, payments };
}

type Named = { readonly id: string; readonly recordId: string | null };

async function readItems<T extends Trade | Withdrawal>(
  items: readonly Named[],
  how: {
    readonly address: string;
    readonly run: RunName;
    readonly sinceMs: number;
    readonly byId: (id: string) => Promise<Reply<{ readonly record: T | LenientRecord }>>;
    readonly list: Parameters<typeof scanList<T>>[0];
    readonly nameIn: (record: T) => string | null;
    readonly failed: readonly string[];
  },
): Promise<ReadonlyMap<string, Live>> {
  const live = new Map<string, Live>();
  for (const { id, recordId } of items) {
    const reply = recordId === null ? null : await how.byId(recordId);
    if (reply?.kind !== 'DONE' || reply.value.record.status === null) continue;
    live.set(id, { id: reply.value.record.id, status: reply.value.record.status });
  }
  const left = items.filter(({ id }) => !live.has(id));
  if (left.length === 0) return live;
  const isOf = (item: Named, record: T): boolean =>
    item.recordId === null
      ? generationOf(reference(how.run, item.id), how.nameIn(record) ?? '') !== null
      : record.id === item.recordId;
  const { records, stopped } = await scanList(how.list, {
    sinceMs: how.sinceMs,
    wanted: (record) => left.some((item) => isOf(item, record)),
  });
  for (const item of left) {
    const ours = records.filter((record) => isOf(item, record));
    const record = ours.find(({ status }) => !how.failed.includes(status)) ?? ours[0];
    if (record === undefined && stopped !== null) throw serviceFailure(stopped, how.address);
    live.set(item.id, record === undefined ? null : { id: record.id, status: record.status });
  }
  return live;
}

/** The report as the service's records of this moment make it. Pure. `nowMs`: when they were read. */
export function refreshReport(
  report: Report,
  live: LiveRecords,
  facts: ServiceFacts,
  nowMs: number,
): Refreshed {
  const found: Problem[] = [];
  const legs = report.legs.map((leg) => refreshLeg(leg, live.legs.get(leg.id) ?? null, facts, found));
  const payments = report.payments.map((payment) =>
    refreshPayment(payment, live.payments.get(payment.id) ?? null, facts, found),
  );
  const at = new Date(nowMs).toISOString();
  const read = [...live.legs, ...live.payments].map(([item, record]): Evidence => ({
    at,
    item,
    call: 'refresh',
    result: record === null ? 'not shown' : `${record.id}: ${record.status}`,
    traceId: null,
    replayed: null,
    quote: null,
  }));
  const isNew = (problem: Problem): boolean =>
    !report.problems.some(({ code, item }) => code === problem.code && item === problem.item);
  const changed = payments.flatMap((payment, index) => {
    const before = report.payments[index]?.status ?? null;
    const isTold = found.some((problem) => problem.item === payment.id && isNew(problem));
    return before === payment.status || isTold
      ? []
      : [
          `${payment.id}: the report has "${before ?? 'no word'}", the service says "${payment.status ?? ''}".`,
        ];
  });
  const news = found.filter(isNew);
  return {
    report: {
      ...report,
      status: statusNow(report.status, [...legs, ...payments]),
      legs,
      payments,
      totals: report.totals.map((total) => totalNow(total, payments)),
      problems: [...report.problems, ...news],
      evidence: [...report.evidence, ...read],
    },
    differences: [...news.map(({ item, message }) => `${item ?? ''}: ${message}`), ...changed],
  };
}

function refreshLeg(leg: ReportLeg, record: Live, facts: ServiceFacts, found: Problem[]): ReportLeg {
  const { settled, failed } = facts.tradeStatuses;
  if (record === null) {
    if (leg.tradeId !== null) found.push(notShown(leg.id, leg.tradeId));
    return leg;
  }
  if (leg.tradeId === null) {
    found.push(appeared(leg.id, `trade ${record.id}`, record.status));
    return { ...leg, tradeId: record.id };
  }
  if (failed.includes(record.status)) {
    found.push({
      code: 'SETTLEMENT_FAILED',
      item: leg.id,
      message: `The service says "${record.status}" of trade ${record.id}: it will not settle.`,
      fix: 'Ask the operator of the service.',
    });
    return { ...leg, settled: false };
  }
  return settled.includes(record.status) ? { ...leg, settled: true } : leg;
}

function refreshPayment(
  payment: ReportPayment,
  record: Live,
  facts: ServiceFacts,
  found: Problem[],
): ReportPayment {
  const { paid, failed } = facts.withdrawalStatuses;
  if (record === null) {
    if (payment.withdrawalId !== null) found.push(notShown(payment.id, payment.withdrawalId));
    return payment;
  }
  const now: ReportPayment = { ...payment, withdrawalId: record.id, status: record.status };
  const tell = (problem: Problem): ReportPayment => {
    found.push(problem);
    return { ...now, reason: problem.message };
  };
  if (failed.includes(record.status)) {
    if (payment.outcome === 'NOT_PAID') return now;
    const before = payment.status === null ? '' : ` after "${payment.status}"`;
    return {
      ...tell({
        code: 'WITHDRAWAL_FAILED',
        item: payment.id,
        message: `The service says "${record.status}" of withdrawal ${record.id}${before}.`,
        fix: `Find out why at the service. If it is still owed: npx cambist run POLICY --pay-again ${payment.id} --reason TEXT --by NAME.`,
      }),
      outcome: 'NOT_PAID',
    };
  }
  if (payment.withdrawalId === null)
    return tell(appeared(payment.id, `withdrawal ${record.id}`, record.status));
  if (payment.outcome === 'NOT_PAID') {
    return tell(
      makeProblem('STATUS_DIFFERS', payment.id, {
        message: `The report has it as NOT_PAID, the service says "${record.status}" of withdrawal ${record.id}${paid.includes(record.status) ? ': it is paid' : ''}.`,
      }),
    );
  }
  return now;
}

function notShown(item: string, id: string): Problem {
  return makeProblem('RECORD_NOT_SHOWN', item, {
    message: `The service does not show ${id} any more, which the report names.`,
  });
}

function appeared(item: string, what: string, status: string): Problem {
  return makeProblem('RECORD_APPEARED', item, {
    message: `The service shows ${what} ("${status}") of it, which the report does not have.`,
  });
}

/** How a closed run ended, by the outcomes of this moment; what goes on, or was cancelled, stays what it is. */
function statusNow(status: ReportStatus, items: readonly (ReportLeg | ReportPayment)[]): ReportStatus {
  if (status !== 'COMPLETED' && status !== 'PARTIAL' && status !== 'FAILED') return status;
  if (items.length === 0) return status;
  const done = items.filter(({ outcome }) => outcome === 'TRADED' || outcome === 'PAID').length;
  return done === items.length ? 'COMPLETED' : done === 0 ? 'FAILED' : 'PARTIAL';
}

function totalNow(total: ReportTotal, payments: readonly ReportPayment[]): ReportTotal {
  const of = (wanted: ReportPayment['outcome']): string =>
    sum(
      payments.flatMap(({ currency, outcome, amount }) =>
        currency === total.currency && outcome === wanted && amount !== null ? [amount] : [],
      ),
    );
  return { ...total, paid: of('PAID'), notPaid: of('NOT_PAID'), needsHuman: of('NEEDS_HUMAN') };
}
