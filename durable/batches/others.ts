/**
 * What other batches of a policy have paid or may still pay, as far as Temporal still shows it. Without a
 * history, the memos of chunks tell which chunks may have a payment of the same id. Only those few are asked
 * what has become of it. Activities call this file; it only reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { nameOfPayment } from '../../domain/batch.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { runName, workflowIdOf, type RunName, runOfAnyWorkflowId } from '../../domain/references.ts';
import {
  isHeld,
  recordIn,
  type Coordinator,
  type Holder,
  type Holders,
  type Suspect,
} from '../../domain/run/claims.ts';
import type { Mode } from '../../domain/service/records.ts';
import { hashOfName, readHashes } from '../../language/batch/chunk-hash.ts';
import {
  CHUNK_TYPE,
  PLAN_TYPE,
  RUN_TYPE,
  chunkIdOf,
  chunkNumberOf,
  planIdOf,
} from '../../workflows/names.ts';
import { describe, hasEndedByItself, isOpen } from '../described.ts';
import { readHolds } from '../other-runs/holds.ts';
import { IS_OPEN, completedOfId, listed } from '../listed.ts';
import { isPlanMade, readPlan } from '../plans.ts';
import { readChunk } from './submitted-chunk.ts';

type Of = { readonly mode: Mode; readonly run: RunName };

const QUESTION_LIMIT_MS = 5_000;
const ASKED_AT_ONCE = 5;
/** The clocks of Temporal and of a worker differ, and Temporal's lists are a little behind. */
const SLACK_MS = 120_000;
/**
 * So long an answer is kept about which batches were planned before this one. That seldom changes: only when
 * one of them takes up its unpaid payments again.
 */
const SIDE_BY_SIDE_KEPT_MS = 15_000;
const MOST_KEPT = 100;

/** What the activities are given of this file. */
export function otherBatchesOf(client: Client) {
  const kept = new Map<string, { readonly atMs: number; readonly runs: Promise<readonly RunName[]> }>();
  return {
    suspects: (of: Of, names: readonly string[], sinceMs: number) => suspectsOf(client, of, names, sinceMs),
    holders: (mode: Mode, suspects: readonly Suspect[]) => holdersOf(client, mode, suspects),
    plannedBeside: (of: Of, madeAtMs: number): Promise<readonly RunName[]> => {
      const key = `${workflowIdOf(of.mode, of.run)} ${madeAtMs}`;
      const known = kept.get(key);
      if (known !== undefined && performance.now() - known.atMs < SIDE_BY_SIDE_KEPT_MS) return known.runs;
      const runs = plannedBeside(client, of, madeAtMs);
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(key, { atMs: performance.now(), runs });
      runs.catch(() => kept.delete(key));
      return runs;
    },
  };
}

/** Chunks of the policy's other batches, open since then, whose memo has the hash of one of these names. */
async function suspectsOf(
  client: Client,
  of: Of,
  names: readonly string[],
  sinceMs: number,
): Promise<readonly Suspect[]> {
  const byHash = new Map(names.map((name) => [hashOfName(name), name]));
  const found = new Map<string, Suspect>();
  for await (const info of listOthers(client, of, [CHUNK_TYPE], `${since(sinceMs)} OR ${IS_OPEN}`)) {
    if (found.has(info.workflowId)) continue;
    const run = runOfAnyWorkflowId(info.workflowId);
    const number = chunkNumberOf(info.workflowId);
    if (run === null || number === null) continue;
    const hashes = readHashes(info.memo?.['items']);
    // A chunk without such a memo may have all of the names.
    const suspected = hashes === null ? names : hashes.flatMap((hash) => byHash.get(hash) ?? []);
    if (suspected.length > 0) found.set(info.workflowId, { run, number, names: suspected });
  }
  return [...found.values()];
}

/** Which of the payments other batches have paid or hold, as their chunks say now. */
async function holdersOf(client: Client, mode: Mode, suspects: readonly Suspect[]): Promise<Holders> {
  const held = new Map<string, Holder>();
  const plans = new Map<string, Promise<Plan | null>>();
  const planOf = (run: RunName): Promise<Plan | null> => {
    const known = plans.get(runName(run)) ?? planOfRun(client, mode, run);
    plans.set(runName(run), known);
    return known;
  };
  for (let from = 0; from < suspects.length; from += ASKED_AT_ONCE) {
    const some = suspects.slice(from, from + ASKED_AT_ONCE);
    // A few chunks at a time.
    const answers = await Promise.all(
      some.map(async (suspect) => heldBy(client, mode, suspect, await planOf(suspect.run))),
    );
    for (const [index, answer] of answers.entries()) {
      if (answer !== null) for (const [name, holder] of answer) held.set(name, holder);
      else return { held, silent: some.map(({ run }) => runName(run))[index] ?? null };
    }
  }
  return { held, silent: null };
}

