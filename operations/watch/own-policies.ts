/**
 * The folder of policies of this machine (CAMBIST_POLICIES), as `cambist doctor` sees it: what of it cannot be used, and which
 * replaced policies count for no run any more.
 */
import { canVerify } from '../../config/ssh-keygen.ts';
import { isFolder, policiesFolder } from '../../config/policies-folder.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { PoliciesRead } from '../../domain/writes/write-gate.ts';
import type { Trouble } from '../../language/text/problem.ts';

const DAY_MS = 86_400_000;
/** The last withdrawals of a run leave five and a half days after its date begins. */
const OVER_AFTER_DAYS = 7;

type Asked = {
  readonly mode: Mode;
  readonly decimals: Readonly<Record<string, number>>;
  /** Epoch milliseconds. */
  readonly nowMs: number;
};

/** @returns how many policies of the mode it has, and what is wrong with it */
export async function lookAtPolicies(
  folder: string,
  { mode, decimals, nowMs }: Asked,
): Promise<{ readonly policies: number; readonly troubles: readonly Trouble[] }> {
  const read = await policiesFolder(folder, decimals, { isStrict: mode === 'LIVE' })();
  const ofMode = read.policies.filter(({ policy }) => policy.environment === mode.toLowerCase());
  const none: readonly Trouble[] =
    ofMode.length > 0
      ? []
      : [
          {
            code: 'POLICIES_UNUSABLE',
            place: folder,
            message: `it has no policy of ${mode} that can be used: no worker starts with it`,
            fix: 'Put the policies there that the workers of this machine may carry out, and mend the others.',
          },
        ];
  return {
    policies: ofMode.length,
    troubles: [
      ...none,
      ...damaged(folder, read),
      ...over(folder, read, nowMs),
      ...(await unverifiable(folder, read)),
    ],
  };
}

/**
 * A folder of policies as live reads it, for who is about to deploy it.
 * @returns the policies that it allows, and what is wrong with it; null: it is no folder
 */
export async function checkFolder(
  folder: string,
  decimals: Readonly<Record<string, number>>,
): Promise<(Pick<PoliciesRead, 'policies'> & { readonly troubles: readonly Trouble[] }) | null> {
  if (!(await isFolder(folder))) return null;
  const read = await policiesFolder(folder, decimals, { isStrict: true })();
  return { policies: read.policies, troubles: damaged(folder, read) };
}

function damaged(folder: string, { troubles }: PoliciesRead): readonly Trouble[] {
  return troubles.map((message) => ({
    code: 'POLICIES_DAMAGED',
    place: folder,
    message,
    fix: 'Mend it: what cannot be used allows nothing. `npx cambist check` checks a policy.',
  }));
}

/** Where people must sign, the workers of this machine need a program that verifies signatures. */
async function unverifiable(folder: string, { approvals }: PoliciesRead): Promise<readonly Trouble[]> {
  if (approvals === null || approvals.rules.length === 0 || (await canVerify())) return [];
  const message =
    'its approvals.yaml asks for signatures, and this machine has no `ssh-keygen` that can verify signatures';
  const fix = 'Install OpenSSH, version 8.2 or later: no signature counts before that.';
  return [{ code: 'APPROVALS_UNVERIFIABLE', place: folder, message, fix }];
}

function over(folder: string, { policies }: PoliciesRead, nowMs: number): readonly Trouble[] {
  return policies.flatMap(({ policy, before }): readonly Trouble[] => {
    if (before === null || nowMs < Date.parse(before) + OVER_AFTER_DAYS * DAY_MS) return [];
    const message = `policy "${policy.name}" was replaced on ${before}, and the send windows of all runs before that date are over`;
    const fix = `Delete finishing/…@${before}, unless a payment of such a run is still to be paid again.`;
    return [{ code: 'POLICIES_OVER', place: folder, message, fix }];
  });
}
