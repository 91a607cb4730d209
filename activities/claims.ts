/**
 * Whose is it? What the list of withdrawals shows, and what our other runs say of it. It tells which payments of a batch
 * another batch of its policy has paid or holds, which records look like its payments, and which runs Temporal has lost. One
 * scan of the list answers all questions that are asked at the same moment, for planning and for the go alike. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { BatchPayment } from '../domain/batch.ts';
import { approvalIn, type LookAlikeApproval } from '../domain/people/instructions.ts';
import type { Held } from '../domain/plan/batch-items.ts';
import { makeProblem } from '../domain/problems.ts';
import { runName, type RunName } from '../domain/references.ts';
import type { PlanInput } from '../domain/run/calls.ts';
import { accountedFor, nameOfFound, paidElsewhere, type Suspect } from '../domain/run/claims.ts';
import { SeenRuns, besideLostRuns, isLetGo, type Beside } from '../domain/writes/lost-runs.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { Wait } from '../domain/waits.ts';
import { Alike, LookAlikes, mayCount, type Judging, type Own } from '../domain/writes/look-alikes.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import { hashOfTexts } from '../language/batch/chunk-hash.ts';
import { scanList } from '../service/list-scan.ts';
import type { Deps, OfBatch } from './deps.ts';
import { keptOrNothing } from './kept-or-nothing.ts';
import { unreadableService } from './observing.ts';
import type { SharedReads } from './shared-read.ts';

/** What is asked for is not known yet. */
export type Waits = { readonly wait: Wait };

const ASK_AGAIN_MS = 10_000;
/** So long our runs have to answer: far below what an attempt may take. */
const ASKED_WITHIN_MS = 10_000;

/** @param so what is not known where the list cannot be read whole */
async function listed(
  { scans }: Deps,
  question: { readonly sinceMs: number; readonly wanted: (record: Withdrawal) => boolean },
  so: string,
): Promise<readonly Withdrawal[] | Waits> {
  const { records, stopped } = await scans.lookUp(question, ActivityContext.current().cancellationSignal);
  return stopped === null ? records : listUnread(so);
}

function listUnread(so: string): Waits {
  const message = `The service’s list of withdrawals could not be read whole, so ${so}.`;
  const problem = makeProblem('LOOKUP_INCOMPLETE', null, { message });
  return { wait: { afterMs: ASK_AGAIN_MS, reason: 'outage', problem } };
}

/**
 * What was found so far of payments that others may have made. It is complete for what was there before `beganAtMs`. It has no
 * statuses, because a search may use a list that was read minutes ago: `askOthers` reads them anew.
 */
export type Found = {
  readonly beganAtMs: number;
  readonly suspects: readonly Suspect[];
  /** Records with the tag of another batch, by their ids. */
  readonly records: ReadonlyMap<string, OthersRecord>;
};

/** The payment that a record pays, unless it has failed, and the run that sent it. */
type OthersRecord = { readonly name: string; readonly run: string; readonly createdAt: string };

/** `names`: of payments, by `nameOfPayment`. */
type OthersQuestion = OfBatch & { readonly names: readonly string[]; readonly sinceMs: number };

const PAID_UNKNOWN = 'what other batches have paid is not known';

/** Looks for chunks that may hold these payments, and for records with another run's tag. `askOthers` then asks who has them. */
export async function findOthers(
  deps: Deps,
  { names, sinceMs, ...of }: OthersQuestion,
): Promise<Found | Waits> {
  const beganAtMs = deps.clock.wallMs();
  const asked = new Set(names);
  const wanted = (record: Withdrawal): boolean =>
    Date.parse(record.createdAt) >= sinceMs && paidElsewhere(of.run, asked, record) !== null;
  const [suspects, records] = await Promise.all([
    deps.claims.suspects(of, names, sinceMs),
    listed(deps, { sinceMs, wanted }, PAID_UNKNOWN),
  ]);
  if ('wait' in records) return records;
  const paid = records.flatMap(({ id, tag, createdAt }) => {
    const [name, run] = paidElsewhere(of.run, asked, { tag }) ?? [];
    return name === undefined || run === undefined ? [] : [[id, { name, run, createdAt }] as const];
  });
  return { beganAtMs, suspects, records: new Map(paid) };
}

/** Goes on from an earlier search: looks for what is new since it began, and adds what it found. */
export async function findNewOthers(
  deps: Deps,
  asked: OthersQuestion,
  earlier: Found,
): Promise<Found | Waits> {
  const sinceMs = Math.max(asked.sinceMs, newSince(deps, earlier));
  const found = await findOthers(deps, { ...asked, sinceMs });
  if ('wait' in found) return found;
  const idOf = ({ run, number }: Suspect): string => `${run.id}/${number}`;
  const all = new Map([...earlier.suspects, ...found.suspects].map((one) => [idOf(one), one]));
  return {
    ...found,
    suspects: [...all.values()],
    records: new Map([...earlier.records, ...found.records]),
  };
}