/** Which of these payments a chunk has paid or holds; none without a plan. Null: it does not answer. */
async function heldBy(
  client: Client,
  mode: Mode,
  { run, number, names }: Suspect,
  plan: Plan | null,
): Promise<readonly (readonly [name: string, Holder])[] | null> {
  if (plan === null) return [];
  const chunk = await readChunk({ client, mode }, run, number);
  if (chunk.kind !== 'payments') return [];
  const letters = plan.batch?.chunks[number - 1]?.unpayable ?? '';
  const indexes = new Map(chunk.payments.map((payment, index) => [nameOfPayment(payment), index]));
  const there = names.filter((name) => indexes.has(name));
  if (there.length === 0) return [];
  // The chunk is asked first, then its run. If the batch is taken up again in between, the chunk does not
  // know the new run yet.
  const chunkId = chunkIdOf(mode, run, number);
  const answer = await readHolds(client, { workflowId: chunkId }, there, QUESTION_LIMIT_MS);
  const coordinator = await coordinatorOf(client, mode, run);
  if (answer === null) return null;
  return there.flatMap((name) => {
    const isWanted = (letters[indexes.get(name) ?? 0] ?? '.') === '.';
    if (!isHeld(answer, coordinator, { name, isWanted, madeFor: plan.madeFor })) return [];
    return [[name, { run: runName(run), withdrawalId: recordIn(answer, name) }]];
  });
}

async function planOfRun(client: Client, mode: Mode, run: RunName): Promise<Plan | null> {
  if (!(await isPlanMade(client, mode, run))) return null;
  const state = await readPlan(client, mode, run, QUESTION_LIMIT_MS);
  if (state.kind === 'plan') return state.plan;
  throw new Error(`The plan of run ${runName(run)} cannot be read.`);
}

async function coordinatorOf(client: Client, mode: Mode, run: RunName): Promise<Coordinator> {
  const shown = await describe(client, workflowIdOf(mode, run));
  if (shown === null || shown.type !== RUN_TYPE) return { kind: 'cut off' };
  if (isOpen(shown)) return { kind: 'open', runId: shown.runId };
  return hasEndedByItself(shown) ? { kind: 'ended' } : { kind: 'cut off' };
}

/**
 * Batches that were planned before this one, and that this one may not have seen when it was planned: their
 * plans were made at about the same time, or they have taken up their unpaid payments again since. Of two
 * such batches, the one that was planned first has the payments.
 */
async function plannedBeside(client: Client, of: Of, madeAtMs: number): Promise<readonly RunName[]> {
  const runs = new Map<string, RunName>();
  const types = [RUN_TYPE, PLAN_TYPE, CHUNK_TYPE];
  for await (const { workflowId } of listOthers(client, of, types, since(madeAtMs - SLACK_MS))) {
    const run = runOfAnyWorkflowId(workflowId);
    if (run !== null) runs.set(runName(run), run);
  }
  if (runs.size === 0) return [];
  const own = await plannedAtMs(client, of.mode, of.run);
  const earlier: RunName[] = [];
  for (const [name, run] of runs) {
    // One after the other: there are few, and mostly none.
    const atMs = await plannedAtMs(client, of.mode, run);
    if (atMs === null) continue;
    if (own === null || atMs < own || (atMs === own && name < runName(of.run))) earlier.push(run);
  }
  return earlier;
}

/** When the first plan of a run was made, by Temporal's clock; null: none was. */
async function plannedAtMs(client: Client, mode: Mode, run: RunName): Promise<number | null> {
  const workflowId = planIdOf(mode, run);
  // The list may be a little behind.
  const newest = await describe(client, workflowId);
  const [first] = await completedOfId(client, workflowId, PLAN_TYPE);
  const closed = [newest?.status.name === 'COMPLETED' ? newest : undefined, first].flatMap(
    (shown) => shown?.closeTime?.getTime() ?? [],
  );
  return closed.length === 0 ? null : Math.min(...closed);
}

function since(sinceMs: number): string {
  const moment = new Date(sinceMs).toISOString();
  return `StartTime >= '${moment}' OR CloseTime >= '${moment}'`;
}

/** Workflows of other runs of the policy. */
function listOthers(
  client: Client,
  { mode, run }: Of,
  types: readonly string[],
  when: string,
): AsyncIterable<WorkflowExecutionInfo> {
  const own = workflowIdOf(mode, run);
  const also = [`WorkflowId != '${own}'`, `WorkflowId NOT STARTS_WITH '${own}/'`, `(${when})`];
  return listed(client, { types, mode, policy: run.policy, also });
}
