/**
 * `readGo`: says whether the payments of a chunk may leave. It trusts nothing that the chunk was started
 * with: it checks the shape, the mode, and that the plan has the hash of these payments. Only the run gives
 * the go.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { slicesOf } from '../domain/batch.ts';
import { headOf } from '../domain/plan/plan.ts';
import { makeProblem } from '../domain/problems.ts';
import type { GoAnswer, GoCall } from '../domain/run/calls.ts';
import { isPayerOfChunk, payerOf } from '../domain/run/payer.ts';
import type { Activities } from '../workflows/calls.ts';
import { againstNow } from './against-now.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { readGiven, type ChunkMemory, type OfChunk } from './of-chunk.ts';
import { foreignMode } from './own-mode.ts';
import { notYet, slept } from './polling.ts';

/** How soon a chunk asks again by itself; the coordinator tells it sooner. */
const ASK_AGAIN_MS = 60_000;
/**
 * How soon a chunk asks a run again that is about to end, and how often in one attempt. Only a run that has
 * ended can be started again, and a large batch tells each of its chunks before it ends.
 */
const STILL_OPEN = { pauseMs: 1_000, most: 60 };
/**
 * The plan of a batch is large. So a worker reads it once for all of the batch's chunks that ask for their go
 * at about the same moment.
 */
const PLAN_READ_MS = 1_000;

export const readGo =
  (deps: Deps, memory: ChunkMemory): Activities['readGo'] =>
  (call) =>
    beating(async () => {
      for (let asked = 1; ; asked += 1) {
        const answer = await answerOf(deps, call, memory);
        if (answer !== null) return answer;
        const isInline = asked < STILL_OPEN.most && (await slept(deps, STILL_OPEN.pauseMs));
        if (!isInline) throw notYet('The run still has to end', STILL_OPEN.pauseMs);
      }
    });

/** Null: the run of the chunk is about to end, and can be started again once it has ended. */
async function answerOf(deps: Deps, call: GoCall, memory: ChunkMemory): Promise<GoAnswer | null> {
  const { mode, run, number } = call;
  const foreign = foreignMode(deps, mode);
  if (foreign !== null) return { kind: 'wait', wait: foreign };
  const { workflowId = '', runId = '' } = ActivityContext.current().info.workflowExecution ?? {};
  const given = await readGiven(deps, memory, call, { workflowId, runId });
  if (!('input' in given))
    return { kind: 'refused', problem: makeProblem('INPUT_INVALID', null, { message: given.why }) };
  const { input, hash } = given;
  const go = await memory.inPlace(() => deps.chunks.readGo(mode, run, number));
  const wasReset = call.originalRunId !== runId || call.wasReset === true;
  if (go === 'over') {
    const payer = payerOf({ coordinator: null, chunk: runId });
    // The chunk was reset or started again, and has heard nothing in this Temporal run; or its run has ended without hearing
    // what the chunk took up again, perhaps in an earlier history. The person who did it wants its unpaid payments tried again,
    // and what was paid told. No run ends before its chunks know of every payment how it has ended: a new history that does not
    // know has something else handed on to it.
    const hasHeard = call.heard !== null && isPayerOfChunk(call.heard, runId);
    const isStartedAgain = !input.isFirst && !call.isContinued;
    const isTakenUp = call.originalRunId !== runId || isStartedAgain;
    const isAgain =
      (isTakenUp && !hasHeard) ||
      (call.isOpen && (wasReset || !input.isFirst || (call.isContinued && !hasHeard)));
    if (isAgain && !(await deps.chunks.reopenRun(mode, run))) return null;
    return { kind: isAgain ? 'reopened' : 'over', runId: payer };
  }
  if (go === null || !go.mayGo) return noGoYet();
  const ofRun = memory.plans.get(JSON.stringify([mode, run]), () => deps.plans.read(mode, run, 0));
  const state = await ofRun.value(PLAN_READ_MS);
  if (state.kind !== 'plan') {
    ofRun.forget();
    return noGoYet();
  }
  const { plan } = state;
  const { batch } = plan;
  const planned = batch?.chunks[number - 1];
  if (batch === null || planned?.hash !== hash)
    return { kind: 'refused', problem: makeProblem('CHUNK_DIFFERS', null) };
  const isFirstRun = plan.madeFor === go.runId && input.isFirst && !wasReset;
  const isFirst = isFirstRun && !call.isContinued;
  const payer = payerOf({ coordinator: go.runId, chunk: runId });
  const ofChunk: OfChunk = {
    plan,
    batch,
    planned,
    number,
    payments: input.payments,
    isFirstRun,
    payer,
    wakes: go.wakes,
  };
  const against = await againstNow(deps, memory, ofChunk);
  if ('wait' in against) return { kind: 'wait', wait: against.wait };
  return {
    kind: 'go',
    plan: headOf(plan),
    isFresh: go.isFresh && isFirst,
    ...against,
    released: go.released,
    most: go.most,
    stopped: go.stopped,
    wakes: go.wakes,
    rules: batch.rules,
    ...slicesOf(batch),
    runId: payer,
  };
}

function noGoYet(): GoAnswer {
  const problem = makeProblem('CHUNK_WAITS', null);
  return { kind: 'wait', wait: { afterMs: ASK_AGAIN_MS, reason: 'service', problem } };
}
