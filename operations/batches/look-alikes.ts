/**
 * Look-alikes of a batch, as commands show them before it starts: the service's list, compared with the file. The run looks
 * again itself. If it finds more of them, it holds only the payments that they look like. Needs no Temporal.
 */
import { sumsOf } from '../../domain/plan/amounts.ts';
import { Alike, LOOK_ALIKE, LookAlikes, mayCount, ownSince } from '../../domain/writes/look-alikes.ts';
import { nameOfFound } from '../../domain/run/claims.ts';
import type { LookAlikeApproval } from '../../domain/people/instructions.ts';
import type { Money } from '../../domain/policy.ts';
import type { RunName } from '../../domain/references.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { dateOfRunId, sendWindowsOf, todayIn } from '../../calendar/business-date.ts';
import { createClient, type Settings } from '../../config/config.ts';
import { hashOfTexts } from '../../language/batch/chunk-hash.ts';
import { scanList } from '../../service/list-scan.ts';
import type { BatchFile } from './file.ts';
import { chunksOfFile } from './tally.ts';
import { serviceFailure } from '../preflight.ts';

/** `item`: the first payment of the file that the record looks like; `others`: how many more there are. */
export type LookAlike = { readonly record: Withdrawal; readonly item: string; readonly others: number };

export type SeenLookAlikes = {
  /** The name of the list, as of `nameOfFound`. */
  readonly name: string;
  readonly records: number;
  readonly sums: readonly Money[];
  /** How many payments of the file have a look-alike. */
  readonly payments: number;
  /** In the order of the file. */
  readonly first: readonly LookAlike[];
  /** The approval that covers all of them. */
  readonly approval: LookAlikeApproval;
  /** A person has approved all of them already. */
  readonly isApproved: boolean;
};

/** At most this many look-alikes are shown. */
const SHOWN = 50;

/** What Temporal says of a batch and of our other runs. */
export type Ours = {
  readonly approval: LookAlikeApproval | null;
  /** The number of the newest entry of people about the batch; 0: there is none. */
  readonly seen: number;
  /** When the batch was planned, epoch milliseconds; null: it has no plan. */
  readonly madeAtMs: number | null;
  /** Ids of those records that belong to runs of ours. */
  readonly accountFor: (records: readonly Withdrawal[]) => Promise<readonly string[]>;
};

type LookAlikesQuestion = {
  readonly settings: Settings;
  readonly run: RunName;
  readonly batch: BatchFile;
  /** What Temporal says; null: the command does not ask Temporal, so a record without a tag may be one of ours. */
  readonly ours: Ours | null;
  readonly now: () => number;
};

/** Null: no record looks like a payment. @throws CommandFailure when the service cannot be read */
export async function seeLookAlikes({
  settings,
  run,
  batch,
  ours,
  now,
}: LookAlikesQuestion): Promise<SeenLookAlikes | null> {
  const { policy } = batch.policyFile;
  const sinceMs = now() - policy.payout.rules.dedupeMs;
  const approval = ours?.approval ?? null;
  const alike = new Alike();
  let rows = 0;
  for await (const { payments } of chunksOfFile(batch)) {
    alike.add(payments);
    rows += payments.length;
  }
  const oldestMs = Math.min(sinceMs, approval?.sinceMs ?? Infinity);
  const records = await listed(settings, alike, oldestMs);
  if (records.length === 0) return null;
  const { failed: failedWords } = settings.facts.withdrawalStatuses;
  const { opensAtMs } = sendWindowsOf(dateOfRunId(run.id) ?? todayIn(policy.zone, now()), policy.zone);
  // A record that is newer than the plan may be a payment of the batch itself.
  const ownSinceMs = Math.min(ownSince(settings.facts, opensAtMs), ours?.madeAtMs ?? Infinity);
  const asked = records.filter((record) => mayCount(record, { failedWords, ownSinceMs }));
  if (asked.length === 0) return null;
  const accounted = ours === null ? [] : await ours.accountFor(asked);
  const judging = { records, accounted: new Set(accounted), failedWords, sinceMs, ownSinceMs, approval };
  const judged = new LookAlikes(judging, hashOfTexts);
  return heldAgainst(judged, batch, rows);
}

/**
 * Whether a person approves these look-alikes.
 * @param by the name of a list, as the person typed it; null: none. The list of another time may lack what looks alike now
 */
export function approvalOf(
  { isApproved, name }: Pick<SeenLookAlikes, 'isApproved' | 'name'>,
  by: string | null,
): 'approved before' | 'approved' | 'another list' | 'not approved' {
  if (isApproved) return 'approved before';
  if (by === null) return 'not approved';
  return by === name ? 'approved' : 'another list';
}

async function listed(settings: Settings, alike: Alike, sinceMs: number): Promise<readonly Withdrawal[]> {
  const address = `${settings.address.origin}${settings.address.basePath}`;
  const client = createClient(settings, 'read');
  try {
    const { records, stopped } = await scanList(client.listWithdrawals, {
      sinceMs,
      wanted: (record) => Date.parse(record.createdAt) >= sinceMs && alike.has(record),
    });
    if (stopped !== null) throw serviceFailure(stopped, address);
    return records;
  } finally {
    await client.close();
  }
}

/** Reads the file once more, and compares its payments with the records. */
async function heldAgainst(
  judged: LookAlikes,
  batch: BatchFile,
  rowsInFile: number,
): Promise<SeenLookAlikes | null> {
  const found = new Map<string, { record: Withdrawal; item: string; others: number }>();
  let payments = 0;
  let isApproved = true;
  const groups: string[] = [];
  let number = 0;
  const bounds = judged.bounds(rowsInFile);
  for await (const { payments: rows } of chunksOfFile(batch)) {
    number += 1;
    groups.push(...judged.groupsOf(bounds, number, rows));
    const letters = judged.lettersOf(number, rows);
    if (letters === null) continue;
    isApproved &&= !letters.includes(LOOK_ALIKE.held);
    for (const row of rows) {
      const records = judged.of(row);
      if (records.length > 0) payments += 1;
      for (const record of records) {
        const known = found.get(record.id);
        if (known === undefined) found.set(record.id, { record, item: row[0], others: 0 });
        else known.others += 1;
      }
    }
  }
  if (found.size === 0) return null;
  const records = [...found.values()];
  return {
    name: nameOfFound('look-alikes', [...found.keys()], hashOfTexts),
    records: records.length,
    sums: sumsOf(
      records.map(({ record }) => ({ currency: record.currency, value: record.withdrawalAmount })),
    ),
    payments,
    first: records.slice(0, SHOWN),
    approval: { ...bounds, groups },
    isApproved,
  };
}
