/**
 * Whose is it? What commands ask our runs, as far as Temporal still shows them (`durable/other-runs/claims.ts`). They ask whose
 * a record without a name of ours is, and which runs of the service's lists are lost (design: "In doubt, absent,
 * generations"). Reads only.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { approvalIn, newestSaid } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { runName, runOf, type RunName } from '../../domain/references.ts';
import type { Mode, Trade, Withdrawal } from '../../domain/service/records.ts';
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import { createClient, type Settings } from '../../config/config.ts';
import { isOfRun } from '../../domain/plan/observation.ts';
import { Alike } from '../../domain/writes/look-alikes.ts';
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList } from '../../service/list-scan.ts';
import { serviceFailure } from '../preflight.ts';
import { readChunk } from '../../durable/batches/submitted-chunk.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { CommandFailure } from '../failure.ts';
import type { Ours } from '../batches/look-alikes.ts';
import type { Place } from '../place.ts';
import { describeRun } from '../follow/runs.ts';
import { keptAbout } from './keep-instruction.ts';

/** A person who decides waits for an answer so long. */
const CLAIMANT_WITHIN_MS = 30_000;
/** A run that has just been started or reset tells all within seconds. */
const ASK_AGAIN_MS = 2_000;
const LOOK_ALIKES_WITHIN_MS = 10_000;

/** A person decides about this item of the run that asks. */
type Asked = { readonly plan: Pick<Plan, 'run' | 'credentials'>; readonly item: string };

/**
 * `policy.id item` of the other item that counts the record as its own, of this run or another one; null when none does.
 * @param withinMs so long runs that may have sent the record are asked, and asked again, until they tell all
 * @throws CommandFailure when such a run does not answer in this time, or may hold more than it tells
 */
export async function claimantOf(
  place: Place,
  asked: Asked,
  record: Trade | Withdrawal,
  withinMs = CLAIMANT_WITHIN_MS,
): Promise<string | null> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const leftMs = untilMs - performance.now();
    const answer = await claimantNow(place, asked, record, leftMs);
    if (answer.silent === null) return answer.claimant;
    if (performance.now() + ASK_AGAIN_MS >= untilMs) throw silentRun(answer.silent, record);
    await sleep(ASK_AGAIN_MS);
  }
}

/** `silent`: a run that may have sent the record, and does not tell all that it holds; null: there is none. */
async function claimantNow(
  { client, mode }: Place,
  { plan: { run, credentials }, item }: Asked,
  record: Trade | Withdrawal,
  withinMs: number,
): Promise<{ readonly claimant: string | null; readonly silent: RunName | null }> {
  const [claim] = await claimsOf(client).whose({ mode, run }, [record], withinMs);
  if (claim === undefined || claim.by.kind === 'none') return { claimant: null, silent: null };
  const { by } = claim;
  if (by.kind === 'item') {
    const isOwn = by.run === runName(run) && by.item === item;
    return { claimant: isOwn ? null : `${by.run} ${by.item}`, silent: null };
  }
  const moves = 'quoteId' in record ? [record.sellCurrency, record.buyCurrency] : [record.currency];
  for (const other of by.runs) {
    // A plan can be read without a worker, and shows whether the run can have sent the record.
    const plan = await readFirstPlan(client, mode, other);
    if (plan === null || plan.credentials.organisation !== credentials.organisation) continue;
    const moved = [
      ...plan.legs.flatMap(({ sell, buy }) => [sell, buy]),
      ...plan.payments.map((payment) => payment.currency),
      ...(plan.batch?.totals ?? []).map(({ currency }) => currency),
    ];
    if (!moves.some((currency) => moved.includes(currency))) continue;
    if (plan.batch !== null && !('quoteId' in record) && !(await hasPaymentLike(client, mode, plan, record)))
      continue;
    return { claimant: null, silent: other };
  }
  return { claimant: null, silent: null };
}

function silentRun(run: RunName, { id }: Pick<Trade, 'id'>): CommandFailure {
  const message = `it is not known whether record ${id} belongs to this run: the run, or a chunk of it, does not answer, or has not read its plan since it was started`;
  const fix = `See that a worker runs (\`npx cambist worker\`), and what the run waits for (\`npx cambist status ${runName(run)}\`). Then type the same again.`;
  return new CommandFailure('infrastructure', [
    { code: 'OTHER_RUN_SILENT', place: runName(run), message, fix },
  ]);
}

