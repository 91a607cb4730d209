/** Shows what a signature is for, asks the person, and signs. There is no way to sign without having been asked. */
import { runName, type RunName } from '../domain/references.ts';
import type { SignedAs } from '../domain/writes/approvals.ts';
import { readToApprove, sign, type ToApprove } from '../operations/approve.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Place } from '../operations/place.ts';
import type { Output } from './terminal/output.ts';

type Signer = { readonly as: SignedAs; readonly keyFile: string; readonly by: string; readonly why: string };

/** @throws CommandFailure when nobody can be asked */
export function requireTerminal({ io: { ask } }: Output, run: RunName): NonNullable<Output['io']['ask']> {
  if (ask === null) throw notConfirmed(run, 'there is no terminal at which to show it and to ask');
  return ask;
}

/** @throws CommandFailure without a yes; in live without the name of the run */
export async function askAndSign(
  output: Output,
  place: Place,
  run: RunName,
  { as, ...signer }: Signer,
): Promise<ToApprove> {
  const ask = requireTerminal(output, run);
  const asked = await readToApprove(place, run, as);
  output.note('', ...asked.lines, '');
  const wanted = place.mode === 'LIVE' ? runName(run) : 'yes';
  const answer = await ask(`Sign this plan? Type ${wanted}: `);
  if (answer.trim() !== wanted) throw notConfirmed(run, `the answer was not \`${wanted}\``);
  await sign(place, asked, signer);
  return asked;
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
