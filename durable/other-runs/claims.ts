/**
 * Whose is it? Asks Temporal for all that other runs of ours know of a record or an item (`domain/run/claims.ts` judges). The
 * runs and chunks that may have it are listed once, and each is asked once what it holds. Reads no history of theirs. Only
 * reads.
 */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { nameOfPayment } from '../../domain/batch.ts';
import { itemsOfRecordIn, type Kept } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import {
  Answers,
  isHeld,
  mayTake,
  recordIn,
  rivalry,
  type Claim,
  type Coordinator,
  type Holder,
  type Holders,
  type Holds,
  type Standing,
  type Suspect,
} from '../../domain/run/claims.ts';
import {
  runName,
  runOfAnyWorkflowId,
  runOfWorkflowId,
  workflowIdOf,
  type RunName,
} from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { CREATED_SLACK_MS } from '../../domain/writes/lookups.ts';
import type { Rival } from '../../domain/writes/step.ts';
import { hashOfName, readHashes } from '../../language/batch/chunk-hash.ts';
import {
  CHUNK_TYPE,
  PLAN_TYPE,
  RUN_TYPE,
  chunkIdOf,
  chunkNumberOf,
  instructionsIdOf,
  planIdOf,
} from '../../workflows/names.ts';
import { isFirstOfId } from '../batches/chunks.ts';
import { readChunk } from '../batches/submitted-chunk.ts';
import { describe, hasEndedByItself, isOpen } from '../described.ts';
import { fewAtOnce } from '../few-at-once.ts';
import { IS_OPEN, firstCompletedPlan, keepNewest, listed } from '../listed.ts';
import { readInstructions } from '../instructions/read.ts';
import { isPlanMade, readPlan } from '../plans.ts';
import { keptForMs } from '../retention.ts';
import { readAllHolds, readHolds } from './holds.ts';

/** The run that asks. */
type Of = { readonly mode: Mode; readonly run: RunName };

/** A record without a name of ours. */
type Unnamed = { readonly id: string; readonly createdAt: string };

/** At most so many runs of a policy are looked at for rivals, the newest. */
const MOST_RUNS = 200;
/** A run without a worker must not use up the time for the write. */
const RIVALS_WITHIN_MS = 5_000;
/** A worker answers one chunk after the other; runs are small, and their workers may be away. */
const AT_ONCE = { chunks: 4, runs: 10 };
const BATCHES_WITHIN_MS = 5_000;
const BATCHES_AT_ONCE = 5;
/** The clocks of Temporal and of a worker differ, and Temporal's lists are a little behind. */
const SLACK_MS = 120_000;

export type Claims = ReturnType<typeof claimsOf>;

/** What people have said of a run, and which of it lacks the signatures that it needs. */
type Heard = (run: RunName, kept: Kept) => Promise<Kept>;

/**
 * What activities and commands are given of this file. Names of payments are those of `nameOfPayment`.
 * @param heard as the worker judges it; a command does not know who has signed
 */
export function claimsOf(client: Client, heard: Heard = async (_run, kept) => kept) {
  return {
    whose: whose.bind(null, client),
    named: isNamedElsewhere.bind(null, { client, heard }),
    rival: rivalOf.bind(null, client),
    suspects: suspectsOf.bind(null, client),
    holders: holdersOf.bind(null, client),
    plannedBeside: plannedBeside.bind(null, client),
    unknown: unknownRuns.bind(null, client),
    /** How long Temporal keeps a workflow that has ended. */
    keptForMs: keptForMs.bind(null, client),
  };
}

/**
 * Whose each of these records is. The run that asks is not asked itself, and its chunks are: one payment may have the record of
 * another one.
 */
async function whose(
  client: Client,
  { mode, run }: Of,
  records: readonly Unnamed[],
  withinMs: number,
): Promise<readonly Claim[]> {
  const untilMs = performance.now() + withinMs;
  const answers = new Answers(records.map(({ id }) => id));
  const ask = async (infos: readonly WorkflowExecutionInfo[], atOnce: number): Promise<void> => {
    for await (const { info, holds } of readAllHolds(client, infos, { names: null, untilMs, atOnce })) {
      const asked = runOfAnyWorkflowId(info.workflowId);
      if (asked !== null) answers.add(asked, holds, newest.standingOf(info));
      if (answers.areEnough) return;
    }
  };
  const createdAt = records.map((record) => record.createdAt);
  const newest = await newestSince(client, mode, [RUN_TYPE, CHUNK_TYPE], ...createdAt);
  const all = newest.others(workflowIdOf(mode, run));
  const ofType = (wanted: string) => all.filter(({ type }) => type === wanted);
  // Side by side, so that neither uses up the other's time.
  await Promise.all([ask(ofType(RUN_TYPE), AT_ONCE.runs), ask(ofType(CHUNK_TYPE), AT_ONCE.chunks)]);
  return answers.claims;
}

