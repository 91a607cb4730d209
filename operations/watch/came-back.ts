/**
 * Money that came back: payments of which a report says that they are paid, and the service's list now says that they failed or
 * were returned (`look-for-failed.ts` reads it), so that people learn of it without asking for that run. Pure.
 */
import type { RunName } from '../../domain/references.ts';
import type { ReportPayment } from '../../domain/run/report.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';

/** A payment that the service says has failed. `run`: by its reference; null: the list does not show it, or it is not ours. */
export type FailedPayment = { readonly id: string; readonly status: string; readonly run: RunName | null };

/**
 * What the look has found. `sinceMs`: it read every payment that was created since then, epoch milliseconds. `facts`: which
 * statuses count as failed.
 */
export type FailedPayments = {
  readonly payments: readonly FailedPayment[];
  readonly sinceMs: number;
  readonly facts: ServiceFacts;
};

/**
 * The payments of a report that came back. One that the report knows as not paid, or that was paid again since, is none of
 * them.
 */
export function cameBackIn<Payment extends Pick<ReportPayment, 'outcome' | 'withdrawalId'>>(
  payments: readonly Payment[],
  { payments: failed }: Pick<FailedPayments, 'payments'>,
): readonly { readonly payment: Payment; readonly record: FailedPayment }[] {
  const byId = new Map(failed.map((record) => [record.id, record]));
  return payments.flatMap((payment) => {
    const record = payment.withdrawalId === null ? undefined : byId.get(payment.withdrawalId);
    return record !== undefined && payment.outcome === 'PAID' ? [{ payment, record }] : [];
  });
}
