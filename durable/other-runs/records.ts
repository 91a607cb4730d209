/**
 * What other runs of ours have done, as far as Temporal still shows it: which records of the service are
 * theirs, and whether another run of the policy has done an item of the same name. Activities call this file;
 * it writes nothing. When nobody knows whose a record is, the record is left to a person. An item that a
 * silent run may have done waits.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { CREATED_SLACK_MS } from '../../domain/writes/lookups.ts';
import type { Mode, Withdrawal } from '../../domain/service/records.ts';
import { runName, workflowIdOf, type RunName, runOfWorkflowId } from '../../domain/references.ts';
import type { Rival } from '../../domain/writes/step.ts';
import { readReport as readWholeReport, type Report } from '../../domain/run/report.ts';
import { recordsOfBatches } from '../batches/records.ts';
import { isOpen } from '../described.ts';
import { keepNewest, listed } from '../listed.ts';
import { isPlanMade } from '../plans.ts';
import { RUN_TYPE, reportQuery } from '../../workflows/names.ts';

type Of = { readonly client: Client; readonly mode: Mode; readonly run: RunName };

/** At most so many runs are asked one question. A record that none of them knows belongs to no run. */
const MOST_RUNS = 200;
const QUESTION_LIMIT_MS = 2_500;
/** For all questions of a call: a run without a worker must not use up the time for the write. */
const ALL_QUESTIONS_LIMIT_MS = 5_000;
const ASKED_AT_ONCE = 10;
/** The reports of Temporal runs that have ended, which do not change any more. */
const ended = new Map<string, Report>();
const MOST_KEPT = 500;

/** Ids of the records that another run, or any chunk of a batch (even of this run), counts as its own. */
export async function recordsOfOthers(
  of: Of,
  records: readonly Withdrawal[],
  withinMs: number,
): Promise<readonly string[]> {
  const { client, mode } = of;
  const sinceMs = Math.min(...records.map(({ createdAt }) => Date.parse(createdAt))) - CREATED_SLACK_MS;
  const ids = records.map(({ id }) => id);
  const untilMs = performance.now() + withinMs;
  // Side by side, so that neither uses up the other's time.
  const [ofRuns, { items }] = await Promise.all([
    recordsOfRuns(of, { ids, sinceMs, untilMs }),
    recordsOfBatches(client, { mode, sinceMs, untilMs, ids, batches: null }),
  ]);
  return [...new Set([...ofRuns, ...items.keys()])];
}

async function recordsOfRuns(
  of: Of,
  {
    ids,
    sinceMs,
    untilMs,
  }: { readonly ids: readonly string[]; readonly sinceMs: number; readonly untilMs: number },
): Promise<readonly string[]> {
  const asked = new Set(ids);
  const theirs: string[] = [];
  const { others } = await runsOf(of, null);
  const candidates = others.filter(({ closeTime }) => (closeTime?.getTime() ?? Infinity) >= sinceMs);
  for await (const { report } of readReports(of.client, candidates, untilMs)) {
    for (const { withdrawalId } of report.payments)
      if (withdrawalId !== null && asked.delete(withdrawalId)) theirs.push(withdrawalId);
    if (asked.size === 0) break;
  }
  return theirs;
}

/**
 * Finds a run of the same policy and business date that was started after this one, and that has done the
 * item of this name or may still do it. Also finds such a run that does not answer and may have done the
 * item, because it has a plan. Without a plan nothing is sent.
 */
export async function doneElsewhere(of: Of, item: string): Promise<Rival> {
  const date = of.run.id.slice(0, 10);
  const { ownStartMs, others } = await runsOf(of, of.run.policy);
  // When the list does not show this run, any other run may be the later one.
  const sinceMs = Number.isFinite(ownStartMs) ? ownStartMs : 0;
  const later = others.filter(
    ({ workflowId, startTime }) =>
      startTime.getTime() > sinceMs && workflowId.split('.')[1]?.startsWith(date) === true,
  );
  const silent = new Set(later.map(({ workflowId }) => workflowId));
  const untilMs = performance.now() + ALL_QUESTIONS_LIMIT_MS;
  for await (const { info, report } of readReports(of.client, later, untilMs)) {
    if (hasDone(report, item)) return { rival: report.run, silent: null };
    // An open run that has read no plan yet may still carry out one that was made before.
    if (hasItems(report) || !isOpen(info)) silent.delete(info.workflowId);
  }
  for (const workflowId of silent) {
    const run = runOfWorkflowId(workflowId);
    // One after the other: there is mostly none, and seldom more than one.
    if (run !== null && (await isPlanMade(of.client, of.mode, run)))
      return { rival: null, silent: runName(run) };
  }
  return { rival: null, silent: null };
}

function hasItems({ legs, payments, totals }: Report): boolean {
  return legs.length + payments.length + totals.length > 0;
}

/** Whether a run has done the item of this name, or holds it. */
export function hasDone(report: Report, item: string): boolean {
  const leg = report.legs.find(({ id }) => id === item);
  if (leg?.outcome === 'TRADED' || leg?.outcome === 'NEEDS_HUMAN') return true;
  const payment = report.payments.find(({ id }) => id === item);
  if (payment === undefined || payment.outcome === 'NOT_PAID') return false;
  return payment.outcome !== 'PENDING' || payment.withdrawalId !== null;
}

/** The newest Temporal run of each other run, and when this run first started, by Temporal's clock. */
async function runsOf(
  { client, mode, run }: Of,
  policy: string | null,
): Promise<{ readonly ownStartMs: number; readonly others: readonly WorkflowExecutionInfo[] }> {
  const ownId = workflowIdOf(mode, run);
  const newest = new Map<string, WorkflowExecutionInfo>();
  let ownStartMs = Infinity;
  for await (const info of listed(client, { types: [RUN_TYPE], mode, policy })) {
    if (info.workflowId === ownId) ownStartMs = Math.min(ownStartMs, info.startTime.getTime());
    else keepNewest(newest, info);
    if (newest.size >= MOST_RUNS) break;
  }
  return { ownStartMs, others: [...newest.values()] };
}

type Answered = { readonly info: WorkflowExecutionInfo; readonly report: Report };

/** The reports that come in time. A few are read side by side. */
async function* readReports(
  client: Client,
  infos: readonly WorkflowExecutionInfo[],
  untilMs: number,
): AsyncGenerator<Answered, void, void> {
  for (let from = 0; from < infos.length && performance.now() < untilMs; from += ASKED_AT_ONCE) {
    const asked = infos
      .slice(from, from + ASKED_AT_ONCE)
      .map(async (info) => ({ info, report: await readReport(client, info) }));
    // Few at once: mostly the first reports answer the question.
    for (const { info, report } of await Promise.all(asked)) if (report !== null) yield { info, report };
  }
}

async function readReport(client: Client, info: WorkflowExecutionInfo): Promise<Report | null> {
  const known = ended.get(info.runId);
  if (known !== undefined) return known;
  try {
    const handle = client.workflow.getHandle(info.workflowId, info.runId);
    const report = await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () =>
      readWholeReport(
        (offset) => handle.query(reportQuery, offset),
        // Chunks are asked directly, all of them at once (`recordsOfBatches`).
        () => async () => null,
      ),
    );
    if (info.closeTime !== undefined && ended.size < MOST_KEPT) ended.set(info.runId, report);
    return report;
  } catch {
    return null;
  }
}
