/**
 * `readGo`: says whether the payments of a chunk may leave. It trusts nothing that the chunk was started
 * with: it checks the shape, the mode, and that the plan has the hash of these payments. Only the run gives
 * the go.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import pLimit, { type LimitFunction } from 'p-limit';
import {
  firstHolders,
  isUnpayable,
  lanesOf,
  nameOfPayment,
  type BatchPayment,
  type PlanBatch,
  type PlanChunk,
} from '../domain/batch.ts';
import { AccountBook, type Held } from '../domain/plan/batch-items.ts';
import { LOOK_ALIKE, ownSince, type LookAlikes } from '../domain/writes/look-alikes.ts';
import { headOf, type Plan } from '../domain/plan/plan.ts';
import type { LookAlikeApproval } from '../domain/people/instructions.ts';
import { makeProblem, type Problem, type RunCode } from '../domain/problems.ts';
import { runName } from '../domain/references.ts';
import type { ChunkInput, GoAnswer, GoCall, PlanState } from '../domain/run/calls.ts';
import type { Wait } from '../domain/waits.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import { readAccounts } from '../service/observe.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { findAlike, judged, readApproval, type FoundAlike } from './look-alikes.ts';
import { askOthers, findOthers } from './other-batches.ts';
import { foreignMode } from './own-mode.ts';
import { notYet, slept } from './polling.ts';
import { wrongChunk } from './run-input.ts';
import { SharedReads } from './shared-read.ts';

/** How soon a chunk asks again by itself; the coordinator tells it sooner. */
const ASK_AGAIN_MS = 60_000;
/**
 * How soon a chunk asks a run again that is about to end, and how often in one attempt. Only a run that has
 * ended can be started again, and a large batch tells each of its chunks before it ends.
 */
const STILL_OPEN = { pauseMs: 1_000, most: 60 };
/**
 * How many chunks of a worker ask their run at a time. When a batch ends, all its chunks ask at once. A run that ends
 * while it is asked is read again from its first event, for each chunk that asks. Without this limit that would take
 * most of a worker's memory.
 */
const ASK_SIDE_BY_SIDE = 4;

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

/** How many inputs of chunks are kept in memory, because each chunk asks for its go a few times. */
const MOST_GIVEN = 16;

/**
 * The plan of a batch is large. So a worker reads it once for all of the batch's chunks that ask for their go
 * at about the same moment.
 */
const PLAN_READ_MS = 1_000;
const MOST_PLANS = 4;

/** What a worker keeps between two calls of `readGo`. */
type Own = {
  readonly inPlace: LimitFunction;
  readonly given: SharedReads<Given>;
  readonly plans: SharedReads<PlanState>;
};

export const readGo = (deps: Deps): Activities['readGo'] => {
  const own = {
    inPlace: pLimit(ASK_SIDE_BY_SIDE),
    given: new SharedReads<Given>(deps.clock, MOST_GIVEN),
    plans: new SharedReads<PlanState>(deps.clock, MOST_PLANS),
  };
  return (call) =>
    beating(async () => {
      for (let asked = 1; ; asked += 1) {
        const answer = await answerOf(deps, call, own);
        if (answer !== null) return answer;
        const isInline = asked < STILL_OPEN.most && (await slept(deps, STILL_OPEN.pauseMs));
        if (!isInline) throw notYet('The run still has to end', STILL_OPEN.pauseMs);
      }
    });
};

/**
 * The input with which a Temporal run of a chunk was started, which never changes, and the hash of its
 * payments; or why it is not the chunk's.
 */
type Given = { readonly input: ChunkInput; readonly hash: string } | { readonly why: string | null };

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
async function answerOf(deps: Deps, call: GoCall, { inPlace, given, plans }: Own): Promise<GoAnswer | null> {
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
    // The chunk was reset and has heard nothing in this Temporal run; or its run has ended without hearing
    // what the chunk took up again. The person who reset it wants its unpaid payments tried again.
    const isToGoOn = call.isOpen || call.heard?.endsWith(name) !== true;
    const isReset = call.originalRunId !== runId && isToGoOn;
    if (isReset && !(await deps.chunks.reopenRun(mode, run))) return null;
    return { kind: isReset ? 'reopened' : 'over', runId: name };
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
  const { parallel, stopAfter, canary } = batch;
  const isFirstRun = plan.madeFor === go.runId && input.isFirst && call.originalRunId === runId;
  const isFirst = isFirstRun && !call.isContinued;
  const ofChunk = {
    plan,
    batch,
    planned,
    number,
    payments: input.payments,
    isFirstRun,
    takenUpBy: `${go.runId}/${runId}`,
    wakes: go.wakes,
  };
  const sideBySide = Math.floor(parallel / lanesOf(batch));
  // One scan answers both.
  const [now, alike] = await Promise.all([unpayableNow(deps, ofChunk), alikeNow(deps, ofChunk)]);
  if ('wait' in now) return { kind: 'wait', wait: now.wait };
  if ('wait' in alike) return { kind: 'wait', wait: alike.wait };
  return {
    kind: 'go',
    plan: headOf(plan),
    isFresh: go.isFresh && isFirst,
    ...now,
    ...alike,
    released: go.released,
    most: go.most,
    stopped: go.stopped,
    wakes: go.wakes,
    rules: { parallel, stopAfter, canary },
    sideBySide,
    callSize: sideBySide === 1 || stopAfter !== null || canary !== null ? SMALL_CALL : LARGEST_CALL,
    // A chunk that its run has known before must tell that it begins.
    beginsQuietly: isFirst && call.heard === null,
    runId: `${go.runId}/${runId}`,
  };
}

