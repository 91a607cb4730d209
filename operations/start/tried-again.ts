/**
 * What a run that has ended tries again when it is started once more, by its report. This is advice, since the run itself
 * looks at the service. Pure.
 */
import type { Report, ReportPayment } from '../../domain/run/report.ts';

export type TriedAgain = {
  /** Payments that are not paid, for which the report names no record, and whose key may still be sent. */
  readonly tried: readonly ReportPayment[];
  /**
   * How many payments only `--pay-again` pays: they failed after they were accepted, or were not sent in their window, or a
   * person said that they were not sent.
   */
  readonly onlyPaidAgain: number;
  readonly waitForPerson: number;
};

/** A payment with one of these codes is never sent again under its key. */
const CLOSES: readonly string[] = ['WINDOW_PASSED', 'DECIDED_NOT_EXECUTED'];

export function triedAgain({ payments, problems }: Report): TriedAgain {
  const closed = new Set(problems.flatMap(({ code, item }) => (CLOSES.includes(code) ? [item] : [])));
  const tried: ReportPayment[] = [];
  let onlyPaidAgain = 0;
  let waitForPerson = 0;
  for (const payment of payments) {
    const { id, outcome, withdrawalId } = payment;
    switch (outcome) {
      case 'PAID':
        break;
      case 'NEEDS_HUMAN':
        waitForPerson += 1;
        break;
      case 'PENDING':
        // The run follows a payment that the service has accepted to its end.
        if (withdrawalId === null) tried.push(payment);
        break;
      case 'NOT_PAID':
        if (withdrawalId !== null || closed.has(id)) onlyPaidAgain += 1;
        else tried.push(payment);
    }
  }
  return { tried, onlyPaidAgain, waitForPerson };
}
