/** What a report says again when a run is repeated or reset and nothing has changed at the service. */
import type { Report } from '../../domain/run/report.ts';

export type LastingReport = Omit<Report, 'evidence' | 'startedAt' | 'endedAt' | 'resets'>;

/** The report without what may differ: evidence, and what Temporal says of the run's own past. */
export function lasting(report: Report): LastingReport {
  const { evidence: _evidence, startedAt: _startedAt, endedAt: _endedAt, resets: _resets, ...rest } = report;
  return rest;
}
