/** What a report says again when a run is repeated or reset and nothing has changed at the service. */
import type { Report, ReportLeg, ReportPayment } from '../../domain/run/report.ts';

export type LastingReport = Omit<
  Report,
  'evidence' | 'startedAt' | 'endedAt' | 'resets' | 'legs' | 'payments'
> & {
  readonly legs: readonly Omit<ReportLeg, 'settledAt'>[];
  readonly payments: readonly Omit<ReportPayment, 'paidAt'>[];
};

/** The report without what may differ: looks, what people said, resets, and every time that no record of the service tells. */
export function lasting(report: Report): LastingReport {
  const {
    evidence: _evidence,
    startedAt: _startedAt,
    endedAt: _endedAt,
    resets: _resets,
    legs,
    payments,
    ...rest
  } = report;
  return {
    ...rest,
    legs: legs.map(({ settledAt: _settledAt, ...leg }) => leg),
    payments: payments.map(({ paidAt: _paidAt, ...payment }) => payment),
  };
}
