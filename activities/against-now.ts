/**
 * What stands against payments of a chunk now: their accounts, another batch that has paid or holds them, or a withdrawal that
 * looks like them. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { firstHolders, isUnpayable, nameOfPayment } from '../domain/batch.ts';
import { letGoOf, type LookAlikeApproval } from '../domain/people/instructions.ts';
import { AccountBook } from '../domain/plan/batch-items.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import type { GoOf } from '../domain/run/calls.ts';
import { answeredSince, countsSince, LOOK_ALIKE, ownOf, type Own } from '../domain/writes/look-alikes.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import { readAccounts } from '../service/observe.ts';
import {
  findAlike,
  heldByOthers,
  heldSideBySide,
  judged,
  readApproval,
  type FoundAlike,
  type Waits,
} from './claims.ts';
import type { Deps } from './deps.ts';
import { remembered, type ChunkMemory, type OfChunk } from './of-chunk.ts';
import { withoutInstructions } from './said.ts';

type Against = Pick<GoOf, 'unpayable' | 'neverSent' | 'heldBy' | 'alike' | 'alikeIds'>;

/** One scan of the service's list answers both questions. */
export async function againstNow(deps: Deps, memory: ChunkMemory, of: OfChunk): Promise<Against | Waits> {
  const [unpayable, alike] = await Promise.all([unpayableNow(deps, memory, of), alikeNow(deps, memory, of)]);
  if ('wait' in unpayable) return unpayable;
  if ('wait' in alike) return alike;
  const neverSent = await neverSentOf(deps, of, unpayable.unpayable);
  return 'wait' in neverSent ? neverSent : { ...unpayable, ...neverSent, ...alike };
}

/** Soon, because the payments could leave now. */
const NOTE_AGAIN_MS = 5_000;

/**
 * Payments that the plan has ended, and that nobody has let go since, were never sent. Those that can be paid now are *let go*:
 * before the chunk hears of it, this is noted where no reset loses it. A plan that was made anew from what was found proves
 * nothing, because the plan before it may have let any payment go.
 * @param letters what stands against the payments now
 */
async function neverSentOf(
  { instructions }: Pick<Deps, 'instructions'>,
  { plan, planned, number }: OfChunk,
  letters: string | null,
): Promise<Pick<Against, 'neverSent'> | Waits> {
  const { run, credentials, foundRecords } = plan;
  const ended = (planned.unpayable ?? '')
    .split('')
    .flatMap((letter, place) => (isUnpayable(letter) ? place : []));
  if (ended.length === 0 || foundRecords) return {};
  const isStill = (place: number): boolean => isUnpayable(letters?.[place]);
  try {
    const known = letGoOf(await instructions.read(credentials.mode, run), number);
    const places = ended.filter((place) => !isStill(place) && !known.has(place));
    if (places.length > 0)
      await instructions.note(credentials.mode, run, [{ kind: 'let go', chunk: number, places }]);
    return { neverSent: ended.filter((place) => isStill(place) && !known.has(place)) };
  } catch (error) {
    // Without them, nothing is proven. What is to be let go waits until that is noted.
    if (ended.every(isStill)) return {};
    const away = { afterMs: NOTE_AGAIN_MS, reason: 'service', problem: notNoted(number) } as const;
    return { wait: withoutInstructions(error, run) ?? away };
  }
}

function notNoted(chunk: number): Problem {
  return makeProblem('INSTRUCTIONS_AWAY', null, {
    message: `Temporal could not record that payments of chunk ${chunk} can be paid after all.`,
  });
}

/**
 * The payments that cannot be made. After a reset or a new start, the service and other batches are asked
 * again, because a person may have mended the cause.
 */
async function unpayableNow(
  deps: Deps,
  memory: ChunkMemory,
  of: OfChunk,
): Promise<Pick<Against, 'unpayable' | 'heldBy'> | Waits> {
  const { plan, batch, planned, payments, isFirstRun, payer } = of;
  const known = isFirstRun ? planned.unpayable : await lettersNow(deps, of);
  const wanted = payments.filter((_payment, index) => !isUnpayable(known?.[index])).map(nameOfPayment);
  const sinceMs = deps.clock.wallMs() - batch.rules.dedupeMs;
  const asked = { mode: plan.credentials.mode, run: plan.run, names: wanted, sinceMs };
  // A chunk that takes up its unpaid payments again asks once: every batch that asks later sees that the chunk has them.
  const askOnce = { maxAgeMs: Infinity, ask: () => heldByOthers(deps, asked) };
  const held = isFirstRun
    ? await heldSideBySide(deps, memory.beside, { ...asked, madeAtMs: plan.madeAtMs })
    : await remembered(memory.held, payer, askOnce);
  if ('wait' in held) return held;
  if (held.size === 0) return { unpayable: known, heldBy: isFirstRun ? batch.heldBy : [] };
  const letters = payments.map((payment, index) => {
    const letter = known?.[index];
    if (isUnpayable(letter)) return letter;
    return held.has(nameOfPayment(payment)) ? 'd' : '.';
  });
  return { unpayable: letters.join(''), heldBy: firstHolders([...held.values(), ...batch.heldBy]) };
}

