/**
 * Money that came back: payments of which a report says that they are paid, and the service's list now says that they failed or
 * were returned (`look-for-failed.ts` reads it), so that people learn of it without asking for that run. Pure.
 */
import type { RunName } from '../../domain/references.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import type { Problem } from '../../domain/problems.ts';
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

/** Tells a report, or a payment of it, as the service says it now. */
export type AsNow = {
  readonly part: (part: Report) => Report;
  readonly payment: <Payment extends ReportPayment>(payment: Payment) => Payment;
};

/**
 * For what is read in parts.
 * @param now the whole report, with the payments that came back
 */
export function asNow(now: Report): AsNow {
  const back = new Map(
    now.payments.flatMap((payment) =>
      payment.outcome === 'NOT_PAID' ? [[payment.id, payment] as const] : [],
    ),
  );
  const isBack = ({ id, outcome }: ReportPayment): boolean => outcome === 'PAID' && back.has(id);
  const payment = <Payment extends ReportPayment>(told: Payment): Payment =>
    isBack(told) ? { ...told, ...back.get(told.id) } : told;
  const part = (told: Report): Report => {
    const items = new Set<Problem['item']>(told.payments.filter(isBack).map(({ id }) => id));
    const problems = now.problems.filter(({ item }) => items.has(item));
    return {
      ...told,
      status: now.status,
      totals: now.totals,
      payments: told.payments.map(payment),
      problems: [...told.problems, ...problems],
    };
  };
  return { part, payment };
}
