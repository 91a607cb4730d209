/**
 * Which payments of a batch another batch of its policy has paid or holds, by the service's list, which
 * cannot get lost, and by what Temporal still has. Records that have failed do not count as paid. Moves
 * nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { payerOf, type Held } from '../domain/plan/batch-items.ts';
import { makeProblem } from '../domain/problems.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import type { Wait } from '../domain/waits.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import type { Deps, OfBatch, Suspect } from './deps.ts';

const ASK_AGAIN_MS = 10_000;

/** What was found so far. It is complete for what was there before `beganAtMs`. */
export type Found = {
  readonly beganAtMs: number;
  readonly suspects: readonly Suspect[];
  /** Payments that the service's list shows as paid. */
  readonly paid: Held;
  /** Ids of records of other batches that have failed, and so pay nobody. */
  readonly failed: ReadonlySet<string>;
};

type Asked = OfBatch & { readonly names: readonly string[]; readonly sinceMs: number };

/** Looks for chunks that may hold these payments. `askOthers` then asks which of them do. */
export async function findOthers(
  deps: Deps,
  { names, sinceMs, ...of }: Asked,
): Promise<Found | { readonly wait: Wait }> {
  const beganAtMs = deps.clock.wallMs();
  const [suspects, listed] = await Promise.all([
    deps.otherBatches.suspects(of, names, sinceMs),
    listedOfOthers(deps, { ...of, names, sinceMs }),
  ]);
  return 'wait' in listed ? listed : { beganAtMs, suspects, ...listed };
}

/** Goes on from an earlier search: looks for what is new since it began, and adds what it found. */
export async function findNewOthers(
  deps: Deps,
  asked: Asked,
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
    paid: new Map([...earlier.paid, ...found.paid]),
    failed: new Set([...earlier.failed, ...found.failed]),
  };
}

/** An earlier search has seen everything that was created before this moment. */
export function newSince({ facts }: Deps, { beganAtMs }: Pick<Found, 'beganAtMs'>): number {
  return beganAtMs - 2 * facts.listLagMs - 2 * CLOCK_TOLERANCE_MS;
}

/** Asks which run has each of the payments now. */
export async function askOthers(
  deps: Deps,
  { mode }: Pick<OfBatch, 'mode'>,
  { suspects, paid, failed }: Omit<Found, 'beganAtMs'>,
): Promise<Held | { readonly wait: Wait }> {
  const { held, silent } = await deps.otherBatches.holders(mode, suspects);
  const standing = [...held].filter(
    ([, { withdrawalId }]) => withdrawalId === null || !failed.has(withdrawalId),
  );
  if (silent === null) return new Map([...standing.map(([name, { run }]) => [name, run] as const), ...paid]);
  const message = `Run ${silent} has payments of the same ids and does not answer, so whether it pays them is not known.`;
  const problem = makeProblem('OTHER_RUN_SILENT', null, { message });
  return { wait: { afterMs: ASK_AGAIN_MS, reason: 'outage', problem } };
}

/** Records with another run's tag: which payments they pay, and which of the records have failed. */
async function listedOfOthers(
  deps: Deps,
  { run, names, sinceMs }: Asked,
): Promise<Pick<Found, 'paid' | 'failed'> | { readonly wait: Wait }> {
  const asked = new Set(names);
  const wanted = (record: Withdrawal): boolean =>
    Date.parse(record.createdAt) >= sinceMs && payerOf(run, asked, record) !== null;
  const { cancellationSignal } = ActivityContext.current();
  const { records, stopped } = await deps.scans.lookUp({ sinceMs, wanted }, cancellationSignal);
  if (stopped !== null) return { wait: listUnread('what other batches have paid is not known') };
  const paid = new Map<string, string>();
  const failed = new Set<string>();
  for (const record of records) {
    const payer = payerOf(run, asked, record);
    if (deps.facts.withdrawalStatuses.failed.includes(record.status)) failed.add(record.id);
    else if (payer !== null) paid.set(...payer);
  }
  return { paid, failed };
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
