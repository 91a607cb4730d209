/**
 * The batch of a payout as this worker sees it. It reads every chunk from Temporal, checks it against the
 * hash with which the run was started, and looks each account up in the service's list once. It looks for
 * what other batches of the policy have paid or hold before the turn, and once more in the turn.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { sendWindowsOf } from '../calendar/business-date.ts';
import { decimalsOf } from '../domain/currencies.ts';
import { destinationsText, type Destinations } from '../domain/destinations.ts';
import { nameOfPayment, type BatchPayment, type Manifest, type SeenBatch } from '../domain/batch.ts';
import { AccountBook, BatchTally, type Held } from '../domain/plan/batch-items.ts';
import { SeenRuns } from '../domain/writes/lost-runs.ts';
import { countsSince, ownOf, type LookAlikes, type Own } from '../domain/writes/look-alikes.ts';
import type { PayoutPolicy } from '../domain/policy.ts';
import { makeProblem } from '../domain/problems.ts';
import { runName } from '../domain/references.ts';
import type { NotObserved } from '../domain/run/calls.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import { readAccounts } from '../service/observe.ts';
import { chunkIdOf } from '../workflows/names.ts';
import { allowedAccounts } from './allowed-accounts.ts';
import {
  askOthers,
  findAlike,
  findNewOthers,
  findOthers,
  judged,
  newSince,
  noteRuns,
  readApproval,
  type Found,
  type FoundAlike,
} from './claims.ts';
import type { Deps, OfBatch } from './deps.ts';
import { wrongChunk } from './run-input.ts';

/** Short, so that a person who submits the missing chunk sees soon that the run goes on. */
const ASK_AGAIN_MS = 15_000;
/** So many chunks are read side by side. */
const SIDE_BY_SIDE = 5;

/** A batch as its chunks have it; `book`: what the service says of its accounts. */
export type ReadBatch = {
  readonly kind: 'read';
  readonly manifest: Manifest;
  readonly chunks: readonly (readonly BatchPayment[])[];
  readonly book: AccountBook;
  /** The only accounts that may be paid; null: any. */
  readonly destinations: Destinations | null;
};

/** `destinations`: with which the run was started. */
type OfManifest = OfBatch & {
  readonly manifest: Manifest;
  readonly policy: PayoutPolicy;
  readonly destinations: Destinations | null;
};
/** `date`: the business date of the run. */
type OfPayout = OfManifest & { readonly date: string };

export async function readBatch(deps: Deps, of: OfManifest): Promise<ReadBatch | NotObserved> {
  const { manifest } = of;
  const allowed = await allowedAccounts(deps, of.policy, of.destinations);
  if (allowed.kind !== 'read') return allowed;
  const chunks: (readonly BatchPayment[])[] = [];
  for (let first = 0; first < manifest.chunks.length; first += SIDE_BY_SIDE) {
    const part = manifest.chunks.slice(first, first + SIDE_BY_SIDE);
    const read = await Promise.all(part.map((_digest, index) => readChunk(deps, of, first + index + 1)));
    for (const one of read) {
      if (!('payments' in one)) return one;
      chunks.push(one.payments);
    }
  }
  const wanted = [...new Set(chunks.flatMap((payments) => payments.map(([, account]) => account)))];
  const listed = await readAccounts(deps.reader, {
    wanted,
    unusable: deps.facts.accountStatuses.unusable,
    signal: ActivityContext.current().cancellationSignal,
  });
  const { destinations } = allowed;
  return { kind: 'read', manifest, chunks, book: new AccountBook(listed), destinations };
}

/**
 * Counts and sums of the batch, or why it is refused.
 * @param of `held`: payments that are not made because another batch has them. `alike`: what looks like the
 * payments; null: this was not asked
 */
export function tallyBatch(
  deps: Deps,
  { manifest, chunks, book, destinations }: ReadBatch,
  of: { readonly policy: PayoutPolicy; readonly held: Held; readonly alike: LookAlikes | null },
): { readonly kind: 'seen'; readonly batch: SeenBatch } | NotObserved {
  const tally = new BatchTally({
    limits: of.policy.rules.limits,
    decimalsOf: (currency) => decimalsOf(currency, deps.facts.decimals),
    book,
    destinations,
    held: of.held,
  });
  for (const [index, digest] of manifest.chunks.entries()) {
    const payments = chunks[index] ?? [];
    tally.add(digest, payments, of.alike?.lettersOf(index + 1, payments) ?? null);
  }
  const { batch, problems } = tally;
  if (problems.length > 0) return { kind: 'refused', problems };
  const isSame =
    JSON.stringify([batch.payments, batch.totals]) === JSON.stringify([manifest.payments, manifest.totals]);
  if (isSame) return { kind: 'seen', batch };
  const message = 'Its counts and sums are not those of its chunks.';
  return { kind: 'refused', problems: [makeProblem('INPUT_INVALID', null, { message })] };
}

/** A batch as it was read before the turn, and what other batches had paid or held then. */
export type BeforeTurn = {
  readonly kind: 'looked';
  readonly of: OfPayout;
  readonly read: ReadBatch;
  readonly found: Found;
  readonly alike: FoundAlike;
  /** How far back look-alikes were looked for, epoch milliseconds. */
  readonly alikeSinceMs: number;
  /** Which runs of the policy the list shows. */
  readonly seenRuns: SeenRuns;
};