/** The newest Temporal run of each workflow of these types that was open when the first of these records was made, or since. */
async function newestSince(
  client: Client,
  mode: Mode,
  types: readonly string[],
  ...createdAt: readonly string[]
): Promise<Newest> {
  const sinceMs = Math.min(...createdAt.map((moment) => Date.parse(moment))) - CREATED_SLACK_MS;
  const newest = new Newest();
  const also = [`(CloseTime >= '${new Date(sinceMs).toISOString()}' OR ${IS_OPEN})`];
  for await (const info of listed(client, { types, mode, also })) newest.note(info);
  return newest;
}

/**
 * Whether people have named this record for another item, of this run or another one, that may still take it. What they say of
 * the payments of a batch is kept with its run. Words of others that lack signatures, or that this worker cannot judge, count too: the
 * worker that acts by them may judge otherwise. Null: what people have said of some run could not be read in time.
 */
async function isNamedElsewhere(
  { client, heard }: { readonly client: Client; readonly heard: Heard },
  { mode, run, item }: Of & { readonly item: string },
  record: Unnamed,
  withinMs: number,
): Promise<boolean | null> {
  const untilMs = performance.now() + withinMs;
  const newest = await newestSince(client, mode, [RUN_TYPE], record.createdAt);
  const others = newest
    .others(workflowIdOf(mode, run))
    .flatMap(({ workflowId }) => runOfWorkflowId(workflowId) ?? []);
  const told = await fewAtOnce([run, ...others], AT_ONCE.runs, async (each) => {
    if (performance.now() > untilMs) return null;
    const items = await readInstructions({ client, mode, run: each })
      .then((kept) => (kept === null ? [] : itemsNaming({ run: each, kept, recordId: record.id }, heard)))
      .catch(() => null);
    if (items === null) return null;
    const rivals = items.filter((named) => each !== run || named !== item);
    return rivals.length === 0 ? [] : [{ run: each, items: rivals }];
  });
  for (const { run: other, items } of told.flatMap((each) => each ?? []))
    if (await mayOneTake(client, { mode, run: other }, items, record, untilMs)) return true;
  return told.includes(null) ? null : false;
}

/** Few runs name the record at all, and only those are judged. */
export async function itemsNaming(
  { run, kept, recordId }: { readonly run: RunName; readonly kept: Kept; readonly recordId: string },
  heard: Heard,
): Promise<readonly string[]> {
  const isNamed = kept.instructions.some((said) => said.kind === 'executed' && said.recordId === recordId);
  return isNamed ? itemsOfRecordIn(await heard(run, kept), recordId) : [];
}

/** Whether one of these items of a run, or of its chunks, may still take the record. Whoever does not answer proves nothing. */
async function mayOneTake(
  client: Client,
  { mode, run }: Of,
  items: readonly string[],
  { id, createdAt }: Unnamed,
  untilMs: number,
): Promise<boolean> {
  const newest = await newestSince(client, mode, [RUN_TYPE, CHUNK_TYPE], createdAt);
  const ofRun = newest.all.filter(({ workflowId }) => {
    const its = runOfAnyWorkflowId(workflowId);
    return its !== null && runName(its) === runName(run);
  });
  const names = items.map((each) => each.toLowerCase());
  const holds: (Holds | null)[] = [];
  for await (const answer of readAllHolds(client, ofRun, { names, untilMs, atOnce: AT_ONCE.chunks }))
    holds.push(answer.holds);
  return items.some((each) => mayTake(holds, each, id));
}

/**
 * Finds a run of the same policy and business date that was started after this one, and that has done the item of this name
 * or may still do it. Also finds such a run that does not answer and may have done the item, because it has a plan. Without a
 * plan nothing is sent.
 */
async function rivalOf(client: Client, { mode, run }: Of, item: string): Promise<Rival> {
  const name = item.toLowerCase();
  const silent: RunName[] = [];
  const later = await laterRuns(client, { mode, run });
  const asked = { names: [name], untilMs: performance.now() + RIVALS_WITHIN_MS, atOnce: AT_ONCE.runs };
  for await (const { info, holds } of readAllHolds(client, later.infos, asked)) {
    const other = runOfWorkflowId(info.workflowId);
    if (other === null) continue;
    const it = rivalry(holds, later.standingOf(info), name);
    if (it === 'has') return { rival: runName(other), silent: null };
    if (it === 'may have') silent.push(other);
  }
  for (const other of silent)
    // One after the other: there is mostly none, and seldom more than one.
    if (await isPlanMade(client, mode, other)) return { rival: null, silent: runName(other) };
  return { rival: null, silent: null };
}

