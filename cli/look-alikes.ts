/**
 * Look-alikes of a batch on the command line: shown before it starts, and approved by a person, by `--approve-lookalikes` or
 * at the terminal. Without that nothing is started.
 */
import { runName } from '../domain/references.ts';
import type { Trouble } from '../language/text/problem.ts';
import { CommandFailure } from '../operations/failure.ts';
import { wakeRun } from '../operations/keep-instruction.ts';
import {
  approveLookAlikes,
  seeLookAlikes,
  type LookAlike,
  type SeenLookAlikes,
} from '../operations/look-alikes.ts';
import { isPlanMade } from '../operations/plans.ts';
import type { AskedStart } from '../operations/start.ts';
import type { Output } from './terminal/output.ts';
import { count } from './terminal/text.ts';
import { money } from './views/amount-text.ts';

/** Who approves, and why. */
export type Approver = { readonly by: string; readonly why: string };

/** Before a start. @throws CommandFailure where something looks like a payment, and nobody approves it */
export async function heedLookAlikes(
  output: Output,
  asked: AskedStart,
  { approver, by }: { readonly approver: Approver | null; readonly by: string },
): Promise<void> {
  const { batch, place, run } = asked;
  if (batch === null) return;
  // What a plan has found holds its own payments, until somebody approves it.
  if (approver === null && (await isPlanMade(place.client, place.mode, run))) return;
  const seen = await seeLookAlikes({ ...asked, batch: batch.file });
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

/** Of a run that is open: what is held for look-alikes goes on. */
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

/** What a person is shown of them. */
export function textOf(seen: SeenLookAlikes): readonly string[] {
  const more = seen.records - seen.first.length;
  return [
    headOf(seen),
    ...seen.first.map((one) => `  ${lineOf(one)}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}

function headOf({ records, payments, sums }: SeenLookAlikes): string {
  const total = sums.map(({ currency, value }) => money(value, currency)).join(', ');
  const are = records === 1 ? 'withdrawal looks' : 'withdrawals look';
  return `${records} ${are} like ${count(payments, 'payment')} of this batch, and no run of ours accounts for ${records === 1 ? 'it' : 'them'}: ${total}.`;
}

function lineOf({ record, item, others }: LookAlike): string {
  const { id, createdAt, currency, withdrawalAmount, withdrawalAccountId } = record;
  const account = withdrawalAccountId ?? 'an account that is not shown';
  const more = others > 0 ? ` and ${others} more` : '';
  return `${id} of ${createdAt.slice(0, 10)}: ${money(withdrawalAmount, currency)} to ${account}, like ${item}${more}`;
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