/** A run that waits for its turn asks again every second, and need not read its batch each time. */
const before = new Map<string, { readonly atMs: number; readonly value: BeforeTurn }>();
const MOST_KEPT = 2;
const KEPT_MS = 600_000;

/** Reads the batch and looks for what others have paid of it: this takes a while, too long for the turn. */
export async function lookBeforeTurn(deps: Deps, of: OfPayout): Promise<BeforeTurn | NotObserved> {
  const key = keyOf(of);
  const known = before.get(key);
  const nowMs = deps.clock.monotonicMs();
  if (known !== undefined && nowMs - known.atMs < KEPT_MS) return known.value;
  const read = await readBatch(deps, of);
  if (read.kind !== 'read') return read;
  const asked = askedOf(deps, of, read);
  const own = ownOfBatch(deps, of);
  const alikeSinceMs = Math.min(
    countsSinceOf(deps, of, own),
    (await readApproval(deps, of))?.sinceMs ?? Infinity,
  );
  const seenRuns = new SeenRuns(of.run);
  // One scan answers all three.
  const [found, alike, unseen] = await Promise.all([
    findOthers(deps, asked),
    findAlike(deps, { ...of, chunks: read.chunks, sinceMs: alikeSinceMs, own }),
    noteRuns(deps, seenRuns, asked.sinceMs),
  ]);
  if ('wait' in found) return { kind: 'wait', wait: found.wait };
  if ('wait' in alike) return { kind: 'wait', wait: alike.wait };
  if (unseen !== null) return { kind: 'wait', wait: unseen.wait };
  const value: BeforeTurn = { kind: 'looked', of, read, found, alike, alikeSinceMs, seenRuns };
  if (before.size >= MOST_KEPT) before.clear();
  before.set(key, { atMs: nowMs, value });
  return value;
}

/**
 * In the turn: looks for what is new since `lookBeforeTurn`, and asks which run holds which payment now. Only
 * one batch of a policy does this at a time.
 */
export async function seeInTurn(
  deps: Deps,
  { of, read, found, ...looked }: BeforeTurn,
): Promise<ReturnType<typeof tallyBatch>> {
  const asked = askedOf(deps, of, read);
  const approval = await readApproval(deps, of);
  const own = ownOfBatch(deps, of);
  // A person may have approved a list meanwhile that has older records.
  const isNewer = approval !== null && approval.sinceMs < looked.alikeSinceMs;
  const alikeSinceMs = isNewer ? approval.sinceMs : newSince(deps, found);
  const [all, alike] = await Promise.all([
    findNewOthers(deps, asked, found),
    findAlike(deps, { ...of, chunks: read.chunks, sinceMs: alikeSinceMs, own }, looked.alike),
  ]);
  const held = 'wait' in all ? all : await askOthers(deps, of, all);
  if ('wait' in held) return { kind: 'wait', wait: held.wait };
  if ('wait' in alike) return { kind: 'wait', wait: alike.wait };
  before.delete(keyOf(of));
  const by = { sinceMs: countsSinceOf(deps, of, own), own, approval };
  return tallyBatch(deps, read, { policy: of.policy, held, alike: judged(deps, alike, by) });
}

function ownOfBatch({ facts }: Deps, { date, policy }: OfPayout): Own {
  return ownOf(facts, sendWindowsOf(date, policy.zone).opensAtMs);
}

function countsSinceOf({ clock }: Deps, { policy }: OfPayout, own: Own): number {
  return countsSince(clock.wallMs(), policy.payout.rules.dedupeMs, own);
}

function askedOf({ clock }: Deps, { mode, run, policy }: OfPayout, { chunks }: ReadBatch) {
  const sinceMs = clock.wallMs() - policy.payout.rules.dedupeMs;
  return { mode, run, names: chunks.flatMap((payments) => payments.map(nameOfPayment)), sinceMs };
}

function keyOf({ mode, run, manifest, destinations }: OfManifest): string {
  const allowed = destinations === null ? '' : destinationsText(destinations);
  return [mode, runName(run), ...manifest.chunks.map(({ hash }) => hash), allowed].join();
}

async function readChunk(
  deps: Deps,
  { mode, run, manifest }: OfManifest,
  number: number,
): Promise<{ readonly payments: readonly BatchPayment[] } | NotObserved> {
  const input = await deps.chunks.readInput(chunkIdOf(mode, run, number));
  if (input === null) {
    const problem = makeProblem('CHUNK_MISSING', null, {
      message: `Chunk ${number} of ${manifest.chunks.length} of the batch is not in Temporal.`,
    });
    return { kind: 'wait', wait: { afterMs: ASK_AGAIN_MS, reason: 'person', problem } };
  }
  const why = wrongChunk(input, { mode, run, number });
  const digest = manifest.chunks[number - 1];
  if (
    why === null &&
    digest?.hash === hashOfChunk(input.payments) &&
    digest.payments === input.payments.length
  )
    return input;
  return {
    kind: 'refused',
    problems: [makeProblem('CHUNK_DIFFERS', null, why === null ? {} : { message: why })],
  };
}
