/**
 * What Temporal tells of a run, and the run itself cannot know: when it was started, when it ended, and its resets. Reads
 * only, and asks no worker.
 */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Report, ReportReset } from '../../domain/run/report.ts';
import { describe } from '../../durable/described.ts';
import { msOf, readEvents, readStart, type HistoryEvent } from '../../durable/history.ts';
import { stateAttribute } from '../../workflows/names.ts';
import { stateOf, type RunFacts } from '../follow/runs.ts';

export type Past = Pick<Report, 'startedAt' | 'endedAt' | 'resets'>;

/** At most this many Temporal runs of a run are looked at, the newest first. */
const MOST_RUNS = 50;

/** A run that was open when it was reset is ended by Temporal in the same moment. */
const SAME_MOMENT_MS = 2_000;

/** The past of a run, by the Temporal run of `facts` and those before it. */
export async function pastOf(
  client: Client,
  { workflowId, temporalRunId, closedAtMs }: Pick<RunFacts, 'workflowId' | 'temporalRunId' | 'closedAtMs'>,
): Promise<Past> {
  const resets: ReportReset[] = [];
  let startedAtMs: number | null = null;
  let next: string | null = temporalRunId;
  for (let seen = 0; next !== null && seen < MOST_RUNS; seen += 1) {
    const runId: string = next;
    const shown = await describe(client, workflowId, runId);
    // Temporal has forgotten it, so nobody knows when the run began.
    if (shown === null) break;
    if (wasReset(shown)) {
      const reset = await lastReset(client, shown);
      if (reset !== null) resets.unshift(reset.told);
      next = reset?.baseRunId ?? null;
    } else {
      next = await continuedFrom(client, shown);
      if (next === null) startedAtMs = shown.startTime.getTime();
    }
  }
  return { startedAt: utcText(startedAtMs), endedAt: utcText(closedAtMs), resets };
}

function utcText(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function wasReset({ raw }: WorkflowExecutionDescription): boolean {
  return msOf(raw.workflowExtendedInfo?.lastResetTime) > 0;
}

/** The Temporal run that has gone on in this one; null: this one is the first. */
async function continuedFrom(client: Client, shown: WorkflowExecutionDescription): Promise<string | null> {
  const { workflowId, runId, raw } = shown;
  const first = raw.workflowExecutionInfo?.firstRunId ?? '';
  if (first === '' || first === runId) return null;
  return (await readStart(client, workflowId, runId))?.continuedFrom ?? null;
}

/** The reset that has made this Temporal run, and the Temporal run that was reset; null: its history does not show it. */
async function lastReset(
  client: Client,
  { workflowId, runId, raw }: WorkflowExecutionDescription,
): Promise<{ readonly told: ReportReset; readonly baseRunId: string } | null> {
  const events = (await readEvents(client, workflowId, runId)) ?? [];
  const made = events.findLast(isReset);
  const { failure, baseRunId } = made?.workflowTaskFailedEventAttributes ?? {};
  if (made === undefined || !baseRunId) return null;
  const atMs = msOf(raw.workflowExtendedInfo?.lastResetTime);
  const base = await describe(client, workflowId, baseRunId);
  const told: ReportReset = {
    at: new Date(atMs).toISOString(),
    eventId: Number(made.eventId),
    why: reasonGiven(failure?.message ?? ''),
    before: base === null ? null : standingBefore(base, atMs),
  };
  return { told, baseRunId };
}

/** What the Temporal UI writes behind the reason that its user gives; it names a user who has logged in. */
const UI_ADDS = /(^|\s)Reset from the Web UI(?: by (\S+))?$/;

/** The reason that a person gave for a reset, without what the Temporal UI adds; null: none was given. */
export function reasonGiven(text: string): string | null {
  const [added, , by] = UI_ADDS.exec(text) ?? [];
  if (added === undefined) return text === '' ? null : text;
  const reason = text.slice(0, text.length - added.length).trimEnd();
  if (by === undefined) return reason === '' ? null : reason;
  return `${reason} (Temporal UI, by ${by})`.trimStart();
}

function isReset({ workflowTaskFailedEventAttributes: failed }: HistoryEvent): boolean {
  return (
    failed?.failure?.resetWorkflowFailureInfo !== undefined &&
    failed.failure.resetWorkflowFailureInfo !== null
  );
}

/** How a run stood when it was reset. Temporal terminates one that was open, so it is still called by what it said last. */
function standingBefore(base: WorkflowExecutionDescription, resetAtMs: number): string {
  const closedAtMs = base.closeTime?.getTime() ?? resetAtMs;
  const wasOpen = base.status.name === 'TERMINATED' && closedAtMs > resetAtMs - SAME_MOMENT_MS;
  const told = base.typedSearchAttributes.get(stateAttribute) ?? null;
  return stateOf(wasOpen ? 'RUNNING' : base.status.name, told);
}
