/** What stands against a second plan of a run, whoever asks: the command before it is said, the worker that makes it. Pure. */
import { instructionsAbout, type Kept } from '../people/instructions.ts';
import type { Plan } from '../plan/plan.ts';
import type { ConvertPolicy, Policy } from '../policy.ts';

/** What never changes. @returns the policy where nothing stands against it, else why, in one sentence */
export function mayBePlannedAnew(
  first: Plan,
  policy: Policy,
): { readonly policy: ConvertPolicy } | { readonly why: string } {
  if (policy.kind !== 'convert' || first.batch !== null || first.positions.length > 0)
    return { why: 'Only a run that converts is planned anew.' };
  if (policy.zone !== first.zone)
    return { why: `The policy counts dates in ${policy.zone}, the first plan in ${first.zone}.` };
  if (policy.convert.amount.kind === 'sell-all')
    return {
      why: 'A second plan names the amount that it converts: what is left of a balance changes until it is made.',
    };
  return { policy };
}

/** What people have decided, or the service has named, about items of either plan; null: nothing. */
export function decidedAbout(first: Plan, { withdraw }: ConvertPolicy, kept: Kept): string | null {
  const items = [...first.legs, ...first.payments, ...withdraw].map(({ id }) => id);
  const decided = items.find((id) => {
    const { decision, recordIds } = instructionsAbout(kept, id);
    return decision !== null || recordIds.length > 0;
  });
  return decided === undefined ? null : `Somebody has decided, or named a record, about "${decided}".`;
}
