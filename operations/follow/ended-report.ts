/** The report of a run that ended before it could report by itself. */
import { WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { forRun, isRunCode, type Problem } from '../../domain/problems.ts';
import { runName } from '../../domain/references.ts';
import type { Report, ReportStatus } from '../../domain/run/report.ts';
import type { RunFacts } from './runs.ts';

/** The problems in the failure with which a closed Temporal run ended. */
export async function readEnd(client: Client, facts: RunFacts): Promise<readonly Problem[]> {
  if (facts.temporalStatus === 'COMPLETED') return [];
  try {
    await client.workflow.getHandle(facts.workflowId, facts.temporalRunId).result();
    return [];
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    return problemsOfFailure(error.cause);
  }
}

/** The problems that a failure of ours carries; none for any other failure. */
export function problemsOfFailure(cause: Error | undefined): readonly Problem[] {
  if (!(cause instanceof ApplicationFailure)) return [];
  const [details] = (cause.details ?? []) as readonly { readonly problems?: readonly Problem[] }[];
  if (details?.problems !== undefined && details.problems.length > 0) return details.problems;
  return [
    {
      code: isRunCode(cause.type) ? cause.type : 'RUN_FAILED',
      item: null,
      message: cause.message,
      fix: 'See the run in the Temporal UI.',
    },
  ];
}

/**
 * The report of a run that ended before it could report by itself: it had no plan, this program had a fault, or a person
 * ended it from outside. The outcomes that the run knows stay as they are.
 */
export function endedReport(report: Report, facts: RunFacts, problems: readonly Problem[]): Report {
  if (facts.isOpen || (report.status !== 'RUNNING' && report.status !== 'HELD')) return report;
  const moved =
    report.legs.some(({ outcome }) => outcome === 'TRADED') ||
    report.payments.some(({ outcome }) => outcome === 'PAID') ||
    report.totals.some(({ paid }) => /[1-9]/.test(paid));
  if (facts.temporalStatus === 'TERMINATED' || facts.temporalStatus === 'TIMED_OUT')
    return { ...report, status: facts.temporalStatus, problems: [endedFromOutside(facts)] };
  const status: ReportStatus =
    facts.temporalStatus === 'CANCELLED' ? 'CANCELLED' : moved ? 'PARTIAL' : 'FAILED';
  if (status === 'CANCELLED') return { ...report, status, problems: [cancelledBefore(facts)] };
  const told = problems.map((problem) => forRun(problem, facts.run));
  return { ...report, status, problems: told.length > 0 ? told : report.problems };
}

function endedFromOutside(facts: RunFacts): Problem {
  const how = facts.temporalStatus === 'TERMINATED' ? 'terminated' : 'timed out';
  return {
    code: 'ENDED_FROM_OUTSIDE',
    item: null,
    message: `The run was ${how} in Temporal before it was finished. What was under way may have been executed.`,
    fix: `Type \`npx cambist replay ${runName(facts.run)}\`, or start it again with the same policy and --id: it looks at the service and adopts what it finds.`,
  };
}

function cancelledBefore(facts: RunFacts): Problem {
  return {
    code: 'CANCELLED',
    item: null,
    message: `The run ${runName(facts.run)} was cancelled before it was finished.`,
    fix: 'Start it with --go-on to go on after all.',
  };
}
