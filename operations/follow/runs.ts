/**
 * Runs as Temporal shows them: one by its name, or many by a search. Reads only, and asks no worker.
 */
import type { Client, WorkflowExecutionInfo, WorkflowExecutionStatusName } from '@temporalio/client';
import type { Mode } from '../../domain/service/records.ts';
import { hasUnreadable, keyNeededForMemo } from '../../domain/unreadable.ts';
import { runName, runOfWorkflowId, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Policy } from '../../domain/policy.ts';
import type { RunInput } from '../../domain/run/calls.ts';
import { describe, isOpen } from '../../durable/described.ts';
import { readStart } from '../../durable/history.ts';
import { IS_OPEN, keepNewest, listed } from '../../durable/listed.ts';
import { RUN_TYPE, stateAttribute } from '../../workflows/names.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';

/** A run as Temporal shows it, without asking the run. */
export type RunFacts = {
  readonly run: RunName;
  readonly workflowId: string;
  /** Temporal's run id. It never names money; the address in the UI needs it. */
  readonly temporalRunId: string;
  readonly taskQueue: string;
  readonly temporalStatus: WorkflowExecutionStatusName;
  readonly isOpen: boolean;
  readonly startedAtMs: number;
  readonly closedAtMs: number | null;
  /** `HELD`, `COMPLETED` …, as the run told last; `TERMINATED` and `TIMED_OUT` where Temporal ended it. */
  readonly state: string;
  /** True when no worker has taken its first task. */
  readonly isUntaken: boolean;
  /** True when a person has given it a memo that Cambist cannot read. */
  readonly hasOddMemo: boolean;
  /** The key that has sealed its memo, which this command does not have; null: it has it. */
  readonly missingKey: string | null;
};

/** The newest Temporal run of a run; null when Temporal knows none. */
export async function describeRun(client: Client, mode: Mode, run: RunName): Promise<RunFacts | null> {
  const described = await describe(client, workflowIdOf(mode, run));
  if (described === null) return null;
  const pending = described.raw.pendingWorkflowTask ?? null;
  // The history then has two events: the start, and the first task, which is scheduled but not started.
  const isUntaken = described.historyLength <= 2 && (pending?.startedTime ?? null) === null;
  return factsOf(run, described, isUntaken);
}

/** @throws CommandFailure when Temporal knows no such run */
export async function requireRun(
  { client, mode, namespace }: Pick<Place, 'client' | 'mode' | 'namespace'>,
  run: RunName,
): Promise<RunFacts> {
  const facts = await describeRun(client, mode, run);
  if (facts !== null) return facts;
  throw new CommandFailure('bad input', [
    {
      code: 'RUN_NOT_FOUND',
      place: runName(run),
      message: `Temporal knows no run of this name in mode ${mode}, namespace "${namespace}"`,
      fix: 'See `npx cambist list`. Temporal forgets old runs; the service still has their records.',
    },
  ]);
}

/** A search reads at most this many runs, since the list is for people. */
const MAX_LISTED = 10_000;

/** Runs of a mode, newest first. A run that was reset or started again is listed once, as its newest Temporal run. */
export async function listRuns(
  client: Client,
  mode: Mode,
  options: { readonly policy: string | null; readonly onlyOpen: boolean; readonly limit: number | null },
): Promise<readonly RunFacts[]> {
  const { policy, onlyOpen, limit } = options;
  const newest = new Map<string, WorkflowExecutionInfo>();
  let read = 0;
  const also = onlyOpen ? [IS_OPEN] : [];
  for await (const info of listed(client, { types: [RUN_TYPE], mode, policy, also })) {
    read += 1;
    if (runOfWorkflowId(info.workflowId) !== null) keepNewest(newest, info);
    if (read >= MAX_LISTED || (limit !== null && newest.size > limit)) break;
  }
  const runs = [...newest.values()].flatMap((info) => {
    const run = runOfWorkflowId(info.workflowId);
    return run === null ? [] : [factsOf(run, info, false)];
  });
  return runs.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

type Described = {
  readonly workflowId: string;
  readonly runId: string;
  readonly taskQueue: string;
  readonly status: { readonly name: WorkflowExecutionStatusName };
  readonly startTime: Date;
  readonly closeTime?: Date;
  readonly typedSearchAttributes: { get(key: typeof stateAttribute): string | undefined };
  readonly memo?: Readonly<Record<string, unknown>>;
};

function factsOf(run: RunName, described: Described, isUntaken: boolean): RunFacts {
  const temporalStatus = described.status.name;
  const told = described.typedSearchAttributes.get(stateAttribute) ?? null;
  const missingKey = keyNeededForMemo(described.memo);
  return {
    run,
    workflowId: described.workflowId,
    temporalRunId: described.runId,
    taskQueue: described.taskQueue,
    temporalStatus,
    isOpen: isOpen(described),
    startedAtMs: described.startTime.getTime(),
    closedAtMs: described.closeTime?.getTime() ?? null,
    state: stateOf(temporalStatus, told),
    isUntaken,
    hasOddMemo: missingKey === null && hasUnreadable(described.memo),
    missingKey,
  };
}

/** The state that the run told last counts, unless Temporal's own status shows that it no longer holds. */
export function stateOf(temporalStatus: WorkflowExecutionStatusName, told: string | null): string {
  if (isOpen({ status: { name: temporalStatus } })) return told === 'HELD' ? 'HELD' : 'RUNNING';
  const ended = told === null || ['RUNNING', 'HELD'].includes(told) ? null : told;
  const byTemporal = temporalStatus === 'TERMINATED' || temporalStatus === 'TIMED_OUT';
  return byTemporal ? temporalStatus : (ended ?? temporalStatus);
}

/** True for a run that Temporal ended from outside: such a run is simply started again. */
export function isEndedFromOutside(facts: RunFacts): boolean {
  return !facts.isOpen && (facts.temporalStatus === 'TERMINATED' || facts.temporalStatus === 'TIMED_OUT');
}

export function modeOf({ workflowId }: RunFacts): Mode {
  return workflowId.startsWith('live/') ? 'LIVE' : 'SANDBOX';
}

/** The input of a run; null when Temporal does not have it. */
export async function readInput(client: Client, facts: RunFacts): Promise<RunInput | null> {
  const start = await readStart(client, facts.workflowId, facts.temporalRunId);
  return (start?.input ?? null) as RunInput | null;
}

/**
 * The policy that a run was started with. `destinations` is null: a command that reads the file for its results does not
 * check the accounts again.
 */
export async function policyOfRun(
  place: Place,
  facts: RunFacts,
): Promise<{ readonly policy: Policy; readonly destinations: null }> {
  const input = await readInput(place.client, facts);
  // The parser is loaded only now, since a command that merely looks at runs reads no policy.
  const { loadPolicy } = await import('../../language/policy/load-policy.ts');
  const loaded = input === null ? null : loadPolicy(input.policyText, input.policyFile);
  if (loaded?.ok === true) return { policy: loaded.policy, destinations: null };
  throw new CommandFailure('infrastructure', [
    {
      code: 'PLAN_UNREADABLE',
      place: runName(facts.run),
      message: 'Temporal does not show the policy that it was started with',
      fix: 'See the run in the Temporal UI.',
    },
  ]);
}
