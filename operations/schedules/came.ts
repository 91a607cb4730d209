/** What one start of a schedule led to, as Temporal tells it. */
import {
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client';
import type { Problem } from '../../domain/problems.ts';
import type { RunName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { ScheduledResult } from '../../workflows/calls.ts';
import { describe, isOpen } from '../../durable/described.ts';
import { messageOf } from '../../durable/history.ts';
import { problemsOfFailure } from '../follow/ended-report.ts';
import { describeRun } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import type { Action, KeptSchedule } from './spec.ts';

/** What one start led to. */
export type Came =
  | { readonly kind: 'done'; readonly result: ScheduledResult }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
  /** A worker is starting the run, or tries again. `why`: what stopped the last attempt. */
  | { readonly kind: 'under way'; readonly isTaken: boolean; readonly why: string | null }
  /** No worker took the start in time, or a person ended it. */
  | { readonly kind: 'not started' }
  /** Temporal has forgotten the start. */
  | { readonly kind: 'forgotten' };

export type Start = Action & {
  readonly run: RunName;
  readonly came: Came;
  /** The run's state now; null when there is no run. */
  readonly runState: string | null;
};

export async function readStart(place: Place, kept: KeptSchedule, action: Action): Promise<Start> {
  const came = await cameOf(place.client, action);
  const run = runAt(kept, action.nominalMs);
  const facts = await describeRun(place.client, place.mode, run);
  return { ...action, run, came, runState: facts?.state ?? null };
}

function runAt({ name, facts }: KeptSchedule, nominalMs: number): RunName {
  return { policy: name, id: todayIn(facts.zone ?? 'UTC', nominalMs) };
}

async function cameOf(client: Client, { workflowId, temporalRunId }: Action): Promise<Came> {
  const handle = client.workflow.getHandle(workflowId, temporalRunId, { followRuns: false });
  try {
    const shown = await describe(client, workflowId, temporalRunId);
    if (shown === null) return { kind: 'forgotten' };
    if (isOpen(shown)) return await underWay(client, shown);
    return { kind: 'done', result: (await handle.result()) as ScheduledResult };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { kind: 'forgotten' };
    if (!(error instanceof WorkflowFailedError)) throw error;
    const problems = problemsOfFailure(error.cause);
    return problems.length === 0 ? { kind: 'not started' } : { kind: 'refused', problems };
  }
}

async function underWay(
  client: Client,
  { raw, historyLength, workflowId }: WorkflowExecutionDescription,
): Promise<Came> {
  const isTaken = historyLength > 2 || (raw.pendingWorkflowTask?.startedTime ?? null) !== null;
  const [call] = raw.pendingActivities ?? [];
  const failure = call?.lastFailure ?? null;
  const why = failure === null ? null : await messageOf({ client, workflowId, kind: 'activity' }, failure);
  return { kind: 'under way', isTaken, why };
}