type OfChunk = {
  readonly plan: Plan;
  readonly batch: PlanBatch;
  readonly planned: PlanChunk;
  /** From 1. */
  readonly number: number;
  readonly payments: readonly BatchPayment[];
  readonly isFirstRun: boolean;
  /** Names who looks: the Temporal run of the batch's run, and that of the chunk. */
  readonly takenUpBy: string;
  /** How often people have asked that everything is looked at again. */
  readonly wakes: number;
};
type UnpayableNow = { readonly unpayable: string | null; readonly heldBy: readonly string[] };

/**
 * The payments that cannot be made. After a reset or a new start, the service and other batches are asked
 * again, because a person may have mended the cause.
 */
async function unpayableNow(deps: Deps, of: OfChunk): Promise<UnpayableNow | { readonly wait: Wait }> {
  const { batch, planned, payments, isFirstRun } = of;
  const known = isFirstRun ? planned.unpayable : await lettersNow(deps, of);
  const wanted = payments.filter((_payment, index) => !isUnpayable(known?.[index])).map(nameOfPayment);
  const held = isFirstRun ? await heldSideBySide(deps, of, wanted) : await heldNow(deps, of, wanted);
  if ('wait' in held) return held;
  if (held.size === 0) return { unpayable: known, heldBy: isFirstRun ? batch.heldBy : [] };
  const letters = payments.map((payment, index) => {
    const letter = known?.[index];
    if (isUnpayable(letter)) return letter;
    return held.has(nameOfPayment(payment)) ? 'd' : '.';
  });
  return { unpayable: letters.join(''), heldBy: firstHolders([...held.values(), ...batch.heldBy]) };
}

/**
 * Looks again at the payments that could not be made when the plan was made. It checks their accounts;
 * `unpayableNow` asks what other batches have.
 */
async function lettersNow(deps: Deps, { planned, payments }: OfChunk): Promise<string | null> {
  const letters = planned.unpayable;
  if (letters === null) return null;
  const suspects = payments.filter((_payment, index) => isUnpayable(letters[index]));
  const listed = await readAccounts(deps.reader, {
    wanted: suspects.map(([, account]) => account),
    unusable: deps.facts.accountStatuses.unusable,
    signal: ActivityContext.current().cancellationSignal,
  });
  const book = new AccountBook(listed);
  return payments
    .map((payment, index) => (isUnpayable(letters[index]) ? (book.against(payment) ?? '.') : '.'))
    .join('');
}

/**
 * The payments that other batches have which were planned before this one, or at about the same time. The
 * turn of one of the two may have lapsed, so that this batch did not see it.
 */
async function heldSideBySide(
  deps: Deps,
  { plan, batch }: OfChunk,
  names: readonly string[],
): Promise<Held | { readonly wait: Wait }> {
  const of = { mode: plan.credentials.mode, run: plan.run };
  const others = new Set((await deps.otherBatches.plannedBeside(of, plan.madeAtMs)).map(runName));
  if (others.size === 0 || names.length === 0) return new Map();
  const sinceMs = deps.clock.wallMs() - batch.dedupeMs;
  const all = await deps.otherBatches.suspects(of, names, sinceMs);
  const suspects = all.filter(({ run }) => others.has(runName(run)));
  const held = await askOthers(deps, of, { suspects, paid: new Map(), failed: new Set() });
  if ('wait' in held || held.size === 0) return held;
  // Only the list of the service shows which of their records have failed.
  const found = await findOthers(deps, { ...of, names: [...held.keys()], sinceMs });
  return 'wait' in found ? found : askOthers(deps, of, found);
}

/**
 * What other batches held when a chunk took up its unpaid payments again. Every batch that asks later sees that the
 * chunk has them.
 */
const heldAtTakeUp = new Map<string, Held>();
const MOST_KEPT = 400;

