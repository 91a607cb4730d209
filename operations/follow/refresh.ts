/**
 * `report --refresh`: what the service says now about every trade and payment of a report, and where that differs from the
 * report. Reads only, and decides nothing: the run, or a person, does.
 */
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import type { LenientRecord, Trade, Withdrawal } from '../../domain/service/records.ts';
import { firstReference, reference, type RunName } from '../../domain/references.ts';
import type { Reply } from '../../domain/service/reply.ts';
import {
  endedStatus,
  hasAllPayments,
  totalsSeen,
  type Report,
  type ReportLeg,
  type ReportPayment,
  type ReportStatus,
} from '../../domain/run/report.ts';
import type { Evidence } from '../../domain/run/state.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';
import { makeProblem, type Problem } from '../../domain/problems.ts';
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList } from '../../service/list-scan.ts';
import { serviceFailure } from '../preflight.ts';

/** What the service shows of one item now; null when it shows nothing, though every page was read. */
export type Live = { readonly id: string; readonly status: string } | null;

/** By item. An item that is missing was not asked for, and is left as it is. */
export type LiveRecords = {
  readonly legs: ReadonlyMap<string, Live>;
  readonly payments: ReadonlyMap<string, Live>;
};

/** A report with what the service says at this moment, and a sentence for each difference. */
export type Refreshed = { readonly report: Report; readonly differences: readonly string[] };

/** In every zone, a date begins at most this long before its 00:00 UTC. */
const EARLIEST_ZONE_MS = 14 * 3_600_000;

/** With more items than this, the list is read first, so that a large batch does not ask for each record by its id. */
const MOST_BY_ID = 50;

/**
 * Reads the record of every item. An item with an id is asked for by its id. An item without one, or whose record has failed,
 * is looked for by its name in the list. When there are many items, all of them are looked for in the list first.
 * @throws CommandFailure when a list that is needed cannot be read whole
 */