/** Whether a batch has a payment that looks like the record. Its chunks show that without a worker. */
async function hasPaymentLike(
  client: Client,
  mode: Mode,
  { run, batch }: Pick<Plan, 'run' | 'batch'>,
  record: Withdrawal,
): Promise<boolean> {
  for (const number of (batch?.chunks ?? []).keys()) {
    // One after the other: mostly one of the first tells.
    const chunk = await readChunk({ client, mode }, run, number + 1);
    if (chunk.kind !== 'payments') continue;
    const alike = new Alike();
    alike.add(chunk.payments);
    // A tag does not count here: it is not known which payments the chunk has made.
    if (alike.couldBe(record)) return true;
  }
  return false;
}

/** What Temporal says of a batch, and whose the records are that look like its payments. */
export async function readOurs(place: Place, run: RunName): Promise<Ours> {
  const { client, mode } = place;
  const kept = await keptAbout(place, run);
  return {
    approval: approvalIn(kept),
    seen: newestSaid(kept.instructions),
    madeAtMs: (await readFirstPlan(client, mode, run))?.madeAtMs ?? null,
    claims: (records) => claimsOf(client).whose({ mode, run }, records, LOOK_ALIKES_WITHIN_MS),
  };
}

/** The dates of the last week, and one day more for the difference between zones. */
const LONGEST_AGO_MS = 8 * 86_400_000;
/** The command asks Temporal for at most this many runs, the newest first. */
const MOST_RUNS = 20;

/**
 * Runs that Temporal does not show, for `doctor`: the service has records of them, by the newest page of each list. A worker
 * asks for less: it lets a new run wait where also plan and instructions are lost (`domain/writes/lost-runs.ts`).
 * @param sinceMs older records do not count, since Temporal may rightly have forgotten their runs; epoch milliseconds
 * @returns the newest first; null where a list cannot be read
 */
export async function lostRuns(
  { client, mode }: Pick<Place, 'client' | 'mode'>,
  reader: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>,
  sinceMs: number,
): Promise<readonly RunName[] | null> {
  const [trades, withdrawals] = await Promise.all([reader.listTrades(), reader.listWithdrawals()]);
  if (trades.kind !== 'DONE' || withdrawals.kind !== 'DONE') return null;
  const records = [
    ...trades.value.items.map(({ createdAt, clientReferenceId }) => ({
      createdAt,
      reference: clientReferenceId,
    })),
    ...withdrawals.value.items.map(({ createdAt, tag }) => ({ createdAt, reference: tag })),
  ];
  const runs = new Map<string, RunName>();
  for (const { createdAt, reference } of records.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))) {
    const run = runOf(reference ?? '');
    if (run !== null && Date.parse(createdAt) >= sinceMs) runs.set(runName(run), run);
  }
  const asked = [...runs.values()].slice(0, MOST_RUNS);
  // Also a run whose plan is still there has no worker that follows what it has sent.
  const known = await Promise.all(asked.map((run) => describeRun(client, mode, run)));
  return asked.filter((_run, index) => known[index] === null);
}

/**
 * Whether the service shows trades of a run that Temporal may have lost. False for older dates, without a look.
 * @throws CommandFailure when the list cannot be read
 */
export async function hasTraded(
  settings: Settings,
  run: RunName,
  { zone, nowMs }: { readonly zone: string; readonly nowMs: number },
): Promise<boolean> {
  const date = dateOfRunId(run.id);
  const opensAtMs = date === null ? -Infinity : sendWindowsOf(date, zone).opensAtMs;
  if (opensAtMs < nowMs - LONGEST_AGO_MS) return false;
  const client = createClient(settings, 'read');
  try {
    const { records, stopped } = await scanList(client.listTrades, {
      sinceMs: opensAtMs - LOOK_BACK_MS,
      wanted: ({ clientReferenceId }: Trade) => isOfRun(run, clientReferenceId),
      most: 1,
    });
    if (records.length > 0) return true;
    if (stopped === null) return false;
    throw serviceFailure(stopped, `${settings.address.origin}${settings.address.basePath}`);
  } finally {
    await client.close();
  }
}
