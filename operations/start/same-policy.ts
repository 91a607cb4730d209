/** Whether a policy file still says the same as when its run was planned. Reads only. */
import { accountsOf, destinationsText } from '../../domain/destinations.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { replacingCommand } from '../../domain/replacement.ts';
import { hashOfInput, policyHash } from '../../language/policy/policy-hash.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readFirstPlan, readPlanInput } from '../../durable/plans.ts';
import type { PolicyFile } from '../policy-file.ts';
import { readInput, type RunFacts } from '../follow/runs.ts';

type Planned = {
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** What Temporal has of the run; null: nothing. */
  readonly facts: RunFacts | null;
};

/**
 * Compares the file with the plan; without a plan, with the policy that the run was started with. @throws CommandFailure
 * with both texts
 */
export async function requireSamePolicy(place: Place, of: Planned): Promise<void> {
  const { run, policyFile, facts } = of;
  const plan = await readFirstPlan(place.client, place.mode, run);
  const input = plan === null && facts?.isOpen === true ? await readInput(place.client, facts) : null;
  const plannedHash = plan?.policy.hash ?? (input === null ? null : hashOfInput(input));
  // A change of comments or white space leaves the policy the same.
  if (plannedHash === null || plannedHash === policyFile.hash) return;
  const planned = input ?? (await readPlanInput(place.client, place.mode, run));
  const plannedText = planned?.policyText ?? '';
  // Then only the accounts that may be paid have changed.
  const isSameText = plannedText !== '' && policyHash(plannedText) === policyHash(policyFile.text);
  throw new CommandFailure(
    'refused by us',
    [
      {
        code: 'POLICY_CHANGED',
        place: runName(run),
        message: `run ${runName(run)} was planned with ${isSameText ? 'other destinations' : 'another policy'} than ${policyFile.file} says now; nothing was sent`,
        fix: `Put back what it was planned with (the lines with -). What you changed counts for the run of the next date. Another run of this date would not correct this one: it would trade and pay everything again.${whereNothingMoved(of)}`,
      },
    ],
    {
      before: {
        label: isSameText ? `the destinations of ${runName(run)}` : `the plan of ${runName(run)}`,
        text: isSameText ? (planned?.destinations ?? '') : plannedText,
      },
      after: {
        label: isSameText ? `the destinations of ${policyFile.file}` : policyFile.file,
        text: isSameText ? textOfDestinations(policyFile) : policyFile.text,
      },
    },
  );
}

function textOfDestinations({ destinations }: PolicyFile): string {
  return destinations === null ? '' : destinationsText(accountsOf(destinations));
}

/**
 * The advice to start another run in the place of this one. It is given only where nothing of this run moved: otherwise it
 * would be the advice to pay again.
 */
function whereNothingMoved({ run, policyFile, facts }: Planned): string {
  if (facts === null || facts.isOpen || facts.state !== 'FAILED') return '';
  return ` Nothing of this one moved, so another one may take its place: \`${replacingCommand(run, policyFile.file)}\`.`;
}
