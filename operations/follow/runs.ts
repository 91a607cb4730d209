/**
 * Runs as Temporal shows them: one by its name, or many by a search. Reads only. A closed run can be read as long as
 * Temporal keeps it and a worker answers.
 */
import { progressOfEnded, readProgress, type RunPage } from '../../domain/run/progress.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowExecutionInfo,
  type WorkflowExecutionStatusName,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Mode } from '../../domain/service/records.ts';
import { runName, workflowIdOf, type RunName, runOfWorkflowId } from '../../domain/references.ts';
import {
  joined,
  reportPages,
  type ReadChunkPage,
  type ReportPage,
  type ReportPayment,
  type Report,
  type ReportStatus,
} from '../../domain/run/report.ts';
import type { Policy } from '../../domain/policy.ts';
import { isRunCode, makeProblem, type Problem } from '../../domain/problems.ts';
import { isShown, type Waiting, type WaitReason } from '../../domain/waits.ts';
import type { Recorded } from '../../domain/people/instructions.ts';
import { readInstructions, withChunk } from '../../durable/instructions/read.ts';
import { RUN_TYPE, chunkIdOf, progressQuery, reportQuery, stateAttribute } from '../../workflows/names.ts';
import type { Progress } from '../../domain/run/progress.ts';
import type { RunInput } from '../../domain/run/calls.ts';
import { CommandFailure } from '../failure.ts';
import { describe, isOpen } from '../../durable/described.ts';
import { readStart } from '../../durable/history.ts';
import { IS_OPEN, keepNewest, listed } from '../../durable/listed.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { UNTAKEN_MS } from './until-it-ends.ts';
import { readChunkResult } from '../../durable/batches/chunks.ts';
import { readLive } from '../batches/open-chunks.ts';
import type { Place } from '../place.ts';
import { hasWorker } from '../watch/pollers.ts';
import { evidenceOf } from './instruction-evidence.ts';

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
  /** `HELD`, `COMPLETED` …, as the run said last; `TERMINATED` and `TIMED_OUT` where Temporal ended it. */
  readonly state: string;
  /** True when no worker has taken its first task. */
  readonly isUntaken: boolean;
};

/** A run that can be asked questions. */
type Asked = Pick<Place, 'client' | 'say'>;

/** A run as it describes itself. */
export type RunView = {
  readonly facts: RunFacts;
  readonly report: Report;
  readonly progress: Progress;
};

/** How long a worker may take to answer, where Temporal has not heard of any worker. */
export const ANSWER_LIMIT_MS = 10_000;
/**
 * The same where Temporal has heard of a worker in the last minutes: it may be busy, or may be reading a long history again.
 */
export const BUSY_LIMIT_MS = 30_000;

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
      fix: 'See `npx cambist list`. A run older than the namespace keeps is no longer known; the service still has its records.',
    },
  ]);
}

/** What Temporal shows of an open run that is stuck and cannot say so itself. The ids are Temporal's. */
export type Outside = {
  readonly historyLength: number;
  readonly pendingWorkflowTask: { readonly attempt: number; readonly isStarted: boolean } | null;
  readonly pendingActivities: readonly {
    readonly name: string;
    readonly attempt: number;
    /** Type of the failure of the last attempt; null when it has not failed. */
    readonly lastFailure: string | null;
  }[];
};

/** After so many failed attempts, the fault of a task or a call no longer counts as passing. */
const MANY_ATTEMPTS = 4;
/** With this failure, a poll says that it comes again. Nothing has failed. */
const NOT_YET = 'NOT_YET';

/** Why an open run is stuck, as one sentence; null when it is not stuck, or says so itself. Pure. */
export function stuckBy(outside: Outside, openForMs: number): string | null {
  const { pendingWorkflowTask: task, pendingActivities, historyLength } = outside;
  if (task !== null && task.attempt >= MANY_ATTEMPTS)
    return `Its workflow task has failed ${task.attempt - 1} times: this version of the worker cannot go on with it. See the failure in the Temporal UI; a reset is safe.`;
  if (historyLength <= 2 && task?.isStarted === false && openForMs >= UNTAKEN_MS)
    return 'No worker has taken it. Start one with `npx cambist worker`.';
  const call = pendingActivities.find(
    ({ attempt, lastFailure }) => attempt >= MANY_ATTEMPTS && lastFailure !== null && lastFailure !== NOT_YET,
  );
  if (call === undefined) return null;
  return `Its call ${call.name} has failed ${call.attempt - 1} times (${call.lastFailure ?? ''}). See the failure in the Temporal UI, and the worker’s log.`;
}