async function heldNow(
  deps: Deps,
  { plan, batch, takenUpBy }: OfChunk,
  names: readonly string[],
): Promise<Held | { readonly wait: Wait }> {
  const known = heldAtTakeUp.get(takenUpBy);
  if (known !== undefined) return known;
  const of = { mode: plan.credentials.mode, run: plan.run };
  const sinceMs = deps.clock.wallMs() - batch.dedupeMs;
  const found = await findOthers(deps, { ...of, names, sinceMs });
  const held = 'wait' in found ? found : await askOthers(deps, of, found);
  if ('wait' in held) return held;
  if (heldAtTakeUp.size >= MOST_KEPT) heldAtTakeUp.clear();
  heldAtTakeUp.set(takenUpBy, held);
  return held;
}

type GoOf = Extract<GoAnswer, { kind: 'go' }>;

/** At most so many records are named, because each costs bytes in every answer. */
const MOST_NAMED = 100;

/**
 * What looks like payments of the chunk now. In the run that made the plan, only what the plan found is
 * checked again. Once the payments may have been sent, newer records may be their own, and their keys show
 * whether they are.
 */
async function alikeNow(
  deps: Deps,
  of: OfChunk,
): Promise<Pick<GoOf, 'alike' | 'alikeIds'> | { readonly wait: Wait }> {
  const { plan, batch, planned, number, payments, isFirstRun } = of;
  const before = planned.alike ?? null;
  if (isFirstRun && before?.includes(LOOK_ALIKE.held) !== true)
    return before === null ? {} : { alike: before };
  const approval = await readApproval(deps, { mode: plan.credentials.mode, run: plan.run });
  const keyMs = ownSince(deps.facts, plan.sendWindows.opensAtMs);
  // What the plan found was there before the plan, whatever the clocks say.
  const ofPlanMs = Math.min(keyMs, isFirstRun ? Infinity : plan.madeAtMs);
  const found = await foundAlike(deps, of, approval, ofPlanMs);
  if ('wait' in found) return found;
  const sinceMs = deps.clock.wallMs() - batch.dedupeMs;
  const by = (ownMs: number): LookAlikes =>
    judged(deps, found, { sinceMs, ownSinceMs: Math.min(keyMs, ownMs), approval });
  const ofPlan = by(ofPlanMs);
  const since = by(plan.madeAtMs - CLOCK_TOLERANCE_MS);
  const [lettersOfPlan, lettersSince] = [ofPlan, since].map((one) => one.lettersOf(number, payments));
  const alikeIds: Record<number, string> = {};
  const letters = payments.map((payment, index) => {
    const isOfPlan = (before?.[index] ?? LOOK_ALIKE.none) !== LOOK_ALIKE.none;
    if (isFirstRun && !isOfPlan) return LOOK_ALIKE.none;
    const letter = (isOfPlan ? lettersOfPlan : lettersSince)?.[index] ?? LOOK_ALIKE.none;
    const [record] = letter === LOOK_ALIKE.held ? (isOfPlan ? ofPlan : since).of(payment) : [];
    if (record !== undefined && Object.keys(alikeIds).length < MOST_NAMED) alikeIds[index] = record.id;
    return letter;
  });
  return { alike: letters.join(''), alikeIds };
}

/** What was found for a chunk a moment ago. A chunk asks for its go whenever there is news. */
const alikeFound = new Map<string, { readonly atMs: number; readonly found: FoundAlike }>();
const ALIKE_KEPT_MS = 60_000;

async function foundAlike(
  deps: Deps,
  { plan, batch, payments, takenUpBy, wakes }: OfChunk,
  approval: LookAlikeApproval | null,
  ownSinceMs: number,
): Promise<FoundAlike | { readonly wait: Wait }> {
  const sinceMs = Math.min(deps.clock.wallMs() - batch.dedupeMs, approval?.sinceMs ?? Infinity);
  const key = [takenUpBy, wakes, approval?.sinceMs].join();
  const known = alikeFound.get(key);
  const nowMs = deps.clock.monotonicMs();
  if (known !== undefined && nowMs - known.atMs < ALIKE_KEPT_MS) return known.found;
  const of = { mode: plan.credentials.mode, run: plan.run, chunks: [payments], sinceMs, ownSinceMs };
  const found = await findAlike(deps, of);
  if ('wait' in found) return found;
  if (alikeFound.size >= MOST_KEPT) alikeFound.clear();
  alikeFound.set(key, { atMs: nowMs, found });
  return found;
}

function noGoYet(): GoAnswer {
  const problem = makeProblem('CHUNK_WAITS', null);
  return { kind: 'wait', wait: { afterMs: ASK_AGAIN_MS, reason: 'service', problem } };
}

function refused(code: RunCode, why: string | null): GoAnswer {
  const problem: Problem = makeProblem(code, null, why === null ? {} : { message: why });
  return { kind: 'refused', problem };
}
