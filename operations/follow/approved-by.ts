/**
 * Who has signed, for a report that is read where the folder of policies of workers is (CAMBIST_POLICIES). Elsewhere a report can only tell
 * the key: the name beside a signature is what somebody typed.
 */
import { policiesFolder } from '../../config/policies-folder.ts';
import { verifySignature } from '../../config/ssh-keygen.ts';
import { lastAlikeList, type Recorded } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Approvals } from '../../domain/writes/approval-rules.ts';
import { isSignable, textToSign, type Signable } from '../../domain/writes/approvals.ts';
import { planHash } from '../../language/plan-hash.ts';
import { keyOfSignature } from '../../language/ssh-signers.ts';
import { planOf } from '../decide/plan-made.ts';
import type { Place } from '../place.ts';
import { withWords, type WholeRunView } from './read-run.ts';

/** Of so many signatures the newest are verified. */
const MOST = 100;

/** The same, with the names of those whose signatures this machine has verified. @param folder null: this machine has none */
export async function withSigners(
  place: Place,
  view: WholeRunView,
  folder: string | null,
): Promise<WholeRunView> {
  const { said, facts } = view;
  const approvals =
    said?.some(({ kind }) => kind === 'approve') === true && folder !== null
      ? (await policiesFolder(folder, {})()).approvals
      : null;
  const plan = approvals === null ? null : await planOf(place, facts.run);
  if (said === null || approvals === null || plan === null) return view;
  const signers = await signersIn(said, plan, approvals);
  return withWords(view, said, signers);
}

/** The names, by the ids of what they have signed; null: it was judged, and is not verified. What this machine cannot judge is left out. */
export async function signersIn(
  said: readonly Recorded[],
  plan: Plan,
  { signers, allowedSigners, revokedKeys }: Approvals,
): Promise<ReadonlyMap<string, string | null>> {
  const hash = planHash(plan);
  // Of what was spelled out, the instruction itself stands first.
  const byId = new Map<string, Signable>();
  for (const one of said) if (isSignable(one) && !byId.has(one.id)) byId.set(one.id, one);
  const alike = lastAlikeList({ instructions: said });
  const found = new Map<string, string | null>();
  for (const one of said.flatMap((each) => (each.kind === 'approve' ? [each] : [])).slice(-MOST)) {
    const { as, about, expiresAtMs, signature } = one;
    const name = signers.find(({ key }) => key === keyOfSignature(signature))?.name;
    const instruction = about === null ? null : byId.get(about);
    // Of an earlier list of look-alikes nobody keeps what was signed.
    if (instruction?.kind === 'go-on' && instruction !== alike) continue;
    if (name === undefined || instruction === undefined) {
      found.set(one.id, null);
      continue;
    }
    const text = textToSign({ as, plan, planHash: hash, said: instruction, expiresAtMs });
    // One after the other: there are few, and each is a program of its own.
    const verified = await verifySignature({ text, signature, name, allowedSigners, revokedKeys });
    if (verified !== 'unable') found.set(one.id, verified === 'good' ? name : null);
  }
  return found;
}