/** `stuckBy` of a run as it is in Temporal now; null also when the run has ended since. */
export async function readStuck(client: Client, facts: RunFacts, nowMs: number): Promise<string | null> {
  const shown = await describe(client, facts.workflowId, facts.temporalRunId);
  if (shown === null || !isOpen(shown)) return null;
  const { raw, historyLength } = shown;
  const task = raw.pendingWorkflowTask ?? null;
  const isStarted = (task?.startedTime ?? null) !== null;
  return stuckBy(
    {
      historyLength,
      pendingWorkflowTask: task === null ? null : { attempt: task.attempt ?? 1, isStarted },
      pendingActivities: (raw.pendingActivities ?? []).map(({ activityType, attempt, lastFailure }) => ({
        name: activityType?.name ?? '?',
        attempt: attempt ?? 1,
        lastFailure:
          (lastFailure ?? null) === null ? null : (lastFailure?.applicationFailureInfo?.type ?? 'failure'),
      })),
    },
    nowMs - facts.startedAtMs,
  );
}

/** Most runs that a search reads: the list is for people. */
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
};

function factsOf(run: RunName, described: Described, isUntaken: boolean): RunFacts {
  const temporalStatus = described.status.name;
  const told = described.typedSearchAttributes.get(stateAttribute) ?? null;
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
  };
}

/** What the run said last counts, unless Temporal knows that it no longer holds. */
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

/**
 * The report and the progress of a run. A completed run's report is its result; for other runs a worker is asked. What
 * people said about the run is added to the evidence.
 * @param limitMs how long a worker may take; absent: longer where Temporal has heard of a worker lately
 * @throws CommandFailure when no worker answers
 */
export async function readRun(place: Asked, facts: RunFacts, limitMs?: number): Promise<RunView> {
  const { chunks, ...view } = await readWithoutInstructions(place, facts, limitMs);
  const instructions = await readInstructionsOf(
    place.client,
    facts,
    chunks,
    Math.min(limitMs ?? INSTRUCTIONS_LIMIT_MS, INSTRUCTIONS_LIMIT_MS),
  );
  const said = instructions.map((each) => evidenceOf(each, facts.run));
  return { ...view, report: { ...view.report, evidence: [...view.report.evidence, ...said] } };
}

/** What people said; nothing when no worker answers for it: the report is shown without it. */
async function readInstructionsOf(
  client: Client,
  facts: RunFacts,
  chunks: number,
  limitMs: number,
): Promise<readonly Recorded[]> {
  const of = { client, mode: modeOf(facts), run: facts.run };
  const said: (readonly Recorded[])[] = [];
  const read = async (chunk?: number): Promise<void> => {
    const kept = await readInstructions(withChunk(of, chunk));
    said[chunk ?? 0] = kept?.instructions ?? [];
  };
  const left = Array.from({ length: chunks }, (_, index) => index + 1).values();
  const lane = async (): Promise<void> => {
    for (const chunk of left) await read(chunk);
  };
  try {
    await client.withDeadline(Date.now() + limitMs, async () => {
      await read();
      await Promise.all(Array.from({ length: CHUNKS_SIDE_BY_SIDE }, lane));
    });
  } catch {
    // What was read is told.
  }
  return said.flat();
}

/** For so many chunks of a batch at once, it is read what people said. */
const CHUNKS_SIDE_BY_SIDE = 8;

function modeOf({ workflowId }: RunFacts): Mode {
  return workflowId.startsWith('live/') ? 'LIVE' : 'SANDBOX';
}

/** `chunks`: how many chunks the run's batch has. */
async function readWithoutInstructions(
  place: Asked,
  facts: RunFacts,
  limitMs?: number,
): Promise<RunView & { readonly chunks: number }> {
  const { client } = place;
  const { read, ofChunk } = await questionsTo(place, facts, limitMs);
  const parts: Report[] = [];
  let chunks = 0;
  for await (const page of reportPages(read, ofChunk)) {
    parts.push(page.report);
    chunks = Math.max(chunks, page.chunks);
  }
  const told = joined(parts);
  if (facts.isOpen) return { facts, report: told, progress: await progressOf(place, facts, limitMs), chunks };
  const report = endedReport(told, facts, await readEnd(client, facts));
  return { facts, report, progress: progressOfEnded(report, { isBatch: chunks > 0 }), chunks };
}

