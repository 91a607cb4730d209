/**
 * What a run says of itself: its report and its progress. A closed run can be read as long as Temporal keeps it and a worker
 * answers.
 */
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import {
  NOTHING_KEPT,
  spelledOut,
  wordsOf,
  type Fact,
  type Recorded,
} from '../../domain/people/instructions.ts';
import type { Problem } from '../../domain/problems.ts';
import { meaningOf } from '../../domain/writes/step.ts';
import { runName } from '../../domain/references.ts';
import { progressOfEnded, readProgress, type Progress, type RunPage } from '../../domain/run/progress.ts';
import {
  joined,
  reportPages,
  type ReadChunkPage,
  type Report,
  type ReportPage,
  type ReportPayment,
  seenAs,
} from '../../domain/run/report.ts';
import type { Unpaid } from '../../domain/run/chunk-state.ts';
import { isShown, type Waiting, type WaitReason } from '../../domain/waits.ts';
import { readChunkResult, runThatTells } from '../../durable/batches/chunks.ts';
import { readInstructions, withChunk } from '../../durable/instructions/read.ts';
import { keyMissingText, keyNeededFor } from '../../domain/unreadable.ts';
import { chunkIdOf, progressQuery, reportQuery } from '../../workflows/names.ts';
import { readLive } from '../batches/open-chunks.ts';
import { answerOf, type AskingPlace } from './answers.ts';
import { endedReport, readEnd } from './ended-report.ts';
import { INSTRUCTION_CALL, evidenceOf } from './instruction-evidence.ts';
import { pastOf } from '../replay/past.ts';
import { modeOf, type RunFacts } from './runs.ts';

/** A run as it describes itself. */
export type RunView = {
  readonly facts: RunFacts;
  readonly report: Report;
  readonly progress: Progress;
};

/** `said`: what people said about the run, as `spelledOut` makes it; null: it could not be read in time. */
export type WholeRunView = RunView & { readonly said: readonly Recorded[] | null };

/** What people said is read within this time, or it is left out. */
export const INSTRUCTIONS_LIMIT_MS = 2_500;

/**
 * The report and the progress of a run. A completed run's report is its result; for other runs a worker is asked. What
 * people said about the run is added to the evidence.
 * @param limitMs how long a worker may take; absent: longer where Temporal has heard of a worker lately
 * @throws CommandFailure when no worker answers
 */
export async function readRun(place: AskingPlace, facts: RunFacts, limitMs?: number): Promise<WholeRunView> {
  const view = await readWithoutInstructions(place, facts, limitMs);
  const { said, isWhole } = await readInstructionsOf(
    place.client,
    facts,
    Math.min(limitMs ?? INSTRUCTIONS_LIMIT_MS, INSTRUCTIONS_LIMIT_MS),
  );
  return { ...withWords(view, said), said: isWhole ? said : null };
}

/**
 * The same, with what people have said in the evidence.
 * @param signers who has signed what, by the ids of the signatures, where that was judged; null: it is not verified
 */
export function withWords<View extends RunView>(
  view: View,
  said: readonly Recorded[],
  signers: ReadonlyMap<string, string | null> = new Map(),
): View {
  const { facts, report } = view;
  const words = wordsOf(said).map((word) =>
    evidenceOf(word.said, facts.run, { items: word.items, all: said, ...signerOf(word.said, signers) }),
  );
  const evidence = [...report.evidence.filter(({ call }) => call !== INSTRUCTION_CALL), ...words];
  return { ...view, report: { ...report, evidence } };
}

function signerOf({ id }: Recorded, signers: ReadonlyMap<string, string | null>): { signer?: string | null } {
  const signer = signers.get(id);
  return signer === undefined ? {} : { signer };
}

/** What people said. Where Temporal does not show all of it in time, the report shows what could be read. */
async function readInstructionsOf(
  client: Client,
  facts: RunFacts,
  limitMs: number,
): Promise<{ readonly said: readonly Recorded[]; readonly isWhole: boolean }> {
  const of = { client, mode: modeOf(facts), run: facts.run };
  let { instructions } = NOTHING_KEPT;
  const lists: (readonly Fact[])[] = [];
  let isWhole = true;
  const lane = async (left: Iterable<number>): Promise<void> => {
    for (const chunk of left) lists[chunk] = (await readInstructions(withChunk(of, chunk)))?.facts ?? [];
  };
  try {
    await client.withDeadline(Date.now() + limitMs, async () => {
      ({ instructions } = (await readInstructions(of)) ?? NOTHING_KEPT);
      const left = chunksNamedIn(instructions).values();
      await Promise.all(Array.from({ length: CHUNKS_SIDE_BY_SIDE }, () => lane(left)));
    });
  } catch {
    isWhole = false;
  }
  return { said: spelledOut({ instructions, facts: lists.flat() }).instructions, isWhole };
}