/** An earlier search has seen everything that was created before this moment. */
export function newSince({ facts }: Deps, { beganAtMs }: Pick<Found, 'beganAtMs'>): number {
  return beganAtMs - 2 * facts.listLagMs - 2 * CLOCK_TOLERANCE_MS;
}

/** Asks which run has each of the payments now, and the service which of the records have failed by now. */
export async function askOthers(
  deps: Deps,
  { mode }: Pick<OfBatch, 'mode'>,
  { suspects, records }: Omit<Found, 'beganAtMs'>,
): Promise<Held | Waits> {
  const [{ held, silent }, failed] = await Promise.all([
    deps.claims.holders(mode, suspects),
    failedNow(deps, records),
  ]);
  if (failed === null) return listUnread(PAID_UNKNOWN);
  if (silent !== null) {
    const message = `Run ${silent} has payments with the same ids and does not answer, so it is not known whether it pays them.`;
    const problem = makeProblem('OTHER_RUN_SILENT', null, { message });
    return { wait: { afterMs: ASK_AGAIN_MS, reason: 'outage', problem } };
  }
  const standing = [...held].filter(
    ([, { withdrawalId }]) => withdrawalId === null || !failed.has(withdrawalId),
  );
  const paid = [...records].filter(([id]) => !failed.has(id));
  return new Map([
    ...standing.map(([name, { run }]) => [name, run] as const),
    ...paid.map(([, { name, run }]) => [name, run] as const),
  ]);
}

/** The ids of those records that have failed, and so pay no payee, by the list as it stands now. Null: it cannot be read. */
async function failedNow(deps: Deps, of: Found['records']): Promise<ReadonlySet<string> | null> {
  if (of.size === 0) return new Set();
  const question = {
    // A batch may have more records than a function takes arguments.
    sinceMs: [...of.values()].reduce(
      (oldest, { createdAt }) => Math.min(oldest, Date.parse(createdAt)),
      Infinity,
    ),
    wanted: ({ id }: Withdrawal): boolean => of.has(id),
    most: of.size,
  };
  const { cancellationSignal } = ActivityContext.current();
  const { records, stopped } = await deps.scans.poll(question, cancellationSignal, { joins: 'ends with it' });
  if (stopped !== null) return null;
  const { failed } = deps.facts.withdrawalStatuses;
  return new Set(records.filter(({ status }) => failed.includes(status)).map(({ id }) => id));
}

/** The payments that other batches have now, whenever those were planned. */
export async function heldByOthers(deps: Deps, asked: OthersQuestion): Promise<Held | Waits> {
  const found = await findOthers(deps, asked);
  return 'wait' in found ? found : askOthers(deps, asked, found);
}

/**
 * So long an answer is kept about which batches were planned before this one. That seldom changes: only when one of them takes
 * up its unpaid payments again.
 */
const BESIDE_KEPT_MS = 15_000;

/**
 * The payments that other batches have which were planned before this one, or at about the same time. The turn of one of the
 * two may have lapsed, so that this batch did not see it.
 * @param beside which batches those are, by the batch that asks
 */
export async function heldSideBySide(
  deps: Deps,
  beside: SharedReads<readonly RunName[]>,
  { madeAtMs, names, sinceMs, ...of }: OthersQuestion & { readonly madeAtMs: number },
): Promise<Held | Waits> {
  const planned = beside.get(JSON.stringify([of, madeAtMs]), () => deps.claims.plannedBeside(of, madeAtMs));
  const batches = new Set((await planned.value(BESIDE_KEPT_MS)).map(runName));
  if (batches.size === 0 || names.length === 0) return new Map();
  const all = await deps.claims.suspects(of, names, sinceMs);
  const suspects = all.filter(({ run }) => batches.has(runName(run)));
  const held = await askOthers(deps, of, { suspects, records: new Map() });
  if ('wait' in held || held.size === 0) return held;
  // Only the list of the service shows which of their records have failed.
  return heldByOthers(deps, { ...of, names: [...held.keys()], sinceMs });
}

/** Records that look like payments; `accounted`: the ids of those that runs of ours account for. */
export type FoundAlike = {
  readonly records: readonly Withdrawal[];
  readonly accounted: ReadonlySet<string>;
};

type AskedAlike = OfBatch & {
  readonly chunks: readonly (readonly BatchPayment[])[];
  /** Records that were created before this are not looked for. */
  readonly sinceMs: number;
  /** Our runs are not asked about records for which the payments' own keys answer. */
  readonly own: Own;
};

/**
 * Looks for all payments of the batch at once, and asks our runs one question.
 * @param earlier what was found before: our runs are not asked about these records once more
 */