/** The newest Temporal run of each other run of the policy and date that was started after this one, by Temporal's clock. */
async function laterRuns(
  client: Client,
  { mode, run }: Of,
): Promise<Pick<Newest, 'standingOf'> & { readonly infos: readonly WorkflowExecutionInfo[] }> {
  const ownId = workflowIdOf(mode, run);
  const date = run.id.slice(0, 10);
  const newest = new Newest();
  let ownStartMs: number | null = null;
  for await (const info of listed(client, { types: [RUN_TYPE], mode, policy: run.policy })) {
    const startMs = info.startTime.getTime();
    if (info.workflowId === ownId) ownStartMs = Math.min(ownStartMs ?? startMs, startMs);
    else newest.note(info);
    if (newest.size >= MOST_RUNS) break;
  }
  // When the list does not show this run, any other run may be the later one.
  const sinceMs = ownStartMs ?? 0;
  const infos = newest
    .others(ownId)
    .filter(
      ({ workflowId, startTime }) =>
        startTime.getTime() > sinceMs && workflowId.split('.')[1]?.startsWith(date) === true,
    );
  return { infos, standingOf: newest.standingOf };
}

/** The newest Temporal run of each workflow of a list, and whether the list has earlier ones. */
class Newest {
  readonly #newest = new Map<string, WorkflowExecutionInfo>();
  readonly #again = new Set<string>();

  get size(): number {
    return this.#newest.size;
  }

  note(info: WorkflowExecutionInfo): void {
    if (this.#newest.has(info.workflowId)) this.#again.add(info.workflowId);
    keepNewest(this.#newest, info);
  }

  get all(): readonly WorkflowExecutionInfo[] {
    return [...this.#newest.values()];
  }

  /** All but this one. */
  others(ownId: string): readonly WorkflowExecutionInfo[] {
    return this.all.filter(({ workflowId }) => workflowId !== ownId);
  }

  standingOf = (info: WorkflowExecutionInfo): Standing => ({
    isOpen: isOpen(info),
    isOnly: !this.#again.has(info.workflowId),
  });
}

/**
 * Chunks of the policy's other batches, open since then, whose memo has the hash of one of these names. Only those few are
 * asked what has become of the payment.
 */
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
  for (let from = 0; from < suspects.length; from += BATCHES_AT_ONCE) {
    const some = suspects.slice(from, from + BATCHES_AT_ONCE);
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

/**
 * Which of these payments a chunk has paid or holds; none where no plan was made. Null: it does not answer.
 * @param plan null: Temporal has none. It was made nevertheless where the chunk has read it: Temporal deletes what ended long
 * ago, and the chunk is still open.
 */
async function heldBy(
  client: Client,
  mode: Mode,
  { run, number, names }: Suspect,
  plan: Plan | null,
): Promise<readonly (readonly [name: string, Holder])[] | null> {
  const chunk = await readChunk({ client, mode }, run, number);
  if (chunk.kind !== 'payments') return [];
  const letters = plan?.batch?.chunks[number - 1]?.unpayable ?? '';
  const indexes = new Map(chunk.payments.map((payment, index) => [nameOfPayment(payment), index]));
  const there = names.filter((name) => indexes.has(name));
  if (there.length === 0) return [];
  // The chunk is asked first, then its run. If the batch is taken up again in between, the chunk does not
  // know the new run yet.
  const chunkId = chunkIdOf(mode, run, number);
  const answer = await readHolds(client, { workflowId: chunkId }, there, BATCHES_WITHIN_MS);
  const coordinator = await coordinatorOf(client, mode, run);
  if (answer === null) return null;
  if (plan === null && !answer.hasPlan) return [];
  const told = { ...answer, isFirst: answer.isFirst && (await isFirstOfId(client, chunkId, answer.runId)) };
  return there.flatMap((name) => {
    const isWanted = (letters[indexes.get(name) ?? 0] ?? '.') === '.';
    if (!isHeld(told, coordinator, { name, isWanted, madeFor: plan?.madeFor ?? null })) return [];
    return [[name, { run: runName(run), withdrawalId: recordIn(answer, name) }]];
  });
}

async function planOfRun(client: Client, mode: Mode, run: RunName): Promise<Plan | null> {
  if (!(await isPlanMade(client, mode, run))) return null;
  const state = await readPlan(client, mode, run, BATCHES_WITHIN_MS);
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
  const first = await firstCompletedPlan(client, workflowId);
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

/** The runs of which Temporal knows nothing at all: no run, no plan, and nothing that people said. */
async function unknownRuns(
  client: Client,
  mode: Mode,
  runs: readonly RunName[],
): Promise<readonly RunName[]> {
  const areKnown = await fewAtOnce(runs, AT_ONCE.runs, (run) => isKnown(client, mode, run));
  return runs.filter((_run, index) => areKnown[index] !== true);
}

async function isKnown(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  for (const workflowId of [workflowIdOf(mode, run), planIdOf(mode, run), instructionsIdOf(mode, run)])
    // Mostly the first of the three is there.
    if ((await describe(client, workflowId)) !== null) return true;
  return false;
}