/** The chunks with payments that a person has named to be paid again. */
function chunksNamedIn(instructions: readonly Recorded[]): ReadonlySet<number> {
  return new Set(
    instructions.flatMap((said) =>
      said.kind === 'pay these again' ? said.chunks.map(([chunk]) => chunk) : [],
    ),
  );
}

/** Whether a person has said of an item of the run that it is paid again. */
export async function isSaidToPayAgain({ client }: AskingPlace, facts: RunFacts): Promise<boolean> {
  const kept = await client.withDeadline(Date.now() + INSTRUCTIONS_LIMIT_MS, () =>
    readInstructions({ client, mode: modeOf(facts), run: facts.run }),
  );
  return (kept ?? NOTHING_KEPT).instructions.some(
    ({ kind }) => kind === 'pay again' || kind === 'pay these again',
  );
}

/** What people said is read for this many chunks of a batch side by side. */
const CHUNKS_SIDE_BY_SIDE = 8;

async function readWithoutInstructions(
  place: AskingPlace,
  facts: RunFacts,
  limitMs?: number,
): Promise<RunView> {
  const { client } = place;
  const { read, ofChunk } = await questionsTo(place, facts, limitMs);
  const parts: Report[] = [];
  let chunks = 0;
  for await (const page of reportPages(read, ofChunk)) {
    parts.push(page.report);
    chunks = Math.max(chunks, page.chunks);
  }
  const told = { ...joined(parts), ...(await pastOf(client, facts)) };
  if (facts.isOpen) return { facts, report: told, progress: await progressOf(place, facts, limitMs) };
  const report = endedReport(told, facts, await readEnd(client, facts));
  return { facts, report, progress: progressOfEnded(report, { isBatch: chunks > 0 }) };
}

/**
 * The report of a run in parts; no part grows with the batch. The first part has the run itself. The payments follow in the
 * order of the plan. The payments of a chunk that is lost are left out.
 */
export async function* readParts(place: AskingPlace, facts: RunFacts): AsyncGenerator<ReportPage> {
  const { read, ofChunk } = await questionsTo(place, facts);
  const end = facts.isOpen ? null : await readEnd(place.client, facts);
  const past = await pastOf(place.client, facts);
  let isFirst = true;
  for await (const page of reportPages(read, ofChunk)) {
    const report = isFirst ? { ...page.report, ...past } : page.report;
    yield { ...page, report: isFirst && end !== null ? endedReport(report, facts, end) : report };
    isFirst = false;
  }
}

/** Only the payments of the run, in the order of the plan. */
export async function* readPayments(place: AskingPlace, facts: RunFacts): AsyncGenerator<TracedPayment> {
  for await (const { report, traceIds } of readParts(place, facts)) {
    const seenPaid = seenAs('paid', report);
    for (const [index, payment] of report.payments.entries())
      yield { ...payment, traceId: traceIds[index] ?? null, seenPaidAt: seenPaid.get(payment.id) ?? null };
  }
}

/** `traceId`: of the service's last reply to a send of it. `seenPaidAt`: when the run saw it paid. A reset may lose both. */
export type TracedPayment = ReportPayment & {
  readonly traceId: string | null;
  readonly seenPaidAt: string | null;
};

