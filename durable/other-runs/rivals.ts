/**
 * Whether another run of the policy has done an item of the same name, or may still do it, as far as Temporal still shows it.
 * An item that a silent run may have done waits. Only reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { hasDone } from '../../domain/run/claims.ts';
import { runName, runOfWorkflowId, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { Rival } from '../../domain/writes/step.ts';
import { RUN_TYPE } from '../../workflows/names.ts';
import { isOpen } from '../described.ts';
import { keepNewest, listed } from '../listed.ts';
import { isPlanMade } from '../plans.ts';
import { readAllHolds } from './holds.ts';

type Of = { readonly client: Client; readonly mode: Mode; readonly run: RunName };

/** At most so many runs of a policy are looked at, the newest. */
const MOST_RUNS = 200;
/** A run without a worker must not use up the time for the write. */
const ASKED_WITHIN_MS = 5_000;
const ASKED_AT_ONCE = 10;

/**
 * Finds a run of the same policy and business date that was started after this one, and that has done the
 * item of this name or may still do it. Also finds such a run that does not answer and may have done the
 * item, because it has a plan. Without a plan nothing is sent.
 */
export async function doneElsewhere(of: Of, item: string): Promise<Rival> {
  const date = of.run.id.slice(0, 10);
  const { ownStartMs, others } = await runsOfPolicy(of);
  // When the list does not show this run, any other run may be the later one.
  const sinceMs = Number.isFinite(ownStartMs) ? ownStartMs : 0;
  const later = others.filter(
    ({ workflowId, startTime }) =>
      startTime.getTime() > sinceMs && workflowId.split('.')[1]?.startsWith(date) === true,
  );
  const name = item.toLowerCase();
  const silent: string[] = [];
  const untilMs = performance.now() + ASKED_WITHIN_MS;
  const asked = { names: [name], untilMs, atOnce: ASKED_AT_ONCE };
  for await (const { info, holds } of readAllHolds(of.client, later, asked)) {
    const run = runOfWorkflowId(info.workflowId);
    if (holds !== null && hasDone(holds, name))
      return { rival: run === null ? info.workflowId : runName(run), silent: null };
    // An open run that has read no plan yet may still carry out one that was made before.
    if (holds === null || (!holds.hasPlan && isOpen(info))) silent.push(info.workflowId);
  }
  for (const workflowId of silent) {
    const run = runOfWorkflowId(workflowId);
    // One after the other: there is mostly none, and seldom more than one.
    if (run !== null && (await isPlanMade(of.client, of.mode, run)))
      return { rival: null, silent: runName(run) };
  }
  return { rival: null, silent: null };
}

/** The newest Temporal run of each other run of the policy, and when this run first started, by Temporal's clock. */
async function runsOfPolicy({
  client,
  mode,
  run,
}: Of): Promise<{ readonly ownStartMs: number; readonly others: readonly WorkflowExecutionInfo[] }> {
  const ownId = workflowIdOf(mode, run);
  const newest = new Map<string, WorkflowExecutionInfo>();
  let ownStartMs = Infinity;
  for await (const info of listed(client, { types: [RUN_TYPE], mode, policy: run.policy })) {
    if (info.workflowId === ownId) ownStartMs = Math.min(ownStartMs, info.startTime.getTime());
    else keepNewest(newest, info);
    if (newest.size >= MOST_RUNS) break;
  }
  return { ownStartMs, others: [...newest.values()] };
}