/**
 * The report of a run in parts; no part grows with the batch. The first part has the run itself. The payments follow in the
 * order of the plan. The payments of a chunk that is lost are left out.
 */
export async function* readParts(place: Asked, facts: RunFacts): AsyncGenerator<ReportPage> {
  const { read, ofChunk } = await questionsTo(place, facts);
  const end = facts.isOpen ? null : await readEnd(place.client, facts);
  let isFirst = true;
  for await (const page of reportPages(read, ofChunk)) {
    yield isFirst && end !== null ? { ...page, report: endedReport(page.report, facts, end) } : page;
    isFirst = false;
  }
}

/** Only the payments of the run, one after the other. Each has the trace id of the service's last reply to a send of it. */
export async function* readPayments(place: Asked, facts: RunFacts): AsyncGenerator<TracedPayment> {
  for await (const { report, traceIds } of readParts(place, facts))
    for (const [index, payment] of report.payments.entries())
      yield { ...payment, traceId: traceIds[index] ?? null };
}

export type TracedPayment = ReportPayment & { readonly traceId: string | null };

/** How the parts of a report are read. The first part of a completed run is its result, which needs no worker. */
async function questionsTo(
  place: Asked,
  facts: RunFacts,
  limitMs?: number,
): Promise<{
  readonly read: (offset: number) => Promise<RunPage>;
  readonly ofChunk: (number: number) => ReadChunkPage;
}> {
  const { client } = place;
  const handle = client.workflow.getHandle(facts.workflowId, facts.temporalRunId);
  const result = facts.temporalStatus === 'COMPLETED' ? ((await handle.result()) as RunPage) : null;
  return {
    read: (offset) =>
      offset === 0 && result !== null
        ? Promise.resolve(result)
        : answerOf(place, facts, limitMs, () => handle.query(reportQuery, offset)),
    ofChunk: (number) => async (offset) => {
      const chunkId = chunkIdOf(modeOf(facts), facts.run, number);
      const ended = offset === 0 ? await readChunkResult(client, chunkId) : null;
      if (ended !== null) return ended.firstPage;
      const chunk = client.workflow.getHandle(chunkId);
      try {
        return await answerOf(place, facts, limitMs, () => chunk.query(reportQuery, offset));
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },
  };
}

/** The progress of an open run. A batch's progress is told by the batch itself. */
async function progressOf(place: Asked, facts: RunFacts, limitMs?: number): Promise<Progress> {
  const handle = place.client.workflow.getHandle(facts.workflowId, facts.temporalRunId);
  const heard = await readProgress((offset) =>
    answerOf(place, facts, limitMs, () => handle.query(progressQuery, offset)),
  );
  return liveOf(place, facts, heard);
}

/**
 * What a payment of a batch waits for, as its chunk says; null: for nothing, or Temporal does not know the chunk.
 * @param inBatch the number of its chunk, and its place there
 */
export async function readWaitingInBatch(
  place: Asked,
  facts: RunFacts,
  { chunk, index }: { readonly chunk: number; readonly index: number },
): Promise<Waiting | null> {
  const handle = place.client.workflow.getHandle(chunkIdOf(modeOf(facts), facts.run, chunk));
  try {
    const { progress } = await answerOf(place, facts, undefined, () => handle.query(progressQuery, index));
    return progress.items.find(({ kind }) => kind === 'payment')?.waiting ?? null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

function liveOf({ client }: Asked, facts: RunFacts, heard: Progress): Promise<Progress> {
  return readLive({ client, mode: modeOf(facts), run: facts.run }, heard);
}

/**
 * The same as `readRun`, for callers that only want to know how a run stands: of a batch no payment is read, and the result
 * has no report of it.
 */
export async function readOutline(place: Asked, facts: RunFacts, limitMs?: number): Promise<RunView> {
  const { read } = await questionsTo(place, facts, limitMs);
  const { report: head, progress: heard } = await read(0);
  if (heard === undefined) return readRun(place, facts, limitMs);
  const progress = await liveOf(place, facts, heard);
  const ended = facts.isOpen ? head : endedReport(head, facts, await readEnd(place.client, facts));
  const codes = whyUnpaid(progress);
  const share = codes.length === 1 ? 'all' : 'some';
  const unpaid = codes.map((code) => unpaidBy(code, share, progress, runName(facts.run)));
  return { facts, report: { ...ended, problems: [...ended.problems, ...unpaid] }, progress };
}

/**
 * Codes of what a batch has not paid. A rule that stopped the batch comes first, since it is the reason for most of them.
 */
function whyUnpaid({ batch }: Progress): readonly string[] {
  const codes = batch?.codes ?? [];
  const stop = codes.filter((code) => code === 'BATCH_STOPPED');
  return [...stop, ...codes.filter((code) => code !== 'BATCH_STOPPED')];
}

/** What is said of payments of a batch that were not read one by one. */
function unpaidBy(code: string, share: 'all' | 'some', { batch }: Progress, run: string): Problem {
  const { notPaid = 0 } = batch?.counts ?? {};
  const some = `${notPaid} ${notPaid === 1 ? 'payment is' : 'payments are'} not paid, ${share} of them for this.`;
  return {
    code: code as Problem['code'],
    item: 'payments',
    message: code === 'BATCH_STOPPED' ? `${makeProblem(code, null).message} ${some}` : some,
    fix: `See \`npx cambist report ${run}\` for each.`,
  };
}

/** What people said is read within this time, or left out. */
export const INSTRUCTIONS_LIMIT_MS = 2_500;
/**
 * A worker may lose a question, for example when it has just let go of the run. The question is then asked again, with more
 * time.
 */
const FIRST_QUESTION_LIMIT_MS = 2_500;

async function answerOf<T>(
  place: Asked,
  facts: RunFacts,
  limitMs: number | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  const startedAtMs = Date.now();
  let untilMs = startedAtMs + (limitMs ?? ANSWER_LIMIT_MS);
  let questionMs = FIRST_QUESTION_LIMIT_MS;
  let mayBeLonger = limitMs === undefined;
  for (;;) {
    try {
      return await place.client.withDeadline(Math.min(Date.now() + questionMs, untilMs), ask);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw error;
      questionMs *= 2;
      if (Date.now() + FIRST_QUESTION_LIMIT_MS / 2 > untilMs) {
        if (!mayBeLonger || !(await hasWorker(place.client, facts.taskQueue)))
          throw new CommandFailure('infrastructure', [noAnswer(facts, untilMs - startedAtMs)]);
        mayBeLonger = false;
        untilMs = startedAtMs + BUSY_LIMIT_MS;
        place.say(
          `No worker has answered for ${ANSWER_LIMIT_MS / 1_000} s; one was there in the last minutes, and may be busy. Waiting up to ${(BUSY_LIMIT_MS - ANSWER_LIMIT_MS) / 1_000} s more.`,
        );
      }
      await sleep(250);
    }
  }
}

function noAnswer(facts: RunFacts, waitedMs: number): Trouble {
  return {
    code: 'NO_WORKER',
    place: runName(facts.run),
    message: `no worker answered within ${Math.round(waitedMs / 1_000)} s; Temporal has the run as ${facts.state}`,
    fix: 'Start one with `npx cambist worker`; a report is read from a worker.',
  };
}

/** The problems in the failure with which a closed Temporal run ended. */
async function readEnd(client: Client, facts: RunFacts): Promise<readonly Problem[]> {
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
 * The report of a run that ended before it could report by itself: it had no plan, this program had a fault, or somebody
 * ended it from outside. What the run knows of its items stays as it is.
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
  return { ...report, status, problems: problems.length > 0 ? problems : report.problems };
}

function endedFromOutside(facts: RunFacts): Problem {
  const how = facts.temporalStatus === 'TERMINATED' ? 'terminated' : 'timed out';
  return {
    code: 'ENDED_FROM_OUTSIDE',
    item: null,
    message: `The run was ${how} in Temporal before it was finished; what it had under way may have been executed.`,
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

/** Why the items of a run wait now, as far as people need to know. */
export function reasonsOf(progress: Progress): readonly WaitReason[] {
  return progress.items.flatMap(({ waiting }) => (isShown(waiting) ? [waiting.reason] : []));
}

/** The input of a run; null when Temporal does not have it. */
export async function readInput(client: Client, facts: RunFacts): Promise<RunInput | null> {
  const start = await readStart(client, facts.workflowId, facts.temporalRunId);
  return (start?.input ?? null) as RunInput | null;
}

/** The policy that a run was started with. Who reads its payments from a file no longer needs the destinations. */
export async function policyOfRun(
  place: Place,
  facts: RunFacts,
): Promise<{ readonly policy: Policy; readonly destinations: null }> {
  const input = await readInput(place.client, facts);
  // It is loaded only now: a command that merely looks at runs reads no policy.
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
