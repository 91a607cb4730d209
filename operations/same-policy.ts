/** Whether a policy file still says what its run was planned with. Reads only. */
import { runName, type RunName } from '../domain/references.ts';
import { policyHash } from '../language/policy/policy-hash.ts';
import { CommandFailure } from './failure.ts';
import type { Place } from './place.ts';
import { readFirstPlan, readPlannedText } from './plans.ts';
import type { PolicyFile } from './policy-file.ts';
import { readInput, type RunFacts } from './runs.ts';

/** The plan counts, else what the run was started with. @throws CommandFailure with both texts */
export async function requireSamePolicy(
  place: Place,
  of: { readonly run: RunName; readonly policyFile: PolicyFile; readonly facts: RunFacts | null },
): Promise<void> {
  const { run, policyFile, facts } = of;
  const plan = await readFirstPlan(place.client, place.mode, run);
  const input = plan === null && facts?.isOpen === true ? await readInput(place.client, facts) : null;
  const plannedHash = plan?.policy.hash ?? (input === null ? null : policyHash(input.policyText));
  // Comments and white space make no other policy.
  if (plannedHash === null || plannedHash === policyFile.hash) return;
  const planned = input?.policyText ?? (await readPlannedText(place.client, place.mode, run)) ?? '';
  throw new CommandFailure(
    'refused by us',
    [
      {
        code: 'POLICY_CHANGED',
        place: runName(run),
        message: `run ${runName(run)} was planned with another policy than ${policyFile.file} says now; nothing was sent`,
        fix: `Put back what it was planned with (the lines with -). What you changed counts for the run of the next date. A second run of this date would not be an edit of this one: it would trade and pay everything again.`,
      },
    ],
    {
      before: { label: `the plan of ${runName(run)}`, text: planned },
      after: { label: policyFile.file, text: policyFile.text },
    },
  );
}