/**
 * Looks again at the payments that could not be made when the plan was made. It checks their accounts;
 * `unpayableNow` asks what other batches have.
 */
async function lettersNow(deps: Deps, { planned, payments }: OfChunk): Promise<string | null> {
  const letters = planned.unpayable;
  if (letters === null) return null;
  const suspects = payments.filter((_payment, index) => isUnpayable(letters[index]));
  const listed = await readAccounts(deps.reader, {
    wanted: suspects.map(([, account]) => account),
    unusable: deps.facts.accountStatuses.unusable,
    signal: ActivityContext.current().cancellationSignal,
  });
  const book = new AccountBook(listed);
  return payments
    .map((payment, index) => (isUnpayable(letters[index]) ? (book.against(payment) ?? '.') : '.'))
    .join('');
}

/** At most so many records are named, because each costs bytes in every answer. */
const MOST_NAMED = 100;

/**
 * What looks like payments of the chunk now. In the run that made the plan, only what the plan found is
 * checked again. Once the payments may have been sent, newer records may be their own, and their keys show
 * whether they are.
 */
async function alikeNow(
  deps: Deps,
  memory: ChunkMemory,
  of: OfChunk,
): Promise<Pick<Against, 'alike' | 'alikeIds'> | Waits> {
  const { plan, batch, planned, number, payments, isFirstRun } = of;
  const before = planned.alike ?? null;
  if (isFirstRun && before?.includes(LOOK_ALIKE.held) !== true)
    return before === null ? {} : { alike: before };
  const approval = await readApproval(deps, { mode: plan.credentials.mode, run: plan.run });
  const own = ownOf(deps.facts, plan.sendWindows.opensAtMs);
  // What the plan found was there before the plan, whatever the clocks say.
  const ownOfPlan = isFirstRun ? own : answeredSince(own, plan.madeAtMs);
  const found = await foundAlike(deps, memory, { of, approval, own: ownOfPlan });
  if ('wait' in found) return found;
  const sinceMs = countsSince(deps.clock.wallMs(), batch.rules.dedupeMs, own);
  const ofPlan = judged(deps, found, { sinceMs, own: ownOfPlan, approval });
  const ownSince = answeredSince(own, plan.madeAtMs - CLOCK_TOLERANCE_MS);
  const since = judged(deps, found, { sinceMs, own: ownSince, approval });
  const [lettersOfPlan, lettersSince] = [ofPlan, since].map((one) => one.lettersOf(number, payments));
  const alikeIds: Record<number, string> = {};
  const letters = payments.map((payment, index) => {
    const isOfPlan = (before?.[index] ?? LOOK_ALIKE.none) !== LOOK_ALIKE.none;
    if (isFirstRun && !isOfPlan) return LOOK_ALIKE.none;
    const letter = (isOfPlan ? lettersOfPlan : lettersSince)?.[index] ?? LOOK_ALIKE.none;
    const [record] = letter === LOOK_ALIKE.held ? (isOfPlan ? ofPlan : since).of(payment) : [];
    if (record !== undefined && Object.keys(alikeIds).length < MOST_NAMED) alikeIds[index] = record.id;
    return letter;
  });
  return { alike: letters.join(''), alikeIds };
}

/** A chunk asks for its go whenever there is news. */
const KEPT_MS = 60_000;

function foundAlike(
  deps: Deps,
  { alike }: ChunkMemory,
  {
    of: { plan, batch, payments, payer, wakes },
    approval,
    own,
  }: {
    readonly of: OfChunk;
    readonly approval: LookAlikeApproval | null;
    readonly own: Own;
  },
): Promise<FoundAlike | Waits> {
  const { mode } = plan.credentials;
  const ask = () => {
    const countsSinceMs = countsSince(deps.clock.wallMs(), batch.rules.dedupeMs, own);
    const sinceMs = Math.min(countsSinceMs, approval?.sinceMs ?? Infinity);
    return findAlike(deps, { mode, run: plan.run, chunks: [payments], sinceMs, own });
  };
  return remembered(alike, [payer, wakes, approval?.sinceMs].join(), { maxAgeMs: KEPT_MS, ask });
}
