/**
 * Withdrawals that look like payments of a run, as commands show them before it starts: the service's list, compared with the
 * payments. The look-alikes of a batch are those of which no run of ours knows. The run looks for them again itself, and if it finds
 * more of them, it holds only the payments that they look like. What other runs of ours have made under other names only a start
 * asks about. Needs no Temporal.
 */
import { moneyText } from '../../domain/currencies.ts';
import { sumsOf } from '../../domain/plan/amounts.ts';
import {
  Alike,
  LOOK_ALIKE,
  LookAlikes,
  answeredSince,
  countsSince,
  mayCount,
  ownOf,
} from '../../domain/writes/look-alikes.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { accountedFor, nameOfFound, type Claim } from '../../domain/run/claims.ts';
import { madeByTag, Repeats, type Made, type MadeBefore } from '../../domain/run/made-before.ts';
import type { LookAlikeApproval } from '../../domain/people/instructions.ts';
import type { Money, Policy } from '../../domain/policy.ts';
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

/** Payments that other runs of ours have made already, under other names. */
export type SeenMadeBefore = {
  /** The name of the list, as of `nameOfFound`. */
  readonly name: string;
  readonly payments: number;
  readonly sums: readonly Money[];
  /** How many of them have names that differ only in capitals, zeros in front, or signs. */
  readonly near: number;
  /** Those first, and then in the order of the file. */
  readonly first: readonly MadeBefore[];
};

/** What the list of withdrawals shows. Null: nothing. */
export type SeenWithdrawals = {
  readonly alike: SeenLookAlikes | null;
  readonly before: SeenMadeBefore | null;
};

/** At most this many look-alikes, and this many payments that were made before, are shown. */
const SHOWN = { alike: 50, before: 20 };

/** What Temporal says of a batch and of our other runs. */
export type Ours = {
  readonly approval: LookAlikeApproval | null;
  /** The number of the newest entry of people about the batch; 0: there is none. */
  readonly seen: number;
  /** When the batch was planned, epoch milliseconds; null: it has no plan. */
  readonly madeAtMs: number | null;
  /** Whose these records are, which carry no name of ours. */
  readonly claims: (records: readonly Withdrawal[]) => Promise<readonly Claim[]>;
};

type LookAlikesQuestion = {
  readonly settings: Settings;
  readonly run: RunName;
  readonly policy: Policy;
  /** The file of a payout; null for other kinds. */
  readonly batch: BatchFile | null;
  /** What Temporal says; null: the command does not ask Temporal, so a record without a tag may be one of ours. */
  readonly ours: Ours | null;
  readonly now: () => number;
};

/** Where a policy has no `dedupe` of its own: so far back a withdrawal counts. */
const DEDUPE_MS = 30 * 86_400_000;

/** Whether a policy has payments that can look like others before the run starts. */
export function hasKnownPayments(policy: Policy): boolean {
  return policy.kind === 'payout' || fixedPayments(policy).length > 0;
}

