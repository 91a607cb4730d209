/**
 * What a run that has ended tries again when it is started once more, by its report. This is advice: the run looks at the
 * service. Pure.
 */
import type { Report, ReportPayment } from '../../domain/run/report.ts';

export type TriedAgain = {
  /** Not paid, and no record of it is known that still stands at the service. */
  readonly tried: readonly ReportPayment[];
  /**
   * Payments that failed after they were accepted, that were not sent in their window, or that a person said were not sent.
   */
  readonly onlyPaidAgain: number;
  readonly waitForPerson: number;
};

/** A payment with one of these codes has ended under its key for good. */
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
        // A payment that the service has accepted is followed to its end.
        if (withdrawalId === null) tried.push(payment);
        break;
      case 'NOT_PAID':
        if (withdrawalId !== null || closed.has(id)) onlyPaidAgain += 1;
        else tried.push(payment);
    }
  }
  return { tried, onlyPaidAgain, waitForPerson };
}
