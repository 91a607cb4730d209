/** Shows what a signature is for, asks the person, and signs. There is no way to sign without having been asked. */
import { runName, type RunName } from '../domain/references.ts';
import { signableText, type SignedAs } from '../domain/writes/approvals.ts';
import { readToApprove, sign, type Asked, type ToApprove } from '../operations/approve/approval.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Place } from '../operations/place.ts';
import type { Output } from './terminal/output.ts';

type Signer = { readonly as: SignedAs; readonly keyFile: string; readonly by: string; readonly why: string };

/** What a person has signed. */
export type SignedNow = { readonly of: ToApprove; readonly signed: readonly Asked[] };

/** @throws CommandFailure when nobody can be asked */
export function requireTerminal({ io: { ask } }: Output, run: RunName): NonNullable<Output['io']['ask']> {
  if (ask === null) throw notConfirmed(run, 'there is no terminal at which to show it and to ask');
  return ask;
}

/**
 * Asks about the plan, and then about each thing that people have said. What is not answered with a yes, in live with the name of the
 * run, is left.
 * @param look called with all that is to be signed, before anything is shown
 * @throws CommandFailure when nothing was signed, though there was something
 */
export async function askAndSign(
  output: Output,
  place: Place,
  run: RunName,
  { as, ...signer }: Signer,
  look: (of: ToApprove) => Promise<void> = async () => {},
): Promise<SignedNow> {
  const ask = requireTerminal(output, run);
  const { keyFile } = signer;
  const of = await readToApprove(place, run, { as, keyFile, nowMs: output.io.now() });
  await look(of);
  const wanted = place.mode === 'LIVE' ? runName(run) : 'yes';
  const signed: Asked[] = [];
  for (const one of of.asked) {
    output.note('', ...one.lines, '');
    // One after the other, as a person answers.
    const answer = await ask(`Sign ${one.said === null ? 'this plan' : 'this'}? Type ${wanted}: `);
    if (answer.trim() !== wanted) continue;
    await sign(place, of, one, signer);
    signed.push(one);
  }
  if (of.asked.length > 0 && signed.length === 0) throw notConfirmed(run, `the answer was not \`${wanted}\``);
  return { of, signed };
}

/** What a signature is about, for people. */
export function aboutText({ said }: Asked): string {
  return said === null ? 'the plan' : signableText(said);
}

function notConfirmed(run: RunName, message: string): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'NOT_CONFIRMED',
      place: runName(run),
      message: `${message}; nothing was signed`,
      fix: 'Type it at a terminal, read what is shown, and answer.',
    },
  ]);
}
