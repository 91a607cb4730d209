/** `--instead-of` of the command `run`: the options that it needs, what the person is shown, and the instruction. */
import type { Policy } from '../domain/policy.ts';
import { isRunPart, runName, type RunName } from '../domain/references.ts';
import { judgeInstead, takePlace, type AskedInstead, type Instead } from '../operations/start/instead-of.ts';
import type { AskedStart } from '../operations/start/run-policy.ts';
import { mistake } from './line.ts';
import type { Output } from './terminal/output.ts';

type InsteadOptions = {
  readonly insteadOf?: string;
  readonly id?: string;
  readonly payAgain?: readonly string[];
  readonly goOn?: string | true;
};

/**
 * The run whose place the new run is to take; null when the person named none.
 * @param run the new run. @throws CommandFailure when it can never take this place
 */
export function insteadOfAsked(
  options: InsteadOptions,
  { run, kind }: { readonly run: RunName; readonly kind: Policy['kind'] },
): RunName | null {
  const { insteadOf } = options;
  if (insteadOf === undefined) return null;
  const prefix = `${run.policy}.`;
  const id = insteadOf.startsWith(prefix) ? insteadOf.slice(prefix.length) : insteadOf;
  const why = whyNot(options, { run, kind, id });
  if (why === null) return { policy: run.policy, id };
  throw mistake('--instead-of', why, 'Type `npx cambist run POLICY --id NEW --instead-of OLD`.');
}

function whyNot(
  { id: own, payAgain, goOn }: InsteadOptions,
  { run, kind, id }: { readonly run: RunName; readonly kind: Policy['kind']; readonly id: string },
): string | null {
  if (kind === 'payout')
    return 'a batch cannot take the place of another run. Start the corrected file under an --id of its own: a payment id that was paid is not paid a second time';
  if (!isRunPart(id)) return 'it is no id of a run of this policy';
  if (own === undefined) return 'the new run has no id of its own';
  if (id === run.id) return 'a run cannot take its own place';
  if (payAgain !== undefined || goOn !== undefined)
    return 'a run in the place of another one is new, so it cannot go on with anything or pay anything again';
  return null;
}

/** What the person was shown, and the two runs. */
type Told = Instead & { readonly asked: AskedInstead };

/** Shows what would change; null where the run takes no place. @throws CommandFailure when it may not take the place */
export async function tellInstead(output: Output, asked: AskedStart): Promise<Told | null> {
  const { place, settings, run, policyFile, insteadOf: old, now } = asked;
  if (old === null) return null;
  const places = { place, settings, run, old };
  const instead = await judgeInstead(places);
  // The package that compares texts is loaded only here.
  const { insteadLines } = await import('./views/instead-text.ts');
  output.note(...insteadLines(instead, policyFile, now()));
  return { ...instead, asked: places };
}

/** Keeps the instruction. From then on nothing of the old run is sent. */
export async function takePlaceOf(
  output: Output,
  { asked, isSaid }: Told,
  said: { readonly by: string; readonly why: string },
): Promise<void> {
  if (!isSaid) await takePlace(asked, said);
  const [next, old] = [runName(asked.run), runName(asked.old)];
  output.note(`${next} takes the place of ${old}. Nothing of ${old} is sent any more.`);
}
