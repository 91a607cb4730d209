/**
 * `readGo`: says whether the payments of a chunk may leave. It trusts nothing that the chunk was started
 * with: it checks the shape, the mode, and that the plan has the hash of these payments. Only the run gives
 * the go.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { lanesOf } from '../domain/batch.ts';
import { headOf } from '../domain/plan/plan.ts';
import { makeProblem, type Problem, type RunCode } from '../domain/problems.ts';
import type { GoAnswer, GoCall } from '../domain/run/calls.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import type { Activities } from '../workflows/calls.ts';
import { againstNow } from './against-now.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import type { ChunkMemory, Given, OfChunk } from './of-chunk.ts';
import { foreignMode } from './own-mode.ts';
import { notYet, slept } from './polling.ts';
import { wrongChunk } from './run-input.ts';

/** How soon a chunk asks again by itself; the coordinator tells it sooner. */
const ASK_AGAIN_MS = 60_000;
/**
 * How soon a chunk asks a run again that is about to end, and how often in one attempt. Only a run that has
 * ended can be started again, and a large batch tells each of its chunks before it ends.
 */
const STILL_OPEN = { pauseMs: 1_000, most: 60 };
/**
 * How many payments one call has. More would be faster, but so many always fit into a payload of 128 KiB,
 * whatever the service says about each.
 */
export const LARGEST_CALL = 36;
/**
 * The same where payments leave one by one, because an attempt sends for 20 s at most; and where a rule may stop the
 * batch, because a call always goes to its end.
 */
const SMALL_CALL = 25;

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

async function readGiven(
  deps: Deps,
  call: GoCall,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
): Promise<Given> {
  const input = await deps.chunks.readInput(workflowId, runId);
  const why = input === null ? 'Temporal does not show it.' : wrongChunk(input, call);
  return input === null || why !== null ? { why } : { input, hash: hashOfChunk(input.payments) };
}

/** Null: the run of the chunk is about to end, and can be started again once it has ended. */
async function answerOf(deps: Deps, call: GoCall, memory: ChunkMemory): Promise<GoAnswer | null> {
  const { inPlace, given, plans } = memory;
  const { mode, run, number } = call;
  const foreign = foreignMode(deps, mode);
  if (foreign !== null) return { kind: 'wait', wait: foreign };
  const { workflowId = '', runId = '' } = ActivityContext.current().info.workflowExecution ?? {};
  const start = given.get(JSON.stringify([workflowId, runId, mode, run, number]), () =>
    readGiven(deps, call, { workflowId, runId }),
  );
  const started = await start.value(Number.POSITIVE_INFINITY);
  if (!('input' in started)) {
    start.forget();
    return refused('INPUT_INVALID', started.why);
  }
  const { input, hash } = started;

  const go = await inPlace(() => deps.chunks.readGo(mode, run, number));
  if (go === 'over') {
    const name = `/${runId}`;
    // The chunk was reset or started again, and has heard nothing in this Temporal run; or its run has ended without hearing
    // what the chunk took up again. The person who did it wants its unpaid payments tried again, and what was paid told.
    const isToGoOn = call.isOpen || call.heard?.endsWith(name) !== true;
    const isStartedAgain = !input.isFirst && !call.isContinued;
    const isAgain = (call.originalRunId !== runId || isStartedAgain) && isToGoOn;
    if (isAgain && !(await deps.chunks.reopenRun(mode, run))) return null;
    return { kind: isAgain ? 'reopened' : 'over', runId: name };
  }
  if (go === null || !go.mayGo) return noGoYet();
  const ofRun = plans.get(JSON.stringify([mode, run]), () => deps.plans.read(mode, run, 0));
  const state = await ofRun.value(PLAN_READ_MS);
  if (state.kind !== 'plan') {
    ofRun.forget();
    return noGoYet();
  }
  const { plan } = state;
  const { batch } = plan;
  const planned = batch?.chunks[number - 1];
  if (batch === null || planned?.hash !== hash) return refused('CHUNK_DIFFERS', null);
  const { rules } = batch;
  const isFirstRun = plan.madeFor === go.runId && input.isFirst && call.originalRunId === runId;
  const isFirst = isFirstRun && !call.isContinued;
  const ofChunk: OfChunk = {
    plan,
    batch,
    planned,
    number,
    payments: input.payments,
    isFirstRun,
    takenUpBy: `${go.runId}/${runId}`,
    wakes: go.wakes,
  };
  const sideBySide = Math.floor(rules.parallel / lanesOf(batch));
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
    rules,
    sideBySide,
    callSize:
      sideBySide === 1 || rules.stopAfter !== null || rules.canary !== null ? SMALL_CALL : LARGEST_CALL,
    // A chunk that its run has known before must tell that it begins.
    beginsQuietly: isFirst && call.heard === null,
    runId: `${go.runId}/${runId}`,
  };
}

function noGoYet(): GoAnswer {
  const problem = makeProblem('CHUNK_WAITS', null);
  return { kind: 'wait', wait: { afterMs: ASK_AGAIN_MS, reason: 'service', problem } };
}

function refused(code: RunCode, why: string | null): GoAnswer {
  const problem: Problem = makeProblem(code, null, why === null ? {} : { message: why });
  return { kind: 'refused', problem };
}
