/**
 * Records of the service that look like payments of a batch, and which of them our runs account for. All
 * payments are looked up in the list at once, in the scan that also looks for other batches, and our runs are
 * asked one question. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { BatchPayment } from '../domain/batch.ts';
import { approvalIn, type LookAlikeApproval } from '../domain/people/instructions.ts';
import { Alike, LookAlikes, type Judging } from '../domain/writes/look-alikes.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import type { Wait } from '../domain/waits.ts';
import { hashOfTexts } from '../language/batch/chunk-hash.ts';
import type { Deps, OfBatch } from './deps.ts';
import { keptOrNothing } from './kept.ts';
import { listUnread } from './other-batches.ts';

/** So long our runs have to answer: far below what an attempt may take. */
const ASKED_WITHIN_MS = 10_000;

/** Records that look like payments; `accounted`: the ids of those that runs of ours account for. */
export type FoundAlike = {
  readonly records: readonly Withdrawal[];
  readonly accounted: ReadonlySet<string>;
};

type AskedAlike = OfBatch & {
  readonly chunks: readonly (readonly BatchPayment[])[];
  /** Records that were created before this are not looked for. */
  readonly sinceMs: number;
  /** Our runs are not asked about records created since then: the payments' own keys answer for those. */
  readonly ownSinceMs: number;
};

/** @param earlier what was found before: our runs are not asked about these records once more */
export async function findAlike(
  deps: Deps,
  of: AskedAlike,
  earlier: FoundAlike | null = null,
): Promise<FoundAlike | { readonly wait: Wait }> {
  const { mode, run, chunks, sinceMs, ownSinceMs } = of;
  const alike = new Alike();
  for (const payments of chunks) alike.add(payments);
  const wanted = (record: Withdrawal): boolean =>
    Date.parse(record.createdAt) >= sinceMs && alike.has(record);
  const { cancellationSignal } = ActivityContext.current();
  const { records, stopped } = await deps.scans.lookUp({ sinceMs, wanted }, cancellationSignal);
  if (stopped !== null)
    return { wait: listUnread('whether somebody else has paid what looks the same is not known') };
  const known = new Map(earlier?.records.map((record) => [record.id, record]));
  const { failed } = deps.facts.withdrawalStatuses;
  const asked = records.filter(
    ({ id, status, createdAt }) =>
      !known.has(id) && !failed.includes(status) && Date.parse(createdAt) < ownSinceMs,
  );
  const accounted =
    asked.length === 0 ? [] : await deps.otherRuns.recordsOf(mode, run, asked, ASKED_WITHIN_MS);
  for (const record of records) known.set(record.id, record);
  return {
    records: [...known.values()],
    accounted: new Set([...(earlier?.accounted ?? []), ...accounted]),
  };
}

/** What people have approved, as the instructions say now; null: nothing. */
export async function readApproval(deps: Deps, of: OfBatch): Promise<LookAlikeApproval | null> {
  return approvalIn(await keptOrNothing(deps, of));
}

export function judged(
  { facts }: Deps,
  found: FoundAlike,
  by: Pick<Judging, 'sinceMs' | 'ownSinceMs' | 'approval'>,
): LookAlikes {
  return new LookAlikes({ ...found, failedWords: facts.withdrawalStatuses.failed, ...by }, hashOfTexts);
}
