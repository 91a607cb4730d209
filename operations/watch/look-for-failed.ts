/** A bounded look over the newest payments at the service, for those that have failed or came back. Reads only. */
import { runOf } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { ServiceClient } from '../../service/client.ts';
import { newestMsOf, readBack } from '../../service/list-scan.ts';
import { serviceFailure } from '../preflight.ts';
import { cameBackIn, type FailedPayment, type FailedPayments } from './came-back.ts';
import { refreshReport } from '../follow/refresh.ts';

/** How far the look goes: payments of this many days, and no more than this many pages of a hundred. */
export const LOOK = { days: 30, pages: 20 } as const;

const DAY_MS = 86_400_000;

/** The moment from which on payments are looked at. */
export function lookSince(nowMs: number): number {
  return nowMs - LOOK.days * DAY_MS;
}

/**
 * Reads the service's list of withdrawals back to `sinceMs`, within the bound.
 * @throws CommandFailure when a page cannot be read
 */
export async function readFailedPayments(
  service: Pick<ServiceClient, 'listWithdrawals'>,
  address: string,
  { facts, sinceMs }: { readonly facts: ServiceFacts; readonly sinceMs: number },
): Promise<FailedPayments> {
  const failed = new Map<string, FailedPayment>();
  const { failed: isFailed } = facts.withdrawalStatuses;
  let pages = 0;
  let reachedMs = sinceMs;
  const stopped = await readBack(
    service.listWithdrawals,
    (page) => {
      pages += 1;
      for (const record of page)
        if (isFailed.includes(record.status)) failed.set(record.id, failedOf(record));
      const newestMs = newestMsOf(page);
      if (page.length > 0 && newestMs < sinceMs) return true;
      if (pages < LOOK.pages) return false;
      reachedMs = Math.max(sinceMs, newestMs);
      return true;
    },
    {},
  );
  if (stopped !== null) throw serviceFailure(stopped, address);
  return { payments: [...failed.values()], sinceMs: reachedMs, facts };
}

function failedOf({ id, status, tag }: Withdrawal): FailedPayment {
  return { id, status, run: tag === null ? null : runOf(tag) };
}

/** The report with what the service says now of payments that came back. `nowMs`: when the list was read. Pure. */
export function withCameBack(report: Report, failed: FailedPayments, nowMs: number): Report {
  const back = cameBackIn(report.payments, failed);
  if (back.length === 0) return report;
  const payments = new Map(back.map(({ payment, record: { id, status } }) => [payment.id, { id, status }]));
  return refreshReport(report, { legs: new Map(), payments }, failed.facts, nowMs).report;
}
