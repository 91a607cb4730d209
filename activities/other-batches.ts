/**
 * Which payments of a batch another batch of its policy has paid or holds, by the service's list, which
 * cannot get lost, and by what Temporal still has. Records that have failed do not count as paid. Moves
 * nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { Suspect } from '../domain/run/claims.ts';
import { payerOf, type Held } from '../domain/plan/batch-items.ts';
import { makeProblem } from '../domain/problems.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import type { Wait } from '../domain/waits.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import type { Deps, OfBatch } from './deps.ts';

const ASK_AGAIN_MS = 10_000;

/**
 * What was found so far. It is complete for what was there before `beganAtMs`. It has no statuses, because a search
 * may use a list that was read minutes ago: `askOthers` reads them anew.
 */
export type Found = {
  readonly beganAtMs: number;
  readonly suspects: readonly Suspect[];
  /** Records with the tag of another batch, by their ids. */
  readonly records: ReadonlyMap<string, OthersRecord>;
};

/** The payment that a record pays, unless it has failed, and the run that sent it. */
type OthersRecord = { readonly name: string; readonly run: string; readonly createdAt: string };

type OtherBatchesQuestion = OfBatch & { readonly names: readonly string[]; readonly sinceMs: number };

/** Looks for chunks that may hold these payments. `askOthers` then asks which of them do. */
export async function findOthers(
  deps: Deps,
  { names, sinceMs, ...of }: OtherBatchesQuestion,
): Promise<Found | { readonly wait: Wait }> {
  const beganAtMs = deps.clock.wallMs();
  const [suspects, listed] = await Promise.all([
    deps.otherBatches.suspects(of, names, sinceMs),
    listedOfOthers(deps, { ...of, names, sinceMs }),
  ]);
  return 'wait' in listed ? listed : { beganAtMs, suspects, records: listed };
}

/** Goes on from an earlier search: looks for what is new since it began, and adds what it found. */
export async function findNewOthers(
  deps: Deps,
  asked: OtherBatchesQuestion,
  earlier: Found,
): Promise<Found | { readonly wait: Wait }> {
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
): Promise<Held | { readonly wait: Wait }> {
  const [{ held, silent }, failed] = await Promise.all([
    deps.otherBatches.holders(mode, suspects),
    failedNow(deps, records),
  ]);
  if (failed === null) return { wait: listUnread(PAID_UNKNOWN) };
  if (silent !== null) {
    const message = `Run ${silent} has payments of the same ids and does not answer, so whether it pays them is not known.`;
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

const PAID_UNKNOWN = 'what other batches have paid is not known';

/** The ids of those records that have failed, and so pay nobody, by the list as it stands now. Null: it cannot be read. */
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

/** Records with another run's tag, and the payments that they pay. */
async function listedOfOthers(
  deps: Deps,
  { run, names, sinceMs }: OtherBatchesQuestion,
): Promise<Found['records'] | { readonly wait: Wait }> {
  const asked = new Set(names);
  const wanted = (record: Withdrawal): boolean =>
    Date.parse(record.createdAt) >= sinceMs && payerOf(run, asked, record) !== null;
  const { cancellationSignal } = ActivityContext.current();
  const { records, stopped } = await deps.scans.lookUp({ sinceMs, wanted }, cancellationSignal);
  if (stopped !== null) return { wait: listUnread(PAID_UNKNOWN) };
  return new Map(
    records.flatMap((record) => {
      const payer = payerOf(run, asked, record);
      if (payer === null) return [];
      const [name, other] = payer;
      return [[record.id, { name, run: other, createdAt: record.createdAt }] as const];
    }),
  );
}

/** @param so what is not known because of that */
export function listUnread(so: string): Wait {
  const message = `The service’s list of withdrawals could not be read whole, so that ${so}.`;
  return {
    afterMs: ASK_AGAIN_MS,
    reason: 'outage',
    problem: makeProblem('LOOKUP_INCOMPLETE', null, { message }),
  };
}