export async function findAlike(
  deps: Deps,
  { chunks, sinceMs, own, ...of }: AskedAlike,
  earlier: FoundAlike | null = null,
): Promise<FoundAlike | Waits> {
  const alike = new Alike();
  for (const payments of chunks) alike.add(payments);
  const wanted = (record: Withdrawal): boolean =>
    Date.parse(record.createdAt) >= sinceMs && alike.has(record);
  const so = 'whether another program or person has paid what looks the same is not known';
  const records = await listed(deps, { sinceMs, wanted }, so);
  if ('wait' in records) return records;
  const known = new Map(earlier?.records.map((record) => [record.id, record]));
  const judging = { failedWords: deps.facts.withdrawalStatuses.failed, own };
  const asked = records.filter((record) => !known.has(record.id) && mayCount(record, judging));
  const claims = asked.length === 0 ? [] : await deps.claims.whose(of, asked, ASKED_WITHIN_MS);
  for (const record of records) known.set(record.id, record);
  return {
    records: [...known.values()],
    accounted: new Set([...(earlier?.accounted ?? []), ...accountedFor(claims)]),
  };
}

/** What people have approved, as the instructions say now; null: nothing. */
export async function readApproval(deps: Deps, of: OfBatch): Promise<LookAlikeApproval | null> {
  return approvalIn(await keptOrNothing(deps, of));
}

export function judged(
  { facts }: Deps,
  found: FoundAlike,
  by: Pick<Judging, 'sinceMs' | 'own' | 'approval'>,
): LookAlikes {
  return new LookAlikes({ ...found, failedWords: facts.withdrawalStatuses.failed, ...by }, hashOfTexts);
}

/** So long the service keeps the keys of withdrawals. Older runs need not be known. */
const LOST_LOOK_BACK_MS = 7 * 86_400_000;
/**
 * Allows for a send that arrives after its run has ended, for clocks that differ, and for Temporal, which
 * deletes in its own time.
 */
const SLACK_MS = 3_600_000;
/**
 * At most so many runs are asked for in Temporal, the newest. For each that is missing, its plan and its
 * instructions are asked for too.
 */
const MOST_ASKED = 50;

/**
 * Notes of which runs the list shows withdrawals.
 * @param sinceMs how far back the scan for other batches reads
 */
export async function noteRuns(deps: Deps, seen: SeenRuns, sinceMs: number): Promise<Waits | null> {
  const wanted = ({ tag, createdAt }: Withdrawal): boolean => seen.note(tag, createdAt);
  const question = { sinceMs: Math.max(sinceMs, deps.clock.wallMs() - LOST_LOOK_BACK_MS), wanted };
  const records = await listed(deps, question, 'whether Temporal has lost runs of the policy is not known');
  return 'wait' in records ? records : null;
}

/**
 * Whether a new run must wait for a person because Temporal has lost other runs of its policy. This is asked before its plan
 * is made. The lists of the service show which runs have moved money. A run that is old enough for Temporal to have forgotten
 * it does not count.
 * @param ofBatch the runs that the withdrawals showed while the batch was read; null: there is no batch
 */
export async function heldByLostRuns(
  deps: Deps,
  of: Pick<PlanInput, 'mode' | 'run' | 'policyFile'>,
  ofBatch: SeenRuns | null,
): Promise<Wait | null> {
  const seen = ofBatch ?? new SeenRuns(of.run);
  const sinceMs = deps.clock.wallMs() - LOST_LOOK_BACK_MS;
  const { stopped } = await scanList(deps.reader.listTrades, {
    sinceMs,
    wanted: ({ clientReferenceId, createdAt }: Trade): boolean => seen.note(clientReferenceId, createdAt),
    signal: ActivityContext.current().cancellationSignal,
  });
  if (stopped !== null) return unreadableService(stopped);
  // A run with records of its own was started before. It adopts what was done, and is not held.
  if (seen.hasOwn) return null;
  return heldBeside(deps, { ...of, isBatch: ofBatch !== null, isPlanned: false }, seen);
}

/**
 * The same for a run with a plan, by the trades that a lookup of one of its legs has shown: the plan may be older than what
 * Temporal has lost. A run of which something was there when the plan was made adopts what was done, and is not held.
 */
export async function heldBesideNow(
  deps: Deps,
  { mode, run }: Pick<PlanInput, 'mode' | 'run'>,
  seen: SeenRuns,
): Promise<Wait | null> {
  const { policyFile = 'POLICY', batch } = (await deps.plans.find(mode, run))?.input ?? {};
  return heldBeside(deps, { mode, run, policyFile, isBatch: batch !== undefined, isPlanned: true }, seen);
}

async function heldBeside(
  deps: Deps,
  of: Beside & Pick<PlanInput, 'mode'>,
  seen: SeenRuns,
): Promise<Wait | null> {
  const nowMs = deps.clock.wallMs();
  const sinceMs = nowMs - LOST_LOOK_BACK_MS;
  if (seen.othersSince(sinceMs).length === 0) return null;
  const keptMs = (await deps.claims.keptForMs()) - SLACK_MS;
  const others = seen.othersSince(Math.max(sinceMs, nowMs - keptMs)).slice(0, MOST_ASKED);
  const lost = await deps.claims.unknown(of.mode, others);
  if (lost.length === 0) return null;
  const name = nameOfFound('lost-runs', lost.map(runName), hashOfTexts);
  return isLetGo(await keptOrNothing(deps, of), name) ? null : besideLostRuns(of, lost, name);
}
