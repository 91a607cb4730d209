/** What a run that has ended tries again when it is started once more, by its report. Advice: the run looks at the service. Pure. */
import type { Report, ReportPayment } from '../../domain/run/report.ts';

export type TriedAgain = {
  /** Not paid, and nothing of it stands at the service that is known. */
  readonly tried: readonly ReportPayment[];
  /** Payments that failed after they were accepted, were not sent in their window, or of which a person said that they were not sent. */
  readonly onlyPaidAgain: number;
  readonly waitForPerson: number;
};

/** With one of these a payment has ended under its own key for good. */
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
        // One that is accepted is followed to its end.
        if (withdrawalId === null) tried.push(payment);
        break;
      case 'NOT_PAID':
        if (withdrawalId !== null || closed.has(id)) onlyPaidAgain += 1;
        else tried.push(payment);
    }
  }
  return { tried, onlyPaidAgain, waitForPerson };
}