/** How to read the parts of a report. The first part of a completed run is its result, for which no worker is asked. */
async function questionsTo(
  place: AskingPlace,
  facts: RunFacts,
  limitMs?: number,
): Promise<{
  readonly read: (offset: number) => Promise<RunPage>;
  readonly ofChunk: (number: number) => ReadChunkPage;
}> {
  const { client } = place;
  const handle = client.workflow.getHandle(facts.workflowId, facts.temporalRunId);
  const result = facts.temporalStatus === 'COMPLETED' ? ((await handle.result()) as RunPage) : null;
  const key = keyNeededFor(result);
  if (key !== null) throw new Error(keyMissingText(key));
  return {
    read: (offset) =>
      offset === 0 && result !== null
        ? Promise.resolve(result)
        : answerOf(place, facts, limitMs, {
            workflowId: facts.workflowId,
            ask: () => handle.query(reportQuery, offset),
          }),
    ofChunk: (number) => async (offset) => {
      const chunkId = chunkIdOf(modeOf(facts), facts.run, number);
      const runId = await runThatTells(client, chunkId);
      const ended = offset === 0 ? await readChunkResult(client, chunkId, runId) : null;
      if (ended !== null) return ended.firstPage;
      const chunk = client.workflow.getHandle(chunkId, runId);
      try {
        return await answerOf(place, facts, limitMs, {
          workflowId: chunkId,
          ask: () => chunk.query(reportQuery, offset),
        });
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },
  };
}

/** The progress of an open run. For a batch, its open chunks are asked too. */
async function progressOf(place: AskingPlace, facts: RunFacts, limitMs?: number): Promise<Progress> {
  const handle = place.client.workflow.getHandle(facts.workflowId, facts.temporalRunId);
  const heard = await readProgress((offset) =>
    answerOf(place, facts, limitMs, {
      workflowId: facts.workflowId,
      ask: () => handle.query(progressQuery, offset),
    }),
  );
  return liveOf(place, facts, heard);
}

/**
 * The wait of a payment of a batch, as its chunk says; null: it waits for nothing, or Temporal does not know the chunk.
 * @param inBatch the number of its chunk, and its place there
 */
export async function readWaitingInBatch(
  place: AskingPlace,
  facts: RunFacts,
  { chunk, index }: { readonly chunk: number; readonly index: number },
): Promise<Waiting | null> {
  const handle = place.client.workflow.getHandle(chunkIdOf(modeOf(facts), facts.run, chunk));
  try {
    const { progress } = await answerOf(place, facts, undefined, {
      workflowId: handle.workflowId,
      ask: () => handle.query(progressQuery, index),
    });
    return progress.items.find(({ kind }) => kind === 'payment')?.waiting ?? null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

function liveOf({ client }: AskingPlace, facts: RunFacts, heard: Progress): Promise<Progress> {
  return readLive({ client, mode: modeOf(facts), run: facts.run }, heard);
}

/**
 * The same as `readRun`, for callers that only want to know how a run stands. No payment of a batch is read, and none is in
 * the report.
 */
export async function readOutline(place: AskingPlace, facts: RunFacts, limitMs?: number): Promise<RunView> {
  const { read } = await questionsTo(place, facts, limitMs);
  const { report: head, progress: heard } = await read(0);
  if (heard === undefined) return readRun(place, facts, limitMs);
  const progress = await liveOf(place, facts, heard);
  const ended = facts.isOpen ? head : endedReport(head, facts, await readEnd(place.client, facts));
  const unpaid = whyUnpaid(progress).map((one) => unpaidBy(one, progress, runName(facts.run)));
  return { facts, report: { ...ended, problems: [...ended.problems, ...unpaid] }, progress };
}

/**
 * The codes of payments of a batch that are not paid. The rule that stopped the batch comes first, since it is the reason
 * for most of them.
 */
function whyUnpaid({ batch }: Progress): readonly Unpaid[] {
  const unpaid = batch?.unpaid ?? [];
  const isStop = ({ code }: Unpaid): boolean => code === 'BATCH_STOPPED';
  return [...unpaid.filter(isStop), ...unpaid.filter((one) => !isStop(one))];
}

/** The problem that stands in the report for payments of a batch that were not read one by one. */
function unpaidBy({ code, payments }: Unpaid, { batch }: Progress, run: string): Problem {
  const { notPaid = 0 } = batch?.counts ?? {};
  const some = `${payments} of ${notPaid === 1 ? '1 payment that is' : `${notPaid} payments that are`} not paid.`;
  return {
    code: code as Problem['code'],
    item: 'payments',
    message: code === 'BATCH_STOPPED' ? meaningOf(code) : `${some} ${meaningOf(code)}`,
    fix: `See \`npx cambist report ${run}\` for each.`,
  };
}

/** The reasons why items of a run wait now, without those that people need not know. */
export function reasonsOf(progress: Progress): readonly WaitReason[] {
  return progress.items.flatMap(({ waiting }) => (isShown(waiting) ? [waiting.reason] : []));
}
