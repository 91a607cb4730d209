/**
 * Look-alikes of a batch on the command line. The person sees them before the batch starts, and approves them by
 * `--approve-lookalikes` or at the terminal. Without an approval nothing is started.
 */
import { runName } from '../domain/references.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from '../operations/failure.ts';
import { wakeRun } from '../operations/decide/keep-instruction.ts';
import { approveLookAlikes, readOurs } from '../operations/batches/approve-look-alikes.ts';
import { seeLookAlikes, type SeenLookAlikes } from '../operations/batches/look-alikes.ts';
import type { AskedStart } from '../operations/start/run-policy.ts';
import type { Output } from './terminal/output.ts';
import { headOf, lineOf, textOf } from './views/look-alikes-text.ts';

/** Who approves, and why. */
export type Approver = { readonly by: string; readonly why: string };

/** Checked before a start. @throws CommandFailure where a withdrawal looks like a payment, and no person approves it */
export async function heedLookAlikes(
  output: Output,
  asked: AskedStart,
  { approver, by }: { readonly approver: Approver | null; readonly by: string },
): Promise<void> {
  const { batch, place, run } = asked;
  if (batch === null) return;
  const ours = await readOurs(place, run);
  // Once the batch has a plan, the plan holds the payments with look-alikes until a person approves them. The start need not
  // wait.
  if (approver === null && ours.madeAtMs !== null) return;
  const { settings, now } = asked;
  const seen = await seeLookAlikes({ settings, run, batch: batch.file, ours, now });
  if (seen === null) return;
  if (seen.isApproved) {
    output.note(`${headOf(seen)} They are approved.`);
    return;
  }
  const approved = approver ?? (await askFor(output, seen, by));
  if (approved === null) throw refused(seen, runName(run));
  if (approver !== null) output.note(...textOf(seen));
  await approveLookAlikes(place, run, { approval: seen.approval, ...approved });
  output.note(`Approved by ${approved.by}: none of them is a payment of this batch.`);
}

/** For a run that is open: approves look-alikes, so that the payments that they hold go on. */
export async function approveInOpenRun(output: Output, asked: AskedStart, approver: Approver): Promise<void> {
  await heedLookAlikes(output, asked, { approver, by: approver.by });
  await wakeRun(asked.place, asked.run);
}

async function askFor(output: Output, seen: SeenLookAlikes, by: string): Promise<Approver | null> {
  const { ask } = output.io;
  if (ask === null) return null;
  output.note(...textOf(seen));
  const answer = await ask(
    'Is none of them a payment of this batch, and is it to be paid all the same? Type yes: ',
  );
  return answer.trim().toLowerCase() === 'yes' ? { by, why: 'answered yes at the terminal' } : null;
}

function refused(seen: SeenLookAlikes, run: string): CommandFailure {
  const more = seen.records - seen.first.length;
  const shown = more > 0 ? ` The first ${seen.first.length} are shown.` : '';
  return new CommandFailure('refused by us', [
    {
      code: 'LOOKALIKES',
      place: run,
      message: `${headOf(seen)} Nothing was started.${shown}`,
      fix: 'Look at them. If none of them is a payment of this batch, type the same with --approve-lookalikes, --reason and --by. If some are, take those payments out of the file.',
    },
    ...seen.first.map((one): Trouble => ({ code: 'LOOKALIKE', place: null, message: lineOf(one), fix: '' })),
  ]);
}
