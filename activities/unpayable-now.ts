/**
 * Which payments of a chunk cannot be made now: because of their accounts, or because another batch has paid or holds
 * them. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { firstHolders, isUnpayable, nameOfPayment } from '../domain/batch.ts';
import { AccountBook } from '../domain/plan/batch-items.ts';
import { readAccounts } from '../service/observe.ts';
import { heldByOthers, heldSideBySide, type Waits } from './claims.ts';
import type { Deps } from './deps.ts';
import { remembered, type ChunkMemory, type OfChunk } from './of-chunk.ts';

type UnpayableNow = { readonly unpayable: string | null; readonly heldBy: readonly string[] };

/**
 * The payments that cannot be made. After a reset or a new start, the service and other batches are asked
 * again, because a person may have mended the cause.
 */
export async function unpayableNow(
  deps: Deps,
  memory: ChunkMemory,
  of: OfChunk,
): Promise<UnpayableNow | Waits> {
  const { plan, batch, planned, payments, isFirstRun, takenUpBy } = of;
  const known = isFirstRun ? planned.unpayable : await lettersNow(deps, of);
  const wanted = payments.filter((_payment, index) => !isUnpayable(known?.[index])).map(nameOfPayment);
  const sinceMs = deps.clock.wallMs() - batch.rules.dedupeMs;
  const asked = { mode: plan.credentials.mode, run: plan.run, names: wanted, sinceMs };
  // A chunk that takes up its unpaid payments again asks once: every batch that asks later sees that the chunk has them.
  const askOnce = { maxAgeMs: Infinity, ask: () => heldByOthers(deps, asked) };
  const held = isFirstRun
    ? await heldSideBySide(deps, memory.beside, { ...asked, madeAtMs: plan.madeAtMs })
    : await remembered(memory.held, takenUpBy, askOnce);
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
