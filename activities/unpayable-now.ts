/**
 * Which payments of a chunk cannot be made now: because of their accounts, or because another batch has paid or holds
 * them. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { firstHolders, isUnpayable, nameOfPayment } from '../domain/batch.ts';
import { AccountBook, type Held } from '../domain/plan/batch-items.ts';
import { runName } from '../domain/references.ts';
import type { Wait } from '../domain/waits.ts';
import { readAccounts } from '../service/observe.ts';
import type { Deps } from './deps.ts';
import { remembered, type ChunkMemory, type OfChunk } from './of-chunk.ts';
import { askOthers, findOthers } from './other-batches.ts';

type UnpayableNow = { readonly unpayable: string | null; readonly heldBy: readonly string[] };

/**
 * The payments that cannot be made. After a reset or a new start, the service and other batches are asked
 * again, because a person may have mended the cause.
 */
export async function unpayableNow(
  deps: Deps,
  memory: ChunkMemory,
  of: OfChunk,
): Promise<UnpayableNow | { readonly wait: Wait }> {
  const { batch, planned, payments, isFirstRun } = of;
  const known = isFirstRun ? planned.unpayable : await lettersNow(deps, of);
  const wanted = payments.filter((_payment, index) => !isUnpayable(known?.[index])).map(nameOfPayment);
  const held = isFirstRun
    ? await heldSideBySide(deps, of, wanted)
    : await heldNow(deps, memory, { of, names: wanted });
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

/**
 * The payments that other batches have which were planned before this one, or at about the same time. The
 * turn of one of the two may have lapsed, so that this batch did not see it.
 */
async function heldSideBySide(
  deps: Deps,
  { plan, batch }: OfChunk,
  names: readonly string[],
): Promise<Held | { readonly wait: Wait }> {
  const of = { mode: plan.credentials.mode, run: plan.run };
  const others = new Set((await deps.otherBatches.plannedBeside(of, plan.madeAtMs)).map(runName));
  if (others.size === 0 || names.length === 0) return new Map();
  const sinceMs = deps.clock.wallMs() - batch.rules.dedupeMs;
  const all = await deps.otherBatches.suspects(of, names, sinceMs);
  const suspects = all.filter(({ run }) => others.has(runName(run)));
  const held = await askOthers(deps, of, { suspects, records: new Map() });
  if ('wait' in held || held.size === 0) return held;
  // Only the list of the service shows which of their records have failed.
  const found = await findOthers(deps, { ...of, names: [...held.keys()], sinceMs });
  return 'wait' in found ? found : askOthers(deps, of, found);
}

/**
 * The payments that other batches have when a chunk takes up its unpaid payments again. It asks once: every batch that
 * asks later sees that the chunk has them.
 */
function heldNow(
  deps: Deps,
  { held }: ChunkMemory,
  { of, names }: { readonly of: OfChunk; readonly names: readonly string[] },
): Promise<Held | { readonly wait: Wait }> {
  const { plan, batch, takenUpBy } = of;
  const ask = async (): Promise<Held | { readonly wait: Wait }> => {
    const own = { mode: plan.credentials.mode, run: plan.run };
    const found = await findOthers(deps, {
      ...own,
      names,
      sinceMs: deps.clock.wallMs() - batch.rules.dedupeMs,
    });
    return 'wait' in found ? found : askOthers(deps, own, found);
  };
  return remembered(held, takenUpBy, { maxAgeMs: Infinity, ask });
}