/** @throws CommandFailure when the service cannot be read */
export async function seeLookAlikes(asked: LookAlikesQuestion): Promise<SeenWithdrawals> {
  const { settings, run, policy, batch, ours, now } = asked;
  const dedupeMs = policy.kind === 'payout' ? policy.payout.rules.dedupeMs : DEDUPE_MS;
  const { opensAtMs } = sendWindowsOf(dateOfRunId(run.id) ?? todayIn(policy.zone, now()), policy.zone);
  // A record that is newer than the plan may be a payment of the batch itself.
  const own = answeredSince(ownOf(settings.facts, opensAtMs), ours?.madeAtMs ?? Infinity);
  const madeSinceMs = now() - dedupeMs;
  const sinceMs = countsSince(now(), dedupeMs, own);
  const approval = ours?.approval ?? null;
  const alike = new Alike();
  let rows = 0;
  for await (const payments of paymentsOf(asked)) {
    alike.add(payments);
    rows += payments.length;
  }
  const oldestMs = Math.min(sinceMs, approval?.sinceMs ?? Infinity);
  const all = await listed(settings, alike, oldestMs);
  const records = all.filter((record) => alike.has(record));
  const { failed: failedWords } = settings.facts.withdrawalStatuses;
  const unnamed = records.filter((record) => mayCount(record, { failedWords, own }));
  const claims = ours === null || unnamed.length === 0 ? [] : await ours.claims(unnamed);
  const judging = {
    records,
    accounted: new Set(accountedFor(claims)),
    failedWords,
    sinceMs,
    own,
    approval,
  };
  const owners = new Map(claims.map(({ recordId, by }) => [recordId, by]));
  const made = all.flatMap((record): readonly Made[] => {
    if (failedWords.includes(record.status) || Date.parse(record.createdAt) < madeSinceMs) return [];
    const by = owners.get(record.id);
    const one = by?.kind === 'item' ? { record, run: by.run, item: by.item } : madeByTag(record);
    return one === null ? [] : [one];
  });
  return {
    alike:
      batch === null || unnamed.length === 0
        ? null
        : await heldAgainst(new LookAlikes(judging, hashOfTexts), batch, rows),
    before: made.length === 0 ? null : await madeBefore(new Repeats(run, made), asked),
  };
}

/** The payments whose amounts are known before the run starts, in parts. */
async function* paymentsOf({
  policy,
  batch,
}: Pick<LookAlikesQuestion, 'policy' | 'batch'>): AsyncGenerator<readonly BatchPayment[]> {
  if (batch === null) yield fixedPayments(policy);
  else for await (const { payments } of chunksOfFile(batch)) yield payments;
}

function fixedPayments(policy: Policy): readonly BatchPayment[] {
  if (policy.kind !== 'convert') return [];
  const { buy } = policy.convert;
  return policy.withdraw.flatMap(({ id, account, amount }): readonly BatchPayment[] =>
    amount.kind === 'fixed' ? [[id, account, buy, amount.value]] : [],
  );
}

/** Reads the payments once more, and compares them with what our other runs have made. */
async function madeBefore(repeats: Repeats, asked: LookAlikesQuestion): Promise<SeenMadeBefore | null> {
  const money: Money[] = [];
  const members = new Set<string>();
  const near: MadeBefore[] = [];
  const others: MadeBefore[] = [];
  for await (const payments of paymentsOf(asked)) {
    for (const found of payments.flatMap((payment) => repeats.of(payment) ?? [])) {
      const [id, , currency, value] = found.payment;
      money.push({ currency, value });
      members.add(`${id} ${found.made.record.id} ${found.others}`);
      (found.isNear ? near : others).push(found);
    }
  }
  if (money.length === 0) return null;
  return {
    name: nameOfFound('made-before', [...members], hashOfTexts),
    payments: money.length,
    sums: sumsOf(money),
    near: near.length,
    first: [...near, ...others].slice(0, SHOWN.before),
  };
}

/** Says in one sentence what was made before. */
export function beforeHead({ payments, sums, near }: SeenMadeBefore): string {
  const total = sums.map(({ currency, value }) => moneyText(value, currency)).join(', ');
  const are = payments === 1 ? 'payment of this run was' : 'payments of this run were';
  const named = near === 0 ? '' : ` ${near} of them under almost the same name.`;
  return `${payments} ${are} made before by other runs, under other names: ${total}.${named}`;
}

/** One of them. */
export function beforeLine({ payment, made, others }: MadeBefore): string {
  const [id, account, currency, amount] = payment;
  const { record, run, item } = made;
  const more = others > 0 ? `, and ${others} more` : '';
  return `${id}: ${moneyText(amount, currency)} to ${account}; ${item} of ${run} on ${record.createdAt.slice(0, 10)} (${record.id})${more}`;
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
      wanted: (record) => Date.parse(record.createdAt) >= sinceMs && alike.couldBe(record),
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
    first: records.slice(0, SHOWN.alike),
    approval: { ...bounds, groups },
    isApproved,
  };
}