export async function readLive(
  service: Pick<ServiceClient, 'trade' | 'withdrawal' | 'listTrades' | 'listWithdrawals'>,
  address: string,
  options: { readonly run: RunName; readonly report: Report; readonly facts: ServiceFacts },
): Promise<LiveRecords> {
  const { run, report, facts } = options;
  const look = { address, run, sinceMs: recordsSince(run) };
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

/** No record of the run is older than this, epoch milliseconds. */
export function recordsSince({ id }: RunName): number {
  const date = dateOfRunId(id);
  const beginsMs = date === null ? 0 : sendWindowsOf(date, 'UTC').opensAtMs - EARLIEST_ZONE_MS;
  return beginsMs - LOOK_BACK_MS;
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
  const askById = async (asked: readonly Named[]): Promise<void> => {
    for (const { id, recordId } of asked) {
      const reply = recordId === null ? null : await how.byId(recordId);
      if (reply?.kind !== 'DONE' || reply.value.record.status === null) continue;
      live.set(id, { id: reply.value.record.id, status: reply.value.record.status });
    }
  };
  const isFailed = ({ status }: { readonly status: string }): boolean => how.failed.includes(status);
  const isLong = items.length > MOST_BY_ID;
  if (!isLong) await askById(items);
  // What has failed may have been paid since, as a later generation, which the list shows under the same name.
  const isOpen = ({ id }: Named): boolean => {
    const known = live.get(id) ?? null;
    return known === null || isFailed(known);
  };
  const left = items.filter(isOpen);
  if (left.length === 0) return live;
  const byRecord = new Map(
    left.flatMap(({ id, recordId }) => (recordId === null ? [] : [[recordId, id] as const])),
  );
  const byName = new Map(left.map(({ id }) => [reference(how.run, id), id] as const));
  const itemOf = (record: T): string | undefined =>
    byRecord.get(record.id) ?? byName.get(firstReference(how.nameIn(record) ?? ''));
  const { records, stopped } = await scanList(how.list, {
    sinceMs: how.sinceMs,
    wanted: (record) => itemOf(record) !== undefined,
  });
  for (const record of records) {
    const item = itemOf(record);
    const known = item === undefined ? null : (live.get(item) ?? null);
    // When several records have one name, the one that has not failed counts.
    const isBetter = known === null || (isFailed(known) && !isFailed(record));
    if (item !== undefined && isBetter) live.set(item, { id: record.id, status: record.status });
  }
  if (isLong) await askById(left.filter(({ id }) => !live.has(id)));
  if (stopped !== null && left.some(isOpen)) throw serviceFailure(stopped, how.address);
  for (const { id } of left) if (!live.has(id)) live.set(id, null);
  return live;
}

/** The report, computed anew from the service's records. `nowMs`: when they were read. Pure. */
export function refreshReport(
  report: Report,
  live: LiveRecords,
  facts: ServiceFacts,
  nowMs: number,
): Refreshed {
  const found: Problem[] = [];
  const legs = report.legs.map((leg) => {
    const record = live.legs.get(leg.id);
    return record === undefined ? leg : refreshLeg(leg, record, facts, found);
  });
  const payments = report.payments.map((payment) => {
    const record = live.payments.get(payment.id);
    return record === undefined ? payment : refreshPayment(payment, record, facts, found);
  });
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
  const told = new Set(report.problems.map(({ code, item }) => `${code} ${item ?? ''}`));
  const isNew = ({ code, item }: Problem): boolean => !told.has(`${code} ${item ?? ''}`);
  const news = found.filter(isNew);
  const isNews = new Set(news.map(({ item }) => item));
  const changed = payments.flatMap((payment, index) => {
    const before = report.payments[index]?.status ?? null;
    return before === payment.status || isNews.has(payment.id)
      ? []
      : [
          `${payment.id}: the report says "${before ?? 'nothing'}", the service says "${payment.status ?? ''}".`,
        ];
  });
  const problems = [...report.problems, ...news];
  return {
    report: {
      ...report,
      status: statusNow(report, legs, payments),
      legs,
      payments,
      totals: totalsSeen(report.totals, payments),
      problems,
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
  // Where the trade of the leg has failed, the list may show another one of its name.
  if (record.id !== leg.tradeId) {
    found.push(appeared(leg.id, `trade ${record.id}`, record.status));
    return { ...leg, tradeId: leg.tradeId ?? record.id };
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
        message: `The report says that it is NOT_PAID, but the service says "${record.status}" of withdrawal ${record.id}${paid.includes(record.status) ? ': it is paid' : ''}.`,
      }),
    );
  }
  return now;
}

function notShown(item: string, id: string): Problem {
  return makeProblem('RECORD_NOT_SHOWN', item, {
    message: `The report names record ${id}, but the service does not show it any more.`,
  });
}

function appeared(item: string, what: string, status: string): Problem {
  return makeProblem('RECORD_APPEARED', item, {
    message: `The service shows ${what} ("${status}") of this item, and the report does not have it.`,
  });
}

/**
 * How a run that has ended stands by its outcomes now. A run that goes on, or was cancelled, keeps its status, and so does one
 * without items: it was refused, or had nothing to do.
 */
function statusNow(
  { status, problems, totals }: Report,
  legs: readonly ReportLeg[],
  payments: readonly ReportPayment[],
): ReportStatus {
  if (status !== 'COMPLETED' && status !== 'PARTIAL' && status !== 'FAILED') return status;
  const items = legs.length + payments.length;
  if (items === 0) return status;
  // What is wrong with a leg for good, such as a trade that came out worse than planned, is among the problems.
  const traded = legs.filter(
    ({ id, outcome, settled }) =>
      outcome === 'TRADED' && settled !== false && problems.every(({ item }) => item !== id),
  );
  const paid = payments.filter(({ outcome }) => outcome === 'PAID');
  const seen = endedStatus({
    items,
    done: traded.length + paid.length,
    isRefused: problems.some(({ item }) => item === null),
    isLeft: problems.some(({ code }) => code === 'TARGET_NOT_REACHED'),
  });
  // Of payments that are missing in the report, only its status tells.
  return seen === status || hasAllPayments(totals, payments) ? seen : 'PARTIAL';
}
