/** Whether a policy file still says what its run was planned with. Reads only. */
import { runName, type RunName } from '../../domain/references.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { replanIn } from '../../domain/people/instructions.ts';
import { CommandFailure } from '../failure.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import type { Place } from '../place.ts';
import { readCurrentPlan, readPlannedText } from '../../durable/plans.ts';
import type { PolicyFile } from '../policy-file.ts';
import { readInput, type RunFacts } from '../follow/runs.ts';

/** Compares with the plan, else with what the run was started with. @throws CommandFailure with both texts */
export async function requireSamePolicy(
  place: Place,
  of: { readonly run: RunName; readonly policyFile: PolicyFile; readonly facts: RunFacts | null },
): Promise<void> {
  const { run, policyFile, facts } = of;
  const plan = await readCurrentPlan(place.client, place.mode, run);
  if (plan !== null && plan.number === undefined && (await isToBeReplanned(place, of))) return;
  const input = plan === null && facts?.isOpen === true ? await readInput(place.client, facts) : null;
  const plannedHash = plan?.policy.hash ?? (input === null ? null : policyHash(input.policyText));
  // A change of comments or white space leaves the policy the same.
  if (plannedHash === null || plannedHash === policyFile.hash) return;
  const planned = input?.policyText ?? (plan && (await readPlannedText(place.client, plan))) ?? '';
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

/**
 * Whether the run is open and is making the second plan that was asked for by this policy.
 * @throws CommandFailure when a second plan was asked for and is not there: that one would be carried out, not this policy
 */
async function isToBeReplanned(
  { client, mode }: Place,
  {
    run,
    policyFile,
    facts,
  }: { readonly run: RunName; readonly policyFile: PolicyFile; readonly facts: RunFacts | null },
): Promise<boolean> {
  const kept = await readInstructions({ client, mode, run });
  const replan = kept === null ? null : replanIn(kept);
  if (replan === null) return false;
  if (facts?.isOpen === true && replan.policyHash === policyFile.hash) return true;
  throw new CommandFailure('refused by us', [
    {
      code: 'REPLAN_UNFINISHED',
      place: runName(run),
      message: 'a second plan of it was asked for, and there is none yet; nothing was sent',
      fix:
        facts?.isOpen === true
          ? `It is being made, by another policy than ${policyFile.file}: see \`npx cambist status ${runName(run)}\`.`
          : `Ask for it once more: \`npx cambist replay ${runName(run)} --replan POLICY …\`.`,
    },
  ]);
}
