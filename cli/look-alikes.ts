/**
 * What looks like payments of a run, on the command line. The person sees it before the run starts. Look-alikes of a batch are approved
 * by `--go-on NAME` or at the terminal. What other runs of ours have paid under other names is approved, in live, by `--again NAME`, or
 * by its name at the terminal. Without an approval nothing is started.
 */
import { runName, type RunName } from '../domain/references.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from '../operations/failure.ts';
import { readOurs } from '../operations/decide/claims.ts';
import { acceptLookAlikes, type GoOn } from '../operations/decide/go-on.ts';
import {
  approvalOf,
  hasKnownPayments,
  seeLookAlikes,
  type SeenLookAlikes,
  type SeenMadeBefore,
} from '../operations/batches/look-alikes.ts';
import type { Place } from '../operations/place.ts';
import { refusedAsMadeBefore } from '../operations/start/made-before.ts';
import type { AskedStart } from '../operations/start/run-policy.ts';
import type { Output } from './terminal/output.ts';
import { beforeText, headOf, lineOf, textOf } from './views/look-alikes-text.ts';

/**
 * Checked before a start, and when a person approves look-alikes of an open run.
 * @param of `approver`: null: no person approves. `again`: the name of a list of payments that were made before; null: none
 * @returns the id of what this command has said; null: nothing
 * @throws CommandFailure where a withdrawal looks like a payment, and no person approves exactly what looks so now
 */
export async function heedLookAlikes(
  output: Output,
  asked: AskedStart,
  {
    approver,
    by,
    again,
  }: { readonly approver: GoOn | null; readonly by: string; readonly again: string | null },
): Promise<string | null> {
  const { batch, place, run, policyFile } = asked;
  const { policy } = policyFile;
  if (batch === null && (policy.kind === 'payout' || !hasKnownPayments(policy))) return null;
  const ours = await readOurs(place, run);
  // Once the batch has a plan, the plan holds the payments with look-alikes until a person approves them. The start need not
  // wait.
  if (approver === null && ours.madeAtMs !== null) return null;
  const { settings, now } = asked;
  const file = batch?.file ?? null;
  const { alike: found, before } = await seeLookAlikes({ settings, run, policy, batch: file, ours, now });
  if (before !== null && ours.madeAtMs === null) await heedMadeBefore(output, asked, before, again);
  if (found === null) return null;
  const said = approvalOf(found, approver?.item ?? null);
  if (said === 'approved before') {
    const lines = approver?.item === 'look-alikes' ? textOf(found) : [headOf(found)];
    output.note(...lines, 'A person has said that none of them is a payment of this batch.');
    return null;
  }
  if (said === 'another list') throw refused(found, runName(run), 'approved');
  const approved = approver ?? (await askFor(output, found, by));
  if (approved === null) throw refused(found, runName(run), 'started');
  if (approver !== null) output.note(...textOf(found));
  const id = await acceptLookAlikes(place, run, approved, { ...found, seen: ours.seen });
  output.note(`Approved by ${approved.by}: none of them is a payment of this batch.`);
  return id;
}

/** In sandbox the person is told. In live the same payments are made again only by the name of their list. */
export async function heedMadeBefore(
  output: Output,
  { place, run }: { readonly place: Pick<Place, 'mode'>; readonly run: RunName },
  before: SeenMadeBefore,
  again: string | null,
): Promise<void> {
  const { ask } = output.io;
  const isAsked = place.mode === 'LIVE' && again !== before.name;
  if (!isAsked || ask !== null) output.note(...beforeText(before));
  if (!isAsked) return;
  const answer = ask === null ? '' : await ask(`If they are to be made all the same, type ${before.name}: `);
  if (answer.trim() === before.name) return;
  throw refusedAsMadeBefore(
    before,
    run,
    `Look at them. If they are to be made all the same, type the same with --again ${before.name} (--yes is not enough). If not, take these payments out.`,
  );
}

async function askFor(
  output: Output,
  seen: SeenLookAlikes,
  by: string,
): Promise<Pick<GoOn, 'by' | 'why'> | null> {
  const { ask } = output.io;
  if (ask === null) return null;
  output.note(...textOf(seen));
  const answer = await ask(
    'Is none of them a payment of this batch, and is it to be paid all the same? Type yes: ',
  );
  return answer.trim().toLowerCase() === 'yes' ? { by, why: 'answered yes at the terminal' } : null;
}

function refused(seen: SeenLookAlikes, run: string, what: string): CommandFailure {
  const more = seen.records - seen.first.length;
  const shown = more > 0 ? ` The first ${seen.first.length} are shown.` : '';
  return new CommandFailure('refused by us', [
    {
      code: 'LOOKALIKES',
      place: run,
      message: `${headOf(seen)} Nothing was ${what}.${shown}`,
      fix: `Look at them. If none of them is a payment of this batch, type the same with --go-on ${seen.name}, --reason and --by. If some are, take these payments out of the file.`,
    },
    ...seen.first.map((one): Trouble => ({ code: 'LOOKALIKE', place: null, message: lineOf(one), fix: '' })),
  ]);
}
